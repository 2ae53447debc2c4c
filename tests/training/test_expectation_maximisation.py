"""Expectation–maximisation: when its loop stops, what it returns, whom it tells."""

from __future__ import annotations

import itertools
import math
import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tagline.errors import InputError
from tagline.training.expectation_maximisation import EM, climb
from tagline.training.run import Run
from tagline.training.running.checkpoints import State


def halving(x: float) -> tuple[float, float]:
    return -abs(x - 1), (x + 1) / 2


def test_climbing_stops_by_tolerance():
    climbed = climb(halving, 0.0, tolerance=0.1, run=Run(max_iterations=100))
    assert climbed.converged
    assert climbed.reason == "converged: the objective rose by less than 0.1"
    assert [done.objective for done in climbed.history] == [-1, -0.5, -0.25, -0.125, -0.0625]
    assert [done.iteration for done in climbed.history] == [1, 2, 3, 4, 5]
    assert climbed.objective == -0.0625
    assert climbed.weights == 1 - 2**-5


@pytest.mark.parametrize("steps", [0, 1, 4])
def test_climbing_stops_after_so_many_steps(steps):
    climbed = climb(halving, 0.0, tolerance=-np.inf, run=Run(max_iterations=steps))
    assert climbed.reason == "max_iterations"
    assert not climbed.converged
    assert len(climbed.history) == steps
    assert climbed.weights == 1 - 0.5**steps
    assert math.isnan(climbed.objective) == (steps == 0)


def test_a_fall_ends_the_climb_with_what_was_before_it():
    objectives = {0: 1.0, 1: 2.0, 2: 1.9, 3: 5.0}
    step: Callable[[int], tuple[float, int]] = lambda n: (objectives[n], n + 1)  # noqa: E731
    climbed = climb(step, 0, tolerance=0.0, run=Run(max_iterations=4))
    assert climbed.reason == "fell: the objective went from 2.0 to 1.9"
    assert climbed.weights == 1
    assert climbed.objective == 2.0
    assert climb(step, 0, tolerance=-np.inf, may_fall=True, run=Run(max_iterations=4)).weights == 4


def test_a_run_that_fell_falls_again_when_it_is_resumed(tmp_path):
    objectives = {0: 1.0, 1: 2.0, 2: 1.9}

    class Counted(EM[int]):
        def packed(self, copy: int) -> State:
            return State({"n": copy})

        def unpacked(self, state: State) -> int:
            return int(state.value("n", int))

    for resume in (False, True):
        run = Run(checkpoint=tmp_path / "run", resume=resume, save_every=0)
        with run.opened():
            climbed = run.finish(Counted(lambda n: (objectives[n], n + 1), 0, tolerance=0.0))
        assert (climbed.reason, climbed.weights) == ("fell: the objective went from 2.0 to 1.9", 1)


def test_rounding_is_no_fall():
    objectives = {0: 1e6, 1: 1e6 - 1e-5, 2: 2e6, 3: 2e6}
    climbed = climb(lambda n: (objectives[n], n + 1), 0, tolerance=-np.inf, run=Run(max_iterations=4))
    assert climbed.reason == "max_iterations"


def test_an_interrupt_keeps_the_last_complete_parameters():
    def step(n: int) -> tuple[float, int]:
        if n == 3:
            signal.raise_signal(signal.SIGINT)
        return float(n), n + 1

    climbed = climb(step, 0, tolerance=0.0, run=Run(max_iterations=10))
    assert (climbed.reason, climbed.weights, len(climbed.history)) == ("interrupted", 3, 3)


def test_callbacks_see_each_pass_and_may_stop():
    seen = []

    def tell(done: Any, parameters: int) -> bool:
        seen.append((done.iteration, done.objective, done.active, parameters))
        return parameters == 3

    climbed = climb(
        lambda n: (float(n), n + 1), 0, tolerance=0.0, active=7, run=Run(max_iterations=10, callbacks=[tell])
    )
    assert climbed.reason == "callback"
    assert seen == [(1, 0.0, 7, 1), (2, 1.0, 7, 2), (3, 2.0, 7, 3)]


def test_a_time_budget():
    ticks = itertools.count()
    run = Run(max_iterations=99, max_seconds=7, clock=lambda: float(next(ticks)))  # two looks a step, one at the start
    climbed = climb(lambda n: (float(n), n + 1), 0, tolerance=0.0, run=run)
    assert climbed.reason == "time budget"
    assert len(climbed.history) == 3


def test_an_objective_that_is_no_number_is_an_error():
    with pytest.raises(InputError, match=r"^objective: "):
        climb(lambda n: (math.nan, n), 0, tolerance=0.0, run=Run(max_iterations=5))


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({"max_iterations": -1, "tolerance": 0.0}, r"^max_iterations: "),
        ({"max_iterations": 1, "tolerance": math.nan}, r"^tolerance: "),
        ({"max_iterations": 1, "tolerance": 0.0, "max_seconds": -1.0}, r"^max_seconds: "),
    ],
)
def test_settings_are_checked(settings, place):
    with pytest.raises(InputError, match=place):
        climb(halving, 0.0, tolerance=settings.pop("tolerance"), run=Run(**settings))
