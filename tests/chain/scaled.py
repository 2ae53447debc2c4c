"""References for sentences too long to enumerate, written apart from the engine, in float64.

Forward-backward in linear space with every row scaled to sum 1 (Rabiner 1989, V.A), which is exact as long as no label
underflows for good; and max-plus sums for the best score. Transitions are shared, ``[L, L]``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tagline.types import Chain, Float64Array, IntArray


@dataclass(frozen=True)
class Scaled:
    """What is true of a sentence."""

    nodes: Float64Array  # [T, L]
    transitions: Float64Array  # [L, L], expected uses
    log_alpha: Float64Array  # [T, L]
    log_beta: Float64Array  # [T, L]
    log_z: float


def solve_scaled(chain: Chain) -> Scaled:
    scores = chain.emissions.astype(np.float64)
    top = scores.max(axis=1)
    weights, potentials = np.exp(scores - top[:, None]), np.exp(chain.transitions.astype(np.float64))
    alpha, scale = np.empty_like(weights), np.empty(len(weights))
    row = np.exp(chain.start.astype(np.float64))
    for t, weight in enumerate(weights):
        row = (row if t == 0 else row @ potentials) * weight
        scale[t] = row.sum()
        alpha[t] = row = row / scale[t]
    beta = np.empty_like(weights)
    beta[-1] = np.exp(chain.end.astype(np.float64))
    for t in range(len(weights) - 2, -1, -1):
        beta[t] = potentials @ (weights[t + 1] * beta[t + 1]) / scale[t + 1]
    mass = alpha[-1] @ beta[-1]
    pairs = potentials * (alpha[:-1].T @ (weights[1:] * beta[1:] / scale[1:, None])) / mass
    logs = np.cumsum(np.log(scale) + top)
    with np.errstate(divide="ignore"):
        log_alpha, log_beta = np.log(alpha) + logs[:, None], np.log(beta) + (logs[-1] - logs)[:, None]
    return Scaled(alpha * beta / mass, pairs, log_alpha, log_beta, float(logs[-1] + np.log(mass)))


def best_score(chain: Chain) -> float:
    """The largest score of a labelling of one sentence."""
    row = chain.start.astype(np.float64) + chain.emissions[0]
    for emission in chain.emissions[1:]:
        row = (row[:, None] + chain.transitions).max(axis=0) + emission
    return float((row + chain.end).max())


def exact_score(chain: Chain, labels: IntArray) -> float:
    """The score of a labelling of one sentence."""
    parts = [
        chain.start[labels[:1]],
        chain.emissions[np.arange(len(labels)), labels],
        chain.transitions[labels[:-1], labels[1:]],
        chain.end[labels[-1:]],
    ]
    return float(sum(part.astype(np.float64).sum() for part in parts))
