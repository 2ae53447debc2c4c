"""`BaseHMM`: EM for π and A, and the hooks by which classes of users add emissions of their own.

All sentences are counted at once by the engine; classes that sum up observations in `_accumulate_sufficient_statistics`
are then called for each sentence, with its posteriors and lattices.
"""

from __future__ import annotations

import string
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_random_state  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from tagline.errors import InputError
from tagline.interop.hmmlearn import _hmmc
from tagline.interop.hmmlearn.estimator import AbstractHMM
from tagline.messages import message
from tagline.models.hmm.emissions.discrete import log
from tagline.training.expectations import expectations
from tagline.types import Float64Array


class BaseHMM(AbstractHMM):
    """An HMM that learns π and A; classes that derive from it define what states emit.

    Arguments:
        n_components: how many states.
        startprob_prior, transmat_prior: Dirichlet parameters; 1 is no prior, less than 1 makes zeros likely.
        algorithm: what `decode` does: "viterbi" or "map".
        random_state: a seed or a RandomState.
        n_iter, tol: EM stops after so many steps, or after one that gains less.
        verbose: whether steps are written to stderr.
        params, init_params: letters of the parameters that `fit` learns, and of those that it sets before: s for
            startprob, t for transmat, others for emissions.
        implementation: "log" or "scaling".

    >>> from tagline.interop.hmmlearn import base, hmm
    >>> issubclass(hmm.GaussianHMM, base.BaseHMM)
    True
    """

    def __init__(
        self,
        n_components: int = 1,
        startprob_prior: ArrayLike = 1.0,
        transmat_prior: ArrayLike = 1.0,
        algorithm: str = "viterbi",
        random_state: Any = None,
        n_iter: int = 10,
        tol: float = 1e-2,
        verbose: bool = False,
        params: str = string.ascii_letters,
        init_params: str = string.ascii_letters,
        implementation: str = "log",
    ) -> None:
        super().__init__(
            n_components, algorithm, random_state, n_iter, tol, verbose, params, init_params, implementation
        )
        self.startprob_prior = startprob_prior
        self.transmat_prior = transmat_prior

    def get_stationary_distribution(self) -> Float64Array:
        """Return the probabilities of the states ``[n_components]`` that a step along `transmat_` does not change."""
        check_is_fitted(self, "transmat_")
        values, vectors = np.linalg.eig(np.asarray(self.transmat_, np.float64).T)
        vector = vectors[:, np.abs(values - 1).argmin()].real
        return np.asarray(vector / vector.sum())

    def aic(self, X: ArrayLike, lengths: ArrayLike | None = None) -> float:
        """Return Akaike's criterion, −2 log P(X) + 2 p; the lower the better."""
        return -2 * self.score(X, lengths) + 2 * self._num_scalars()

    def bic(self, X: ArrayLike, lengths: ArrayLike | None = None) -> float:
        """Return the Bayesian criterion, −2 log P(X) + p log n_samples; the lower the better."""
        return -2 * self.score(X, lengths) + self._num_scalars() * float(np.log(len(check_array(X))))

    def _num_scalars(self) -> int:
        self._check()
        counts = self._get_n_fit_scalars_per_param()
        if counts is None:
            raise NotImplementedError(message("{} has to define _get_n_fit_scalars_per_param", type(self).__name__))
        return sum(counts.values())

    def _init(self, X: Any, lengths: Any = None) -> None:
        self._check_and_set_n_features(X)
        random, even = check_random_state(self.random_state), np.full(self.n_components, 1 / self.n_components)
        if self._needs_init("s", "startprob_"):
            self.startprob_ = random.dirichlet(even)
        if self._needs_init("t", "transmat_"):
            self.transmat_ = random.dirichlet(even, size=self.n_components)
        self._warn_of_few(X)

    def _check(self) -> None:
        K = self.n_components
        for name, shape in (("startprob_", (K,)), ("transmat_", (K, K))):
            values = np.asarray(getattr(self, name))
            if values.shape != shape:
                raise InputError(
                    "{}: expected shape {}, for n_components, got {}", name, list(shape), list(values.shape)
                )
            setattr(self, name, values)
            self._check_sum_1(name)

    def _check_sum_1(self, name: str) -> None:
        sums = getattr(self, name).sum(axis=-1)
        if not np.allclose(sums, 1):
            raise InputError(
                "{}: expected probabilities that sum to 1, got {}", name, np.array2string(sums, precision=6)
            )

    def _do_estep(self, X: Any, lengths: Any) -> tuple[dict[str, Any], float]:
        offsets = self._offsets(X, lengths)
        rows = self._rows(X, offsets)
        expected = expectations(rows, offsets, log(self.startprob_), log(self.transmat_))
        assert expected.nodes is not None
        stats = self._initialize_sufficient_statistics()
        stats["nobs"] += len(offsets) - 1
        stats["start"] += expected.start
        stats["trans"] += expected.transitions
        if type(self)._accumulate_sufficient_statistics is not BaseHMM._accumulate_sufficient_statistics:
            for a, b in pairwise(offsets.tolist()):
                lattices = self._lattices(rows[a:b])
                self._accumulate_sufficient_statistics(stats, X[a:b], lattices[0], expected.nodes[a:b], *lattices[1:])
        return stats, float(expected.log_likelihood.sum())

    def _lattices(self, rows: Float64Array) -> tuple[Float64Array, Float64Array, Float64Array]:
        """Return likelihoods, α and β of one sentence, as the implementation has them."""
        start, transitions = self.startprob_, self.transmat_
        if self.implementation == "log":
            return rows, _hmmc.forward_log(start, transitions, rows)[1], _hmmc.backward_log(start, transitions, rows)
        likelihood = np.exp(rows)
        _, alpha, factors = _hmmc.forward_scaling(start, transitions, likelihood)
        return likelihood, alpha, _hmmc.backward_scaling(start, transitions, likelihood, factors)

    def _initialize_sufficient_statistics(self) -> dict[str, Any]:
        K = self.n_components
        return {"nobs": 0, "start": np.zeros(K), "trans": np.zeros((K, K))}

    def _accumulate_sufficient_statistics(
        self, stats: dict[str, Any], X: Any, lattice: Any, posteriors: Any, fwdlattice: Any, bwdlattice: Any
    ) -> None:
        """Add the sums of one sentence; those of π and A are there already, of all sentences at once."""

    def _do_mstep(self, stats: dict[str, Any]) -> None:
        if "s" in self.params:
            before = np.asarray(self.startprob_, np.float64)
            self.startprob_ = most_probable(np.where(before > 0, stats["start"], -np.inf), self.startprob_prior, before)
        if "t" in self.params:
            before = np.asarray(self.transmat_, np.float64)
            self.transmat_ = most_probable(np.where(before > 0, stats["trans"], -np.inf), self.transmat_prior, before)


def most_probable(counts: Float64Array, prior: ArrayLike, before: Float64Array) -> Float64Array:
    """Return the rows that maximise Σ (counts + prior − 1) log p; a row in which nothing counts stays as it was.

    A count of −∞ stands for what is impossible. With a prior of less than 1 the sum in the brackets can be negative:
    the best p is then 0.

    >>> most_probable(np.array([[3.0, 1.0], [0.0, 0.0]]), 1.0, np.array([[0.5, 0.5], [0.2, 0.8]])).tolist()
    [[0.75, 0.25], [0.2, 0.8]]
    """
    weights = np.maximum(np.asarray(prior, np.float64) - 1 + counts, 0.0)
    totals = weights.sum(axis=-1, keepdims=True)
    return np.where(totals > 0, weights / np.where(totals > 0, totals, 1.0), before)
