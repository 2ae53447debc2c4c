"""Scores in float64: sums in the order of a token's attributes, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from tagline.features.items import items_to_features
from tagline.features.weights import Scorer, structure_of


@pytest.mark.parametrize("with_values", [True, False])
def test_scores_are_plain_sums_in_order(with_values: bool) -> None:
    rng = np.random.default_rng(0)
    X = [[{f"a{k}": float(rng.normal()) if with_values else 1.0 for k in rng.permutation(40)[:7]} for _ in range(600)]]
    expanded = items_to_features(X)
    features, L = expanded.features, 5
    assert expanded.states is not None
    labels = rng.integers(0, L, 600).astype(np.int32)
    structure = structure_of(features, labels, L, len(expanded.states))
    weights = rng.normal(0, 1, structure.size)
    expected = np.zeros((600, L))
    states = features.states
    for n in range(600):
        for k in range(states.offsets[n], states.offsets[n + 1]):
            value = 1.0 if states.values is None else float(states.values[k])
            for q in range(structure.state_offsets[states.ids[k]], structure.state_offsets[states.ids[k] + 1]):
                expected[n, structure.state_labels[q]] += weights[q] * value
    exact = Scorer(structure, weights, exact=True)
    chain = exact.chain(features)
    assert chain.emissions.dtype == chain.transitions.dtype == np.float64
    assert (chain.emissions == expected).all()
    np.testing.assert_allclose(Scorer(structure, weights).emissions(features), expected, rtol=0, atol=1e-5)
    assert (exact.with_weights(2 * weights).emissions(features) == 2 * expected).all()
