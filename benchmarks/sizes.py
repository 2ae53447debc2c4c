"""The engine at many sizes: is anything slower than it was?

One sentence, two and 64; 2 to 300 labels; 5 to 8,192 tokens a sentence; float32, one thread, CPU seconds, the median
of a few samples. `chain.py --sizes --save FILE` keeps the times, `chain.py --sizes --against FILE` prints how many
times as fast the same call is now. To compare with an earlier commit, run this program with that commit's Python.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tagline import Chain
from tagline import chain as engine

SENTENCES, LABELS, TOKENS = (1, 2, 64), (2, 5, 9, 16, 22, 45, 64, 65, 128, 300), (5, 24, 512, 8192)
MOST_PAIRS = 1e9  # pairs of labels in a call; larger cases are left out
SAMPLES, SAMPLE_SECONDS = 7, 0.004

Times = dict[str, float]


def calls_of(B: int, L: int, T: int) -> dict[str, Callable[[], object]]:
    """The works on one batch, by name."""
    draw = np.random.default_rng(L)
    scores = [draw.standard_normal(shape, np.float32) for shape in ((B * T, L), (L, L), (L,), (L,))]
    chain, gold = Chain(2 * scores[0], *scores[1:], np.arange(B + 1) * T), draw.integers(0, L, B * T)
    return {
        "log Z": lambda: engine.log_partition(chain),
        "gradients": lambda: engine.gradients(chain, gold),
        "viterbi": lambda: engine.viterbi(chain),
    }


def cpu_seconds(call: Callable[[], object]) -> float:
    """The median CPU seconds of a call."""
    call()
    begin = time.process_time()
    call()
    repeats = max(1, int(SAMPLE_SECONDS / max(time.process_time() - begin, 1e-6)))
    samples = []
    for _ in range(SAMPLES):
        begin = time.process_time()
        for _ in range(repeats):
            call()
        samples.append((time.process_time() - begin) / repeats)
    return statistics.median(samples)


def measure(before: Times) -> Times:
    """Measure every size and print a line for each: microseconds, and how many times as fast as before."""
    times: Times = {}
    for B in SENTENCES:
        for L in LABELS:
            for T in TOKENS:
                if B * T * L**2 > MOST_PAIRS:
                    continue
                line = f"{B:>3} sentences, {L:>3} labels, {T:>4} tokens"
                for work, call in calls_of(B, L, T).items():
                    key = f"{work} {B} {L} {T}"
                    times[key] = cpu_seconds(call)
                    ratio = f" {before[key] / times[key]:5.2f}x" if key in before else ""
                    line += f"   {work} {times[key] * 1e6:>9.1f} us{ratio}"
                print(line, flush=True)
    if before:
        slowest = sorted((before[key] / times[key], key) for key in times.keys() & before.keys())[:5]
        print("least gains: " + ", ".join(f"{key} {ratio:.2f}x" for ratio, key in slowest))
    return times


def run(save: Path | None, against: Path | None) -> None:
    """Measure, beside the times of an earlier run where there are some; keep the times where asked."""
    before: Times = json.loads(against.read_text(encoding="utf-8")) if against else {}
    times = measure(before)
    if save:
        save.write_text(json.dumps(times, indent=1) + "\n", encoding="utf-8")
