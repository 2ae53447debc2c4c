"""Counts of events: each state has a rate for each of D counters, p(x | k) = Π_d λ^x e^(−λ) / x!.

The prior is a gamma distribution, stated as data: `rates_prior` events in `rates_weight` observations,
log_prior = Σ rates_prior · log λ − rates_weight · λ, so that the M step is
λ_k = (rates_prior + Σ_n γ x_n) / (rates_weight + Σ_n γ). Observations are whole numbers ``[N, D]``, NaN where missing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tagline.errors import InputError
from tagline.models.hmm.emissions.base import EMPTY, by_state, parameter, prior
from tagline.models.hmm.emissions.discrete import log_density, log_factorial, weighted_logs
from tagline.models.hmm.emissions.products import product, sums_by_state
from tagline.models.hmm.emissions.starting import find_clusters
from tagline.models.hmm.emissions.sums import SummedEmission
from tagline.types import Float64Array, IntArray


@dataclass(frozen=True, eq=False)
class Poisson(SummedEmission):
    """Counters with a rate in each state.

    Arguments:
        rates: ``[K, D]``, at least 0.
        rates_prior: events that were seen before, a number of at least 0 or an array that fits ``[K, D]``.
        rates_weight: in how many observations; 0 and 0 is no prior.

    >>> Poisson([[1.0], [4.0]]).log_likelihood(np.array([[0.0], [np.nan]])).tolist()
    [[-1.0, -4.0], [0.0, 0.0]]
    """

    family: ClassVar[str] = "poisson"
    parameters: ClassVar[tuple[str, ...]] = ("rates",)
    numbers: ClassVar[tuple[str, ...]] = ("rates_prior", "rates_weight")

    rates: Float64Array
    rates_prior: Float64Array | float = 0.0
    rates_weight: Float64Array | float = 0.0

    def __post_init__(self) -> None:
        rates = parameter("rates", self.rates, None, None)
        if rates.min() < 0:
            raise InputError("rates: expected numbers of at least 0, got {:g}", rates.min())
        self._set(
            rates=rates,
            rates_prior=prior("rates_prior", self.rates_prior, 0.0, rates.shape),
            rates_weight=prior("rates_weight", self.rates_weight, 0.0, rates.shape),
        )
        self._check_shared()

    @property
    def num_dimensions(self) -> int:
        """D."""
        return int(self.rates.shape[1])

    def _log_likelihood(self, observations: NDArray[Any]) -> Float64Array:
        seen = ~np.isnan(observations)
        counts = np.where(seen, observations, 0.0)
        logs = weighted_logs(counts, self.rates) - product(seen, self.rates.T)
        logs -= log_factorial(counts).sum(axis=1, keepdims=True)
        return logs

    def _statistics(self, observations: NDArray[Any], posteriors: Float64Array) -> Float64Array:
        """Events and observations, ``[2, K, D]``."""
        seen = ~np.isnan(observations)
        events = sums_by_state(posteriors, np.where(seen, observations, 0.0))
        return np.stack([events, sums_by_state(posteriors, seen)])

    def _learned(self, sums: Float64Array) -> Self:
        events, mass = sums.reshape(2, *self.rates.shape)
        new = (self.rates_prior + events) / (self.rates_weight + np.maximum(mass, EMPTY))
        return replace(self, rates=np.where(mass > EMPTY, new, self.rates))

    def _log_prior(self) -> float:
        return log_density(np.asarray(self.rates_prior), self.rates) - float((self.rates_weight * self.rates).sum())

    def _num_parameters(self) -> dict[str, int]:
        return {"rates": self.rates.size}

    def _chosen(self, keep: IntArray) -> dict[str, Any]:
        return {
            "rates": self.rates[keep],
            "rates_prior": by_state(np.asarray(self.rates_prior), keep, 2),
            "rates_weight": by_state(np.asarray(self.rates_weight), keep, 2),
        }

    def sample(self, states: IntArray, random: np.random.Generator) -> Float64Array:
        """Draw the counts of each state, ``[T, D]``."""
        return random.poisson(self.rates[states]).astype(np.float64)

    @classmethod
    def _started(
        cls, observations: NDArray[Any], num_states: int, random: np.random.Generator, **settings: Any
    ) -> Self:
        """Start with centres of k-means++, moved a tenth of the way to the mean of all, so that rates are not 0."""
        clusters = find_clusters(observations, num_states, random)
        return cls(0.9 * np.maximum(clusters.centres, 0.0) + 0.1 * clusters.means, **settings)
