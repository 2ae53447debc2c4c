"""How fast and how small is reading? A column file the size of CoNLL-2000's training set, against a plain Python loop.

The file is ``conll2000/train.txt`` under ``TAGLINE_DATA`` where that is set, else one of the same size that is made up:
8,936 sentences, 211,727 tokens, three columns, a skewed vocabulary. Times are medians; memory is what a fresh process
that has imported `tagline.readers` grows by at its peak. Both readers must find the same sentences before a time is
printed. Floor: the bytes of the file once through memory.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from feature_crf.extraction import read_rows  # the loop that everybody writes: a list of lists of fields

from tagline import readers

SENTENCES, TOKENS, WORDS = 8936, 211_727, 25_000


def made_up(path: Path) -> None:
    """Write a file of the size of CoNLL-2000's training set."""
    rng = np.random.default_rng(0)
    words = (WORDS * rng.random(TOKENS) ** 3).astype(int)
    tags = rng.integers(0, 22, TOKENS)
    ends = set(rng.choice(np.arange(1, TOKENS), SENTENCES - 1, replace=False).tolist())
    with path.open("w", encoding="utf-8") as stream:
        for n in range(TOKENS):
            stream.write("\n" * (n in ends) + f"word{words[n]} P{words[n] % 44} B-T{tags[n]}\n")


def median_ms(call: object, runs: int) -> float:
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        call()  # type: ignore[operator]
        times.append(time.perf_counter() - start)
    return 1000 * statistics.median(times)


def peak_growth_mb(reader: str, path: Path) -> float:
    """Megabytes by which a fresh process grows when it reads the file."""
    code = f"import reading, pathlib; print(reading.growth({reader!r}, pathlib.Path({str(path)!r})))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def growth(reader: str, path: Path) -> float:
    before = peak_kb()
    sentences = readers.read_columns(path) if reader == "tagline" else read_rows(path)
    return (peak_kb() - before) / 1024 if sentences else 0.0


def peak_kb() -> int:
    """The most memory that this process has had (Linux; a child's getrusage starts at its parent's)."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1])  # type: ignore[index]


def main() -> None:
    """Compare, then print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9, help="runs of each reader (default 9)")
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        data = os.environ.get("TAGLINE_DATA")
        path = Path(data) / "conll2000" / "train.txt" if data else Path(folder) / "train.txt"
        if not data:
            made_up(path)
        corpus, plain = readers.read_columns(path), read_rows(path)
        if corpus.tokens != [[row[0] for row in sentence] for sentence in plain]:
            sys.exit("the readers disagree: no times")
        print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB, {len(corpus)} sentences, {corpus.num_tokens} tokens")
        ours, loop = median_ms(lambda: readers.read_columns(path), runs), median_ms(lambda: read_rows(path), runs)
        for name, ms, other in (("tagline", ours, loop), ("plain loop", loop, loop)):
            memory = peak_growth_mb(name, path)
            speed = path.stat().st_size / 1e3 / ms
            print(
                f"{name:10}  {ms:8.1f} ms  {speed:7.0f} MB/s  {memory:6.1f} MB  {other / ms:5.1f}x  (median of {runs})"
            )


if __name__ == "__main__":
    main()
