"""The score on a dev set after each pass of training: F1 of spans where labels are of a tag scheme, else accuracy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tagline import chain as engine
from tagline.errors import InputError
from tagline.evaluation.matching import rule_for_labels
from tagline.evaluation.report import Report
from tagline.evaluation.scores import Score
from tagline.evaluation.span_scores import evaluate_spans
from tagline.models.labelled import LabelledTokens
from tagline.readers.corpus import Column, Corpus
from tagline.types import Chain, IntArray


def check_dev(X: Any, y: Any, **beside: Any) -> bool:
    """Say whether there is a dev set; refuse half of one, and what is about it without one."""
    if X is None and y is None:
        for name, value in beside.items():
            if value is not None:
                raise InputError("{}: there is no dev set that it is about; pass X_dev and y_dev, too", name)
        return False
    if X is None or (y is None and not isinstance(X, Corpus)):
        raise InputError("X_dev, y_dev: expected both or neither, got one")
    return True


def score_facts(report: Report) -> dict[str, Any]:
    """Return scores on a dev set as a model's file keeps them: of tokens, of spans, and of spans by type."""
    facts: dict[str, Any] = {"accuracy": float(report.tokens.accuracy)}
    if report.spans is not None:
        facts |= _numbers(report.spans.overall)
        facts["types"] = {name: {**_numbers(score), "gold": score.gold} for name, score in report.spans.by_type.items()}
    return facts


def _numbers(score: Score) -> dict[str, float]:
    return {name: float(getattr(score, name)) for name in ("precision", "recall", "f1")}


class DevSet:
    """The labels of held-out sentences, and how well a labelling of them does.

    Attributes:
        labels: those that occur.
        gold: one a token.
        offsets: ``[B + 1]``.
    """

    def __init__(self, labelled: LabelledTokens, labels: Sequence[str]) -> None:
        if labelled.sets:
            raise InputError("y_dev: expected a label for every token, got unknown ones")
        self.gold, self.offsets = Column(labelled.labels, labelled.ids), labelled.offsets
        self.labels = {labelled.labels[number] for number in np.unique(labelled.ids).tolist()}
        self._rule = rule_for_labels(self.gold.vocabulary, labels)
        self._names = tuple(labels)

    def score(self, chains: Iterable[Chain]) -> float:
        """Return F1 of spans as conlleval counts them, or the share of right labels, from 0 to 1.

        Arguments:
            chains: the sentences as a model scores them, over its labels.
        """
        return self.score_labels(engine.viterbi(chain).labels for chain in chains)

    def score_labels(self, best: Iterable[IntArray]) -> float:
        """Return the same for blocks of labels ``[N]``, numbers of the model's."""
        ids = np.concatenate([np.zeros(0, np.int64), *best]).astype(np.int32)
        if self._rule is not None:
            return evaluate_spans(self.gold, Column(self._names, ids), self._rule, offsets=self.offsets).f1
        numbers = {label: number for number, label in enumerate(self.gold.vocabulary)}
        right = np.array([numbers.get(label, -1) for label in self._names])[ids] == self.gold.ids
        return float(right.mean()) if len(right) else 0.0
