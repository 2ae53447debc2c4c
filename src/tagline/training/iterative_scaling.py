"""Improved iterative scaling, for teaching (Della Pietra et al. 1997; Lafferty et al. 2001): each weight on its own.

With f#(x, y) = Σ_k f_k(x, y), the number of features that a labelling has in all, the change δ_k of weight k solves

    Σ_b Σ_y P(y | x_b) · f_k(x_b, y) · exp(δ_k · f#(x_b, y)) = Σ_b f_k(x_b, y_b)

f# varies from path to path. Where all counts are whole numbers, P·f_k is summed by dynamic programming for each value
of f#; otherwise the paths are enumerated. Either way one polynomial in exp(δ_k) is left, which Newton's method solves.
The likelihood rises in every pass, slowly: `lbfgs` is the method to use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from tagline.errors import InputError
from tagline.features.functions import FunctionValues
from tagline.training.monitor import Monitor, Point, Points, Trained, norm
from tagline.training.objective import as_weights
from tagline.types import Float64Array, IntArray

MOST_PATHS = 100_000  # to enumerate, of one sentence


class Likelihood(Protocol):
    """Labelled sentences whose features are known as numbers; `FeatureFunctions.likelihood` makes one."""

    @property
    def values(self) -> Sequence[FunctionValues]:
        """Of each sentence."""
        ...

    @property
    def observed(self) -> Float64Array:
        """Σ_b f_k(x_b, y_b), ``[K]``."""
        ...


@dataclass(frozen=True, eq=False)
class Expected:
    """Expectations under P(y | x), split by f#.

    Attributes:
        totals: ``[M]``, the values of f#.
        features: ``[M, K]``, Σ P(y | x)·f_k(x, y) over the labellings with that total.
        log_z: log Z(x).
    """

    totals: Float64Array
    features: Float64Array
    log_z: float


def iis(
    likelihood: Likelihood,
    start: ArrayLike | None = None,
    *,
    c1: float = 0.0,
    c2: float = 0.0,
    monitor: Monitor | None = None,
) -> Trained:
    """Minimise Σ_b −log p(y_b | x_b); there is no penalty.

    Arguments:
        likelihood: the labelled sentences; no feature is ever negative.
        start: ``[K]``, zeros when left out.
        c1, c2: 0; the update solves the equation of the bare likelihood.
        monitor: when to stop and whom to tell.
    """
    if c1 or c2:
        raise InputError(
            f"c1, c2: expected 0 for improved iterative scaling, got {c1:g} and {c2:g}; use lbfgs or owlqn"
        )
    K = len(likelihood.observed)
    weights = np.zeros(K) if start is None else as_weights("start", start)
    if weights.shape != (K,):
        raise InputError(f"start: expected {K} weights, one a feature, got {len(weights)}")
    sentences = _distinct(likelihood.values)
    _check(likelihood, [one for one, _ in sentences])
    return (monitor or Monitor()).follow(_points(sentences, likelihood.observed, weights), weights)


def _points(sentences: list[tuple[FunctionValues, int]], observed: Float64Array, weights: Float64Array) -> Points:
    passes = 0
    while True:
        expected = [(by_total(one, weights), count) for one, count in sentences]
        objective = sum(count * one.log_z for one, count in expected) - float(weights @ observed)
        totals = np.concatenate([np.zeros(0), *(one.totals for one, _ in expected)])  # [M], those of all sentences
        features = np.concatenate([np.zeros((0, len(observed))), *(count * one.features for one, count in expected)])
        gradient = features.sum(axis=0) - observed
        passes += 1
        yield Point(weights, objective, norm(gradient), norm(weights), int(np.count_nonzero(weights)), passes)
        weights = weights + solve(totals, features, observed)


def solve(totals: Float64Array, features: Float64Array, observed: Float64Array) -> Float64Array:
    """Find δ ``[K]`` with Σ_m features[m, k]·exp(δ_k·totals[m]) = observed[k]; 0 for features that never occur.

    The logarithm of the left side is convex and increasing in δ_k: from its first step on, Newton's method comes from
    above and cannot miss.
    """
    delta = np.zeros(len(observed))
    live = np.flatnonzero((observed > 0) & (features > 0).any(axis=0))
    if not len(live):
        return delta
    with np.errstate(divide="ignore"):
        logs, wanted = np.log(features[:, live]), np.log(observed[live])
    for _ in range(100):
        terms = logs + totals[:, None] * delta[live]  # [M, live]
        top = terms.max(axis=0)
        shares = np.exp(terms - top)
        mass = shares.sum(axis=0)
        change = (np.log(mass) + top - wanted) / (totals @ shares / mass)
        delta[live] -= change
        if (np.abs(change) <= 1e-13 * (1 + np.abs(delta[live]))).all():
            break
    return delta


def by_total(values: FunctionValues, weights: Float64Array) -> Expected:
    """Sum P(y | x)·f(x, y) over the labellings of a sentence, for each value of f#."""
    if len(values.states) == 0:
        return Expected(np.zeros(0), np.zeros((0, len(weights))), 0.0)
    counts = _counts(values)
    if np.array_equal(counts, np.round(counts)):
        return _by_program(values, counts.astype(np.int64), weights)
    return _by_enumeration(values, weights)


def _counts(values: FunctionValues) -> Float64Array:
    """What each step adds to f#, ``[T, L, L]`` as [position, previous, label]; the first ignores its previous label."""
    return np.asarray(values.states.sum(axis=2)[:, None, :] + values.transitions.sum(axis=3), np.float64)


def _by_program(values: FunctionValues, counts: IntArray, weights: Float64Array) -> Expected:
    """Go from left to right with α = Σ exp(score) and φ = Σ exp(score)·f for each last label and each total so far.

    Both are scaled to Σ α = 1 at each position.
    """
    T, L, K = values.states.shape
    scores = (values.states @ weights)[:, None, :] + values.transitions @ weights  # [T, L, L]
    most = int(counts.max(axis=(1, 2)).sum())
    alpha, phi = np.zeros((L, most + 1)), np.zeros((L, most + 1, K))
    log_z = float(scores[0, 0].max())
    for j in range(L):
        alpha[j, counts[0, 0, j]] = np.exp(scores[0, 0, j] - log_z)
        phi[j, counts[0, 0, j]] = np.exp(scores[0, 0, j] - log_z) * values.states[0, j]
    for t in range(1, T):
        before, features = (alpha, phi), values.states[t][None] + values.transitions[t]  # [L, L, K]
        alpha, phi = np.zeros_like(alpha), np.zeros_like(phi)
        top = float(scores[t].max())
        for i in range(L):
            for j in range(L):
                ways = np.exp(scores[t, i, j] - top) * before[0][i, : most + 1 - counts[t, i, j]]
                known = np.exp(scores[t, i, j] - top) * before[1][i, : most + 1 - counts[t, i, j]]
                alpha[j, counts[t, i, j] :] += ways
                phi[j, counts[t, i, j] :] += known + ways[:, None] * features[i, j]
        scale = alpha.sum()
        alpha, phi = alpha / scale, phi / scale
        log_z += top + float(np.log(scale))
    mass = alpha.sum()  # 1, but for a sentence of one token
    return Expected(np.arange(most + 1.0), phi.sum(axis=0) / mass, log_z + float(np.log(mass)))


def _by_enumeration(values: FunctionValues, weights: Float64Array) -> Expected:
    T, L, _ = values.states.shape
    paths = np.stack(np.unravel_index(np.arange(L**T), (L,) * T), axis=1)  # [P, T]
    features = values.states[np.arange(T), paths].sum(axis=1)  # [P, K]
    features += values.transitions[np.arange(1, T), paths[:, :-1], paths[:, 1:]].sum(axis=1)
    scores = features @ weights
    top = scores.max()
    log_z = float(top + np.log(np.exp(scores - top).sum()))
    return Expected(features.sum(axis=1), np.exp(scores - log_z)[:, None] * features, log_z)


def _distinct(values: Sequence[FunctionValues]) -> list[tuple[FunctionValues, int]]:
    """Sentences with the same features are worked on once."""
    keys = [(one.states.tobytes(), one.transitions.tobytes()) for one in values]
    distinct = dict(zip(keys, values, strict=True))
    return [(distinct[key], count) for key, count in Counter(keys).items()]


def _check(likelihood: Likelihood, sentences: list[FunctionValues]) -> None:
    occurs = np.zeros(len(likelihood.observed), bool)
    for one in sentences:
        T, L, K = one.states.shape
        for name, part in (("state", one.states), ("transition", one.transitions)):
            if (part < 0).any():
                k = int(np.nonzero((part < 0).reshape(-1, K).any(axis=0))[0][0])
                raise InputError(
                    f"feature {k}: expected {name} values of 0 or more, got {part[..., k].min():g}; improved iterative "
                    "scaling takes no others, lbfgs does"
                )
        occurs |= (one.states > 0).any(axis=(0, 1)) | (one.transitions > 0).any(axis=(0, 1, 2))
        if L**T > MOST_PATHS and not np.array_equal(_counts(one), np.round(_counts(one))):
            raise InputError(
                f"features: expected whole numbers for {T} tokens and {L} labels, got fractions; with those all paths "
                f"are enumerated, at most {MOST_PATHS:,} a sentence"
            )
    never = np.flatnonzero(occurs & (likelihood.observed <= 0))
    if len(never):
        raise InputError(
            f"feature {never[0]}: expected to occur in the labelled paths, got never; its best weight is −∞, remove it"
        )
