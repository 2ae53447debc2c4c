"""The table of algorithms: each is run by its name with the settings that it uses, and others are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tagline
from tagline.errors import InputError
from tagline.settings import declarations
from tagline.training.algorithms import Settings, train
from tagline.training.choices import ALGORITHMS, algorithm_of
from tagline.training.likelihood import Likelihood
from tagline.training.run import Run, Trained
from tests.training.convex import watched
from tests.training.problems import make_problem

PROBLEM = make_problem(8, L=3, A=12, lengths=(4, 3, 5, 2) * 4)
PENALTIES = [("c1", 0.5), ("c2", 0.5)]


def trained_by(algorithm: str, around: dict[str, Any] | None = None, **settings: Any) -> Trained:
    start = np.zeros(PROBLEM.structure.size)
    problem = (PROBLEM.structure, PROBLEM.features, PROBLEM.targets, PROBLEM.rules)
    settings["algorithm"] = algorithm_of(algorithm)
    return train(*problem, start, Settings(**settings), **(around or {"run": Run(max_iterations=3)}))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_runs_with_the_defaults(algorithm: str) -> None:
    trained = trained_by(algorithm)
    assert np.isfinite(trained.weights).all()
    assert trained.weights.any()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("name", "value"), PENALTIES)
def test_a_penalty_is_used_or_refused(algorithm: str, name: str, value: float) -> None:
    """The objective holds the penalty, or the message says who has it."""
    if name not in ALGORITHMS[algorithm].penalties:
        X, y = [[{"word": "Anna"}, {"word": "sings"}]], [["N", "V"]]
        with pytest.raises(InputError, match=f"{name}: expected 0 beside algorithm='{algorithm}', got 0.5; .*auto, "):
            tagline.CRF(algorithm=algorithm, **{name: value}).fit(X, y)
        return
    settings = {"c1": 0.0, "c2": 0.0, name: value}
    trained = trained_by(algorithm, **settings)
    likelihood = Likelihood(PROBLEM.structure, PROBLEM.features, PROBLEM.targets, PROBLEM.rules, "float64")
    w = trained.weights
    total = likelihood(w)[0] + settings["c1"] * np.abs(w).sum() + settings["c2"] * w @ w
    np.testing.assert_allclose(trained.objective, total, rtol=1e-9)


@pytest.mark.parametrize("algorithm", ["ap", "pa", "arow"])
def test_the_default_penalty_and_none_are_no_request(algorithm: str) -> None:
    runs = [
        trained_by(algorithm, **settings).weights.tobytes() for settings in ({}, {"c2": 1.0}, {"c1": 0.0, "c2": 0.0})
    ]
    assert runs[0] == runs[1] == runs[2]


def test_gradient_descent_reaches_the_optimum_of_an_l1_penalty() -> None:
    end = {"epsilon": 1e-8, "delta": 0.0}
    plain, newton = (
        trained_by(name, watched(**end, max_iterations=20_000), c1=0.5, c2=0.1) for name in ("gd", "owlqn")
    )
    np.testing.assert_allclose(plain.objective, newton.objective, rtol=1e-9)
    np.testing.assert_allclose(plain.weights, newton.weights, rtol=0, atol=1e-5)
    assert (plain.weights == 0).any()


def test_an_estimator_refuses_what_its_algorithm_cannot_use() -> None:
    X, y = [[{"word": "Anna"}, {"word": "sings"}]], [["N", "V"]]
    assert tagline.CRF(algorithm="ap").fit(X, y).predict(X) == y
    with pytest.raises(InputError, match=r"c1: expected 0 beside algorithm='ap', got 0\.1; it has no such"):
        tagline.CRF(algorithm="ap", c1=0.1).fit(X, y)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_algorithm_is_written_as_text_and_read_again(algorithm: str) -> None:
    assert algorithm_of(algorithm) == ALGORITHMS[algorithm]()
    assert str(algorithm_of(algorithm)) == algorithm
    for name, entry in declarations(ALGORITHMS[algorithm]).items():
        value = {bool: not entry.default, int: 2, float: 0.25}[entry.type or str]
        changed = ALGORITHMS[algorithm](**{name: value})
        assert algorithm_of(str(changed)) == changed != ALGORITHMS[algorithm]()
        assert algorithm_of({"name": algorithm, name: value}) == changed


@pytest.mark.parametrize(
    "wrong", ["newton", None, 3, "lbfgs:passes=3", "sgd:rate=x", "auto:memory=0", "ap:averaged=2", {}]
)
def test_an_algorithm_that_is_none_is_refused(wrong: Any) -> None:
    with pytest.raises(InputError, match=r"^algorithm(\.\w+)?: expected "):
        algorithm_of(wrong)
