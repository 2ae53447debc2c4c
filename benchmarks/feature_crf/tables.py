"""Rows and Markdown tables."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from feature_crf.children import Clocks


@dataclass(frozen=True)
class Row:
    """One line of the speed table.

    Attributes:
        work: what was done.
        ours, theirs: what it took, in words.
        ratio: how many times as good we are.
        bar: what `ratio` should reach, in words.
        met: whether it does; None where there is no bar or the run was a quick one.
        how: what was counted, how often.
    """

    work: str
    ours: str
    theirs: str = ""
    ratio: str = ""
    bar: str = ""
    met: bool | None = None
    how: str = ""

    def cells(self) -> list[str]:
        """Return the texts of the columns."""
        return [self.work, self.ours, self.theirs, self.ratio, self.bar, verdict(self.met), self.how]


HEAD = ["work", "Tagline", "python-crfsuite", "ratio", "bar", "met", "how"]


def verdict(met: bool | None) -> str:
    """Say whether a bar was reached."""
    return {None: "", True: "yes", False: "**no**"}[met]


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out a table; a bar inside a cell is escaped."""
    lines = [list(head), ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def median(clocks: Iterable[Clocks]) -> Clocks:
    """Return the medians of CPU and wall seconds, each for itself."""
    cpu, wall = zip(*clocks, strict=True)
    return statistics.median(cpu), statistics.median(wall)


def seconds(value: float) -> str:
    """Write seconds with three digits.

    >>> seconds(0.05234), seconds(5.234), seconds(72.84)
    ('52.3 ms', '5.23 s', '72.8 s')
    """
    if value < 1:
        return f"{1e3 * value:.3g} ms" if value < 0.1 else f"{1e3 * value:.0f} ms"
    return f"{value:.2f} s" if value < 10 else f"{value:.1f} s"


def both(clocks: Clocks) -> str:
    """Write CPU and wall seconds."""
    return f"{seconds(clocks[0])} CPU, {seconds(clocks[1])} wall"


def speed(tokens: int, clocks: Clocks) -> str:
    """Write tokens a second of CPU time."""
    return f"{tokens / clocks[0] / 1e3:,.0f}k tokens/s ({seconds(clocks[0])})"


def times(factor: float) -> str:
    """Write a ratio with about three digits."""
    return f"{factor:.1f}×" if factor < 100 else f"{factor:.0f}×"
