"""Expectation–maximisation: a step that never lowers the objective, repeated until it gains little.

A step is both halves of EM, the expected counts and what the model makes of them (Dempster, Laird & Rubin 1977).
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeAlias, TypeVar

from tagline.checks import check_number, check_whole
from tagline.errors import InputError
from tagline.training.monitor import Pass, Stopped

P = TypeVar("P")

Step: TypeAlias = Callable[[P], tuple[float, P]]
"""From parameters to the objective there (log-likelihood + log prior) and to better parameters."""

ROUNDING = 1e-10  # a fall by less than this share of the objective is rounding


@dataclass(frozen=True, eq=False)
class Climbed(Stopped, Generic[P]):
    """Where a climb ended.

    Attributes:
        parameters: the last ones, or those before where the objective fell.
        objective: of the parameters before the last step, which is the last one known; NaN where no step was made.
        reason: ``converged: …``, ``max_iterations``, ``time budget``, ``interrupted``, ``callback`` or ``fell: …``.
        history: one `Pass` for each step; its objective is the one that the step began with.
    """

    parameters: P
    objective: float
    reason: str
    history: tuple[Pass, ...]


@dataclass(frozen=True, eq=False)
class Ledge(Generic[P]):
    """Where a climb stands between two steps.

    Attributes:
        now, before: the parameters, and those of the step before.
        objective: of those before; NaN where no step was made.
        history: of this climb.
        seconds: that it took.
    """

    now: P
    before: P
    objective: float = math.nan
    history: tuple[Pass, ...] = ()
    seconds: float = 0.0


def climb(
    step: Step[P],
    start: P | Ledge[P],
    *,
    max_iterations: int,
    tolerance: float,
    max_seconds: float | None = None,
    may_fall: bool = False,
    active: int = 0,
    callback: Callable[[Pass, P], bool | None] | None = None,
    keep: Callable[[Ledge[P]], None] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Climbed[P]:
    """Repeat a step that never lowers the objective until it gains less than `tolerance`.

    Arguments:
        step: both halves of EM.
        start: the first parameters, or where a climb stood that goes on.
        max_iterations: steps at most; 0 returns the start.
        tolerance: stop as soon as a step gains less than this, as hmmlearn does; −∞ for never.
        max_seconds: budget, looked at after each step.
        may_fall: go on where the objective falls by more than rounding, as floors and fresh states can make it. By
            default a fall ends the climb with the parameters before it.
        active: how many parameters there are, for the history.
        callback: called as ``callback(pass, parameters)`` after each step; True stops.
        keep: called after each step with where the climb stands.
        clock: seconds, for tests.

    Ctrl-C ends the climb with the last complete parameters.

    >>> climb(lambda x: (-abs(x - 1.0), x + (1.0 - x) / 2), 0.0, max_iterations=100, tolerance=0.1).parameters
    0.96875
    """
    check_limits(max_iterations, tolerance, max_seconds)
    at: Ledge[P] = start if isinstance(start, Ledge) else Ledge(start, start)
    begun = clock() - at.seconds

    def judge(gain: float, stop: object) -> str | None:
        if gain < tolerance:
            return f"converged: the objective rose by less than {min(tolerance, sys.float_info.max):g}"
        if stop:
            return "callback"
        if max_seconds is not None and clock() - begun >= max_seconds:
            return "time budget"
        return "max_iterations" if len(at.history) >= max_iterations else None

    reason = None if max_iterations else "max_iterations"
    if at.history:  # a climb that goes on may have been at its end
        known = [done.objective for done in at.history[-2:]]
        reason = judge(known[-1] - known[0] if len(known) > 1 else math.nan, False)
    try:
        while reason is None:
            value, better = step(at.now)
            if math.isnan(value):
                raise InputError("objective: expected a number, got NaN; look for NaN in the observations or priors")
            if not may_fall and at.history and value < at.objective - ROUNDING * max(1.0, abs(at.objective)):
                reason = f"fell: the objective went from {at.objective!r} to {value!r}"
                at = replace(at, now=at.before)
                break
            gain, number = value - at.objective, len(at.history) + 1
            done = Pass(number, value, math.nan, active, clock() - begun, number)
            at = Ledge(better, at.now, value, (*at.history, done), done.seconds)
            stop = callback is not None and callback(done, at.now)
            if keep is not None:
                keep(at)
            reason = judge(gain, stop)
    except KeyboardInterrupt:
        reason = "interrupted"
    return Climbed(at.now, at.objective, reason or "", at.history)


def check_limits(max_iterations: int, tolerance: float, max_seconds: float | None) -> None:
    """Raise where `climb` could not use these."""
    check_whole("max_iterations", max_iterations, 0, wanted="0 or more")
    check_number("tolerance", tolerance, finite=False)
    check_number("max_seconds", max_seconds, least=0, finite=False, optional=True, wanted="0 or more")
