"""Passive-aggressive learning (Crammer et al. 2006): the least change that puts the right labelling ahead by a margin.

w += τ Δ with Δ = F(y, x) − F(ŷ, x), the loss l = w·F(ŷ) − w·F(y) + √(wrong labels) and τ = l / |Δ|² (type 0),
min(c, l / |Δ|²) (type 1, PA-I) or l / (|Δ|² + 1 / (2 c)) (type 2, PA-II).
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from tagline.errors import InputError
from tagline.training.iteration import Convergence
from tagline.training.likelihood import Likelihood
from tagline.training.online.learner import learn
from tagline.training.run import Run, Trained


def pa(
    likelihood: Likelihood,
    start: ArrayLike,
    *,
    type: int = 1,
    c: float = 1.0,
    error_sensitive: bool = True,
    passes: int | None = None,
    averaged: bool = True,
    seed: int = 0,
    convergence: Convergence | None = None,
    run: Run | None = None,
) -> Trained:
    """Learn weights from mistakes.

    Arguments:
        type: 0, 1 or 2, how large a change may be.
        c: aggressiveness, of types 1 and 2.
        error_sensitive: ask for a margin of √(wrong labels) rather than 1.

    The others are those of `tagline.training.online.learner.learn`.
    """
    if type not in (0, 1, 2):
        raise InputError("type: expected 0, 1 or 2, got {}", type)
    if not c > 0:
        raise InputError("c: expected a positive number, got {}", c)
    settings = {"type": type, "c": float(c), "error_sensitive": bool(error_sensitive)}
    return learn(
        likelihood,
        start,
        "pa",
        passes=passes,
        averaged=averaged,
        seed=seed,
        convergence=convergence,
        run=run,
        **settings,
    )
