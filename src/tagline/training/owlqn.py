"""OWL-QN: L-BFGS for objectives with an L1 penalty, whose optimum has most weights at exactly 0 (Andrew & Gao 2007).

c1·|w| is smooth within an orthant. Each pass chooses one: the signs of the weights, and where a weight is 0, the side
to which the pseudo-gradient descends. The quasi-Newton direction, grown from gradients of the smooth part, keeps only
the components that descend, and the step is projected: a weight that would change its sign stops at 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from tagline.training.iteration import Convergence
from tagline.training.lbfgs import LBFGSWalk
from tagline.training.line_search import NOISE
from tagline.training.objective import Objective
from tagline.training.run import Run, Trained
from tagline.training.walk import Diagonal


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
    convergence: Convergence | None = None,
    run: Run | None = None,
) -> Trained:
    """Minimise objective(w) + Σ c1·|w| + Σ c2·w².

    Arguments are those of `lbfgs`, and c1: one number, or one a weight (0 for weights that are not to be sparse).

    >>> pull = np.array([3.0, 0.5])
    >>> owlqn(lambda w: (float((w - pull) @ (w - pull)), 2 * (w - pull)), np.zeros(2), c1=2.0).weights.tolist()
    [2.0, 0.0]
    """
    walk = OWLQNWalk(
        *(objective, start, (c1, c2)),
        memory=memory,
        dtype=dtype,
        diagonal=diagonal,
        noise=noise,
        convergence=convergence,
        max_linesearch=max_linesearch,
    )
    return (run or Run()).finish(walk)


class OWLQNWalk(LBFGSWalk):
    """Goes along projected quasi-Newton directions, which backtracking shortens."""

    backtracks = True
