"""Probabilities of named things, with the methods that NLTK's distributions have, and as arrays for the engine."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from tagline.types import Float64Array


class Distribution:
    """Probabilities of what was counted, and the probability of each thing that was not.

    >>> coin = Distribution.counted({"heads": 3, "tails": 1}, gamma=0.5, bins=2)
    >>> coin.prob("heads"), coin.prob("edge")
    (0.7, 0.1)
    """

    def __init__(self, probabilities: Mapping[Any, float], unseen: float = 0.0) -> None:
        self._probabilities = dict(probabilities)
        self._unseen = unseen

    @classmethod
    def counted(cls, counts: Mapping[Any, int], gamma: float, bins: int) -> Distribution:
        """Return (count + γ) / (N + γ · bins): Lidstone's estimate, and that of relative frequency where γ is 0."""
        total = sum(counts.values()) + gamma * bins
        if not total:
            return cls({})
        return cls({name: (count + gamma) / total for name, count in counts.items()}, gamma / total)

    def prob(self, sample: Hashable) -> float:
        """Return the probability of a thing."""
        return float(self._probabilities.get(sample, self._unseen))

    def logprob(self, sample: Hashable) -> float:
        """Return its logarithm to the base 2."""
        probability = self.prob(sample)
        return math.log2(probability) if probability else -math.inf

    def samples(self) -> list[Any]:
        """Return what was counted."""
        return list(self._probabilities)

    def logs(self, names: Sequence[Any], numbers: Mapping[Any, int]) -> Float64Array:
        """Return natural logarithms for a list of names, whose places are `numbers`: ``[len(names)]``."""
        values = np.full(len(names), self._unseen)
        # The shorter side is walked: tables have many names, and new words are few.
        few, many = (
            (self._probabilities, numbers) if len(self._probabilities) < len(names) else (numbers, self._probabilities)
        )
        for name in few:
            if name in many:
                values[numbers[name]] = self._probabilities[name]
        return _logs(values)


def logs_of(distribution: Any, names: Sequence[Any], numbers: Mapping[Any, int]) -> Float64Array:
    """Return natural logarithms of a distribution of ours or of NLTK for a list of names: ``[len(names)]``."""
    if isinstance(distribution, Distribution):
        return distribution.logs(names, numbers)
    return _logs(np.array([distribution.prob(name) for name in names], np.float64))


def _logs(values: Float64Array) -> Float64Array:
    with np.errstate(divide="ignore"):
        logs: Float64Array = np.log(values)
    return logs
