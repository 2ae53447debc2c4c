"""Second-order chains: scores on label pairs and, for some triples of neighbouring labels, a score more.

    score(y) = start[y_0] + Σ_t emissions[t, y_t] + Σ_(t ≥ 1) transitions[y_(t−1), y_t]
               + Σ_(t ≥ 2) w[y_(t−2), y_(t−1), y_t] + end[y_(T−1)]

A triple without a score of its own scores 0: it is backed off to its transition.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagline import compiled
from tagline.chain.memory import check_room
from tagline.checks import as_array
from tagline.errors import InputError
from tagline.messages import message
from tagline.types import Chain, Counts, Float64Array, IntArray, sealed

MOST_PAIRS = 20_000  # labels of a chain over pairs: its transitions take 8 bytes for each two of them


@dataclass(frozen=True, eq=False)
class Triples:
    """Scores of triples of labels.

    Attributes:
        rows: ``[L, L]``, int32: the row of the table for each pair of labels, −1 where no triple after it has a score.
        table: ``[R, L]``, float64, finite or −∞.

    >>> Triples.of(2, [[0, 1, 0]], [0.5]).scores().tolist()
    [[[0.0, 0.0], [0.5, 0.0]], [[0.0, 0.0], [0.0, 0.0]]]
    """

    rows: NDArray[np.int32]
    table: Float64Array

    @classmethod
    def of(cls, num_labels: int, triples: ArrayLike, scores: ArrayLike) -> Triples:
        """Make them of triples ``[W, 3]`` and their scores ``[W]``."""
        labels, values = np.asarray(triples, np.int64).reshape(-1, 3), as_array("scores", scores).astype(np.float64)
        L = num_labels
        if len(labels) != len(values) or (labels < 0).any() or (labels >= L).any():
            raise InputError(
                "triples: expected three labels below {} for each of {} scores, got others", L, len(values)
            )
        if np.isnan(values).any() or np.isposinf(values).any():
            raise InputError("scores: expected finite numbers or -inf, got others")
        contexts, row = np.unique(labels[:, 0] * L + labels[:, 1], return_inverse=True)
        rows = np.full(L * L, -1, np.int32)
        rows[contexts] = np.arange(len(contexts))
        table = np.zeros((len(contexts), L))
        table[row, labels[:, 2]] = values
        return cls(rows.reshape(L, L), table)

    @property
    def num_labels(self) -> int:
        """L."""
        return len(self.rows)

    @cached_property
    def padded(self) -> Float64Array:
        """The table and one row of zeros more, which the row −1 is."""
        return np.concatenate([self.table, np.zeros((1, self.num_labels))])

    def scores(self) -> Float64Array:
        """Return the score of every triple, ``[L, L, L]``."""
        return np.asarray(self.padded[self.rows], np.float64)

    def of_labels(self, labels: IntArray) -> Float64Array:
        """Return the scores of the triples of a labelling ``[T]``, ``[T − 2]``."""
        return np.asarray(self.padded[self.rows[labels[:-2], labels[1:-1]], labels[2:]], np.float64)

    @cached_property
    def core(self) -> Any:
        """As the compiled core holds them."""
        return compiled.require().Triples(self.rows, np.ascontiguousarray(self.table))


@dataclass(frozen=True, eq=False)
class SecondOrderChain:
    """A batch of chains with scores on triples of labels.

    Attributes:
        chain: all other scores; what it forbids is forbidden here.
        triples: the scores of triples.

    >>> SecondOrderChain(Chain(np.zeros((3, 2)), np.zeros((2, 2))), Triples.of(2, [[0, 1, 0]], [1.0])).num_labels
    2
    """

    chain: Chain
    triples: Triples

    def __post_init__(self) -> None:
        if self.triples.num_labels != self.chain.num_labels:
            raise InputError(
                "triples: expected those of {} labels, as the chain has them, got {}",
                self.chain.num_labels,
                self.triples.num_labels,
            )

    @property
    def offsets(self) -> IntArray:
        """Where sentences begin, ``[B + 1]``."""
        return self.chain.offsets

    @property
    def num_sentences(self) -> int:
        """B."""
        return self.chain.num_sentences

    @property
    def num_tokens(self) -> int:
        """N, over all sentences."""
        return self.chain.num_tokens

    @property
    def num_labels(self) -> int:
        """L."""
        return self.chain.num_labels

    @property
    def lengths(self) -> IntArray:
        """Tokens of each sentence, ``[B]``."""
        return self.chain.lengths

    def split(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Cut an array whose first axis runs over the tokens into one view for each sentence."""
        return self.chain.split(values)

    def __repr__(self) -> str:
        return f"SecondOrder{self.chain!r:.200}"


@dataclass(frozen=True, eq=False)
class SecondOrderCounts(Counts):
    """How often each score is expected to be used.

    Attributes:
        triples: ``[R, L]``, as the table of `Triples`.
    """

    triples: Float64Array


@dataclass(frozen=True, eq=False)
class PairChain(Chain):
    """One sentence as a first-order chain over P pairs of labels, with the same distribution.

    The labelling y_0, y_1, … is the path of pairs (·, y_0), (y_0, y_1), (y_1, y_2), …; a pair follows another only
    where they share a label. Only pairs of labels that tokens of the sentence may have are labels of the chain. Every
    query of `tagline.chain` can be asked about it.

    Attributes:
        pairs: ``[P, 2]``, (label before, label); L stands before the first token.
        labels: ``[P]``, the second label of each pair.
    """

    pairs: IntArray
    labels: IntArray

    def __init__(self, second_order: SecondOrderChain, b: int) -> None:
        """Write sentence b of a second-order chain as a chain."""
        chain, L = second_order.chain, second_order.num_labels
        first, last = int(chain.offsets[b]), int(chain.offsets[b + 1])
        scores = chain.emissions[first:last].astype(np.float64)
        T, legal = last - first, [np.flatnonzero(row > -np.inf) for row in scores]
        W = L + 1  # ties are decided from the last label on: pairs ascend by their label, then by the one before it
        keys = [np.add.outer(c * W, a).ravel() for a, c in zip([np.array([L]), *legal], legal, strict=False)]
        distinct = np.unique(np.concatenate([*keys, [L]]))
        _check_pairs(len(distinct))
        pairs = np.stack([distinct % W, distinct // W], axis=1)  # [P, 2]
        before, label = pairs.T
        opening = before == L
        emissions = np.full((T, len(pairs)), -np.inf)
        for t in range(T):
            at = np.searchsorted(distinct, keys[t])
            emissions[t, at] = scores[t, label[at]]
            if t > 0:
                matrix = chain.transitions[first + t] if chain.per_position else chain.transitions
                emissions[t, at] += matrix[before[at], label[at]]
        rows = np.concatenate([second_order.triples.rows, np.full((1, L), -1, np.int32)])  # none after an opening pair
        following = second_order.triples.padded[rows[before, label]]  # [P, L]
        transitions = np.where((label[:, None] == before) & ~opening, following[:, label], -np.inf)
        start = np.where(opening, chain.start[label].astype(np.float64), -np.inf)
        super().__init__(sealed(emissions), sealed(transitions), start, chain.end[label].astype(np.float64))
        object.__setattr__(self, "pairs", pairs)
        object.__setattr__(self, "labels", label)


def _check_pairs(count: int) -> None:
    if count > MOST_PAIRS:
        raise InputError(
            "labels: expected at most {} pairs of them in a chain over pairs, got {}; ask the "
            "model's own methods, which need no such chain, or train it with prune=",
            MOST_PAIRS,
            count,
        )
    check_room(
        24 * count**2,
        message("labels: a chain over {:,} pairs of them", count),
        message("ask the model's own methods, which need no such chain, or train it with prune="),
    )
