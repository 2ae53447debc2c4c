"""One number that makes token probabilities honest: p = softmax(scores / temperature).

With β = 1 / temperature the negative log-likelihood of the gold labels, Σ_n log Σ_j exp(β·s_nj) − β·s_n,gold, is convex
in β; its slope is Σ_n E_β[s_n] − s_n,gold and its curvature Σ_n Var_β[s_n]. Newton's steps on β, kept inside a bracket
by bisection. A temperature changes no label: the likeliest stays the likeliest.

Guo et al. (2017), "On Calibration of Modern Neural Networks".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tagline.errors import InputError
from tagline.evaluation.calibration import gold_labels
from tagline.types import Float64Array, IntArray

LOWEST, HIGHEST = 1e-3, 1e3  # temperatures; perfect answers would ask for 0, useless scores for infinity
STEPS = 100
TOLERANCE = 1e-12  # of β, relative


@dataclass(frozen=True)
class Temperature:
    """The temperature that suits the gold labels best.

    Attributes:
        value: above 1 where the scores were too sure, below 1 where they were not sure enough; 0.001 to 1000.
        nll_before, nll_after: mean negative log-likelihood of a token, in nats, at temperature 1 and at this one.

    >>> import numpy as np
    >>> from tagline import evaluation
    >>> too_sure = np.array([[4.0, 0.0]] * 4)  # 98 % for label 0, which is right three times out of four
    >>> answer = evaluation.fit_temperature(too_sure, [0, 0, 0, 1])
    >>> round(answer.value, 2), answer.nll_after < answer.nll_before
    (3.64, True)
    """

    value: float
    nll_before: float
    nll_after: float

    def apply(self, scores: ArrayLike) -> Float64Array:
        """Return softmax(scores / value): ``[N, L]``, rows that sum to 1; −∞ is probability 0."""
        return np.exp(_log_softmax(_shifted(scores), 1 / self.value))


def fit_temperature(scores: ArrayLike, gold: ArrayLike) -> Temperature:
    """Find the temperature with the largest likelihood of the gold labels.

    Arguments:
        scores: ``[N, L]``, unnormalised or log probabilities; −∞ is an impossible label.
        gold: ``[N]``, label numbers.

    >>> round(fit_temperature([[2.0, 0.0]] * 4, [0, 0, 0, 1]).value, 6)  # 2 / log 3: right 3 times in 4
    1.820478
    """
    s = _shifted(scores)
    labels = gold_labels(gold, *s.shape)
    if not len(s):
        return Temperature(1.0, 0.0, 0.0)
    impossible = np.flatnonzero(np.isneginf(s[np.arange(len(s)), labels]))
    if len(impossible):
        n = int(impossible[0])
        raise InputError("scores[{}, {}]: expected a finite score for the gold label, got -inf", n, labels[n])
    beta = _minimum(s, labels)
    return Temperature(1 / beta, _mean_nll(s, labels, 1.0), _mean_nll(s, labels, beta))


def _minimum(s: Float64Array, labels: IntArray) -> float:
    low, high = 1 / HIGHEST, 1 / LOWEST
    beta = 1.0
    for _ in range(STEPS):
        slope, curvature = _slope(s, labels, beta)
        if slope == 0:
            break
        low, high = (beta, high) if slope < 0 else (low, beta)
        step = beta - slope / curvature if curvature > 0 else -1.0
        before, beta = beta, step if low < step < high else (low * high) ** 0.5  # β is a scale: halve its logarithm
        if abs(beta - before) <= TOLERANCE * before:
            break
    return beta


def _slope(s: Float64Array, labels: IntArray, beta: float) -> tuple[float, float]:
    """First and second derivative of the negative log-likelihood."""
    p = np.exp(_log_softmax(s, beta))  # [N, L]
    finite = np.where(np.isneginf(s), 0.0, s)  # its probability is 0
    mean = np.einsum("nl,nl->n", p, finite)
    variance = np.einsum("nl,nl->n", p, (finite - mean[:, None]) ** 2)
    return float((mean - s[np.arange(len(s)), labels]).sum()), float(variance.sum())


def _mean_nll(s: Float64Array, labels: IntArray, beta: float) -> float:
    return float(-_log_softmax(s, beta)[np.arange(len(s)), labels].mean())


def _log_softmax(s: Float64Array, beta: float) -> Float64Array:
    scaled = beta * s
    return np.asarray(scaled - np.log(np.exp(scaled).sum(axis=1, keepdims=True)))  # rows of s have maximum 0


def _shifted(scores: ArrayLike) -> Float64Array:
    """Return the scores with a maximum of 0 in each row, or say which are no scores."""
    s = np.asarray(scores, np.float64)
    if s.ndim != 2 or s.shape[1] < 1:
        raise InputError("scores: expected shape [tokens, labels], got {}", list(s.shape))
    wrong = np.argwhere(np.isnan(s) | np.isposinf(s))
    if len(wrong):
        n, j = wrong[0]
        raise InputError("scores[{}, {}]: expected a finite score or -inf, got {}", n, j, s[n, j])
    highest = s.max(axis=1, keepdims=True, initial=-np.inf)
    empty = np.flatnonzero(np.isneginf(highest))
    if len(empty):
        raise InputError("scores[{}]: expected at least one possible label, got -inf for all", empty[0])
    return np.asarray(s - highest)
