"""Scores of single tokens: accuracy, each label by itself, and which label is taken for which.

Everything follows from the confusion matrix ``[L, L]`` of gold × predicted labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tagline.drawing.result_tables import Readable
from tagline.evaluation.alignment import Aligned, Labellings, align
from tagline.evaluation.scores import Score
from tagline.messages import message
from tagline.types import IntArray


@dataclass(frozen=True, eq=False, repr=False)
class TokenScores(Readable):
    """Scores of labels, token by token.

    Attributes:
        labels: the L labels of gold and predicted, sorted.
        confusion: ``[L, L]``, int64; ``confusion[i, j]`` tokens have gold label i and predicted label j.

    >>> from tagline import evaluation
    >>> scores = evaluation.evaluate_tokens([["N", "V", "N"]], [["N", "N", "N"]])
    >>> scores.labels, scores.confusion.tolist(), round(scores.accuracy, 3)
    (('N', 'V'), [[2, 0], [1, 0]], 0.667)
    """

    labels: tuple[str, ...]
    confusion: IntArray

    @property
    def num_tokens(self) -> int:
        """N, over all sentences."""
        return int(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        """Share of the tokens whose label is right; 0 where there are none."""
        return int(np.trace(self.confusion)) / self.num_tokens if self.num_tokens else 0.0

    @property
    def by_label(self) -> dict[str, Score]:
        """Counts and scores of each label; ``gold`` is its support."""
        right, found, gold = np.diag(self.confusion), self.confusion.sum(axis=0), self.confusion.sum(axis=1)
        return {label: Score(int(right[j]), int(found[j]), int(gold[j])) for j, label in enumerate(self.labels)}

    @property
    def macro_f1(self) -> float:
        """Mean F1 of the labels, each counted once."""
        scores = [score.f1 for score in self.by_label.values()]
        return sum(scores) / len(scores) if scores else 0.0

    def confusions(self, count: int = 10) -> list[tuple[str, str, int]]:
        """Return the most frequent mistakes as (gold, predicted, tokens), most frequent first."""
        wrong = self.confusion * (1 - np.eye(len(self.labels), dtype=np.int64))
        order = np.argsort(-wrong, axis=None, kind="stable")[:count]
        cells = [(int(cell) // len(self.labels), int(cell) % len(self.labels)) for cell in order]
        return [(self.labels[i], self.labels[j], int(wrong[i, j])) for i, j in cells if wrong[i, j]]

    def text(self) -> str:
        """Return a table of the labels."""
        width = max([5, *map(len, self.labels)])
        lines: list[str] = [
            message(
                "{} tokens; accuracy: {:.2f}%; macro F1: {:.2f}",
                self.num_tokens,
                100 * self.accuracy,
                100 * self.macro_f1,
            ),
            message("{}  precision   recall      F1  support", f"{'label':<{width}}"),
        ]
        for label, score in self.by_label.items():
            p, r, f = 100 * score.precision, 100 * score.recall, 100 * score.f1
            lines.append(f"{label:<{width}}  {p:8.2f}%  {r:6.2f}%  {f:6.2f}  {score.gold:7d}")
        return "\n".join(lines) + "\n"

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, lists and strings."""
        return {
            "tokens": self.num_tokens,
            "accuracy": self.accuracy,
            "macro_f1": self.macro_f1,
            "by_label": {label: score.as_dict() for label, score in self.by_label.items()},
            "labels": list(self.labels),
            "confusion": self.confusion.tolist(),
        }


def evaluate_tokens(gold: Labellings, predicted: Labellings, *, offsets: ArrayLike | None = None) -> TokenScores:
    """Score predicted labels token by token.

    Arguments:
        gold, predicted: labels of B sentences, see `evaluate_spans`.
        offsets: ``[B + 1]``, the sentences where both are columns.

    >>> scores = evaluate_tokens([["DET", "NOUN"], ["VERB"]], [["DET", "VERB"], ["VERB"]])
    >>> round(scores.accuracy, 3), scores.by_label["VERB"]
    (0.667, Score(correct=1, found=2, gold=1))
    """
    return tokens_of(align(gold, predicted, offsets))


def tokens_of(pair: Aligned) -> TokenScores:
    """Score labels that are aligned already."""
    L = len(pair.labels)
    cells = pair.gold.astype(np.int64) * L + pair.predicted  # [N]
    return TokenScores(pair.labels, np.bincount(cells, minlength=L * L).reshape(L, L).astype(np.int64))
