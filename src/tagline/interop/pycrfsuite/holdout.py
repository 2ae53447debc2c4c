"""How well weights do on the holdout group, as CRFsuite's log has it: by label, on average, by token, by sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tagline import chain as engine
from tagline.features.weights import Scorer, Structure
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
        match = np.bincount(gold[right], minlength=L)
        model, ref = np.bincount(best, minlength=L), np.bincount(gold, minlength=L)
        precision, recall = _share(match, model), _share(match, ref)
        f1 = _share(2 * precision * recall, precision + recall)
        self._tell("Performance by label (#match, #model, #ref) (precision, recall, F1):\n")
        for k, label in enumerate(self._labels):
            scores = f"{precision[k]:1.4f}, {recall[k]:1.4f}, {f1[k]:1.4f}" if ref[k] else "******, ******, ******"
            self._tell(f"    {label}: ({match[k]}, {model[k]}, {ref[k]}) ({scores})\n")
        means = [scores[ref > 0].sum() / max(L, 1) for scores in (precision, recall, f1)]
        self._tell("Macro-average precision, recall, F1: ({:f}, {:f}, {:f})\n".format(*means))
        self._tell_accuracy("Item", int(right.sum()), len(right))
        offsets = self._part.features.offsets
        wrong_before = np.concatenate([[0], np.cumsum(~right)])[offsets]  # [B + 1]
        self._tell_accuracy("Instance", int((np.diff(wrong_before) == 0).sum()), len(offsets) - 1)

    def _best(self, weights: Float64Array) -> IntArray:
        if not len(self._part.labels):
            return np.zeros(0, np.int64)
        chains = feature_chains(Scorer(self._structure, weights), self._part.features)
        return np.concatenate([engine.viterbi(chain).labels for chain in chains])

    def _tell_accuracy(self, noun: str, right: int, total: int) -> None:
        self._tell(f"{noun} accuracy: {right} / {total} ({right / max(total, 1):1.4f})\n")


def _share(part: Float64Array | IntArray, whole: Float64Array | IntArray) -> Float64Array:
    """Return part / whole, 0 where there is no whole."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=np.asarray(whole) > 0)
