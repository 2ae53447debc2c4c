"""Gold spans beside predicted ones: which are equal, which overlap.

The spans of one side never overlap each other and come in the order of the text, so each question is a binary search.
Positions count the tokens of the whole corpus, so that spans of different sentences never meet.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tagline.checks import shown_value
from tagline.errors import InputError
from tagline.evaluation.alignment import Aligned
from tagline.ragged import offsets_of
from tagline.readers.corpus import TAG, Column, Corpus
from tagline.readers.detection import detect
from tagline.readers.spans import SpanArray, find_spans
from tagline.types import BoolArray, IntArray

AUTO, CONLLEVAL, STRICT = "auto", "conlleval", "strict"
SCRIPT_LETTERS = frozenset("BIE[].")
FOREIGN_LETTERS = "SULMW"
"""Letters of schemes that the CoNLL script does not know."""


@dataclass(frozen=True, eq=False)
class PlacedSpans:
    """The M spans of one side, in the order of the text, by their places in the whole corpus.

    Attributes:
        start, end: ``[M]``, int64, tokens of the whole corpus, ``end`` exclusive.
        label: ``[M]``, int64, indices into the labels of the `SpanPair`.
        sentence: ``[M]``, int64.
    """

    start: IntArray
    end: IntArray
    label: IntArray
    sentence: IntArray

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True, eq=False)
class SpanPair:
    """Gold and predicted spans of the same sentences.

    Attributes:
        labels: the types of both, sorted.
        gold, predicted: the spans.
        offsets: ``[B + 1]``, where each sentence begins.
        rule: how labels became spans.
    """

    labels: tuple[str, ...]
    gold: PlacedSpans
    predicted: PlacedSpans
    offsets: IntArray
    rule: str

    @property
    def correct(self) -> BoolArray:
        """Whether each predicted span is a gold one, boundary and type: ``[predicted]``."""
        gold, predicted = self.gold, self.predicted
        if not len(gold):
            return np.zeros(len(predicted), np.bool_)
        partner = np.minimum(np.searchsorted(gold.end, predicted.end), len(gold) - 1)  # that ends there, if any
        same_boundary, same_type = self.agreement(partner, np.arange(len(predicted)))
        return same_boundary & same_type

    @property
    def overlaps(self) -> tuple[IntArray, IntArray]:
        """All pairs of a gold and a predicted span that share a token: two arrays of indices, ``[pairs]`` each."""
        gold, predicted = self.gold, self.predicted
        first = np.searchsorted(gold.end, predicted.start, side="right")
        last = np.searchsorted(gold.start, predicted.end, side="left")
        sizes = last - first  # [predicted], never negative: both sides are in order
        of_predicted = np.repeat(np.arange(len(predicted)), sizes)
        of_gold = np.repeat(first - offsets_of(sizes)[:-1], sizes) + np.arange(len(of_predicted))
        return of_gold, of_predicted

    def agreement(self, of_gold: IntArray, of_predicted: IntArray) -> tuple[BoolArray, BoolArray]:
        """Say of pairs, as `overlaps` gives them, whether they have the same boundary, and whether the same type."""
        gold, predicted = self.gold, self.predicted
        start = gold.start[of_gold] == predicted.start[of_predicted]
        end = gold.end[of_gold] == predicted.end[of_predicted]
        return start & end, gold.label[of_gold] == predicted.label[of_predicted]

    def per_sentence(self) -> IntArray:
        """Count correct, found and gold spans of each sentence: ``[B, 3]``."""
        B = len(self.offsets) - 1
        columns = (self.predicted.sentence[self.correct], self.predicted.sentence, self.gold.sentence)
        return np.stack([np.bincount(sentences, minlength=B) for sentences in columns], axis=1).astype(np.int64)


def pair_spans(pair: Aligned, rule: str) -> SpanPair:
    """Find the spans on both sides by a rule of `tagline.readers.spans`, or by one that `full_rule` completes."""
    rule = full_rule(pair, rule)
    gold, predicted = (find_spans(column, pair.offsets, rule) for column in pair.columns)
    labels = tuple(sorted({*gold.labels, *predicted.labels}))
    return SpanPair(
        labels, _placed(gold, pair.offsets, labels), _placed(predicted, pair.offsets, labels), pair.offsets, rule
    )


def full_rule(pair: Aligned, rule: str) -> str:
    """Complete ``auto`` and ``strict`` by the tag scheme of the labels, which both sides decide together.

    ``auto`` is the CoNLL script's reading where the scheme makes no difference to it (IOB1, IOB2, IOE1, IOE2), and
    ``conlleval:<scheme>`` otherwise: the script does not know S, and joins a B to an E of the same type before it.
    """
    if not isinstance(rule, str):
        raise InputError("rule: expected a name such as auto, conlleval or strict:IOB2, got {}", shown_value(rule))
    if rule == CONLLEVAL:
        _check_script(pair)
    if rule not in (AUTO, STRICT):
        return rule
    letters = {label[:1] for label in pair.labels if label != "O"}
    if rule == AUTO and letters <= SCRIPT_LETTERS and not letters >= {"B", "E"}:
        return CONLLEVAL
    both = Column(pair.labels, np.concatenate([pair.gold, pair.predicted]))
    detection = detect(Corpus({TAG: both}, np.concatenate([pair.offsets, pair.offsets[1:] + pair.num_tokens])))
    if detection.scheme is not None:
        return f"{CONLLEVAL if rule == AUTO else rule}:{detection.scheme.name}"
    if rule == AUTO and letters <= SCRIPT_LETTERS:
        return CONLLEVAL
    raise InputError(
        "labels: expected those of a known tag scheme, got others: {}; name the scheme, or score tokens only",
        detection.reason,
    )


def _check_script(pair: Aligned) -> None:
    """Refuse labels that the CoNLL script never ends a span at: letters that it does not know, without a type."""
    for label in pair.labels:
        if len(label) == 1 and label in FOREIGN_LETTERS:
            raise InputError(
                "rule conlleval: expected B, I, E, O or tags with a type, as the CoNLL script reads, got "
                "{!r}; the rule auto reads it by its scheme",
                label,
            )


def rule_for_labels(*labels: Iterable[str]) -> str | None:
    """Return the rule that reads the spans of these labels: ``conlleval:<scheme>``.

    Arguments:
        labels: one or more sets of labels that are read together, such as those of gold and of predicted sentences.

    Returns:
        None where the labels are of no tag scheme, such as parts of speech: then only tokens can be scored.

    Where the letters are those of several schemes, all of these schemes read the spans in the same way.

    >>> rule_for_labels(["O", "B-PER"], ["O", "I-PER"]), rule_for_labels(["NN", "VB"])
    ('conlleval:IOB2', None)
    """
    distinct = sorted({label for part in labels for label in part})
    scheme = detect([[label] for label in distinct]).scheme
    return None if scheme is None else f"{CONLLEVAL}:{scheme.name}"


def _placed(spans: SpanArray, offsets: IntArray, labels: tuple[str, ...]) -> PlacedSpans:
    table: NDArray[np.int64] = np.array([labels.index(label) for label in spans.labels], np.int64)
    label = table[spans.label] if len(table) else np.empty(0, np.int64)
    first = offsets[spans.sentence]
    return PlacedSpans(spans.start + first, spans.end + first, label, spans.sentence)
