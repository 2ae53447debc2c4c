"""An HMM's distributions from sentences: counted in tagged ones, re-estimated on untagged ones by `tagline.HMM`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tagline.errors import InputError
from tagline.interop.nltk.tag.api import untagged
from tagline.interop.nltk.tag.distributions import Distribution, logs_of
from tagline.types import Float64Array

GAMMA = 0.1  # of Lidstone's estimate, where `HiddenMarkovModelTagger.train` is given none
Estimator = Callable[[Any, int], Any]
"""Takes counts and how many different things there could be, and returns a distribution."""


class Parts(NamedTuple):
    """What an HMM is made of; distributions are NLTK's, or ours."""

    symbols: list[Any]
    states: list[Any]
    transitions: Any
    outputs: Any
    priors: Any


def count(
    sentences: Iterable[Any],
    symbols: Iterable[Any] = (),
    states: Iterable[Any] = (),
    estimator: Estimator | None = None,
    gamma: float = 0.0,
) -> Parts:
    """Count tagged sentences.

    Arguments:
        symbols, states: what there is; those of the sentences are added.
        estimator: makes a distribution of counts, as NLTK's do; left out, it is Lidstone's with `gamma`.
    """
    starting: Counter[Any] = Counter()
    moves: Counter[tuple[Any, Any]] = Counter()
    emitted: Counter[tuple[Any, Any]] = Counter()
    all_symbols, all_states = dict.fromkeys(symbols), dict.fromkeys(states)
    for number, sentence in enumerate(sentences):
        tokens, tags = untagged(sentence, f"sentence {number}")
        all_symbols.update(dict.fromkeys(tokens))
        all_states.update(dict.fromkeys(tags))
        starting.update(tags[:1])
        moves.update(pairwise(tags))
        emitted.update(zip(tags, tokens, strict=True))
    if not emitted:
        raise InputError("labelled sentences: expected tagged tokens, got none")
    estimate = _estimate(estimator, gamma)
    L, V = len(all_states), len(all_symbols)
    transitions = {state: estimate(counts, L) for state, counts in _by_state(moves, all_states).items()}
    outputs = {state: estimate(counts, V) for state, counts in _by_state(emitted, all_states).items()}
    return Parts(list(all_symbols), list(all_states), transitions, outputs, estimate(starting, L))


def _by_state(pairs: Counter[tuple[Any, Any]], states: Iterable[Any]) -> dict[Any, dict[Any, int]]:
    """Group counts of (state, something) by the state."""
    groups: dict[Any, dict[Any, int]] = {state: {} for state in states}
    for (state, other), number in pairs.items():
        groups[state][other] = number
    return groups


def _estimate(estimator: Estimator | None, gamma: float) -> Estimator:
    """Return what makes distributions of counts: ours, or NLTK's, which wants NLTK's own counts."""
    if estimator is None:
        return lambda counts, bins: Distribution.counted(counts, gamma, bins)
    from nltk.probability import FreqDist  # type: ignore[import-untyped]

    return lambda counts, bins: estimator(FreqDist(counts), bins)


def random_parts(symbols: list[Any], states: list[Any], seed: int) -> Parts:
    """Draw probabilities to begin with."""
    rng = np.random.default_rng(seed)
    L, V = len(states), len(symbols)
    return _named(symbols, states, rng.random(L), rng.random((L, L)), rng.random((L, V)))


def reestimate(
    parts: Parts,
    sentences: Iterable[Any],
    *,
    update_outputs: bool = True,
    max_iterations: int = 1000,
    tolerance: float = 1e-6,
) -> Parts:
    """Run Baum–Welch on sentences of symbols, or of tuples that begin with one; priors stay as they are."""
    from tagline.models.hmm.estimator import HMM

    symbols, states = parts.symbols, parts.states
    if not states or not symbols:
        raise InputError("states, symbols: expected some of each to begin with, got none")
    start, transitions, outputs = _tables(parts)
    hmm = HMM.from_parameters(
        start,
        transitions,
        outputs,
        symbols=symbols,
        warm_start=True,
        frozen=("start",) if update_outputs else ("start", "probabilities"),
        max_iterations=max_iterations,
        tolerance=tolerance,
    )
    hmm.fit([[token[0] if isinstance(token, tuple) else token for token in sentence] for sentence in sentences])
    return _named(symbols, states, hmm.start_, hmm.transitions_, hmm.emissionprob_)


def _tables(parts: Parts) -> list[Float64Array]:
    """Return π ``[L]``, A ``[L, L]`` and B ``[L, V]``; rows sum to one, and what was never counted is uniform."""
    symbols, states = parts.symbols, parts.states
    places = {state: number for number, state in enumerate(states)}
    numbers = {symbol: number for number, symbol in enumerate(symbols)}
    logs = [
        logs_of(parts.priors, states, places),
        np.stack([logs_of(parts.transitions[state], states, places) for state in states]),
        np.stack([logs_of(parts.outputs[state], symbols, numbers) for state in states]),
    ]
    tables = [np.where(np.isneginf(table).all(axis=-1, keepdims=True), 1.0, np.exp(table)) for table in logs]
    return [table / table.sum(axis=-1, keepdims=True) for table in tables]


def _named(symbols: list[Any], states: list[Any], start: Any, transitions: Any, outputs: Any) -> Parts:
    def distribution(names: list[Any], row: Any) -> Distribution:
        total = float(np.sum(row))
        return Distribution({name: float(value) / total for name, value in zip(names, row, strict=True)})

    return Parts(
        symbols,
        states,
        {state: distribution(states, row) for state, row in zip(states, transitions, strict=True)},
        {state: distribution(symbols, row) for state, row in zip(states, outputs, strict=True)},
        distribution(states, start),
    )
