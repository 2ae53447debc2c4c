"""How well weights do on the holdout group, as CRFsuite's log has it: by label, on average, by token, by sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tagline import chain as engine
from tagline.features.weights import Scorer, Structure
from tagline.interop.crfsuite.performance import report_lines
from tagline.interop.pycrfsuite.training_groups import LabelledPart
from tagline.models.crf.chains import feature_chains
from tagline.types import Float64Array, IntArray


class Holdout:
    """Sentences that are not learned from.

    Arguments:
        part: the sentences.
        labels: all labels by number.
        structure: which weights there are.
        tell: takes a message of the log.
    """

    def __init__(
        self, part: LabelledPart, labels: Sequence[str], structure: Structure, tell: Callable[[str], None]
    ) -> None:
        self._part, self._labels, self._structure, self._tell = part, labels, structure, tell

    def evaluate(self, weights: Float64Array) -> None:
        """Label the sentences by weights, and write how many labels are right."""
        gold, best, L = self._part.labels, self._best(weights), len(self._labels)
        right = gold == best
        rows = (np.bincount(labels, minlength=L).tolist() for labels in (gold[right], best, gold))
        offsets = self._part.features.offsets
        wrong_before = np.concatenate([[0], np.cumsum(~right)])[offsets]  # [B + 1]
        items = int(right.sum()), len(right)
        instances = int((np.diff(wrong_before) == 0).sum()), len(offsets) - 1
        for line in report_lines(self._labels, zip(*rows, strict=True), items, instances):
            self._tell(line)

    def _best(self, weights: Float64Array) -> IntArray:
        if not len(self._part.labels):
            return np.zeros(0, np.int64)
        chains = feature_chains(Scorer(self._structure, weights), self._part.features)
        return np.concatenate([engine.viterbi(chain).labels for chain in chains])
