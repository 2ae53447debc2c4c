"""The default algorithm: both stages, their limits, and where they end."""

from __future__ import annotations

import numpy as np
import pytest

from tagline import CRF
from tagline.training.auto import BothPasses, stochastic_passes
from tagline.training.lbfgs import lbfgs
from tagline.training.likelihood import Likelihood
from tagline.training.owlqn import owlqn
from tests.training.convex import watched
from tests.training.problems import make_problem


def auto(likelihood, start, *, run, passes=None, **settings):
    """What a run ends with that follows both stages."""
    return run.finish(BothPasses(likelihood, start, passes=stochastic_passes(passes, run.max_iterations), **settings))


EXACT = {"epsilon": 1e-9, "delta": 0.0}


def problem_likelihood():
    problem = make_problem(8, L=4, A=15, lengths=(4, 3, 5, 2) * 8)
    return Likelihood(problem.structure, problem.features, problem.targets, None, "float64")


@pytest.mark.parametrize(("c1", "c2"), [(0.0, 1.0), (0.0, 0.05), (0.6, 0.0), (0.6, 0.3)])
def test_ends_where_the_plain_methods_end(c1, c2):
    likelihood = problem_likelihood()
    start = np.zeros(likelihood.size)
    common = {"dtype": np.float64, "noise": 1e-14}
    trained = auto(likelihood, start, c1=c1, c2=c2, **watched(**EXACT), **common)
    if c1:
        plain = owlqn(likelihood, start, c1=c1, c2=c2, **watched(**EXACT), **common)
    else:
        plain = lbfgs(likelihood, start, c2=c2, **watched(**EXACT), **common)
    np.testing.assert_allclose(trained.objective, plain.objective, rtol=1e-9)
    if c2:  # strictly convex: one optimum
        np.testing.assert_allclose(trained.weights, plain.weights, rtol=0, atol=1e-5)


@pytest.mark.parametrize(("limit", "stochastic"), [(1, 0), (2, 1), (7, 3), (30, 12)])
def test_a_limit_counts_both_stages(limit, stochastic):
    likelihood = problem_likelihood()
    trained = auto(likelihood, np.zeros(likelihood.size), c2=0.1, **watched(epsilon=0, delta=0, max_iterations=limit))
    assert trained.reason == "max_iterations"
    assert len(trained.history) == limit
    assert sum(np.isnan(done.gradient_norm) for done in trained.history) == stochastic


def test_no_point_is_evaluated_twice():
    asked = []

    class Asked(Likelihood):
        def __call__(self, weights, *, curvature=False):
            asked.append((weights.tobytes(), curvature))
            return super().__call__(weights, curvature=curvature)

    problem = make_problem(8, L=4, A=15, lengths=(4, 3, 5, 2) * 8)
    likelihood = Asked(problem.structure, problem.features, problem.targets, None, "float64")
    exact = {"dtype": np.float64, "noise": 1e-14, **watched(epsilon=0, delta=0, max_iterations=14)}
    auto(likelihood, np.zeros(likelihood.size), c2=0.1, passes=4, **exact)
    assert len(asked) > 10
    assert len(set(asked)) == len(asked)


def test_a_callback_in_the_first_stage_ends_it():
    likelihood = problem_likelihood()
    trained = auto(likelihood, np.zeros(likelihood.size), **watched(callbacks=[lambda done, _: done.iteration == 3]))
    assert trained.reason == "callback"
    assert len(trained.history) == 3
    value, _ = likelihood(trained.weights)
    np.testing.assert_allclose(trained.objective, value + trained.weights @ trained.weights, rtol=1e-12)


def test_values_of_both_signs_take_no_more_passes_than_others() -> None:
    """Vectors have such values; a curvature of Σ value · p (1 − p) would be about 0 for their weights."""
    rng = np.random.default_rng(0)
    X = [[{str(d): float(v) for d, v in enumerate(rng.normal(0, 3, 6))} for _ in range(8)] for _ in range(60)]
    y = [["A" if row["0"] + row["1"] > rng.normal() else "B" for row in sentence] for sentence in X]
    passes = [len(CRF(algorithm=way, c2=0.1, tolerance=1e-4).fit(X, y).training_log_) for way in ("auto", "lbfgs")]
    assert passes[0] <= passes[1] + 15
