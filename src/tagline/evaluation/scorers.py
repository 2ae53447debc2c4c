"""Scorers for the searches of scikit-learn: functions of a model, sentences and labels, to be maximised."""

from __future__ import annotations

from typing import Any

from tagline.errors import InputError


def span_f1(model: Any, X: Any, y: Any = None) -> float:
    """Return the F1 of the spans that a model finds: ``GridSearchCV(crf, grid, scoring=span_f1)``.

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
