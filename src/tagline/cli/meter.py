"""How far tagging has come, on the standard error of a terminal: a bar and the time left, or a rate."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from tagline.cli.speech import say
from tagline.messages import message


class Meter:
    """Counts bytes and sentences; draws where standard error is a terminal and `shown` says so.

    Arguments:
        paths: all inputs, so that the whole is known; ``-`` makes it unknown.
        shown: whether there is anything to be drawn: not where the answers themselves go to the terminal.
    """

    def __init__(self, paths: Sequence[str], shown: bool = True) -> None:
        self.skipped = self.answered = 0
        self._before = self._size = 0
        whole = all(path != "-" and os.path.isfile(path) for path in paths)
        self._total = sum(os.path.getsize(path) for path in paths) if whole else None
        self._bar: Progress | None = None
        self._task = TaskID(0)
        console = Console(stderr=True)
        if shown and console.is_terminal:
            rest = (
                [BarColumn(), TimeElapsedColumn(), TextColumn(message("left")), TimeRemainingColumn()] if whole else []
            )
            self._bar = Progress(TextColumn("{task.description}"), *rest, console=console, transient=True)

    @staticmethod
    def is_terminal() -> bool:
        """Say whether the answers would be written to a terminal."""
        return sys.stdout is not None and sys.stdout.isatty()

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task(message("tagging"), total=self._total)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    @property
    def drawn(self) -> bool:
        """Whether there is a bar."""
        return self._bar is not None

    def begin(self, paths: Sequence[str]) -> None:
        """Note which inputs come now."""
        self._before += self._size
        self._size = sum(os.path.getsize(path) for path in paths if os.path.isfile(path))

    def say(self, text: str) -> None:
        """Write a line for people, above the bar."""
        if self._bar is None:
            say(text, err=True)
        else:
            self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def skip(self, problem: str) -> None:
        """Note a broken sentence and say what was wrong."""
        self.skipped += 1
        self.say(message("skipped: {}", problem))

    def position(self, place: int) -> None:
        """Note how many bytes of the inputs at hand were read."""
        if self._bar is not None and self._total is not None:
            self._bar.update(self._task, completed=min(self._before + place, self._total))

    def finish(self, size: int) -> None:
        """Note that an input of so many bytes is done, where several are worked on at once."""
        self._before += size
        self.position(0)

    def sentences(self, count: int) -> None:
        """Note answers."""
        self.answered += count
        if self._bar is not None:
            elapsed = self._bar.tasks[self._task].elapsed or 0.0
            shown = message("{:,} sentences", self.answered)
            if elapsed > 0.5:
                rate = self.answered / elapsed
                shown = message("{:,} sentences, {:,.0f} a second", self.answered, rate)
            self._bar.update(self._task, description=shown)
