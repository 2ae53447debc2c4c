"""Bags of symbols: each observation counts V symbols, p(x | k) = n! Π_v p_v^(x_v) / x_v! with n = Σ_v x_v.

The prior is that of `Categorical`. Observations are whole numbers ``[N, V]``; a row of −1 is a missing observation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tagline.checks import as_whole
from tagline.models.hmm.emissions.base import by_state, prior
from tagline.models.hmm.emissions.discrete import (
    check_rows,
    log_density,
    log_factorial,
    probabilities,
    shares,
    weighted_logs,
)
from tagline.models.hmm.emissions.products import sums_by_state
from tagline.models.hmm.emissions.starting import find_clusters
from tagline.models.hmm.emissions.sums import SummedEmission
from tagline.types import BoolArray, Float64Array, IntArray


@dataclass(frozen=True, eq=False)
class Multinomial(SummedEmission):
    """Bags of symbols that are drawn with each state's probabilities.

    Arguments:
        probabilities: ``[K, V]``, each row sums to one.
        prior: Dirichlet parameters, a number of at least 1 or an array that fits ``[K, V]``; 1 is no prior.
        trials: how many symbols `sample` draws for one observation.

    >>> Multinomial([[0.5, 0.5], [0.9, 0.1]]).log_likelihood(np.array([[1, 1], [-1, -1]])).round(3).tolist()
    [[-0.693, -1.715], [0.0, 0.0]]
    """

    family: ClassVar[str] = "multinomial"
    parameters: ClassVar[tuple[str, ...]] = ("probabilities",)
    numbers: ClassVar[tuple[str, ...]] = ("prior",)
    options: ClassVar[tuple[str, ...]] = ("trials",)

    probabilities: Float64Array
    prior: Float64Array | float = 1.0
    trials: int = 1

    def __post_init__(self) -> None:
        rows = probabilities("probabilities", self.probabilities, None, None)
        check_rows("probabilities", rows)
        trials = as_whole("trials", self.trials, 0)
        self._set(trials=trials, probabilities=rows, prior=prior("prior", self.prior, 1.0, rows.shape))
        self._check_shared()

    @property
    def num_symbols(self) -> int:
        """V."""
        return int(self.probabilities.shape[1])

    def _log_likelihood(self, observations: NDArray[Any]) -> Float64Array:
        counts = np.maximum(observations, 0)
        orders = log_factorial(counts.sum(axis=1)) - log_factorial(counts).sum(axis=1)
        logs = weighted_logs(counts, self.probabilities)
        logs += orders[:, None]
        return logs

    def _statistics(self, observations: NDArray[Any], posteriors: Float64Array) -> Float64Array:
        """Counts of symbols, ``[K, V]``."""
        return sums_by_state(posteriors, np.maximum(observations, 0))

    def _learned(self, sums: Float64Array) -> Self:
        return replace(
            self, probabilities=shares(sums.reshape(self.probabilities.shape), self.probabilities, self.prior)
        )

    @classmethod
    def present(cls, observations: NDArray[Any]) -> BoolArray:
        """Say which observations count a symbol."""
        return np.asarray(np.maximum(observations, 0).sum(axis=1) > 0)

    def _log_prior(self) -> float:
        return log_density(np.asarray(self.prior - 1.0), self.probabilities)

    def _num_parameters(self) -> dict[str, int]:
        return {"probabilities": self.num_states * (self.num_symbols - 1)}

    def _chosen(self, keep: IntArray) -> dict[str, Any]:
        return {"probabilities": self.probabilities[keep], "prior": by_state(np.asarray(self.prior), keep, 2)}

    def sample(self, states: IntArray, random: np.random.Generator) -> IntArray:
        """Draw a bag of `trials` symbols for each state, ``[T, V]``."""
        rows = self.probabilities / self.probabilities.sum(axis=1, keepdims=True)
        return np.asarray(random.multinomial(self.trials, rows[states]), np.int64)

    @classmethod
    def _started(
        cls, observations: NDArray[Any], num_states: int, random: np.random.Generator, **settings: Any
    ) -> Self:
        """k-means++ on the shares of the symbols, softened: half of each is the shares of all, one added to each count.

        `trials` is the median size of the bags.
        """
        counts = observations.astype(np.float64)
        sizes = counts.sum(axis=1)
        clusters = find_clusters(counts / sizes[:, None], num_states, random)
        overall = counts.sum(axis=0) + 1.0
        rows = np.maximum(clusters.centres, 0.0) + overall / overall.sum()
        middle = int(np.median(sizes)) if len(sizes) else 1
        return cls(rows / rows.sum(axis=1, keepdims=True), **{"trials": middle, **settings})
