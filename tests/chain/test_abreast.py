"""Sentences side by side in the lanes of vectors: the bits of a sentence alone, and the definition's answers."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from tagline import chain, compiled
from tagline.chain import naive
from tagline.types import Chain
from tests.chain.cases import sentence_alone

native = pytest.importorskip("tagline.chain.native")

LABELS = (1, 2, 3, 4, 7, 9, 16, 17, 22, 31, 33, 45, 64)
SPREADS = ((0.0, 2.0), (0.3, 2.0), (0.0, 12.0), (0.4, 8.0))  # share of forbidden pairs, how far emissions scatter


@pytest.fixture(params=compiled.supported_cpus())
def variant(request: pytest.FixtureRequest) -> Any:
    before = compiled.cpu()
    assert before is not None
    compiled.use_cpu(request.param)
    yield request.param
    compiled.use_cpu(before)


@cache
def chain_of(L: int, forbidden: float, spread: float, dtype: Any, *, whole: bool = False) -> Chain:
    """Sentences of up to 24 tokens, so many that they go abreast: full vectors of them, 14 more, and an empty one."""
    rng = np.random.default_rng([L, int(10 * spread), int(10 * forbidden)])
    lengths = rng.integers(1, 25, 47) if L <= 32 else np.append(np.full(20, 12), rng.integers(1, 5, 251))
    lengths[5] = 0
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    emissions, transitions = rng.normal(0, spread, (offsets[-1], L)), rng.normal(0, 1, (L, L))
    transitions[rng.random((L, L)) < forbidden] = -np.inf
    np.fill_diagonal(transitions, 0.5)
    ends = rng.normal(0, 1, (2, L))
    if whole:  # many labellings of the same score
        emissions, transitions, ends = np.round(emissions / 4), np.round(transitions), np.round(ends)
    return Chain(*(scores.astype(dtype) for scores in (emissions, transitions, *ends)), offsets)


# What the definition answers, worked out once for all instruction sets.
log_z_by_definition = cache(naive.log_partition)
counts_by_definition = cache(naive.expected_counts)
best_by_definition = cache(naive.viterbi)
gradients_by_definition = cache(lambda chain: naive.gradients(chain, best_by_definition(chain).labels))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("L", LABELS)
def test_answers_have_the_bits_of_a_sentence_alone(variant: str, L: int, dtype: Any) -> None:
    for forbidden, spread in SPREADS:
        chain = chain_of(L, forbidden, spread, dtype)
        log_z, nodes = native.log_partition(chain), native.marginals(chain).nodes
        alone = [sentence_alone(chain, b) for b in range(chain.num_sentences)]
        np.testing.assert_array_equal(log_z, [native.log_partition(sentence)[0] for sentence in alone])
        np.testing.assert_array_equal(nodes, np.concatenate([native.marginals(sentence).nodes for sentence in alone]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("L", LABELS)
def test_answers_are_those_of_the_definition(variant: str, L: int, dtype: Any) -> None:
    bar = 1e-6 if dtype == np.float32 else 1e-12
    for forbidden, spread in SPREADS:
        chain = chain_of(L, forbidden, spread, dtype)
        expected, found = counts_by_definition(chain), native.expected_counts(chain)
        np.testing.assert_allclose(native.log_partition(chain), log_z_by_definition(chain), rtol=bar, atol=bar)
        np.testing.assert_allclose(found.emissions, expected.emissions, rtol=0, atol=bar)
        for part in ("transitions", "start", "end"):
            sums = getattr(found, part), getattr(expected, part)
            np.testing.assert_allclose(*sums, rtol=bar, atol=chain.num_sentences * bar, err_msg=part)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("L", LABELS)
def test_best_labellings_are_those_of_the_definition(variant: str, L: int, dtype: Any) -> None:
    """Ties included: where rounding may have decided, a lane is asked again alone."""
    for forbidden, spread in SPREADS:
        for whole in (False, True):
            chain = chain_of(L, forbidden, spread, dtype, whole=whole)
            best, found = best_by_definition(chain), native.viterbi(chain)
            np.testing.assert_array_equal(found.labels, best.labels)
            np.testing.assert_allclose(found.scores, best.scores, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("L", LABELS)
def test_gradients_are_those_of_the_definition(variant: str, L: int) -> None:
    for forbidden, spread in SPREADS:
        chain = chain_of(L, forbidden, spread, np.float32)
        expected, found = gradients_by_definition(chain), native.gradients(chain, best_by_definition(chain).labels)
        np.testing.assert_allclose(found.log_likelihood, expected.log_likelihood, rtol=1e-6, atol=2e-5)
        np.testing.assert_allclose(found.emissions, expected.emissions, rtol=0, atol=1e-6)
        for part in ("transitions", "start", "end"):
            sums = getattr(found, part), getattr(expected, part)
            np.testing.assert_allclose(*sums, rtol=1e-6, atol=chain.num_sentences * 1e-6, err_msg=part)


def test_a_lane_that_fails_leaves_its_neighbours_alone(variant: str) -> None:
    """Scores beyond exp space, forbidden emissions and a sentence without a labelling, among ordinary ones."""
    chain = chain_of(9, 0.3, 2.0, np.float32)
    emissions = chain.emissions.copy()
    sizes = np.diff(chain.offsets)
    odd = np.flatnonzero(sizes > 3)[[1, 4, 7]]
    emissions[chain.offsets[odd[0]]] *= 1e4
    emissions[chain.offsets[odd[1]] + 1, 3:] = -np.inf
    emissions[chain.offsets[odd[2]] + 2] = -np.inf
    odd_chain = Chain(emissions, chain.transitions, chain.start, chain.end, chain.offsets)
    log_z = native.log_partition(odd_chain, allow_no_path=True)
    usual = np.setdiff1d(np.arange(len(sizes)), odd)
    np.testing.assert_array_equal(log_z[usual], native.log_partition(chain)[usual])
    np.testing.assert_allclose(log_z, naive.log_partition(odd_chain, allow_no_path=True), rtol=1e-6)
    assert np.isneginf(log_z[odd[2]])


def test_a_lane_that_falls_out_of_range_reaches_no_sum(variant: str) -> None:
    """A label far below the others fails its lane on the way: what goes on growing there stays out of the counts."""
    rng = np.random.default_rng(5)
    L, T, B = 9, 160, 16
    emissions, transitions = rng.normal(0, 1, (B * T, L)), np.zeros((L, L))
    emissions[3 * T + 2, 4] = -40
    transitions[1, 2] = -np.inf
    scores = (emissions, transitions, np.zeros(L), np.zeros(L))
    chain = Chain(*(part.astype(np.float32) for part in scores), np.arange(B + 1) * T)
    found = native.expected_counts(chain)
    alone = [native.expected_counts(sentence_alone(chain, b)) for b in range(B)]
    for part in ("transitions", "start", "end"):
        sums = np.sum([getattr(counts, part) for counts in alone], axis=0)
        np.testing.assert_allclose(getattr(found, part), sums, rtol=1e-6, atol=1e-5, err_msg=part)


@pytest.mark.parametrize("height", [1e5, 1e7, 1e8])
def test_large_scores_in_company(variant: str, height: float) -> None:
    row = np.array([height, height - 16, height - 32], np.float32)
    chain = Chain(np.tile(row, (16, 1)), np.zeros((3, 3), np.float32), offsets=np.arange(17))
    alone = sentence_alone(chain, 0)
    np.testing.assert_array_equal(native.marginals(chain).nodes, np.tile(native.marginals(alone).nodes, (16, 1)))
    np.testing.assert_array_equal(native.log_partition(chain), np.tile(native.log_partition(alone), 16))


def test_one_long_sentence_among_short_ones(variant: str) -> None:
    lengths = np.array([3000, *[2] * 40])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    rng = np.random.default_rng(6)
    scores = rng.normal(0, 1, (offsets[-1], 5)), rng.normal(0, 1, (5, 5))
    chain = Chain(*(part.astype(np.float32) for part in scores), offsets=offsets)
    log_z = [native.log_partition(sentence_alone(chain, b))[0] for b in range(chain.num_sentences)]
    np.testing.assert_array_equal(native.log_partition(chain), log_z)


@pytest.mark.parametrize(("L", "forbidden"), [(2, 0.0), (9, 0.0), (9, 0.3), (22, 0.2), (45, 0.0)])
def test_long_sentences_have_the_log_z_and_the_paths_of_float64(variant: str, L: int, forbidden: float) -> None:
    """As many as fill lanes of float64 at once, or one at a time where they are too long for that."""
    rng = np.random.default_rng(L)
    lengths = np.array([4200, *rng.integers(505, 520, 20), *rng.integers(1300, 1400, 19), 3, 0])
    rng.shuffle(lengths)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    emissions, transitions = rng.normal(0, 2, (offsets[-1], L)), rng.normal(0, 1, (L, L))
    transitions[rng.random((L, L)) < forbidden] = -np.inf
    np.fill_diagonal(transitions, 0.5)
    long = np.flatnonzero(lengths > 512)
    emissions[offsets[long[2]] + 400, 1:] = -np.inf
    emissions[offsets[long[11]] + 7] *= 1e3
    chain = Chain(emissions.astype(np.float32), transitions.astype(np.float32), offsets=offsets)
    float64 = Chain(chain.emissions.astype(np.float64), chain.transitions.astype(np.float64), offsets=offsets)
    log_z, labels = native.log_partition(chain), native.viterbi(chain).labels
    np.testing.assert_array_equal(labels, native.viterbi(float64).labels)
    np.testing.assert_array_equal(log_z[long], native.log_partition(float64)[long])
    alone = [native.log_partition(sentence_alone(chain, b))[0] for b in range(len(lengths))]
    np.testing.assert_array_equal(log_z, alone)
    log_likelihood = native.gradients(chain, labels).log_likelihood
    expected = native.score(chain, labels) - log_z
    guarded = long[11]  # gradients take it to the log domain
    np.testing.assert_array_equal(np.delete(log_likelihood, guarded), np.delete(expected, guarded))
    assert log_likelihood[guarded] == pytest.approx(expected[guarded], rel=1e-13)

    dead = chain.emissions.copy()
    dead[offsets[long[17]] + 600 % lengths[long[17]]] = -np.inf
    log_z[long[17]] = -np.inf
    dead_chain = Chain(dead, chain.transitions, offsets=offsets)
    np.testing.assert_array_equal(native.log_partition(dead_chain, allow_no_path=True), log_z)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("transitions", "narrow", "wide"), [(7, 15, 45), (6, 10, 50), (10, 20, 40), (3, 20, 60), (30, 5, 25)]
)
def test_a_wider_neighbour_changes_no_bit(dtype: Any, transitions: float, narrow: float, wide: float) -> None:
    """It is rescaled more often, and so are the others then: no limit and no rounding may tell."""
    rng = np.random.default_rng(0)
    factor = 1 if dtype == np.float32 else 8
    for L, T, B in ((2, 15, 16), (3, 9, 8)):
        matrix = np.full((L, L), -transitions * factor) + rng.uniform(-0.01, 0.01, (L, L))
        matrix[0, 0] = 0
        rows = rng.uniform(-0.3, 0.3, (B, T, L))
        rows[:, :, 0] -= narrow * factor
        rows[-1, :, 0] -= (wide - narrow) * factor
        ends = np.zeros((2, L), dtype)
        rows, matrix = rows.astype(dtype), matrix.astype(dtype)
        together = Chain(rows.reshape(B * T, L), matrix, *ends, np.arange(B + 1) * T)
        found, log_z = chain.marginals(together), chain.log_partition(together)
        for b in range(B):
            alone = Chain(rows[b], matrix, *ends)
            np.testing.assert_array_equal(found.nodes[b * T : (b + 1) * T], chain.marginals(alone).nodes)
            assert chain.log_partition(alone)[0] == log_z[b]
