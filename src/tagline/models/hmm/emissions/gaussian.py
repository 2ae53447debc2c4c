"""Vectors of real numbers: each state has a mean and a covariance, spherical, diagonal, full, or one for all states.

The prior has hmmlearn's names and M steps. With w means_weight, m means_prior, P covars_prior, v = covars_weight − 1
(covars_weight − D where the covariance is a matrix; 0 where that is negative):

    log_prior = −½ Σ_k [v log |Σ_k| + tr Σ_k⁻¹ (P + w (μ_k − m)(μ_k − m)ᵀ)]
    μ_k = (w m + Σ_n γ x_n) / (w + Σ_n γ)
    Σ_k = (P + w (μ_k − m)(μ_k − m)ᵀ + Σ_n γ (x_n − μ_k)(x_n − μ_k)ᵀ) / (v + Σ_n γ)

A number P stands for P times the unit matrix (hmmlearn would add it to every entry of a full matrix). `min_variance` is
a floor: Σ_k − diag(min_variance) never has a negative eigenvalue after a fit, and among such matrices the M step takes
the best, so that EM rises with the floor too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tagline.checks import check_choice
from tagline.errors import InputError
from tagline.models.hmm.emissions import densities
from tagline.models.hmm.emissions.base import EMPTY, Emission, by_state, parameter, prior
from tagline.models.hmm.emissions.moments import GaussianStatistics, diagonal_moments, full_moments
from tagline.models.hmm.emissions.starting import Clusters, find_clusters
from tagline.types import Float64Array, IntArray

COVARIANCES = ("spherical", "diag", "full", "tied")
_FLOOR = 1e-6  # of the variance of the observations, or of 1 where they are constant
_NARROWEST = 1e-3  # at the start no state is narrower than this share of the variance of all observations


@dataclass(frozen=True, eq=False)
class Gaussian(Emission):
    """Normal distributions.

    Arguments:
        means: ``[K, D]``.
        covars: ``[K]`` (spherical), ``[K, D]`` (diag), ``[K, D, D]`` (full) or ``[D, D]`` (tied).
        covariance: one of `COVARIANCES`.
        means_prior: a number, ``[D]`` or ``[K, D]``.
        means_weight: how many observations that prior is worth: a number of at least 0, or ``[K]``; 0 is no prior.
        covars_prior: a number of at least 0, ``[D]`` or ``[K, D]``; for matrices a number, ``[D, D]`` or ``[K, D, D]``.
        covars_weight: a number of at least 0, or ``[K]``; 1 (D for matrices) or less adds nothing to the divisor.
        min_variance: a positive number or ``[D]``, the floor of what `fitted` returns.

    >>> Gaussian([[0.0], [3.0]], [[1.0], [4.0]]).log_likelihood(np.array([[0.0], [np.nan]])).round(3).tolist()
    [[-0.919, -2.737], [0.0, 0.0]]
    """

    family: ClassVar[str] = "gaussian"
    parameters: ClassVar[tuple[str, ...]] = ("means", "covars")
    numbers: ClassVar[tuple[str, ...]] = (
        "means_prior",
        "means_weight",
        "covars_prior",
        "covars_weight",
        "min_variance",
    )
    options: ClassVar[tuple[str, ...]] = ("covariance",)

    means: Float64Array
    covars: Float64Array
    covariance: str = "diag"
    means_prior: Float64Array | float = 0.0
    means_weight: Float64Array | float = 0.0
    covars_prior: Float64Array | float = 0.0
    covars_weight: Float64Array | float = 1.0
    min_variance: Float64Array | float = 1e-6

    def __post_init__(self) -> None:
        means = parameter("means", self.means, None, None)
        K, D = means.shape
        shape = covars_shape(self.covariance, K, D)
        floor = prior("min_variance", self.min_variance, 0.0, (D,))
        if floor.min() <= 0:
            raise InputError("min_variance: expected positive numbers, got {:g}", floor.min())
        self._set(
            means=means,
            covars=parameter("covars", self.covars, *shape),
            means_prior=prior("means_prior", self.means_prior, -np.inf, (K, D)),
            means_weight=prior("means_weight", self.means_weight, 0.0, (K,)),
            covars_prior=self._checked_prior(shape if len(shape) > 1 else (K, D)),
            covars_weight=prior("covars_weight", self.covars_weight, 0.0, () if self.covariance == "tied" else (K,)),
            min_variance=floor,
        )
        self._check_covars()
        self._check_shared()

    def _checked_prior(self, shape: tuple[int, ...]) -> Float64Array:
        if not self._is_matrix or np.ndim(self.covars_prior) == 0:
            return prior("covars_prior", self.covars_prior, 0.0, shape)
        scale = prior("covars_prior", self.covars_prior, -np.inf, shape)
        if scale.ndim < 2 or np.linalg.eigvalsh(scale).min() < -1e-9 * np.abs(scale).max() or not _symmetric(scale):
            raise InputError("covars_prior: expected a number or symmetric matrices without negative eigenvalues")
        return scale

    def _check_covars(self) -> None:
        if not self._is_matrix:
            if self.covars.min() <= 0:
                raise InputError("covars: expected positive variances, got {:g}", self.covars.min())
            return
        if not _symmetric(self.covars):
            raise InputError("covars: expected symmetric matrices, got others")
        for k, matrix in enumerate(self.covars.reshape(-1, *self.covars.shape[-2:])):
            try:
                np.linalg.cholesky(matrix)
            except np.linalg.LinAlgError:
                place = f"covars[{k}]" if self.covariance == "full" else "covars"
                low = np.linalg.eigvalsh(matrix)[0]
                raise InputError(
                    "{}: expected a matrix with positive eigenvalues, got one with {:g}; raise min_variance", place, low
                ) from None

    @property
    def num_dimensions(self) -> int:
        """D."""
        return int(self.means.shape[1])

    @property
    def _is_matrix(self) -> bool:
        return self.covariance in ("full", "tied")

    def variances(self) -> Float64Array:
        """Return the variance of each dimension in each state, ``[K, D]``."""
        if self.covariance == "spherical":
            return np.repeat(self.covars[:, None], self.num_dimensions, axis=1)
        if self.covariance == "diag":
            return self.covars
        diagonal = np.diagonal(self.covars, axis1=-2, axis2=-1)
        return np.array(np.broadcast_to(diagonal, self.means.shape))

    def matrices(self) -> Float64Array:
        """Return the covariance matrix of each state, ``[K, D, D]``."""
        K, D = self.means.shape
        if self._is_matrix:
            return np.broadcast_to(self.covars, (K, D, D))
        return self.variances()[:, :, None] * np.eye(D)

    def _log_likelihood(self, observations: NDArray[Any]) -> Float64Array:
        if self._is_matrix:
            return densities.full(observations, self.means, self.covars)
        return densities.diagonal(observations, self.means, self.variances())

    # The M step.

    def _fitted(self, observations: NDArray[Any], posteriors: Float64Array) -> Self:
        if self._is_matrix:
            statistics = full_moments(observations, posteriors, self.means, self.matrices(), self._new_means)
        else:
            statistics = diagonal_moments(observations, posteriors, self.means.mean(axis=0), self._new_means)
        covars = self.covars if "covars" in self.frozen else self._new_covars(statistics)
        return replace(self, means=statistics.means, covars=covars)

    @property
    def learns_from_moments(self) -> bool:
        """Whether `from_moments` can be the M step."""
        return self.tied is None and not self._is_matrix

    def from_moments(
        self,
        mass: Float64Array,
        first: Float64Array,
        second: Float64Array,
        scatter_around: Callable[[Float64Array], Float64Array],
    ) -> Self:
        """Return the M step of spherical and diagonal states that are not tied, from sums over whole observations.

        Arguments:
            mass: ``[K]``, Σ_n γ.
            first, second: ``[K, D]``, Σ_n γ (x_n − μ) and Σ_n γ (x_n − μ)² around the present means.
            scatter_around: gives Σ_n γ (x_n − m)² around other means m; asked where these have moved so far that
                digits of the scatter would be lost.
        """
        if set(self.parameters) <= set(self.frozen):
            return self
        weight = np.broadcast_to(mass[:, None], first.shape)
        means = self._new_means(weight, first + weight * self.means)
        near = means - self.means
        scatter = second - near * (2 * first - near * weight)
        if (second > densities.LIMIT * scatter).any():
            scatter = scatter_around(means)
        statistics = GaussianStatistics(weight, means, scatter)
        return replace(
            self, means=means, covars=self.covars if "covars" in self.frozen else self._new_covars(statistics)
        )

    def _new_means(self, mass: Float64Array, sums: Float64Array) -> Float64Array:
        if "means" in self.frozen:
            return self.means
        weight = _column(self.means_weight)
        new = (weight * self.means_prior + sums) / (weight + np.maximum(mass, EMPTY))
        return np.where(mass > EMPTY, new, self.means)

    def _new_covars(self, statistics: GaussianStatistics) -> Float64Array:
        if self._is_matrix:
            return self._new_matrices(statistics)
        top = self.covars_prior + self._pull(statistics.means) + statistics.scatter  # [K, D]
        mass, extra = statistics.mass, np.broadcast_to(self._extra_mass, top.shape)
        floor = np.asarray(self.min_variance)
        if self.covariance == "spherical":
            top, mass, extra, floor = top.sum(axis=1), mass.sum(axis=1), extra.sum(axis=1), floor.max()
        new = np.maximum(top / (extra + np.maximum(mass, EMPTY)), floor)
        return np.where(mass > EMPTY, new, self.covars)

    def _new_matrices(self, statistics: GaussianStatistics) -> Float64Array:
        top = self._pull(statistics.means) + statistics.scatter  # [K, D, D]
        mass = statistics.mass[:, 0]
        if self.covariance == "tied":
            top, mass = top.sum(axis=0, keepdims=True), mass.sum(keepdims=True)
        new = (top + self._prior_matrix) / (self._extra_mass.ravel() + np.maximum(mass, EMPTY))[:, None, None]
        before = self.covars.reshape(new.shape)
        matrices = [
            floored(matrix, np.asarray(self.min_variance)) if weight > EMPTY else old
            for matrix, weight, old in zip(new, mass, before, strict=True)
        ]
        return np.stack(matrices).reshape(self.covars.shape)

    @property
    def _extra_mass(self) -> Float64Array:
        """Return what the prior adds to the divisor of each state's covariance, ``[K, 1]``, or ``[1]`` for all."""
        least = self.num_dimensions if self._is_matrix else 1
        extra = np.maximum(np.asarray(self.covars_weight) - least, 0)
        return extra.reshape(1) if self.covariance == "tied" else _column(extra)

    @property
    def _prior_matrix(self) -> Float64Array:
        scale = np.asarray(self.covars_prior)
        return scale * np.eye(self.num_dimensions) if scale.ndim == 0 else scale

    def _pull(self, means: Float64Array) -> Float64Array:
        """Return what the prior of the means adds to the scatter."""
        away = means - self.means_prior
        weight = _column(self.means_weight)
        if not self._is_matrix:
            return weight * away**2
        return weight[..., None] * (away[:, :, None] * away[:, None, :])

    def _log_prior(self) -> float:
        if not self._is_matrix:
            variances = self.variances()
            terms = self._extra_mass * np.log(variances) + (self.covars_prior + self._pull(self.means)) / variances
            return -0.5 * float(terms.sum())
        pull = self._pull(self.means)
        scale = np.broadcast_to(self._prior_matrix, pull.shape) + pull
        if self.covariance == "tied":
            scale = (self._prior_matrix + pull.sum(axis=0))[None]
        covars = self.covars.reshape(scale.shape)
        logs = self._extra_mass.ravel() * np.linalg.slogdet(covars)[1]
        traces = np.trace(np.linalg.solve(covars, scale), axis1=1, axis2=2)
        return -0.5 * float((logs + traces).sum())

    def _num_parameters(self) -> dict[str, int]:
        K, D = self.means.shape
        sizes = {"spherical": K, "diag": K * D, "full": K * D * (D + 1) // 2, "tied": D * (D + 1) // 2}
        return {"means": K * D, "covars": sizes[self.covariance]}

    def _chosen(self, keep: IntArray) -> dict[str, Any]:
        chosen = {
            "means": self.means[keep],
            "means_prior": by_state(np.asarray(self.means_prior), keep, 2),
            "means_weight": by_state(np.asarray(self.means_weight), keep, 1),
        }
        if self.covariance != "tied":
            axes = 3 if self._is_matrix else 2
            chosen["covars"] = self.covars[keep]
            chosen["covars_prior"] = by_state(np.asarray(self.covars_prior), keep, axes)
            chosen["covars_weight"] = by_state(np.asarray(self.covars_weight), keep, 1)
        return chosen

    def sample(self, states: IntArray, random: np.random.Generator) -> Float64Array:
        """Draw one vector for each state, ``[T, D]``."""
        drawn = random.standard_normal((len(states), self.num_dimensions))
        if not self._is_matrix:
            return self.means[states] + np.sqrt(self.variances())[states] * drawn
        roots = np.linalg.cholesky(self.matrices())
        for k in np.unique(states):
            drawn[states == k] = drawn[states == k] @ roots[k].T
        return self.means[states] + drawn

    @classmethod
    def _started(
        cls,
        observations: NDArray[Any],
        num_states: int,
        random: np.random.Generator,
        *,
        covariance: str = "diag",
        min_variance: Float64Array | float | None = None,
        **settings: Any,
    ) -> Self:
        """Centres of k-means++ as means; as covariance of every state the variances within the clusters.

        Without a `min_variance` it is 1e-6 of the variance of the observations in each dimension.
        """
        return cls.around(find_clusters(observations, num_states, random), covariance, min_variance, **settings)

    @classmethod
    def around(
        cls, clusters: Clusters, covariance: str, min_variance: Float64Array | float | None, **settings: Any
    ) -> Self:
        """Return one state for each cluster."""
        scale = np.where(clusters.variances > 0, clusters.variances, 1.0)
        floor = _FLOOR * scale if min_variance is None else prior("min_variance", min_variance, 0.0, scale.shape)
        variances = np.maximum(np.maximum(clusters.within, _NARROWEST * scale), floor)
        K = len(clusters.centres)
        covars = {
            "spherical": np.full(K, np.maximum(variances.mean(), floor.max())),
            "diag": np.repeat(variances[None], K, axis=0),
            "full": np.repeat(np.diag(variances)[None], K, axis=0),
            "tied": np.diag(variances),
        }
        check_choice("covariance", covariance, COVARIANCES)
        chosen = covars[covariance]
        return cls(clusters.centres, chosen, covariance=covariance, min_variance=floor, **settings)


def covars_shape(covariance: str, K: int, D: int) -> tuple[int, ...]:
    """Return the shape of the covariances of K distributions of D dimensions, or say which kinds there are."""
    shapes = {"spherical": (K,), "diag": (K, D), "full": (K, D, D), "tied": (D, D)}
    check_choice("covariance", covariance, COVARIANCES)
    return shapes[covariance]


def _column(value: Float64Array | float) -> Float64Array:
    """Return a number for each state as ``[K, 1]``, and one number for all as ``[1, 1]``."""
    return np.asarray(value, np.float64).reshape(-1, 1)


def _symmetric(matrices: Float64Array) -> bool:
    return bool(np.allclose(matrices, np.swapaxes(matrices, -1, -2), rtol=1e-9, atol=1e-9 * np.abs(matrices).max()))


def floored(matrix: Float64Array, floor: Float64Array) -> Float64Array:
    """Return the covariance Σ ⪰ diag(floor) that maximises −log |Σ| − tr Σ⁻¹ S for this S: eigenvalues are raised."""
    root = np.sqrt(np.broadcast_to(floor, len(matrix)))
    values, vectors = np.linalg.eigh(matrix / (root[:, None] * root))
    if values[0] >= 1:
        return matrix
    raised = (vectors * np.maximum(values, 1.0)) @ vectors.T
    raised = (raised + raised.T) / 2
    return np.asarray(raised * (root[:, None] * root))
