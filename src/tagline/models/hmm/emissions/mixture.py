"""Gaussian mixtures: in each state one of M normal distributions, p(x | k) = Σ_m weights[k, m] N(x; μ_km, Σ_km).

Which of them it was is hidden like the state. So the M step shares out each state's responsibility, γ[n, k, m] =
γ[n, k] · p(m | x_n, k), and every component learns as in `gaussian`, with the same priors. Covariances that are
``tied`` are shared by the components of one state.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tagline.checks import check_whole
from tagline.errors import InputError
from tagline.messages import message
from tagline.models.hmm.emissions.base import Emission, by_state, number, parameter, prior
from tagline.models.hmm.emissions.discrete import check_rows, log, log_density, probabilities, shares
from tagline.models.hmm.emissions.gaussian import Gaussian, covars_shape
from tagline.models.hmm.emissions.starting import find_clusters
from tagline.types import Float64Array, IntArray


@dataclass(frozen=True, eq=False)
class Mixture(Emission):
    """Mixtures of normal distributions.

    Arguments:
        weights: ``[K, M]``, each row sums to one.
        means: ``[K, M, D]``.
        covars: ``[K, M]`` (spherical), ``[K, M, D]`` (diag), ``[K, M, D, D]`` (full) or ``[K, D, D]`` (tied).
        covariance: one of `COVARIANCES`.
        weights_prior: Dirichlet parameters, a number of at least 1 or an array that fits ``[K, M]``; 1 is no prior.
        means_prior, means_weight, covars_prior, covars_weight, min_variance: as for `Gaussian`, the same for all
            states, or with a first axis K, in each of which the components are what states are to `Gaussian`.

    Attributes:
        components: the M distributions of each state.
    """

    family: ClassVar[str] = "mixture"
    parameters: ClassVar[tuple[str, ...]] = ("weights", "means", "covars")
    numbers: ClassVar[tuple[str, ...]] = ("weights_prior", *Gaussian.numbers)
    options: ClassVar[tuple[str, ...]] = Gaussian.options

    weights: Float64Array
    means: Float64Array
    covars: Float64Array
    covariance: str = "diag"
    weights_prior: Float64Array | float = 1.0
    means_prior: Float64Array | float = 0.0
    means_weight: Float64Array | float = 0.0
    covars_prior: Float64Array | float = 0.0
    covars_weight: Float64Array | float = 1.0
    min_variance: Float64Array | float = 1e-6
    components: tuple[Gaussian, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        means = parameter("means", self.means, None, None, None)
        K, M, D = means.shape
        weights = probabilities("weights", self.weights, K, M)
        check_rows("weights", weights)
        shape = covars_shape(self.covariance, M, D)
        self._set(
            weights=weights,
            means=means,
            covars=parameter("covars", self.covars, K, *shape),
            weights_prior=prior("weights_prior", self.weights_prior, 1.0, (K, M)),
            **{name: number(name, getattr(self, name)) for name in self._axes()},
        )
        self._set(components=tuple(self._component(k) for k in range(K)))
        self._check_shared()

    def _axes(self) -> dict[str, int]:
        """Return how many axes a prior has if it differs by state."""
        matrix = self.covariance in ("full", "tied")
        one_each = 1 if self.covariance == "tied" else 2
        return {
            "means_prior": 3,
            "means_weight": 2,
            "covars_prior": 3 if self.covariance == "tied" else 3 + matrix,
            "covars_weight": one_each,
            "min_variance": 2,
        }

    def _component(self, k: int) -> Gaussian:
        settings: dict[str, Any] = {}
        for name, axes in self._axes().items():
            value = np.asarray(getattr(self, name))
            if value.ndim == axes and len(value) not in (1, len(self.means)):
                raise InputError("{}: expected {} states, got {}", name, len(self.means), len(value))
            settings[name] = value[k % len(value)] if value.ndim == axes else value
        try:
            return Gaussian(self.means[k], self.covars[k], self.covariance, **settings)
        except InputError as error:
            raise InputError("state {}: {}", k, error) from None

    @property
    def num_dimensions(self) -> int:
        """D."""
        return int(self.means.shape[2])

    def _log_likelihood(self, observations: NDArray[Any]) -> Float64Array:
        out = np.empty((len(observations), self.num_states))
        for k in range(self.num_states):
            joint, top = self._joint(observations, k)
            out[:, k] = np.log(np.exp(joint - top[:, None]).sum(axis=1)) + top
        out[np.isnan(observations).all(axis=1)] = 0.0  # exactly: the weights sum to one but for rounding
        return out

    def _joint(self, observations: NDArray[Any], k: int) -> tuple[Float64Array, Float64Array]:
        """Return log p(x_n, component m | state k), ``[N, M]``, and the largest of each row."""
        joint = self.components[k].log_likelihood(observations) + log(self.weights[k])
        return joint, joint.max(axis=1, initial=-np.inf)

    def _fitted(self, observations: NDArray[Any], posteriors: Float64Array) -> Self:
        seen = ~np.isnan(observations).all(axis=1)
        inner = tuple(name for name in self.frozen if name != "weights")
        weights, new_components = [], []
        for k, component in enumerate(self.components):
            joint, top = self._joint(observations, k)
            shared = np.exp(joint - top[:, None])  # [N, M]
            shared *= (posteriors[:, k] * seen / shared.sum(axis=1))[:, None]
            weights.append(shared.sum(axis=0))
            new_components.append(replace(component, frozen=inner).fitted(observations, shared))
        new_weights = self.weights
        if "weights" not in self.frozen:
            new_weights = shares(np.stack(weights), self.weights, self.weights_prior)
        means, covars = (
            np.stack([getattr(component, name) for component in new_components]) for name in ("means", "covars")
        )
        return replace(self, weights=new_weights, means=means, covars=covars)

    def _log_prior(self) -> float:
        total = log_density(np.asarray(self.weights_prior - 1.0), self.weights)
        return total + sum(component.log_prior() for component in self.components)

    def _num_parameters(self) -> dict[str, int]:
        K, M = self.weights.shape
        inner = self.components[0]._num_parameters()
        return {"weights": K * (M - 1), **{name: K * count for name, count in inner.items()}}

    def _chosen(self, keep: IntArray) -> dict[str, Any]:
        priors = {name: by_state(np.asarray(getattr(self, name)), keep, axes) for name, axes in self._axes().items()}
        return {
            "weights": self.weights[keep],
            "means": self.means[keep],
            "covars": self.covars[keep],
            "weights_prior": by_state(np.asarray(self.weights_prior), keep, 2),
            **priors,
        }

    def sample(self, states: IntArray, random: np.random.Generator) -> Float64Array:
        """Draw one vector for each state, ``[T, D]``."""
        out = np.empty((len(states), self.num_dimensions))
        for k in np.unique(states):
            here = np.flatnonzero(states == k)
            cumulative = np.cumsum(self.weights[k])
            chosen = np.searchsorted(cumulative, random.random(len(here)) * cumulative[-1], side="right")
            out[here] = self.components[k].sample(chosen, random)
        return out

    @classmethod
    def _started(
        cls,
        observations: NDArray[Any],
        num_states: int,
        random: np.random.Generator,
        *,
        n_components: int = 1,
        covariance: str = "diag",
        min_variance: Float64Array | float | None = None,
        **settings: Any,
    ) -> Self:
        """k-means++ twice: clusters as states, and clusters in each of them as its components, equally likely."""
        check_whole("n_components", n_components, 1, wanted=message("1 or more"))
        clusters = find_clusters(observations, num_states, random)
        nearest = clusters.nearest(observations)
        weights = np.full((num_states, n_components), 1.0 / n_components)
        centres, covars = [], []
        for k in range(num_states):
            part = find_clusters(observations[nearest == k], n_components, random)
            inner = replace(part, means=clusters.means, variances=clusters.variances)
            state = Gaussian.around(inner, covariance, min_variance)
            centres.append(state.means)
            covars.append(state.covars)
        floor = state.min_variance
        return cls(weights, np.stack(centres), np.stack(covars), covariance, min_variance=floor, **settings)
