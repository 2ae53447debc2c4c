"""Gradient descent, the plainest method there is: w ← w − η·∇, with a step η that is found by trying.

For teaching and for comparison; `lbfgs` reaches the same optimum in far fewer passes. With c1 the pseudo-gradient takes
the gradient's place and no weight passes 0 in one step, as in `owlqn`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from tagline.training.iteration import Convergence
from tagline.training.line_search import NOISE, backtrack
from tagline.training.objective import Objective
from tagline.training.run import Run, Trained
from tagline.training.walk import FAILED, Walk


def gd(
    objective: Objective,
    start: ArrayLike,
    *,
    c1: ArrayLike = 0.0,
    c2: ArrayLike = 0.0,
    noise: float = NOISE,
    convergence: Convergence | None = None,
    run: Run | None = None,
) -> Trained:
    """Minimise objective(w) + Σ c1·|w| + Σ c2·w². Each step is first tried at twice the length of the step before.

    Arguments are those of `lbfgs`.

    >>> gd(lambda w: (float((w - 3) @ (w - 3)), 2 * (w - 3)), np.zeros(2), c2=1.0).weights.round(6).tolist()
    [1.5, 1.5]
    """
    walk = GradientWalk(objective, start, (c1, c2), noise=noise, convergence=convergence)
    return (run or Run()).finish(walk)


class GradientWalk(Walk):
    """Goes along one gradient after another."""

    def accepted(self) -> bool:
        shortest = np.finfo(np.float64).tiny
        step = 1 / max(self.gradient_norm, shortest) if self.step is None else 2 * self.step
        if not self.aim(step) < 0 or not backtrack(
            self.attempt, self.value, self.gradient_norm, step, noise=self.noise
        ):
            self.reason = FAILED
            return False
        self.accept()
        return True
