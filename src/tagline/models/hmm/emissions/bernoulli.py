"""Switches: each state has a probability for each of D switches to be on, p(x | k) = Π_d p^x (1 − p)^(1 − x).

The prior is a beta distribution for each switch, so that the M step is
p_k = (Σ_n γ x_n + on − 1) / (Σ_n γ + on + off − 2). Observations are 0 or 1, ``[N, D]``, NaN where missing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tagline.models.hmm.emissions.base import by_state, prior
from tagline.models.hmm.emissions.discrete import log_density, probabilities, shares, weighted_logs
from tagline.models.hmm.emissions.products import sums_by_state
from tagline.models.hmm.emissions.starting import find_clusters
from tagline.models.hmm.emissions.sums import SummedEmission
from tagline.types import Float64Array, IntArray


@dataclass(frozen=True, eq=False)
class Bernoulli(SummedEmission):
    """Switches with a probability in each state.

    Arguments:
        probabilities: ``[K, D]``, of 1.
        prior: beta parameters of 0 and of 1: a number of at least 1, ``[2]``, or an array that fits ``[K, D, 2]``; 1 is
            no prior.

    >>> Bernoulli([[0.5], [0.9]]).log_likelihood(np.array([[1.0], [np.nan]])).round(3).tolist()
    [[-0.693, -0.105], [0.0, 0.0]]
    """

    family: ClassVar[str] = "bernoulli"
    parameters: ClassVar[tuple[str, ...]] = ("probabilities",)
    numbers: ClassVar[tuple[str, ...]] = ("prior",)

    probabilities: Float64Array
    prior: Float64Array | float = 1.0

    def __post_init__(self) -> None:
        on = np.minimum(probabilities("probabilities", self.probabilities, None, None), 1.0)
        on.flags.writeable = False
        self._set(probabilities=on, prior=prior("prior", self.prior, 1.0, (*on.shape, 2)))
        self._check_shared()

    @property
    def num_dimensions(self) -> int:
        """D."""
        return int(self.probabilities.shape[1])

    def _log_likelihood(self, observations: NDArray[Any]) -> Float64Array:
        off, on = _counts(observations)
        return weighted_logs(on, self.probabilities) + weighted_logs(off, 1.0 - self.probabilities)

    def _statistics(self, observations: NDArray[Any], posteriors: Float64Array) -> Float64Array:
        """Counts of 0 and of 1, ``[K, D, 2]``."""
        return np.stack([sums_by_state(posteriors, part) for part in _counts(observations)], axis=-1)

    def _learned(self, sums: Float64Array) -> Self:
        return replace(
            self, probabilities=shares(sums.reshape(*self.probabilities.shape, 2), self._pairs(), self.prior)[..., 1]
        )

    def _pairs(self) -> Float64Array:
        """The probabilities of 0 and of 1, ``[K, D, 2]``."""
        return np.stack([1.0 - self.probabilities, self.probabilities], axis=-1)

    def _log_prior(self) -> float:
        return log_density(np.asarray(self.prior - 1.0), self._pairs())

    def _num_parameters(self) -> dict[str, int]:
        return {"probabilities": self.probabilities.size}

    def _chosen(self, keep: IntArray) -> dict[str, Any]:
        return {"probabilities": self.probabilities[keep], "prior": by_state(np.asarray(self.prior), keep, 3)}

    def sample(self, states: IntArray, random: np.random.Generator) -> Float64Array:
        """Draw the switches of each state, ``[T, D]``."""
        on = self.probabilities[states]
        return (random.random(on.shape) < on).astype(np.float64)

    @classmethod
    def _started(
        cls, observations: NDArray[Any], num_states: int, random: np.random.Generator, **settings: Any
    ) -> Self:
        """Centres of k-means++, softened: half of each is the mean of all, with one 0 and one 1 added."""
        clusters = find_clusters(observations, num_states, random)
        N = len(observations)
        overall = (N * clusters.means + 1.0) / (N + 2.0)
        return cls(0.5 * np.clip(clusters.centres, 0.0, 1.0) + 0.5 * overall, **settings)


def _counts(observations: NDArray[Any]) -> tuple[Float64Array, Float64Array]:
    """Return how often 0 and how often 1 was seen, ``[N, D]`` each."""
    seen = ~np.isnan(observations)
    on = np.where(seen, observations, 0.0)
    return seen - on, on
