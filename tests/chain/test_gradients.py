"""Gradients against central differences: step 1e-5, and |a − b| ≤ atol + rtol·|b|."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

from tagline.chain import constrain
from tagline.chain.naive import (
    chain_from_log_potentials,
    gradient_linear,
    parameter_gradients,
    probability_linear,
)
from tagline.errors import NoPathError
from tagline.types import Chain, Float64Array

from .cases import Case, random_chain

DELTA = 1e-5
ATOL = 1e-9
RTOL = 1e-8


def numeric_gradient(function: Callable[[Float64Array], float], point: Float64Array) -> Float64Array:
    """Central differences, 0 where the point is not finite."""
    slope = np.zeros(point.shape)
    for index in np.ndindex(point.shape):
        if np.isfinite(point[index]):
            above, below = point.copy(), point.copy()
            above[index] += DELTA
            below[index] -= DELTA
            slope[index] = (function(above) - function(below)) / (2 * DELTA)
    return slope


def log_likelihood(engine: ModuleType, chain: Chain, labels: np.ndarray) -> float:
    return float(np.sum(engine.score(chain, labels) - engine.log_partition(chain)))


CHAINS: dict[str, dict[str, object]] = {
    "one sentence": {"lengths": [4]},
    "ragged batch": {"lengths": [3, 0, 1, 2]},
    "per position": {"lengths": [3, 1, 2], "per_position": True},
    "forbidden": {"lengths": [4, 2], "forbidden": 0.3},
    "forbidden per position": {"lengths": [3, 2], "forbidden": 0.4, "per_position": True},
    "no start and end": {"lengths": [4], "edges": False},
}


@pytest.fixture(params=CHAINS)
def case(request: pytest.FixtureRequest) -> Case:
    return random_chain(np.random.default_rng(21), 3, **CHAINS[request.param])


@pytest.mark.parametrize("part", ["emissions", "transitions", "start", "end"])
def test_gradient_of_each_score(engine: ModuleType, case: Case, part: str) -> None:
    chain = case.chain
    parts = {name: getattr(chain, name) for name in ("emissions", "transitions", "start", "end")}

    def at(values: Float64Array) -> float:
        return log_likelihood(engine, Chain(**{**parts, part: values}, offsets=chain.offsets), case.labels)

    slope = numeric_gradient(at, parts[part].copy())
    assert np.abs(slope).max() > 0.01, "a gradient to speak of"
    np.testing.assert_allclose(getattr(engine.gradients(chain, case.labels), part), slope, rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("part", ["emissions", "transitions", "start", "end"])
def test_expected_counts_are_the_gradient_of_log_z(engine: ModuleType, case: Case, part: str) -> None:
    chain = case.chain
    parts = {name: getattr(chain, name) for name in ("emissions", "transitions", "start", "end")}

    def at(values: Float64Array) -> float:
        return float(engine.log_partition(Chain(**{**parts, part: values}, offsets=chain.offsets)).sum())

    slope = numeric_gradient(at, parts[part].copy())
    np.testing.assert_allclose(getattr(engine.expected_counts(chain), part), slope, rtol=RTOL, atol=ATOL)


@pytest.mark.parametrize("per_position", [False, True])
def test_gradient_at_a_forbidden_score_is_zero(engine: ModuleType, dtype: str, per_position: bool) -> None:
    rng = np.random.default_rng(22)
    made = random_chain(rng, 4, [5, 3], dtype=dtype, forbidden=0.6, per_position=per_position)
    found = engine.gradients(made.chain, made.labels)
    for part in ("emissions", "transitions", "start", "end"):
        forbidden = np.isneginf(getattr(made.chain, part))
        assert forbidden.any()
        assert (getattr(found, part)[forbidden] == 0).all(), part


def test_the_unread_transition_of_a_first_token_has_no_gradient(engine: ModuleType, dtype: str) -> None:
    made = random_chain(np.random.default_rng(23), 3, [3, 2], dtype=dtype, per_position=True)
    assert np.isnan(made.chain.transitions[[0, 3]]).all()
    assert not engine.gradients(made.chain, made.labels).transitions[[0, 3]].any()
    assert not engine.expected_counts(made.chain).transitions[[0, 3]].any()


def test_forbidden_labels_have_no_gradient_to_give(engine: ModuleType, dtype: str) -> None:
    made = random_chain(np.random.default_rng(24), 3, [2, 3, 1], dtype=dtype)
    labels = np.array([0, 0, 1, 1, 1, 2])
    chain = constrain(made.chain, allowed={3: {0, 2}})
    with pytest.raises(NoPathError, match=r"^labels of sentence 1: "):
        engine.gradients(chain, labels)
    assert np.isneginf(engine.score(chain, labels)).tolist() == [False, True, False]


@pytest.mark.parametrize("dimensions", [(), (2,)], ids=["numbers", "vectors"])
@pytest.mark.parametrize("part", ["x", "W", "P", "S"])
def test_parameter_gradients(dimensions: tuple[int, ...], part: str) -> None:
    rng = np.random.default_rng(25)
    T, L = 5, 3
    point = {
        "x": rng.normal(size=(T, *dimensions)),
        "W": rng.normal(size=(L, *dimensions)),
        "P": rng.normal(size=(L, L)),
        "S": rng.normal(size=L),
    }
    labels = rng.integers(0, L, T)

    def log_p(values: Float64Array) -> float:
        here = {**point, part: values}
        emissions = np.array([[np.sum(here["W"][j] * here["x"][t]) for j in range(L)] for t in range(T)])
        psi = emissions[:, None, :] + here["P"]
        psi[0, 0] = emissions[0] + here["S"]
        return float(np.log(probability_linear(labels, np.exp(psi))))

    found = dict(zip(point, parameter_gradients(labels, *point.values()), strict=True))
    assert found[part].shape == point[part].shape
    np.testing.assert_allclose(found[part], numeric_gradient(log_p, point[part]), rtol=RTOL, atol=ATOL)


def test_gradient_of_linear_potentials(engine: ModuleType) -> None:
    rng = np.random.default_rng(26)
    log_psi, labels = rng.normal(0, 0.5, (4, 3, 3)), rng.integers(0, 3, 4)

    def log_p(psi: Float64Array) -> float:
        return log_likelihood(engine, chain_from_log_potentials(np.log(psi)), labels)

    slope = numeric_gradient(log_p, np.exp(log_psi))
    slope[0, 1:] = 0.0  # never read
    np.testing.assert_allclose(gradient_linear(labels, np.exp(log_psi)), slope, rtol=RTOL, atol=ATOL)
