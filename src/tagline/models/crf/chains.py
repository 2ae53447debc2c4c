"""Features to chains: sentences of features or of words are scored block by block."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tagline.features.attributes import Attributes, Features
from tagline.features.weights import Scorer
from tagline.features.word_scores import WordScorer
from tagline.models.answers import MOST_TOKENS
from tagline.ragged import blocks_of, take_rows
from tagline.readers.corpus import Corpus
from tagline.types import Chain, IntArray


def feature_chains(scorer: Scorer, features: Features) -> Iterator[Chain]:
    """Score sentences in blocks; where transitions depend on the input, blocks are smaller."""
    L = scorer.structure.num_labels
    most = MOST_TOKENS if features.edges is None else max(1, MOST_TOKENS // L)
    for first, last in blocks_of(features.offsets, most):
        yield scorer.chain(block_of(features, first, last))


def word_chains(words: WordScorer, scorer: Scorer, corpus: Corpus) -> Iterator[Chain]:
    """Score sentences of words in blocks."""
    for emissions, offsets in words.blocks(corpus, MOST_TOKENS):
        yield Chain(emissions, scorer.transitions, scorer.start, scorer.end, offsets)


def block_of(features: Features, first: int, last: int) -> Features:
    """Return sentences first … last − 1; the arrays are views."""
    begin, end = int(features.offsets[first]), int(features.offsets[last])

    def cut(attributes: Attributes) -> Attributes:
        low, high = attributes.offsets[begin], attributes.offsets[end]
        values = None if attributes.values is None else attributes.values[low:high]
        return Attributes(attributes.offsets[begin : end + 1] - low, attributes.ids[low:high], values)

    offsets = features.offsets[first : last + 1] - begin
    return Features(offsets, cut(features.states), None if features.edges is None else cut(features.edges))


def take_sentences(features: Features, sentences: IntArray) -> Features:
    """Return these sentences alone; all of them as they are."""
    if len(sentences) == features.num_sentences and (sentences == np.arange(features.num_sentences)).all():
        return features
    offsets, tokens = take_rows(features.offsets, sentences)

    def cut(attributes: Attributes) -> Attributes:
        rows, entries = take_rows(attributes.offsets, tokens)
        values = None if attributes.values is None else attributes.values[entries]
        return Attributes(rows, attributes.ids[entries], values)

    return Features(offsets, cut(features.states), None if features.edges is None else cut(features.edges))
