"""The oracle: every labelling of a sentence, its score from the definition, and every answer as a plain sum over them.

Nothing here shares code with the engine. For labellings y with scores s(y):

    log Z = log Σ_y exp s(y)     p(y) = exp(s(y) − log Z)     any expectation = Σ_y p(y)·(what y uses)
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tagline.types import BoolArray, Chain, Float64Array, IntArray


def log_sum(values: Sequence[float] | Float64Array) -> float:
    """log Σ exp, −∞ for nothing."""
    finite = [float(value) for value in values if value > -math.inf]
    if not finite:
        return -math.inf
    top = max(finite)
    return top + math.log(math.fsum(math.exp(value - top) for value in finite))


def labellings(length: int, num_labels: int) -> IntArray:
    """All labellings ``[L^T, T]``."""
    return np.indices((num_labels,) * length).reshape(length, num_labels**length).T


@dataclass(frozen=True)
class AllPaths:
    """One sentence: its scores in float64, and its labellings ``paths [P, T]`` with their ``scores [P]``."""

    emissions: Float64Array  # [T, L]
    transitions: Float64Array  # [T, L, L], the first entry not read
    start: Float64Array
    end: Float64Array

    @property
    def length(self) -> int:
        return len(self.emissions)

    @property
    def num_labels(self) -> int:
        return len(self.start)

    @cached_property
    def paths(self) -> IntArray:
        return labellings(self.length, self.num_labels)

    @cached_property
    def scores(self) -> Float64Array:
        return self.between(self.paths, 0, self.length, start=True, end=True)

    def between(
        self, paths: IntArray, first: int, last: int, *, start: bool = False, end: bool = False
    ) -> Float64Array:
        """Scores of labellings ``[P, last - first]`` of the tokens first..last-1, with the edges asked for."""
        total = np.zeros(len(paths))
        for column, t in enumerate(range(first, last)):
            if column > 0:
                total = total + self.transitions[t, paths[:, column - 1], paths[:, column]]
            elif start:
                total = total + self.start[paths[:, column]]
            total = total + self.emissions[t, paths[:, column]]
        return total + self.end[paths[:, -1]] if end and last > first else total

    def score(self, labels: IntArray) -> float:
        return float(self.between(np.asarray(labels)[None], 0, self.length, start=True, end=True)[0])

    @cached_property
    def log_z(self) -> float:
        return log_sum(self.scores)

    @cached_property
    def probabilities(self) -> Float64Array:
        return np.exp(self.scores - self.log_z)

    @cached_property
    def log_alpha(self) -> Float64Array:
        """Over all beginnings that give token t the label j."""
        table = np.empty(self.emissions.shape)
        for t in range(self.length):
            beginnings = labellings(t + 1, self.num_labels)
            scores = self.between(beginnings, 0, t + 1, start=True)
            table[t] = [log_sum(scores[beginnings[:, -1] == j]) for j in range(self.num_labels)]
        return table

    @cached_property
    def log_beta(self) -> Float64Array:
        """Over all continuations after token t has the label i, end included."""
        table = np.empty(self.emissions.shape)
        for t in range(self.length):
            if t == self.length - 1:
                table[t] = self.end
                continue
            rest = labellings(self.length - t - 1, self.num_labels)
            scores = self.between(rest, t + 1, self.length, end=True)
            into = self.transitions[t + 1][:, rest[:, 0]]  # [L, P]
            table[t] = [log_sum(scores + into[i]) for i in range(self.num_labels)]
        return table

    def where(self, first: int, sets: Sequence[Collection[int]]) -> BoolArray:
        """Which labellings have the labels of a span in the given sets, ``[P]``."""
        inside = np.ones(len(self.paths), np.bool_)
        for column, allowed in enumerate(sets, start=first):
            inside &= np.isin(self.paths[:, column], list(allowed))
        return inside

    def probability(self, first: int, sets: Sequence[Collection[int]]) -> float:
        return math.fsum(self.probabilities[self.where(first, sets)])

    @cached_property
    def nodes(self) -> Float64Array:
        labels = range(self.num_labels)
        rows = [[self.probability(t, [{j}]) for j in labels] for t in range(self.length)]
        return np.array(rows).reshape(self.emissions.shape)

    @cached_property
    def edges(self) -> Float64Array:
        """``[T, L, L]``, zeros at the first token."""
        labels = range(self.num_labels)
        table = np.zeros((self.length, self.num_labels, self.num_labels))
        for t in range(1, self.length):
            table[t] = [[self.probability(t - 1, [{i}, {j}]) for j in labels] for i in labels]
        return table

    @cached_property
    def ranking(self) -> IntArray:
        """Indices of the legal labellings, best first; of equals the smaller when read from the last label."""
        columns = [self.paths[:, t] for t in range(self.length)]
        order = np.lexsort((*columns, -self.scores))
        return order[self.scores[order] > -np.inf]

    @cached_property
    def entropy(self) -> float:
        return math.fsum(-p * math.log(p) for p in self.probabilities if p > 0)

    def uses(self, labels: IntArray) -> tuple[Float64Array, Float64Array, Float64Array, Float64Array]:
        """How often a labelling uses each emission, transition (by position), start and end score."""
        emissions, transitions = np.zeros(self.emissions.shape), np.zeros(self.edges.shape)
        start, end = np.zeros(self.num_labels), np.zeros(self.num_labels)
        for t, label in enumerate(labels):
            emissions[t, label] = 1
            if t > 0:
                transitions[t, labels[t - 1], label] = 1
        if len(labels):
            start[labels[0]] = end[labels[-1]] = 1
        return emissions, transitions, start, end

    def expected_uses(self) -> tuple[Float64Array, Float64Array, Float64Array, Float64Array]:
        weighted = [[p * part for part in self.uses(y)] for p, y in zip(self.probabilities, self.paths, strict=True)]
        emissions, transitions, start, end = (np.sum(parts, axis=0) for parts in zip(*weighted, strict=True))
        return emissions, transitions, start, end


def enumerate_chain(chain: Chain) -> list[AllPaths]:
    """One `AllPaths` for each sentence."""
    found = []
    for first, last in zip(chain.offsets[:-1], chain.offsets[1:], strict=True):
        emissions = chain.emissions[first:last].astype(np.float64)
        if chain.per_position:
            transitions = chain.transitions[first:last].astype(np.float64)
        else:
            shared = chain.transitions.astype(np.float64)
            transitions = np.broadcast_to(shared, (last - first, *shared.shape))
        found.append(AllPaths(emissions, transitions, chain.start.astype(np.float64), chain.end.astype(np.float64)))
    return found


def join(chain: Chain, parts: list[Float64Array], *trailing: int) -> Float64Array:
    """Put the tables of the sentences together again, ``[N, L, …]``."""
    return np.concatenate([np.zeros((0, chain.num_labels, *trailing)), *parts])
