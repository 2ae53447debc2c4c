"""The long form led by coverage: atheris (libFuzzer for Python) keeps inputs that reach new lines of the package.

    pip install atheris && python -m tests.fuzz --engine atheris --doors templates --seconds 60

Each door runs in a process of its own, for libFuzzer ends the process. Inputs cannot be made again from a number; a
crash leaves its input in the folder for finds under libFuzzer's own name, ``<door>-crash-…``.
"""

from __future__ import annotations

import importlib.util
import logging
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

MOST_ALIKE = 3  # finds of one kind that are written out


def campaign(names: list[str], seed: int, count: int, seconds: float, finds: Path) -> int:
    """Try doors one after the other; 1 where something was found."""
    if importlib.util.find_spec("atheris") is None:
        print("--engine atheris: expected the package atheris, got none; install it with: pip install atheris")
        return 2
    finds.mkdir(parents=True, exist_ok=True)
    before = set(finds.iterdir())
    for name in names:
        limits = [f"-runs={min(count, 2**31 - 1)}", f"-max_total_time={max(int(seconds), 1)}", f"-seed={seed or 1}"]
        job = [sys.executable, "-m", "tests.fuzz.guided", name, str(finds), *limits]
        subprocess.run(job, stdin=subprocess.DEVNULL, check=False)
    found = set(finds.iterdir()) - before
    print(f"{sum(path.suffix == '.txt' for path in found)} finds", flush=True)
    return int(bool(found))


def main() -> None:
    """Try one door: its name, the folder for finds, options of libFuzzer."""
    import atheris

    name, folder, *options = sys.argv[1:]
    logging.disable(logging.CRITICAL)
    with atheris.instrument_imports(include=["tagline"]):
        from tests.fuzz.campaign import keep, shared_memory
        from tests.fuzz.doors import door_named
        from tests.fuzz.judge import limit_memory, try_out

        kind = door_named(name)
    scratch = tempfile.TemporaryDirectory(dir=shared_memory())
    door, seen = kind(Path(scratch.name)), Counter[str]()
    corpus = Path(scratch.name, "corpus")
    corpus.mkdir()
    for number, data in enumerate(door.seeds):
        (corpus / str(number)).write_bytes(door.as_input(data))

    def try_one(data: bytes) -> None:
        _, find = try_out(door, door.mended(data))
        if find is not None:
            seen[find.what] += 1
            if seen[find.what] <= MOST_ALIKE:
                print(f"{name}: {find.what} ({keep(find, Path(folder))})", flush=True)

    prefix = f"-artifact_prefix={folder}/{name}-"
    atheris.Setup(
        [sys.argv[0], *options, prefix, "-rss_limit_mb=0", "-timeout=60", "-max_len=65536", str(corpus)], try_one
    )
    limit_memory()
    atheris.Fuzz()


if __name__ == "__main__":
    main()
