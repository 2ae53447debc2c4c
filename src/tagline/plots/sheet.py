"""Where tokens and labels stand on a sheet: tokens across, labels down; long sentences go on in a band below.

All pictures of tables share it. Between neighbouring bands a line is drawn twice, half of it on each side of the break.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tagline.drawing.sketch import Line, Shape, Sketch, Word, fitted, width_of
from tagline.types import BoolArray, Float64Array

WIDTH = 880  # pixels of a sheet, about
SIZE = 12.0  # of letters
MARGIN, HEAD = 10.0, 34.0
LONGEST_TOKEN, LONGEST_LABEL = 110.0, 140.0


class Note(NamedTuple):
    """A line below a picture, with a stroke of `colour` before it that it explains; no stroke where that is empty."""

    text: str
    colour: str = ""
    dashed: bool = False


@dataclass(frozen=True)
class Sheet:
    """Places of T tokens and of the labels that are shown.

    Attributes:
        tokens, labels: names, as far as they are shown.
        left: where the first token's column begins.
        step, row: width of a column, height of a row.
        columns: tokens of a band.
        notes: lines below everything.
    """

    tokens: tuple[str, ...]
    labels: tuple[str, ...]
    left: float
    step: float
    row: float
    columns: int
    notes: tuple[Note, ...]

    @property
    def bands(self) -> int:
        """How many bands there are, one at least."""
        return max(1, -(-len(self.tokens) // self.columns))

    @property
    def band(self) -> float:
        """The height of a band."""
        return HEAD + self.row * len(self.labels) + 14

    @property
    def width(self) -> float:
        """Of the sheet."""
        return self.left + self.step * min(max(1, len(self.tokens)), self.columns) + MARGIN

    @property
    def height(self) -> float:
        """Of the sheet."""
        return 2 * MARGIN + self.bands * self.band + 18 * len(self.notes)

    def x(self, t: int) -> float:
        """The middle of a token's column."""
        return self.left + self.step * (t % self.columns + 0.5)

    def y(self, t: int, label: int) -> float:
        """The middle of the row of a label, in the band of a token."""
        return MARGIN + self.band * (t // self.columns) + HEAD + self.row * (label + 0.5)

    def lines(
        self, t: int, previous: int, label: int, inset: float = 0.0
    ) -> Iterator[tuple[float, float, float, float]]:
        """From the label of the token before to the label of a token; two halves where a band ends between them.

        Arguments:
            inset: how far from the middles of the columns a line begins and ends.
        """
        x1, y1, x2, y2 = self.x(t - 1), self.y(t - 1, previous), self.x(t), self.y(t, label)
        if t % self.columns:
            yield x1 + inset, y1, x2 - inset, y2
            return
        fall = self.row * (label - previous) / 2
        yield x1 + inset, y1, x1 + self.step / 2, y1 + fall
        yield x2 - self.step / 2, y2 - fall, x2 - inset, y2

    def frame(self) -> Iterator[Shape]:
        """Names of tokens above their columns and of labels before their rows, and the notes."""
        for first in range(0, max(1, len(self.tokens)), self.columns):
            for label, name in enumerate(self.labels):
                y = self.y(first, label)
                shown = fitted(name, LONGEST_LABEL, SIZE)
                yield Word(self.left - 8, y, shown, SIZE, "end", note="" if shown == name else name)
                yield Line(self.left, y, self.width - MARGIN, y, opacity=0.1)
        for t, token in enumerate(self.tokens):
            shown = fitted(token, self.step - 4, SIZE)
            y = self.y(t, 0) - self.row / 2 - 16
            yield Word(self.x(t), y, shown, SIZE, bold=True, note="" if shown == token else token)
        for n, note in enumerate(self.notes):
            y = self.height - MARGIN - 18 * (len(self.notes) - n) + 9
            if note.colour:
                yield Line(MARGIN, y, MARGIN + 22, y, note.colour, 2.0, dashed=note.dashed)
            yield Word(MARGIN + (30 if note.colour else 0), y, note.text, SIZE, "start", opacity=0.8)

    def sketch(self, title: str, shapes: Sequence[Shape]) -> Sketch:
        """Put shapes over the frame."""
        room = max([width_of(note.text, SIZE) + 30 + 2 * MARGIN for note in self.notes], default=0.0)
        return Sketch(max(self.width, room), self.height, title, (*self.frame(), *shapes))


def sheet(
    tokens: Sequence[str], labels: Sequence[str], notes: Sequence[Note], *, narrowest: float = 46.0, row: float = 26.0
) -> Sheet:
    """Lay out tokens and labels: columns as wide as the longest token, within limits; as many as a page has."""
    left = MARGIN + 8 + min(max([width_of(label, SIZE) for label in labels], default=0.0), LONGEST_LABEL)
    longest = max([width_of(token, SIZE) * 1.1 + 8 for token in tokens], default=0.0)
    step = min(max(narrowest, longest), max(narrowest, LONGEST_TOKEN))
    columns = max(1, int((WIDTH - left - MARGIN) // step))
    return Sheet(tuple(tokens), tuple(labels), left, step, row, columns, tuple(notes))


def shown_labels(weight: Float64Array, always: BoolArray, most: int) -> list[int]:
    """Choose the rows that matter, in their order: those that are always shown, then those with the largest weights."""
    order = np.lexsort((np.arange(len(weight)), -weight, ~always))
    return sorted(order[: max(most, int(always.sum()))].tolist())


def left_out(count: int, what: str) -> list[Note]:
    """Say that something is not shown."""
    return [Note(f"… {count:,} more {what}")] if count else []
