"""Sentences to numbers, and numbers to blocks of segment chains: the same in training, on a dev set and in tagging."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tagline.chain import segments
from tagline.chain.segments import SegmentChain
from tagline.features.attributes import Attributes, Features
from tagline.models.answers import MOST_TOKENS
from tagline.models.semicrf.attributes import Gold, SegmentReader
from tagline.models.semicrf.parameters import Numbered, Parameters, block_of, segment_chain
from tagline.ragged import blocks_of
from tagline.types import IntArray


def number(parameters: Parameters, features: Features, reader: SegmentReader, own: Gold | None = None) -> Numbered:
    """Number sentences.

    Arguments:
        features: attributes of tokens.
        reader: of the words of the same sentences.
        own: their gold segments, where the model's lexicon counts them.
    """
    p, states = parameters, features.states
    if states.values is not None:
        states = Attributes(states.offsets, states.ids, states.values.astype(np.float32))
    seen = None if p.lexicon is None else reader.seen(p.lexicon, own)
    return Numbered(features.offsets, states, reader.rows(p.names), seen)


def segment_chains(parameters: Parameters, numbered: Numbered) -> Iterator[SegmentChain]:
    """Score sentences block by block."""
    cells = parameters.max_length * parameters.tags.num_types
    for first, last in blocks_of(numbered.offsets, max(1, min(MOST_TOKENS, 2**21 // cells))):
        yield segment_chain(parameters, block_of(numbered, first, last, parameters.max_length))


def best_tags(parameters: Parameters, numbered: Numbered) -> Iterator[IntArray]:
    """Give the tags of the best segmentations, a block of sentences at a time."""
    for chain in segment_chains(parameters, numbered):
        best = segments.viterbi(chain)
        yield parameters.tags.tags(best.labels, best.begins, chain.offsets)
