"""`VariationalBaseHMM` and `VariationalCategoricalHMM`: variational Bayes, where EM has point estimates.

Beal (2003), chapter 3. The posteriors of π, of the rows of A and of emissions are Dirichlet distributions. The E step
is that of an HMM whose log probabilities are E log p = ψ(posterior) − ψ(Σ posterior): a chain like any other. The M
step adds its expected counts to the prior, and the lower bound is log Z − KL(posterior ‖ prior).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma  # type: ignore[import-untyped]
from sklearn.utils import check_random_state  # type: ignore[import-untyped]

from tagline.chain.symbols import SymbolChain
from tagline.errors import InputError
from tagline.interop.hmmlearn._kl_divergence import kl_dirichlet
from tagline.interop.hmmlearn.categorical import Symbolic, check_table, one_column
from tagline.interop.hmmlearn.estimator import AbstractHMM
from tagline.training.expectations import Expectations, symbol_expectations
from tagline.types import Float64Array


class VariationalBaseHMM(AbstractHMM):
    """An HMM with posteriors of π and A.

    Arguments:
        startprob_prior, transmat_prior: Dirichlet parameters; left out, 1 / n_components.
        rest: as for `BaseHMM`.

    Attributes:
        startprob_prior_, startprob_posterior_: Dirichlet parameters ``[n_components]``.
        transmat_prior_, transmat_posterior_: of each row, ``[n_components, n_components]``.
        startprob_, transmat_: the means of the posteriors.

    >>> from tagline.interop.hmmlearn import base, vhmm
    >>> issubclass(vhmm.VariationalGaussianHMM, base.VariationalBaseHMM)
    True
    """

    startprob_prior_: Any
    startprob_posterior_: Any
    transmat_prior_: Any
    transmat_posterior_: Any

    def __init__(
        self,
        n_components: int = 1,
        startprob_prior: ArrayLike | None = None,
        transmat_prior: ArrayLike | None = None,
        algorithm: str = "viterbi",
        random_state: Any = None,
        n_iter: int = 100,
        tol: float = 1e-6,
        verbose: bool = False,
        params: str = "ste",
        init_params: str = "ste",
        implementation: str = "log",
    ) -> None:
        super().__init__(
            n_components, algorithm, random_state, n_iter, tol, verbose, params, init_params, implementation
        )
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior

    def _needs_any(self, code: str, *names: str) -> bool:
        return any(self._needs_init(code, name) for name in names)

    def _init(self, X: Any, lengths: Any = None) -> None:
        self._check_and_set_n_features(X)
        K, random = self.n_components, check_random_state(self.random_state)
        even = np.full(K, 1 / K)
        if self._needs_any("s", "startprob_posterior_", "startprob_prior_"):
            self.startprob_prior_ = filled(self.startprob_prior, 1 / K, (K,))
            self.startprob_posterior_ = random.dirichlet(even) * len(lengths)
        if self._needs_any("t", "transmat_posterior_", "transmat_prior_"):
            self.transmat_prior_ = filled(self.transmat_prior, 1 / K, (K, K))
            self.transmat_posterior_ = random.dirichlet(even, size=K) * sum(lengths) / K
        self._warn_of_few(X)

    def _check(self) -> None:
        K = self.n_components
        for name, shape in (("startprob", (K,)), ("transmat", (K, K))):
            for role in ("prior", "posterior"):
                self._check_shape(f"{name}_{role}_", shape)

    def _check_shape(self, name: str, shape: tuple[int, ...]) -> None:
        """Make an array of an attribute, and raise unless it has this shape."""
        values = np.asarray(getattr(self, name), np.float64)
        if values.shape != shape:
            raise InputError("{}: expected shape {}, got {}", name, list(shape), list(values.shape))
        setattr(self, name, values)

    def _expect(self, X: Any, lengths: Any) -> Expectations:
        """The E step; E log p of π and of A are `expected_logs`."""
        raise NotImplementedError

    def _do_estep(self, X: Any, lengths: Any) -> tuple[dict[str, Any], float]:
        expected = self._expect(X, lengths)
        counts = {"start": expected.start, "trans": expected.transitions}
        return {**counts, "X": X, "expected": expected}, float(expected.log_likelihood.sum())

    def _do_mstep(self, stats: dict[str, Any]) -> None:
        if "s" in self.params:
            self.startprob_posterior_ = self.startprob_prior_ + stats["start"]
        if "t" in self.params:
            self.transmat_posterior_ = self.transmat_prior_ + stats["trans"]
        self.startprob_ = mean_of(self.startprob_posterior_)
        self.transmat_ = mean_of(self.transmat_posterior_)

    def _compute_lower_bound(self, curr_logprob: float) -> float:
        starts = kl_dirichlet(self.startprob_posterior_, self.startprob_prior_)
        return curr_logprob - starts - divergence(self.transmat_posterior_, self.transmat_prior_)


class VariationalCategoricalHMM(Symbolic, VariationalBaseHMM):
    """A `CategoricalHMM` by variational Bayes.

    Arguments:
        emissionprob_prior: Dirichlet parameters; left out, 1 / n_features.
        n_features: how many symbols there are; left out, as many as the data has.
        rest: as for `VariationalBaseHMM`; the letter of emissionprob is e.

    Attributes:
        emissionprob_prior_, emissionprob_posterior_: Dirichlet parameters ``[n_components, n_features]``.
        emissionprob_: the mean of the posterior.

    >>> import numpy as np
    >>> from tagline.interop.hmmlearn import vhmm
    >>> symbols = np.array([[0], [1], [0], [1], [2], [2], [0], [1]])
    >>> model = vhmm.VariationalCategoricalHMM(2, random_state=0).fit(symbols)
    >>> model.emissionprob_.shape
    (2, 3)
    """

    emissionprob_prior_: Any
    emissionprob_posterior_: Any

    def __init__(
        self,
        n_components: int = 1,
        startprob_prior: ArrayLike | None = None,
        transmat_prior: ArrayLike | None = None,
        emissionprob_prior: ArrayLike | None = None,
        n_features: int | None = None,
        algorithm: str = "viterbi",
        random_state: Any = None,
        n_iter: int = 100,
        tol: float = 1e-6,
        verbose: bool = False,
        params: str = "ste",
        init_params: str = "ste",
        implementation: str = "log",
    ) -> None:
        VariationalBaseHMM.__init__(
            self,
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
        self.emissionprob_prior = emissionprob_prior
        self.n_features = n_features

    def _init(self, X: Any, lengths: Any = None) -> None:
        super()._init(X, lengths)
        K, V = self.n_components, self.n_features
        if self._needs_init("e", "emissionprob_posterior_"):
            self.emissionprob_prior_ = filled(self.emissionprob_prior, 1 / V, (K, V))
            random = check_random_state(self.random_state)
            drawn = [random.dirichlet(row) for row in self.emissionprob_prior_]
            self.emissionprob_posterior_ = np.stack(drawn) * sum(lengths) / K

    def _check(self) -> None:
        super()._check()
        if self.n_features is None:
            self.n_features = np.shape(self.emissionprob_posterior_)[-1]
        for role in ("prior", "posterior"):
            name = f"emissionprob_{role}_"
            setattr(self, name, np.atleast_2d(np.asarray(getattr(self, name), np.float64)))
            check_table(name, getattr(self, name), self.n_components, self.n_features)

    def _expect(self, X: Any, lengths: Any) -> Expectations:
        values, offsets = one_column(X, self._offsets(X, lengths))
        table = np.ascontiguousarray(expected_logs(self.emissionprob_posterior_).T)
        transitions, start = expected_logs(self.transmat_posterior_), expected_logs(self.startprob_posterior_)
        return symbol_expectations(SymbolChain(table, self._ids(values), transitions, start, None, offsets))

    def _do_mstep(self, stats: dict[str, Any]) -> None:
        super()._do_mstep(stats)
        if "e" in self.params:
            self.emissionprob_posterior_ = self.emissionprob_prior_ + stats["expected"].emissions.T
        self.emissionprob_ = mean_of(self.emissionprob_posterior_)

    def _compute_lower_bound(self, curr_logprob: float) -> float:
        bound = super()._compute_lower_bound(curr_logprob)
        return bound - divergence(self.emissionprob_posterior_, self.emissionprob_prior_)


def filled(prior: ArrayLike | None, default: float, shape: tuple[int, ...]) -> Float64Array:
    """Return a prior as an array of this shape."""
    return np.array(np.broadcast_to(default if prior is None else prior, shape), np.float64)


def mean_of(parameters: Float64Array) -> Float64Array:
    """Return the mean of Dirichlet distributions along the last axis."""
    return np.asarray(parameters / parameters.sum(axis=-1, keepdims=True))


def expected_logs(parameters: Float64Array) -> Float64Array:
    """Return E log p under Dirichlet distributions along the last axis."""
    return np.asarray(digamma(parameters) - digamma(parameters.sum(axis=-1, keepdims=True)))


def divergence(posterior: Float64Array, prior: Float64Array) -> float:
    """Return the divergence of all rows together."""
    return sum(kl_dirichlet(q, p) for q, p in zip(posterior, prior, strict=True))
