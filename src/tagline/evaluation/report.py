"""Everything about one output in one place, as text, JSON or HTML.

`evaluate` reads the labels once and hands the same arrays to every scorer. The parts of a `Report` that do not apply
are None: parts of speech have no spans, and without another output there is no comparison.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike

from tagline.drawing.result_tables import table
from tagline.errors import InputError, visible
from tagline.evaluation.alignment import Labellings, align
from tagline.evaluation.calibration import Reliability
from tagline.evaluation.matching import AUTO, CONLLEVAL, pair_spans
from tagline.evaluation.mistakes import Mistakes, mistakes_of, words_of
from tagline.evaluation.partial import PartialScores, partial_of
from tagline.evaluation.scores import Score
from tagline.evaluation.segmentation import SegmentationScores, segmentation_of
from tagline.evaluation.significance import Comparison, Interval, bootstrap_interval, compare
from tagline.evaluation.span_scores import SpanScores, spans_of
from tagline.evaluation.token_scores import TokenScores, tokens_of
from tagline.messages import cells, in_english, message
from tagline.readers.words import SCHEME

SEGMENTATION_RULE = f"{CONLLEVAL}:{SCHEME}"
FORMAT, VERSION = "tagline-evaluation", 1
HEAD = ("precision", "recall", "F1", "gold")
MOST_LABELS = 60  # rows of a table


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """The scores of one output; parts that do not apply are None.

    Attributes:
        tokens: accuracy, labels, confusion matrix.
        spans, partial, mistakes: None where no rule was given.
        words: of segmentation, where tags mark words without types (BMES-words); None elsewhere.
        interval: of F1, None where no resamples were asked for.
        comparison: with another output.
        calibration: reliability by name, such as ``tokens`` or ``spans``; empty unless added by `with_calibration`.

    >>> from tagline import evaluation
    >>> report = evaluation.evaluate([["B-PER", "O", "B-LOC"]], [["B-PER", "O", "O"]])
    >>> report.spans.recall, round(report.tokens.accuracy, 3)
    (0.5, 0.667)
    """

    tokens: TokenScores
    spans: SpanScores | None = None
    partial: PartialScores | None = None
    mistakes: Mistakes | None = None
    interval: Interval | None = None
    comparison: Comparison | None = None
    calibration: Mapping[str, Reliability] = field(default_factory=dict)
    words: SegmentationScores | None = None

    def with_calibration(self, **calibration: Reliability) -> Report:
        """Return the report with the reliability of probabilities, by name."""
        return Report(**{**vars(self), "calibration": {**self.calibration, **calibration}})

    def sections(self) -> list[tuple[str, str]]:
        """Return (title, text) of each part that there is, in the order of reading."""
        parts: list[tuple[str, Any]] = [] if self.words is None else [(message("Words"), self.words)]
        if self.spans is not None and self.words is None:
            parts.append((message("Spans (rule: {})", self.spans.rule), self.spans))
        parts += [
            (message("Confidence"), self.interval),
            (message("Comparison"), self.comparison),
            (message("Partial matches"), self.partial),
            (message("Mistakes"), self.mistakes),
            (message("Tokens"), self.tokens),
            *((message("Calibration of {}", name), curve) for name, curve in self.calibration.items()),
        ]
        return [(title, part.text()) for title, part in parts if part is not None]

    def text(self) -> str:
        """Return all parts as text, each under its title."""
        return "\n".join(f"{title}\n{'-' * cells(title)}\n{text}" for title, text in self.sections())

    def __repr__(self) -> str:
        return f"Report({_headline(self)})"

    def __str__(self) -> str:
        rows = _score_rows(self)
        width = max(8, *(len(name) for name, _ in rows))
        lines = [_headline(self), f"{'':{width}}   {message('precision  recall      F1    gold')}"]
        for name, (precision, recall, f1, gold) in rows:
            lines.append(f"{name:{width}}   {precision:>9}  {recall:>6}  {f1:>6}  {gold:>6}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        name = "label" if self.spans is None else "type"
        rows = [[row, *figures] for row, figures in _score_rows(self)]
        rule = "" if self.spans is None else message(", rule {}", self.spans.rule)
        return f"<div>{table([name, *HEAD], rows, title=_headline(self) + rule)}</div>"

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, lists and strings, under keys that stay."""
        parts = {
            name: None if part is None else part.as_dict()
            for name, part in (
                ("spans", self.spans),
                ("tokens", self.tokens),
                ("partial", self.partial),
                ("mistakes", self.mistakes),
                ("interval", self.interval),
                ("comparison", self.comparison),
            )
        }
        calibration = {name: curve.as_dict() for name, curve in self.calibration.items()}
        words = {} if self.words is None else {"words": self.words.as_dict()}
        return {"format": FORMAT, "version": VERSION, **parts, "calibration": calibration, **words}

    def json(self, indent: int | None = 2) -> str:
        """Return `as_dict` as JSON."""
        return json.dumps(in_english(self.as_dict()), ensure_ascii=False, indent=indent, allow_nan=False) + "\n"

    def html(self, title: str = "Evaluation") -> str:
        """Return one HTML page that needs nothing else."""
        from tagline.evaluation.html import page

        return page(self, title)


def evaluate(
    gold: Labellings,
    predicted: Labellings,
    rule: str | None = AUTO,
    *,
    other: Labellings | None = None,
    tokens: Labellings | None = None,
    training_words: Iterable[str] | None = None,
    examples: int = 5,
    resamples: int = 0,
    seed: int = 0,
    offsets: ArrayLike | None = None,
) -> Report:
    """Score an output in every way that applies.

    Arguments:
        gold, predicted, offsets: as in `evaluate_spans`.
        rule: as in `evaluate_spans`; None for labels without spans, such as parts of speech.
        other: another output for the same sentences, to compare with: does it differ in F1?
        tokens: the words, for the examples; those of ``gold`` where it is a corpus.
        training_words: the words of the training text, for the recall of unknown words of segmentation.
        examples: how many of each kind of mistake are shown.
        resamples: draws for the interval of F1 (0: no interval) and for the comparison (10,000 when 0).
        seed: of the draws.

    >>> report = evaluate([["B-PER", "O"]], [["B-PER", "O"]], "strict:IOB2")
    >>> report.spans.f1, report.tokens.accuracy, report.comparison
    (1.0, 1.0, None)
    """
    pair = align(gold, predicted, offsets)
    spans = None if rule is None else pair_spans(pair, rule)
    if training_words is not None and (spans is None or spans.rule != SEGMENTATION_RULE):
        raise InputError(
            "training_words: expected tags that mark words without types ({}), to tell which are unknown, got {}",
            SCHEME,
            message("labels of tokens") if spans is None else message("those of the rule {}", spans.rule),
        )
    if spans is None:
        return Report(tokens_of(pair))
    words = words_of(tokens, pair.num_tokens, gold)
    counts = spans.per_sentence() if resamples or other is not None else None
    comparison = None
    if counts is not None and other is not None:
        others = pair_spans(align(gold, other, offsets), spans.rule).per_sentence()
        comparison = compare(counts, others, resamples=resamples or 10_000, seed=seed)
    return Report(
        tokens_of(pair),
        spans_of(pair, spans),
        partial_of(spans),
        mistakes_of(spans, words, examples),
        bootstrap_interval(counts, resamples=resamples, seed=seed) if counts is not None and resamples else None,
        comparison,
        words=segmentation_of(pair, words, training_words) if spans.rule == SEGMENTATION_RULE else None,
    )


def span_f1(model: Any, X: Any, y: Any = None) -> float:
    """Return the F1 of the spans that a model finds, for scikit-learn: ``GridSearchCV(crf, grid, scoring=span_f1)``.

    Arguments:
        model: any model of Tagline; spans are read by its tag scheme, as `evaluate` does.
        X: sentences, as for `predict`.
        y: their labels; left out where X is a `Corpus` with tags.

    >>> from tagline import CRF, Corpus
    >>> corpus = Corpus.from_sentences([(["Anna", "sings"], ["B-PER", "O"])])
    >>> span_f1(CRF("U00:%x[0,0]", scheme="IOB2", c2=0.1).fit(corpus), corpus)
    1.0
    """
    spans = model.evaluate(X, y, examples=0).spans
    if spans is None:
        raise InputError("span_f1: the labels are of no tag scheme and mark no spans; take the default score instead")
    return float(spans.f1)


def _headline(report: Report) -> str:
    """Say in one line how good it is.

    >>> _headline(evaluate([["B-PER", "O"]], [["B-PER", "O"]]))
    'F1 100.00, precision 100.00, recall 100.00, 1 gold spans; accuracy 100.00 of 2 tokens'
    """
    tokens = message("accuracy {:.2f} of {:,} tokens", 100 * report.tokens.accuracy, report.tokens.num_tokens)
    if report.spans is None:
        return tokens
    precision, recall, f1, gold = _figures(report.spans.overall)
    return message("F1 {}, precision {}, recall {}, {} gold spans; {}", f1, precision, recall, gold, tokens)


def _score_rows(report: Report) -> list[tuple[str, tuple[str, ...]]]:
    """Return the name and the figures of each type and of all spans; of each label where there are no spans."""
    if report.spans is None:
        scores = list(report.tokens.by_label.items())
    else:
        scores = [*report.spans.by_type.items(), ("all", report.spans.overall)]
    rows = [(visible(name) or "(no type)", _figures(score)) for name, score in scores[-MOST_LABELS:]]
    left_out = len(scores) - len(rows)
    return [(message("({} more)", left_out), ("", "", "", "")), *rows] if left_out else rows


def _figures(score: Score) -> tuple[str, ...]:
    return *(f"{100 * share:.2f}" for share in (score.precision, score.recall, score.f1)), f"{score.gold:,}"
