"""What the online algorithms share: one sentence at a time, and weights that change where the best labelling is wrong.

A pass goes through the sentences in an order of its own; the core decodes and changes weights. No objective is
minimised: the numbers that a pass reports are the summed losses of the sentences, each before its change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tagline import compiled
from tagline.errors import StorageError
from tagline.training.likelihood import Likelihood
from tagline.training.monitor import Monitor, Point, Points, Trained, norm
from tagline.training.objective import as_weights
from tagline.training.running.checkpoints import DAMAGED, State, restored_generator
from tagline.types import Float64Array

PASSES = 100
LARGEST = 1e100  # weights of a checkpoint, whose sums are finite then


def learn(
    likelihood: Likelihood,
    start: ArrayLike,
    rule: str,
    *,
    passes: int | None = None,
    averaged: bool = True,
    seed: int = 0,
    monitor: Monitor | None = None,
    **settings: Any,
) -> Trained:
    """Run an online rule of the core: ``ap``, ``pa`` or ``arow``.

    Arguments:
        likelihood: the labelled sentences and which weights there are.
        start: ``[size]``, not changed.
        passes: over the sentences, at most; it ends earlier when a pass finds no mistake.
        averaged: return the average of the weights over all sentences seen rather than the last ones.
        seed: of the order of the sentences.
        monitor: when to stop and whom to tell.
        settings: of the rule.
    """
    weights = as_weights("start", start)
    run = _Lessons(likelihood, rule, bool(averaged), seed, settings)
    run.core.set(weights)
    watch = monitor or Monitor(epsilon=0, delta=0)
    points = run.points(weights, PASSES if passes is None else passes)
    return watch.follow(points, weights, stage=rule, algorithm=run)


class _Lessons:
    """The core's learner, the order of the sentences, and how far it is.

    Attributes:
        passed: passes that are done.
        wrong: labels, in the last of them.
    """

    def __init__(
        self, likelihood: Likelihood, rule: str, averaged: bool, seed: int, settings: Mapping[str, Any]
    ) -> None:
        core = compiled.require()
        kind = core.Online32 if likelihood.precision == "float32" else core.Online64
        self.core: Any = kind(likelihood.core, rule, **settings)
        self.B, self.size, self.averaged = likelihood.num_sentences, likelihood.size, averaged
        self.random = np.random.default_rng(seed)
        self.passed, self.wrong = 0, -1

    def points(self, start: Float64Array, passes: int) -> Points:
        if not self.passed:
            yield Point(start, float("nan"))
        while self.wrong != 0:
            if self.passed >= passes:
                return "passes"
            loss, self.wrong = self.core.run(self.random.permutation(self.B).astype(np.int64))
            self.passed += 1
            weights = self.core.get(self.averaged)
            yield Point(weights, loss, weight_norm=norm(weights), active=int(np.count_nonzero(weights)))
        return "converged: every sentence is labelled right"

    def keep(self) -> State:
        values, seen = self.core.keep()
        random = self.random.bit_generator.state
        return State({"passed": self.passed, "wrong": self.wrong, "seen": seen, "random": random}, {"values": values})

    def restore(self, state: State, weights: Float64Array) -> None:
        restored_generator(self.random, state, "random")
        values = state.array("values", np.float64, 3, self.size, finite=True)
        if np.abs(values).max(initial=0) > LARGEST:
            raise StorageError(f"{state.source}: values has numbers beyond {LARGEST:g}; {DAMAGED}")
        self.core.restore(values, state.value("seen", float))
        self.passed, self.wrong = state.value("passed", int), state.value("wrong", int)
