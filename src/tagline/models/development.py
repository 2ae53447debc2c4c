"""The score on a dev set after each pass of training: F1 of spans where labels are of a tag scheme, else accuracy."""

from __future__ import annotations

from typing import Any

import numpy as np

from tagline import chain as engine
from tagline.errors import InputError
from tagline.evaluation.matching import rule_for_labels
from tagline.evaluation.spans import evaluate_spans
from tagline.features.weights import Scorer
from tagline.models.answers import MOST_TOKENS, pieces
from tagline.models.extraction import Extraction
from tagline.models.fitting import some_sentences
from tagline.models.parameters import Parameters
from tagline.models.targets import match_lengths, read_labels
from tagline.readers.corpus import Column
from tagline.types import Float64Array


class DevSet:
    """Held-out sentences, expanded once; call it with weights."""

    def __init__(self, X: Any, y: Any, edges: Any, extraction: Extraction, parameters: Parameters) -> None:
        labelled = read_labels(X, y)
        self.features = extraction.look_up(X, (parameters.states, parameters.edges), edges).features
        match_lengths(self.features.offsets, labelled)
        if labelled.sets:
            raise InputError("y_dev: expected a label for every token, got unknown ones")
        self.gold = Column(labelled.labels, labelled.ids)
        self.parameters = parameters
        self.scorer = Scorer(parameters.structure, parameters.weights, parameters.rules)
        self.rule = rule_for_labels(self.gold.vocabulary, parameters.labels)

    def __call__(self, weights: Float64Array) -> float:
        """Return F1 of spans (as conlleval counts them), or the share of right labels."""
        scorer = self.scorer.with_weights(weights)
        bounds = self.features.offsets
        most = MOST_TOKENS if self.features.edges is None else max(1, MOST_TOKENS // len(self.parameters.labels))
        labels = [
            engine.viterbi(scorer.chain(some_sentences(self.features, first, last))).labels
            for first, last in pieces(bounds, most)
        ]
        ids = np.concatenate(labels).astype(np.int32) if labels else np.zeros(0, np.int32)
        predicted = Column(self.parameters.labels, ids)
        if self.rule is None:
            table = {label: number for number, label in enumerate(self.gold.vocabulary)}
            same = np.array([table.get(label, -1) for label in predicted.vocabulary])[ids] == self.gold.ids
            return float(same.mean()) if len(same) else 0.0
        return evaluate_spans(self.gold, predicted, self.rule, offsets=bounds).f1
