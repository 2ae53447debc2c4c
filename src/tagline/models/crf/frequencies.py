"""How often training sentences show each feature, and the cut by it: between the layout of weights and training.

frequency(attribute, label) = Σ weight of the sentence · value of the attribute, over the tokens with that label;
frequency(previous, label) = Σ weight of the sentence, over the pairs of neighbours. It is the gold half of the
gradient, so the objective counts it.
"""

from __future__ import annotations

import numpy as np

from tagline.features.attributes import Features
from tagline.features.weights import Structure
from tagline.models.crf.chains import block_of
from tagline.ragged import blocks_of
from tagline.training.likelihood import Likelihood, Targets
from tagline.types import Float64Array

MOST_TOKENS = 1 << 20  # that are counted at once


def feature_frequencies(structure: Structure, features: Features, targets: Targets) -> Float64Array:
    """Count how often each weight is used by the labels, ``[size]``; labels that are not known count nothing."""
    total = np.zeros(structure.size)
    for first, last in blocks_of(features.offsets, MOST_TOKENS):
        begin, end = features.offsets[first], features.offsets[last]
        weights = None if targets.weights is None else targets.weights[first:last]
        part = Targets(targets.labels[begin:end], None, weights)
        total += Likelihood(structure, block_of(features, first, last), part, precision="float64").core.observed()
    return total


def without_rare(structure: Structure, features: Features, targets: Targets, least: float) -> Structure:
    """Leave out the weights of features that are rarer; attributes keep their numbers."""
    return structure.only(feature_frequencies(structure, features, targets) >= least)
