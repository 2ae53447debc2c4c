"""Huge scores: what all labels of a token share changes no probability, at 10^16 and beyond."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tagline import chain as engine
from tagline import compiled
from tagline.chain.centring import centred, from_beyond
from tagline.types import Chain

from .cases import assert_close, random_chain
from .enumeration import enumerate_chain, join

FAR = [1e8, -1e8, 2.0**60, -(2.0**60)]  # whole steps of the scores below


@pytest.fixture(params=["native", "naive"])
def name(request: pytest.FixtureRequest) -> str:
    if request.param == "native":
        pytest.importorskip("tagline._core")
    return str(request.param)


def moved(far: float) -> tuple[Chain, Chain]:
    """A chain of scores that are multiples of 2^10 where they are far, and the same chain near 0."""
    rng = np.random.default_rng(5)
    step = 2.0**10 if abs(far) > 1e9 else 0.25
    parts = [rng.integers(-2, 3, shape).astype(float) * step for shape in ((7, 3), (3, 3), (3,), (3,))]
    parts[0][2, 1] = -np.inf
    offsets = [0, 4, 4, 7]
    return Chain(*parts, offsets), Chain(*(part + far for part in parts), offsets)


@pytest.mark.parametrize("far", FAR)
def test_probabilities_do_not_move(name: str, far: float) -> None:
    near, away = moved(far)
    spans = [(0, 1, [{0, 1}, {2}]), (2, 0, [1])]
    uniforms = np.random.default_rng(0).random((20, 7))
    with engine.using_engine(name):
        for ours, truth in zip(engine.k_best(away, 5), engine.k_best(near, 5), strict=True):
            assert ours.labels.tolist() == truth.labels.tolist()
            np.testing.assert_allclose(ours.probabilities, truth.probabilities, rtol=1e-12)
        np.testing.assert_allclose(
            engine.span_probability(away, spans), engine.span_probability(near, spans), rtol=1e-12
        )
        np.testing.assert_allclose(engine.entropy(away), engine.entropy(near), atol=1e-12)
        assert engine.sample(away, uniforms).tolist() == engine.sample(near, uniforms).tolist()
        np.testing.assert_allclose(engine.marginals(away).nodes, engine.marginals(near).nodes, atol=1e-9)
        best, ranked = engine.viterbi(away), engine.k_best(away, 1)
        assert best.labels.tolist() == engine.viterbi(near).labels.tolist()
        assert best.scores.tolist() == [paths.scores[0] for paths in ranked]


@pytest.fixture(params=["naive", *compiled.supported_cpus()])
def each_way(request: pytest.FixtureRequest) -> Iterator[None]:
    """Answer by the definition, and by the core with each set of instructions."""
    if request.param == "naive":
        with engine.using_engine("naive"):
            yield
        return
    before = str(compiled.cpu())
    compiled.use_cpu(request.param)
    try:
        with engine.using_engine("native"):
            yield
    finally:
        compiled.use_cpu(before)


@pytest.mark.usefixtures("each_way")
@pytest.mark.parametrize("far", [0.0, 3e7, 1e14, 1e16, -1e16, 1e30, -1e30])
@pytest.mark.parametrize("per_position", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_answer_where_tokens_are_far_from_0(dtype: str, per_position: bool, far: float) -> None:
    """All labels of a token have the same score, far from 0, and the other scores decide."""
    rng = np.random.default_rng(7)
    case = random_chain(rng, 3, [4, 0, 1, 3], dtype=dtype, per_position=per_position, forbidden=0.1)
    c = case.chain
    emissions = np.where(np.isneginf(c.emissions), c.emissions, 0)
    tokens = (far * rng.choice([1.0, 0.5 if far < 0 else -0.5], (c.num_tokens, 1))).astype(dtype)
    near = Chain(emissions, c.transitions, c.start, c.end, c.offsets)
    away = Chain(emissions + tokens, c.transitions, c.start, c.end, c.offsets)
    oracles = enumerate_chain(near)
    uses = [oracle.expected_uses() for oracle in oracles]
    nodes, edges = join(c, [use[0] for use in uses]), join(c, [use[1] for use in uses], 3)
    atol = 2e-6 if dtype == "float32" else 1e-12

    best, counts, answer = engine.viterbi(away), engine.expected_counts(away), engine.marginals(away, edges=True)
    assert best.labels.tolist() == np.concatenate([oracle.paths[oracle.ranking[0]] for oracle in oracles]).tolist()
    for oracle, score, ranked in zip(oracles, best.scores, engine.k_best(away, 3), strict=True):
        assert ranked.labels.tolist() == oracle.paths[oracle.ranking[:3]].tolist()
        assert_close(ranked.probabilities, oracle.probabilities[oracle.ranking[:3]], atol)
        np.testing.assert_allclose(score, ranked.scores[0], rtol=1e-15, atol=1e-6)
    assert_close(answer.nodes, nodes, atol)
    assert_close(answer.edges, edges, atol)
    assert_close(counts.emissions, nodes, atol)
    assert_close(counts.transitions, edges if per_position else edges.sum(axis=0), 4 * atol)
    assert_close(counts.start, sum(use[2] for use in uses), 4 * atol)
    assert_close(counts.end, sum(use[3] for use in uses), 4 * atol)
    assert_close(engine.entropy(away), [oracle.entropy for oracle in oracles], 1e-12)

    slopes = engine.gradients(away, case.labels)
    gold = [oracle.score(y) - oracle.log_z for oracle, y in zip(oracles, c.split(case.labels), strict=True)]
    assert_close(slopes.log_likelihood, gold, 10 * atol)
    assert_close(slopes.emissions, np.eye(3)[case.labels] - nodes, atol)


def test_a_difference_tells_where_scores_are_far() -> None:
    ordinary = random_chain(np.random.default_rng(0), 4, [3, 2])
    assert not from_beyond(engine.gradients(ordinary.chain, ordinary.labels).log_likelihood)
    low = Chain(ordinary.chain.emissions - 2.0**25, ordinary.chain.transitions, offsets=ordinary.chain.offsets)
    assert from_beyond(engine.score(low, ordinary.labels) - engine.log_partition(low))


def test_two_labellings_share_what_there_is(name: str) -> None:
    """A score that is better by 1 at 10^16 is the same number; both had the probability 1."""
    with engine.using_engine(name):
        best = engine.k_best(Chain([[1e16, 1e16 + 2]], np.zeros((2, 2))), 2)[0]
    np.testing.assert_allclose(best.probabilities, [1 / (1 + np.exp(-2)), 1 / (1 + np.exp(2))])
    assert best.scores.tolist() == [1e16 + 2, 1e16]


def test_what_was_taken_comes_back(name: str) -> None:
    rng = np.random.default_rng(1)
    parts = [rng.normal(0, 1, shape) + 2.0**25 for shape in ((6, 3), (6, 3, 3), (3,), (3,))]
    far = Chain(*parts, [0, 0, 4, 6])
    near, taken = centred(far)
    assert abs(near.emissions).max() < 10
    with engine.using_engine(name):
        log_z = engine.log_partition(far)
        np.testing.assert_allclose(engine.log_partition(near) + taken, log_z, rtol=1e-14)
        np.testing.assert_allclose(engine.marginals(far).log_z, log_z, rtol=1e-14)
        assert taken[0] == 0


def test_penalties_and_ordinary_scores_stay() -> None:
    ordinary = random_chain(np.random.default_rng(0), 4, [3, 2]).chain
    assert centred(ordinary)[0] is ordinary
    masked = Chain([[0.0, -1e30], [1.0, -1e30]], np.zeros((2, 2)))
    assert centred(masked)[0] is masked


def test_differences_beyond_a_score_are_no_prohibition(name: str) -> None:
    apart = Chain([[9e289, -9e289]], np.zeros((2, 2)))
    with engine.using_engine(name):
        assert engine.k_best(apart, 2)[0].probabilities.tolist() == [1.0, 0.0]


def test_no_tokens_with_a_table_for_each(name: str) -> None:
    nothing = Chain(np.empty((0, 2)), np.empty((0, 2, 2)), [1e16, 0.0], [0.0, 0.0], [0, 0])
    with engine.using_engine(name):
        assert engine.k_best(nothing, 2)[0].probabilities.tolist() == [1.0]
