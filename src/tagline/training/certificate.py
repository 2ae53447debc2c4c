"""How far a convex objective is from its optimum at most: a number that any pass with a gradient can prove.

With f convex and every c2 > 0, the total F(w) = f(w) + Σ c1·|w| + Σ c2·w² lies above a parabola at every w:

    F(v) ≥ F(w) + p·(v − w) + Σ c2·(v − w)²    for every subgradient p of F at w

The right side is lowest at v = w − p / (2·c2), so that F(w) − F* ≤ gap = Σ p² / (4·c2). The smallest subgradient makes
the smallest gap. For a log-likelihood this is the duality gap: F − gap is the dual objective at the model's own
probabilities. The relative gap is gap / (F − gap): F is at most (1 + relative gap) times its optimum.
"""

from __future__ import annotations

import math

import numpy as np

from tagline.training.objective import Objective, Penalty
from tagline.types import Float64Array


def certifies(objective: Objective, penalty: Penalty) -> bool:
    """Say whether a gap can be proven: the objective says that it is convex, and every weight has a penalty c2."""
    return bool(getattr(objective, "convex", False)) and bool((penalty.c2 > 0).all())


def smallest_subgradient(penalty: Penalty, weights: Float64Array, gradient: Float64Array) -> Float64Array:
    """Return the subgradient of the whole objective with the smallest norm, ``[n]``.

    Arguments:
        gradient: of the objective with Σ c2·w², without Σ c1·|w|.
    """
    at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - penalty.c1, 0.0)
    return np.where(weights == 0, at_zero, gradient + penalty.c1 * np.sign(weights))


def gap_at(penalty: Penalty, weights: Float64Array, gradient: Float64Array) -> float:
    """Return Σ p² / (4·c2); the arguments are those of `smallest_subgradient`, and every c2 is above 0.

    >>> penalty = Penalty.of(0.5, 1.0, 2)
    >>> gap_at(penalty, np.array([1.0, 0.0]), np.array([1.5, -0.5]))
    1.0
    """
    p = smallest_subgradient(penalty, weights, gradient)
    return float((p * p / (4 * penalty.c2)).sum())


def relative_gap(gap: float | None, objective: float) -> float | None:
    """Return by which share of the optimum the objective is above it at most; ∞ where the gap leaves no bound.

    >>> relative_gap(1.0, 101.0), relative_gap(3.0, 2.0), relative_gap(None, 2.0)
    (0.01, inf, None)
    """
    if gap is None or math.isnan(gap) or math.isnan(objective):
        return None
    if gap == 0:
        return 0.0
    return gap / (objective - gap) if gap < objective else math.inf
