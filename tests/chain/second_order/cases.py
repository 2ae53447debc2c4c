"""Second-order chains to test with, and the enumeration of all their labellings."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from tagline import Chain
from tagline.chain.second_order import SecondOrderChain, Triples
from tagline.types import Float64Array


def draw(
    seed: int,
    lengths: Sequence[int],
    L: int,
    *,
    per_position: bool = False,
    forbidden: float = 0.0,
    scale: float = 2.0,
    observed: float = 0.5,
    integers: bool = False,
) -> SecondOrderChain:
    """Draw scores; a share of them is forbidden, a share of the contexts has triples."""
    rng, N = np.random.default_rng(seed), sum(lengths)

    def scores(*shape: int) -> Float64Array:
        values = rng.integers(-1, 2, shape).astype(float) if integers else rng.normal(0, scale, shape)
        values[rng.random(shape) < forbidden] = -np.inf
        return values

    matrices = scores(N, L, L) if per_position else scores(L, L)
    offsets = np.cumsum([0, *lengths])
    chain = Chain(scores(N, L), matrices, scores(L), scores(L), offsets)
    every = np.array(list(itertools.product(range(L), repeat=3)))
    kept = every[rng.random(len(every)) < observed]
    return SecondOrderChain(chain, Triples.of(L, kept, scores(len(kept))))


class AllLabellings:
    """All labellings of one sentence with their scores, from the formula and nothing else."""

    def __init__(self, scored: SecondOrderChain, b: int) -> None:
        chain, w = scored.chain, scored.triples.scores()
        self.L, self.first = scored.num_labels, int(chain.offsets[b])
        self.T = int(chain.offsets[b + 1]) - self.first
        self.labellings = list(itertools.product(range(self.L), repeat=self.T))
        self.scores = [self._score(chain, w, y) for y in self.labellings]
        self.log_z = float(np.logaddexp.reduce([-math.inf, *self.scores]))

    def _score(self, chain: Chain, w: Float64Array, y: tuple[int, ...]) -> float:
        if not y:
            return 0.0
        total = float(chain.start[y[0]] + chain.end[y[-1]])
        for t in range(self.T):
            total += float(chain.emissions[self.first + t, y[t]])
            if t >= 1:
                matrix = chain.transitions[self.first + t] if chain.per_position else chain.transitions
                total += float(matrix[y[t - 1], y[t]])
            if t >= 2:
                total += float(w[y[t - 2], y[t - 1], y[t]])
        return total

    @property
    def probabilities(self) -> Float64Array:
        """Of each labelling."""
        return np.exp(np.array(self.scores) - self.log_z)

    def counts(self) -> tuple[Float64Array, Float64Array, Float64Array]:
        """How often labels ``[T, L]``, pairs ``[L, L]`` and triples ``[L, L, L]`` are expected."""
        L = self.L
        nodes, pairs, triples = np.zeros((self.T, L)), np.zeros((L, L)), np.zeros((L, L, L))
        for y, p in zip(self.labellings, self.probabilities, strict=True):
            for t in range(self.T):
                nodes[t, y[t]] += p
                if t >= 1:
                    pairs[y[t - 1], y[t]] += p
                if t >= 2:
                    triples[y[t - 2], y[t - 1], y[t]] += p
        return nodes, pairs, triples

    def entropy(self) -> float:
        """In nats."""
        return -sum(p * math.log(p) for p in self.probabilities if p > 0)

    def ranked(self) -> list[tuple[float, tuple[int, ...]]]:
        """Labellings that are possible, the best first; of equals, the one that is smaller when read from its end."""
        possible = [(score, y) for score, y in zip(self.scores, self.labellings, strict=True) if score > -math.inf]
        return sorted(possible, key=lambda entry: (-entry[0], entry[1][::-1]))
