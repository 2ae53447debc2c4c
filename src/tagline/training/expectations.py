"""Expectation–maximisation over chains: the expected counts of an HMM, and the loop that climbs by them.

With x_t(j) = p(observation t | state j), the E step asks for what the parameters are re-estimated from,

    start(j) = Σ_b P(y_0 = j)    transitions(i, j) = Σ_b Σ_t P(y_(t−1) = i, y_t = j)    nodes(t, j) = P(y_t = j)

and log P(observations) on the way; where observations are symbols, nodes are summed up by symbol and never stored.
What the M step makes of them is the caller's; `climb` repeats both (Dempster, Laird & Rubin 1977; Rabiner 1989).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

import numpy as np

from tagline import chain, compiled
from tagline.chain import symbols
from tagline.chain.symbols import SymbolChain, naming_sequences
from tagline.errors import InputError
from tagline.training.monitor import Pass
from tagline.types import BoolArray, Chain, Float64Array, FloatArray, IntArray

P = TypeVar("P")

Step: TypeAlias = Callable[[P], tuple[float, P]]
"""From parameters to the objective there (log-likelihood + log prior) and to better parameters."""

ROUNDING = 1e-10  # of the objective: what it may fall by without having fallen


@dataclass(frozen=True, eq=False)
class Moments:
    """Vectors weighted by the probability of a state, seen from its mean of before.

    Attributes:
        mass: ``[K]``, Σ_n P(y_n = k).
        first: ``[K, D]``, Σ_n P(y_n = k) (x_n − mean_k).
        second: ``[K, D]``, the same of squares.
    """

    mass: Float64Array
    first: Float64Array
    second: Float64Array


@dataclass(frozen=True, eq=False)
class Expectations:
    """How often everything happens on average, given the observations.

    Attributes:
        log_likelihood: ``[B]``, log P(observations); the score of the best path where only that is counted.
        start: ``[K]``, summed over the sequences that are not empty.
        transitions: ``[K, K]``, summed over all steps.

    and of the emissions what was asked for:
        nodes: ``[N, K]``, P(y_n = j).
        emissions: ``[V, K]``, nodes summed by symbol; missing symbols count nowhere.
        moments: of vectors.
    """

    log_likelihood: Float64Array
    start: Float64Array
    transitions: Float64Array
    nodes: Float64Array | None = None
    emissions: Float64Array | None = None
    moments: Moments | None = None


def expectations(
    log_emissions: Float64Array, offsets: IntArray, log_start: Float64Array, log_transitions: Float64Array
) -> Expectations:
    """Count on average over all paths.

    Arguments:
        log_emissions: ``[N, K]``, log p(observation | state); −∞ where a state is impossible or not allowed.
        offsets: ``[B + 1]``.
        log_start, log_transitions: ``[K]`` and ``[K, K]`` as ``[previous, next]``; −∞ forbids.
    """
    if chain.engine() != "native":
        counts = chain.expected_counts(Chain(log_emissions, log_transitions, log_start, None, offsets))
        nodes, transitions = _doubles(counts.emissions), _doubles(counts.transitions)
        return Expectations(counts.log_z, counts.start, transitions, nodes=nodes)
    assert compiled.core is not None
    with naming_sequences():
        moves = _moves(log_start, log_transitions, offsets)
        log_z, start, transitions, nodes = compiled.core.hmm_counts(_doubles(log_emissions), *moves)
    return Expectations(log_z, start, transitions, nodes=nodes)


def symbol_expectations(
    log_table: Float64Array,
    ids: IntArray,
    offsets: IntArray,
    log_start: Float64Array,
    log_transitions: Float64Array,
    allowed: BoolArray | None = None,
) -> Expectations:
    """Count on average over all paths, observations being symbols: no array of ``[N, K]`` is made.

    Arguments:
        log_table: ``[V, K]``, log p(symbol | state).
        ids: ``[N]``, from 0 to V − 1, or −1 for a missing observation.
        allowed: ``[N, K]``, the states that are possible at each token, by partial labels; all of them if left out.
    """
    chained = SymbolChain(log_table, ids, log_transitions, log_start, None, offsets)
    if chain.engine() != "native":
        rows = _doubles(chained.as_chain(allowed).emissions)
        return _by_symbol(expectations(rows, offsets, log_start, log_transitions), ids, len(log_table))
    assert compiled.core is not None
    with naming_sequences():
        log_z, start, transitions, emissions = compiled.core.symbol_counts(*chained.arrays(), allowed)
    return Expectations(log_z, start, transitions, emissions=emissions)


def gaussian_expectations(
    X: Float64Array,
    means: Float64Array,
    variances: Float64Array,
    offsets: IntArray,
    log_start: Float64Array,
    log_transitions: Float64Array,
) -> Expectations:
    """Count on average over all paths, observations being vectors: their moments, and no array of ``[N, K]``.

    Arguments:
        X: ``[N, D]``, without missing numbers.
        means, variances: ``[K, D]``, of a Gaussian with diagonal covariance in each state.
    """
    if chain.engine() != "native":
        away = X[:, None] - means  # [N, K, D]
        logs = -0.5 * (away**2 / variances + np.log(2 * np.pi * variances)).sum(axis=2)
        found = expectations(logs, offsets, log_start, log_transitions)
        assert found.nodes is not None
        first, second = (np.einsum("nk,nkd->kd", found.nodes, power) for power in (away, away**2))
        moments = Moments(found.nodes.sum(axis=0), first, second)
        return Expectations(found.log_likelihood, found.start, found.transitions, moments=moments)
    assert compiled.core is not None
    D = X.shape[1]
    with naming_sequences():
        log_z, start, transitions, sums = compiled.core.gaussian_counts(
            _doubles(X), _doubles(means), _doubles(variances), *_moves(log_start, log_transitions, offsets)
        )
    moments = Moments(sums[0], sums[1 : 1 + D].T, sums[1 + D :].T)
    return Expectations(log_z, start, transitions, moments=moments)


def best_expectations(
    log_emissions: Float64Array, offsets: IntArray, log_start: Float64Array, log_transitions: Float64Array
) -> Expectations:
    """Count on the best path alone, which is what Viterbi training re-estimates from."""
    best = chain.viterbi(Chain(log_emissions, log_transitions, log_start, None, offsets))
    N, K = log_emissions.shape
    nodes = np.zeros((N, K))
    nodes[np.arange(N), best.labels] = 1
    return Expectations(best.scores, *_path_counts(best.labels, offsets, K), nodes=nodes)


def best_symbol_expectations(
    log_table: Float64Array,
    ids: IntArray,
    offsets: IntArray,
    log_start: Float64Array,
    log_transitions: Float64Array,
    allowed: BoolArray | None = None,
) -> Expectations:
    """Count on the best path alone, observations being symbols as of `symbol_expectations`."""
    chained = SymbolChain(log_table, ids, log_transitions, log_start, None, offsets)
    best = symbols.viterbi(chained) if allowed is None else chain.viterbi(chained.as_chain(allowed))
    V, K = log_table.shape
    seen = ids >= 0
    emissions = np.bincount(ids[seen] * K + best.labels[seen], minlength=V * K)
    counts = emissions.reshape(V, K).astype(np.float64)
    return Expectations(best.scores, *_path_counts(best.labels, offsets, K), emissions=counts)


def _doubles(values: FloatArray) -> Float64Array:
    return np.ascontiguousarray(values, np.float64)


def _moves(
    log_start: Float64Array, log_transitions: Float64Array, offsets: IntArray
) -> tuple[Float64Array, Float64Array, Float64Array, IntArray]:
    """What the sequences of an HMM share, as the compiled core takes it; any state may be the last."""
    for name, values in (("log_start", log_start), ("log_transitions", log_transitions)):
        if values.size and not values.max() < np.inf:  # NaN fails, too
            raise InputError(f"{name}: expected finite scores or -inf (forbidden), got NaN or +inf")
    ends = np.zeros(len(log_start))
    return _doubles(log_start), _doubles(log_transitions), ends, np.ascontiguousarray(offsets, np.int64)


def _by_symbol(counts: Expectations, ids: IntArray, num_symbols: int) -> Expectations:
    assert counts.nodes is not None
    emissions = np.zeros((num_symbols + 1, counts.nodes.shape[1]))
    np.add.at(emissions, ids, counts.nodes)
    return Expectations(counts.log_likelihood, counts.start, counts.transitions, emissions=emissions[:-1])


def _path_counts(states: IntArray, offsets: IntArray, K: int) -> tuple[Float64Array, Float64Array]:
    firsts = offsets[:-1][np.diff(offsets) > 0]
    start = np.bincount(states[firsts], minlength=K).astype(np.float64)
    inner = np.ones(len(states), np.bool_)
    inner[firsts] = False
    later = np.flatnonzero(inner)
    pairs = np.bincount(states[later - 1] * K + states[later], minlength=K * K)
    return start, pairs.reshape(K, K).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Climbed(Generic[P]):
    """Where a climb ended.

    Attributes:
        parameters: the last ones, or those before where the objective fell.
        objective: the last one known: of the parameters before the last step; NaN where none was known.
        reason: ``converged: …``, ``max_iterations``, ``time budget``, ``interrupted``, ``callback`` or ``fell: …``.
        history: one `Pass` each, its objective the one that the step began with.
    """

    parameters: P
    objective: float
    reason: str
    history: tuple[Pass, ...]

    @property
    def converged(self) -> bool:
        """Whether it stopped by tolerance."""
        return self.reason.startswith("converged")


def climb(
    step: Step[P],
    start: P,
    *,
    max_iterations: int,
    tolerance: float,
    max_seconds: float | None = None,
    may_fall: bool = False,
    active: int = 0,
    callback: Callable[[Pass, P], bool | None] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Climbed[P]:
    """Repeat a step that never lowers the objective until it gains less than `tolerance`.

    Arguments:
        step: both halves of EM.
        max_iterations: steps at most; 0 returns the start.
        tolerance: stop after a step whose objective is above the one before by less, as hmmlearn does; −∞ for never.
        max_seconds: budget, looked at after each step.
        may_fall: go on where the objective falls by more than rounding: floors and fresh states can do that. Otherwise
            a fall ends the climb with the parameters before it.
        active: how many parameters there are, for the history.
        callback: called as ``callback(pass, parameters)`` after each step; True stops.
        clock: seconds, for tests.

    Ctrl-C ends the climb with the last complete parameters.

    >>> climb(lambda x: (-abs(x - 1.0), x + (1.0 - x) / 2), 0.0, max_iterations=100, tolerance=0.1).parameters
    0.96875
    """
    _check(max_iterations, tolerance, max_seconds)
    begun = clock()
    history: list[Pass] = []
    now, before, objective = start, start, math.nan
    reason = "max_iterations"
    try:
        while len(history) < max_iterations:
            value, better = step(now)
            if math.isnan(value):
                raise InputError("objective: expected a number, got NaN; look for NaN in the observations or priors")
            if not may_fall and history and value < objective - ROUNDING * max(1.0, abs(objective)):
                now, reason = before, f"fell: the objective went from {objective!r} to {value!r}"
                break
            gain = value - objective
            done = Pass(len(history) + 1, value, math.nan, active, clock() - begun, len(history) + 1)
            before, now, objective = now, better, value
            history.append(done)
            stop = callback is not None and callback(done, now)
            if gain < tolerance:
                reason = f"converged: the objective rose by less than {tolerance:g}"
                break
            if stop:
                reason = "callback"
                break
            if max_seconds is not None and clock() - begun >= max_seconds:
                reason = "time budget"
                break
    except KeyboardInterrupt:
        reason = "interrupted"
    return Climbed(now, objective, reason, tuple(history))


def _check(max_iterations: int, tolerance: float, max_seconds: float | None) -> None:
    if max_iterations < 0:
        raise InputError(f"max_iterations: expected 0 or more, got {max_iterations}")
    if math.isnan(tolerance):
        raise InputError("tolerance: expected a number, got NaN")
    if max_seconds is not None and not max_seconds >= 0:
        raise InputError(f"max_seconds: expected 0 or more, got {max_seconds}")
