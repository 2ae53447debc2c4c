"""What there is to see of a semi-CRF: what speaks for each tag, and for each label of whole segments."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tagline.checks import check_choice
from tagline.models.crf.inspection import CRFSummary
from tagline.models.semicrf.parameters import Parameters
from tagline.models.views import FeatureWeight, ModelView, chosen_labels, top_places, top_transitions
from tagline.types import Float64Array


def view_segments(parameters: Parameters, summary: CRFSummary, top: int, labels: Sequence[str] | None) -> ModelView:
    """Return the heaviest attributes of tokens by tag, those of segments by label, and transitions of segments.

    Arguments:
        top: features of each, and transitions.
        labels: tags, or ``segment <label>``, whose features are shown; all when left out.
    """
    p = parameters
    weights = {tag: (p.tables.states[:, k], p.states.names()) for k, tag in enumerate(p.labels)}
    names = list(p.names.names)
    weights |= {f"segment {kind}": (p.tables.segments[:, k], names) for k, kind in enumerate(p.tags.types)}
    features = {}
    for label in chosen_labels(labels, list(weights)):
        check_choice("label", label, list(weights))
        features[label] = _heaviest(label, *weights[label], top)
    moves = p.tables.transitions
    return ModelView(
        summary,
        features,
        [pair for pair in top_transitions(p.tags.types, moves, top, lowest=False) if pair.weight > 0],
        [pair for pair in top_transitions(p.tags.types, moves, top, lowest=True) if pair.weight < 0],
    )


def _heaviest(label: str, weights: Float64Array, names: Sequence[str], top: int) -> list[FeatureWeight]:
    places = top_places(weights, np.arange(len(weights)), top, False)
    return [FeatureWeight(float(weights[n]), names[n], label) for n in places.tolist() if weights[n] > 0]
