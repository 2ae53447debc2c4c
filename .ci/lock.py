"""Print versions with their hashes, from a report of pip: lock.py REPORT.json, for `make lock`."""

import json
import sys
from pathlib import Path

HEADER = """\
# What the development environment had, with hashes: Python 3.11, Linux on x86-64. `make lock` writes this file anew.
# torch is not in it: its builds for the CPU are not those of the package index, and have other hashes.
# pip install --require-hashes --no-deps -r locked.txt
"""

report = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
lines = []
for package in report["install"]:
    name, version = package["metadata"]["name"].lower(), package["metadata"]["version"]
    lines.append(f"{name}=={version} --hash=sha256:{package['download_info']['archive_info']['hashes']['sha256']}")
print(HEADER + "\n".join(sorted(lines)))
