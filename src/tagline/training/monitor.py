"""Watching a training run: what each pass reached, and when to stop.

Every algorithm is an iterator of `Point`, one a pass. `Monitor.follow` draws them, keeps the history, tells callbacks
and decides when to stop: as CRFsuite does (a relative improvement over `period` passes below `delta`, or
‖g‖ / max(1, ‖w‖) below `epsilon`), by patience on a dev score, by a time budget, by a number of passes, and on Ctrl-C,
which loses nothing. With a `tolerance`, it stops where the gap to the optimum is proven to be small (`certificate`).
Between two passes it writes the checkpoint (`standing` has what of the run is in it).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from tagline.checks import as_float, check_functions, check_number, check_whole
from tagline.errors import InputError
from tagline.training.certificate import relative_gap
from tagline.training.passes import Pass, Point
from tagline.training.running.callbacks import TrainingState, told
from tagline.training.running.checkpoints import Checkpoint, State, Stateful
from tagline.training.running.standing import Standing
from tagline.types import Float64Array

__all__ = ["DIVERGED", "Monitor", "Pass", "Point", "Points", "Stopped", "Trained", "norm"]

DIVERGED = "diverged"  # the reason of a run whose objective or weights are no longer finite begins so


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
        gap: how far the objective is from its optimum at most; None where that is not known.
    """

    weights: Float64Array
    objective: float
    reason: str
    history: tuple[Pass, ...]
    gap: float | None = None


ScoreOfWeights: TypeAlias = Callable[[Float64Array], float]
Points: TypeAlias = Generator[Point, None, str]
"""Yields the start, then a point a pass; returns the reason where the algorithm itself cannot go on."""


class Monitor:
    """Follows algorithms and decides when they stop.

    Arguments:
        epsilon: stop when ‖g‖ / max(1, ‖w‖) is below; 0 for never.
        period, delta: stop when the objective changed by at most `delta` of it in `period` passes; 0 for never. A noisy
            objective is not compared: it would seem to stand still by chance.
        tolerance: stop when the objective is proven to be within this share of its optimum; None for never.
        max_iterations: passes of each algorithm; None for no limit.
        max_seconds: budget of the whole run, looked at after each pass.
        started: what the clock showed when the run began; None for when the first algorithm does.
        dev: a score of the weights, the higher the better, asked after each pass.
        patience: stop after so many passes without a better dev score, and return the best weights.
        callbacks: called with a `TrainingState` after each pass; True stops.
        reports: called with each `Pass`, to show it or to write it down.
        checkpoint: the file of the run; it may hold the state to go on from.
        clock: seconds, for tests.

    One monitor may follow several algorithms in turn: the history and the clock go on, the tolerances start afresh.
    """

    def __init__(
        self,
        *,
        epsilon: float = 1e-5,
        period: int = 10,
        delta: float = 1e-5,
        tolerance: float | None = None,
        max_iterations: int | None = None,
        max_seconds: float | None = None,
        started: float | None = None,
        dev: ScoreOfWeights | None = None,
        patience: int | None = None,
        callbacks: Sequence[Callable[..., Any]] = (),
        reports: Sequence[Callable[[Pass], object]] = (),
        checkpoint: Checkpoint | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        check_number("epsilon", epsilon, least=0, finite=False, wanted="0 or more")
        check_number("delta", delta, least=0, finite=False, wanted="0 or more")
        check_number("tolerance", tolerance, above=0, optional=True)
        check_number("max_seconds", max_seconds, least=0, finite=False, optional=True, wanted="0 or more")
        check_whole("period", period, 0, wanted="0 or more")
        check_whole("max_iterations", max_iterations, 0, optional=True, wanted="0 or more")
        check_whole("patience", patience, 1, optional=True, wanted="1 or more")
        check_functions("callbacks", callbacks)
        if patience is not None and dev is None:
            raise InputError("patience: expected a dev score to be patient with, got none; pass dev=")
        self.epsilon, self.period, self.delta = as_float(epsilon), int(period), as_float(delta)
        self.tolerance = None if tolerance is None else as_float(tolerance)
        self.max_iterations, self.max_seconds = max_iterations, max_seconds
        self.dev, self.patience = dev, patience
        self.callbacks, self.reports, self.clock = tuple(callbacks), list(reports), clock
        self.checkpoint = checkpoint
        self.history: list[Pass] = []
        self.started = started
        self._best: Point | None = None
        self._best_score = -math.inf
        self._waited = 0

    def is_past(self, stage: str) -> bool:
        """Say whether the run that goes on from a checkpoint has left this stage behind."""
        state = None if self.checkpoint is None else self.checkpoint.state
        return state is not None and state.value("stage", str) != stage

    def follow(
        self, points: Points, start: Float64Array, *, stage: str = "", algorithm: Stateful | None = None
    ) -> Trained:
        """Draw points until it is time to stop, and return the weights of the best or the last.

        Arguments:
            points: the algorithm, its first point being the start.
            start: ``[n]``, returned where Ctrl-C comes before the first point.
            stage, algorithm: the name of the algorithm, and what its state is asked of; it is kept in the checkpoint
                and put back. An algorithm that was put back does not yield the start.

        A second Ctrl-C, while the result is put together, is not caught.
        """
        last = Point(start, math.nan)
        objectives: list[float] = []  # of this algorithm, the start's first
        reason, saved = None, 0
        try:
            if algorithm is not None and self.checkpoint is not None and self.checkpoint.state is not None:
                last, objectives = self._resume(self.checkpoint.state, stage, algorithm, len(start))
                saved, reason = len(objectives), self._judge(last, objectives) or self._impatience()
            if self.started is None:
                self.started = self.clock()
            while reason is None:
                try:
                    point = next(points)
                except StopIteration as stopped:
                    reason = str(stopped.value)
                    break
                if objectives and not (math.isfinite(point.objective) and np.isfinite(point.weights).all()):
                    reason = f"{DIVERGED} in pass {len(objectives)}"
                    saved = len(objectives)  # what the algorithm holds now is of no use
                    break
                last = point
                objectives.append(point.objective)
                stop = self._record(point) if len(objectives) > 1 else None
                reason = self._judge(point, objectives) or stop
                if reason is None and algorithm is not None and len(objectives) > 1 and self._due():
                    self._save(stage, algorithm, last, objectives)
                    saved = len(objectives)
            if algorithm is not None and saved < len(objectives) > 1:
                self._save(stage, algorithm, last, objectives)
        except KeyboardInterrupt:
            reason = "interrupted"
        points.close()
        end = self._best or last
        return Trained(end.weights, end.objective, reason, tuple(self.history), end.gap)

    def _due(self) -> bool:
        return self.checkpoint is not None and self.checkpoint.due()

    def _save(self, stage: str, algorithm: Stateful, last: Point, objectives: list[float]) -> None:
        if self.checkpoint is not None and self.checkpoint.path is not None:
            run = Standing(
                stage, tuple(self.history), self._seconds(), tuple(objectives), last, self._best, self._waited
            )
            self.checkpoint.save(run.state(self._best_score).joined("algorithm", algorithm.keep()))

    def _resume(self, state: State, stage: str, algorithm: Stateful, size: int) -> tuple[Point, list[float]]:
        """Go back to where a checkpoint was written."""
        assert self.checkpoint is not None
        run, self._best_score = Standing.of(state, stage, size)
        algorithm.restore(state.part("algorithm"), run.last.weights)
        self.checkpoint.state = None
        self.history, self._best, self._waited = list(run.history), run.best, run.waited
        self.started = self.clock() - run.seconds
        return run.last, list(run.objectives)

    def _seconds(self) -> float:
        assert self.started is not None
        return self.clock() - self.started

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
            point.gap,
        )
        self.history.append(done)
        if score is not None:
            self._await(point, score)
        for report in self.reports:
            report(done)
        if told(self.callbacks, TrainingState.of(done, lambda: point.weights.copy())):
            return "callback"
        return self._impatience()

    def _await(self, point: Point, score: float) -> None:
        if self.patience is None:
            return
        if score > self._best_score:
            self._best_score, self._waited = score, 0
            self._best = replace(point, weights=point.weights.copy())
        else:
            self._waited += 1

    def _impatience(self) -> str | None:
        return "patience" if self.patience is not None and self._waited >= self.patience else None

    def _judge(self, point: Point, objectives: list[float]) -> str | None:
        within = relative_gap(point.gap, point.objective)
        if self.tolerance is not None and within is not None and within <= self.tolerance:
            return f"converged: the objective is proven to be within {100 * within:.2g} % of its optimum"
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
    """Return ‖v‖.

    Not by BLAS: its threads would share the sum, whose last bits then depend on their number, and go on spinning
    afterwards, for as long as a pass takes.
    """
    return float(np.sqrt(np.einsum("i,i", vector, vector)))
