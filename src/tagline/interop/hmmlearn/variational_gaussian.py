"""`VariationalGaussianHMM`: a normal and a Wishart posterior for the mean and the precision of each state.

Gruhl and Sick (2016). With ν degrees of freedom, the inverse scale V and the weight β of a state's posterior,

    E log N(x; μ, Λ⁻¹) = log N(x; m, V / ν) + ½ [Σ_i ψ((ν − i) / 2) − D log(ν / 2) − D / β] + const,   i = 0 … D − 1,

so that the E step is that of a Gaussian HMM with a number added for each state. The M step is `Gaussian`'s: its prior
has the same conjugate form, ν₀ + N is the divisor of the scatter, and what it divides is V. The constant ½ D log 2π is
added as in hmmlearn, which leaves the term out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma  # type: ignore[import-untyped]
from sklearn.cluster import KMeans  # type: ignore[import-untyped]

from tagline.errors import InputError
from tagline.interop.hmmlearn._kl_divergence import kl_multivariate_normal_distribution, kl_wishart_distribution
from tagline.interop.hmmlearn.covariances import check_type, floor_of, spread, spread_as, stored_covars
from tagline.interop.hmmlearn.utils import fill_covars
from tagline.interop.hmmlearn.variational import VariationalBaseHMM, expected_logs, filled
from tagline.models.hmm.emissions import Gaussian
from tagline.models.hmm.emissions.gaussian import covars_shape
from tagline.training.expectations import Expectations, expectations
from tagline.types import Float64Array


class VariationalGaussianHMM(VariationalBaseHMM):
    """A `GaussianHMM` by variational Bayes.

    Arguments:
        covariance_type: "spherical", "diag", "full", or "tied": one for all states.
        means_prior, beta_prior: the mean of the means and its weight; left out, the mean of the data and 1.
        dof_prior, scale_prior: of the precisions; left out, n_features and 0.001, on the diagonal of matrices.
        rest: as for `VariationalBaseHMM`; the letters are m for means and beta, c for dof and scale.

    Attributes:
        means_posterior_, beta_posterior_, dof_posterior_, scale_posterior_: the posterior of the states; the same names
            with ``prior_`` are where it begins.
        means_, covars_: the means of the posterior, covariances as matrices.

    >>> import numpy as np
    >>> from tagline.interop.hmmlearn import vhmm
    >>> levels = np.repeat([[0.1], [5.1], [0.3], [4.9]], 20, axis=0) + np.random.default_rng(0).normal(0, 0.1, (80, 1))
    >>> model = vhmm.VariationalGaussianHMM(2, random_state=0).fit(levels)
    >>> model.means_.shape
    (2, 1)
    """

    means_prior_: Any
    means_posterior_: Any
    beta_prior_: Any
    beta_posterior_: Any
    dof_prior_: Any
    dof_posterior_: Any
    scale_prior_: Any
    scale_posterior_: Any
    _covars_: Float64Array

    def __init__(
        self,
        n_components: int = 1,
        covariance_type: str = "full",
        startprob_prior: ArrayLike | None = None,
        transmat_prior: ArrayLike | None = None,
        means_prior: ArrayLike | None = None,
        beta_prior: ArrayLike | None = None,
        dof_prior: ArrayLike | None = None,
        scale_prior: ArrayLike | None = None,
        algorithm: str = "viterbi",
        random_state: Any = None,
        n_iter: int = 100,
        tol: float = 1e-6,
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
        self.means_prior = means_prior
        self.beta_prior = beta_prior
        self.dof_prior = dof_prior
        self.scale_prior = scale_prior

    @property
    def means_(self) -> Any:
        """The means of the posterior."""
        return self.means_posterior_

    @property
    def covars_(self) -> NDArray[Any]:
        """The covariance matrix of each state, scale over degrees of freedom."""
        return fill_covars(self._covars_, self.covariance_type, self.n_components, self.n_features)

    @covars_.setter
    def covars_(self, covars: ArrayLike) -> None:
        self._covars_ = stored_covars(covars, self.covariance_type, self.n_components)

    def _init(self, X: Any, lengths: Any = None) -> None:
        check_type(self.covariance_type)
        super()._init(X, lengths)
        K, D = self.n_components, self.n_features
        clusters = KMeans(n_clusters=K, random_state=self.random_state, n_init=10).fit(X)
        sizes = np.bincount(clusters.labels_, minlength=K).astype(np.float64)
        if self._needs_any("m", "means_prior_", "means_posterior_", "beta_prior_", "beta_posterior_"):
            self.means_prior_ = filled(X.mean(axis=0) if self.means_prior is None else self.means_prior, 0.0, (K, D))
            self.means_posterior_ = clusters.cluster_centers_
            self.beta_prior_, self.beta_posterior_ = filled(self.beta_prior, 1.0, (K,)), sizes
        if self._needs_any("c", "dof_prior_", "dof_posterior_", "scale_prior_", "scale_posterior_"):
            self._init_precisions(X, sizes)

    def _init_precisions(self, X: Any, sizes: Float64Array) -> None:
        K, D, kind = self.n_components, self.n_features, self.covariance_type
        shape = covars_shape(kind, K, D)
        states = () if kind == "tied" else (K,)
        self.dof_prior_, self.dof_posterior_ = filled(self.dof_prior, D, states), sizes
        if kind == "tied":
            self.dof_prior_, self.dof_posterior_ = float(self.dof_prior_), float(sizes.sum())
        self._covars_ = spread_as(spread(X, 1e-3), kind, *states)
        least = 1e-3 * np.eye(D) if kind in ("full", "tied") else np.full(shape, 1e-3)
        self.scale_prior_ = filled(least if self.scale_prior is None else self.scale_prior, 0.0, shape)
        self.scale_posterior_ = self._covars_ * self._by_state(self.dof_posterior_)

    def _by_state(self, values: Any) -> Float64Array:
        """One number a state, with as many axes as covariances have."""
        axes = {"spherical": 0, "diag": 1, "full": 2, "tied": 0}[self.covariance_type]
        numbers = np.asarray(values, np.float64)
        return numbers.reshape(numbers.shape + (1,) * axes)

    def _check(self) -> None:
        check_type(self.covariance_type)
        super()._check()
        K, D = self.n_components, self.n_features
        shapes = {"means": (K, D), "beta": (K,), "scale": covars_shape(self.covariance_type, K, D)}
        if self.covariance_type != "tied":
            shapes["dof"] = (K,)
        elif np.ndim(self.dof_prior_) or np.ndim(self.dof_posterior_):
            raise InputError("dof_prior_, dof_posterior_: expected one number each, for tied covariances, got arrays")
        for name, shape in shapes.items():
            for role in ("prior", "posterior"):
                self._check_shape(f"{name}_{role}_", shape)

    def _get_n_fit_scalars_per_param(self) -> dict[str, int]:
        K, D = self.n_components, self.n_features
        sizes = {
            "spherical": 2 * K,
            "diag": K + K * D,
            "full": K + K * D * (D + 1) // 2,
            "tied": 1 + D * (D + 1) // 2,
        }
        return {"s": K - 1, "t": K * (K - 1), "m": K * D + K, "c": sizes[self.covariance_type]}

    def _compute_log_likelihood(self, X: Any) -> Float64Array:
        self._check_and_set_n_features(X)
        covars = self.scale_posterior_ / self._by_state(self.dof_posterior_)
        return Gaussian(self.means_posterior_, covars, self.covariance_type).log_likelihood(np.asarray(X, np.float64))

    def _expect(self, X: Any, lengths: Any) -> Expectations:
        D = self.n_features
        dof = np.broadcast_to(self.dof_posterior_, self.n_components)
        spreads = digamma((dof[:, None] - np.arange(D)) / 2).sum(axis=1) - D * np.log(dof / 2)
        constants = 0.5 * (spreads - D / self.beta_posterior_ + D * np.log(2 * np.pi))
        rows = self._scalable(self._compute_log_likelihood(X) + constants)
        transitions, start = expected_logs(self.transmat_posterior_), expected_logs(self.startprob_posterior_)
        return expectations(rows, self._offsets(X, lengths), start, transitions)

    def _do_mstep(self, stats: dict[str, Any]) -> None:
        super()._do_mstep(stats)
        nodes, matrix = stats["expected"].nodes, self.covariance_type in ("full", "tied")
        mass = nodes.sum(axis=0)
        # A state without observations keeps what `Gaussian` has: the prior.
        means = self.means_prior_ if "m" in self.params else self.means_posterior_
        learner = Gaussian(
            means,
            self.scale_prior_ / self._by_state(self.dof_prior_),
            self.covariance_type,
            self.means_prior_,
            self.beta_prior_,
            self.scale_prior_[:, None] if self.covariance_type == "spherical" else self.scale_prior_,
            np.asarray(self.dof_prior_ + (self.n_features if matrix else 1)),
            floor_of(stats["X"]),
            frozen=() if "m" in self.params else ("means",),
        )
        learned = learner.fitted(np.asarray(stats["X"], np.float64), nodes)
        if "m" in self.params:
            self.means_posterior_, self.beta_posterior_ = np.array(learned.means), self.beta_prior_ + mass
        if "c" in self.params:
            self.dof_posterior_ = self.dof_prior_ + (mass.sum() if self.covariance_type == "tied" else mass)
            self._covars_ = np.array(learned.covars)
            self.scale_posterior_ = self._covars_ * self._by_state(self.dof_posterior_)

    def _generate_sample_from_state(self, state: int, random_state: Any) -> Any:
        return random_state.multivariate_normal(self.means_[state], self.covars_[state])

    def _compute_lower_bound(self, curr_logprob: float) -> float:
        K, D, kind = self.n_components, self.n_features, self.covariance_type
        new, old = (fill_covars(scale, kind, K, D) for scale in (self.scale_posterior_, self.scale_prior_))
        dof_new, dof_old = (np.broadcast_to(dof, K) for dof in (self.dof_posterior_, self.dof_prior_))
        bound = super()._compute_lower_bound(curr_logprob)
        for k in range(K):
            spread_of_one = new[k] / dof_new[k]
            bound -= kl_multivariate_normal_distribution(
                self.means_posterior_[k],
                spread_of_one / self.beta_posterior_[k],
                self.means_prior_[k],
                spread_of_one / self.beta_prior_[k],
            )
            if kind != "tied" or k == 0:
                bound -= kl_wishart_distribution(dof_new[k], new[k], dof_old[k], old[k])
        return bound
