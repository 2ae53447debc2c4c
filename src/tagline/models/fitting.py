"""Sentences out of many: their features, and their labels."""

from __future__ import annotations

import numpy as np

from tagline.features.attributes import Attributes, Features
from tagline.models.targets import LabelledTokens
from tagline.types import IntArray


def some_sentences(features: Features, first: int, last: int) -> Features:
    """Sentences first … last − 1; the arrays are views."""
    begin, end = int(features.bounds[first]), int(features.bounds[last])

    def cut(of: Attributes) -> Attributes:
        low, high = of.offsets[begin], of.offsets[end]
        values = None if of.values is None else of.values[low:high]
        return Attributes(of.offsets[begin : end + 1] - low, of.ids[low:high], values)

    bounds = features.bounds[first : last + 1] - begin
    return Features(bounds, cut(features.states), None if features.edges is None else cut(features.edges))


def take_sentences(features: Features, labelled: LabelledTokens, kept: IntArray) -> tuple[Features, LabelledTokens]:
    """The sentences that are kept, features and labels."""
    B = len(features.bounds) - 1
    if len(kept) == B:
        return features, labelled
    lengths = np.diff(features.bounds)[kept]
    bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    tokens = np.repeat(features.bounds[kept] - bounds[:-1], lengths) + np.arange(bounds[-1])

    def cut(of: Attributes) -> Attributes:
        counts = np.diff(of.offsets)[tokens]
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        entries = np.repeat(of.offsets[tokens] - offsets[:-1], counts) + np.arange(offsets[-1])
        return Attributes(offsets, of.ids[entries], None if of.values is None else of.values[entries])

    places = {int(n): t for t, n in enumerate(tokens)}
    sets = {places[n]: some for n, some in labelled.sets.items() if n in places}
    source = None if labelled.source is None else labelled.source.take(kept)
    return (
        Features(bounds, cut(features.states), None if features.edges is None else cut(features.edges)),
        LabelledTokens(labelled.labels, labelled.ids[tokens], sets, bounds, source),
    )
