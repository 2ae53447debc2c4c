"""Watching a training run: what each pass reached, and when to stop.

Every algorithm is an iterator of `Point`, one a pass. `Monitor.follow` draws them, keeps the history, tells callbacks
and decides when to stop: as CRFsuite does (a relative improvement over `period` passes below `delta`, or
‖g‖ / max(1, ‖w‖) below `epsilon`), by patience on a dev score, by a time budget, by a number of passes, and on Ctrl-C,
which loses nothing.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeAlias

import numpy as np

from tagline.errors import InputError
from tagline.training.checks import as_float, check_functions, check_number, check_whole
from tagline.types import Float64Array

DIVERGED = "diverged"  # the reason of a run whose objective or weights are no longer finite begins so


@dataclass(frozen=True, eq=False)
class Point:
    """Where an algorithm stands after a pass.

    Attributes:
        weights: ``[n]``; valid until the algorithm is asked for its next point but one.
        objective: with the penalties.
        gradient_norm: of the whole objective (of its pseudo-gradient with c1); NaN where an algorithm has none.
        weight_norm: ‖w‖.
        active: how many weights are not 0.
        evaluations: of the objective, since the start.
        step: how far along its direction the pass went.
        noisy: whether the objective was added up while the weights changed; `delta` does not compare such numbers.
    """

    weights: Float64Array
    objective: float
    gradient_norm: float = math.nan
    weight_norm: float = math.nan
    active: int = 0
    evaluations: int = 0
    step: float | None = None
    noisy: bool = False


@dataclass(frozen=True)
class Pass:
    """One line of a training history; `seconds` count from the start."""

    iteration: int
    objective: float
    gradient_norm: float
    active: int
    seconds: float
    evaluations: int
    dev_score: float | None = None
    step: float | None = None

    noun: ClassVar[str] = "pass"
    plural: ClassVar[str] = "passes"
    lasting: ClassVar[bool] = False  # passes are many and short
    speed: ClassVar[str] = ""

    @property
    def number(self) -> int:
        """Which pass it is, from 1."""
        return self.iteration

    def headline(self) -> str:
        """Say in a few words what it reached."""
        return f"objective {self.objective:.2f}"

    def line(self) -> str:
        """Write it as one line of text.

        >>> Pass(7, 12887.25, 0.034, 456468, 4.2, 8, dev_score=0.9356, step=1.0).line()
        '   7  objective 12887.2500  gradient 3.40e-02  active 456468  step 1.0e+00  evaluations 8  dev 0.9356  4.2 s'
        """
        parts = [f"{self.iteration:4d}", f"objective {self.objective:.4f}"]
        if not math.isnan(self.gradient_norm):
            parts.append(f"gradient {self.gradient_norm:.2e}")
        parts.append(f"active {self.active}")
        if self.step is not None:
            parts.append(f"step {self.step:.1e}")
        parts.append(f"evaluations {self.evaluations}")
        if self.dev_score is not None:
            parts.append(f"dev {self.dev_score:.4f}")
        return "  ".join([*parts, f"{self.seconds:.1f} s"])


class Stopped:
    """A run that has ended, and why: the base of what runs return."""

    reason: str

    @property
    def converged(self) -> bool:
        """Whether it stopped by tolerance."""
        return self.reason.startswith("converged")


@dataclass(frozen=True, eq=False)
class Trained(Stopped):
    """What a training run ends with.

    Attributes:
        weights: ``[n]``: the last complete ones, or those with the best dev score where there is patience.
        objective: theirs, with the penalties; NaN where the run was interrupted before it knew.
        reason: why it stopped, in words: ``converged: …``, ``patience``, ``time budget``, ``max_iterations``,
            ``interrupted``, ``callback`` or ``line search failed: …``.
        history: one `Pass` after the other.
    """

    weights: Float64Array
    objective: float
    reason: str
    history: tuple[Pass, ...]


Callback: TypeAlias = Callable[[Pass, Float64Array], bool | None]
ScoreOfWeights: TypeAlias = Callable[[Float64Array], float]
Points: TypeAlias = Generator[Point, None, str]
"""Yields the start, then a point a pass; returns the reason where the algorithm itself cannot go on."""


class Monitor:
    """Follows algorithms and decides when they stop.

    Arguments:
        epsilon: stop when ‖g‖ / max(1, ‖w‖) is below; 0 for never.
        period, delta: stop when the objective changed by at most `delta` of it in `period` passes; 0 for never. A noisy
            objective is not compared: it would seem to stand still by chance.
        max_iterations: passes of each algorithm; None for no limit.
        max_seconds: budget of the whole run, looked at after each pass.
        dev: a score of the weights, the higher the better, asked after each pass.
        patience: stop after so many passes without a better dev score, and return the best weights.
        callbacks: called as ``callback(pass, weights)`` after each pass, with weights of their own; True stops.
        report: called with each `Pass`, to show it.
        clock: seconds, for tests.

    One monitor may follow several algorithms in turn: the history and the clock go on, the tolerances start afresh.
    """

    def __init__(
        self,
        *,
        epsilon: float = 1e-5,
        period: int = 10,
        delta: float = 1e-5,
        max_iterations: int | None = None,
        max_seconds: float | None = None,
        dev: ScoreOfWeights | None = None,
        patience: int | None = None,
        callbacks: Sequence[Callback] = (),
        report: Callable[[Pass], None] | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        check_number("epsilon", epsilon, least=0, finite=False, wanted="0 or more")
        check_number("delta", delta, least=0, finite=False, wanted="0 or more")
        check_number("max_seconds", max_seconds, least=0, finite=False, optional=True, wanted="0 or more")
        check_whole("period", period, 0, wanted="0 or more")
        check_whole("max_iterations", max_iterations, 0, optional=True, wanted="0 or more")
        check_whole("patience", patience, 1, optional=True, wanted="1 or more")
        check_functions("callbacks", callbacks)
        if patience is not None and dev is None:
            raise InputError("patience: expected a dev score to be patient with, got none; pass dev=")
        self.epsilon, self.period, self.delta = as_float(epsilon), int(period), as_float(delta)
        self.max_iterations, self.max_seconds = max_iterations, max_seconds
        self.dev, self.patience = dev, patience
        self.callbacks, self.report, self.clock = tuple(callbacks), report, clock
        self.history: list[Pass] = []
        self._started: float | None = None
        self._best: Point | None = None
        self._best_score = -math.inf
        self._waited = 0

    def follow(self, points: Points, start: Float64Array) -> Trained:
        """Draw points until it is time to stop, and return the weights of the best or the last.

        Arguments:
            points: the algorithm, its first point being the start.
            start: ``[n]``, returned where Ctrl-C comes before the first point.

        A second Ctrl-C, while the result is put together, is not caught.
        """
        last = Point(start, math.nan)
        objectives: list[float] = []  # of this algorithm, the start's first
        try:
            if self._started is None:
                self._started = self.clock()
            while True:
                try:
                    point = next(points)
                except StopIteration as stopped:
                    reason = str(stopped.value)
                    break
                if objectives and not (math.isfinite(point.objective) and np.isfinite(point.weights).all()):
                    reason = f"{DIVERGED} in pass {len(objectives)}"
                    break
                last = point
                objectives.append(point.objective)
                stop = self._record(point) if len(objectives) > 1 else None
                stop = self._judge(point, objectives) or stop
                if stop:
                    reason = stop
                    break
        except KeyboardInterrupt:
            reason = "interrupted"
        points.close()
        end = self._best or last
        return Trained(end.weights, end.objective, reason, tuple(self.history))

    def _seconds(self) -> float:
        assert self._started is not None
        return self.clock() - self._started

    def _record(self, point: Point) -> str | None:
        """Record the pass and tell everybody; return a reason where patience or a callback ends the run."""
        score = None if self.dev is None else float(self.dev(point.weights.copy()))
        done = Pass(
            self.history[-1].iteration + 1 if self.history else 1,
            point.objective,
            point.gradient_norm,
            point.active,
            self._seconds(),
            point.evaluations,
            score,
            point.step,
        )
        self.history.append(done)
        reason = None if score is None else self._await(point, score)
        if self.report is not None:
            self.report(done)
        for callback in self.callbacks:
            if callback(done, point.weights.copy()):
                reason = "callback"
        return reason

    def _await(self, point: Point, score: float) -> str | None:
        if self.patience is None:
            return None
        if score > self._best_score:
            self._best_score, self._waited = score, 0
            self._best = replace(point, weights=point.weights.copy())
            return None
        self._waited += 1
        return "patience" if self._waited >= self.patience else None

    def _judge(self, point: Point, objectives: list[float]) -> str | None:
        if point.gradient_norm < self.epsilon * max(1.0, point.weight_norm):
            return f"converged: gradient norm {point.gradient_norm:.2e} is below {self.epsilon:g} × max(1, ‖w‖)"
        passes = len(objectives) - 1
        if self.delta and self.period and passes >= self.period and not point.noisy:
            change = abs(objectives[-1 - self.period] - point.objective)
            if change <= self.delta * abs(point.objective):
                return f"converged: the objective changed by at most {self.delta:g} of it in {self.period} passes"
        if self.max_iterations is not None and passes >= self.max_iterations:
            return "max_iterations"
        if self.max_seconds is not None and self._seconds() >= self.max_seconds:
            return "time budget"
        return None


def norm(vector: Float64Array) -> float:
    """Return ‖v‖."""
    return float(np.sqrt(vector @ vector))
