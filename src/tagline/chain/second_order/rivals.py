"""Lattices over pairs of labels: what `tagline.chain.rivals` asks of second-order chains and of trigram taggers.

The state (a, b) of token t has the label b there and a at the token before; it is written a · (labels of t) + b, with
places among the labels that a token may have. Before the first token stands one label that is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tagline.chain.second_order.types import SecondOrderChain
from tagline.types import Float64Array, IntArray

MOST_TRIPLES = 1 << 21  # that are scored at once


class TripleScores(Protocol):
    """Scores of one sentence.

    Attributes:
        candidates: for each token the labels that it may have, ascending, at least one.
        boundary: the label before the first token.
    """

    candidates: Sequence[IntArray]
    boundary: int

    def opening(self) -> Float64Array:
        """The scores of the candidates of token 0."""

    def pairs(self, t: int, before: IntArray) -> Float64Array:
        """The scores that token t ≥ 1 has without the label before the last: ``[before, candidates]``."""

    def triples(self, t: int, first: IntArray, before: IntArray) -> Float64Array:
        """The scores of triples that end at token t ≥ 1: ``[first, before, candidates]``."""

    def closing(self, before: IntArray) -> Float64Array:
        """The scores of the end: ``[before, candidates]`` of the last token."""


class PairLattice:
    """One sentence as layers of pairs."""

    order = 2

    def __init__(self, scores: TripleScores) -> None:
        self.scores = scores

    def __len__(self) -> int:
        return len(self.scores.candidates)

    def _at(self, t: int) -> IntArray:
        """The candidates of a token; the boundary before the first."""
        return self.scores.candidates[t] if t >= 0 else np.array([self.scores.boundary])

    def _parts(self, t: int) -> list[slice]:
        """The candidates of token t − 1 in parts whose triples fit into memory."""
        size = max(1, MOST_TRIPLES // (len(self._at(t - 2)) * len(self._at(t))))
        return [slice(first, first + size) for first in range(0, len(self._at(t - 1)), size)]

    def opening(self) -> Float64Array:
        """The scores of (boundary, b)."""
        return self.scores.opening()

    def into(self, t: int, before: Float64Array) -> tuple[Float64Array, NDArray[np.integer]]:
        """max_a δ_(t−1)(a, b) + the score of (a, b, c), for each (b, c)."""
        A, B, C = self._at(t - 2), self._at(t - 1), self._at(t)
        deltas, values = before.reshape(len(A), len(B)), np.empty((len(B), len(C)))
        back = np.empty((len(B), len(C)), np.min_scalar_type(len(A) * len(B)))
        for part in self._parts(t):
            scores = deltas[:, part, None] + self.scores.triples(t, A, B[part])
            first = scores.argmax(axis=0)
            values[part] = np.take_along_axis(scores, first[None], axis=0)[0]
            back[part] = first * len(B) + np.arange(len(B))[part, None]
        return (values + self.scores.pairs(t, B)).ravel(), back.ravel()

    def onward(self, t: int, after: Float64Array, rank: IntArray) -> tuple[Float64Array, NDArray[np.integer]]:
        """max_c over the score of (a, b, c) + β_(t+1)(b, c), for each (a, b)."""
        A, B, C = self._at(t - 1), self._at(t), self._at(t + 1)
        from_pairs = after.reshape(len(B), len(C)) + self.scores.pairs(t + 1, B)
        by_rank = rank.reshape(len(B), len(C)).argsort(axis=1)
        values, onward = np.empty((len(A), len(B))), np.empty((len(A), len(B)), np.min_scalar_type(after.size))
        for part in self._parts(t + 1):
            scores = self.scores.triples(t + 1, A, B[part]) + from_pairs[part]
            order = by_rank[part]
            scores = np.take_along_axis(scores, np.broadcast_to(order, scores.shape), axis=2)
            place = scores.argmax(axis=2)  # [A, part]
            values[:, part] = np.take_along_axis(scores, place[:, :, None], axis=2)[:, :, 0]
            rows = np.arange(len(B))[part]
            onward[:, part] = rows * len(C) + order[np.arange(len(order)), place]
        return values.ravel(), onward.ravel()

    def closing(self) -> tuple[Float64Array, IntArray]:
        """End; pairs rank by their label, then by the one before it."""
        B, C = self._at(len(self) - 2), self._at(len(self) - 1)
        return self.scores.closing(B).ravel(), np.arange(len(B) * len(C)).reshape(len(C), len(B)).T.ravel()

    def labels(self, t: int) -> IntArray:
        """The second label of each pair."""
        return np.tile(self._at(t), len(self._at(t - 1)))

    def states(self, labels: Sequence[int]) -> list[int]:
        """The pairs of a labelling."""
        places = [int(np.searchsorted(self._at(t), label)) for t, label in enumerate(labels)]
        sizes = [len(candidates) for candidates in self.scores.candidates]
        return [before * size + place for before, size, place in zip([0, *places], sizes, places, strict=False)]


class SecondOrderScores:
    """One sentence of a second-order chain."""

    def __init__(self, scored: SecondOrderChain) -> None:
        self.chain, self.table, self.boundary = scored.chain, scored.triples, scored.num_labels
        self.emissions = self.chain.emissions.astype(np.float64)
        self.candidates: Sequence[IntArray] = [np.flatnonzero(row > -np.inf) for row in self.emissions]

    @cached_property
    def _all(self) -> Float64Array:
        return self.table.scores()

    def opening(self) -> Float64Array:
        """start + emission."""
        at = self.candidates[0]
        return np.asarray(self.chain.start[at].astype(np.float64) + self.emissions[0, at])

    def pairs(self, t: int, before: IntArray) -> Float64Array:
        """Transition + emission."""
        matrix = self.chain.transitions[t] if self.chain.per_position else self.chain.transitions
        at = self.candidates[t]
        return np.asarray(matrix[before[:, None], at].astype(np.float64) + self.emissions[t, at])

    def triples(self, t: int, first: IntArray, before: IntArray) -> Float64Array:
        """The scores of triples; 0 after the boundary."""
        at, L = self.candidates[t], self.boundary
        if t == 1:
            return np.zeros((1, len(before), len(at)))
        if len(first) == len(before) == len(at) == L and L**3 <= MOST_TRIPLES:
            return self._all
        rows = self.table.rows[first[:, None], before]
        return np.asarray(self.table.padded[rows][:, :, at])

    def closing(self, before: IntArray) -> Float64Array:
        """End."""
        end = self.chain.end[self.candidates[-1]].astype(np.float64)
        return np.broadcast_to(end, (len(before), len(end)))
