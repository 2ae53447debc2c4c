"""Drawing how training goes: a line that is redrawn on a terminal, a bar in a notebook, a few lines elsewhere.

The epochs of a network are few and long: each has a line that stays, and a bar while it lasts.
"""

from __future__ import annotations

import html
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from rich.console import Console, RenderableType
from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.progress_bar import ProgressBar

from tagline.errors import visible
from tagline.messages import message
from tagline.training.iteration import Step
from tagline.training.running.progress import Budget, Silent, left_in_words, pass_line, seconds_left

EVERY = 10.0  # seconds between lines where nothing can be redrawn
SOME = (1, 2, 5)  # passes that get a line there, and ten times as many, …


def on_console(budget: Budget, *, every_pass: bool = False, bar: bool = True) -> Lines | Bar:
    """Return what tells on stderr: a bar in a terminal, else lines.

    Arguments:
        every_pass: whether lines come for every pass.
        bar: whether a terminal gets a bar; else it gets lines, too.
    """
    console = Console(stderr=True)
    return Bar(console, budget) if bar and console.is_terminal else Lines(console, budget, every_pass)


class Lines(Silent):
    """Writes lines: every pass, or the first few and then one now and then; of a network every epoch."""

    def __init__(
        self, console: Console, budget: Budget, every_pass: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.console, self.budget, self.every_pass, self.clock = console, budget, every_pass, clock
        self.history: list[Step] = []
        self.told = clock()

    def say(self, text: str) -> None:
        """Write a line."""
        self.console.print(visible(str(text)), markup=False, highlight=False, soft_wrap=True)

    def stage(self, text: str) -> None:
        """Where lines stay, stages go without saying."""

    def passed(self, done: Step) -> None:
        """Write a line where it is time."""
        self.history.append(done)
        n = done.number
        round_one = n == int(f"{n}"[0]) * 10 ** (len(f"{n}") - 1) and int(f"{n}"[0]) in SOME
        if self.every_pass:
            self.say(done.line() + left_in_words(seconds_left(self.history, self.budget)))
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


class Bar(Silent):
    """Redraws one line on a terminal."""

    def __init__(self, console: Console, budget: Budget) -> None:
        self.console, self.budget = console, budget
        self.history: list[Step] = []
        text = TextColumn("{task.description}")
        self.bar = Progress(SpinnerColumn(), text, _Steps(), TimeElapsedColumn(), console=console, transient=True)
        self.task = self.bar.add_task("", total=None, steps=None)
        self.bar.start()

    def say(self, text: str) -> None:
        """Write a line that stays, above the one that is redrawn."""
        self.console.print(visible(str(text)), markup=False, highlight=False, soft_wrap=True)

    def stage(self, text: str) -> None:
        """Show what is being done."""
        self.bar.update(self.task, description=str(text).replace("[", "\\["), steps=None)

    def passed(self, done: Step) -> None:
        """Show how far it is; the line of a network's epoch stays."""
        self.history.append(done)
        left = seconds_left(self.history, self.budget)
        if done.lasting:
            self.say(pass_line(done, left, of=self.budget.passes))
        else:
            self.stage(pass_line(done, left, elapsed=False))

    def stepped(self, done: int, total: int, loss: float) -> None:
        """Draw how much of an epoch is done."""
        self.bar.update(self.task, description=_loss_line(self.history, loss), steps=(done, total))

    def finish(self) -> None:
        """Take the line away."""
        self.bar.stop()


class Notebook(Silent):
    """Redraws one line of HTML below the cell, with a bar where it is known how far it goes."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.history: list[Step] = []
        display: Any = import_module("IPython.display")
        self._html = display.HTML
        self._lines: list[str] = []
        self._shown: Any = display.display(self._html(""), display_id=True)

    def say(self, text: str) -> None:
        """Show a line that stays."""
        self._lines.append(html.escape(visible(str(text))))
        self._draw("")

    def stage(self, text: str) -> None:
        """Show what is being done."""
        self._draw(html.escape(visible(str(text))))

    def passed(self, done: Step) -> None:
        """Show how far it is; the line of a network's epoch stays."""
        self.history.append(done)
        line = pass_line(done, seconds_left(self.history, self.budget), of=self.budget.passes)
        if done.lasting:
            self.say(line)
        else:
            limit = self.budget.passes
            self._draw(html.escape(line), None if limit is None else (done.number, limit))

    def stepped(self, done: int, total: int, loss: float) -> None:
        """Draw how much of an epoch is done."""
        self._draw(_loss_line(self.history, loss), (done, total))

    def _draw(self, text: str, steps: tuple[int, int] | None = None) -> None:
        bar = "" if steps is None else f'<progress value="{steps[0]}" max="{steps[1]}"></progress> '
        shown = "\n".join([*self._lines, *([bar + text] if bar or text else [])])
        if self._shown is not None:
            self._shown.update(self._html(f"<pre>{shown}</pre>"))


def _loss_line(history: Sequence[Step], loss: float) -> str:
    """Say which epoch goes on, and the mean loss so far."""
    now = message("epoch {}", history[-1].number + 1) if history else message("training")
    return f"{now}  {message('loss {:.4f}', loss)}"
