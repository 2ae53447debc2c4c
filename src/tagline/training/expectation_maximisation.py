"""Expectation–maximisation: a step that never lowers the objective, repeated until it gains little.

A step is both halves of EM, the expected counts and what the model makes of them (Dempster, Laird & Rubin 1977).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Generator
from typing import Any, Generic, TypeAlias, TypeVar

from tagline.checks import check_number
from tagline.errors import InputError
from tagline.training.iteration import Algorithm, Step
from tagline.training.run import Run, Trained
from tagline.training.running.checkpoints import State

P = TypeVar("P")

Both: TypeAlias = Callable[[P], tuple[float, P]]
"""From parameters to the objective there (log-likelihood + log prior) and to better parameters."""

ROUNDING = 1e-10  # a fall by less than this share of the objective is rounding


def climb(
    step: Both[P], start: P, *, tolerance: float, may_fall: bool = False, active: int = 0, run: Run | None = None
) -> Trained:
    """Repeat a step that never lowers the objective until it gains less than `tolerance`.

    Arguments are those of `EM`, and `run`: when to stop all the same, and whom to tell.

    >>> climb(lambda x: (-abs(x - 1.0), x + (1.0 - x) / 2), 0.0, tolerance=0.1).weights
    0.96875
    """
    return (run or Run()).finish(EM(step, start, tolerance=tolerance, may_fall=may_fall, active=active))


class EM(Algorithm, Generic[P]):
    """Steps of EM; the objective of a step is that of the parameters that it began with.

    Arguments:
        step: both halves of EM.
        start: the first parameters.
        tolerance: stop as soon as a step gains less than this, as hmmlearn does; −∞ for never.
        may_fall: go on where the objective falls by more than rounding, as floors and fresh states can make it. By
            default a fall ends the climb with the parameters before it.
        active: how many parameters there are, for the history.
    """

    at_least_one = True
    weights: P

    def __init__(self, step: Both[P], start: P, *, tolerance: float, may_fall: bool = False, active: int = 0) -> None:
        check_number("tolerance", tolerance, finite=False)
        self.step, self.weights, self.before = step, start, start
        self.tolerance, self.may_fall, self.active = tolerance, may_fall, active
        self.number, self.objective, self.gain = 0, math.nan, math.nan

    def __iter__(self) -> Generator[Step, None, None]:
        if not self.number:
            yield self._reached(self.weights)
        while self.reason is None:
            value, better = self.step(self.weights)
            if math.isnan(value):
                raise InputError("objective: expected a number, got NaN; look for NaN in the observations or priors")
            if not self.may_fall and value < self.objective - ROUNDING * max(1.0, abs(self.objective)):
                self.reason = f"fell: the objective went from {self.objective!r} to {value!r}"
                yield self._reached(self.before)  # a run that goes on from here falls again
            else:
                self.gain, self.objective = value - self.objective, value
                self.before, self.weights = self.weights, better
                self.number += 1
                self._judge()
                yield self._reached(better)

    def _reached(self, weights: P) -> Step:
        metrics = {"active": self.active, "evaluations": self.number, "step": None}
        return Step(self.number, self.objective, metrics=metrics, weights=weights)

    def _judge(self) -> None:
        if self.gain < self.tolerance:
            least = min(self.tolerance, sys.float_info.max)
            self.reason = f"converged: the objective rose by less than {least:g}"

    def copied(self, weights: P) -> Any:
        return weights  # nobody changes parameters

    def state(self) -> State:
        state = State({name: getattr(self, name) for name in ("number", "objective", "gain", "active")})
        return state.joined("now", self.packed(self.weights)).joined("before", self.packed(self.before))

    def load_state(self, state: State) -> None:
        self.weights, self.before = (self.unpacked(state.part(name)) for name in ("now", "before"))
        self.number, self.active = (state.value(name, int) for name in ("number", "active"))
        self.objective, self.gain = (state.value(name, float) for name in ("objective", "gain"))
        self._judge()
