"""Gradient descent: slowly to the same optimum as the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tagline import compiled
from tagline.training.gradient_descent import gd
from tagline.training.lbfgs import lbfgs
from tagline.training.owlqn import owlqn

from .convex import CONVEX, Convex, assert_optimum, assert_textbook, logistic_loss, textbook, to_the_end, watched

pytestmark = pytest.mark.skipif(compiled.core is None, reason="no compiled core")

QUICK = ["easy", "one weight", "logistic"]


@pytest.mark.parametrize("problem", [CONVEX[name] for name in QUICK], ids=QUICK)
def test_reaches_the_optimum(problem: Convex) -> None:
    start = np.full(problem.size, 0.5)
    assert_optimum(gd(problem.objective, start, c2=problem.c2, **to_the_end(epsilon=1e-8)), problem)
    np.testing.assert_array_equal(start, 0.5)


def test_textbook_optimum() -> None:
    assert_textbook(gd(textbook()[0], np.zeros(9), c2=0.5, **to_the_end()))


def test_the_optimum_of_owlqn() -> None:
    objective = logistic_loss(0, size=6)
    ours = gd(objective, np.ones(6), c1=4.0, c2=0.5, **to_the_end(epsilon=1e-8))
    theirs = owlqn(objective, np.ones(6), c1=4.0, c2=0.5, **to_the_end())
    np.testing.assert_allclose(ours.weights, theirs.weights, rtol=0, atol=1e-6)
    np.testing.assert_allclose(ours.objective, theirs.objective, rtol=1e-9)
    np.testing.assert_array_equal(ours.weights == 0, theirs.weights == 0)
    assert np.any(ours.weights == 0)


def test_each_pass_goes_against_the_gradient() -> None:
    objective, places = logistic_loss(1), [np.ones(12)]
    trained = gd(objective, places[0], c2=1.0, **watched(max_iterations=20, callbacks=[lambda p, w: places.append(w)]))
    for before, after, done in zip(places, places[1:], trained.history, strict=False):
        gradient = objective(before)[1] + 2 * before
        assert done.step is not None
        np.testing.assert_allclose(after, before - done.step * gradient, rtol=1e-12, atol=1e-12)
    assert np.all(np.diff([done.objective for done in trained.history]) < 0)


def test_takes_more_passes_than_lbfgs() -> None:
    problem = CONVEX["logistic"]
    counts = [
        len(method(problem.objective, np.zeros(12), c2=problem.c2, **to_the_end(epsilon=1e-6)).history)
        for method in (gd, lbfgs)
    ]
    assert counts[0] > 5 * counts[1]


def test_a_gradient_that_lies_ends_the_run() -> None:
    def objective(w: Any) -> tuple[float, Any]:
        return float(w @ w), -2 * w

    trained = gd(objective, np.ones(3), **to_the_end())
    assert trained.reason.startswith("line search failed: no step")
    assert trained.weights.tolist() == [1.0] * 3
