"""Stochastic gradient descent with lazy L1 and L2 penalties: a few sentences a step, far from the optimum the fastest.

After k of B sentences the step size is η_k = η_0 / (1 + η_0·k·2·(c1 + c2)/B) (Bottou 2010); η_0 is tried out on a
sample. Σ η_k is infinite and Σ η_k² is not, so the weights reach the optimum if they are given the passes (Robbins &
Monro 1951). The weights of the last passes are averaged (Polyak & Juditsky 1992), which takes out most of the noise.
The core makes the steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tagline import compiled
from tagline.errors import InputError
from tagline.training.certificate import certifies, gap_at
from tagline.training.likelihood import Likelihood
from tagline.training.monitor import Monitor, Point, Points, Trained, norm
from tagline.training.objective import Penalty, as_weights
from tagline.training.running.checkpoints import State, restored_generator
from tagline.types import Float64Array, IntArray

SNAPSHOTS = 4  # of the weights, a pass, for their average
SAMPLE = 1000  # sentences on which the first step size is tried out
TRIALS = 8
UNPENALISED = 0.01  # stands for c1 + c2 in the step sizes where there is no penalty: they must decay all the same


def sgd(
    likelihood: Likelihood,
    start: ArrayLike,
    *,
    c1: float = 0.0,
    c2: float = 0.0,
    rate: float | None = None,
    batch: int = 4,
    passes: int = 50,
    averaged: float = 0.5,
    seed: int = 0,
    monitor: Monitor | None = None,
) -> Trained:
    """Minimise the likelihood + c1·|w|₁ + c2·|w|² approximately.

    Arguments:
        likelihood: of the labelled sentences.
        start: ``[size]``, not changed.
        c1, c2: penalties of the whole objective.
        rate: η_0; found on a sample where left out.
        batch: sentences a step, 1 to 4.
        passes: over the sentences, at most; the step sizes do not depend on it.
        averaged: the share of the passes, the last ones, over which the weights are averaged; 0 for none.
        seed: of the order of the sentences, which differs from pass to pass.
        monitor: when to stop and whom to tell. The objective of a pass is the sum of the losses, each before its step.
            These sums are too noisy for `delta`, which is not looked at. The objective of the result is exact, and so
            is its gap to the optimum.
    """
    how: dict[str, Any] = {"rate": rate, "batch": batch, "passes": passes, "averaged": averaged, "seed": seed}
    trained = descended(likelihood, start, c1=c1, c2=c2, monitor=monitor, **how)
    return assessed(likelihood, trained, c1, c2)


def descended(
    likelihood: Likelihood,
    start: ArrayLike,
    *,
    c1: float,
    c2: float,
    rate: float | None = None,
    batch: int = 4,
    passes: int = 50,
    averaged: float = 0.5,
    cooled: float = 0.0,
    seed: int = 0,
    monitor: Monitor | None = None,
) -> Trained:
    """Do what `sgd` does, without the evaluation at the end: the objective is that of the last pass.

    Arguments:
        cooled: the share of the passes, the last ones, in which step sizes also fall evenly to 0. Their noise dies away
            with them, so the last weights need no average.
    """
    if not 1 <= batch <= 4:
        raise InputError(f"batch: expected 1 to 4 sentences, got {batch}")
    if rate is not None and not rate > 0:
        raise InputError(f"rate: expected a positive number, got {rate}")
    weights = as_weights("start", start)
    steps = _Steps(likelihood, c1, c2, batch, seed)
    steps.descent.set(weights)
    points = steps.points(weights, rate, passes, averaged, cooled)
    return (monitor or Monitor()).follow(points, weights, stage="sgd", algorithm=steps)


def assessed(likelihood: Likelihood, trained: Trained, c1: float, c2: float) -> Trained:
    """Return the weights that were trained with their exact objective, and its gap to the optimum."""
    try:
        value, gradient = likelihood(trained.weights)
    except KeyboardInterrupt:  # the weights are complete; only their objective is not known
        return Trained(trained.weights, float("nan"), "interrupted", trained.history)
    penalty, end = Penalty.of(c1, c2, len(trained.weights)), trained.weights
    gap = gap_at(penalty, end, gradient + 2 * c2 * end) if certifies(likelihood, penalty) else None
    return Trained(end, value + penalty.value(end), trained.reason, trained.history, gap)


def best_rate(reached: Callable[[float], float]) -> float:
    """Double or halve a step size as long as the loss that it reaches is lower."""
    best, factor = 0.1, 2.0
    lowest = reached(best)
    for _ in range(TRIALS):
        tried = reached(best * factor)
        if tried < lowest:
            best, lowest = best * factor, tried
        elif factor > 1 and best == 0.1:
            factor = 0.5
        else:
            break
    return best


class _Steps:
    """The core's descent, the order of the sentences and the average.

    Attributes:
        passed: passes that are done.
        eta: the first step size; NaN before it is known.
        total, count: sum of the weights that are averaged, and how many.
    """

    def __init__(self, likelihood: Likelihood, c1: float, c2: float, batch: int, seed: int) -> None:
        core = compiled.require()
        kind = core.Descent32 if likelihood.precision == "float32" else core.Descent64
        self.descent: Any = kind(likelihood.core, c1, c2)
        self.B = likelihood.num_sentences
        self.batch = batch
        self.decay = 2 * (c1 + c2 or UNPENALISED) / max(self.B, 1)
        self.random = np.random.default_rng(seed)
        self.penalty = Penalty.of(c1, c2, likelihood.size)
        self.passed, self.eta = 0, float("nan")
        self.total, self.count = np.zeros(likelihood.size), 0

    def run(self, order: IntArray, eta: float, learn: bool = True) -> float:
        loss: float = self.descent.run(order, self.batch, eta, self.decay, learn)
        return loss

    def run_cooled(self, order: IntArray, share: float) -> float:
        """Make steps of one size: this share of what the size at the first of them would be."""
        size = self.eta / (1 + self.eta * self.decay * self.descent.seen)
        loss: float = self.descent.run(order, self.batch, share * size, 0.0, True)
        return loss

    def find_rate(self, start: Float64Array) -> float:
        """Return the step size with which a pass over a sample ends with the lowest loss."""
        sample = self.random.permutation(self.B)[:SAMPLE].astype(np.int64)

        def reached(eta: float) -> float:
            self.descent.set(start)
            self.descent.seen = 0
            self.run(sample, eta)
            loss = self.run(sample, 0.0, learn=False)
            return loss if np.isfinite(loss) else np.inf

        best = best_rate(reached)
        self.descent.set(start)
        self.descent.seen = 0
        return best

    def points(self, start: Float64Array, rate: float | None, passes: int, averaged: float, cooled: float) -> Points:
        if not self.passed:
            yield Point(start, float("nan"))
            self.eta = self.find_rate(start) if rate is None else rate
        first, warm = passes - round(passes * averaged), passes * (1 - cooled)
        while self.passed < passes:
            averages = self.passed >= first
            loss = 0.0
            for k, part in enumerate(np.array_split(self.random.permutation(self.B).astype(np.int64), SNAPSHOTS)):
                middle = self.passed + (k + 0.5) / SNAPSHOTS
                if middle <= warm:
                    loss += self.run(part, self.eta)
                else:
                    loss += self.run_cooled(part, (passes - middle) / (passes - warm))
                if averages:
                    self.total += self.descent.get()
                    self.count += 1
            weights = self.total / self.count if averages else self.descent.get()
            self.passed += 1
            yield Point(
                weights,
                loss + self.penalty.value(weights),
                weight_norm=norm(weights),
                active=int(np.count_nonzero(weights)),
                noisy=True,
            )
        return "passes"

    def keep(self) -> State:
        values, scale = self.descent.keep()
        random = self.random.bit_generator.state
        return State(
            {
                **{"passed": self.passed, "eta": self.eta, "count": self.count},
                **{"scale": scale, "seen": self.descent.seen, "random": random},
            },
            {"values": values, "total": self.total},
        )

    def restore(self, state: State, weights: Float64Array) -> None:
        n = len(self.total)
        restored_generator(self.random, state, "random")
        self.descent.restore(state.array("values", np.float64, n, finite=True), state.value("scale", float))
        self.descent.seen = state.value("seen", float)
        self.total, self.count = state.array("total", np.float64, n), state.value("count", int)
        self.passed, self.eta = state.value("passed", int), state.value("eta", float)
