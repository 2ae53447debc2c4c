"""The recursions of ``hmmlearn._hmmc`` over one sentence, each a question to Tagline's engine.

All of them take probabilities: ``startprob [K]``, ``transmat [K, K]``; and observations as probabilities
``frameprob [T, K]``, or as their logarithms.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tagline import chain as engine
from tagline.messages import message
from tagline.models.hmm.emissions.discrete import log
from tagline.types import Chain, Float64Array, IntArray


def _chain(startprob: ArrayLike, transmat: ArrayLike, log_frameprob: ArrayLike) -> Chain:
    start, transitions = (log(np.asarray(values, np.float64)) for values in (startprob, transmat))
    return Chain(np.asarray(log_frameprob, np.float64), transitions, start)


def _log_sums(rows: Float64Array) -> Float64Array:
    """Return log Σ_j exp rows[t, j], ``[T]``; −∞ where all are."""
    top = rows.max(axis=1)
    top = np.where(np.isfinite(top), top, 0.0)
    return np.asarray(log(np.exp(rows - top[:, None]).sum(axis=1)) + top)


def forward_log(startprob: ArrayLike, transmat: ArrayLike, log_frameprob: ArrayLike) -> tuple[float, Float64Array]:
    """Return log P(O) and log α ``[T, K]``."""
    alpha = engine.forward(_chain(startprob, transmat, log_frameprob))
    return float(_log_sums(alpha[-1:])[0]), alpha


def backward_log(startprob: ArrayLike, transmat: ArrayLike, log_frameprob: ArrayLike) -> Float64Array:
    """Return log β ``[T, K]``."""
    return engine.backward(_chain(startprob, transmat, log_frameprob))


def forward_scaling(
    startprob: ArrayLike, transmat: ArrayLike, frameprob: ArrayLike
) -> tuple[float, Float64Array, Float64Array]:
    """Return log P(O), α with rows that sum to 1 ``[T, K]``, and the factors ``[T]`` that each step was scaled by."""
    log_prob, alpha = forward_log(startprob, transmat, log(np.asarray(frameprob, np.float64)))
    totals = _log_sums(alpha)
    if not np.isfinite(totals).all():
        raise ValueError(message("forward pass underflowed; the observations have probability 0"))
    return log_prob, np.exp(alpha - totals[:, None]), np.exp(-np.diff(totals, prepend=0.0))


def backward_scaling(
    startprob: ArrayLike, transmat: ArrayLike, frameprob: ArrayLike, scaling: ArrayLike
) -> Float64Array:
    """Return β ``[T, K]``, each row times all factors from it to the last."""
    beta = backward_log(startprob, transmat, log(np.asarray(frameprob, np.float64)))
    factors = np.cumsum(np.log(np.asarray(scaling, np.float64))[::-1])[::-1]
    return np.asarray(np.exp(beta + factors[:, None]))


def viterbi(startprob: ArrayLike, transmat: ArrayLike, log_frameprob: ArrayLike) -> tuple[float, IntArray]:
    """Return log P(O, I) of the most probable states I, and these ``[T]``."""
    best = engine.viterbi(_chain(startprob, transmat, log_frameprob))
    return float(best.scores[0]), best.labels
