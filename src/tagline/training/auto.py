"""The default way down: stochastic descent first, then a quasi-Newton method from where it ends.

A few stochastic passes come within a percent or so of the optimum, and each costs about 1.5 evaluations of the
objective. Their step sizes fall to 0 at the end: noise in the weights is what L-BFGS takes longest to get rid of.
L-BFGS (OWL-QN where c1 > 0) goes the rest of the way; it begins with the curvature of each weight (docs/training.md).
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tagline.training.iteration import Algorithm, Step
from tagline.training.lbfgs import LBFGSWalk
from tagline.training.likelihood import Likelihood
from tagline.training.owlqn import OWLQNWalk
from tagline.training.run import Trained
from tagline.training.running.checkpoints import State
from tagline.training.stochastic_descent import StochasticPasses
from tagline.training.walk import Walk
from tagline.types import Float64Array

STOCHASTIC_PASSES = 12
COOLED = 0.2  # the share of those in which step sizes fall to 0
FIRST_STEP = 0.1  # by the curvature of each weight alone, 1: too far, for the attributes of a token move together
LEAST_CURVATURE = 0.05  # of weights that neither data nor penalty hold back


def stochastic_passes(passes: int | None, limit: int | None) -> int:
    """Return how many passes are stochastic where both stages together make `limit` at most."""
    passes = STOCHASTIC_PASSES if passes is None else passes
    return passes if limit is None else min(passes, limit // 2)


class BothPasses(Algorithm):
    """Minimises the likelihood + c1·|w|₁ + c2·|w|²: stochastic passes, then quasi-Newton ones; their numbers go on.

    Arguments:
        passes: stochastic ones.
        seed: of the order of the sentences in these.
        settings: of the quasi-Newton method, as of `Walk`.

    Attributes:
        now: the algorithm that is under way.
    """

    now: Algorithm

    def __init__(
        self,
        likelihood: Likelihood,
        start: Float64Array,
        *,
        c1: float = 0.0,
        c2: float = 1.0,
        passes: int = STOCHASTIC_PASSES,
        seed: int = 0,
        **settings: Any,
    ) -> None:
        self.likelihood, self.c1, self.c2, self.settings = likelihood, c1, c2, settings
        self.weights, self.passes = start, passes
        if passes > 0:
            # Sentences that lie elsewhere have a way of their own; the second stage evaluates where the first ends.
            first = getattr(likelihood, "stochastic", partial(StochasticPasses, averaged=0.0, cooled=COOLED))
            self.now = first(likelihood, start, c1=c1, c2=c2, passes=passes, seed=seed)
        else:
            self.now = self._walk(start)

    def _walk(self, start: Float64Array) -> Walk:
        def diagonal(at: Float64Array) -> Float64Array:
            return FIRST_STEP / np.maximum(self.likelihood.curvature(at) + 2 * self.c2, LEAST_CURVATURE)

        kind = OWLQNWalk if self.c1 > 0 else LBFGSWalk
        return kind(self.likelihood, start, (self.c1, self.c2), diagonal=diagonal, **self.settings)

    def __iter__(self) -> Generator[Step, None, None]:
        if not isinstance(self.now, Walk):
            for step in self.now:
                self.weights = step.weights
                yield step
            self.now = self._walk(self.weights)
        for step in self.now:
            self.weights, self.reason = step.weights, self.now.reason
            yield replace(step, number=self.passes + step.number)
        self.reason = self.now.reason

    def assessed(self, end: Trained) -> Trained:
        return self.now.assessed(end)

    def state(self) -> State:
        return State({"is_stochastic": not isinstance(self.now, Walk)}).joined("now", self.now.state())

    def load_state(self, state: State) -> None:
        if not state.value("is_stochastic", bool) and not isinstance(self.now, Walk):
            self.now = self._walk(self.weights)
        self.now.load_state(state.part("now"))
        self.weights, self.reason = self.now.weights, self.now.reason
