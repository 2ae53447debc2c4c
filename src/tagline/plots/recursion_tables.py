"""The tables of the recursions, for teaching: α of the forward sums, β of the backward sums, δ of Viterbi's maxima.

A cell is a token and a label. Logarithms are what the engine has; ``logs=False`` writes the numbers themselves: of an
HMM these are probabilities (α: of the observations so far and this state), of a CRF products of factors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np

from tagline import chain as engine
from tagline.checks import check_switch, check_whole
from tagline.drawing.figures import Path
from tagline.drawing.saved import Drawn
from tagline.drawing.sketch import BEST, Box, Line, Shape, Sketch, Word
from tagline.errors import InputError, visible
from tagline.plots.scored import Scored, scored
from tagline.plots.sheet import Note, Sheet, left_out, sheet, shown_labels
from tagline.types import Float64Array, IntArray

MOST_TOKENS, MOST_LABELS = 60, 24
LARGEST = 700.0  # logarithm of a number that float64 has
CELL, GAP = 58.0, 30.0  # width of a cell, and of the way that a back-pointer goes between two


@dataclass(frozen=True, eq=False, repr=False)
class TokenTable(Drawn):
    """A number for each token and label, as data and as a picture.

    Attributes:
        name: what the numbers are.
        tokens, labels: T and L names.
        values: ``[T, L]``, logarithms or the numbers themselves; −∞ or 0 where nothing is possible.
        logs: which of the two.
        back: ``[T, L]``, the label before in the best beginning, −1 at the first token; None unless it is Viterbi's.
        best: ``[T]``, the labelling that following the pointers back gives; None unless it is Viterbi's.
        most, most_labels: tokens and labels that are drawn.

    >>> from tagline import Chain, plots
    >>> sentence = Chain([[1.0, 0.5], [0.8, 0.5]], [[0.6, 1.0], [1.0, 0.0]])
    >>> table = plots.forward_table(sentence, tokens=["it", "rains"], labels=["A", "B"])
    >>> table.values.round(4).tolist(), table.svg()[:4]
    ([[1.0, 0.5], [3.0444, 2.7014]], '<svg')
    """

    name: str
    tokens: tuple[str, ...]
    labels: tuple[str, ...]
    values: Float64Array
    logs: bool
    back: IntArray | None = None
    best: IntArray | None = None
    most: int = MOST_TOKENS
    most_labels: int = MOST_LABELS

    def sketch(self) -> Sketch:
        """Lay the picture out: shades are shares of the largest number of a token."""
        T = min(len(self.tokens), self.most)
        shares = self._shares()[:T]
        always = np.zeros(len(self.labels), bool)
        always[[] if self.best is None else self.best[:T]] = True
        rows = shown_labels(shares.max(axis=0, initial=0.0), always, self.most_labels)
        notes = [Note(self.name), *left_out(len(self.tokens) - T, "tokens")]
        notes += left_out(len(self.labels) - len(rows), "labels, with smaller numbers")
        if self.best is not None and T:
            notes.append(Note("back-pointers of the best labelling", BEST))
        names = [self.labels[label] for label in rows]
        page = sheet(self.tokens[:T], names, notes, narrowest=CELL + (6 if self.back is None else GAP))
        cells = self._cells(page, rows, shares)
        return page.sketch(f"Table of {self.name}", [*self._pointers(page, rows), *cells])

    def text(self) -> str:
        """Write a line for each token."""
        numbers = [[self._written(value) for value in row] for row in self.values.tolist()]
        rows = [["", *self.labels], *([token, *row] for token, row in zip(self.tokens, numbers, strict=True))]
        rows = [[visible(cell).replace("\n", "\\n") for cell in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"TokenTable({self.name}: {len(self.tokens)} tokens, {len(self.labels)} labels)"

    def __str__(self) -> str:
        return self.text()

    def _written(self, value: float) -> str:
        if np.isneginf(value):
            return "−∞"
        return f"{value:.3f}" if self.logs else f"{value:.3g}"

    def _shares(self) -> Float64Array:
        """By how much each number falls below the largest of its token, from 0 to 1."""
        largest = self.values.max(axis=1, keepdims=True, initial=-np.inf)  # [T, 1]
        if self.logs:
            return np.exp(self.values - np.where(np.isfinite(largest), largest, 0.0))
        return np.asarray(self.values / np.where(largest > 0, largest, 1.0))

    def _cells(self, page: Sheet, rows: list[int], shares: Float64Array) -> Iterator[Shape]:
        height = page.row - 6
        for t in range(len(page.tokens)):
            for r, label in enumerate(rows):
                x, y, value = page.x(t), page.y(t, r), float(self.values[t, label])
                note = f"{self.tokens[t]}: {self.labels[label]} {self._written(value)}"
                chosen = self.best is not None and self.best[t] == label
                shade = 0.06 + 0.44 * float(shares[t, label])
                yield Box(x - CELL / 2, y - height / 2, CELL, height, BEST, shade, 2.0 if chosen else 0.0, note)
                yield Word(x, y, self._written(value), 11.0, bold=chosen)

    def _pointers(self, page: Sheet, rows: list[int]) -> Iterator[Shape]:
        """A line from each cell to the one before it in its best beginning."""
        if self.back is None or self.best is None:
            return
        places = {label: r for r, label in enumerate(rows)}
        possible = np.isfinite(self.values) if self.logs else self.values > 0
        for t in range(1, len(page.tokens)):
            for r, label in enumerate(rows):
                before = int(self.back[t, label])
                if before in places and possible[t, label]:
                    chosen = self.best[t] == label and self.best[t - 1] == before
                    look: dict[str, Any] = {"colour": BEST, "width": 2.5} if chosen else {"opacity": 0.5}
                    for line in page.lines(t, places[before], r, CELL / 2 + 1):
                        yield Line(*line, **look)


class Asked(TypedDict, total=False):
    """What the tables have in common.

    Attributes:
        ax: axes of matplotlib to draw into as well.
        logs: logarithms, or False for the numbers themselves.
        known, tokens, labels, most, most_labels: as for `trellis`.
    """

    ax: Any
    logs: bool
    known: Any
    tokens: Any
    labels: Any
    most: int
    most_labels: int


def forward_table(source: Any, sentence: Any = None, path: Path | None = None, **asked: Unpack[Asked]) -> TokenTable:
    """Return α: for each token and label, the sum over all beginnings that end there.

    Arguments:
        source, sentence: a `Chain`; or a model and a sentence or text, as for `trellis`.
        path: of a file to write; its name ends in ``.svg``, ``.png`` or ``.html``.
        asked: ``logs=False`` for the numbers themselves; ``ax``, ``known``, ``tokens``, ``labels``, ``most`` and
            ``most_labels`` as for `trellis`.

    >>> from tagline import Chain
    >>> print(forward_table(Chain([[1.0, 0.5], [0.0, 0.0]], [[0.6, 1.0], [1.0, 0.0]]), labels=["N", "V"]))
           N      V
    0  1.000  0.500
    1  2.244  2.201
    """
    one = _scored(source, sentence, asked)
    return _finished("forward sums α", one, engine.forward(one.chain), path, asked)


def backward_table(source: Any, sentence: Any = None, path: Path | None = None, **asked: Unpack[Asked]) -> TokenTable:
    """Return β: for each token and label, the sum over all continuations after it. See `forward_table`.

    >>> from tagline import Chain, plots
    >>> sentence = Chain([[1.0, 0.5], [0.8, 0.5]], [[0.6, 1.0], [1.0, 0.0]])
    >>> plots.backward_table(sentence, tokens=["it", "rains"], labels=["A", "B"]).values.round(4).tolist()
    [[2.1444, 2.041], [0.0, 0.0]]
    """
    one = _scored(source, sentence, asked)
    return _finished("backward sums β", one, engine.backward(one.chain), path, asked)


def viterbi_table(source: Any, sentence: Any = None, path: Path | None = None, **asked: Unpack[Asked]) -> TokenTable:
    """Return δ: for each token and label, the best beginning that ends there, and back-pointers. See `forward_table`.

    >>> from tagline import Chain
    >>> table = viterbi_table(Chain([[1.0, 0.5], [0.0, 0.0]], [[0.6, 1.0], [1.0, 0.0]]))
    >>> table.values.tolist(), table.back.tolist(), table.best.tolist()
    ([[1.0, 0.5], [1.6, 2.0]], [[-1, -1], [0, 0]], [0, 1])
    """
    one = _scored(source, sentence, asked)
    table, best = engine.viterbi_table(one.chain), engine.viterbi(one.chain).labels
    return _finished("Viterbi's maxima δ", one, table.scores, path, asked, table.back, best)


def _scored(source: Any, sentence: Any, asked: Asked) -> Scored:
    check_switch("logs", asked.get("logs", True))
    for name in ("most", "most_labels"):
        check_whole(name, asked.get(name, 1), 1)
    one = scored(source, sentence, asked.get("known"), asked.get("tokens"), asked.get("labels"))
    if not one.over_labels:
        raise InputError("expected a chain over labels, got one over pairs of labels, which has no table of labels")
    engine.log_partition(one.chain)  # says where a sentence has no labelling
    return one


def _finished(
    name: str,
    one: Scored,
    values: Float64Array,
    path: Path | None,
    asked: Asked,
    back: IntArray | None = None,
    best: IntArray | None = None,
) -> TokenTable:
    """Make the table of logarithms ``[T, L]``, and draw it where that was asked for."""
    logs = asked.get("logs", True)
    shown = (f"{name}, logarithms" if logs else name), one.tokens, one.labels, values if logs else _numbers(values)
    size = asked.get("most", MOST_TOKENS), asked.get("most_labels", MOST_LABELS)
    table = TokenTable(*shown, logs, back, best, *size)
    if path is not None:
        table.save(path)
    if asked.get("ax") is not None:
        table.draw(ax=asked["ax"])
    return table


def _numbers(logs: Float64Array) -> Float64Array:
    finite = logs[np.isfinite(logs)]
    if finite.size and (finite.max() > LARGEST or finite.min() < -LARGEST):
        raise InputError(
            "logs=False: expected numbers within e±{:.0f}, got logarithms from {:.0f} to {:.0f}; a "
            "shorter sentence has such numbers, logs=True any",
            LARGEST,
            finite.min(),
            finite.max(),
        )
    return np.exp(logs)
