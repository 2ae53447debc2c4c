"""Gradient descent, the plainest method there is: w ← w − η·∇, with a step η that is found by trying.

For teaching and for comparison; `lbfgs` reaches the same optimum in far fewer passes. With c1 the pseudo-gradient takes
the gradient's place and no weight passes 0 in one step, as in `owlqn`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tagline.training.lbfgs import FAILED, STALLED
from tagline.training.line_search import NOISE, backtrack
from tagline.training.monitor import Monitor, Points, Trained
from tagline.training.objective import Objective
from tagline.training.walk import Walk


def gd(
    objective: Objective,
    start: ArrayLike,
    *,
    c1: ArrayLike = 0.0,
    c2: ArrayLike = 0.0,
    noise: float = NOISE,
    monitor: Monitor | None = None,
) -> Trained:
    """Minimise objective(w) + Σ c1·|w| + Σ c2·w². Each step is first tried at twice the length of the step before.

    Arguments are those of `lbfgs`.

    >>> gd(lambda w: (float((w - 3) @ (w - 3)), 2 * (w - 3)), np.zeros(2), c2=1.0).weights.round(6).tolist()
    [1.5, 1.5]
    """
    walk = Walk(objective, start, (c1, c2), noise=noise)
    return (monitor or Monitor()).follow(_points(walk), walk.weights, stage="gd", algorithm=walk)


def _points(walk: Walk) -> Points:
    if not walk.begun:
        walk.begin()
        yield walk.point()
    step = 1 / max(walk.gradient_norm, np.finfo(np.float64).tiny) if walk.step is None else 2 * walk.step
    while not walk.stalled:
        trial = None
        if walk.aim(step) < 0:
            trial = backtrack(walk.attempt, walk.value, walk.gradient_norm, step, noise=walk.noise)
        if trial is None:
            return FAILED
        walk.accept()
        yield walk.point()
        step = 2 * trial.step
    return STALLED
