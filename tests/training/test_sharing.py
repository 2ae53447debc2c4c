"""Attributes that always occur together share a weight, and nothing is lost by it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tagline.features.attributes import Attributes, Features
from tagline.features.weights import structure_of
from tagline.ragged import offsets_of
from tagline.training.lbfgs import lbfgs
from tagline.training.likelihood import Likelihood, Targets
from tagline.training.owlqn import owlqn
from tagline.training.sharing import shared, spread
from tests.training.convex import watched

ROWS = st.lists(st.lists(st.integers(0, 7), max_size=5), max_size=6)


def attributes_of(rows: list[list[int]]) -> Attributes:
    return Attributes(
        offsets_of(np.array([len(row) for row in rows], np.int64)), np.array([a for row in rows for a in row], np.int32)
    )


@given(rows=ROWS)
def test_groups_are_sets_of_equal_occurrences(rows: list[list[int]]) -> None:
    together = shared(attributes_of(rows), 8)
    places = [tuple((n, row.count(a)) for n, row in enumerate(rows) if a in row) for a in range(8)]
    for a in range(8):
        for b in range(8):
            assert (together.group_of[a] == together.group_of[b]) == (places[a] == places[b])
    assert together.sizes.tolist() == np.bincount(together.group_of).tolist()
    cut = np.split(together.attributes.ids, together.attributes.offsets[1:-1])
    for row, groups in zip(rows, cut, strict=False):
        assert set(groups.tolist()) == {int(together.group_of[a]) for a in row}


def test_the_optimum_is_the_same() -> None:
    draw = np.random.default_rng(0)
    rows = [[int(a) for a in draw.choice(4, 2)] + [4 + n // 2, 20 + n // 2, 40 + n] for n in range(24)]
    labels = draw.integers(0, 3, 24).astype(np.int32)
    attributes, A = attributes_of(rows), 64
    together = shared(attributes, A)
    assert len(together.sizes) < A - 12
    offsets = np.array([0, 5, 12, 13, 24])

    def trained(part: Attributes, count: int, sparse: bool) -> tuple[np.ndarray, float]:
        structure = structure_of(Features(offsets, part), labels, 3, count, all_states=True, all_transitions=True)
        likelihood = Likelihood(structure, Features(offsets, part), Targets(labels), None, "float64")
        around = watched(epsilon=1e-9, delta=0, max_iterations=3000)
        start, exact = np.zeros(likelihood.size), {"dtype": np.float64, "noise": 1e-13, **around}
        c1 = np.full(likelihood.size, 0.3)
        if count != A:
            c1[: 3 * count] *= np.repeat(np.sqrt(together.sizes), 3)
        found = owlqn(likelihood, start, c1=c1, **exact) if sparse else lbfgs(likelihood, start, c2=0.5, **exact)
        return found.weights, found.objective

    for sparse in (False, True):
        whole, expected = trained(attributes, A, sparse)
        weights, objective = trained(together.attributes, len(together.sizes), sparse)
        np.testing.assert_allclose(objective, expected, rtol=2e-8)  # √m is a float32 value
        if not sparse:  # with c1 the weights of a group may be dealt out in many ways
            states = spread(weights[: 3 * len(together.sizes)].reshape(-1, 3), together)
            np.testing.assert_allclose(states.reshape(-1), whole[: 3 * A], rtol=1e-5, atol=1e-6)
