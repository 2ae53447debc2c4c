"""Trigrams of tags: counts, the weights of deleted interpolation, and log probabilities for the compiled core.

    p(c | a, b) = λ1 p(c) + λ2 p̂(c | b) + λ3 p̂(c | a, b)

over S states and the boundary S, which stands twice before a sentence and once behind it. p̂ are relative frequencies;
p(c) has one count more for everything, so that nothing is impossible. Each trigram gives its count to the λ of the term
that predicts it best when one occurrence is taken away:

    (f(a, b, c) − 1) / (f(a, b) − 1),   (f(b, c) − 1) / (f(b) − 1),   (f(c) − 1) / (N − 1)

where 0 / 0 is 0 and equals share. After a pair (a, b) that was never seen the last term is missing and the other two
make up for it. Brants, TnT: a statistical part-of-speech tagger, ANLP 2000, section 2.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tagline.errors import InputError
from tagline.types import Float64Array, IntArray

MOST_STATES = 4096  # f(a, b) takes 128 MiB
MOST_CELLS = 2**27  # of the table: half a gigabyte


@dataclass(frozen=True, eq=False)
class TrigramCounts:
    """How often states follow each other.

    Attributes:
        num_states: S; the number S stands for the boundary.
        grams: ``[G, 3]``, distinct (a, b, c), ascending.
        counts: ``[G]``, at least 1.
    """

    num_states: int
    grams: NDArray[np.int32]
    counts: IntArray

    @classmethod
    def of(cls, states: IntArray, offsets: IntArray, num_states: int) -> TrigramCounts:
        """Count the trigrams of sentences; those without tokens show nothing.

        >>> TrigramCounts.of(np.array([0, 1]), np.array([0, 2]), 2).grams.tolist()
        [[0, 1, 2], [2, 0, 1], [2, 2, 0]]
        """
        if num_states > MOST_STATES:
            raise InputError(
                "tags: expected up to {:,} states, got {:,}; use coarser tags, or "
                "capitals=False, which makes half of them",
                MOST_STATES,
                num_states,
            )
        lengths = np.diff(offsets)
        offsets = np.concatenate([[0], np.cumsum(lengths[lengths > 0])]).astype(np.int64)
        B, width = len(offsets) - 1, num_states + 1
        line = np.full(len(states) + 3 * B, num_states, np.int64)  # S S s0 … s(T−1) S of each sentence
        sentence = np.repeat(np.arange(B), np.diff(offsets))
        line[np.arange(len(states)) + 3 * sentence + 2] = states
        last = np.ones(len(line), bool)  # of a trigram: all but the two at the start of a sentence
        last[(offsets[:-1, None] + 3 * np.arange(B)[:, None] + np.arange(2)).ravel()] = False
        ends = np.flatnonzero(last)
        keys = (line[ends - 2] * width + line[ends - 1]) * width + line[ends]
        distinct, counts = np.unique(keys, return_counts=True)
        grams = np.stack([distinct // width**2, distinct // width % width, distinct % width], axis=1).astype(np.int32)
        return cls(num_states, grams, counts.astype(np.int64))

    @classmethod
    def added(cls, parts: Sequence[TrigramCounts], num_states: int, numbers: Sequence[IntArray]) -> TrigramCounts:
        """Add counts up, whose states have these numbers now, the boundary last: ``[S of the part + 1]`` each."""
        width = num_states + 1
        keys = [
            (table[part.grams[:, 0]] * width + table[part.grams[:, 1]]) * width + table[part.grams[:, 2]]
            for part, table in zip(parts, numbers, strict=True)
        ]
        distinct, places = np.unique(np.concatenate(keys), return_inverse=True)
        counts = np.zeros(len(distinct), np.int64)
        np.add.at(counts, places, np.concatenate([part.counts for part in parts]))
        grams = np.stack([distinct // width**2, distinct // width % width, distinct % width], axis=1).astype(np.int32)
        return cls(num_states, grams, counts)

    def weights(self) -> Float64Array:
        """λ1, λ2, λ3 by deleted interpolation; each has one count more, so that none is 0."""
        a, b, c = self.grams.T.astype(np.int64)
        pairs, firsts, singles = self._tables()
        contexts = self._contexts()
        estimates = np.stack(
            [
                _less_one(singles[c], singles.sum()),
                _less_one(pairs[b, c], firsts[b]),
                _less_one(self.counts, contexts[a, b]),
            ]
        )
        wins = estimates == estimates.max(axis=0)  # [3, G]
        votes = 1 + (self.counts * wins / wins.sum(axis=0)).sum(axis=1)
        return np.asarray(votes / votes.sum(), np.float64)

    def table(self, weights: Float64Array) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
        """Log p(c | a, b) as the core takes it: ``table [R, S + 1]`` and ``rows [S + 1, S + 1]``, a row for (a, b)."""
        width = self.num_states + 1
        pairs, firsts, singles = self._tables()
        one, two, three = weights
        backed = one * (singles + 1) / (singles.sum() + width) + two * pairs / np.maximum(firsts, 1)[:, None]
        contexts = self._contexts()
        a, b = np.nonzero(contexts)
        if (len(a) + width) * width > MOST_CELLS:
            raise InputError(
                "tags: expected few enough for a table of {:,} probabilities, got {:,} with "
                "{:,} pairs seen; use coarser tags, or capitals=False",
                MOST_CELLS,
                self.num_states,
                len(a),
            )
        rows = np.tile(np.arange(width, dtype=np.int32), (width, 1))  # [a, b]: the row of b alone
        rows[a, b] = width + np.arange(len(a))
        table = np.concatenate([backed / backed.sum(axis=1, keepdims=True), backed[b]])
        grams = self.grams.astype(np.int64)
        table[rows[grams[:, 0], grams[:, 1]], grams[:, 2]] += three * self.counts / contexts[grams[:, 0], grams[:, 1]]
        return np.log(table).astype(np.float32), rows

    def _tables(self) -> tuple[IntArray, IntArray, IntArray]:
        """f(b, c) ``[S + 1, S + 1]``, f(b) as a beginning of pairs and f(c) as their end ``[S + 1]``."""
        width = self.num_states + 1
        pairs = np.zeros((width, width), np.int64)
        np.add.at(pairs, (self.grams[:, 1], self.grams[:, 2]), self.counts)
        return pairs, pairs.sum(axis=1), pairs.sum(axis=0)

    def _contexts(self) -> IntArray:
        """f(a, b) as a beginning of trigrams, ``[S + 1, S + 1]``."""
        width = self.num_states + 1
        contexts = np.zeros((width, width), np.int64)
        np.add.at(contexts, (self.grams[:, 0], self.grams[:, 1]), self.counts)
        return contexts


def _less_one(part: IntArray, whole: IntArray) -> Float64Array:
    """(part − 1) / (whole − 1), 0 where that is 0 / 0."""
    return np.asarray((part - 1) / np.maximum(whole - 1, 1), np.float64)
