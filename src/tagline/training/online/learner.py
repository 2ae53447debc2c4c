"""What the online algorithms share: one sentence at a time, and weights that change where the best labelling is wrong.

A pass goes through the sentences in an order of its own; the core decodes and changes weights. No objective is
minimised: the numbers that a pass reports are the summed losses of the sentences, each before its change.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tagline import compiled
from tagline.errors import StorageError
from tagline.training.iteration import Algorithm, Convergence, Step
from tagline.training.likelihood import Likelihood
from tagline.training.objective import as_weights
from tagline.training.run import Run, Trained
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
    convergence: Convergence | None = None,
    run: Run | None = None,
    **settings: Any,
) -> Trained:
    """Run an online rule of the core: ``ap``, ``pa`` or ``arow``.

    Arguments:
        likelihood: the labelled sentences and which weights there are.
        start: ``[size]``, not changed.
        passes: over the sentences, at most; it ends earlier when a pass finds no mistake.
        averaged: return the average of the weights over all sentences seen rather than the last ones.
        seed: of the order of the sentences.
        convergence: when the losses have settled; never where it is left out.
        run: when to stop all the same, and whom to tell.
        settings: of the rule.
    """
    passed = OnlinePasses(
        *(likelihood, as_weights("start", start), rule, bool(averaged), seed, settings),
        PASSES if passes is None else passes,
        convergence or Convergence(epsilon=0, delta=0),
    )
    return (run or Run()).finish(passed)


class OnlinePasses(Algorithm):
    """The core's learner, the order of the sentences, and how far it is.

    Attributes:
        passed: passes that are done.
        wrong: labels, in the last of them.
    """

    def __init__(
        self,
        likelihood: Likelihood,
        start: Float64Array,
        rule: str,
        averaged: bool,
        seed: int,
        settings: Mapping[str, Any],
        passes: int,
        convergence: Convergence,
    ) -> None:
        core = compiled.require()
        kind = core.Online32 if likelihood.precision == "float32" else core.Online64
        self.core: Any = kind(likelihood.core, rule, **settings)
        self.core.set(start)
        self.weights, self.passes, self.convergence = start, passes, convergence
        self.B, self.size, self.averaged = likelihood.num_sentences, likelihood.size, averaged
        self.random = np.random.default_rng(seed)
        self.passed, self.wrong = 0, -1

    def __iter__(self) -> Generator[Step, None, None]:
        if not self.passed:
            yield self._step(float("nan"))
        while self.reason is None:
            if self.wrong == 0:
                self.reason = "converged: every sentence is labelled right"
            elif self.passed >= self.passes:
                self.reason = "passes"
            else:
                loss, self.wrong = self.core.run(self.random.permutation(self.B).astype(np.int64))
                self.passed += 1
                self.weights = self.core.get(self.averaged)
                yield self._step(loss)

    def _step(self, loss: float) -> Step:
        metrics = {"active": int(np.count_nonzero(self.weights)), "evaluations": 0, "step": None}
        step = Step(self.passed, loss, metrics=metrics, weights=self.weights)
        self.reason = self.convergence.after(step)
        return step

    def state(self) -> State:
        values, seen = self.core.keep()
        random = self.random.bit_generator.state
        state = State(
            {"passed": self.passed, "wrong": self.wrong, "seen": seen, "random": random},
            {"weights": self.weights, "values": values},
        )
        return state.joined("convergence", self.convergence.state())

    def load_state(self, state: State) -> None:
        self.weights = state.array("weights", np.float64, self.size, finite=True)
        restored_generator(self.random, state, "random")
        values = state.array("values", np.float64, 3, self.size, finite=True)
        if np.abs(values).max(initial=0) > LARGEST:
            raise StorageError("{}: values has numbers beyond {:g}; {}", state.source, LARGEST, DAMAGED)
        self.core.restore(values, state.value("seen", float))
        self.passed, self.wrong = state.value("passed", int), state.value("wrong", int)
        self.reason = self.convergence.load_state(state.part("convergence"))
