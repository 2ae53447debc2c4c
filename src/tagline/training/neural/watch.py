"""When to stop, and whom to tell: the clock, Ctrl-C, patience, callbacks and progress.

All processes come to the same decision: each reports what it has seen, and what one has seen counts for all.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tagline.errors import InputError
from tagline.training.neural.checkpoints import Standing
from tagline.training.neural.interrupts import Interrupts
from tagline.training.neural.journal import Epoch
from tagline.training.neural.processes import Processes
from tagline.training.neural.settings import Descent
from tagline.training.neural.steps import Steps
from tagline.training.neural.task import Progress
from tagline.training.running.callbacks import Callback, TrainingState, told
from tagline.training.running.journal import Journal
from tagline.types import IntArray

STRIDE = 8  # steps after which several processes agree on whether to stop; one process looks after each step
SECONDS = 0.25  # between two calls of progress


@dataclass(eq=False)
class Watch:
    """Decides when a run stops, and tells those who follow it.

    Attributes:
        begun: when the run began, by a clock that never goes back; earlier by the seconds before it was resumed.
        shown: when progress was called last.
    """

    descent: Descent
    world: Processes
    interrupts: Interrupts
    journal: Journal
    callbacks: Sequence[Callback] = ()
    progress: Progress | None = None
    begun: float = field(default_factory=time.perf_counter)
    shown: float = field(default_factory=time.perf_counter)

    def seconds(self) -> float:
        """Return the seconds of the whole run, those before it was resumed included."""
        return time.perf_counter() - self.begun

    def within(self, step: int, due: bool) -> tuple[str | None, bool]:
        """Decide between two steps: a reason to stop, if any, and whether to save.

        Arguments:
            step: how many of the epoch are done, the same in all processes.
            due: whether it is time to save.
        """
        if self.world.count > 1 and step % STRIDE:
            return None, False
        stop, late, due = self.world.any(self.interrupts.noted, self._late(), due)
        reason = "interrupted" if stop else "time budget" if late else None
        return reason, due or reason is not None

    def between(self, standing: Standing) -> str | None:
        """Decide between two epochs: a reason to stop, if any."""
        stop, late = self.world.any(self.interrupts.noted, self._late())
        if stop:
            return "interrupted"
        if self.descent.patience is not None:
            if standing.history[-1].dev_score is None:
                raise InputError("patience: expected a dev score to be patient with, got none; leave patience out")
            if _waited([epoch.dev_score for epoch in standing.history]) >= self.descent.patience:
                return "patience"
        if standing.epoch > self.descent.epochs:
            return "epochs"
        return "time budget" if late else None

    def tell(self, done: Epoch, weights: Callable[[], Any]) -> bool:
        """Record an epoch and call the callbacks; return whether one of them wants the run to stop."""
        if not self.world.first:
            return self.world.any(False)[0]
        self.journal.passed(done)
        return self.world.any(told(self.callbacks, TrainingState.of(done, weights)))[0]

    def show(self, steps: Steps, step: int, plan: Sequence[IntArray]) -> None:
        """Call progress if it is time for that; only then wait for the device."""
        due = step == len(plan) or time.perf_counter() - self.shown >= SECONDS
        if self.progress is not None and self.world.first and due:
            self.progress(step, len(plan), steps.totals().loss / sum(map(len, plan[:step])))
            self.shown = time.perf_counter()

    def _late(self) -> bool:
        return self.descent.max_seconds is not None and self.seconds() >= self.descent.max_seconds


def _waited(scores: Sequence[float | None]) -> int:
    """Count the epochs since the best score was first reached; all of them where none is finite."""
    finite = [-math.inf if score is None or not math.isfinite(score) else score for score in scores]
    best = max(finite)
    return len(finite) - (finite.index(best) + 1 if best > -math.inf else 0)
