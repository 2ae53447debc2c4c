"""What all models of hmmlearn's interface share: questions to the engine, and the loop of EM.

A model scores its observations (`_compute_log_likelihood`); with log π and log A these are a `Chain`, and every answer
is the engine's. ``implementation`` chooses between two recursions in hmmlearn; here one engine serves both, and
"scaling" only keeps the error where that recursion would underflow.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator  # type: ignore[import-untyped]
from sklearn.utils import check_array, check_random_state  # type: ignore[import-untyped]
from sklearn.utils.validation import check_is_fitted  # type: ignore[import-untyped]

from tagline import chain as engine
from tagline.checks import check_choice
from tagline.errors import InputError
from tagline.interop.hmmlearn.monitor import ConvergenceMonitor, log
from tagline.messages import message
from tagline.models.answers import MOST_TOKENS
from tagline.models.hmm.emissions.discrete import log as logarithm
from tagline.models.hmm.emissions.observations import read_lengths
from tagline.ragged import blocks_of
from tagline.types import Chain, Float64Array, IntArray

DECODER_ALGORITHMS = frozenset(("viterbi", "map"))
IMPLEMENTATIONS = ("log", "scaling")
_LEAST = np.log(1e-300)  # where scaled recursions underflow


class AbstractHMM(BaseEstimator):  # type: ignore[misc]
    """Questions to a model that has `startprob_`, `transmat_` and `_compute_log_likelihood`, and the loop of EM."""

    startprob_: Any
    transmat_: Any
    n_features: Any

    def __init__(
        self,
        n_components: int,
        algorithm: str,
        random_state: Any,
        n_iter: int,
        tol: float,
        verbose: bool,
        params: str,
        init_params: str,
        implementation: str,
    ) -> None:
        self.n_components = n_components
        self.algorithm = algorithm
        self.random_state = random_state
        self.n_iter = n_iter
        self.tol = tol
        self.verbose = verbose
        self.params = params
        self.init_params = init_params
        self.implementation = implementation
        self.monitor_ = ConvergenceMonitor(tol, n_iter, verbose)

    # Questions.

    def score(self, X: ArrayLike, lengths: ArrayLike | None = None) -> float:
        """Return log P(X), summed over the sentences; −∞ where the model cannot have emitted it."""
        chains = self._chains(X, lengths)
        return float(sum(engine.log_partition(chain, allow_no_path=True).sum() for chain in chains))

    def score_samples(self, X: ArrayLike, lengths: ArrayLike | None = None) -> tuple[float, Float64Array]:
        """Return log P(X), and the probability of each state at each observation ``[n_samples, n_components]``."""
        answers = [engine.marginals(chain) for chain in self._chains(X, lengths)]
        rows = [np.zeros((0, self.n_components)), *(answer.nodes for answer in answers)]
        return float(sum(answer.log_z.sum() for answer in answers)), np.concatenate(rows)

    def predict_proba(self, X: ArrayLike, lengths: ArrayLike | None = None) -> Float64Array:
        """Return the probability of each state at each observation."""
        return self.score_samples(X, lengths)[1]

    def decode(
        self, X: ArrayLike, lengths: ArrayLike | None = None, algorithm: str | None = None
    ) -> tuple[float, IntArray]:
        """Return states ``[n_samples]`` and how good they are.

        Arguments:
            X, lengths: observations of all sentences, and how many each has.
            algorithm: "viterbi", the most probable states, with their log P(X, states); "map", at each observation the
                most probable state by itself, with the sum of these probabilities. Left out: that of the model.
        """
        chosen = algorithm or self.algorithm
        check_choice("algorithm", chosen, sorted(DECODER_ALGORITHMS))
        if chosen == "map":
            posteriors = self.score_samples(X, lengths)[1]
            return float(posteriors.max(axis=1).sum()), posteriors.argmax(axis=1)
        return self._decode_viterbi(X, lengths)

    def _decode_viterbi(self, X: ArrayLike, lengths: ArrayLike | None) -> tuple[float, IntArray]:
        best = [engine.viterbi(chain) for chain in self._chains(X, lengths)]
        states = [np.zeros(0, np.int64), *(paths.labels for paths in best)]
        return float(sum(paths.scores.sum() for paths in best)), np.concatenate(states)

    def predict(self, X: ArrayLike, lengths: ArrayLike | None = None) -> IntArray:
        """Return the states that `decode` finds."""
        return self.decode(X, lengths)[1]

    def sample(
        self, n_samples: int = 1, random_state: Any = None, currstate: int | None = None
    ) -> tuple[NDArray[Any], IntArray]:
        """Draw one sentence: observations ``[n_samples, n_features]``, and the states behind them.

        Arguments:
            n_samples: how many.
            random_state: a seed or a RandomState; left out, that of the model. Draws are those of hmmlearn.
            currstate: the first state; left out, it is drawn.
        """
        check_is_fitted(self, "startprob_")
        self._check()
        random = check_random_state(self.random_state if random_state is None else random_state)
        onward = np.cumsum(self.transmat_, axis=1)
        state = currstate
        if state is None:
            state = int((np.cumsum(self.startprob_) > random.rand()).argmax())
        states = [state]
        values = [self._generate_sample_from_state(state, random)]
        for _ in range(n_samples - 1):
            state = int((onward[state] > random.rand()).argmax())
            states.append(state)
            values.append(self._generate_sample_from_state(state, random))
        return np.atleast_2d(values), np.array(states, dtype=int)

    # Learning.

    def fit(self, X: ArrayLike, lengths: ArrayLike | None = None) -> Self:
        """Learn by EM.

        Arguments:
            X: observations of all sentences, ``[n_samples, n_features]``: an array, lists, a data frame.
            lengths: how many of them each sentence has; left out, they are one sentence.
        """
        values = check_array(X)
        sizes = np.array([len(values)]) if lengths is None else np.atleast_1d(np.asarray(lengths))
        self._check_implementation()
        self._init(values, sizes)
        self._check()
        self.monitor_._reset()
        for _ in range(self.n_iter):
            stats, log_prob = self._do_estep(values, sizes)
            bound = self._compute_lower_bound(log_prob)
            self._do_mstep(stats)
            self.monitor_.report(bound)
            if self.monitor_.converged:
                break
        return self

    # Hooks: the names by which classes of users change a part of this.

    def _init(self, X: Any, lengths: Any = None) -> None:
        """Set the parameters that EM begins with."""
        raise NotImplementedError

    def _check(self) -> None:
        """Raise where parameters do not fit together."""
        raise NotImplementedError

    def _do_estep(self, X: Any, lengths: Any) -> tuple[dict[str, Any], float]:
        """Return what the M step needs, and log P(X)."""
        raise NotImplementedError

    def _do_mstep(self, stats: dict[str, Any]) -> None:
        """Set better parameters."""
        raise NotImplementedError

    def _compute_lower_bound(self, curr_logprob: float) -> float:
        return curr_logprob

    def _compute_log_likelihood(self, X: Any) -> Any:
        """Return log p(observation | state), ``[n_samples, n_components]``."""
        if type(self)._compute_likelihood is AbstractHMM._compute_likelihood:
            raise NotImplementedError(message("{} has to define _compute_log_likelihood", type(self).__name__))
        return logarithm(np.asarray(self._compute_likelihood(X), np.float64))

    def _compute_likelihood(self, X: Any) -> Any:
        """Return p(observation | state), ``[n_samples, n_components]``."""
        with np.errstate(under="ignore"):
            return np.exp(self._compute_log_likelihood(X))

    def _generate_sample_from_state(self, state: int, random_state: Any) -> Any:
        """Draw one observation."""
        return ()

    def _get_n_fit_scalars_per_param(self) -> dict[str, int] | None:
        """Return how many free numbers belong to each letter of `params`."""
        return None

    def _check_and_set_n_features(self, X: Any) -> None:
        n_features = X.shape[1]
        expected = getattr(self, "n_features", n_features)
        if expected != n_features:
            raise InputError("X: expected {} numbers an observation, as the model has, got {}", expected, n_features)
        self.n_features = n_features

    def _needs_init(self, code: str, name: str) -> bool:
        """Say whether a parameter is set at the start of `fit`."""
        if code in self.init_params and hasattr(self, name):
            log.warning("%s is set, but will be overwritten, because init_params contains %r", name, code)
        return code in self.init_params or not hasattr(self, name)

    def _warn_of_few(self, X: Any) -> None:
        counts = self._get_n_fit_scalars_per_param() or {}
        free = sum(counts.get(letter, 0) for letter in self.params)
        if X.size < free:
            log.warning(
                "Fitting a model with %d free scalar parameters with only %d data points will result in a degenerate "
                "solution.",
                free,
                X.size,
            )

    # Inside.

    def _check_implementation(self) -> None:
        if self.implementation not in IMPLEMENTATIONS:
            raise InputError("implementation: expected log or scaling, got {!r:.60}", self.implementation)

    def _observed(self, X: ArrayLike, lengths: ArrayLike | None) -> tuple[NDArray[Any], IntArray]:
        """Return the observations ``[N, D]`` and the offsets ``[B + 1]`` of the sentences, of a model that is ready."""
        check_is_fitted(self, "startprob_")
        self._check_implementation()
        self._check()
        values = check_array(X)
        return values, self._offsets(values, lengths)

    def _offsets(self, X: NDArray[Any], lengths: ArrayLike | None) -> IntArray:
        return read_lengths(None if lengths is None else np.atleast_1d(np.asarray(lengths)), len(X))

    def _chains(self, X: ArrayLike, lengths: ArrayLike | None) -> Iterator[Chain]:
        """Score sentences, in blocks."""
        values, offsets = self._observed(X, lengths)
        start, transitions = logarithm(self.startprob_), logarithm(self.transmat_)
        for first, last in blocks_of(offsets, MOST_TOKENS):
            inner = offsets[first : last + 1] - offsets[first]
            rows = self._rows(values[offsets[first] : offsets[last]], inner)
            yield Chain(rows, transitions, start, None, inner)

    def _rows(self, X: NDArray[Any], offsets: IntArray) -> Float64Array:
        """Return log p(observation | state) ``[N, K]``, asked for sentence by sentence."""
        rows = [np.asarray(self._compute_log_likelihood(X[a:b]), np.float64) for a, b in pairwise(offsets.tolist())]
        return self._scalable(np.concatenate(rows) if rows else np.zeros((0, self.n_components)))

    def _scores_as(self, home: type[AbstractHMM]) -> bool:
        """Say whether observations are scored as in this class, and not as a class of a user does."""
        names = ("_compute_log_likelihood", "_compute_likelihood")
        return all(getattr(type(self), name) is getattr(home, name) for name in names)

    def _scalable(self, rows: Float64Array) -> Float64Array:
        """Return rows that the chosen implementation can take."""
        if self.implementation == "scaling" and rows.size and (low := rows.max(axis=1)).min() < _LEAST:
            raise InputError(
                "X[{}]: expected an observation of at least 1e-300 in some state, for "
                'implementation="scaling" underflows below, got exp({:.6g}); implementation="log" does not',
                low.argmin(),
                low.min(),
            )
        return rows
