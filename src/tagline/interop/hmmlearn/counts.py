"""`MultinomialHMM`, bags of symbols, and `PoissonHMM`, counts of events."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state  # type: ignore[import-untyped]

from tagline.errors import InputError
from tagline.interop.hmmlearn.categorical import check_table
from tagline.interop.hmmlearn.emitting import EmittingHMM
from tagline.interop.hmmlearn.utils import normalize
from tagline.models.hmm.emissions import Emission, Multinomial, Poisson
from tagline.types import Float64Array


class CountingHMM(EmittingHMM):
    """What both have in common: observations are whole numbers."""

    def _values(self, X: NDArray[Any]) -> NDArray[Any]:
        values = super()._values(X)
        bad = (values < 0) | (values != np.floor(values))
        if bad.any():
            n, d = (int(axis[0]) for axis in np.nonzero(bad))
            raise InputError("X[{}, {}]: expected a count, a whole number of 0 or more, got {:g}", n, d, values[n, d])
        return values


class MultinomialHMM(CountingHMM):
    """An HMM whose states emit bags of symbols: each observation counts how often each symbol was drawn.

    Arguments:
        n_trials: how many symbols an observation has, one number or one for each; left out, those of the data.
        rest: as for `BaseHMM`; the letter of emissionprob is e.

    Attributes:
        emissionprob_: ``[n_components, n_features]``.

    >>> import numpy as np
    >>> from tagline.interop.hmmlearn import hmm
    >>> bags = np.array([[9, 1], [8, 2], [1, 9], [2, 8], [9, 1], [1, 9]])
    >>> model = hmm.MultinomialHMM(2, n_trials=10, random_state=0).fit(bags)
    >>> model.emissionprob_.shape, model.predict(bags).shape
    ((2, 2), (6,))
    """

    emissionprob_: Any

    def __init__(
        self,
        n_components: int = 1,
        n_trials: ArrayLike | None = None,
        startprob_prior: ArrayLike = 1.0,
        transmat_prior: ArrayLike = 1.0,
        algorithm: str = "viterbi",
        random_state: Any = None,
        n_iter: int = 10,
        tol: float = 1e-2,
        verbose: bool = False,
        params: str = "ste",
        init_params: str = "ste",
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
        self.n_trials = n_trials

    def _check_and_set_n_features(self, X: Any) -> None:
        super()._check_and_set_n_features(X)
        if not np.issubdtype(X.dtype, np.integer) or X.min() < 0:
            raise InputError("X: expected counts of symbols, whole numbers of 0 or more, got others")
        totals = X.sum(axis=1)
        if self.n_trials is None:
            self.n_trials = totals
        elif not np.array_equal(totals, np.broadcast_to(self.n_trials, totals.shape)):
            raise InputError("X: expected rows that add up to n_trials={}, got others", self.n_trials)

    def _init(self, X: Any, lengths: Any = None) -> None:
        super()._init(X, lengths)
        if "e" in self.init_params or not hasattr(self, "emissionprob_"):
            drawn = check_random_state(self.random_state).rand(self.n_components, self.n_features)
            normalize(drawn, axis=1)
            self.emissionprob_ = drawn

    def _check(self) -> None:
        super()._check()
        self.emissionprob_ = np.atleast_2d(self.emissionprob_)
        self.n_features = getattr(self, "n_features", self.emissionprob_.shape[1])
        check_table("emissionprob_", self.emissionprob_, self.n_components, self.n_features)
        self._check_sum_1("emissionprob_")
        if self.n_trials is None:
            raise InputError("n_trials: expected how many symbols an observation has, got None")

    def _get_n_fit_scalars_per_param(self) -> dict[str, int]:
        K, V = self.n_components, self.n_features
        return {"s": K - 1, "t": K * (K - 1), "e": K * (V - 1)}

    def _values(self, X: NDArray[Any]) -> NDArray[Any]:
        return super()._values(X).astype(np.int64)

    def _emission(self) -> Multinomial:
        return Multinomial(self.emissionprob_ / self.emissionprob_.sum(axis=1, keepdims=True))

    def _learner(self, X: NDArray[Any]) -> Emission:
        return replace(self._emission(), frozen=self._frozen(probabilities="e"))

    def _take(self, emission: Emission) -> None:
        assert isinstance(emission, Multinomial)
        self.emissionprob_ = np.array(emission.probabilities)

    def _generate_sample_from_state(self, state: int, random_state: Any) -> Any:
        trials = np.unique(np.asarray(self.n_trials))
        if len(trials) != 1:
            raise InputError("n_trials: expected one number to draw observations with, got {}", len(trials))
        shares = np.array(self.emissionprob_[state], np.float64)
        shares[-1] = 1 - shares[:-1].sum()
        return random_state.multinomial(trials[0], shares)


class PoissonHMM(CountingHMM):
    """An HMM whose states emit counts of events, each with a rate.

    Arguments:
        lambdas_prior, lambdas_weight: events that were seen before, and in how many observations: numbers, one for each
            state, or ``[n_components, n_features]``; 0 and 0 is no prior.
        rest: as for `BaseHMM`; the letter of lambdas is l.

    Attributes:
        lambdas_: ``[n_components, n_features]``.

    >>> import numpy as np
    >>> from tagline.interop.hmmlearn import hmm
    >>> events = np.array([[1], [0], [9], [11], [1], [10]])
    >>> model = hmm.PoissonHMM(2, random_state=0).fit(events)
    >>> model.lambdas_.shape, model.predict(events).shape
    ((2, 1), (6,))
    """

    lambdas_: Any

    def __init__(
        self,
        n_components: int = 1,
        startprob_prior: ArrayLike = 1.0,
        transmat_prior: ArrayLike = 1.0,
        lambdas_prior: ArrayLike = 0.0,
        lambdas_weight: ArrayLike = 0.0,
        algorithm: str = "viterbi",
        random_state: Any = None,
        n_iter: int = 10,
        tol: float = 1e-2,
        verbose: bool = False,
        params: str = "stl",
        init_params: str = "stl",
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
        self.lambdas_prior = lambdas_prior
        self.lambdas_weight = lambdas_weight

    def _init(self, X: Any, lengths: Any = None) -> None:
        super()._init(X, lengths)
        if self._needs_init("l", "lambdas_"):
            mean, variance = X.mean(), X.var()
            shape = (self.n_components, self.n_features)
            if mean > 0 and variance > 0:  # rates whose mean and variance are those of the counts
                self.lambdas_ = check_random_state(self.random_state).gamma(mean**2 / variance, variance / mean, shape)
            else:
                self.lambdas_ = np.full(shape, max(mean, 1e-3))

    def _check(self) -> None:
        super()._check()
        self.lambdas_ = np.atleast_2d(self.lambdas_)
        self.n_features = getattr(self, "n_features", self.lambdas_.shape[1])
        check_table("lambdas_", self.lambdas_, self.n_components, self.n_features)

    def _get_n_fit_scalars_per_param(self) -> dict[str, int]:
        K, D = self.n_components, self.n_features
        return {"s": K - 1, "t": K * (K - 1), "l": K * D}

    def _emission(self) -> Poisson:
        return Poisson(self.lambdas_)

    def _learner(self, X: NDArray[Any]) -> Emission:
        events, weight = _column(self.lambdas_prior), _column(self.lambdas_weight)
        return replace(self._emission(), rates_prior=events, rates_weight=weight, frozen=self._frozen(rates="l"))

    def _take(self, emission: Emission) -> None:
        assert isinstance(emission, Poisson)
        self.lambdas_ = np.array(emission.rates)

    def _generate_sample_from_state(self, state: int, random_state: Any) -> Any:
        return random_state.poisson(self.lambdas_[state])


def _column(prior: ArrayLike) -> Float64Array:
    """Return one number for each state as ``[K, 1]``."""
    values = np.asarray(prior, np.float64)
    return values[:, None] if values.ndim == 1 else values
