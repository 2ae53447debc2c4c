"""The partial view: how much is right when boundaries or types are forgiven.

Four ways for a predicted and a gold span to match, from strict to lenient: ``exact`` (boundary and type), ``boundary``
(any type), ``type`` (they share a token and the type) and ``overlap`` (they share a token). In the last two one span
may match several, so each side is counted by itself: a span counts once if it has at least one partner.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tagline.drawing.result_tables import Readable
from tagline.evaluation.alignment import Labellings, align
from tagline.evaluation.matching import AUTO, SpanPair, pair_spans
from tagline.messages import message
from tagline.types import BoolArray


@dataclass(frozen=True)
class PartialScore:
    """One way of matching.

    Attributes:
        matched_found, found: predicted spans with a partner, and all of them.
        matched_gold, gold: gold spans with a partner, and all of them.

    >>> from tagline import evaluation
    >>> score = evaluation.evaluate_partial([["B-PER", "I-PER"]], [["B-PER", "O"]]).overlap
    >>> score.precision, score.recall, score.f1
    (1.0, 1.0, 1.0)
    """

    matched_found: int
    found: int
    matched_gold: int
    gold: int

    @property
    def precision(self) -> float:
        """Share of the predicted spans that have a partner."""
        return self.matched_found / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """Share of the gold spans that have a partner."""
        return self.matched_gold / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    def as_dict(self) -> dict[str, int | float]:
        """Return counts and scores by name."""
        counts = {field.name: getattr(self, field.name) for field in fields(self)}
        return counts | {"precision": self.precision, "recall": self.recall, "f1": self.f1}


@dataclass(frozen=True, repr=False)
class PartialScores(Readable):
    """The four views and the rule that made the spans.

    >>> from tagline import evaluation
    >>> scores = evaluation.evaluate_partial([["B-PER", "I-PER"]], [["B-PER", "O"]])
    >>> scores.exact.f1, scores.boundary.f1, scores.overlap.f1
    (0.0, 0.0, 1.0)
    """

    rule: str
    exact: PartialScore
    boundary: PartialScore
    type: PartialScore
    overlap: PartialScore

    def __iter__(self) -> Iterator[tuple[str, PartialScore]]:
        return ((name, getattr(self, name)) for name in ("exact", "boundary", "type", "overlap"))

    def line(self) -> str:
        """Say the F1 of each view."""
        return ", ".join(f"{name} F1 {100 * score.f1:.2f}" for name, score in self)

    def text(self) -> str:
        """Return a table of the views."""
        lines: list[str] = [message("match      precision   recall      F1")]
        for name, score in self:
            p, r, f = 100 * score.precision, 100 * score.recall, 100 * score.f1
            lines.append(f"{name:<9}  {p:8.2f}%  {r:6.2f}%  {f:6.2f}")
        return "\n".join(lines) + "\n"

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers and strings."""
        return {"rule": self.rule, **{name: score.as_dict() for name, score in self}}


def evaluate_partial(
    gold: Labellings, predicted: Labellings, rule: str = AUTO, *, offsets: ArrayLike | None = None
) -> PartialScores:
    """Score spans with boundaries or types forgiven. Arguments as in `evaluate_spans`.

    >>> scores = evaluate_partial([["B-PER", "I-PER", "B-LOC"]], [["B-PER", "O", "B-ORG"]])
    >>> scores.exact.f1, scores.boundary.f1, scores.type.f1, scores.overlap.f1
    (0.0, 0.5, 0.5, 1.0)
    """
    return partial_of(pair_spans(align(gold, predicted, offsets), rule))


def partial_of(pair: SpanPair) -> PartialScores:
    """Score spans that are paired already."""
    of_gold, of_predicted = pair.overlaps
    same_boundary, same_type = pair.agreement(of_gold, of_predicted)

    def score(matches: BoolArray) -> PartialScore:
        matched_found, matched_gold = np.unique(of_predicted[matches]), np.unique(of_gold[matches])
        return PartialScore(len(matched_found), len(pair.predicted), len(matched_gold), len(pair.gold))

    return PartialScores(
        pair.rule,
        exact=score(same_boundary & same_type),
        boundary=score(same_boundary),
        type=score(same_type),
        overlap=score(np.ones(len(of_gold), np.bool_)),
    )
