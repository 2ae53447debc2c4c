"""Expected counts against enumeration of all labellings and against the naive engine; Baum–Welch by them."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline.chain import naive, symbols
from tagline.chain.symbols import SymbolChain
from tagline.training.expectation_maximisation import climb
from tagline.training.expectations import (
    best_expectations,
    best_symbol_expectations,
    gaussian_expectations,
    symbol_expectations,
)
from tagline.training.run import Run
from tagline.types import Chain

from .expectation_cases import (
    NEGATIVE,
    Model,
    by_symbol,
    check,
    enumerate_counts,
    log,
    make_model,
    naive_counts,
    parallel,
)


@given(data=st.data())
def test_counts_are_those_of_all_paths(variant, data):
    K = data.draw(st.integers(1, 4), label="states")
    V = data.draw(st.integers(1, 4), label="symbols")
    lengths = data.draw(st.lists(st.integers(0, 4), max_size=6), label="lengths")
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1), label="seed"))
    zeros = data.draw(st.sampled_from([0.0, 0.4, 0.8]), label="zeros")
    spread = data.draw(st.sampled_from([0.0, 1.0, 10.0, 200.0]), label="spread")
    model = make_model(rng, K, V, lengths, zeros=zeros, spread=spread)
    wanted = enumerate_counts(model.rows, *model.moves)
    for counts in model.in_every_way():
        check(counts, wanted, model.ids, V)


@given(data=st.data())
def test_counts_keep_to_the_states_that_are_allowed(variant, data):
    K = data.draw(st.integers(1, 4), label="states")
    lengths = data.draw(st.lists(st.integers(0, 4), max_size=5), label="lengths")
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1), label="seed"))
    model = make_model(rng, K, 3, lengths)
    allowed = rng.random((len(model.ids), K)) < 0.6
    allowed[np.arange(len(allowed)), rng.integers(0, K, len(allowed))] = True
    wanted = enumerate_counts(np.where(allowed, model.rows, NEGATIVE), *model.moves)
    for counts in model.in_every_way(allowed):
        check(counts, wanted, model.ids, 3)
        if counts.nodes is not None:
            assert (counts.nodes[~allowed] == 0).all()


@pytest.mark.parametrize("K", [1, 2, 3, 7, 8, 9, 16, 17, 24, 33, 50, 65])
@pytest.mark.parametrize("zeros", [0.0, 0.5])
def test_counts_are_those_of_the_naive_engine(variant, K, zeros):
    rng = np.random.default_rng(K)
    model = make_model(rng, K, 11, [0, 1, 30, 2, 70, 1, 9, 0, 13, 5, 129, 4, 4], zeros=zeros)
    wanted = naive_counts(model.rows, *model.moves)
    for counts in model.in_every_way():
        check(counts, wanted, model.ids, 11)
        np.testing.assert_allclose(counts.start.sum(), 11)
        np.testing.assert_allclose(counts.transitions.sum(), len(model.ids) - 11)
        assert (counts.transitions[model.transitions == NEGATIVE] == 0).all()


@pytest.mark.parametrize("D", [1, 2, 5])
@pytest.mark.parametrize("K", [1, 3, 10, 33])
def test_moments_of_vectors(variant, K, D):
    rng = np.random.default_rng(K + D)
    model = make_model(rng, K, 1, [5, 0, 1, 90, 17, 2], zeros=0.3)
    means, variances = rng.normal(0, 3, (K, D)), rng.uniform(0.1, 4, (K, D))
    X = rng.normal(0, 3, (len(model.ids), D))
    away = X[:, None] - means
    rows = -0.5 * (away**2 / variances + np.log(2 * np.pi * variances)).sum(axis=2)
    wanted = naive_counts(rows, *model.moves)
    counts = gaussian_expectations(X, means, variances, *model.moves)
    check(counts, wanted)
    np.testing.assert_allclose(counts.moments.mass, wanted.nodes.sum(axis=0), rtol=1e-11, atol=1e-12)
    for power, sums in ((1, counts.moments.first), (2, counts.moments.second)):
        products = np.einsum("nk,nkd->kd", wanted.nodes, away**power)
        np.testing.assert_allclose(sums, products, rtol=1e-9, atol=1e-10)


def test_vectors_far_from_the_origin_lose_no_digits():
    model = make_model(np.random.default_rng(0), 2, 1, [40] * 5)
    X = 1e9 + np.random.default_rng(1).integers(-8, 9, (200, 1)).astype(float)
    means, variances = np.array([[1e9 - 2.0], [1e9 + 3.0]]), np.array([[4.0], [2.0]])
    near = gaussian_expectations(X - 1e9, means - 1e9, variances, *model.moves)
    far = gaussian_expectations(X, means, variances, *model.moves)
    np.testing.assert_array_equal(far.log_likelihood, near.log_likelihood)
    np.testing.assert_array_equal(far.moments.second, near.moments.second)


# The best path alone.


@given(data=st.data())
def test_counts_of_the_best_path(variant, data):
    K = data.draw(st.integers(1, 3), label="states")
    lengths = data.draw(st.lists(st.integers(0, 4), max_size=4), label="lengths")
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1), label="seed"))
    model = make_model(rng, K, 3, lengths, zeros=data.draw(st.sampled_from([0.0, 0.5]), label="zeros"))
    allowed = data.draw(st.sampled_from([None, np.ones((len(model.ids), K), bool)]), label="allowed")
    hard, by_symbols = (
        best_expectations(model.rows, *model.moves),
        best_symbol_expectations(model.chained, allowed),
    )
    best = naive.viterbi(Chain(model.rows, model.transitions, model.start, None, model.offsets))
    nodes = np.zeros((len(model.ids), K))
    nodes[np.arange(len(nodes)), best.labels] = 1
    start, pairs = np.zeros(K), np.zeros((K, K))
    for first, last in itertools.pairwise(model.offsets.tolist()):
        path = best.labels[first:last].tolist()
        start[path[:1]] += 1
        for i, j in itertools.pairwise(path):
            pairs[i, j] += 1
    for counts in (hard, by_symbols):
        np.testing.assert_allclose(counts.log_likelihood, best.scores, rtol=1e-12)
        np.testing.assert_array_equal(counts.start, start)
        np.testing.assert_array_equal(counts.transitions, pairs)
    np.testing.assert_array_equal(hard.nodes, nodes)
    np.testing.assert_array_equal(by_symbols.emissions, by_symbol(nodes, model.ids, 3))


@pytest.mark.parametrize("K", [1, 5, 10, 17, 50])
@pytest.mark.parametrize("zeros", [0.0, 0.4])
def test_chains_of_symbols_answer_as_chains(variant, K, zeros):
    model = make_model(np.random.default_rng(K), K, 9, [0, 1, 40, 3, 17, 90, 2], zeros=zeros)
    end = np.where(np.arange(K) < max(1, K - 1), 0.0, -0.5)
    chain = SymbolChain(model.table, model.ids, model.transitions, model.start, end, model.offsets)
    plain = Chain(model.rows, model.transitions, model.start, end, model.offsets)
    np.testing.assert_allclose(symbols.log_partition(chain), naive.log_partition(plain), rtol=1e-12, atol=1e-12)
    best, wanted = symbols.viterbi(chain), naive.viterbi(plain)
    np.testing.assert_array_equal(best.labels, wanted.labels)
    np.testing.assert_allclose(best.scores, wanted.scores, rtol=1e-12)


def test_impossible_symbols_have_log_partition_minus_infinity(variant):
    table = log(np.array([[1.0, 1.0], [0.0, 0.0]]))
    chain = SymbolChain(table, np.array([0, 1]), np.zeros((2, 2)), np.zeros(2), None, np.array([0, 1, 1, 2]))
    np.testing.assert_allclose(symbols.log_partition(chain), [math.log(2), 0.0, NEGATIVE])


@pytest.mark.parametrize(("step", "T"), [(3.0, 100), (8.0, 3000)])
def test_chains_of_symbols_that_do_not_mix(variant, step, T):
    model = parallel(step, T)
    chain = model.chained
    np.testing.assert_allclose(symbols.log_partition(chain), [math.log(0.5) - step * (T * 2 // 5)], rtol=1e-12)


def test_baum_welch_rises_at_every_step():
    model = make_model(np.random.default_rng(12), 4, 6, [50] * 10, missing=0.0)

    def step(p: tuple[Any, Any, Any]) -> tuple[float, tuple[Any, Any, Any]]:
        start, moves, emitted = p
        counts = symbol_expectations(
            Model(log(emitted.T).copy(), model.ids, model.offsets, log(start), log(moves)).chained
        )
        parts = counts.start, counts.transitions, counts.emissions.T
        return counts.log_likelihood.sum(), tuple(part / part.sum(axis=-1, keepdims=True) for part in parts)

    rng = np.random.default_rng(13)
    begin = (rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4), 4), rng.dirichlet(np.ones(6), 4))
    history = climb(step, begin, tolerance=-np.inf, run=Run(max_iterations=300)).history
    gains = np.diff([done.objective for done in history])
    assert len(history) == 300
    assert (gains >= -1e-10 * abs(history[-1].objective)).all()
    assert history[-1].objective > history[0].objective + 10
