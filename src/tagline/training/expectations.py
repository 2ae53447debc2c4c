"""The E step of an HMM: how often each state and each transition is expected, given the observations (Rabiner 1989).

The parameters are re-estimated from these sums over all sentences b and tokens t:

    start(j) = Σ_b P(y_0 = j)    transitions(i, j) = Σ_b Σ_t P(y_(t−1) = i, y_t = j)    nodes(t, j) = P(y_t = j)

log P(observations) is computed on the way. Where observations are symbols, nodes are summed by symbol and never stored.
The M step belongs to the model; `expectation_maximisation` repeats both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tagline import chain, compiled
from tagline.chain import symbols
from tagline.chain.symbols import SymbolChain, naming_sentences
from tagline.errors import InputError
from tagline.ragged import first_entries
from tagline.types import BoolArray, Chain, Float64Array, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class ShiftedMoments:
    """Sums of vectors, weighted by the probability of a state and shifted by the mean that the state had so far.

    Attributes:
        mass: ``[K]``, Σ_n P(y_n = k).
        first: ``[K, D]``, Σ_n P(y_n = k) (x_n − mean_k).
        second: ``[K, D]``, Σ_n P(y_n = k) (x_n − mean_k)².
    """

    mass: Float64Array
    first: Float64Array
    second: Float64Array


@dataclass(frozen=True, eq=False)
class Expectations:
    """Expected counts, given the observations. Of the last four one is there: that which a function names.

    Attributes:
        log_likelihood: ``[B]``, log P(observations); the score of the best labelling where only that is counted.
            Where sentences lie in lanes, their sum, ``[1]``.
        start: ``[K]``, summed over the sentences that are not empty.
        transitions: ``[K, K]``, summed over all sentences.
        nodes: ``[N, K]``, P(y_n = j).
        emissions: ``[V, K]``, nodes summed by symbol; missing symbols are left out.
        moments: of vectors.
        statistics: other sums that a family of emissions learns from, as one row.
    """

    log_likelihood: Float64Array
    start: Float64Array
    transitions: Float64Array
    nodes: Float64Array | None = None
    emissions: Float64Array | None = None
    moments: ShiftedMoments | None = None
    statistics: Float64Array | None = None


def expectations(
    log_emissions: Float64Array, offsets: IntArray, log_start: Float64Array, log_transitions: Float64Array
) -> Expectations:
    """Compute expected counts over all labellings, with `nodes`.

    Arguments:
        log_emissions: ``[N, K]``, log p(observation | state); −∞ where a state is impossible or not allowed.
        offsets: ``[B + 1]``.
        log_start, log_transitions: ``[K]`` and ``[K, K]`` as ``[previous, next]``; −∞ forbids.
    """
    if chain.engine() != "native":
        counts = chain.expected_counts(Chain(log_emissions, log_transitions, log_start, None, offsets))
        nodes, transitions = _doubles(counts.emissions), _doubles(counts.transitions)
        return Expectations(counts.log_z, counts.start, transitions, nodes=nodes)
    with naming_sentences():
        arrays = _chain_arrays(log_start, log_transitions, offsets)
        log_z, start, transitions, nodes = compiled.require().hmm_counts(_doubles(log_emissions), *arrays)
    return Expectations(log_z, start, transitions, nodes=nodes)


def symbol_expectations(chained: SymbolChain, allowed: BoolArray | None = None) -> Expectations:
    """Compute expected counts where observations are symbols, with `emissions`: no array of ``[N, K]`` is made.

    Arguments:
        chained: log p(symbol | state) as its table, log_transitions and log_start; no end.
        allowed: ``[N, K]``, the states that partial labels allow at each token; all of them if left out.
    """
    if chain.engine() != "native":
        rows = _doubles(chained.as_chain(allowed).emissions)
        counts = expectations(rows, chained.offsets, chained.start, chained.transitions)
        return _by_symbol(counts, chained.ids, len(chained.table))
    with naming_sentences():
        log_z, start, transitions, emissions = compiled.require().symbol_counts(*chained.arrays(), allowed)
    return Expectations(log_z, start, transitions, emissions=emissions)


def gaussian_expectations(
    X: Float64Array,
    means: Float64Array,
    variances: Float64Array,
    offsets: IntArray,
    log_start: Float64Array,
    log_transitions: Float64Array,
) -> Expectations:
    """Compute expected counts where observations are vectors, with `moments`: no array of ``[N, K]`` is made.

    Arguments:
        X: ``[N, D]``, without missing numbers.
        means, variances: ``[K, D]``, of a Gaussian with diagonal covariance in each state.
    """
    if chain.engine() != "native":
        away = X[:, None] - means  # [N, K, D]
        logs = -0.5 * (away**2 / variances + np.log(2 * np.pi * variances)).sum(axis=2)
        counts = expectations(logs, offsets, log_start, log_transitions)
        assert counts.nodes is not None
        first, second = (np.einsum("nk,nkd->kd", counts.nodes, power) for power in (away, away**2))
        moments = ShiftedMoments(counts.nodes.sum(axis=0), first, second)
        return Expectations(counts.log_likelihood, counts.start, counts.transitions, moments=moments)
    D = X.shape[1]
    with naming_sentences():
        log_z, start, transitions, sums = compiled.require().gaussian_counts(
            _doubles(X), _doubles(means), _doubles(variances), *_chain_arrays(log_start, log_transitions, offsets)
        )
    moments = ShiftedMoments(sums[0], sums[1 : 1 + D].T, sums[1 + D :].T)
    return Expectations(log_z, start, transitions, moments=moments)


def best_expectations(
    log_emissions: Float64Array, offsets: IntArray, log_start: Float64Array, log_transitions: Float64Array
) -> Expectations:
    """Count the best labelling alone, as Viterbi training does; with `nodes`."""
    best = chain.viterbi(Chain(log_emissions, log_transitions, log_start, None, offsets))
    N, K = log_emissions.shape
    nodes = np.zeros((N, K))
    nodes[np.arange(N), best.labels] = 1
    return Expectations(best.scores, *_path_counts(best.labels, offsets, K), nodes=nodes)


def best_symbol_expectations(chained: SymbolChain, allowed: BoolArray | None = None) -> Expectations:
    """Count the best labelling alone, as Viterbi training does; arguments as of `symbol_expectations`."""
    best = symbols.viterbi(chained) if allowed is None else chain.viterbi(chained.as_chain(allowed))
    V, K = chained.table.shape
    seen = chained.ids >= 0
    emissions = np.bincount(chained.ids[seen] * K + best.labels[seen], minlength=V * K)
    counts = emissions.reshape(V, K).astype(np.float64)
    return Expectations(best.scores, *_path_counts(best.labels, chained.offsets, K), emissions=counts)


def _doubles(values: FloatArray) -> Float64Array:
    return np.ascontiguousarray(values, np.float64)


def _chain_arrays(
    log_start: Float64Array, log_transitions: Float64Array, offsets: IntArray
) -> tuple[Float64Array, Float64Array, Float64Array, IntArray]:
    """Return start, transitions, end and offsets as the compiled core takes them; any state may be the last."""
    for name, values in (("log_start", log_start), ("log_transitions", log_transitions)):
        if values.size and not values.max() < np.inf:  # NaN fails, too
            raise InputError("{}: expected finite scores or -inf (forbidden), got NaN or +inf", name)
    ends = np.zeros(len(log_start))
    return _doubles(log_start), _doubles(log_transitions), ends, np.ascontiguousarray(offsets, np.int64)


def _by_symbol(counts: Expectations, ids: IntArray, num_symbols: int) -> Expectations:
    assert counts.nodes is not None
    emissions = np.zeros((num_symbols + 1, counts.nodes.shape[1]))
    np.add.at(emissions, ids, counts.nodes)
    return Expectations(counts.log_likelihood, counts.start, counts.transitions, emissions=emissions[:-1])


def _path_counts(states: IntArray, offsets: IntArray, K: int) -> tuple[Float64Array, Float64Array]:
    first = first_entries(offsets)
    start = np.bincount(states[first], minlength=K).astype(np.float64)
    later = np.flatnonzero(~first)
    pairs = np.bincount(states[later - 1] * K + states[later], minlength=K * K)
    return start, pairs.reshape(K, K).astype(np.float64)
