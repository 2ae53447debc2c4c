"""OWL-QN: L-BFGS for objectives with an L1 penalty, whose optimum has most weights at exactly 0 (Andrew & Gao 2007).

c1·|w| is smooth within an orthant. Each pass chooses one: the signs of the weights, and where a weight is 0, the side
to which the pseudo-gradient descends. The quasi-Newton direction, grown from gradients of the smooth part, keeps only
the components that descend, and the step is projected: a weight that would change its sign stops at 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from tagline.training.lbfgs import descend
from tagline.training.line_search import NOISE, Trial, backtrack
from tagline.training.monitor import Monitor, Trained
from tagline.training.objective import Objective
from tagline.training.walk import Diagonal, Walk


def owlqn(
    objective: Objective,
    start: ArrayLike,
    *,
    c1: ArrayLike,
    c2: ArrayLike = 0.0,
    memory: int = 6,
    diagonal: Diagonal | None = None,
    dtype: DTypeLike = np.float32,
    max_linesearch: int = 20,
    noise: float = NOISE,
    monitor: Monitor | None = None,
) -> Trained:
    """Minimise objective(w) + Σ c1·|w| + Σ c2·w².

    Arguments are those of `lbfgs`, and c1: one number, or one a weight (0 for weights that are not to be sparse).

    >>> pull = np.array([3.0, 0.5])
    >>> owlqn(lambda w: (float((w - pull) @ (w - pull)), 2 * (w - pull)), np.zeros(2), c1=2.0).weights.tolist()
    [2.0, 0.0]
    """
    walk = Walk(objective, start, (c1, c2), memory=memory, dtype=dtype, diagonal=diagonal, noise=noise)

    def search(slope: float, step: float) -> Trial | None:
        return backtrack(walk.attempt, walk.value, walk.gradient_norm, step, noise=noise, most=max_linesearch)

    return (monitor or Monitor()).follow(descend(walk, search), walk.weights, stage="owlqn", algorithm=walk)
