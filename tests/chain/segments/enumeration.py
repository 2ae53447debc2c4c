"""The oracle of segments: every segmentation of a sentence, its score term by term, answers as sums over them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from tagline.chain.segments import SegmentChain
from tagline.types import Float64Array

Segments = tuple[tuple[int, int, int], ...]
"""(first token, token after the last, label) each."""


def segmentations(T: int, D: int, L: int) -> Iterator[Segments]:
    """All ways to cut T tokens into labelled segments of up to D tokens."""
    for cuts in itertools.product((False, True), repeat=max(T - 1, 0)):
        bounds = [0, *(t + 1 for t, cut in enumerate(cuts) if cut), T] if T else [0]
        pieces = list(itertools.pairwise(bounds))
        if all(last - first <= D for first, last in pieces):
            for labels in itertools.product(range(L), repeat=len(pieces)):
                yield tuple((first, last, label) for (first, last), label in zip(pieces, labels, strict=True))


def score(chain: SegmentChain, b: int, segments: Segments) -> float:
    """The score of one segmentation of sentence b, term by term."""
    if not segments:
        return 0.0
    base = int(chain.offsets[b])
    terms = [chain.start[segments[0][2]], chain.end[segments[-1][2]]]
    terms += [chain.scores[base + last - 1, last - first - 1, label] for first, last, label in segments]
    terms += [chain.transitions[before[2], after[2]] for before, after in itertools.pairwise(segments)]
    return math.fsum(map(float, terms)) if all(term > -math.inf for term in terms) else -math.inf


class AllSegmentations:
    """The segmentations of sentence b that are not forbidden, with their scores and probabilities."""

    def __init__(self, chain: SegmentChain, b: int = 0) -> None:
        T = int(chain.lengths[b])
        scored = [(way, score(chain, b, way)) for way in segmentations(T, chain.max_length, chain.num_labels)]
        self.chain, self.b, self.T = chain, b, T
        self.ways = [(way, value) for way, value in scored if value > -math.inf]
        values = [value for _, value in self.ways]
        top = max(values, default=0.0)
        self.log_z = top + math.log(math.fsum(math.exp(value - top) for value in values)) if values else -math.inf
        self.probabilities = [math.exp(value - self.log_z) for value in values]

    def counts(self) -> tuple[Float64Array, Float64Array, Float64Array, Float64Array]:
        """Expected use of segments ``[T, D, L]``, transitions, start and end."""
        D, L = self.chain.max_length, self.chain.num_labels
        segments, transitions = np.zeros((self.T, D, L)), np.zeros((L, L))
        start, end = np.zeros(L), np.zeros(L)
        for (way, _), p in zip(self.ways, self.probabilities, strict=True):
            for first, last, label in way:
                segments[last - 1, last - first - 1, label] += p
            for before, after in itertools.pairwise(way):
                transitions[before[2], after[2]] += p
            if way:
                start[way[0][2]] += p
                end[way[-1][2]] += p
        return segments, transitions, start, end

    def tokens(self) -> Float64Array:
        """P(label of a token's segment), ``[T, L]``."""
        out = np.zeros((self.T, self.chain.num_labels))
        for (way, _), p in zip(self.ways, self.probabilities, strict=True):
            for first, last, label in way:
                out[first:last, label] += p
        return out

    def entropy(self) -> float:
        """−Σ p log p."""
        return -math.fsum(p * math.log(p) for p in self.probabilities if p > 0)

    def ranked(self) -> list[tuple[Segments, float]]:
        """Best first; of equals the one that is smaller when read from its end by label, then by length."""

        def from_the_end(way: Segments) -> tuple[tuple[int, int], ...]:
            return tuple((label, last - first) for first, last, label in reversed(way))

        return sorted(self.ways, key=lambda scored: (-scored[1], from_the_end(scored[0])))
