"""How well labels are told, as CRFsuite reports it: for each label, over all of them, by token and by sentence.

Averages over labels count every label of the model, one that the data do not have with 0. A reference label that the
model does not know is wrong wherever it stands; crfsuite stops counting at such a token, and loses the sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence


class Performance:
    """Counts of labelled tokens and sentences.

    Arguments:
        labels: of the model, in its order.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        self.labels = tuple(labels)
        self._matches: Counter[str] = Counter()
        self._predicted: Counter[str] = Counter()
        self._references: Counter[str] = Counter()
        self.sentences = self.right_sentences = 0

    def add(self, references: Sequence[str], predicted: Sequence[str]) -> None:
        """Count a sentence."""
        self._references.update(references)
        self._predicted.update(predicted)
        self._matches.update(a for a, b in zip(references, predicted, strict=True) if a == b)
        self.sentences += 1
        self.right_sentences += list(references) == list(predicted)

    def unknown(self) -> list[str]:
        """Return the reference labels that the model does not have, sorted."""
        return sorted(set(self._references) - set(self.labels))

    def report(self) -> str:
        """Write the report.

        >>> performance = Performance(["N", "V"])
        >>> performance.add(["N", "N"], ["N", "V"])
        >>> print(performance.report(), end="")
        Performance by label (#match, #model, #ref) (precision, recall, F1):
            N: (1, 1, 2) (1.0000, 0.5000, 0.6667)
            V: (0, 1, 0) (******, ******, ******)
        Macro-average precision, recall, F1: (0.500000, 0.250000, 0.333333)
        Item accuracy: 1 / 2 (0.5000)
        Instance accuracy: 0 / 1 (0.0000)
        """
        counts = [(self._matches[label], self._predicted[label], self._references[label]) for label in self.labels]
        items = self._matches.total(), self._references.total()
        return "".join(report_lines(self.labels, counts, items, (self.right_sentences, self.sentences)))


def report_lines(
    labels: Sequence[str],
    counts: Iterable[tuple[int, int, int]],
    items: tuple[int, int],
    instances: tuple[int, int],
) -> Iterator[str]:
    """Write the report line by line.

    Arguments:
        counts: for each label how often it is right, predicted, and in the data.
        items, instances: tokens and sentences that are right, and all of them.
    """
    yield "Performance by label (#match, #model, #ref) (precision, recall, F1):\n"
    sums = [0.0, 0.0, 0.0]
    for label, (match, model, reference) in zip(labels, counts, strict=True):
        scores = "******, ******, ******"
        if reference:
            values = _scores(match, model, reference)
            sums = [total + value for total, value in zip(sums, values, strict=True)]
            scores = ", ".join(f"{value:.4f}" for value in values)
        yield f"    {label}: ({match}, {model}, {reference}) ({scores})\n"
    means = ", ".join(f"{total / max(1, len(labels)):f}" for total in sums)
    yield f"Macro-average precision, recall, F1: ({means})\n"
    for noun, (right, total) in (("Item", items), ("Instance", instances)):
        yield f"{noun} accuracy: {right} / {total} ({right / max(1, total):.4f})\n"


def _scores(match: int, model: int, reference: int) -> tuple[float, float, float]:
    """Precision, recall and F1; 0 where there is nothing to divide by."""
    precision, recall = match / model if model else 0.0, match / reference
    return precision, recall, 2 * precision * recall / (precision + recall) if match else 0.0
