"""L-BFGS: the optimum of convex functions, the textbook's direction, the economy of its line search, bad objectives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagline import chain, compiled
from tagline.errors import InputError
from tagline.training import lbfgs as module
from tagline.training.curvature import Curvature
from tagline.training.gradient_descent import gd
from tagline.training.lbfgs import lbfgs
from tagline.training.line_search import Trial, wolfe
from tagline.training.objective import Penalty

from .convex import (
    CONVEX,
    Convex,
    assert_optimum,
    assert_textbook,
    logistic,
    logistic_loss,
    textbook,
    to_the_end,
    watched,
)

pytestmark = pytest.mark.skipif(compiled.core is None, reason="no compiled core")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("memory", [1, 6, 30])
@pytest.mark.parametrize("problem", CONVEX.values(), ids=CONVEX.keys())
def test_reaches_the_optimum(problem: Convex, memory: int, dtype: Any) -> None:
    start = np.full(problem.size, 0.5)
    trained = lbfgs(problem.objective, start, c2=problem.c2, memory=memory, dtype=dtype, **to_the_end())
    assert_optimum(trained, problem)
    assert trained.converged or memory == 1  # which may end a little before, in the rounding
    np.testing.assert_array_equal(start, 0.5)


@pytest.mark.parametrize("engine", ["naive", "native"])
def test_textbook_optimum(engine: str) -> None:
    with chain.using_engine(engine):
        assert_textbook(lbfgs(textbook()[0], np.zeros(9), c2=0.5, **to_the_end()))


def test_textbook_without_a_penalty() -> None:
    """The weights are not unique, the distribution is."""
    likelihood, golden = textbook()
    trained = lbfgs(likelihood, np.zeros(9), **to_the_end())
    ranked = chain.k_best(likelihood.functions.with_weights(trained.weights).chain("abc"), 8)[0]
    probabilities = {tuple(path + 1): p for path, p in zip(ranked.labels, ranked.probabilities, strict=True)}
    for path, probability in golden["MLE (no regulariser)"]["path_probs"].items():
        np.testing.assert_allclose(probabilities[tuple(map(int, path))], probability, rtol=0, atol=1e-6)


def test_a_diagonal_hessian_is_solved_at_once() -> None:
    curvature, optimum = np.geomspace(1, 1e8, 50), np.linspace(-1, 1, 50)

    def objective(w: Any) -> tuple[float, Any]:
        return float((w - optimum) @ (curvature * (w - optimum)) / 2), curvature * (w - optimum)

    asked: list[Any] = []

    def diagonal(start: Any) -> Any:
        asked.append(start.copy())
        return 1 / curvature

    for given_as in (1 / curvature, diagonal):
        trained = lbfgs(objective, np.ones(50), diagonal=given_as, **to_the_end(epsilon=1e-6))
        assert len(trained.history) == 1
        np.testing.assert_allclose(trained.weights, optimum, rtol=0, atol=1e-12)
    assert [weights.tolist() for weights in asked] == [[1.0] * 50]


def test_a_rough_diagonal_saves_passes() -> None:
    """A diagonal of very different numbers and something beside it."""
    random = np.random.default_rng(0)
    diagonal, beside = np.geomspace(1, 1e5, 40), random.standard_normal((40, 5))

    def objective(w: Any) -> tuple[float, Any]:
        gradient = diagonal * (w - 1) + beside @ (beside.T @ (w - 1))
        return float((w - 1) @ gradient / 2), gradient

    plain = lbfgs(objective, np.zeros(40), **to_the_end(epsilon=1e-8))
    helped = lbfgs(objective, np.zeros(40), diagonal=3 / diagonal, **to_the_end(epsilon=1e-8))
    np.testing.assert_allclose(helped.weights, 1, rtol=0, atol=1e-6)
    assert len(helped.history) < len(plain.history) / 5


class Explicit:
    """The inverse Hessian as a matrix: H ← (1 − ρ·s·yᵀ)·H·(1 − ρ·y·sᵀ) + ρ·s·sᵀ over the last pairs, from γ·D."""

    def __init__(self, pairs: list[tuple[Any, Any]], D: Any) -> None:
        s, y = pairs[-1]
        self.H = np.diag(D) * (s @ y) / (y @ (D * y))
        identity = np.eye(len(D))
        for s, y in pairs:
            rho = 1 / (s @ y)
            turn = identity - rho * np.outer(s, y)
            self.H = turn @ self.H @ turn.T + rho * np.outer(s, s)


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 12), st.booleans())
def test_the_direction_is_the_textbooks(seed: int, memory: int, steps: int, diagonal: bool) -> None:
    random = np.random.default_rng(seed)
    n = 6
    D = random.random(n) + 0.5 if diagonal else np.ones(n)
    curvature, rows, pairs = Curvature(memory), np.zeros((2, memory + 1, n)), []
    for _ in range(steps):
        s, p = random.standard_normal((2, n))
        y = s * (random.random(n) + 0.2)
        if random.random() < 0.2:
            y = -y  # no curvature: not remembered
        rows[:, curvature.spare] = s, y
        asked = [*curvature.used, curvature.spare]
        products = np.array(
            [[rows[0, r] @ y, rows[0, r] @ p, rows[1, r] @ (D * y), rows[1, r] @ (D * p)] for r in asked]
        )
        remembered = curvature.remember(products, s @ s, y @ y)
        assert remembered == (s @ y > 0)
        pairs = [*pairs, (s, y)][-memory:] if remembered else pairs
        assert len(curvature.used) == len(pairs)
        of_s, of_y, of_gradient = curvature.coefficients()
        d = of_s @ rows[0, curvature.used] + D * (of_gradient * p + of_y @ rows[1, curvature.used])
        expected = -Explicit(pairs, D).H @ p if pairs else -D * p
        np.testing.assert_allclose(d, expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max())
        assert d @ p < 0


def test_pairs_without_curvature_are_not_remembered() -> None:
    curvature = Curvature(2)
    for s_y, s2, y2 in (
        (0.0, 1.0, 1.0),
        (1e-11, 1.0, 1.0),
        (1.0, math.inf, 1.0),
        (math.nan, 1.0, 1.0),
        (0.0, 0.0, 0.0),
    ):
        assert not curvature.remember(np.array([[s_y, 1.0, 1.0, 1.0]]), s2, y2)
    assert not curvature.remember(np.array([[1.0, 1.0, 0.0, 1.0]]), 1.0, 1.0)
    assert len(curvature.used) == 0
    assert curvature.remember(np.array([[1.0, 1.0, 1.0, 1.0]]), 1.0, 1.0)
    curvature.forget()
    assert (len(curvature.used), curvature.spare) == (0, 0)


def test_mostly_one_evaluation_a_pass_and_never_the_same_twice() -> None:
    loss, asked = logistic_loss(7, size=40, rows=300), []

    def objective(w: Any) -> tuple[float, Any]:
        asked.append(w.tobytes())
        return loss(w)

    trained = lbfgs(objective, np.zeros(40), c2=1.0, **to_the_end(epsilon=1e-8))
    assert len(asked) == trained.history[-1].evaluations < 1.15 * len(trained.history) + 5
    assert len(set(asked)) == len(asked)
    assert np.mean([done.step == 1 for done in trained.history]) > 0.85


def test_the_objective_falls_and_the_history_is_true() -> None:
    loss = logistic_loss(8)
    seen: list[tuple[Any, Any]] = []
    lbfgs(loss, np.ones(12), c2=0.5, **to_the_end(callbacks=[lambda p, w: seen.append((p, w))]))
    for done, weights in seen:
        value, gradient = loss(weights)
        np.testing.assert_allclose(done.objective, value + 0.5 * weights @ weights, rtol=1e-12)
        np.testing.assert_allclose(done.gradient_norm, np.linalg.norm(gradient + weights), rtol=1e-9, atol=1e-11)
        assert done.active == 12
    assert np.all(np.diff([done.objective for done, _ in seen]) <= 1e-7 * seen[0][0].objective)
    assert [done.evaluations for done, _ in seen] == sorted({done.evaluations for done, _ in seen})


def test_noise_of_float32_does_not_trap_it() -> None:
    """No tolerance is set: it ends by itself, next to the optimum."""
    problem = logistic(9)

    def noisy(w: Any) -> tuple[float, Any]:
        value, gradient = problem.objective(w)
        return float(np.float32(value)), gradient.astype(np.float32).astype(np.float64)

    trained = lbfgs(noisy, np.zeros(12), c2=problem.c2, **watched(epsilon=0, delta=0, max_iterations=5000))
    assert trained.reason.startswith("line search failed: ")
    np.testing.assert_allclose(trained.objective, problem.lowest, rtol=1e-6)


def test_a_gradient_that_lies_ends_the_run() -> None:
    trained = lbfgs(lambda w: (float(w @ w), -2 * w), np.ones(3), **to_the_end())
    assert trained.reason.startswith("line search failed: no step")
    assert trained.history == ()
    assert (trained.weights.tolist(), trained.objective) == ([1.0] * 3, 3.0)


@pytest.mark.parametrize("method", [lbfgs, gd])
def test_at_the_very_optimum_nothing_is_tried(method: Any) -> None:
    asked: list[Any] = []

    def objective(w: Any) -> tuple[float, Any]:
        asked.append(w)
        return float(w @ w), 2 * w

    trained = method(objective, np.zeros(3), **watched(epsilon=0, delta=0))
    assert trained.reason.startswith("line search failed: no step")
    assert len(asked) == 1


def test_a_failed_search_starts_again_from_the_steepest_descent(monkeypatch: pytest.MonkeyPatch) -> None:
    searches: list[float] = []

    def failing(*arguments: Any, **options: Any) -> Trial | None:
        searches.append(arguments[3])
        return None if len(searches) in (3, 7) else wolfe(*arguments, **options)

    monkeypatch.setattr(module, "wolfe", failing)
    problem = CONVEX["logistic"]
    trained = lbfgs(problem.objective, np.zeros(12), c2=problem.c2, **to_the_end())
    assert_optimum(trained, problem)
    assert searches[0] < 1.0  # along the bare gradient, of length 1
    assert set(searches[1:]) == {1.0}
    assert len(searches) == len(trained.history) + 2


def test_where_the_objective_is_no_number_it_steps_back() -> None:
    """−Σ log(1 − w) + Σ w² is +∞ (here: nan) from 1 on."""

    def barrier(w: Any) -> tuple[float, Any]:
        if (w >= 1).any():
            return math.nan, np.full(len(w), math.nan)
        return float(-np.log(1 - w).sum() - 100 * w.sum()), 1 / (1 - w) - 100

    trained = lbfgs(barrier, np.zeros(4), c2=1.0, **to_the_end(epsilon=1e-9))
    w = trained.weights
    np.testing.assert_allclose(1 / (1 - w) - 100 + 2 * w, 0, atol=1e-6)


def test_objectives_may_reuse_their_gradient_but_not_change_the_weights() -> None:
    problem = CONVEX["logistic"]
    buffer = np.empty(12)

    def thrifty(w: Any) -> tuple[float, Any]:
        value, buffer[:] = problem.objective(w)
        return value, buffer

    assert_optimum(lbfgs(thrifty, np.zeros(12), c2=problem.c2, **to_the_end()), problem)

    def greedy(w: Any) -> tuple[float, Any]:
        w[0] = 1
        return 0.0, w

    with pytest.raises(ValueError, match="read-only"):
        lbfgs(greedy, np.zeros(3))


def test_the_same_bytes_for_any_number_of_threads() -> None:
    n = 50_000
    scale = np.linspace(1, 100, n)
    results, before = [], compiled.threads()
    try:
        for count in (1, 2):
            compiled.set_threads(count)
            trained = lbfgs(
                lambda w: (float(np.cosh(w - 1).sum() * 2), 2 * np.sinh(w - 1) * np.sqrt(scale)),
                np.zeros(n),
                c2=scale,
                **watched(max_iterations=15),
            )
            results.append((trained.weights.tobytes(), [done.objective for done in trained.history]))
    finally:
        compiled.set_threads(before)
    assert results[0] == results[1]


def test_no_weights_at_all() -> None:
    trained = lbfgs(lambda w: (2.5, w), np.zeros(0))
    assert trained.converged
    assert (trained.objective, trained.weights.shape) == (2.5, (0,))


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        ({"start": np.zeros((2, 2))}, r"^start: "),
        ({"start": [0.0, math.nan, 1.0]}, r"^start\[1\]: "),
        ({"start": ["a", "b", "c"]}, r"^start: "),
        ({"c2": -1.0}, r"^c2: "),
        ({"c2": [1.0, 2.0]}, r"^c2: "),
        ({"c2": math.inf}, r"^c2: "),
        ({"memory": 0}, r"^memory: "),
        ({"dtype": np.int32}, r"^dtype: "),
        ({"diagonal": np.ones(2)}, r"^diagonal: "),
        ({"diagonal": [1.0, 0.0, 1.0]}, r"^diagonal\[1\]: "),
        ({"objective": lambda w: (1.0, np.zeros(2))}, r"^gradient: "),
        (
            {"objective": lambda w: (math.nan, w)},
            r"^objective: ",
        ),
        ({"objective": lambda w: (1.0, w / 0 * math.nan)}, r"^objective: "),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_wrong_arguments(arguments: dict[str, Any], place: str) -> None:
    given_arguments = {"objective": lambda w: (float(w @ w), 2 * w), "start": np.zeros(3), **arguments}
    with pytest.raises(InputError, match=place):
        lbfgs(given_arguments.pop("objective"), given_arguments.pop("start"), **given_arguments)


def test_penalty_is_its_definition() -> None:
    penalty = Penalty.of([1.0, 2.0], 3, 2)
    assert penalty.value(np.array([1.0, -2.0])) == 1 + 4 + 3 * (1 + 4)


FUNCTIONS = {
    "parabola": (lambda t: (t - 3) ** 2, lambda t: 2 * (t - 3)),
    "far away": (lambda t: (t / 1000 - 3) ** 2, lambda t: 2 * (t / 1000 - 3) / 1000),
    "very near": (lambda t: (1000 * t - 3) ** 2, lambda t: 2000 * (1000 * t - 3)),
    "exponential": (lambda t: math.exp(min(t, 700)) - 3 * t, lambda t: math.exp(min(t, 700)) - 3),
    "wall": (
        lambda t: -math.log(1 - t) - 9 * t if t < 1 else math.nan,
        lambda t: 1 / (1 - t) - 9 if t < 1 else math.nan,
    ),
    "waves": (lambda t: t * t / 10 - math.sin(5 * t), lambda t: t / 5 - 5 * math.cos(5 * t)),
    "hundredth power": (lambda t: (t - 1) ** 100, lambda t: 100 * (t - 1) ** 99),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@settings(max_examples=30)
@given(step=st.floats(1e-4, 1e4))
def test_wolfe_conditions(name: str, step: float) -> None:
    value, slope = FUNCTIONS[name]
    asked: list[float] = []

    def evaluate(t: float) -> Trial:
        asked.append(t)
        try:
            return Trial(t, value(t), slope(t))
        except OverflowError:
            return Trial(t, math.inf, math.inf)

    trial = wolfe(evaluate, value(0), slope(0), step, noise=0.0)
    assert trial is not None
    assert asked[-1] == trial.step  # the point that was measured last
    assert trial.value <= value(0) + 1e-4 * trial.step * slope(0)
    assert trial.slope >= 0.9 * slope(0)
    assert len(asked) <= 21


def test_wolfe_takes_a_good_first_step() -> None:
    asked: list[float] = []

    def evaluate(t: float) -> Trial:
        asked.append(t)
        return Trial(t, (t - 1.3) ** 2, 2 * (t - 1.3))

    trial = wolfe(evaluate, 1.69, -2.6, 1.0)
    assert trial is not None
    assert asked == [1.0]


def test_wolfe_gives_up() -> None:
    assert wolfe(lambda t: Trial(t, 1 + t, -1.0), 1.0, -1.0, 1.0) is None
    assert wolfe(lambda t: Trial(t, math.inf, math.nan), 1.0, -1.0, 1.0, most=5) is None
    # For ever downhill: the best that was seen is better than nothing.
    endless = wolfe(lambda t: Trial(t, -t, -1.0), 0.0, -1.0, 1.0, most=5)
    assert endless is not None
    assert endless.value < -1000
    asked: list[float] = []

    def cliff(t: float) -> Trial:
        asked.append(t)
        return Trial(t, -t if t < 5 else math.inf, -1.0)

    trial = wolfe(cliff, 0.0, -1.0, 1.0, most=2)
    assert trial is not None
    assert asked == [1.0, 10.0, 1.0]  # measured again, since it was not the last
    assert trial.step == 1.0


def test_wolfe_wants_a_slope() -> None:
    trial = wolfe(lambda t: Trial(t, -t, math.nan if t > 0.5 else -0.5), 0.0, -1.0, 1.0)
    assert trial is not None
    assert trial.step <= 0.5


def test_wolfe_within_noise_asks_the_slope() -> None:
    """The value says nothing here: what is flatter is accepted, what is steep on the other side is not."""
    flat = wolfe(lambda t: Trial(t, 1.0 + 1e-9, 1e-10), 1.0, -1e-9, 1.0)
    assert flat is not None
    assert flat.step == 1.0
    steep = wolfe(lambda t: Trial(t, 1.0 + 1e-9, 1e-9 * (4 * t - 1)), 1.0, -1e-9, 1.0)
    assert steep is not None
    assert steep.step < 0.5
