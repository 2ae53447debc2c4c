"""Each measure in a fresh process: its own peak of memory, its own threads, nothing warm from the measure before.

``python -m feature_crf.children ours.passes '{"case": "sparse", …}'`` calls `ours.passes` and prints what it returns as
JSON. Threads, those of BLAS too, are set by the environment before anything is imported.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

Result = dict[str, Any]
Clocks = tuple[float, float]
"""Seconds of CPU, all threads together, and of the wall clock."""

_THREADS = ("TAGLINE_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


class ChildError(RuntimeError):
    """A measure that did not come to its end."""


def run(measure: str, threads: int = 1, **arguments: Any) -> Result:
    """Run ``module.function`` with these arguments in a process of its own."""
    environment = {**os.environ, **dict.fromkeys(_THREADS, str(threads))}
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, sys.path)])
    command = [sys.executable, "-m", "feature_crf.children", measure, json.dumps(arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]
        raise ChildError(f"{measure}: {last}")
    result: Result = json.loads(done.stdout.splitlines()[-1])
    return result


def now() -> Clocks:
    """Read both clocks."""
    return time.process_time(), time.perf_counter()


def since(begin: Clocks) -> Clocks:
    """Return what has passed on both clocks."""
    cpu, wall = now()
    return cpu - begin[0], wall - begin[1]


def peak_mb() -> float:
    """Return the most memory that this process has had; 0 where ``/proc`` does not tell."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return 0.0
    peak = re.search(r"VmHWM:\s+(\d+)", status)
    return int(peak[1]) / 1024 if peak else 0.0


def main() -> None:
    """Call what the command line names."""
    name, arguments = sys.argv[1:]
    module, _, function = name.partition(".")
    call = getattr(import_module(f"feature_crf.{module}"), function)
    imported = peak_mb()
    result = call(**json.loads(arguments))
    print("\n" + json.dumps({**result, "peak_mb": peak_mb() - imported}))


if __name__ == "__main__":
    main()
