"""The trellis of a sentence: a node for each token and label, an edge for each pair of neighbouring labels.

The area of a node is the probability of the label at its token, the width of an edge that of the pair: exact
marginals of the engine. The best labelling is drawn over them, the runner-up dashed; cells that no labelling passes
are hatched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagline import chain as engine
from tagline.checks import check_whole
from tagline.drawing.figures import Path
from tagline.drawing.saved import Drawn
from tagline.drawing.sketch import BEST, INK, RIVAL, Disc, Line, Shape, Sketch, chance
from tagline.errors import visible
from tagline.plots.scored import Scored, scored
from tagline.plots.sheet import Note, Sheet, left_out, sheet, shown_labels
from tagline.types import BoolArray, Float64Array, IntArray

RADIUS, WIDTH = 10.0, 6.0  # of a node and an edge with probability 1, in pixels
LEAST = 0.005  # probability of an edge or node that is drawn
MOST_TOKENS, MOST_LABELS = 60, 24
RANKED = 4  # labellings among which the runner-up is looked for: those of a second-order model may have equal labels


@dataclass(frozen=True, eq=False, repr=False)
class Trellis(Drawn):
    """A sentence with the probabilities of its labels, as numbers and as a picture.

    Attributes:
        tokens, labels: T and L names.
        nodes: ``[T, L]``, P(y_t = j).
        edges: ``[T, L, L]``, P(y_(t-1) = i, y_t = j), zeros at the first token.
        possible: ``[T, L]``, whether some labelling gives the token the label.
        best, probability: ``[T]``, the most probable labelling.
        runner_up, runner_up_probability: the next one; None where there is no other.
        most, most_labels: tokens and labels that are drawn.

    >>> from tagline import Chain, plots
    >>> sentence = Chain([[1.0, 0.5], [0.8, 0.5]], [[0.6, 1.0], [1.0, 0.0]])
    >>> picture = plots.trellis(sentence, tokens=["it", "rains"], labels=["A", "B"])
    >>> picture.best.tolist(), round(picture.probability, 4), picture.svg()[:4]
    ([0, 1], 0.3394, '<svg')
    """

    tokens: tuple[str, ...]
    labels: tuple[str, ...]
    nodes: Float64Array
    edges: Float64Array
    possible: BoolArray
    best: IntArray
    probability: float
    runner_up: IntArray | None
    runner_up_probability: float | None
    most: int = MOST_TOKENS
    most_labels: int = MOST_LABELS

    def sketch(self) -> Sketch:
        """Lay the picture out."""
        T = min(len(self.tokens), self.most)
        always = np.zeros(len(self.labels), bool)
        for labelling in (self.best, self.runner_up):
            always[[] if labelling is None else labelling[:T]] = True
        rows = shown_labels(self.nodes[:T].max(axis=0, initial=0.0), always, self.most_labels)
        page = sheet(self.tokens[:T], [self.labels[label] for label in rows], self._notes(T, len(rows)))
        shapes = [*self._hatches(page, rows), *self._edges(page, rows)]
        if self.runner_up is not None:
            shapes += self._path(page, rows, self.runner_up[:T], RIVAL, dashed=True)
        shapes += self._path(page, rows, self.best[:T], BEST, dashed=False)
        title = f"Trellis of {len(self.tokens)} tokens and {len(self.labels)} labels"
        return page.sketch(title, [*shapes, *self._nodes(page, rows)])

    def text(self) -> str:
        """Write the best labelling and the runner-up with their probabilities."""
        lines = [f"{chance(self.probability)}  {self._written(self.best)}"]
        if self.runner_up is not None and self.runner_up_probability is not None:
            lines.append(f"{chance(self.runner_up_probability)}  {self._written(self.runner_up)}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Trellis({len(self.tokens)} tokens, {len(self.labels)} labels, best {chance(self.probability)})"

    def __str__(self) -> str:
        return visible(self.text())

    def _written(self, labelling: IntArray) -> str:
        pairs = zip(self.tokens, labelling.tolist(), strict=True)
        return " ".join(f"{token}/{self.labels[label]}" for token, label in pairs)

    def _notes(self, T: int, rows: int) -> list[Note]:
        notes = []
        if self.tokens:
            notes.append(Note(f"best labelling, probability {chance(self.probability)}", BEST))
        if self.runner_up_probability is not None:
            notes.append(Note(f"runner-up, probability {chance(self.runner_up_probability)}", RIVAL, dashed=True))
        missing = left_out(len(self.tokens) - T, "tokens") + left_out(len(self.labels) - rows, "labels, less probable")
        return [*notes, *missing]

    def _hatches(self, page: Sheet, rows: list[int]) -> Iterator[Shape]:
        """Three strokes in each cell that no labelling passes."""
        a = 6.0  # half the side of the square
        for t, r in np.argwhere(~self.possible[: len(page.tokens), rows]).tolist():
            x, y = page.x(t), page.y(t, r)
            note = f"{self.tokens[t]}: {self.labels[rows[r]]} is not possible"
            for x1, y1, x2, y2 in ((-a, 0.0, 0.0, -a), (-a, a, a, -a), (0.0, a, a, 0.0)):
                yield Line(x + x1, y + y1, x + x2, y + y2, opacity=0.4, note=note)

    def _edges(self, page: Sheet, rows: list[int]) -> Iterator[Shape]:
        """A line for each pair that matters, as wide as it is probable."""
        pairs = self.edges[: len(page.tokens)][:, rows][:, :, rows]
        for t, i, j in np.argwhere(pairs >= LEAST).tolist():
            p = float(pairs[t, i, j])
            note = f"{self.labels[rows[i]]} → {self.labels[rows[j]]}: {p:.4f}"
            for line in page.lines(t, i, j):
                yield Line(*line, width=max(0.5, WIDTH * p), opacity=0.35, note=note)

    def _nodes(self, page: Sheet, rows: list[int]) -> Iterator[Shape]:
        for t in range(len(page.tokens)):
            for r, label in enumerate(rows):
                p = float(self.nodes[t, label])
                if p >= LEAST or label == self.best[t]:
                    note = f"{self.tokens[t]}: {self.labels[label]} {p:.4f}"
                    colour = BEST if label == self.best[t] else INK
                    yield Disc(page.x(t), page.y(t, r), RADIUS * p**0.5, colour, note=note)

    def _path(self, page: Sheet, rows: list[int], labelling: IntArray, colour: str, *, dashed: bool) -> Iterator[Shape]:
        """A line along a labelling, whose labels all have rows."""
        path = [rows.index(label) for label in labelling.tolist()]
        for t in range(1, len(path)):
            for line in page.lines(t, path[t - 1], path[t]):
                yield Line(*line, colour=colour, width=2.0, dashed=dashed)


def trellis(
    source: Any,
    sentence: Any = None,
    path: Path | None = None,
    *,
    ax: Any = None,
    known: Any = None,
    tokens: Any = None,
    labels: Any = None,
    most: int = MOST_TOKENS,
    most_labels: int = MOST_LABELS,
) -> Trellis:
    """Draw a sentence as a trellis: its labels, how probable each is, the best labelling and the runner-up.

    Arguments:
        source: a `Chain`, a model, or (model, sentence).
        sentence: of a model, a text or a sentence as for `predict`; of a chain of several sentences, a number.
        path: of a file to write; its name ends in ``.svg``, ``.png`` or ``.html``.
        ax: axes of matplotlib to draw into as well.
        known: of a model's sentence, for each token its label, a set of labels, or None.
        tokens, labels: names, where a chain has none.
        most, most_labels: how many tokens and labels are drawn; of many labels the most probable.

    >>> from tagline import Chain
    >>> trellis(Chain([[1.0, 0.5], [0.0, 0.0]], [[0.6, 1.0], [1.0, 0.0]]), labels=["N", "V"])
    Trellis(2 tokens, 2 labels, best 0.4000)
    """
    check_whole("most", most, 1)
    check_whole("most_labels", most_labels, 1)
    drawn = _trellis(scored(source, sentence, known, tokens, labels), most, most_labels)
    if path is not None:
        drawn.save(path)
    if ax is not None:
        drawn.draw(ax=ax)
    return drawn


def _trellis(asked: Scored, most: int, most_labels: int) -> Trellis:
    """Ask the engine; where the chain is over pairs of labels, probabilities of the same label are summed."""
    chain, L = asked.chain, len(asked.labels)
    same = np.zeros((chain.num_labels, L))
    same[np.arange(chain.num_labels), asked.label_of] = 1.0
    answer = engine.marginals(chain, edges=True)
    assert answer.edges is not None
    through = np.isfinite(engine.forward(chain) + engine.backward(chain))  # [T, labels of the chain]
    ranked = engine.k_best(chain, 2 if asked.over_labels else RANKED)[0]
    labellings = asked.label_of[ranked.labels]  # [K, T]
    others = [k for k in range(1, len(labellings)) if not np.array_equal(labellings[k], labellings[0])]
    return Trellis(
        asked.tokens,
        asked.labels,
        answer.nodes @ same,
        same.T @ answer.edges @ same,
        through @ same > 0,
        labellings[0],
        float(ranked.probabilities[0]),
        labellings[others[0]] if others else None,
        float(ranked.probabilities[others[0]]) if others else None,
        most,
        most_labels,
    )
