"""Huge scores: what all labels of a token share changes no probability, at 10^16 and beyond."""

from __future__ import annotations

import numpy as np
import pytest

from tagline import chain as engine
from tagline.chain.centring import centred
from tagline.types import Chain

from .cases import random_chain

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
