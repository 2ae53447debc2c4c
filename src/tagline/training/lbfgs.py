"""L-BFGS: the quasi-Newton method for smooth objectives (Nocedal 1980), in its form without long inner loops.

Each pass goes along d = −H·g, where H approximates the inverse Hessian from the last few steps (`curvature`), by a
step of 1 in nearly every case (`line_search.wolfe`): one evaluation of the objective a pass. An estimate of the
Hessian's diagonal replaces the scaled identity that H otherwise grows from, which saves passes where curvatures differ.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from tagline.training.iteration import Convergence
from tagline.training.line_search import NOISE, backtrack, wolfe
from tagline.training.objective import Objective
from tagline.training.run import Run, Trained
from tagline.training.walk import FAILED, Diagonal, Walk


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
    convergence: Convergence | None = None,
    run: Run | None = None,
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
        convergence: when it has arrived.
        run: when to stop all the same, and whom to tell.

    >>> lbfgs(lambda w: (float((w - 3) @ (w - 3)), 2 * (w - 3)), np.zeros(2), c2=1.0).weights.round(6).tolist()
    [1.5, 1.5]
    """
    walk = LBFGSWalk(
        *(objective, start, (0.0, c2)),
        memory=memory,
        dtype=dtype,
        diagonal=diagonal,
        noise=noise,
        convergence=convergence,
        max_linesearch=max_linesearch,
    )
    return (run or Run()).finish(walk)


class LBFGSWalk(Walk):
    """Goes along one quasi-Newton direction after another; where one fails, begins again from the steepest descent.

    Arguments:
        max_linesearch: evaluations a pass, at most.

    The others are those of `Walk`.
    """

    backtracks: ClassVar[bool] = False  # whether a step is only shortened, as where c1 bends the objective

    def __init__(self, *arguments: Any, max_linesearch: int = 20, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.max_linesearch = max_linesearch

    def accepted(self) -> bool:
        while True:
            # The curvature gives a direction its length; before it is known, the step has a length of 1.
            known = self.curvature.scale is not None or len(self._diagonal) > 0
            step = 1.0 if known else 1 / max(self.gradient_norm, np.finfo(np.float64).tiny)
            slope, trial = self.aim(step), None
            how: dict[str, Any] = {"noise": self.noise, "most": self.max_linesearch}
            if slope < 0 and self.backtracks:
                trial = backtrack(self.attempt, self.value, self.gradient_norm, step, **how)
            elif slope < 0:
                trial = wolfe(self.attempt, self.value, slope, step, **how)
            if trial is not None:
                self.accept()
                return True
            if not len(self.curvature.used):
                self.reason = FAILED
                return False
            self.curvature.forget()
