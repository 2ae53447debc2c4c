"""Expected counts of sentences of about the same length: they go through the core one a lane (core/chain/kernels).

A sentence alone does not, so its bits are compared with those that it has in company; sums with the naive engine's.
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any

import numpy as np
import pytest

from tagline.training.expectations import Expectations, expectations, gaussian_expectations

from .expectation_cases import NEGATIVE, Model, check, log, make_model, naive_counts

LANES = 8  # of float64 at most
LENGTHS = {
    "equal": [13] * LANES,
    "one token": [1] * (LANES + 1),
    "with one token": [9, 9, 1, 8, 7, 9, 1, 6, 9, 8],
    "ragged": [17, 40, 39, 38, 33, 30, 0, 35, 37, 31, 16, 15, 14, 13, 18, 12, 11, 0, 10, 16],
    "few": [20, 19],
    "several blocks": [30 + k % 7 for k in range(150)],
}
FORBIDDEN = ["nothing", "some of all", "starts", "a way back"]


@cache
def draw(K: int, lengths: str, forbidden: str) -> Model:
    """A model and sentences of it; it forbids what the name says."""
    model = make_model(
        np.random.default_rng(K), K, 7, LENGTHS[lengths], zeros=0.4 if forbidden == "some of all" else 0.0
    )
    start, transitions = model.start.copy(), model.transitions.copy()
    if forbidden == "starts":
        start[K // 2 + 1 :] = NEGATIVE
    if forbidden == "a way back":
        transitions[np.tril_indices(K, -1)] = NEGATIVE
    return Model(model.table, model.ids, model.offsets, start, transitions)


@cache
def draw_counted(K: int, lengths: str, forbidden: str) -> tuple[Model, Any]:
    """The same with the naive engine's counts, once for all variants."""
    model = draw(K, lengths, forbidden)
    return model, naive_counts(model.rows, *model.moves)


@cache
def draw_vectors(K: int, D: int, lengths: str, forbidden: str) -> tuple[Any, Any, Any, Any, Any]:
    """Vectors, the means and variances of states, how far they are apart, and the naive engine's counts."""
    rng, model = np.random.default_rng(K + D), draw(K, lengths, forbidden)
    means, variances = rng.normal(0, 3, (K, D)), rng.uniform(0.1, 4, (K, D))
    X = rng.normal(0, 3, (len(model.ids), D))
    away = X[:, None] - means
    rows = -0.5 * (away**2 / variances + np.log(2 * np.pi * variances)).sum(axis=2)
    return X, means, variances, away, naive_counts(rows, *model.moves)


def check_company(together: Expectations, alone: Any, offsets: Any) -> None:
    """Each sentence has the bits that it has alone."""
    for b, (first, last) in enumerate(itertools.pairwise(offsets.tolist())):
        single: Expectations = alone(slice(first, last), np.array([0, last - first]))
        assert single.log_likelihood[0] == together.log_likelihood[b]
        if together.nodes is not None:
            assert single.nodes is not None
            assert single.nodes.tobytes() == together.nodes[first:last].tobytes()


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("forbidden", FORBIDDEN)
@pytest.mark.parametrize("K", [1, 2, 3, 8, 9, 10, 17])
def test_symbols_and_rows(variant, K, forbidden, lengths):
    model, wanted = draw_counted(K, lengths, forbidden)
    rows, by_symbols = model.in_every_way()
    for counts in (rows, by_symbols):
        check(counts, wanted, model.ids, 7)
    assert (rows.transitions[model.transitions == NEGATIVE] == 0).all()
    assert (rows.nodes[model.rows == NEGATIVE] == 0).all()
    assert (by_symbols.emissions[model.table == NEGATIVE] == 0).all()
    if variant == "naive":
        return
    np.testing.assert_array_equal(rows.log_likelihood, by_symbols.log_likelihood)
    check_company(
        rows,
        lambda tokens, offsets: expectations(model.rows[tokens], offsets, model.start, model.transitions),
        model.offsets,
    )


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("forbidden", ["nothing", "a way back"])
@pytest.mark.parametrize(("K", "D"), [(1, 1), (3, 2), (10, 5), (9, 3)])
def test_vectors(variant, K, D, forbidden, lengths):
    model = draw(K, lengths, forbidden)
    X, means, variances, away, wanted = draw_vectors(K, D, lengths, forbidden)
    counts = gaussian_expectations(X, means, variances, *model.moves)
    check(counts, wanted)
    np.testing.assert_allclose(counts.moments.mass, wanted.nodes.sum(axis=0), rtol=1e-11, atol=1e-12)
    for power, sums in ((1, counts.moments.first), (2, counts.moments.second)):
        products = np.einsum("nk,nkd->kd", wanted.nodes, away**power)
        np.testing.assert_allclose(sums, products, rtol=1e-9, atol=1e-10)
    if variant != "naive":
        moves = model.start, model.transitions
        check_company(
            counts, lambda tokens, offs: gaussian_expectations(X[tokens], means, variances, offs, *moves), model.offsets
        )


@pytest.mark.parametrize("strange", range(0, 2 * LANES, 3))
@pytest.mark.parametrize("depth", [-800.0, -1e4])
def test_a_lane_out_of_range_adds_nothing(variant, strange, depth):
    """One sentence has scores that exponentials cannot hold, and needs another way; its neighbours do not."""
    model = make_model(np.random.default_rng(1), 5, 7, [12] * (2 * LANES))
    rows = model.rows.copy()
    rows[12 * strange + 4 : 12 * strange + 8, :3] += depth * np.array([1.0, 1.5, 2.0])
    rows[12 * strange + 5, 3:] += 2 * depth
    check(expectations(rows, *model.moves), naive_counts(rows, *model.moves), rtol=1e-10)


@pytest.mark.parametrize("step", [3.0, 40.0])
def test_states_that_do_not_mix(variant, step):
    """The state that loses in the middle wins in the end, in every lane; with the larger step it sinks out of range."""
    T, B = 120, LANES + 3
    ids = np.tile([0] * (T * 2 // 5) + [1] * (T - T * 2 // 5), B)
    table = np.array([[0.0, -step], [-step, 0.0]])
    model = Model(table, ids, np.arange(0, B * T + 1, T), np.log([0.5, 0.5]), log(np.eye(2)))
    wanted = naive_counts(model.rows, *model.moves)
    for counts in model.in_every_way():
        check(counts, wanted, ids, 2)


def test_states_that_cannot_be_reached(variant):
    """β grows out of range there, in every lane."""
    B, T = LANES + 1, 900
    rows = np.tile([-8.0, 0.0], (B * T, 1))
    counts = expectations(rows, np.arange(0, B * T + 1, T), log(np.array([1.0, 0.0])), log(np.eye(2)))
    np.testing.assert_allclose(counts.log_likelihood, np.full(B, -8.0 * T))
    np.testing.assert_allclose(counts.nodes, np.tile([1.0, 0.0], (B * T, 1)), atol=1e-12)
    np.testing.assert_allclose(counts.transitions, [[B * (T - 1.0), 0.0], [0.0, 0.0]], rtol=1e-12)
