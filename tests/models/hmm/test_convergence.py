"""EM that a limit ends before it converged: a warning, once, where `fit` was called."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tagline import HMM
from tagline.models.hmm.baum_welch import Problem

X = np.random.default_rng(0).normal(size=(60, 2)).cumsum(axis=0)


@pytest.mark.parametrize(
    ("settings", "limit"),
    [
        ({"max_iterations": 3}, "max_iterations"),
        ({"max_iterations": 2, "n_init": 3}, "max_iterations"),
        ({"max_seconds": 0.0}, "max_seconds"),
    ],
)
def test_a_limit_that_ends_em_is_said_once(settings: dict[str, Any], limit: str) -> None:
    with pytest.warns(ConvergenceWarning, match=f"^{limit}: .* [123] steps") as heard:
        HMM(3, emission="gaussian", tolerance=1e-9, **settings).fit(X)
    assert len(heard) == 1
    assert heard[0].filename == __file__


def test_a_fall_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """An M step that takes variances back to a floor may lower the objective."""
    plain, values = Problem.step, iter([-3.0, -2.0, -2.5])

    class Falling:
        def __get__(self, problem: Any, kind: Any) -> Any:
            return lambda p: (next(values), plain(problem, p)[1])

    monkeypatch.setattr(Problem, "step", Falling())
    hmm = HMM(2, emission="gaussian")
    with pytest.warns(ConvergenceWarning, match="^min_variance: EM of 2") as heard:
        hmm.fit(X)
    assert (len(heard), len(hmm.training_log_), hmm.objective_) == (1, 2, -2.0)
    assert hmm.stop_reason_.startswith("fell")


def test_each_number_of_states_has_its_own() -> None:
    with pytest.warns(ConvergenceWarning) as heard:
        HMM(emission="gaussian", max_iterations=2, tolerance=1e-9).select(X, states=(2, 3))
    assert [str(warning.message)[:28] for warning in heard] == [f"max_iterations: EM of {K} stat" for K in (2, 3)]


@pytest.mark.parametrize("settings", [{"max_iterations": 500}, {"tolerance": -np.inf, "max_iterations": 3}])
def test_what_converged_or_was_asked_for_is_not(settings: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hmm = HMM(2, emission="gaussian", **settings).fit(X)
        hmm.set_params(warm_start=True, max_iterations=1).fit(X)
        HMM(emission="gaussian", max_iterations=1).fit(X, [row % 2 for row in range(len(X))])
