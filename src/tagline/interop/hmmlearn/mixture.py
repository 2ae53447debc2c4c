"""`GMMHMM`: vectors of real numbers, a mixture of normal distributions in each state.

The M step is `Mixture`'s, around the new means. hmmlearn's priors of covariances become those of `Gaussian`, with N the
mass of a component, S its scatter with the pull of the mean's prior, D the dimensions:

    full, tied   Σ = (covars_prior + S) / (N + 1 + covars_weight + D + 1)       (tied: n_mix in place of the first 1)
    diag         σ² = (2 covars_weight + S) / (N + 1 + 2 (covars_prior + 1))
    spherical    σ² = (2 covars_weight + Σ_d S) / (D (N + 1) + 2 (covars_prior + 1))
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.cluster import KMeans  # type: ignore[import-untyped]
from sklearn.utils import check_random_state  # type: ignore[import-untyped]

from tagline.errors import InputError
from tagline.interop.hmmlearn.covariances import check_type, floor_of, spread, spread_as
from tagline.interop.hmmlearn.emitting import EmittingHMM
from tagline.interop.hmmlearn.utils import fill_covars
from tagline.models.hmm.emissions import Emission, Mixture
from tagline.models.hmm.emissions.gaussian import covars_shape
from tagline.types import Float64Array

_LEAST = 1e-200  # a variance of 0, which hmmlearn lets pass, is taken for this


class GMMHMM(EmittingHMM):
    """An HMM whose states emit vectors from a mixture of normal distributions.

    Arguments:
        n_mix: how many components each state has.
        min_covar: added to the diagonal of the covariances that `fit` begins with.
        weights_prior: Dirichlet parameters of the weights, of 1 (no prior) or more.
        means_prior, means_weight: as for `GaussianHMM`.
        covars_prior, covars_weight: see above; left out, there is no prior.
        covariance_type: "spherical", "diag", "full", or "tied": one for all components of a state.
        rest: as for `BaseHMM`; the letters are m for means, c for covars and w for weights.

    Attributes:
        weights_: ``[n_components, n_mix]``.
        means_: ``[n_components, n_mix, n_features]``.
        covars_: ``[n_components, n_mix, …]`` in the shape of their type; tied ``[n_components, n_features,
            n_features]``.

    >>> import numpy as np
    >>> from tagline.interop.hmmlearn import hmm
    >>> levels = np.repeat([[0.1], [5.1], [0.3], [4.9]], 20, axis=0) + np.random.default_rng(0).normal(0, 0.1, (80, 1))
    >>> model = hmm.GMMHMM(2, n_mix=2, random_state=0).fit(levels)
    >>> model.means_.shape, len(set(model.predict(levels)))
    ((2, 2, 1), 2)
    """

    weights_: Any
    means_: Any
    covars_: Any

    def __init__(
        self,
        n_components: int = 1,
        n_mix: int = 1,
        min_covar: float = 1e-3,
        startprob_prior: ArrayLike = 1.0,
        transmat_prior: ArrayLike = 1.0,
        weights_prior: ArrayLike = 1.0,
        means_prior: ArrayLike = 0.0,
        means_weight: ArrayLike = 0.0,
        covars_prior: ArrayLike | None = None,
        covars_weight: ArrayLike | None = None,
        algorithm: str = "viterbi",
        covariance_type: str = "diag",
        random_state: Any = None,
        n_iter: int = 10,
        tol: float = 1e-2,
        verbose: bool = False,
        params: str = "stmcw",
        init_params: str = "stmcw",
        implementation: str = "log",
    ) -> None:
        super().__init__(
            n_components,
            startprob_prior,
            transmat_prior,
            algorithm,
            random_state,
            n_iter,
            tol,
            verbose,
            params,
            init_params,
            implementation,
        )
        self.n_mix = n_mix
        self.min_covar = min_covar
        self.weights_prior = weights_prior
        self.means_prior = means_prior
        self.means_weight = means_weight
        self.covars_prior = covars_prior
        self.covars_weight = covars_weight
        self.covariance_type = covariance_type

    def _init(self, X: Any, lengths: Any = None) -> None:
        check_type(self.covariance_type)
        super()._init(X, lengths)
        K, M = self.n_components, self.n_mix
        if self._needs_init("w", "weights_"):
            self.weights_ = np.full((K, M), 1 / M)
        if self._needs_init("m", "means_"):
            self.means_ = self._first_means(X)
        if self._needs_init("c", "covars_"):
            states = (K,) if self.covariance_type == "tied" else (K, M)
            self.covars_ = spread_as(spread(X, self.min_covar), self.covariance_type, *states)

    def _first_means(self, X: Any) -> Float64Array:
        """Clusters as states, and clusters in each of them as its components; few observations draw theirs."""
        K, M = self.n_components, self.n_mix
        states = KMeans(n_clusters=K, random_state=self.random_state, n_init=10).fit(X)
        means = []
        for state in range(K):
            inside = X[states.labels_ == state]
            if len(inside) >= M:
                inner = KMeans(n_clusters=M, random_state=self.random_state, n_init=10).fit(inside)
                means.append(inner.cluster_centers_)
            else:
                middle, random = states.cluster_centers_.mean(axis=0), check_random_state(self.random_state)
                means.append(random.multivariate_normal(middle, spread(X, self.min_covar), size=M))
        return np.stack(means)

    def _check(self) -> None:
        super()._check()
        check_type(self.covariance_type)
        self.weights_, self.means_, self.covars_ = map(np.array, (self.weights_, self.means_, self.covars_))
        if not hasattr(self, "n_features"):
            self.n_features = self.means_.shape[-1]
        K, M, D = self.n_components, self.n_mix, self.n_features
        shapes = {"weights_": (K, M), "means_": (K, M, D), "covars_": (K, *covars_shape(self.covariance_type, M, D))}
        for name, shape in shapes.items():
            if (got := getattr(self, name).shape) != shape:
                raise InputError("{}: expected shape {}, got {}", name, list(shape), list(got))
        self._check_sum_1("weights_")
        self._emission()

    def _get_n_fit_scalars_per_param(self) -> dict[str, int]:
        K, M, D = self.n_components, self.n_mix, self.n_features
        each = {"spherical": M, "diag": M * D, "full": M * D * (D + 1) // 2, "tied": D * (D + 1) // 2}
        covars = K * each[self.covariance_type]
        return {"s": K - 1, "t": K * (K - 1), "m": K * M * D, "c": covars, "w": K * (M - 1)}

    def _emission(self) -> Mixture:
        weights = self.weights_ / self.weights_.sum(axis=1, keepdims=True)
        matrix = self.covariance_type in ("full", "tied")
        covars = self.covars_ if matrix else np.where(self.covars_ == 0, _LEAST, self.covars_)
        return Mixture(weights, self.means_, covars, self.covariance_type)

    def _learner(self, X: NDArray[Any]) -> Emission:
        K, M, D = self.means_.shape
        scale, weight = self._covariance_prior()
        return replace(
            self._emission(),
            weights_prior=np.broadcast_to(self.weights_prior, (K, M)),
            means_prior=np.broadcast_to(self.means_prior, (K, M, D)),
            means_weight=np.broadcast_to(self.means_weight, (K, M)),
            covars_prior=scale,
            covars_weight=weight,
            min_variance=floor_of(X),
            frozen=self._frozen(weights="w", means="m", covars="c"),
        )

    def _covariance_prior(self) -> tuple[Float64Array, Float64Array]:
        """Return `Mixture`'s covars_prior, added to the scatter, and its covars_weight: 1, or D, is no prior."""
        (K, M, D), kind = self.means_.shape, self.covariance_type
        prior, weight = self.covars_prior, self.covars_weight
        if kind in ("full", "tied"):
            first, shape = (1, (K, M)) if kind == "full" else (M, (K,))
            extra = 0.0 if weight is None else first + np.asarray(weight, np.float64) + D + 1
            scale = np.broadcast_to(0.0 if prior is None else prior, (*shape, D, D))
            return np.swapaxes(scale, -1, -2), np.broadcast_to(D + extra, shape)
        scale = 2 * np.asarray(0.0 if weight is None else weight, np.float64)
        share = 1 if kind == "diag" else D
        extra = 0.0 if prior is None else 1 + 2 * (np.asarray(prior, np.float64) + 1) / share
        axes = (K, M) if kind == "spherical" else (K, M, D)
        wide = np.broadcast_to(extra, axes).reshape(K, M, -1)
        if (wide != wide[:, :, :1]).any():
            raise InputError("covars_prior: expected one number for all dimensions of a component, got several")
        return np.broadcast_to(scale, axes).reshape(K, M, -1) / share, 1 + wide[:, :, 0]

    def _take(self, emission: Emission) -> None:
        assert isinstance(emission, Mixture)
        self.weights_, self.means_, self.covars_ = map(np.array, (emission.weights, emission.means, emission.covars))

    def _generate_sample_from_state(self, state: int, random_state: Any) -> Any:
        component = random_state.choice(self.n_mix, p=self.weights_[state])
        covars = self.covars_[state]
        if self.covariance_type != "tied":
            covars = fill_covars(covars, self.covariance_type, self.n_mix, self.n_features)[component]
        return random_state.multivariate_normal(self.means_[state, component], covars)
