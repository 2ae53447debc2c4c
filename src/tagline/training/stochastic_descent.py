"""Stochastic gradient descent with lazy L1 and L2 penalties: a few sentences a step, far from the optimum the fastest.

After k of B sentences the step size is η_k = η_0 / (1 + η_0·k·2·(c1 + c2)/B) (Bottou 2010); η_0 is tried out on a
sample. Σ η_k is infinite and Σ η_k² is not, so the weights reach the optimum if they are given the passes (Robbins &
Monro 1951). The weights of the last passes are averaged (Polyak & Juditsky 1992), which takes out most of the noise.
The core makes the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tagline import compiled
from tagline.errors import InputError
from tagline.training.certificate import certifies, gap_at
from tagline.training.iteration import Algorithm, Step
from tagline.training.likelihood import Likelihood
from tagline.training.objective import Penalty, as_weights
from tagline.training.run import Trained
from tagline.training.running.checkpoints import State, restored_generator
from tagline.types import Float64Array

SNAPSHOTS = 4  # of the weights, a pass, for their average
SAMPLE = 1000  # sentences on which the first step size is tried out
TRIALS = 8
PASSES = 50
UNPENALISED = 0.01  # stands for c1 + c2 in the step sizes where there is no penalty: they must decay all the same


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


class StochasticPasses(Algorithm):
    """Minimises the likelihood + c1·|w|₁ + c2·|w|² approximately, by the core's descent.

    The objective of a pass is the sum of the losses, each before its step, which is too noisy to say when the weights
    have converged. That of the end is exact where the run `finish`es it, and so is its gap to the optimum.

    Arguments:
        likelihood: of the labelled sentences.
        start: ``[size]``, not changed.
        c1, c2: penalties of the whole objective.
        rate: η_0; found on a sample where left out.
        batch: sentences a step, 1 to 4.
        passes: over the sentences, at most, `PASSES` if left out; without `cooled`, step sizes do not depend on it.
        averaged: the share of the passes, the last ones, over which the weights are averaged; 0 for none.
        cooled: the share of the passes, the last ones, in which step sizes also fall evenly to 0. Their noise dies away
            with them, so the last weights need no average.
        seed: of the order of the sentences, which differs from pass to pass.

    Attributes:
        passed: passes that are done.
        eta: the first step size; NaN before it is known.
        total, count: sum of the weights that are averaged, and how many.
    """

    def __init__(
        self,
        likelihood: Likelihood,
        start: ArrayLike,
        *,
        c1: float = 0.0,
        c2: float = 0.0,
        rate: float | None = None,
        batch: int = 4,
        passes: int | None = None,
        averaged: float = 0.5,
        cooled: float = 0.0,
        seed: int = 0,
    ) -> None:
        if not 1 <= batch <= 4:
            raise InputError("batch: expected 1 to 4 sentences, got {}", batch)
        if rate is not None and not rate > 0:
            raise InputError("rate: expected a positive number, got {}", rate)
        self.weights, self.rate, self.batch = as_weights("start", start), rate, batch
        self.passes, self.averaged, self.cooled = PASSES if passes is None else passes, averaged, cooled
        core = compiled.require()
        kind = core.Descent32 if likelihood.precision == "float32" else core.Descent64
        self.descent: Any = kind(likelihood.core, c1, c2)
        self.descent.set(self.weights)
        self.likelihood, self.c2, self.B = likelihood, c2, likelihood.num_sentences
        self.decay = 2 * (c1 + c2 or UNPENALISED) / max(self.B, 1)
        self.random = np.random.default_rng(seed)
        self.penalty = Penalty.of(c1, c2, likelihood.size)
        self.passed, self.eta = 0, float("nan")
        self.total, self.count = np.zeros(likelihood.size), 0

    def __iter__(self) -> Generator[Step, None, None]:
        if not self.passed:
            yield Step(0, float("nan"), weights=self.weights)
            self.eta = self._find_rate(self.weights) if self.rate is None else self.rate
        first, warm = self.passes - round(self.passes * self.averaged), self.passes * (1 - self.cooled)
        while self.passed < self.passes:
            averages = self.passed >= first
            loss = 0.0
            for k, part in enumerate(np.array_split(self.random.permutation(self.B).astype(np.int64), SNAPSHOTS)):
                middle = self.passed + (k + 0.5) / SNAPSHOTS
                if middle <= warm:
                    loss += self.descent.run(part, self.batch, self.eta, self.decay, True)
                else:  # steps of one size: this share of what the size at the first of them would be
                    share = (self.passes - middle) / (self.passes - warm)
                    size = self.eta / (1 + self.eta * self.decay * self.descent.seen)
                    loss += self.descent.run(part, self.batch, share * size, 0.0, True)
                if averages:
                    self.total += self.descent.get()
                    self.count += 1
            self.weights = self.total / self.count if averages else self.descent.get()
            self.passed += 1
            metrics = {"active": int(np.count_nonzero(self.weights)), "evaluations": 0, "step": None}
            objective = loss + self.penalty.value(self.weights)
            yield Step(self.passed, objective, metrics=metrics, weights=self.weights)
        self.reason = "passes"

    def _find_rate(self, start: Float64Array) -> float:
        """Return the step size with which a pass over a sample ends with the lowest loss."""
        sample = self.random.permutation(self.B)[:SAMPLE].astype(np.int64)

        def reached(eta: float) -> float:
            self.descent.set(start)
            self.descent.seen = 0
            self.descent.run(sample, self.batch, eta, self.decay, True)
            loss: float = self.descent.run(sample, self.batch, 0.0, self.decay, False)
            return loss if np.isfinite(loss) else np.inf

        best = best_rate(reached)
        self.descent.set(start)
        self.descent.seen = 0
        return best

    def assessed(self, end: Trained) -> Trained:
        weights, penalty = end.weights, self.penalty
        try:
            value, gradient = self.likelihood(weights)
        except KeyboardInterrupt:  # the weights are complete; only their objective is not known
            return replace(end, objective=float("nan"), reason="interrupted", gap=None)
        proven = certifies(self.likelihood, penalty)
        gap = gap_at(penalty, weights, gradient + 2 * self.c2 * weights) if proven else None
        return replace(end, objective=value + penalty.value(weights), gap=gap)

    def state(self) -> State:
        values, scale = self.descent.keep()
        random = self.random.bit_generator.state
        return State(
            {
                **{"passed": self.passed, "eta": self.eta, "count": self.count},
                **{"scale": scale, "seen": self.descent.seen, "random": random},
            },
            {"weights": self.weights, "values": values, "total": self.total},
        )

    def load_state(self, state: State) -> None:
        n = len(self.total)
        self.weights = state.array("weights", np.float64, n, finite=True)
        restored_generator(self.random, state, "random")
        self.descent.restore(state.array("values", np.float64, n, finite=True), state.value("scale", float))
        self.descent.seen = state.value("seen", float)
        self.total, self.count = state.array("total", np.float64, n), state.value("count", int)
        self.passed, self.eta = state.value("passed", int), state.value("eta", float)
