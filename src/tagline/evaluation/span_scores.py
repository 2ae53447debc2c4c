"""Scores of spans: a predicted span is right if its boundary and its type are those of a gold span.

The rule says how labels become spans: ``conlleval`` is the chunking of the CoNLL shared tasks' script, on proper and
improper labels, ``conlleval:<scheme>`` the same for schemes that the script does not know; ``strict:<scheme>`` takes
only what is well formed in that scheme. Scores by different rules are not comparable, so each result carries its rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tagline.drawing.result_tables import Readable
from tagline.evaluation.alignment import Aligned, Labellings, align
from tagline.evaluation.matching import AUTO, SpanPair, pair_spans
from tagline.evaluation.scores import Score
from tagline.types import BoolArray


@dataclass(frozen=True, repr=False)
class SpanScores(Readable):
    """Scores of spans, overall and by type.

    Attributes:
        rule: how labels became spans.
        overall: counts and scores of all spans.
        by_type: the same for each type that gold or predicted has, sorted by name.
        num_tokens: N, tokens outside spans included.
        correct_tokens: tokens whose predicted label is the gold label.

    >>> from tagline import evaluation
    >>> scores = evaluation.evaluate_spans([["B-PER", "O", "B-LOC"]], [["B-PER", "O", "O"]])
    >>> scores.precision, scores.recall, sorted(scores.by_type)
    (1.0, 0.5, ['LOC', 'PER'])
    >>> print(scores.text(), end="")
    processed 3 tokens with 2 phrases; found: 1 phrases; correct: 1.
    accuracy:  66.67%; precision: 100.00%; recall:  50.00%; FB1:  66.67
                  LOC: precision:   0.00%; recall:   0.00%; FB1:   0.00  0
                  PER: precision: 100.00%; recall: 100.00%; FB1: 100.00  1
    """

    rule: str
    overall: Score
    by_type: dict[str, Score]
    num_tokens: int
    correct_tokens: int

    @property
    def precision(self) -> float:
        """Share of the predicted spans that are right."""
        return self.overall.precision

    @property
    def recall(self) -> float:
        """Share of the gold spans that were found."""
        return self.overall.recall

    @property
    def f1(self) -> float:
        """F1 of all spans (micro-averaged)."""
        return self.overall.f1

    @property
    def macro_f1(self) -> float:
        """Mean F1 of the types, each counted once."""
        return sum(score.f1 for score in self.by_type.values()) / len(self.by_type) if self.by_type else 0.0

    @property
    def accuracy(self) -> float:
        """Share of all tokens whose label is right; 0 where there are none."""
        return self.correct_tokens / self.num_tokens if self.num_tokens else 0.0

    def text(self, by_type: bool = True) -> str:
        """Return what the CoNLL script prints, byte for byte; with ``by_type=False`` its first two lines."""
        overall = self.overall
        lines = [
            f"processed {self.num_tokens} tokens with {overall.gold} phrases; "
            f"found: {overall.found} phrases; correct: {overall.correct}."
        ]
        if self.num_tokens:
            lines.append(f"accuracy: {_percent(self.correct_tokens, self.num_tokens):6.2f}%; {_percentages(overall)}")
        for name, score in self.by_type.items() if by_type else ():
            padding = " " * (17 - len(name.encode()))  # the script counts bytes
            # The script repeats the line of untyped phrases where both sides have some.
            repeats = 2 if not name and score.gold and score.found else 1
            lines += [f"{padding}{name}: {_percentages(score)}  {score.found}"] * repeats
        return "\n".join(lines) + "\n"

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers and strings."""
        return {
            "rule": self.rule,
            "tokens": self.num_tokens,
            "accuracy": self.accuracy,
            "overall": self.overall.as_dict(),
            "macro_f1": self.macro_f1,
            "by_type": {name: score.as_dict() for name, score in self.by_type.items()},
        }


def evaluate_spans(
    gold: Labellings, predicted: Labellings, rule: str = AUTO, *, offsets: ArrayLike | None = None
) -> SpanScores:
    """Score predicted spans against gold spans.

    Arguments:
        gold, predicted: labels of B sentences with N tokens: lists of label lists, `Column`s, or `Corpus` objects with
            a column ``tag``.
        rule: ``auto``, ``conlleval``, ``conlleval:<scheme>`` or ``strict:<scheme>``. ``auto`` is ``conlleval``, the
            CoNLL script to the letter, for labels of IOB1, IOB2, IOE1 and IOE2, and ``conlleval:<scheme>`` for others,
            so that a B after an E starts a span. The scheme is detected in gold and predicted labels together; so is
            that of ``strict`` alone. The result's `rule` names it.
        offsets: ``[B + 1]``, where each sentence begins, where both are columns; one sentence when left out.

    >>> gold = [["B-PER", "I-PER", "O", "B-LOC"]]
    >>> scores = evaluate_spans(gold, [["B-PER", "I-PER", "O", "I-LOC"]])
    >>> scores.rule, scores.f1, evaluate_spans(gold, [["B-PER", "I-PER", "O", "I-LOC"]], "strict:IOB2").recall
    ('conlleval', 1.0, 0.5)
    >>> print(scores.text(), end="")
    processed 4 tokens with 2 phrases; found: 2 phrases; correct: 2.
    accuracy:  75.00%; precision: 100.00%; recall: 100.00%; FB1: 100.00
                  LOC: precision: 100.00%; recall: 100.00%; FB1: 100.00  1
                  PER: precision: 100.00%; recall: 100.00%; FB1: 100.00  1
    """
    pair = align(gold, predicted, offsets)
    return spans_of(pair, pair_spans(pair, rule))


def correct_spans(
    gold: Labellings, predicted: Labellings, rule: str = AUTO, *, offsets: ArrayLike | None = None
) -> BoolArray:
    """Say of each predicted span, in the order of the text, whether it is right: ``[M]``.

    Together with the probabilities of the spans this is what `reliability` takes. Arguments as in `evaluate_spans`.

    >>> correct_spans([["B-PER", "O", "B-LOC"]], [["B-PER", "O", "B-ORG"]]).tolist()
    [True, False]
    """
    return pair_spans(align(gold, predicted, offsets), rule).correct


def spans_of(pair: Aligned, spans: SpanPair) -> SpanScores:
    """Score spans that were read already; ``pair`` holds their labels."""
    by_type = count_by_type(spans)
    overall = Score(sum(score.correct for score in by_type.values()), len(spans.predicted), len(spans.gold))
    right = int(np.count_nonzero(pair.gold == pair.predicted))
    return SpanScores(spans.rule, overall, by_type, pair.num_tokens, right)


def count_by_type(spans: SpanPair) -> dict[str, Score]:
    """Count the spans of each type that gold or predicted has, sorted by name."""
    L = len(spans.labels)
    correct, found, gold = (
        np.bincount(labels, minlength=L).tolist()
        for labels in (spans.predicted.label[spans.correct], spans.predicted.label, spans.gold.label)
    )
    return {name: Score(correct[j], found[j], gold[j]) for j, name in enumerate(spans.labels) if found[j] or gold[j]}


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0


def _percentages(score: Score) -> str:
    # Percentages first and F1 from them, in the script's order of operations: the last digit printed depends on it.
    precision, recall = _percent(score.correct, score.found), _percent(score.correct, score.gold)
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return f"precision: {precision:6.2f}%; recall: {recall:6.2f}%; FB1: {f1:6.2f}"
