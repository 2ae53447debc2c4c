"""The stochastic start of `auto` where sentences lie in many processes: each lane descends by itself, then all agree.

In every pass each lane begins at the same weights and makes one stochastic pass over its own sentences, with the
penalties of its share; the weights of all lanes are averaged, by their sentences, and the next pass begins there
(Zinkevich et al. 2010; McDonald et al. 2010). What comes out depends on the lanes, not on who holds them.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tagline import compiled
from tagline.scale.holders import Holder, Plan, Sums
from tagline.training.iteration import Algorithm, Step
from tagline.training.lanes import Branch, Tree
from tagline.training.likelihood import Likelihood
from tagline.training.objective import Penalty, as_weights
from tagline.training.running.checkpoints import State
from tagline.training.stochastic_descent import SAMPLE, UNPENALISED, best_rate
from tagline.types import Float64Array

BATCH = 4  # sentences a step


@dataclass(frozen=True)
class Descents:
    """How every lane descends in one pass.

    Attributes:
        c1, c2: penalties of the whole objective.
        sentences: of the whole corpus.
        done: passes before this one.
        seed: of the order of the sentences.
        rate: the first step size.
    """

    c1: float
    c2: float
    sentences: int
    done: int
    seed: int
    rate: float = 0.0

    @property
    def decay(self) -> float:
        """Of the step sizes, for each sentence, as in `sgd`."""
        return 2 * (self.c1 + self.c2 or UNPENALISED) / self.sentences

    def descent(self, likelihood: Likelihood) -> Any:
        """Return the core's descent: each sentence pays its share of the penalties in the whole corpus."""
        core = compiled.require()
        kind = core.Descent32 if likelihood.precision == "float32" else core.Descent64
        return kind(likelihood.core, self.c1, self.c2, self.sentences)


def find_rate(holder: Holder, key: str, plan: Plan, weights: Float64Array, how: Descents) -> float:
    """Try step sizes on a sample of the holder's first lane, as `sgd` does."""
    likelihood, lanes = holder.likelihood(key, plan)
    descent = how.descent(likelihood)
    sample = np.random.default_rng(how.seed).permutation(lanes[0])[:SAMPLE].astype(np.int64)

    def reached(rate: float) -> float:
        descent.set(weights)
        descent.seen = 0.0
        descent.run(sample, BATCH, rate, how.decay)
        loss = descent.run(sample, BATCH, 0.0, how.decay, False)
        return float(loss) if np.isfinite(loss) else np.inf

    return best_rate(reached)


def descend_lanes(holder: Holder, key: str, plan: Plan, weights: Float64Array, how: Descents) -> list[Sums]:
    """Make a stochastic pass over each lane; return the sums of weights times sentences, and of the losses."""
    likelihood, lanes = holder.likelihood(key, plan)
    descent = how.descent(likelihood)
    first, sums = holder.job.first, []
    for branch in holder.branches:
        tree = Tree(branch.count)
        for k in range(branch.first, branch.first + branch.count):
            sentences = lanes[k - first]
            order = np.random.default_rng([how.seed, how.done, k]).permutation(sentences).astype(np.int64)
            descent.set(weights)
            descent.seen = float(how.done * how.sentences)
            loss = descent.run(order, BATCH, how.rate, how.decay)
            tree.add(Branch(k - branch.first), (float(loss), descent.get() * float(len(order))))
        sums.append(Sums.of(branch, *tree.total))
    return sums


class AveragedPasses(Algorithm):
    """Stochastic passes over all lanes at once, each from the mean of the last; arguments as of `sgd`."""

    def __init__(self, likelihood: Any, start: ArrayLike, *, c1: float, c2: float, passes: int, seed: int) -> None:
        self.likelihood, self.weights, self.passes = likelihood, as_weights("start", start), passes
        self._penalty, self._how = Penalty.of(c1, c2, len(self.weights)), (c1, c2, seed)
        self._done, self._rate = 0, 0.0

    def __iter__(self) -> Generator[Step, None, None]:
        if not self._done:
            yield Step(0, float("nan"), weights=self.weights)
            self._rate = self.likelihood.find_rate(self.weights, self._descents())
        while self._done < self.passes:
            how = self._descents()
            loss, total = self.likelihood.descended(self.weights, how)
            self.weights = total / how.sentences
            self._done += 1
            metrics = {"active": int(np.count_nonzero(self.weights)), "evaluations": 0, "step": None}
            yield Step(self._done, loss + self._penalty.value(self.weights), metrics=metrics, weights=self.weights)
        self.reason = "passes"

    def _descents(self) -> Descents:
        c1, c2, seed = self._how
        return Descents(c1, c2, self.likelihood.num_sentences, self._done, seed, self._rate)

    def state(self) -> State:
        return State({"passed": self._done, "rate": self._rate}, {"weights": self.weights})

    def load_state(self, state: State) -> None:
        self._done, self._rate = state.value("passed", int), state.value("rate", float)
        self.weights = state.array("weights", np.float64, len(self.weights), finite=True)
