"""OWL-QN: optima with most weights at 0, checked by closed forms, by the conditions of optimality and by SciPy."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.optimize

from tagline import compiled
from tagline.errors import InputError
from tagline.training.line_search import Trial, backtrack
from tagline.training.owlqn import owlqn

from .convex import CONVEX, Convex, assert_optimum, assert_textbook, logistic_loss, textbook, to_the_end, watched

pytestmark = pytest.mark.skipif(compiled.core is None, reason="no compiled core")


def assert_optimal(weights: Any, objective: Any, c1: Any, c2: float, atol: float) -> None:
    """0 is among the derivatives: −c1·sign(w) where w ≠ 0, within ±c1 where w = 0."""
    gradient = objective(weights)[1] + 2 * c2 * weights
    strengths = np.broadcast_to(c1, weights.shape)
    np.testing.assert_allclose((gradient + strengths * np.sign(weights))[weights != 0], 0, rtol=0, atol=atol)
    assert np.all(np.abs(gradient)[weights == 0] <= (strengths + atol)[weights == 0])


def by_scipy(objective: Any, size: int, c1: float, c2: float) -> tuple[float, Any]:
    """The same optimum with w = u − v, u and v not negative."""

    def split(uv: Any) -> tuple[float, Any]:
        u, v = uv[:size], uv[size:]
        value, gradient = objective(u - v)
        gradient = gradient + 2 * c2 * (u - v)
        return value + c2 * (u - v) @ (u - v) + c1 * uv.sum(), np.concatenate([gradient + c1, c1 - gradient])

    options = {"ftol": 1e-16, "gtol": 1e-10, "maxiter": 20_000, "maxfun": 100_000, "maxcor": 30}
    bounds = [(0, None)] * (2 * size)
    solution = scipy.optimize.minimize(
        split, np.zeros(2 * size), jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    return float(solution.fun), solution.x[:size] - solution.x[size:]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_soft_threshold(dtype: Any) -> None:
    """½·h·(w − a)² + c1·|w| + c2·w² is lowest at sign(a)·max(h·|a| − c1, 0) / (h + 2·c2), for each weight."""
    random = np.random.default_rng(0)
    h, a, c1 = random.random(700) + 0.5, random.standard_normal(700), random.random(700)
    c1[::7] = 0

    def objective(w: Any) -> tuple[float, Any]:
        return float((w - a) @ (h * (w - a)) / 2), h * (w - a)

    trained = owlqn(objective, random.standard_normal(700), c1=c1, c2=0.3, dtype=dtype, **to_the_end())
    expected = np.sign(a) * np.maximum(h * np.abs(a) - c1, 0) / (h + 0.6)
    np.testing.assert_allclose(trained.weights, expected, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(trained.weights == 0, expected == 0)
    assert trained.history[-1].active == np.count_nonzero(expected)


@pytest.mark.parametrize("c1", [0.3, 3.0, 20.0])
@pytest.mark.parametrize("memory", [1, 6])
@pytest.mark.parametrize("scaled", [False, True])
def test_logistic_regression(c1: float, memory: int, scaled: bool) -> None:
    objective, size = logistic_loss(1, 20), 20
    diagonal = np.geomspace(0.1, 10, size) ** -1.0 if scaled else None
    trained = owlqn(objective, np.zeros(size), c1=c1, c2=0.05, memory=memory, diagonal=diagonal, **to_the_end())
    lowest, weights = by_scipy(objective, size, c1, 0.05)
    assert_optimal(trained.weights, objective, c1, 0.05, atol=1e-5)
    np.testing.assert_allclose(trained.objective, lowest, rtol=1e-9)
    np.testing.assert_allclose(trained.weights, weights, rtol=0, atol=1e-5)
    assert 0 < trained.history[-1].active < size


def test_one_strength_a_weight() -> None:
    objective = logistic_loss(2, 20)
    c1 = np.where(np.arange(20) % 2, 4.0, 0.0)
    trained = owlqn(objective, np.zeros(20), c1=c1, c2=0.05, **to_the_end())
    assert_optimal(trained.weights, objective, c1, 0.05, atol=1e-6)
    assert np.all(trained.weights[::2] != 0)
    assert np.any(trained.weights[1::2] == 0)


@pytest.mark.parametrize("problem", CONVEX.values(), ids=CONVEX.keys())
def test_without_c1_it_is_smooth(problem: Convex) -> None:
    trained = owlqn(problem.objective, np.zeros(problem.size), c1=0.0, c2=problem.c2, **to_the_end())
    assert_optimum(trained, problem)


def test_textbook_optimum() -> None:
    assert_textbook(owlqn(textbook()[0], np.zeros(9), c1=0.0, c2=0.5, **to_the_end()))


def test_a_strong_penalty_leaves_nothing() -> None:
    objective = logistic_loss(3)
    strong = 1.001 * np.abs(objective(np.zeros(12))[1]).max()
    trained = owlqn(objective, np.zeros(12), c1=strong)
    assert trained.converged
    assert trained.history == ()
    trained = owlqn(objective, np.ones(12), c1=strong, **to_the_end())
    assert trained.weights.tolist() == [0.0] * 12
    assert trained.history[-1].active == 0


def test_every_pass_falls_and_no_weight_passes_zero() -> None:
    objective, passed = logistic_loss(4), [np.full(12, 0.5)]
    trained = owlqn(objective, passed[0], c1=1.0, **to_the_end(callbacks=[lambda p, w: passed.append(w)], epsilon=1e-7))
    assert all(np.all(after * before >= 0) for before, after in pairwise(passed))
    assert any(np.any(after * passed[0] < 0) for after in passed)  # by way of 0
    values = [objective(w)[0] + np.abs(w).sum() for w in passed]
    assert np.all(np.diff(values) <= 1e-12)
    np.testing.assert_allclose(values[1:], [done.objective for done in trained.history], rtol=1e-12)
    norms = [done.gradient_norm for done in trained.history]
    assert norms[-1] < 1e-6 < norms[0]


def test_noise_of_float32_does_not_trap_it() -> None:
    objective = logistic_loss(5)

    def noisy(w: Any) -> tuple[float, Any]:
        value, gradient = objective(w)
        return float(np.float32(value)), gradient.astype(np.float32).astype(np.float64)

    trained = owlqn(noisy, np.zeros(12), c1=1.0, **watched(epsilon=0, delta=0, max_iterations=5000))
    assert trained.reason.startswith("line search failed: ")
    np.testing.assert_allclose(trained.objective, by_scipy(objective, 12, 1.0, 0.0)[0], rtol=1e-6)


def test_a_gradient_that_lies_ends_the_run() -> None:
    trained = owlqn(lambda w: (float(w @ w), -2 * w), np.ones(3), c1=0.1, **to_the_end())
    assert trained.reason.startswith("line search failed: no step")
    assert trained.weights.tolist() == [1.0] * 3


def test_wrong_arguments() -> None:
    with pytest.raises(InputError, match=r"^c1: "):
        owlqn(logistic_loss(0), np.zeros(12), c1=-2.0)
    with pytest.raises(InputError, match=r"^c1: "):
        owlqn(logistic_loss(0), np.zeros(12), c1=np.ones(3))
    with pytest.raises(InputError, match=r"^memory: "):
        owlqn(logistic_loss(0), np.zeros(12), c1=1.0, memory=-1)


def test_backtrack() -> None:
    asked: list[float] = []

    def parabola(t: float) -> Trial:
        asked.append(t)
        return Trial(t, (t - 1) ** 2, 0.0, decrease=-2 * t, gradient_norm=2 * abs(t - 1))

    trial = backtrack(parabola, 1.0, 2.0, 1.7)
    assert trial is not None
    assert asked == [1.7]
    asked.clear()
    trial = backtrack(parabola, 1.0, 2.0, 64.0)
    assert trial is not None
    assert asked[-1] == trial.step < 2
    assert trial.value <= 1 + 1e-4 * trial.decrease
    assert len(asked) <= 4
    assert backtrack(lambda t: Trial(t, 1.0 + t, 0.0, -t, 1.0), 1.0, 1.0, 1.0, noise=0.0) is None
    assert backtrack(lambda t: Trial(t, 0.0, 0.0, -t, math.nan), 1.0, 1.0, 1.0) is None
    assert backtrack(lambda t: Trial(t, 1.0, 0.0, -1e-17, 1.0), 1.0, 1.0, 1.0) is None  # nothing has changed
    assert backtrack(lambda t: Trial(t, math.inf, 0.0, -t, 1.0), 1.0, 1.0, 1.0) is None
    assert backtrack(lambda t: Trial(t, 1.0 + 1e-9, 0.0, -1e-6, 0.5), 1.0, 1.0, 1.0) is not None  # flatter: good
    assert backtrack(lambda t: Trial(t, 1.0 + 1e-9, 0.0, -1e-6, 1.5), 1.0, 1.0, 1.0) is None
    assert backtrack(lambda t: Trial(t, 1.0 + 1e-4, 0.0, -1e-6, 0.5), 1.0, 1.0, 1.0) is None  # more than noise
