"""`GaussianHMM`: vectors of real numbers, a mean and a covariance in each state."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.cluster import KMeans  # type: ignore[import-untyped]

from tagline.errors import InputError
from tagline.interop.hmmlearn.covariances import check_type, floor_of, spread, spread_as, stored_covars
from tagline.interop.hmmlearn.emitting import EmittingHMM
from tagline.interop.hmmlearn.utils import fill_covars
from tagline.models.hmm.emissions import Emission, Gaussian
from tagline.types import Float64Array


class GaussianHMM(EmittingHMM):
    """An HMM whose states emit vectors that are normally distributed.

    Arguments:
        covariance_type: "spherical", "diag", "full", or "tied": one for all states.
        min_covar: added to the diagonal of the covariances that `fit` begins with.
        means_prior, means_weight: the mean of the means, and how many observations it is worth.
        covars_prior, covars_weight: what is added to the scatter, and to its divisor, as in hmmlearn; a number among
            matrices is added to every entry.
        rest: as for `BaseHMM`; the letters are m for means and c for covars.

    Attributes:
        means_: ``[n_components, n_features]``.
        covars_: read as matrices ``[n_components, n_features, n_features]``, set in the shape of their type.

    >>> import numpy as np
    >>> from tagline.interop.hmmlearn import hmm
    >>> levels = np.array([[0.1], [0.2], [5.1], [4.9], [0.0], [5.0], [5.2], [0.3]])
    >>> states = hmm.GaussianHMM(2, random_state=0).fit(levels).predict(levels)
    >>> (states == states[0]).tolist()
    [True, True, False, False, True, False, False, True]
    """

    means_: Any
    _covars_: Float64Array

    def __init__(
        self,
        n_components: int = 1,
        covariance_type: str = "diag",
        min_covar: float = 1e-3,
        startprob_prior: ArrayLike = 1.0,
        transmat_prior: ArrayLike = 1.0,
        means_prior: ArrayLike = 0,
        means_weight: ArrayLike = 0,
        covars_prior: ArrayLike = 1e-2,
        covars_weight: ArrayLike = 1,
        algorithm: str = "viterbi",
        random_state: Any = None,
        n_iter: int = 10,
        tol: float = 1e-2,
        verbose: bool = False,
        params: str = "stmc",
        init_params: str = "stmc",
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
        self.covariance_type = covariance_type
        self.min_covar = min_covar
        self.means_prior = means_prior
        self.means_weight = means_weight
        self.covars_prior = covars_prior
        self.covars_weight = covars_weight

    @property
    def covars_(self) -> NDArray[Any]:
        """The covariance matrix of each state."""
        return fill_covars(self._covars_, self.covariance_type, self.n_components, self.n_features)

    @covars_.setter
    def covars_(self, covars: ArrayLike) -> None:
        self._covars_ = stored_covars(covars, self.covariance_type, self.n_components)

    def _init(self, X: Any, lengths: Any = None) -> None:
        check_type(self.covariance_type)
        super()._init(X, lengths)
        if self._needs_init("m", "means_"):
            clusters = KMeans(n_clusters=self.n_components, random_state=self.random_state, n_init=10).fit(X)
            self.means_ = clusters.cluster_centers_
        if self._needs_init("c", "covars_"):
            states = () if self.covariance_type == "tied" else (self.n_components,)
            self._covars_ = spread_as(spread(X, self.min_covar), self.covariance_type, *states)

    def _check(self) -> None:
        super()._check()
        check_type(self.covariance_type)
        self.means_ = np.asarray(self.means_)
        if self.means_.ndim != 2 or len(self.means_) != self.n_components:
            shape = list(self.means_.shape)
            raise InputError("means_: expected shape [{}, n_features], got {}", self.n_components, shape)
        self.n_features = self.means_.shape[1]

    def _get_n_fit_scalars_per_param(self) -> dict[str, int]:
        K, D = self.n_components, self.n_features
        sizes = {"spherical": K, "diag": K * D, "full": K * D * (D + 1) // 2, "tied": D * (D + 1) // 2}
        return {"s": K - 1, "t": K * (K - 1), "m": K * D, "c": sizes[self.covariance_type]}

    def _emission(self) -> Gaussian:
        return Gaussian(self.means_, self._covars_, self.covariance_type)

    def _learner(self, X: NDArray[Any]) -> Emission:
        K, D = self.means_.shape
        scale = np.asarray(self.covars_prior, np.float64)
        if self.covariance_type in ("full", "tied"):
            scale = np.broadcast_to(scale, (D, D) if scale.ndim < 3 else scale.shape)
        return replace(
            self._emission(),
            means_prior=by_state(self.means_prior, K, D),
            means_weight=np.asarray(self.means_weight, np.float64),
            covars_prior=scale,
            covars_weight=np.asarray(self.covars_weight, np.float64),
            min_variance=floor_of(X),
            frozen=self._frozen(means="m", covars="c"),
        )

    def _take(self, emission: Emission) -> None:
        assert isinstance(emission, Gaussian)
        self.means_, self._covars_ = np.array(emission.means), np.array(emission.covars)

    def _generate_sample_from_state(self, state: int, random_state: Any) -> Any:
        return random_state.multivariate_normal(self.means_[state], self.covars_[state])


def by_state(prior: ArrayLike, n_components: int, n_features: int) -> Float64Array:
    """Return a prior that fits ``[K, D]``; ``[K]`` becomes a column, unless it fits the dimensions."""
    values = np.asarray(prior, np.float64)
    column = values.ndim == 1 and len(values) == n_components != n_features
    return values[:, None] if column else values
