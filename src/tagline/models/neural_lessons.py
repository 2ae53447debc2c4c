"""What a neural tagger is to learn from: sentences that are kept, their labels, the rules, and how much they count.

Labellings that the tag scheme forbids are dealt with as `on_illegal` says; what has no tokens or no weight is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tagline.errors import InputError
from tagline.models.network import Network, rows_of
from tagline.models.targets import (
    LabelledTokens,
    complete_labels,
    scheme_of,
    sentence_weights,
    settle,
    used_labels,
)
from tagline.readers.corpus import Corpus
from tagline.readers.rules import Rules, legal
from tagline.types import Float64Array, IntArray


@dataclass(frozen=True, eq=False)
class Lesson:
    """Sentences and what is to be known of them.

    Attributes:
        corpus, labelled: tokens and labels of B sentences, none of them empty.
        labels: L names, sorted.
        scheme, rules: the tag scheme and what it allows; None for no rules.
        weights: how much each sentence counts, ``[B]``; None for all the same.
        notes: what was repaired or dropped.
    """

    corpus: Corpus
    labelled: LabelledTokens
    labels: list[str]
    scheme: str | None
    rules: Rules | None
    weights: Float64Array | None
    notes: list[str]


def lesson_of(
    corpus: Corpus,
    labelled: LabelledTokens,
    sizes: Float64Array | None,
    before: Network | None,
    *,
    scheme: str | None,
    on_illegal: str,
    label_weights: Any,
) -> Lesson:
    """Settle what is learned from sentences and labels of the same lengths.

    Arguments:
        sizes: how much each sentence counts, ``[B]``.
        before: a network that is to learn on; its labels are all there are.
        scheme, on_illegal, label_weights: the estimator's parameters.
    """
    name = scheme_of(labelled, scheme) if before is None or scheme != "auto" else before.scheme
    labels, rules = _labels(labelled, name, before)
    labelled, kept, notes = settle(labelled, rules, name, labels, on_illegal)
    kept = kept[np.diff(labelled.bounds)[kept] > 0]
    if sizes is not None:
        kept = kept[sizes[kept] > 0]  # what counts nothing shows nothing
    if not len(kept):
        raise InputError(f"y: expected sentences to learn from, got none; {notes[0] if notes else 'X is empty'}")
    corpus, labelled = corpus.take(kept.tolist()), _taken(labelled, kept)
    labels, rules = _labels(labelled, name, before)  # of what is left and what was repaired
    weights = sentence_weights(None if sizes is None else sizes[kept], label_weights, labelled, labels)
    return Lesson(corpus, labelled, labels, name, rules, weights, notes)


def _labels(labelled: LabelledTokens, scheme: str | None, before: Network | None) -> tuple[list[str], Rules | None]:
    labels = complete_labels(used_labels(labelled), scheme)
    if not labels:
        raise InputError("y: expected at least one sentence with a known label, got none")
    if before is not None:
        if new := sorted(set(labels) - set(before.labels)):
            raise InputError(
                f"y: expected labels that the network has, with warm_start, got {', '.join(new)}; fit a new model"
            )
        labels = list(before.labels)
    return labels, None if scheme is None else legal(labels, scheme)


def _taken(labelled: LabelledTokens, kept: IntArray) -> LabelledTokens:
    """The labels of these sentences."""
    rows = rows_of(labelled.bounds, kept)
    bounds = np.concatenate([[0], np.cumsum(np.diff(labelled.bounds)[kept])]).astype(np.int64)
    places = {int(row): place for place, row in enumerate(rows)} if labelled.sets else {}
    sets = {places[n]: some for n, some in labelled.sets.items() if n in places}
    return LabelledTokens(labelled.labels, labelled.ids[rows], sets, bounds)
