"""`python -m tests.fuzz.elsewhere FOLDER MODULE …`: run a module with the package `tagline` of a folder.

An editable install finds the package before any path does; here its finder steps aside.
"""

from __future__ import annotations

import runpy
import sys

if __name__ == "__main__":
    folder, module, *rest = sys.argv[1:]
    sys.meta_path = [finder for finder in sys.meta_path if "tagline" not in getattr(finder, "known_source_files", ())]
    sys.path.insert(0, folder)
    sys.argv = [module, *rest]
    import tagline

    if not str(tagline.__file__).startswith(f"{folder}/"):
        sys.exit(f"tagline: expected it in {folder}, got {tagline.__file__}")
    runpy.run_module(module, run_name="__main__", alter_sys=True)
