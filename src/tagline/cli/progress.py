"""Telling on stderr how training goes: a line that is redrawn on a terminal, a few lines elsewhere.

The epochs of a network are few and long: each has a line that stays, and on a terminal a bar while it lasts. How long
it will take is known where there is a limit of passes or seconds. Otherwise it is guessed from how fast the
objective settles: training stops when r_k = (f_(k−period) − f_k) / |f_k| is below delta, and r falls about
geometrically.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console, RenderableType
from rich.progress import Progress as RichProgress
from rich.progress import ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.progress_bar import ProgressBar

from tagline.cli.language import speak
from tagline.errors import visible
from tagline.models.contract import Progress
from tagline.models.recipes import Budget

EVERY = 10.0  # seconds between lines where nothing can be redrawn
SOME = (1, 2, 5)  # passes that get a line there, and ten times as many, …
FEWEST = 5  # passes over which a rate is worth anything


def seconds_left(history: Sequence[Progress], budget: Budget) -> float | None:
    """Guess how long training still takes; None where there is nothing to go by.

    >>> from tagline.training.monitor import Pass
    >>> passes = [Pass(n, 100.0, 0.1, 1, seconds=2.0 * n, evaluations=n) for n in range(1, 5)]
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
    if settled is not None:
        guesses.append(settled * pace)
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


class Silent:
    """Tells nothing."""

    def say(self, text: str) -> None:
        """Keep it."""

    def stage(self, text: str) -> None:
        """Keep it."""

    def passed(self, done: Progress, weights: Any = None) -> None:
        """Keep it."""

    def stepped(self, done: int, total: int, loss: float) -> None:
        """Keep it."""

    def finish(self) -> None:
        """Nothing to end."""


class Lines:
    """Writes lines: every pass, or the first few and then one now and then; of a network every epoch."""

    def __init__(
        self, console: Console, budget: Budget, every_pass: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.console, self.budget, self.every_pass, self.clock = console, budget, every_pass, clock
        self.history: list[Progress] = []
        self.told = clock()

    def say(self, text: str) -> None:
        """Write a line."""
        self.console.print(visible(text), markup=False, highlight=False, soft_wrap=True)

    def stage(self, text: str) -> None:
        """Where lines stay, stages go without saying."""

    def passed(self, done: Progress, weights: Any = None) -> None:
        """Write a line where it is time."""
        self.history.append(done)
        n = done.number
        round_one = n == int(f"{n}"[0]) * 10 ** (len(f"{n}") - 1) and int(f"{n}"[0]) in SOME
        if self.every_pass:
            self.say(done.line())
        elif done.lasting or round_one or self.clock() - self.told >= EVERY:
            self.say(pass_line(done, seconds_left(self.history, self.budget), of=self.budget.passes))
        else:
            return
        self.told = self.clock()

    def stepped(self, done: int, total: int, loss: float) -> None:
        """Where lines stay, an epoch has one."""

    def finish(self) -> None:
        """Nothing to end."""


class _Steps(ProgressColumn):
    """A bar where it is known how many steps there are, else nothing."""

    def render(self, task: Task) -> RenderableType:
        """Draw it."""
        steps: tuple[int, int] | None = task.fields["steps"]
        return "" if steps is None else ProgressBar(steps[1], steps[0], width=24)


class Bar:
    """Redraws one line on a terminal."""

    def __init__(self, console: Console, budget: Budget) -> None:
        self.console, self.budget = console, budget
        self.history: list[Progress] = []
        text = TextColumn("{task.description}")
        self.bar = RichProgress(SpinnerColumn(), text, _Steps(), TimeElapsedColumn(), console=console, transient=True)
        self.task = self.bar.add_task("", total=None, steps=None)
        self.bar.start()

    def say(self, text: str) -> None:
        """Write a line that stays, above the one that is redrawn."""
        self.console.print(visible(text), markup=False, highlight=False, soft_wrap=True)

    def stage(self, text: str) -> None:
        """Show what is being done."""
        self.bar.update(self.task, description=_plain(text), steps=None)

    def passed(self, done: Progress, weights: Any = None) -> None:
        """Show how far it is; the line of a network's epoch stays."""
        self.history.append(done)
        left = seconds_left(self.history, self.budget)
        if done.lasting:
            self.say(pass_line(done, left, of=self.budget.passes))
        else:
            self.stage(pass_line(done, left, elapsed=False))

    def stepped(self, done: int, total: int, loss: float) -> None:
        """Draw how much of an epoch is done."""
        now = f"epoch {self.history[-1].number + 1}" if self.history else "training"
        self.bar.update(self.task, description=f"{now}  loss {loss:.4f}", steps=(done, total))

    def finish(self) -> None:
        """Take the line away."""
        self.bar.stop()


def _plain(text: str) -> str:
    return text.replace("[", "\\[")


def pass_line(done: Progress, left: float | None, elapsed: bool = True, of: int | None = None) -> str:
    """Say how far training is.

    Arguments:
        left: seconds, where they are known.
        elapsed: whether to say how long it took so far.
        of: how many epochs of a network there are at most.

    >>> from tagline.training.monitor import Pass
    >>> from tagline.training.neural.journal import Epoch
    >>> pass_line(Pass(12, 1234.5, 0.1, 1000, 3.2, 14, dev_score=0.9312), 7.9)
    'pass 12  objective 1234.50  dev 93.12  3 s  about 8 s left'
    >>> pass_line(Epoch(3, 1.25, 0.9312, 1e-3, 2.5, 75.0, 51234.0), 7.9, of=30)
    'epoch 3 of 30  loss 1.2500  dev 93.12  51,234 tokens/s  1 min 15 s  about 8 s left'
    """
    limit = f" of {of}" if of is not None and done.lasting else ""
    parts = [f"{done.noun} {done.number}{limit}", done.headline()]
    if done.dev_score is not None:
        parts.append(f"dev {100 * done.dev_score:.2f}")
    if done.speed:
        parts.append(done.speed)
    if elapsed:
        parts.append(duration(done.seconds))
    if left is not None and left >= 1:
        parts.append(f"about {duration(left)} left")
    return "  ".join(parts)


def duration(seconds: float) -> str:
    """Write a time for people.

    >>> duration(0.3), duration(42.4), duration(75), duration(7260)
    ('0.3 s', '42 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 0.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


@contextmanager
def reporting(budget: Budget, *, quiet: bool = False, verbose: bool = False) -> Iterator[Silent | Lines | Bar]:
    """Choose how to tell: not at all, line by line, or on one line that is redrawn, which needs a terminal."""
    console = Console(stderr=True)
    reporter: Silent | Lines | Bar
    if quiet:
        reporter = Silent()
    elif verbose or not console.is_terminal:
        reporter = Lines(console, budget, verbose)
    else:
        reporter = Bar(console, budget)
    speak(reporter)
    try:
        yield reporter
    finally:
        reporter.finish()
