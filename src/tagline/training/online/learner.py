"""The online algorithms: one sentence at a time, and weights that change where the best labelling ŷ is wrong.

A pass goes through the sentences in an order of its own; the core decodes and changes weights. No objective is
minimised: the numbers that a pass reports are the summed losses of the sentences, each before its change. With
Δ = F(y, x) − F(ŷ, x):

- ``ap``, the averaged perceptron (Collins 2002): w += Δ.
- ``pa``, passive-aggressive (Crammer et al. 2006), the least change that puts the right labelling ahead by a margin:
  w += τ Δ with the loss l = w·F(ŷ) − w·F(y) + √(wrong labels) and τ = l / |Δ|² (type 0), min(c, l / |Δ|²) (type 1,
  PA-I) or l / (|Δ|² + 1 / (2 c)) (type 2, PA-II); the margin is 1 where it is not `error_sensitive`.
- ``arow``, adaptive regularisation (Crammer et al. 2009; Mejer & Crammer 2010): each weight has a variance,
  w += α Σ ⊙ Δ with α = l / (Δ·Σ Δ + γ), l = w·F(ŷ) − w·F(y) + wrong labels; then 1/Σ += Δ² / γ: a weight that has been
  seen often moves little, and weights are not averaged.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from tagline import compiled
from tagline.errors import StorageError
from tagline.training.iteration import Algorithm, Convergence, Step
from tagline.training.likelihood import Likelihood
from tagline.training.running.checkpoints import DAMAGED, State, restored_generator
from tagline.types import Float64Array

PASSES = 100
LARGEST = 1e100  # weights of a checkpoint, whose sums are finite then


class OnlinePasses(Algorithm):
    """Runs an online rule of the core.

    Arguments:
        likelihood: the labelled sentences and which weights there are.
        start: ``[size]``, not changed.
        rule: ``ap``, ``pa`` or ``arow``.
        passes: over the sentences, at most, `PASSES` if left out; it ends earlier when a pass finds no mistake.
        averaged: return the average of the weights over all sentences seen rather than the last ones.
        seed: of the order of the sentences.
        convergence: when the losses have settled; never where it is left out.
        settings: of the rule.

    Attributes:
        passed: passes that are done.
        wrong: labels, in the last of them.
    """

    def __init__(
        self,
        likelihood: Likelihood,
        start: Float64Array,
        rule: str,
        *,
        passes: int | None = None,
        averaged: bool = True,
        seed: int = 0,
        convergence: Convergence | None = None,
        **settings: Any,
    ) -> None:
        core = compiled.require()
        kind = core.Online32 if likelihood.precision == "float32" else core.Online64
        self.core: Any = kind(likelihood.core, rule, **settings)
        self.core.set(start)
        self.weights, self.passes = start, PASSES if passes is None else passes
        self.convergence = convergence or Convergence(epsilon=0, delta=0)
        self.B, self.size, self.averaged = likelihood.num_sentences, likelihood.size, averaged and rule != "arow"
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
