"""Expected counts whose numbers leave the range of float64."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from tagline.training.expectations import (
    expectations,
    gaussian_expectations,
    symbol_expectations,
)

from .expectation_cases import Model, check, log, make_model, naive_counts, parallel

# Numbers that leave the range of float64.


@pytest.mark.parametrize(
    ("step", "T"),
    [(3.0, 100), (8.0, 205), (8.0, 215), (8.0, 220), (8.0, 225), (8.0, 300), (8.0, 3000), (60.0, 50), (600.0, 10)],
)
def test_states_that_do_not_mix(variant, step, T):
    """From 8 × 216 on the winner falls below the smallest number that is kept, by less than would show otherwise."""
    model = parallel(step, T)
    front = T * 2 // 5
    ends = np.array([step * (T - front), step * front])  # what each state loses
    total = math.log(0.5) + np.logaddexp(-ends[0], -ends[1])
    for counts in model.in_every_way():
        np.testing.assert_allclose(counts.log_likelihood, [total], rtol=1e-13)
        np.testing.assert_allclose(counts.transitions, np.diag([0.0, T - 1]), atol=1e-9)


@pytest.mark.parametrize("tiny", [1e-60, 1e-130, 1e-250, 1e-290, 1e-310])
@pytest.mark.parametrize("zeros", [False, True])
def test_parameters_that_em_has_driven_towards_zero(variant, tiny, zeros):
    rng = np.random.default_rng(3)
    moves = np.full((4, 4), tiny)
    np.fill_diagonal(moves, 1.0)
    moves[0, 1] = moves[1, 2] = moves[2, 3] = moves[3, 0] = 0.1
    if zeros:
        moves[0, 2] = 0.0
    table = np.where(rng.random((6, 4)) < 0.4, tiny, rng.random((6, 4)))
    table[:4] += 0.5 * np.eye(4)
    model = Model(log(table), rng.integers(0, 6, 400), np.array([0, 150, 151, 400]), log(np.full(4, 0.25)), log(moves))
    wanted = naive_counts(model.rows, *model.moves)
    for counts in model.in_every_way():
        check(counts, wanted, model.ids, 6, rtol=1e-9)


@pytest.mark.parametrize("tiny", [1e-120, 1e-200, 1e-290])
def test_faint_states_cost_no_more_than_others(tiny):
    """States that sink without mattering are not left to the log domain, which takes 70 times as long here."""
    rng = np.random.default_rng(4)
    ids = np.cumsum(rng.integers(0, 2, 20_000)) % 8  # a walk that stays or goes on
    offsets = np.arange(0, 20_001, 100)
    near = np.eye(8, dtype=bool) | np.roll(np.eye(8, dtype=bool), 1, axis=1)
    seconds = []
    for rest in (0.01, tiny):
        moves = np.where(near, 0.5, rest)
        moves[0, 4] = 0.0
        model = Model(np.log(np.where(np.eye(8), 0.9, rest)), ids, offsets, np.full(8, -2.0), log(moves))
        taken = []
        for _ in range(3):
            begin = time.process_time()
            counts = symbol_expectations(model.chained)
            taken.append(time.process_time() - begin)
        seconds.append(min(taken))
        check(counts, naive_counts(model.rows, *model.moves), ids, 8, rtol=1e-9)
    assert seconds[1] < 10 * seconds[0]


def narrow_states(rng, width, moves, N=300, K=4):
    """A walk between Gaussians so narrow that an observation of one lies thousands of nats from the others."""
    states = np.cumsum(rng.integers(0, 2, N)) % K
    means, variances = 10.0 * np.arange(K)[:, None], np.full((K, 1), width**2)
    X = means[states] + width * rng.normal(size=(N, 1))
    rows = -0.5 * ((X - means[:, 0]) ** 2 / variances[:, 0] + np.log(2 * np.pi * variances[:, 0]))
    return X, means, variances, rows, (np.arange(0, N + 1, 100), np.log(np.full(K, 1 / K)), log(moves))


@pytest.mark.parametrize("width", [1.0, 0.27, 0.1])
@pytest.mark.parametrize("rest", [0.01, 1e-80, 1e-250, 0.0])
def test_emissions_beyond_the_range_of_exponentials(variant, width, rest):
    """Where all else is forbidden or as good as that, the best paths go through them."""
    near = np.eye(4, dtype=bool) | np.roll(np.eye(4, dtype=bool), 1, axis=1)
    moves = np.where(near, 0.4, rest)
    X, means, variances, rows, chained = narrow_states(np.random.default_rng(5), width, moves)
    for shift in (0.0, 7.0):  # observations of the last hundred that no state is near to, and that jump back
        X[200:] -= shift
        rows = -0.5 * ((X - means[:, 0]) ** 2 / variances[:, 0] + np.log(2 * np.pi * variances[:, 0]))
        X[250], rows[250] = X[10], rows[10]
        wanted = naive_counts(rows, *chained)
        counts = expectations(rows, *chained)
        check(counts, wanted, rtol=1e-9)
        np.testing.assert_allclose(counts.nodes, wanted.nodes, rtol=0, atol=1e-9)
        moments = gaussian_expectations(X, means, variances, *chained)
        check(moments, wanted, rtol=1e-9)
        np.testing.assert_allclose(moments.moments.mass, wanted.nodes.sum(axis=0), rtol=0, atol=1e-8)


def test_states_that_do_not_mix_keep_emissions_beyond_the_range(variant):
    """Each state explains one half of a sentence: the sum is over two paths, both through such emissions."""
    X = np.array([[0.0]] * 5 + [[10.0]] * 5)
    means, variances = np.array([[0.0], [10.0]]), np.array([[0.01], [0.011]])
    counts = gaussian_expectations(X, means, variances, np.array([0, 10]), np.log([0.5, 0.5]), log(np.eye(2)))
    losses = [5 * 100 / (2 * 0.01), 5 * 100 / (2 * 0.011)]
    paths = [-loss - 5 * math.log(2 * math.pi * variance) for loss, variance in zip(losses, (0.01, 0.011), strict=True)]
    np.testing.assert_allclose(counts.log_likelihood, [math.log(0.5) + np.logaddexp(*paths)], rtol=1e-13)
    np.testing.assert_allclose(counts.transitions, np.diag([0.0, 9.0]), atol=1e-9)


@pytest.mark.parametrize("moments", [True, False])
def test_narrow_states_cost_no_more_than_wide_ones(moments):
    seconds = []
    for width in (4.0, 0.05):
        X, means, variances, rows, chained = narrow_states(
            np.random.default_rng(6), width, np.full((8, 8), 1 / 8), 20_000, 8
        )
        taken = []
        for _ in range(3):
            begin = time.process_time()
            if moments:
                gaussian_expectations(X, means, variances, *chained)
            else:
                expectations(rows, *chained)
            taken.append(time.process_time() - begin)
        seconds.append(min(taken))
    assert seconds[1] < 10 * seconds[0]


def test_unreachable_states_may_explain_the_future_ever_so_well(variant):
    """State 1 cannot be reached, and β grows out of range there."""
    rows = np.tile([-8.0, 0.0], (2000, 1))
    start, moves = log(np.array([1.0, 0.0])), log(np.eye(2))
    counts = expectations(rows, np.array([0, 2000]), start, moves)
    np.testing.assert_allclose(counts.log_likelihood, [-16000.0])
    np.testing.assert_allclose(counts.nodes, np.tile([1.0, 0.0], (2000, 1)), atol=1e-12)
    np.testing.assert_allclose(counts.transitions, [[1999.0, 0.0], [0.0, 0.0]], rtol=1e-12)


@pytest.mark.parametrize("shift", [-1e5, -3000.0, 700.0, 1e6])
def test_a_constant_for_each_token_changes_the_likelihood_alone(variant, shift):
    model = make_model(np.random.default_rng(5), 5, 7, [40, 3])
    shifts = shift * np.linspace(0.5, 1, 43)
    plain, moved = expectations(model.rows, *model.moves), expectations(model.rows + shifts[:, None], *model.moves)
    np.testing.assert_allclose(moved.nodes, plain.nodes, atol=1e-9)
    np.testing.assert_allclose(moved.transitions, plain.transitions, atol=1e-8)
    np.testing.assert_allclose(
        moved.log_likelihood, plain.log_likelihood + np.add.reduceat(shifts, [0, 40]), rtol=1e-12
    )


def test_long_sequences_keep_their_digits(variant):
    if variant == "naive":
        pytest.skip("the reference")
    model = make_model(np.random.default_rng(6), 6, 9, [6000, 2500])
    wanted = naive_counts(model.rows, *model.moves)
    for counts in model.in_every_way():
        check(counts, wanted, model.ids, 9, rtol=1e-9)
        if counts.nodes is not None:
            np.testing.assert_allclose(counts.nodes.sum(axis=1), 1, atol=1e-10)
