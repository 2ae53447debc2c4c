"""Telling how training goes: who is told, how long it will take, and the choice between a bar, lines and `logging`.

How long it will take is known where there is a limit of passes or seconds. Otherwise it is guessed from how fast the
objective settles: training stops when r_k = (f_(k−period) − f_k) / |f_k| is below delta, or when the relative gap is
below a tolerance, and both fall about geometrically. `bars` draws; it is imported when something is to be drawn.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tagline.messages import message

if TYPE_CHECKING:
    from tagline.training.iteration import Step


logger = logging.getLogger("tagline.training")

FEWEST = 5  # passes over which a rate is worth anything


@dataclass(frozen=True)
class Budget:
    """When training stops at the latest, and by tolerance.

    Attributes:
        passes: the largest number there can be; None for no limit.
        seconds: None for no limit.
        period, delta: training has converged where the objective changes by less than `delta` in `period` passes; a
            period of 0 where that is no way to stop.
        tolerance: or where the relative gap to the optimum is below; None where that is no way to stop.
    """

    passes: int | None = None
    seconds: float | None = None
    period: int = 0
    delta: float = 0.0
    tolerance: float | None = None


class Reporter(Protocol):
    """Who is told how training goes; `budget` says when it ends at the latest."""

    budget: Budget

    def say(self, text: str) -> None:
        """Hear a line for people."""

    def stage(self, text: str) -> None:
        """Hear what is being done now."""

    def passed(self, done: Step) -> None:
        """Hear that a pass is done."""

    def stepped(self, done: int, total: int, loss: float) -> None:
        """Hear that so many batches of an epoch are done, with this mean loss."""


def seconds_left(history: Sequence[Step], budget: Budget) -> float | None:
    """Guess how long training still takes; None where there is nothing to go by.

    >>> from tagline.training.iteration import Step
    >>> passes = [Step(n, 100.0, seconds=2.0 * n) for n in range(1, 5)]
    >>> seconds_left(passes, Budget(passes=10))
    12.0
    """
    if not history:
        return None
    done, number = history[-1], history[-1].number
    recent = history[-FEWEST - 1 :]
    several = len(recent) > 1  # a network's first epoch may be a later one, where it was resumed
    pace = (done.seconds - recent[0].seconds) / (len(recent) - 1) if several else done.seconds / number
    guesses = []
    if budget.passes is not None:
        guesses.append((budget.passes - number) * pace)
    if budget.seconds is not None:
        guesses.append(budget.seconds - done.seconds)
    settled = _passes_to_settle([done.objective for done in history], budget)
    guesses += [passes * pace for passes in (settled, _passes_to_prove(history, budget)) if passes is not None]
    return max(0.0, min(guesses)) if guesses else None


def _passes_to_settle(objectives: Sequence[float], budget: Budget) -> float | None:
    period = budget.period
    known = len(objectives) - period  # passes of which r is known
    if not budget.delta or not period or known < FEWEST:
        return None
    span = min(known, period) - 1
    now, before = (
        (objectives[k - period] - objectives[k]) / max(abs(objectives[k]), 1e-300)
        for k in (len(objectives) - 1, len(objectives) - 1 - span)
    )
    if not (0 < now < before < math.inf):
        return 0.0 if now == 0 else None
    return max(0.0, math.log(now / budget.delta) / (math.log(before / now) / span))


def _passes_to_prove(history: Sequence[Step], budget: Budget) -> float | None:
    gaps = [done.relative_gap for done in history[-4 * FEWEST :]]
    known = [gap for gap in gaps if gap is not None and 0 < gap < math.inf]
    if budget.tolerance is None or len(known) <= FEWEST or known[-1] >= known[0]:
        return None
    fall = math.log(known[0] / known[-1]) / (len(known) - 1)  # of the logarithm, a pass
    return max(0.0, math.log(known[-1] / budget.tolerance) / fall)


class Silent:
    """Tells nothing."""

    budget = Budget()

    def say(self, text: str) -> None:
        """Keep it."""

    def stage(self, text: str) -> None:
        """Keep it."""

    def passed(self, done: Step) -> None:
        """Keep it."""

    def stepped(self, done: int, total: int, loss: float) -> None:
        """Keep it."""

    def finish(self) -> None:
        """Nothing to end."""


class Logged(Silent):
    """Hands a line a pass to `logging`."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.history: list[Step] = []

    def say(self, text: str) -> None:
        """Log it."""
        logger.info("%s", text)

    def passed(self, done: Step) -> None:
        """Log how far it is."""
        self.history.append(done)
        self.say(pass_line(done, seconds_left(self.history, self.budget), of=self.budget.passes))


def pass_line(done: Step, left: float | None, elapsed: bool = True, of: int | None = None) -> str:
    """Say how far training is.

    Arguments:
        left: seconds, where they are known.
        elapsed: whether to say how long it took so far.
        of: how many epochs of a network there are at most.

    >>> from tagline.training.iteration import Step
    >>> pass_line(Step(12, 1234.5, dev_score=0.9312, seconds=3.2), 7.9)
    'pass 12  objective 1234.50  dev 93.12  3 s  about 8 s left'
    >>> speed = {"tokens_per_second": 51234}
    >>> pass_line(Step(3, 1.25, dev_score=0.9312, seconds=75.0, metrics=speed, noun="epoch"), 7.9, of=30)
    'epoch 3 of 30  loss 1.2500  dev 93.12  51,234 tokens/s  1 min 15 s  about 8 s left'
    """
    count = message("pass {}", done.number)
    if done.lasting:
        count = message("epoch {}", done.number)
        if of is not None:
            count = message("epoch {} of {}", done.number, of)
    parts = [count, done.headline()]
    if done.dev_score is not None:
        parts.append(message("dev {:.2f}", 100 * done.dev_score))
    if (speed := getattr(done, "tokens_per_second", None)) is not None:
        parts.append(message("{:,.0f} tokens/s", speed))
    if elapsed:
        parts.append(duration(done.seconds))
    return "  ".join(parts) + left_in_words(left)


def left_in_words(left: float | None) -> str:
    """Say how many seconds are left, to be added to a line; nothing where that is not known, or less than one."""
    return message("  about {} left", duration(left)) if left is not None and left >= 1 else ""


def duration(seconds: float) -> str:
    """Write a time for people.

    >>> duration(0.3), duration(42.4), duration(75), duration(7260)
    ('0.3 s', '42 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 0.95:
        return message("{:.1f} s", seconds)
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return message("{} h {} min", hours, minutes)
    return message("{} min {} s", minutes, rest) if minutes else message("{} s", rest)


@contextmanager
def narrating(verbose: bool | int, budget: Budget, progress: Reporter | None = None) -> Iterator[Reporter]:
    """Choose how `fit` tells how it goes: to `progress`, else as it likes where ``verbose=True`` asks for it.

    Where a handler is set for the logger ``tagline.training`` at level INFO, lines go there. Otherwise stderr has them:
    one that is redrawn in a terminal, a line for each pass elsewhere; a notebook has a bar below its cell.
    """
    if progress is not None:
        progress.budget = budget
        yield progress
        return
    if not verbose:
        yield Silent()
        return
    reporter: Silent
    if logger.isEnabledFor(logging.INFO) and logger.hasHandlers():
        reporter = Logged(budget)
    else:
        from tagline.drawing.notebooks import notebook
        from tagline.training.running import bars

        reporter = bars.Notebook(budget) if notebook() is not None else bars.on_console(budget, every_pass=True)
    try:
        yield reporter
    finally:
        reporter.finish()
