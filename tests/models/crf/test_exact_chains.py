"""Scores in float64: the definition, attribute by attribute, and those of the fast scorer."""

from __future__ import annotations

import numpy as np
import pytest

import tagline
from tagline.models.crf.chains import exact_chains, feature_chains

X = [[{"a": 0.5, "b": 1.0}, {"a": 2.0}], [], [{"b": 3.0}, {}, {"c": 1.0, "a": -1.0}]]
EDGES = [[["e"], ["e", "f"]], [], [[], ["f"], ["e"]]]
Y = [["B-X", "I-X"], [], ["O", "B-X", "I-X"]]


@pytest.mark.parametrize(
    "settings", [{}, {"start_end": True}, {"scheme": "IOB2"}, {"start_end": True, "scheme": "IOB2"}]
)
@pytest.mark.parametrize("edges", [None, EDGES], ids=["plain", "edges"])
def test_scores_are_sums_of_weights(settings: dict[str, object], edges: list[list[list[str]]] | None) -> None:
    crf = tagline.CRF(c2=0.1, **settings).fit(X, Y, edges=edges)
    p, features = crf.parameters_, crf._look_up(X, edges)
    (exact,) = exact_chains(p, features)
    (fast,) = feature_chains(crf._scorer, features)
    assert exact.emissions.dtype == np.float64
    np.testing.assert_array_equal(exact.offsets, fast.offsets)
    inside = [1, 3, 4]  # transitions into first tokens are never read
    for name in ("emissions", "start", "end"):
        np.testing.assert_allclose(getattr(exact, name), getattr(fast, name), rtol=1e-5, atol=1e-6)
    matrices = [chain.transitions[inside] if chain.per_position else chain.transitions for chain in (exact, fast)]
    np.testing.assert_allclose(*matrices, rtol=1e-5, atol=1e-6)
    weights = p.part("states")
    for token, item in enumerate(item for sentence in X for item in sentence):
        expected = np.zeros(len(p.labels))
        for name, value in item.items():
            number = p.states.find(name)  # type: ignore[union-attr]
            for k in range(*p.structure.state_offsets[number : number + 2]):
                expected[p.structure.state_labels[k]] += value * weights[k]
        np.testing.assert_allclose(exact.emissions[token], expected, rtol=1e-14, atol=1e-14)
