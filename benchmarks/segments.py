"""Segment chains beside torch-struct's SemiMarkov on the CPU: log Z with its gradient, and the best segmentation.

    python benchmarks/segments.py [--threads 1] [--repeat 5]
    python benchmarks/segments.py --words cws_pku/train.txt.gz     # instead: quality on words, the last tenth scored

torch-struct (0.5) is not installed with the package: ``pip install --no-deps torch-struct``, or ``--torch-struct
FOLDER`` for one that was put elsewhere. Its potentials are ``[batch, tokens, lengths, labels, labels]``, of a segment
with the label before it; ours, which do not depend on both at once, are spread out to that shape before the clock
starts. Both sides answer for the same sentences, values are compared first, and no time is printed where they differ.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import torch
from feature_crf.further import SEMICRF

import tagline
from tagline.chain import segments
from tagline.chain.segments import SegmentChain
from tagline.ragged import offsets_of
from tagline.readers.columns import read_columns

SIZES = [(32, 32, 4, 4), (8, 64, 6, 4), (4, 64, 8, 6)]  # sentences, tokens, longest segment, labels


def timed(work: Callable[[], Any], repeat: int) -> tuple[Any, float]:
    """Return the answer, and the median of the seconds that it takes."""
    answer, samples = work(), []
    for _ in range(repeat):
        begin = time.perf_counter()
        answer = work()
        samples.append(time.perf_counter() - begin)
    return answer, median(samples)


def potentials(chain: SegmentChain, B: int, T: int, L: int) -> torch.Tensor:
    """The chain as torch-struct has it: a first token of label 0, then segments that begin at t − 1 with d tokens.

    Entry ``[b, n, d, j, i]`` is of the segment with the label j that begins at token n and has d tokens, after label i.
    """
    D = chain.max_length
    out = np.full((B, T, D + 1, L, L), -1e9, np.float64)
    scores = chain.scores.reshape(B, T, D, L)
    for n in range(T):
        for d in range(1, min(D, T - n) + 1):
            before = chain.transitions.T if n else np.where(np.arange(L) == 0, chain.start[:, None], -1e9)
            after = chain.end if n + d == T else np.zeros(L)
            out[:, n, d] = (scores[:, n + d - 1, d - 1] + after)[:, :, None] + before
    return torch.from_numpy(out)


def row(size: tuple[int, int, int, int], repeat: int, rival: Any) -> list[str]:
    """Compare one size."""
    B, T, D, L = size
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(B * T, D, L))
    chain = SegmentChain(scores, rng.normal(size=(L, L)), rng.normal(size=L), rng.normal(size=L), offsets_of([T] * B))
    theirs = potentials(chain, B, T, L)

    def model() -> Any:
        return rival.SemiMarkovCRF(theirs.clone())

    counts, our_time = timed(lambda: segments.expected_counts(chain), repeat)
    np.testing.assert_allclose(counts.log_z, model().partition.detach().numpy(), rtol=1e-9)
    _, their_time = timed(lambda: model().marginals, max(1, repeat // 2))
    best, our_best = timed(lambda: segments.viterbi(chain), repeat)
    their_max, their_best = timed(lambda: model().max, max(1, repeat // 2))
    np.testing.assert_allclose(best.scores, their_max.detach().numpy(), rtol=1e-9)
    cells = [
        f"{B} × {T}, {D}, {L}",
        f"{1000 * our_time:.2f}",
        f"{1000 * their_time:.1f}",
        f"{their_time / our_time:.0f}×",
    ]
    return [*cells, f"{1000 * our_best:.2f}", f"{1000 * their_best:.1f}", f"{their_best / our_best:.0f}×"]


def words(path: str) -> None:
    """Train on the first nine tenths of a corpus of words, score the last; settings chosen on the end of the former."""
    train, test = read_columns(path).split(0.9)
    begin, cpu = time.perf_counter(), time.process_time()
    model = tagline.SemiCRF(**SEMICRF, verbose=True).fit(train)
    taken = f"{time.perf_counter() - begin:.0f} s, {time.process_time() - cpu:.0f} s of CPU time"
    print(f"word F1 {100 * model.evaluate(test).spans.f1:.2f}, trained in {taken}, {len(model.training_log_)} passes")


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description="Segment chains beside torch-struct's SemiMarkov.")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--torch-struct", default=None, help="a folder that torch-struct was installed into")
    parser.add_argument("--words", default=None, help="a corpus of words, characters with B, M, E, S")
    options = parser.parse_args()
    tagline.set_threads(options.threads)
    if options.words:
        words(options.words)
        return
    if options.torch_struct:
        sys.path.insert(0, options.torch_struct)
    import torch_struct

    warnings.filterwarnings("ignore", message=".*arg_constraints.*")

    torch.set_num_threads(options.threads)
    head = ["sentences × tokens, longest, labels", "log Z and probabilities, ms", "torch-struct", "ratio"]
    head += ["best, ms", "torch-struct, its score", "ratio"]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for size in SIZES:
        print(f"| {' | '.join(row(size, options.repeat, torch_struct))} |", flush=True)


if __name__ == "__main__":
    main()
