"""The default way down: stochastic descent first, then a quasi-Newton method from where it ends.

A few stochastic passes come within a percent or so of the optimum, and each costs about 1.5 evaluations of the
objective. Their step sizes fall to 0 at the end: noise in the weights is what L-BFGS takes longest to get rid of.
L-BFGS (OWL-QN where c1 > 0) goes the rest of the way; it begins with the curvature of each weight (docs/training.md).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from tagline.training.lbfgs import lbfgs
from tagline.training.likelihood import Likelihood
from tagline.training.monitor import Monitor, Trained
from tagline.training.objective import as_weights
from tagline.training.owlqn import owlqn
from tagline.training.stochastic_descent import assessed, descended
from tagline.types import Float64Array

STOCHASTIC_PASSES = 12
COOLED = 0.2  # the share of those in which step sizes fall to 0
FIRST_STEP = 0.1  # by the curvature of each weight alone, 1: too far, for the attributes of a token move together
LEAST_CURVATURE = 0.05  # of weights that neither data nor penalty hold back


def stochastic_passes(passes: int | None, limit: int | None) -> int:
    """Return how many passes are stochastic where both stages together make `limit` at most."""
    passes = STOCHASTIC_PASSES if passes is None else passes
    return passes if limit is None else min(passes, limit // 2)


def auto(
    likelihood: Likelihood,
    start: ArrayLike,
    *,
    c1: float = 0.0,
    c2: float = 1.0,
    memory: int = 10,
    passes: int = STOCHASTIC_PASSES,
    seed: int = 0,
    dtype: DTypeLike = np.float32,
    noise: float = 1e-5,
    monitor: Monitor | None = None,
) -> Trained:
    """Minimise the likelihood + c1·|w|₁ + c2·|w|²; arguments as of `sgd` and `lbfgs`."""
    monitor = monitor or Monitor()
    weights = as_weights("start", start)
    limit = monitor.max_iterations
    passes = stochastic_passes(passes, limit)
    if passes > 0 and not monitor.is_past("sgd"):
        elsewhere = getattr(likelihood, "stochastic", None)  # sentences that lie elsewhere have a way of their own
        first = elsewhere or partial(descended, averaged=0.0, cooled=COOLED)  # the second stage evaluates where it ends
        stochastic = first(likelihood, weights, c1=c1, c2=c2, passes=passes, seed=seed, monitor=monitor)
        if stochastic.reason != "passes" and not stochastic.converged:
            return stochastic if elsewhere else assessed(likelihood, stochastic, c1, c2)
        weights = stochastic.weights

    def diagonal(at: Float64Array) -> Float64Array:
        return FIRST_STEP / np.maximum(likelihood.curvature(at) + 2 * c2, LEAST_CURVATURE)

    arguments: dict[str, Any] = {
        "memory": memory,
        "diagonal": diagonal,
        "dtype": dtype,
        "noise": noise,
        "monitor": monitor,
    }
    try:
        if limit is not None:
            monitor.max_iterations = limit - passes
        if c1 > 0:
            return owlqn(likelihood, weights, c1=c1, c2=c2, **arguments)
        return lbfgs(likelihood, weights, c2=c2, **arguments)
    finally:
        monitor.max_iterations = limit
