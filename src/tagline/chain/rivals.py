"""The rival of each token: the best labelling with another label there, for all tokens in two passes.

With δ_t(s) the score of the best beginning that reaches state s at token t, its emission included, and β_t(s) that of
the best continuation from there, the best labelling through s scores δ_t(s) + β_t(s) (a max-marginal). Pointers back
and onward, kept for each state, give that labelling. It differs from the best one around its token; where the two meet
in one state they follow the same pointers, so only the stretch between the meetings is walked.

Among equals the engine's rule holds: the labelling wins that is smaller when read from the last label to the first.
Beginnings in one state compare by their pointers back. Continuations compare by their ranks: first the continuation
that each goes on with, then the state itself.

`Lattice` is what a kind of chain brings: first-order here, over pairs of labels in `second_order.rivals`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tagline.types import Chain, Float64Array, IntArray

NEAR = 16  # tokens on each side of a token that a rival is followed at least
MOST_STEPS = (
    20_000  # tokens on one side, over a whole sentence: sentences of up to 141 tokens are followed to their ends
)


@dataclass(frozen=True)
class Stretch:
    """Two labellings of a sentence, the best one and a rival, where their scores may differ.

    Attributes:
        best: ``T`` labels of the best labelling.
        first: the first token of `rival`.
        rival: labels of the rival from there on; at all other tokens it has those of the best one.
        tokens: whose terms differ; a transition belongs to the token that it leads into.
        whole: False where the rival differs beyond `tokens` too and was followed no further.
        margin: the score of the best labelling less that of the rival.
    """

    best: Sequence[int]
    first: int
    rival: Sequence[int]
    tokens: range
    whole: bool
    margin: float

    def labels(self, n: int) -> tuple[int, int]:
        """The labels of token n in the best labelling and in the rival."""
        best, place = self.best[n], n - self.first
        return best, self.rival[place] if 0 <= place < len(self.rival) else best


class Lattice(Protocol):
    """One sentence as layers of states, at least one layer; states are numbered within their layer.

    Attributes:
        order: how many tokens back a score looks: 1 or 2.
    """

    order: int

    def __len__(self) -> int:
        """T."""

    def opening(self) -> Float64Array:
        """The scores of the states of token 0."""

    def into(self, t: int, before: Float64Array) -> tuple[Float64Array, NDArray[np.integer]]:
        """δ of token t and the state before each, the smallest of equals, from δ of token t − 1."""

    def onward(self, t: int, after: Float64Array, rank: IntArray) -> tuple[Float64Array, NDArray[np.integer]]:
        """β of token t and the state after each, the one of smallest rank of equals, from β of token t + 1."""

    def closing(self) -> tuple[Float64Array, IntArray]:
        """β of the last token, and the rank of each state there."""

    def labels(self, t: int) -> IntArray:
        """The label of each state of token t."""

    def states(self, labels: Sequence[int]) -> list[int]:
        """The states of a labelling."""


def reach(num_tokens: int) -> int:
    """How many tokens on each side of its own a rival is followed in a sentence of so many.

    >>> reach(100), reach(1000), reach(100_000)
    (200, 20, 16)
    """
    return max(NEAR, MOST_STEPS // max(1, num_tokens))


def rivals(lattice: Lattice, best: Sequence[int], groups: IntArray | None = None) -> list[Stretch | None]:
    """Find for each token the best labelling with another label there; None where there is none.

    Arguments:
        lattice: the sentence scored.
        best: its best labelling.
        groups: ``[L]``, where several labels count as one (two states of one tag, say): labels of one group are no
            rivals; each label is its own group when left out.
    """
    T, way = len(lattice), lattice.states(best)
    deltas, back = _forward(lattice)
    values, rank = lattice.closing()
    total = float((deltas[-1] + values).max())
    onward: list[NDArray[np.integer]] = [np.empty(0, np.int64)] * T
    chosen: list[tuple[int, float] | None] = [None] * T
    for t in range(T - 1, -1, -1):
        if t < T - 1:
            values, onward[t] = lattice.onward(t, values, rank)
            rank = _ranks(rank[onward[t]])
        labels = lattice.labels(t)
        other = labels != best[t] if groups is None else groups[labels] != groups[best[t]]
        chosen[t] = _best_of(deltas.pop() + values, rank, np.flatnonzero(other))
    walk = _RivalWalk(lattice, best, way, back, onward, reach(T))
    return [None if one is None else walk.stretch(t, one[0], total - one[1]) for t, one in enumerate(chosen)]


def _forward(lattice: Lattice) -> tuple[list[Float64Array], list[NDArray[np.integer]]]:
    deltas = [lattice.opening()]
    back: list[NDArray[np.integer]] = [np.empty(0, np.int64)]
    for t in range(1, len(lattice)):
        delta, before = lattice.into(t, deltas[-1])
        deltas.append(delta)
        back.append(before)
    return deltas, back


def _ranks(after: IntArray) -> IntArray:
    """Rank continuations by the rank of what they go on with, then by their state."""
    rank = np.empty(len(after), np.int64)
    rank[np.argsort(after, kind="stable")] = np.arange(len(after))
    return rank


def _best_of(values: Float64Array, rank: IntArray, states: IntArray) -> tuple[int, float] | None:
    """The best of some states, of equals the one of smallest rank, and its score; None where all are forbidden."""
    if not len(states):
        return None
    most = values[states].max()
    if most == -np.inf:
        return None
    equal = states[values[states] == most]
    return int(equal[rank[equal].argmin()]), float(most)


@dataclass(frozen=True, eq=False)
class _RivalWalk:
    """From a state of a token outwards until the best labelling is met."""

    lattice: Lattice
    best: Sequence[int]
    way: list[int]
    back: list[NDArray[np.integer]]
    onward: list[NDArray[np.integer]]
    reach: int

    def stretch(self, t: int, state: int, margin: float) -> Stretch:
        T, order = len(self.way), self.lattice.order
        left, met_left = self._follow(t, state, self.back, -1, self.reach + order)
        right, met_right = self._follow(t, state, self.onward, 1, self.reach)
        states = [*reversed(left), state, *right]
        first, last = t - len(left), t + len(right)
        labels = [int(self.lattice.labels(first + place)[one]) for place, one in enumerate(states)]
        from_token = first if met_left else first + order
        to_token = min(last + 1, T - 1) if met_right else last
        tokens = range(from_token, to_token + 1)
        return Stretch(self.best, first, labels, tokens, met_left and met_right, margin)

    def _follow(
        self, t: int, state: int, pointers: list[NDArray[np.integer]], step: int, most: int
    ) -> tuple[list[int], bool]:
        """The states after one on one side, and whether the best labelling, or the end, was met."""
        states: list[int] = []
        last = 0 if step < 0 else len(self.way) - 1
        while t != last:
            if len(states) == most:
                return states, False
            state, t = int(pointers[t][state]), t + step
            if state == self.way[t]:
                break
            states.append(state)
        return states, True


class LabelLattice:
    """One sentence of a chain: its states are the labels."""

    order = 1

    def __init__(self, chain: Chain) -> None:
        self.emissions = chain.emissions.astype(np.float64)
        self.chain, self.all_labels = chain, np.arange(chain.num_labels)
        self.shared = None if chain.per_position else chain.transitions.astype(np.float64)
        self.turned = None if self.shared is None else np.ascontiguousarray(self.shared.T)  # [next, previous]

    def __len__(self) -> int:
        return len(self.emissions)

    def opening(self) -> Float64Array:
        """start + emission."""
        return np.asarray(self.chain.start.astype(np.float64) + self.emissions[0])

    def into(self, t: int, before: Float64Array) -> tuple[Float64Array, NDArray[np.integer]]:
        """max_i δ_(t−1)(i) + T_t(i, j), and i."""
        turned = self.chain.transitions[t].astype(np.float64).T if self.turned is None else self.turned
        scores = before + turned  # [next, previous]
        back = scores.argmax(axis=1)
        return scores[self.all_labels, back] + self.emissions[t], back.astype(np.min_scalar_type(len(back)))

    def onward(self, t: int, after: Float64Array, rank: IntArray) -> tuple[Float64Array, NDArray[np.integer]]:
        """max_j T_(t+1)(i, j) + e_(t+1)(j) + β_(t+1)(j), and j."""
        transitions = self.chain.transitions[t + 1].astype(np.float64) if self.shared is None else self.shared
        by_rank = np.argsort(rank)
        scores = transitions[:, by_rank] + (self.emissions[t + 1] + after)[by_rank]
        place = scores.argmax(axis=1)
        return scores[self.all_labels, place], by_rank[place].astype(np.min_scalar_type(len(place)))

    def closing(self) -> tuple[Float64Array, IntArray]:
        """End."""
        return self.chain.end.astype(np.float64), self.all_labels

    def labels(self, t: int) -> IntArray:
        """The states."""
        return self.all_labels

    def states(self, labels: Sequence[int]) -> list[int]:
        """The labels."""
        return list(labels)
