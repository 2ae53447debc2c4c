"""Supervised HMMs: states are known, so that counting them is all there is to learn.

Start, transitions and the symbols of categorical emissions are smoothed as `smoothing` says; other families take their
M step with responsibilities of 0 and 1, and their own priors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagline.models.hmm.emissions import Categorical, Emission
from tagline.models.hmm.smoothing import smoothed
from tagline.models.hmm.topologies import Topology
from tagline.types import Float64Array, IntArray


@dataclass(frozen=True, eq=False)
class Smoothing:
    """How counts become probabilities.

    Attributes:
        name: "add-k", "witten-bell" or "dirichlet".
        k: of add-k.
        start_prior, transition_prior: Dirichlet parameters, numbers or arrays ``[K]`` and ``[K, K]``.
    """

    name: str = "add-k"
    k: float = 0.0
    start_prior: ArrayLike = 1.0
    transition_prior: ArrayLike = 1.0


@dataclass(frozen=True, eq=False)
class StateCounts:
    """How often known states begin sentences, follow each other, and occur at all: ``[K]``, ``[K, K]``, ``[K]``."""

    start: Float64Array
    pairs: Float64Array
    seen: Float64Array

    @classmethod
    def of(cls, states: IntArray, offsets: IntArray, K: int) -> StateCounts:
        """Count; unknown states (−1) count nothing."""
        seen = np.bincount(states[states >= 0], minlength=K).astype(np.float64)  # whatever came before
        return cls(*count_states(states, offsets, K), seen)


def count_states(states: IntArray, offsets: IntArray, K: int) -> tuple[Float64Array, Float64Array]:
    """Count first states ``[K]`` and pairs of neighbours ``[K, K]``; unknown states (−1) count nothing."""
    firsts = states[offsets[:-1][np.diff(offsets) > 0]]
    start = np.bincount(firsts[firsts >= 0], minlength=K).astype(np.float64)
    begins = np.zeros(len(states) + 1, bool)
    begins[offsets] = True
    before, after = states[:-1], states[1:]
    inner = ~begins[1 : len(states)] & (before >= 0) & (after >= 0)
    pairs = np.bincount(before[inner] * K + after[inner], minlength=K * K)
    return start, pairs.reshape(K, K).astype(np.float64)


def counted_chain(counts: StateCounts, topology: Topology, how: Smoothing) -> tuple[Float64Array, Float64Array]:
    """Return π and A from what known states show."""
    K, seen = len(topology.start), counts.seen
    first = smoothed(
        counts.start[None],
        how.name,
        k=how.k,
        prior=np.broadcast_to(how.start_prior, (1, K)),
        possible=topology.start[None],
        context_free=seen,
    )
    transitions = smoothed(
        counts.pairs, how.name, k=how.k, prior=how.transition_prior, possible=topology.transitions, context_free=seen
    )
    return first[0], transitions


def counted_emission(emission: Emission, observations: NDArray[Any], states: IntArray, how: Smoothing) -> Emission:
    """Return what each state emits, from known states ``[N]``."""
    K = emission.num_states
    chosen = states >= 0
    if not isinstance(emission, Categorical) or emission.frozen:
        known = np.flatnonzero(chosen)
        return emission.fitted(observations[known], np.eye(K)[states[known]])
    V = emission.num_symbols
    seen = chosen & (observations >= 0)
    counts = np.bincount(observations[seen] * K + states[seen], minlength=V * K).reshape(V, K).astype(np.float64)
    return counted_symbols(emission, counts, how)


def counted_symbols(emission: Categorical, counts: Float64Array, how: Smoothing) -> Emission:
    """Return what each state emits, from how often symbols stand with states, ``[V, K]``."""
    V, K = counts.shape
    if how.name == "dirichlet":
        return emission.counted(counts)
    groups = np.arange(K) if emission.tied is None else np.array(emission.tied)
    pooled = np.stack([counts[:, groups == group].sum(axis=1) for group in groups])  # [K, V]
    unseen = emission.unseen is not None
    rows = smoothed(
        np.concatenate([pooled, np.zeros((K, int(unseen)))], axis=1),
        how.name,
        k=how.k,
        context_free=np.append(counts.sum(axis=1), np.zeros(int(unseen))),
    )
    return replace(emission, probabilities=rows[:, :V], unseen=rows[:, V] if unseen else None)
