"""Counts of each type become precision, recall, F and support, one by one or averaged, with seqeval's warnings.

    F = (1 + β²) · P · R / (β² · P + R)

The operations and their order are those that give seqeval's floats to the last bit.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline.errors import InputError
from tagline.evaluation.scores import Score
from tagline.interop.seqeval.reporters import DictReporter, Reporter, StringReporter

AVERAGES = (None, "micro", "macro", "weighted")
METRICS = ("precision", "recall", "f-score")
Scores = tuple[Any, Any, Any, Any]
"""Precision, recall, F and support: arrays over the types, or averages."""
Counts = Mapping[str, Score]


def check_settings(average: str | None, beta: float) -> None:
    """Refuse averages that there are not, and a negative β."""
    if beta < 0:
        raise InputError("beta should be >=0 in the F-beta score, got {}", beta)
    if average not in AVERAGES:
        raise InputError("average has to be one of {}, got {!r}", AVERAGES, average)


def score(
    counts: Counts,
    average: str | None,
    warn_for: Collection[str] = METRICS,
    beta: float = 1.0,
    zero_division: str | float = "warn",
) -> Scores:
    """Score the counts of each type, sorted by name.

    Arguments:
        average: None for arrays; ``micro`` counts all types together; ``macro`` is the mean of the types, and
            ``weighted`` their mean by support.
        warn_for: the scores that the caller wants, of `METRICS`: warnings name them alone.
        zero_division: what a score without a denominator is: 0, 1, or "warn", which is 0 and a warning.
    """
    correct, found, gold = _arrays(counts, micro=average == "micro")
    value = 0.0 if zero_division in ("warn", 0) else 1.0
    precision, recall = _divide(correct, found, value), _divide(correct, gold, value)
    if zero_division == "warn":
        _warn(found, gold, warn_for)
    f_score = _f_score(precision, recall, beta)
    if average == "weighted" and gold.sum() == 0:
        without = value if found.sum() == 0 else 0.0
        return without, value, without, sum(gold)
    if average is not None:
        weights = gold if average == "weighted" else None
        means = [np.average(part, weights=weights) for part in (precision, recall, f_score)]
        return means[0], means[1], means[2], sum(gold)
    return precision, recall, f_score, gold


def write_report(counts: Counts, digits: int, output_dict: bool, zero_division: str | float) -> Any:
    """Write a row for each type and one for each average, as text or as a dictionary."""
    reporter: Reporter = DictReporter()
    if not output_dict:
        if not counts:
            raise InputError("y_true, y_pred: expected an entity on either side to report on, got none at all")
        width = max(*map(len, counts), len("weighted avg"), digits)
        reporter = StringReporter(width=width, digits=digits)
    for row in zip(counts, *score(counts, None, zero_division=zero_division), strict=True):
        reporter.write(*row)
    reporter.write_blank()
    for average in ("micro", "macro", "weighted"):
        reporter.write(f"{average} avg", *score(counts, average, zero_division=zero_division))
    reporter.write_blank()
    return reporter.report()


def _arrays(counts: Counts, micro: bool) -> list[NDArray[Any]]:
    table = [[score.correct, score.found, score.gold] for score in counts.values()]
    columns = np.array(table, np.int64 if table else np.int32).reshape(-1, 3).T
    return [np.array([column.sum()]) if micro else column for column in columns]


def _divide(part: NDArray[Any], whole: NDArray[Any], otherwise: float) -> NDArray[np.float64]:
    shares: NDArray[np.float64] = np.where(whole == 0, otherwise, part / np.maximum(whole, 1))
    return shares


def _f_score(precision: NDArray[np.float64], recall: NDArray[np.float64], beta: float) -> NDArray[np.float64]:
    if np.isposinf(beta):
        return recall
    square = beta**2
    below = square * precision + recall
    below[below == 0.0] = 1
    f_score: NDArray[np.float64] = (1 + square) * precision * recall / below
    return f_score


def _warn(found: NDArray[Any], gold: NDArray[Any], warn_for: Collection[str]) -> None:
    """Warn of scores that have no denominator, in the words that filters of warnings look for."""
    for metric, kind, whole in (("precision", "predicted", found), ("recall", "true", gold)):
        if metric in warn_for and (whole == 0).any():
            names = f"{metric.title()} and F-score are" if "f-score" in warn_for else f"{metric.title()} is"
            _say_undefined(names, kind, len(whole))
    if tuple(warn_for) == ("f-score",) and (found[gold == 0] == 0).any():
        _say_undefined("F-score is", "true nor predicted", len(gold))


def _say_undefined(names: str, kind: str, size: int) -> None:
    from sklearn.exceptions import UndefinedMetricWarning  # type: ignore[import-untyped]

    place = "due to" if size == 1 else "in labels with"
    text = (
        f"{names} ill-defined and being set to 0.0 {place} no {kind} samples. "
        "Use `zero_division` parameter to control this behavior."
    )
    warnings.warn(text, UndefinedMetricWarning, stacklevel=5)
