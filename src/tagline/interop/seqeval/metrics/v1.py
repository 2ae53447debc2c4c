"""The strict mode: only spans that are well formed in a tag scheme count."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tagline.errors import InputError
from tagline.evaluation.alignment import align
from tagline.evaluation.matching import pair_spans
from tagline.evaluation.scores import Score
from tagline.evaluation.span_scores import count_by_type
from tagline.interop.seqeval.metrics import averages
from tagline.interop.seqeval.metrics.averages import METRICS, Scores
from tagline.interop.seqeval.scheme import Entities, Token, as_tags, auto_detect, is_scheme, rule_of
from tagline.messages import message


def unique_labels(
    y_true: list[list[str]], y_pred: list[list[str]], scheme: type[Token], suffix: bool = False
) -> list[str]:
    """Return the types of the entities of both sides, sorted."""
    return sorted(Entities(y_true, scheme, suffix).unique_tags | Entities(y_pred, scheme, suffix).unique_tags)


class LengthsError(InputError):
    """Sentences of other lengths on one side, in seqeval's own three lines."""

    _one_line = False


def check_consistent_length(y_true: list[list[str]], y_pred: list[list[str]]) -> None:
    """Refuse what is no list of lists, or not of the same lengths on both sides."""
    if {*map(type, y_true), *map(type, y_pred)} != {list}:
        raise TypeError(message("Found input variables without list of list."))
    lengths, others = [*map(len, y_true)], [*map(len, y_pred)]
    if lengths != others:
        raise LengthsError("Found input variables with inconsistent numbers of samples:\n{}\n{}", lengths, others)


def precision_recall_fscore_support(
    y_true: list[list[str]],
    y_pred: list[list[str]],
    *,
    average: str | None = None,
    warn_for: Collection[str] = METRICS,
    beta: float = 1.0,
    sample_weight: Any = None,
    zero_division: str | float = "warn",
    scheme: type[Token] | None = None,
    suffix: bool = False,
    **kwargs: Any,
) -> Scores:
    """Score the entities that are well formed in `scheme`.

    Arguments:
        average: None (arrays over the types, sorted), ``micro``, ``macro`` or ``weighted``.
        warn_for: the scores that are wanted; warnings name them alone.
        beta: how much recall counts against precision.
        sample_weight: accepted; no average uses it, in seqeval neither.
        zero_division: what a score without a denominator is: 0, 1, or "warn", which is 0 and a warning.
        scheme: such as `tagline.interop.seqeval.scheme.IOB2`.
        suffix: whether the letter stands behind the type, as in ``PER-B``.

    >>> from tagline.interop.seqeval.scheme import IOB2
    >>> scores = precision_recall_fscore_support([["B-PER", "O"]], [["B-PER", "B-LOC"]], average="micro", scheme=IOB2)
    >>> [float(score) for score in scores]
    [0.5, 1.0, 0.6666666666666666, 1.0]
    """
    averages.check_settings(average, beta)
    check_consistent_length(y_true, y_pred)
    return averages.score(_count(y_true, y_pred, scheme, suffix), average, warn_for, beta, zero_division)


def classification_report(
    y_true: list[list[str]],
    y_pred: list[list[str]],
    *,
    sample_weight: Any = None,
    digits: int = 2,
    output_dict: bool = False,
    zero_division: str | float = "warn",
    suffix: bool = False,
    scheme: type[Token] | None = None,
) -> Any:
    """Report on the entities that are well formed in `scheme`, which is detected where it is left out.

    >>> from tagline.interop.seqeval.scheme import IOB2
    >>> print(classification_report([["B-PER", "I-PER", "O"]], [["B-PER", "I-PER", "O"]], scheme=IOB2), end="")
                  precision    recall  f1-score   support
    <BLANKLINE>
             PER       1.00      1.00      1.00         1
    <BLANKLINE>
       micro avg       1.00      1.00      1.00         1
       macro avg       1.00      1.00      1.00         1
    weighted avg       1.00      1.00      1.00         1
    """
    check_consistent_length(y_true, y_pred)
    if not is_scheme(scheme):
        scheme = auto_detect(y_true, suffix)
    return averages.write_report(_count(y_true, y_pred, scheme, suffix), digits, output_dict, zero_division)


def _count(
    y_true: list[list[str]], y_pred: list[list[str]], scheme: type[Token] | None, suffix: bool
) -> dict[str, Score]:
    if scheme is None or not is_scheme(scheme):
        raise InputError("scheme: expected a class such as IOB2 or IOBES, got {!r}", scheme)
    rule = rule_of(scheme)
    if rule is None:
        return _count_sets(Entities(y_true, scheme, suffix), Entities(y_pred, scheme, suffix))
    (gold, offsets), (predicted, _) = as_tags(y_true, scheme, suffix), as_tags(y_pred, scheme, suffix)
    return count_by_type(pair_spans(align(gold, predicted, offsets), rule))


def _count_sets(gold: Entities, predicted: Entities) -> dict[str, Score]:
    counts = {}
    for name in sorted(gold.unique_tags | predicted.unique_tags):
        mine, theirs = gold.filter(name), predicted.filter(name)
        counts[name] = Score(len(mine & theirs), len(theirs), len(mine))
    return counts
