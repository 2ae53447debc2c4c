"""log Z near 0: chains of log probabilities, where a relative tolerance gives no slack to float32."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from tagline.chain import naive
from tagline.types import Chain, Float64Array


def log_softmax(scores: Float64Array) -> Float64Array:
    return scores - naive.logsumexp(scores, axis=-1)[..., None]


def markov_chain(T: int, L: int) -> Chain:
    """No emissions: log Z is 0 but for the rounding of the inputs, and few distinct scores are used over and over."""
    rng = np.random.default_rng(T + L)
    transitions, start = log_softmax(rng.normal(size=(L, L))), log_softmax(rng.normal(size=L))
    return Chain(np.zeros((T, L), np.float32), transitions.astype(np.float32), start.astype(np.float32))


def independent_tokens(T: int, L: int) -> Chain:
    """Log-softmaxed emissions and no transitions: log Z is the sum of T numbers near 0."""
    emissions = log_softmax(np.random.default_rng(T * L).normal(0, 2, (T, L)))
    return Chain(emissions.astype(np.float32), np.zeros((L, L), np.float32))


@pytest.mark.parametrize("build", [markov_chain, independent_tokens])
@pytest.mark.parametrize("T", [5, 17, 100, 1000])
@pytest.mark.parametrize("L", [2, 9])
def test_log_z_of_normalised_scores(engine: ModuleType, build: type, T: int, L: int) -> None:
    chain = build(T, L)
    expected = naive.log_partition(chain)
    assert abs(expected[0]) < 1e-3
    for log_z in (
        engine.log_partition(chain),
        engine.marginals(chain).log_z,
        engine.score(chain, np.zeros(T, int)) - engine.gradients(chain, np.zeros(T, int)).log_likelihood,
    ):
        np.testing.assert_allclose(log_z, expected, rtol=0, atol=1e-6)


def test_log_z_of_the_same_scores_at_every_token(engine: ModuleType) -> None:
    """One labelling, whose rounding errors all have the same sign: log Z is right to 1e-6 of itself all the same."""
    T, scores = 500, np.random.default_rng(3).uniform(-0.25, 0.25, (2000, 1)).astype(np.float32)
    transitions = np.array([[0.0703125]], np.float32)
    chain = Chain(np.repeat(scores, T, axis=0), transitions, offsets=np.arange(2001) * T)
    expected = T * scores[:, 0].astype(np.float64) + (T - 1) * transitions.astype(np.float64)[0, 0]
    error = np.abs(engine.log_partition(chain) - expected)
    assert (error / np.maximum(1, np.abs(expected))).max() <= 1e-6


def test_the_exponential_is_right_to_a_unit_in_the_last_place(engine: ModuleType) -> None:
    """Of one token and one label, log Z is the score: what it is off by is the relative error of the exponential."""
    scores = np.random.default_rng(4).normal(0, 3, (20_000, 1)).astype(np.float32)
    chain = Chain(scores, np.zeros((1, 1), np.float32), offsets=np.arange(20_001))
    np.testing.assert_allclose(engine.log_partition(chain), scores[:, 0].astype(np.float64), rtol=0, atol=2.0**-23)
