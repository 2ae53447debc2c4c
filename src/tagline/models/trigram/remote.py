"""A trigram tagger from words and tags that other processes counted."""

from __future__ import annotations

import numpy as np

from tagline.models.remote import Tally
from tagline.models.trigram.counts import TrigramCounts
from tagline.models.trigram.parameters import Pairs, TaggedCounts, tells_capitals


def counts_of(tally: Tally, capitals: bool) -> tuple[TaggedCounts, tuple[str, ...]]:
    """Return what a tagger learns from, and the tags; without capitals both states of a tag are one."""
    assert tally.grams is not None
    K = len(tally.labels)
    grams = TrigramCounts(2 * K, tally.grams[0].astype(np.int32), tally.grams[1])
    if not (capitals and tells_capitals(tally.words)):
        grams = TrigramCounts.added([grams], K, [np.array([*range(K), *range(K), K])])
    pairs = Pairs(tally.word_ids, tally.word_labels, tally.word_counts, len(tally.words), K)
    return TaggedCounts(tally.words, pairs, grams), tally.labels
