"""The scores that seqeval's users call: in the default mode any labels are read, in strict mode by a scheme."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any

from tagline.errors import InputError
from tagline.evaluation.span_scores import count_by_type
from tagline.interop.seqeval.chunks import get_entities, pair_chunks
from tagline.interop.seqeval.metrics import averages, v1
from tagline.interop.seqeval.metrics.averages import METRICS, Scores
from tagline.interop.seqeval.scheme import Token
from tagline.messages import message

__all__ = [
    "accuracy_score",
    "classification_report",
    "f1_score",
    "get_entities",
    "performance_measure",
    "precision_recall_fscore_support",
    "precision_score",
    "recall_score",
]


def precision_recall_fscore_support(
    y_true: list[list[str]],
    y_pred: list[list[str]],
    *,
    average: str | None = None,
    warn_for: Collection[str] = METRICS,
    beta: float = 1.0,
    sample_weight: Any = None,
    zero_division: str | float = "warn",
    suffix: bool = False,
) -> Scores:
    """Score the chunks of the default mode; arguments as in `tagline.interop.seqeval.metrics.v1`.

    >>> y_true, y_pred = [["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "I-PER", "O", "I-LOC"]]
    >>> [float(score) for score in precision_recall_fscore_support(y_true, y_pred, average="macro")]
    [1.0, 1.0, 1.0, 2.0]
    """
    averages.check_settings(average, beta)
    v1.check_consistent_length(y_true, y_pred)
    counts = count_by_type(pair_chunks(y_true, y_pred, suffix))
    return averages.score(counts, average, warn_for, beta, zero_division)


def f1_score(
    y_true: list[list[str]],
    y_pred: list[list[str]],
    *,
    average: str | None = "micro",
    suffix: bool = False,
    mode: str | None = None,
    sample_weight: Any = None,
    zero_division: str | float = "warn",
    scheme: type[Token] | None = None,
) -> Any:
    """Return F1: the harmonic mean of precision and recall, averaged, or an array over the types.

    >>> float(f1_score([["B-PER", "O"]], [["B-PER", "B-LOC"]]))
    0.6666666666666666
    """
    return _scores(y_true, y_pred, ("f-score",), average, suffix, mode, zero_division, scheme)[2]


def precision_score(
    y_true: list[list[str]],
    y_pred: list[list[str]],
    *,
    average: str | None = "micro",
    suffix: bool = False,
    mode: str | None = None,
    sample_weight: Any = None,
    zero_division: str | float = "warn",
    scheme: type[Token] | None = None,
) -> Any:
    """Return precision: the share of the predicted entities that are right.

    >>> float(precision_score([["B-PER", "O"]], [["B-PER", "B-LOC"]]))
    0.5
    """
    return _scores(y_true, y_pred, ("precision",), average, suffix, mode, zero_division, scheme)[0]


def recall_score(
    y_true: list[list[str]],
    y_pred: list[list[str]],
    *,
    average: str | None = "micro",
    suffix: bool = False,
    mode: str | None = None,
    sample_weight: Any = None,
    zero_division: str | float = "warn",
    scheme: type[Token] | None = None,
) -> Any:
    """Return recall: the share of the true entities that were found.

    >>> float(recall_score([["B-PER", "O"]], [["B-PER", "B-LOC"]]))
    1.0
    """
    return _scores(y_true, y_pred, ("recall",), average, suffix, mode, zero_division, scheme)[1]


def classification_report(
    y_true: list[list[str]],
    y_pred: list[list[str]],
    digits: int = 2,
    suffix: bool = False,
    output_dict: bool = False,
    mode: str | None = None,
    sample_weight: Any = None,
    zero_division: str | float = "warn",
    scheme: type[Token] | None = None,
) -> Any:
    """Report precision, recall, F1 and support of each type and of three averages, as text or as a dictionary.

    Arguments:
        digits: behind the decimal points.
        suffix: whether the letter stands behind the type, as in ``PER-B``.
        output_dict: return a dictionary.
        mode: ``strict`` to count only what is well formed in `scheme`.
        zero_division: what a score without a denominator is: 0, 1, or "warn", which is 0 and a warning.
        scheme: of strict mode; detected where it is left out.

    >>> print(classification_report([["B-PER", "O"]], [["B-PER", "O"]]), end="")
                  precision    recall  f1-score   support
    <BLANKLINE>
             PER       1.00      1.00      1.00         1
    <BLANKLINE>
       micro avg       1.00      1.00      1.00         1
       macro avg       1.00      1.00      1.00         1
    weighted avg       1.00      1.00      1.00         1
    """
    if mode == "strict":
        return v1.classification_report(
            y_true,
            y_pred,
            digits=digits,
            output_dict=output_dict,
            zero_division=zero_division,
            suffix=suffix,
            scheme=scheme,
        )
    v1.check_consistent_length(y_true, y_pred)
    counts = count_by_type(pair_chunks(y_true, y_pred, suffix))
    return averages.write_report(counts, digits, output_dict, zero_division)


def accuracy_score(y_true: Sequence[Any], y_pred: Sequence[Any]) -> float:
    """Return the share of labels that are right.

    >>> accuracy_score([["B-PER", "O"]], [["B-PER", "B-LOC"]])
    0.5
    """
    true, predicted = _flat(y_true, y_pred)
    if not true:
        raise ZeroDivisionError(message("y_true: expected labels to compare, got none"))
    right: int = sum(one == two for one, two in zip(true, predicted, strict=True))
    return right / len(true)


def performance_measure(y_true: Sequence[Any], y_pred: Sequence[Any]) -> dict[str, int]:
    """Count labels: TP are equal and not O, FP predicted but wrong, FN missed (O instead), TN O on both sides.

    >>> performance_measure([["B-PER", "O"]], [["B-PER", "B-LOC"]])
    {'TP': 1, 'FP': 1, 'FN': 0, 'TN': 0}
    """
    counts = dict.fromkeys(("TP", "FP", "FN", "TN"), 0)
    for (true, predicted), count in Counter(zip(*_flat(y_true, y_pred), strict=True)).items():
        if true == predicted:
            counts["TN" if true == "O" else "TP"] += count
        else:
            counts["FN" if predicted == "O" else "FP"] += count
    return counts


def _scores(
    y_true: list[list[str]],
    y_pred: list[list[str]],
    warn_for: tuple[str, ...],
    average: str | None,
    suffix: bool,
    mode: str | None,
    zero_division: str | float,
    scheme: type[Token] | None,
) -> Scores:
    """Score in strict mode where it is asked for and has a scheme, and in the default mode otherwise."""
    wanted: dict[str, Any] = {"average": average, "warn_for": warn_for}
    if mode == "strict" and scheme:
        return v1.precision_recall_fscore_support(
            y_true, y_pred, zero_division=zero_division, scheme=scheme, suffix=suffix, **wanted
        )
    return precision_recall_fscore_support(y_true, y_pred, zero_division=zero_division, suffix=suffix, **wanted)


def _flat(y_true: Sequence[Any], y_pred: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return the labels of both sides in one list each."""
    if any(isinstance(labels, list) for labels in y_true):
        y_true, y_pred = [*chain.from_iterable(y_true)], [*chain.from_iterable(y_pred)]
    if len(y_true) != len(y_pred):
        raise InputError("y_pred: expected {} labels, as many as in y_true, got {}", len(y_true), len(y_pred))
    return list(y_true), list(y_pred)
