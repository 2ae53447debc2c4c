"""Scores of labelled sentences by scikit-learn's functions, as sklearn-crfsuite names them.

Each ``flat_`` function joins the sentences to one list of labels and takes every further argument of its namesake in
`sklearn.metrics`. Sentences of different lengths are an error; joined, they would be compared at the wrong places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tagline.errors import InputError
from tagline.interop.sklearn_crfsuite.utils import flatten

Labels = Iterable[Sequence[Any]]


def flat_accuracy_score(y_true: Labels, y_pred: Labels, **kwargs: Any) -> Any:
    """Return the share of tokens whose label is right; see `sklearn.metrics.accuracy_score`.

    >>> flat_accuracy_score([["B", "O"], ["O"]], [["B", "B"], ["O"]])
    0.6666666666666666
    """
    return _flat("accuracy_score", y_true, y_pred, kwargs)


def flat_precision_score(y_true: Labels, y_pred: Labels, **kwargs: Any) -> Any:
    """Return the precision over tokens; see `sklearn.metrics.precision_score`."""
    return _flat("precision_score", y_true, y_pred, kwargs)


def flat_recall_score(y_true: Labels, y_pred: Labels, **kwargs: Any) -> Any:
    """Return the recall over tokens; see `sklearn.metrics.recall_score`."""
    return _flat("recall_score", y_true, y_pred, kwargs)


def flat_f1_score(y_true: Labels, y_pred: Labels, **kwargs: Any) -> Any:
    """Return the F1 over tokens; see `sklearn.metrics.f1_score`."""
    return _flat("f1_score", y_true, y_pred, kwargs)


def flat_fbeta_score(y_true: Labels, y_pred: Labels, beta: float, **kwargs: Any) -> Any:
    """Return the F-beta over tokens; see `sklearn.metrics.fbeta_score`."""
    return _flat("fbeta_score", y_true, y_pred, {"beta": beta, **kwargs})


def flat_classification_report(y_true: Labels, y_pred: Labels, labels: Any = None, **kwargs: Any) -> Any:
    """Return precision, recall and F1 of each label; see `sklearn.metrics.classification_report`."""
    return _flat("classification_report", y_true, y_pred, {"labels": labels, **kwargs})


def sequence_accuracy_score(y_true: Labels, y_pred: Labels) -> float:
    """Return the share of sentences all of whose labels are right; 0 where there are no sentences.

    >>> sequence_accuracy_score([["B", "O"], ["O", "O"]], [["B", "O"], ["O", "B"]])
    0.5
    """
    true, predicted = list(y_true), list(y_pred)
    if len(true) != len(predicted):
        raise InputError("y_pred: expected labels of {} sentences, as in y_true, got {}", len(true), len(predicted))
    if not true:
        return 0
    return sum(list(a) == list(b) for a, b in zip(true, predicted, strict=True)) / len(true)


def _flat(name: str, y_true: Labels, y_pred: Labels, arguments: dict[str, Any]) -> Any:
    """Call a function of `sklearn.metrics` on the tokens of sentences."""
    from sklearn import metrics  # type: ignore[import-untyped]

    true, predicted = list(y_true), list(y_pred)
    _check_lengths(true, predicted)
    score: Callable[..., Any] = getattr(metrics, name)
    return score(flatten(true), flatten(predicted), **arguments)


def _check_lengths(true: list[Sequence[Any]], predicted: list[Sequence[Any]]) -> None:
    if len(true) != len(predicted):
        raise InputError("y_pred: expected labels of {} sentences, as in y_true, got {}", len(true), len(predicted))
    for b, (labels, guesses) in enumerate(zip(true, predicted, strict=True)):
        if len(labels) != len(guesses):
            raise InputError("y_pred[{}]: expected {} labels, as in y_true, got {}", b, len(labels), len(guesses))
