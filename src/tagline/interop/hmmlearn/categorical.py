"""`CategoricalHMM`: one symbol an observation, by its number. Its chain is a `SymbolChain`: no array of ``[N, K]``."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state  # type: ignore[import-untyped]

from tagline.chain import symbols
from tagline.chain.symbols import SymbolChain
from tagline.errors import InputError
from tagline.interop.hmmlearn.estimator import AbstractHMM
from tagline.interop.hmmlearn.markov import BaseHMM, most_probable
from tagline.interop.hmmlearn.utils import normalize
from tagline.messages import message
from tagline.models.hmm.emissions.discrete import log
from tagline.training.expectations import symbol_expectations
from tagline.types import Float64Array, IntArray


class Symbolic(AbstractHMM):
    """What models of symbols share: numbers of symbols at the door, and chains over a table of them."""

    emissionprob_: Any

    def _check_and_set_n_features(self, X: Any) -> None:
        if not np.issubdtype(X.dtype, np.integer):
            raise InputError("X: expected numbers of symbols, whole ones, got {}", X.dtype)
        if X.min() < 0:
            raise InputError("X: expected numbers of symbols of 0 or more, got {}", X.min())
        if self.n_features is None:
            self.n_features = int(X.max()) + 1
        elif X.max() >= self.n_features:
            raise InputError("X: expected symbols up to {}, as n_features says, got {}", self.n_features - 1, X.max())

    def _get_n_fit_scalars_per_param(self) -> dict[str, int] | None:
        K, V = self.n_components, self.n_features
        return {"s": K - 1, "t": K * (K - 1), "e": K * (V - 1)}

    def _observed(self, X: ArrayLike, lengths: ArrayLike | None) -> tuple[NDArray[Any], IntArray]:
        values, offsets = super()._observed(X, lengths)
        return one_column(values, offsets)

    def _ids(self, X: Any) -> IntArray:
        """Return the numbers of the symbols ``[N]``, all of which the model knows."""
        self._check_and_set_n_features(X)
        return np.ascontiguousarray(X[:, 0], np.int64)

    def _compute_log_likelihood(self, X: Any) -> Float64Array:
        return np.ascontiguousarray(log(np.asarray(self.emissionprob_, np.float64)).T[self._ids(X)])

    def _symbol_chain(self, X: NDArray[Any], offsets: IntArray) -> SymbolChain:
        parts = (log(np.asarray(part, np.float64)) for part in (self.emissionprob_, self.transmat_, self.startprob_))
        table, transitions, start = parts
        return SymbolChain(np.ascontiguousarray(table.T), self._ids(X), transitions, start, None, offsets)

    def score(self, X: ArrayLike, lengths: ArrayLike | None = None) -> float:
        """Return log P(X), summed over the sentences; −∞ where the model cannot have emitted it."""
        if not self._scores_as(Symbolic):
            return super().score(X, lengths)
        return float(symbols.log_partition(self._symbol_chain(*self._observed(X, lengths))).sum())

    def _decode_viterbi(self, X: ArrayLike, lengths: ArrayLike | None) -> tuple[float, IntArray]:
        if not self._scores_as(Symbolic):
            return super()._decode_viterbi(X, lengths)
        best = symbols.viterbi(self._symbol_chain(*self._observed(X, lengths)))
        return float(best.scores.sum()), best.labels

    def _generate_sample_from_state(self, state: int, random_state: Any) -> list[int]:
        return [int((np.cumsum(self.emissionprob_[state]) > random_state.rand()).argmax())]


class CategoricalHMM(Symbolic, BaseHMM):
    """An HMM whose states emit symbols, numbers from 0; X is ``[n_samples, 1]``.

    Arguments:
        emissionprob_prior: Dirichlet parameters of `emissionprob_`; 1 is no prior.
        n_features: how many symbols there are; left out, as many as the data has.
        rest: as for `BaseHMM`; the letter of emissionprob is e.

    Attributes:
        emissionprob_: ``[n_components, n_features]``.

    >>> coins = CategoricalHMM(2)
    >>> coins.startprob_, coins.transmat_ = [0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]]
    >>> coins.emissionprob_ = [[0.5, 0.5], [0.9, 0.1]]
    >>> coins.predict([[0], [1], [1], [0], [0], [0], [0], [0], [0], [0]]).tolist()
    [0, 0, 0, 1, 1, 1, 1, 1, 1, 1]
    """

    def __init__(
        self,
        n_components: int = 1,
        startprob_prior: ArrayLike = 1.0,
        transmat_prior: ArrayLike = 1.0,
        *,
        emissionprob_prior: ArrayLike = 1.0,
        n_features: int | None = None,
        algorithm: str = "viterbi",
        random_state: Any = None,
        n_iter: int = 10,
        tol: float = 1e-2,
        verbose: bool = False,
        params: str = "ste",
        init_params: str = "ste",
        implementation: str = "log",
    ) -> None:
        BaseHMM.__init__(
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
        if self._needs_init("e", "emissionprob_"):
            drawn = check_random_state(self.random_state).rand(self.n_components, self.n_features)
            normalize(drawn, axis=1)
            self.emissionprob_ = drawn

    def _check(self) -> None:
        super()._check()
        self.emissionprob_ = np.atleast_2d(self.emissionprob_)
        if self.n_features is None:
            self.n_features = self.emissionprob_.shape[1]
        check_table("emissionprob_", self.emissionprob_, self.n_components, self.n_features)
        self._check_sum_1("emissionprob_")

    def _do_estep(self, X: Any, lengths: Any) -> tuple[dict[str, Any], float]:
        values, offsets = one_column(X, self._offsets(X, lengths))
        plain = type(self)._accumulate_sufficient_statistics is BaseHMM._accumulate_sufficient_statistics
        if not plain or not self._scores_as(Symbolic):
            raise NotImplementedError(
                message(
                    "{} scores or counts symbols in its own way; derive the class from BaseHMM", type(self).__name__
                )
            )
        expected = symbol_expectations(self._symbol_chain(values, offsets))
        assert expected.emissions is not None
        stats = self._initialize_sufficient_statistics()
        stats |= {"nobs": len(offsets) - 1, "start": expected.start, "trans": expected.transitions}
        return {**stats, "obs": expected.emissions.T}, float(expected.log_likelihood.sum())

    def _do_mstep(self, stats: dict[str, Any]) -> None:
        super()._do_mstep(stats)
        if "e" in self.params:
            before = np.asarray(self.emissionprob_, np.float64)
            self.emissionprob_ = most_probable(stats["obs"], self.emissionprob_prior, before)


def one_column(X: NDArray[Any], offsets: IntArray) -> tuple[NDArray[Any], IntArray]:
    """Return symbols as ``[N, 1]``; rows of several, which hmmlearn calls deprecated, are read from left to right."""
    if X.shape[1] == 1:
        return X, offsets
    warnings.warn(
        message("X: expected shape [n_samples, 1]; other shapes are deprecated"), DeprecationWarning, stacklevel=4
    )
    return X.reshape(-1, 1), offsets * X.shape[1]


def check_table(name: str, table: NDArray[Any], n_components: int, n_features: int) -> None:
    """Raise unless a table has a row for each state and a column for each symbol or dimension."""
    if table.shape != (n_components, n_features):
        wanted = [n_components, n_features]
        raise InputError("{}: expected shape {}, n_components by n_features, got {}", name, wanted, list(table.shape))
