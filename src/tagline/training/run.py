"""One run around every training: limits, patience, callbacks, progress, log, checkpoint, Ctrl-C.

    with run.opened(facts):
        for step in run.follow(algorithm):
            ...
    run.trained

An algorithm (`iteration`) knows when it has converged. Its run knows everything else: when to stop all the same (a
limit of passes, a time budget, patience on a dev score, a callback that returns True, Ctrl-C, numbers that are no
longer finite), whom to tell, and when to write the checkpoint that a run goes on from to the same bits.
"""

from __future__ import annotations

import contextlib
import math
import operator
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from tagline.checks import check_functions, check_number, check_whole, shown_value
from tagline.errors import InputError, StorageError
from tagline.messages import message
from tagline.storage import Path
from tagline.training.iteration import Algorithm, Step, log_of, log_state
from tagline.training.running.callbacks import TrainingState, told
from tagline.training.running.checkpoints import DAMAGED, SECONDS, Checkpoint, State, written
from tagline.training.running.interrupts import Interrupts
from tagline.training.running.journal import Journal
from tagline.training.running.progress import Budget, Reporter, Silent, narrating
from tagline.types import Float64Array

__all__ = ["DIVERGED", "Run", "Trained", "norm"]

DIVERGED = "diverged"  # the reason of a run whose objective or weights are no longer finite begins so


@dataclass(frozen=True, eq=False)
class Trained:
    """What a training run ends with.

    Attributes:
        weights: the last complete ones, or those with the best dev score where these are kept.
        objective: theirs, with the penalties; NaN where the run was interrupted before it knew.
        reason: why it stopped, in words: ``converged: …``, ``patience``, ``time budget``, ``max_iterations``,
            ``interrupted``, ``callback`` or ``line search failed: …``.
        history: one `Step` after the other.
        gap: how far the objective is from its optimum at most; None where that is not known.
        best: the number of the step that has these weights.
    """

    weights: Any
    objective: float
    reason: str
    history: tuple[Step, ...]
    gap: float | None = None
    best: int = 0

    @property
    def converged(self) -> bool:
        """Whether it stopped by tolerance."""
        return self.reason.startswith("converged")


class Run:
    """Follows algorithms and decides when they stop.

    Arguments:
        max_iterations: passes; None for no limit.
        max_seconds: budget, looked at after each pass, those before a resumption included.
        patience: stop after so many passes without a better dev score, and return the best weights.
        dev: a score of the weights of a step, the higher the better, asked after each pass.
        callbacks: called with a `TrainingState` after each pass; True stops.
        verbose, budget: whether people are told on stderr, and what to guess the time that is left by.
        progress: who is told instead, a `Reporter`.
        reports: called with each `Step`, to show it.
        checkpoint: the file that the state of the run is written to; None for none.
        resume: go on from the checkpoint where it is there.
        save_every: seconds between two checkpoints; 0 for after each pass; None for after each epoch alone.
        log: a file of JSON lines to add to.
        tensorboard: a folder for TensorBoard.
        clock: seconds, for tests.

    Attributes:
        reason: why the last algorithm ended.
        history: its passes.
        last: its last step; `best` the one whose weights are kept.
        started: what the clock showed when the run began.
        keeps: says whether the weights of a score take the place of those of another; None keeps the last weights.
        agree: makes one decision of those of several processes; `is_main` says which of them writes and tells.
        interrupts: notes Ctrl-C where that is to wait for the end of a step.
    """

    def __init__(
        self,
        *,
        max_iterations: int | None = None,
        max_seconds: float | None = None,
        patience: int | None = None,
        dev: Callable[[Any], float | None] | None = None,
        callbacks: Sequence[Callable[..., Any]] = (),
        verbose: bool | int = False,
        budget: Budget | None = None,
        progress: Reporter | None = None,
        reports: Sequence[Callable[[Step], object]] = (),
        checkpoint: Path | None = None,
        resume: bool = False,
        save_every: float | None = SECONDS,
        log: Path | None = None,
        tensorboard: Path | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        check_whole("max_iterations", max_iterations, 0, optional=True, wanted=message("0 or more"))
        check_number("max_seconds", max_seconds, least=0, finite=False, optional=True, wanted=message("0 or more"))
        check_whole("patience", patience, 1, optional=True, wanted=message("1 or more"))
        check_functions("callbacks", callbacks)
        self.max_iterations, self.max_seconds, self.patience = max_iterations, max_seconds, patience
        if resume and checkpoint is None:
            raise InputError("checkpoint: expected a file to resume from or to save to, got none; pass checkpoint=")
        check_number("save_every", save_every, least=0, optional=True, wanted=message("0 seconds or more"))
        self.dev, self.callbacks, self.clock = dev, tuple(callbacks), clock
        if progress is not None and not hasattr(progress, "passed"):
            raise InputError("progress: expected a Reporter, which hears of passes, got {}", shown_value(progress))
        self.verbose, self.progress, self.reports = verbose, progress, list(reports)
        self.budget = budget or Budget(max_iterations, max_seconds)
        self.path, self.resume, self.save_every, self.logs = checkpoint, resume, save_every, (log, tensorboard)
        self.keeps: Callable[[Any, Any], bool] | None = None if patience is None else operator.gt
        self.agree: Callable[..., tuple[bool, ...]] = lambda *flags: flags
        self.tell: Reporter = Silent()
        self.is_main, self.is_resumed = True, False
        self.interrupts: Interrupts | None = None
        self.checkpoint = Checkpoint(None, {})
        self.begin()

    def begin(self) -> None:
        """Forget what was followed so far and start the clock anew, for another try."""
        self.started: float | None = None
        self.reason, self.history, self.last = "", list[Step](), Step(0, math.nan)
        self.best: Step | None = None

    @contextmanager
    def opened(self, facts: Callable[[], Mapping[str, Any]] = dict) -> Iterator[None]:
        """Open files and display; the log says where the run starts and how it ends.

        Arguments:
            facts: returns what must be the same for the run to be resumed, of JSON's types; called where it is needed.
        """
        has_files = any(path is not None for path in (self.path, *self.logs))
        plain = written(facts()) if has_files else {}
        logged = Journal(*self.logs) if self.is_main else Journal()
        with narrating(self.verbose, self.budget, self.progress) as tell, logged as journal:
            self.checkpoint = Checkpoint(self.path, plain, resume=self.resume)
            self.tell, self.reports = tell, [*self.reports, tell.passed, journal.passed]
            self.is_resumed = self.checkpoint.state is not None
            journal.write("start", {**plain, "resumed": os.fspath(self.path or "") if self.is_resumed else None})
            self.started = self.clock()
            yield
            end, seconds = self.trained, self.history[-1].seconds if self.history else 0.0
            best = {f"best_{self.last.noun}": end.best}
            journal.write("end", {"reason": end.reason, "objective": end.objective, "seconds": seconds, **best})

    def finish(self, algorithm: Algorithm) -> Trained:
        """Follow an algorithm to its end, and return what it ends with."""
        for _ in self.follow(algorithm):
            pass
        return self.trained

    def follow(self, algorithm: Algorithm) -> Iterator[Step]:
        """Yield what each pass reaches until it is time to stop; `trained` is what it ends with.

        Ctrl-C keeps the last complete weights, and `reason` is "interrupted"; a second one is not caught.
        """
        self.last = Step(0, math.nan, weights=algorithm.weights)
        reason, saved = None, True
        try:
            if self.checkpoint.state is not None:
                self._load_state(self.checkpoint.state, algorithm)
                reason = self._decide(algorithm)[0] if self.history else algorithm.reason
            elif algorithm.is_slow and self.checkpoint.path is not None:
                self._save(algorithm)
            if self.started is None:
                self.started = self.clock()
            with contextlib.closing(iter(algorithm)) as steps:
                while reason is None:
                    if (step := next(steps, None)) is None:
                        reason = algorithm.reason or ""
                        break
                    is_new, asked, weights = step.number > self.last.number, False, step.weights
                    is_flat = is_new and isinstance(weights, np.ndarray)
                    if is_flat and not (math.isfinite(step.objective) and np.isfinite(weights).all()):
                        reason, saved = f"{DIVERGED} in pass {step.number}", True  # its state is of no use
                        break
                    self.last = step
                    if is_new:
                        asked, saved = self.record(step, partial(algorithm.copied, weights)), False
                    reason, due = self._decide(algorithm, asked, is_new)
                    if due:
                        self._save(algorithm)
                        saved = True
                    yield self.history[-1] if is_new else step
            if not saved and self.checkpoint.path is not None:
                self._save(algorithm)
        except KeyboardInterrupt:
            if self.interrupts is not None:  # the first one waited for the end of the step
                raise
            reason = "interrupted"
        self.reason = reason or ""

    @property
    def trained(self) -> Trained:
        """Return what the run ends with: the weights that are kept."""
        end = self.best or self.last
        return Trained(end.weights, end.objective, self.reason, tuple(self.history), end.gap, end.number)

    def conclude(self, trained: Trained) -> None:
        """End with what one of several tries ended with."""
        self.reason, self.history = trained.reason, list(trained.history)
        self.best = Step(trained.best, trained.objective, gap=trained.gap, weights=trained.weights)

    def seconds(self) -> float:
        """Return the seconds of the whole run, those before it was resumed included."""
        return 0.0 if self.started is None else self.clock() - self.started

    def record(self, step: Step, copied: Callable[[], Any]) -> bool:
        """Add a pass to the history and tell everybody; return whether a callback wants the run to stop.

        Arguments:
            copied: returns a copy of what was learned, for callbacks and to keep the best.
        """
        self.last, score = step, None if self.dev is None else self.dev(step.weights)
        done = replace(step, dev_score=score, seconds=self.seconds(), weights=None)
        best, is_finite = self.best, score is not None and math.isfinite(score)
        if self.keeps is not None and is_finite and (best is None or self.keeps(score, best.dev_score)):
            self.best = replace(done, weights=copied())
        self.history.append(done)
        if not self.is_main:
            return False
        for report in self.reports:
            report(done)
        return bool(self.callbacks) and told(self.callbacks, TrainingState.of(done, copied))

    def _decide(self, algorithm: Algorithm, asked: bool = False, is_new: bool = False) -> tuple[str | None, bool]:
        """Return why to stop after a step, if at all, and whether to save; several processes decide as one."""
        number, is_place = self.last.number, is_new or algorithm.is_slow
        is_kept = self.checkpoint.path is not None and is_place
        noted = self.interrupts is not None and self.interrupts.noted
        late = self.max_seconds is not None and self.seconds() >= self.max_seconds
        due = is_kept and ((is_new and algorithm.is_slow) or self.checkpoint.is_due(self.save_every))
        asked, noted, late, due = self.agree(asked, noted, late, due)
        reason = algorithm.reason
        if reason is None and asked:
            reason = "callback"
        elif reason is None and noted:
            reason = "interrupted"
        elif reason is None and self.patience is not None and number and _waited(self.history) >= self.patience:
            reason = "patience"
        elif reason is None and self.max_iterations is not None and number >= self.max_iterations:
            reason = algorithm.limit
        elif reason is None and late and (number or not algorithm.at_least_one):
            reason = "time budget"
        return reason, due or (reason is not None and is_kept)

    def _save(self, algorithm: Algorithm) -> None:
        values = {"seconds": self.seconds(), "history": log_state(self.history)}
        state = State(values).joined("algorithm", algorithm.state())
        if self.best is not None:
            best = algorithm.packed(self.best.weights)
            state = state.joined("best", replace(best, values={**best.values, "number": self.best.number}))
        if self.is_main:
            self.checkpoint.save(state, must=not self.last.number and self.checkpoint.is_new)
        self.checkpoint.note()

    def _load_state(self, state: State, algorithm: Algorithm) -> None:
        """Go back to where a checkpoint was written; nothing changes unless all of it fits."""
        history = log_of(state)
        if not (history or algorithm.is_slow):
            raise StorageError("{}: expected at least one pass, got none; {}", state.source, DAMAGED)
        best, seconds = None, state.value("seconds", float)
        if "best" in state.values:
            part = state.part("best")
            if not 1 <= (number := part.value("number", int)) <= len(history):
                raise StorageError(
                    "{}: expected the best of {} passes, got {}; {}", state.source, len(history), number, DAMAGED
                )
            best = replace(history[number - 1], weights=algorithm.unpacked(part))
        part = state.part("algorithm")
        if (passes := algorithm.passes_in(part)) is not None and passes != len(history):
            raise StorageError(
                "{}: expected {} passes in the history, got {}; {}", state.source, passes, len(history), DAMAGED
            )
        algorithm.load_state(part)
        self.history, self.best, self.started = history, best, self.clock() - seconds
        self.last = replace(history[-1] if history else self.last, weights=algorithm.weights)
        self.checkpoint.state = None
        self.checkpoint.note()


def _waited(history: Sequence[Step]) -> int:
    """Count the passes since the best dev score was first reached; all of them where none is finite."""
    if history[-1].dev_score is None:  # there is nothing to wait for
        return 0
    scores = [step.dev_score for step in history]
    finite = [-math.inf if score is None or not math.isfinite(score) else score for score in scores]
    best = max(finite)
    return len(finite) - (finite.index(best) + 1 if best > -math.inf else 0)


def norm(vector: Float64Array) -> float:
    """Return ‖v‖.

    Not by BLAS: its threads would share the sum, whose last bits then depend on their number, and go on spinning
    afterwards, for as long as a pass takes.
    """
    return float(np.sqrt(np.einsum("i,i", vector, vector)))
