"""`python -m tests.fuzz`: the long form of the tests with damaged inputs, and a look at what it found."""

from __future__ import annotations

import argparse
import logging
import secrets
import sys
import tempfile
from pathlib import Path

from tests.fuzz.campaign import Campaign, shared_memory, work
from tests.fuzz.doors import NAMES, door_named, doors
from tests.fuzz.judge import limit_memory, try_out


def main() -> int:
    """Run what the command line says; 1 where something was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--doors", default="", help="names, split by commas; all when left out")
    parser.add_argument("--count", type=int, default=2**62, help="inputs of each door")
    parser.add_argument("--seconds", type=float, default=30.0, help="for each door at most")
    parser.add_argument("--seed", type=int, default=None, help="of the inputs; drawn and printed when left out")
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--finds", type=Path, default=Path("build/finds"), help="folder for what is found")
    parser.add_argument("--engine", choices=("plain", "atheris"), default="plain", help="atheris is led by coverage")
    parser.add_argument("--unlimited", action="store_true", help="no limit on memory, for sanitized builds")
    parser.add_argument("--replay", type=Path, nargs="+", help="files that were found")
    parser.add_argument("--work", nargs=7, help=argparse.SUPPRESS)
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    if options.work is not None:
        name, seed, first, last, seconds, journal, finds = options.work
        limited = not options.unlimited
        work(name, int(seed), int(first), int(last), float(seconds), Path(journal), Path(finds), limited)
        return 0
    if options.replay is not None:
        return replay(options.replay, not options.unlimited)
    known = [name for names in NAMES.values() for name in names.split()]
    names = options.doors.split(",") if options.doors else list(doors())
    if wrong := set(names) - set(known):
        parser.error(f"--doors: expected some of {', '.join(known)}, got {', '.join(sorted(wrong))}")
    seed = secrets.randbits(32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    if options.engine == "atheris":
        from tests.fuzz.guided import campaign

        return campaign(names, seed, options.count, options.seconds, options.finds)
    run = Campaign(seed, options.count, options.seconds, options.finds.resolve(), options.first, not options.unlimited)
    for name in names:
        print(run.run(name).line(), flush=True)
    total, finds = sum(door.done for door in run.done), sum(door.finds for door in run.done)
    print(f"{total:,} inputs, {finds} finds", flush=True)
    return int(finds > 0)


def replay(paths: list[Path], limited: bool) -> int:
    """Try files again and tell what happens."""
    found = 0
    with tempfile.TemporaryDirectory(dir=shared_memory()) as scratch:
        for path in [path.resolve() for path in paths]:
            door = door_named(path.name.rpartition("-")[0])(Path(scratch))
            if limited:
                limit_memory()
            taken, find = try_out(door, path.read_bytes())
            found += find is not None
            print(
                f"{path}: {'taken' if taken else 'refused'}" if find is None else f"{path}: {find.what}\n{find.details}"
            )
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
