"""Convex problems whose optimum is known by other means, for every algorithm that minimises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.optimize

from tagline.features.functions import FeatureFunctions, FunctionLikelihood
from tagline.training.iteration import Convergence
from tagline.training.run import Run
from tests.chain.golden import GOLDEN

Function = Callable[[Any], tuple[float, Any]]


@dataclass(frozen=True)
class Convex:
    """A smooth objective (without penalties), and where objective + Σ c2·w² is lowest."""

    objective: Function
    size: int
    c2: Any
    optimum: Any
    lowest: float


def watched(**settings: Any) -> dict[str, Any]:
    """When an algorithm has converged, and the run around it: two arguments of algorithms."""
    known = ("epsilon", "period", "delta", "tolerance")
    own = {name: settings.pop(name) for name in known if name in settings}
    return {"convergence": Convergence(**own), "run": Run(**settings)}


def to_the_end(**settings: Any) -> dict[str, Any]:
    """Stop at the optimum only, as far as float64 tells."""
    return watched(**{"epsilon": 1e-10, "delta": 0, "max_iterations": 20_000, **settings})


def quadratic(seed: int, size: int, condition: float) -> Convex:
    """½·(w − w*)·H·(w − w*), H turned at random, its eigenvalues from 1 to `condition`."""
    random = np.random.default_rng(seed)
    turn = np.linalg.qr(random.standard_normal((size, size)))[0]
    H = turn * np.geomspace(1, condition, size) @ turn.T
    optimum = random.standard_normal(size)
    return Convex(lambda w: (float((w - optimum) @ H @ (w - optimum) / 2), H @ (w - optimum)), size, 0.0, optimum, 0.0)


def logistic_loss(seed: int, size: int = 12, rows: int = 80) -> Function:
    """Σ log(1 + exp(−y·x·w)), the columns of x of very different sizes."""
    random = np.random.default_rng(seed)
    x = random.standard_normal((rows, size)) * np.geomspace(0.1, 10, size)
    y = np.sign(x @ random.standard_normal(size) + 3 * random.standard_normal(rows))

    def objective(w: Any) -> tuple[float, Any]:
        margin = y * (x @ w)
        return float(np.logaddexp(0, -margin).sum()), -x.T @ (y * np.exp(-np.logaddexp(0, margin)))

    return objective


def logistic(seed: int, c2: Any = 0.1, size: int = 12) -> Convex:
    """Regularised logistic regression, solved by SciPy and polished by Newton's method."""
    objective = logistic_loss(seed, size)

    def total(w: Any) -> tuple[float, Any]:
        value, gradient = objective(w)
        return value + float((c2 * w * w).sum()), gradient + 2 * c2 * w

    weights = scipy.optimize.minimize(total, np.zeros(size), jac=True, method="L-BFGS-B").x
    for _ in range(6):
        hessian = np.array([(total(weights + 1e-5 * e)[1] - total(weights - 1e-5 * e)[1]) / 2e-5 for e in np.eye(size)])
        weights = weights - np.linalg.solve(hessian, total(weights)[1])
    assert np.abs(total(weights)[1]).max() < 1e-10
    return Convex(objective, size, c2, weights, total(weights)[0])


CONVEX = {
    "easy": quadratic(0, 8, 10.0),
    "one weight": quadratic(1, 1, 1.0),
    "badly conditioned": quadratic(2, 40, 1e4),
    "logistic": logistic(3),
    "one strength a weight": logistic(4, np.geomspace(0.01, 10, 12)),
}


def assert_optimum(trained: Any, problem: Convex) -> None:
    np.testing.assert_allclose(trained.weights, problem.optimum, rtol=0, atol=1e-6)
    np.testing.assert_allclose(trained.objective, problem.lowest, rtol=1e-9, atol=1e-12)


def textbook() -> tuple[FunctionLikelihood, dict[str, Any]]:
    """The training example of a textbook, and its golden answers."""
    numbered = (
        lambda before, y, x, i: before == 1 and y == 2,
        lambda before, y, x, i: before == 1 and y == 1 and i == 2,
        lambda before, y, x, i: before == 2 and y == 1 and i == 3,
        lambda before, y, x, i: before == 2 and y == 1 and i == 2,
        lambda before, y, x, i: before == 2 and y == 2 and i == 3,
        lambda y, x, i: y == 1 and i == 1,
        lambda y, x, i: y == 2 and i in (1, 2),
        lambda y, x, i: y == 1 and i in (2, 3),
        lambda y, x, i: y == 2 and i == 3,
    )
    golden = GOLDEN["doc001_training_optimum"]
    model = FeatureFunctions([(function, 0.0) for function in numbered], labels=[1, 2], first=1)
    paths = [[int(label) for label in path] for path, n in golden["inputs"]["counts"].items() for _ in range(n)]
    return model.likelihood(["abc"] * len(paths), paths), golden["ref"]


def assert_textbook(trained: Any) -> None:
    """With the penalty ½·|w|², which is c2 = 0.5."""
    golden = textbook()[1]["L2 (maximise loglik - 0.5*||w||^2)"]
    np.testing.assert_allclose(trained.weights, golden["w"], rtol=0, atol=1e-6)
    np.testing.assert_allclose(trained.objective, -golden["objective"], rtol=1e-9)
