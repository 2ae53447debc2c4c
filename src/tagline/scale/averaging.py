"""The stochastic start of `auto` where sentences lie in many processes: each lane descends by itself, then all agree.

In every pass each lane begins at the same weights and makes one stochastic pass over its own sentences, with the
penalties of its share; the weights of all lanes are averaged, by their sentences, and the next pass begins there
(Zinkevich et al. 2010; McDonald et al. 2010). What comes out depends on the lanes, not on who holds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tagline import compiled
from tagline.scale.holders import Holder, Plan, Sums
from tagline.training.lanes import Branch, Tree
from tagline.training.likelihood import Likelihood
from tagline.training.monitor import Monitor, Point, Points, Trained, norm
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


def averaged(
    likelihood: Any,
    start: ArrayLike,
    *,
    c1: float,
    c2: float,
    passes: int,
    seed: int,
    monitor: Monitor | None = None,
) -> Trained:
    """Minimise roughly, by stochastic passes over all lanes at once; arguments as of `sgd`."""
    weights = as_weights("start", start)
    steps = _Averages(likelihood, Penalty.of(c1, c2, len(weights)), (c1, c2, seed), weights)
    return (monitor or Monitor()).follow(steps.points(passes), weights, stage="sgd", algorithm=steps)


class _Averages:
    """The passes, and the weights that all lanes begin at."""

    def __init__(self, likelihood: Any, penalty: Penalty, how: tuple[float, float, int], weights: Float64Array) -> None:
        self._likelihood, self._penalty, self._how = likelihood, penalty, how
        self._weights, self._done, self._rate = weights, 0, 0.0

    def points(self, passes: int) -> Points:
        if not self._done:
            yield Point(self._weights, float("nan"))
            self._rate = self._likelihood.find_rate(self._weights, self._step())
        while self._done < passes:
            how = self._step()
            loss, total = self._likelihood.descended(self._weights, how)
            self._weights = total / how.sentences
            self._done += 1
            yield Point(
                self._weights,
                loss + self._penalty.value(self._weights),
                weight_norm=norm(self._weights),
                active=int(np.count_nonzero(self._weights)),
                noisy=True,
            )
        return "passes"

    def _step(self) -> Descents:
        c1, c2, seed = self._how
        return Descents(c1, c2, self._likelihood.num_sentences, self._done, seed, self._rate)

    def keep(self) -> State:
        return State({"passed": self._done, "rate": self._rate}, {})

    def restore(self, state: State, weights: Float64Array) -> None:
        self._done, self._rate = state.value("passed", int), state.value("rate", float)
        self._weights = weights.copy()
