"""Features to chains: sentences of features, or of words, are scored block by block.

A `Scorer` adds up in float32, for speed; `exact_chains` in float64, for numbers that are compared with another tool's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline.features.attributes import Attributes, Features
from tagline.features.vectors import VectorScorer
from tagline.features.weights import Scorer
from tagline.features.word_scores import WordScorer
from tagline.models.answers import MOST_TOKENS
from tagline.models.crf.parameters import Parameters
from tagline.ragged import blocks_of, entries_of, take_rows
from tagline.readers.corpus import Corpus
from tagline.types import Chain, Float64Array, FloatArray, IntArray, sealed


def feature_chains(scorer: Scorer, features: Features) -> Iterator[Chain]:
    """Score sentences in blocks; where transitions depend on the input, blocks are smaller."""
    L = scorer.structure.num_labels
    most = MOST_TOKENS if features.edges is None else max(1, MOST_TOKENS // L)
    for first, last in blocks_of(features.offsets, most):
        yield scorer.chain(block_of(features, first, last))


def word_chains(
    words: WordScorer, scorer: Scorer, corpus: Corpus, vectors: VectorScorer | None = None
) -> Iterator[Chain]:
    """Score sentences of words in blocks."""
    scores, begin = None if vectors is None else vectors.of_corpus(corpus), 0
    for emissions, offsets in words.blocks(corpus, MOST_TOKENS):
        if scores is not None:
            scores.add_to(emissions, begin, offsets)
        begin += len(emissions)
        yield scorer.joined(emissions, offsets)


def exact_chains(parameters: Parameters, features: Features) -> Iterator[Chain]:
    """Score sentences in float64, block by block."""
    p, s = parameters, parameters.structure
    L = s.num_labels
    transitions = p.matrix()
    start = p.part("start").astype(np.float64) if s.start else np.zeros(L)
    end = p.part("end").astype(np.float64) if s.end else np.zeros(L)
    if p.rules is not None:
        transitions[~p.rules.transitions] = start[~p.rules.start] = end[~p.rules.end] = -np.inf
    for first, last in blocks_of(features.offsets, max(1, MOST_TOKENS // L)):
        block = block_of(features, first, last)
        emissions = _sums(block.states, s.state_offsets, s.state_labels, p.part("states"), L)
        matrices = transitions
        if block.edges is not None and len(s.edge_pairs):
            pairs = s.edge_pairs[:, 0].astype(np.int64) * L + s.edge_pairs[:, 1]
            matrices = _sums(block.edges, s.edge_offsets, pairs, p.part("edges"), L * L).reshape(-1, L, L) + transitions
        yield Chain(sealed(emissions), sealed(matrices), start, end, block.offsets)


def _sums(
    attributes: Attributes, offsets: IntArray, places: NDArray[Any], weights: FloatArray, width: int
) -> Float64Array:
    """Add up the weights of each token's attributes by their places, ``[N, width]``."""
    entries = entries_of(offsets, attributes.ids.astype(np.int64))
    widths = np.diff(offsets)[attributes.ids]
    tokens = np.repeat(np.arange(attributes.num_tokens), np.diff(attributes.offsets))
    values = weights[entries].astype(np.float64)
    if attributes.values is not None:
        values *= np.repeat(attributes.values, widths)
    keys = np.repeat(tokens, widths) * width + places[entries]
    size = attributes.num_tokens * width
    return np.bincount(keys, values, minlength=size).astype(np.float64).reshape(-1, width)


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
