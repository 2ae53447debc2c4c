"""L-BFGS: the quasi-Newton method for smooth objectives (Nocedal 1980), in its form without long inner loops.

Each pass goes along d = −H·g, where H approximates the inverse Hessian from the last few steps (`curvature`), by a
step of 1 in nearly every case (`line_search.wolfe`): one evaluation of the objective a pass. An estimate of the
Hessian's diagonal replaces the scaled identity that H otherwise grows from, which saves passes where curvatures differ.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from tagline.training.line_search import NOISE, Trial, wolfe
from tagline.training.monitor import Monitor, Points, Trained
from tagline.training.objective import Objective
from tagline.training.walk import Diagonal, Walk

FAILED = "line search failed: no step along the steepest descent lowers the objective any more"
STALLED = "line search failed: steps are lost in the rounding of the objective"


def lbfgs(
    objective: Objective,
    start: ArrayLike,
    *,
    c2: ArrayLike = 0.0,
    memory: int = 6,
    diagonal: Diagonal | None = None,
    dtype: DTypeLike = np.float32,
    max_linesearch: int = 20,
    noise: float = NOISE,
    monitor: Monitor | None = None,
) -> Trained:
    """Minimise objective(w) + Σ c2·w².

    Arguments:
        objective: smooth; returns its value and gradient.
        start: ``[n]``, not changed.
        c2: one number, or one a weight.
        memory: how many steps are remembered; each costs two vectors of `dtype`.
        diagonal: initial inverse Hessian ``[n]`` of the whole objective, or a function that gives it at the start.
        dtype: of the memory; float32 halves what a pass costs beside the evaluation.
        max_linesearch: evaluations a pass, at most.
        noise: changes of the objective below this share of it are ignored; there the gradients decide.
        monitor: when to stop and whom to tell.

    >>> lbfgs(lambda w: (float((w - 3) @ (w - 3)), 2 * (w - 3)), np.zeros(2), c2=1.0).weights.round(6).tolist()
    [1.5, 1.5]
    """
    walk = Walk(objective, start, (0.0, c2), memory=memory, dtype=dtype, diagonal=diagonal, noise=noise)

    def search(slope: float, step: float) -> Trial | None:
        return wolfe(walk.attempt, walk.value, slope, step, noise=noise, most=max_linesearch)

    return (monitor or Monitor()).follow(descend(walk, search), walk.weights, stage="lbfgs", algorithm=walk)


def descend(walk: Walk, search: Callable[[float, float], Trial | None]) -> Points:
    """Go along one quasi-Newton direction after another; where one fails, begin again from the steepest descent.

    Arguments:
        search: finds the step, from the slope at its start and the first step to try.
    """
    if not walk.begun:
        walk.begin()
        yield walk.point()
    while not walk.stalled:
        step = first_step(walk)
        slope = walk.aim(step)
        trial = search(slope, step) if slope < 0 else None
        if trial is not None:
            walk.accept()
            yield walk.point()
        elif len(walk.curvature.used):
            walk.curvature.forget()
        else:
            return FAILED
    return STALLED


def first_step(walk: Walk) -> float:
    """Return 1 where the curvature gives a direction its length; before it is known, a step of length 1."""
    if walk.curvature.scale is not None or walk.has_diagonal:
        return 1.0
    return 1 / max(walk.gradient_norm, np.finfo(np.float64).tiny)
