"""When training stops and what it keeps: every reason, the dev score, callbacks, Ctrl-C."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from typing import Any

import numpy as np
import pytest

from tagline.errors import InputError
from tagline.training.gradient_descent import gd
from tagline.training.iteration import Algorithm, Convergence, Step
from tagline.training.lbfgs import lbfgs
from tagline.training.owlqn import owlqn
from tagline.training.run import Run, Trained
from tagline.training.running.checkpoints import State

from .convex import logistic_loss, watched

START = np.full(2, 7.0)


def points(objectives: list[float], gradient: float = 1.0) -> Iterator[Step]:
    """Step k has weights (k, k), and its buffer is used again for step k + 2."""
    buffers = [np.zeros(2), np.zeros(2)]
    for k, objective in enumerate(objectives):
        buffers[k % 2][:] = k
        metrics = {"active": k, "evaluations": k + 1, "step": 0.5}
        yield Step(k, objective, gradient, metrics=metrics, weights=buffers[k % 2])


class Made(Algorithm):
    """A made-up algorithm of these steps."""

    def __init__(self, steps: Iterator[Step], weight_norm: float = 1.0, **tolerances: Any) -> None:
        self.weights, self.steps, self.weight_norm = START, steps, weight_norm
        self.convergence = Convergence(**{"delta": 0, **tolerances})

    def __iter__(self) -> Generator[Step, None, None]:
        for step in self.steps:
            self.reason = self.convergence.after(step, self.weight_norm)
            yield step
        self.reason = "no more"

    def state(self) -> State:
        raise NotImplementedError

    load_state = state


def run(objectives: list[float], gradient: float = 1.0, **settings: Any) -> Trained:
    own = {name: settings.pop(name) for name in ("epsilon", "period", "delta", "tolerance") if name in settings}
    return Run(**settings).finish(Made(points(objectives, gradient), **own))


def ticking(step: float = 1.0) -> Iterator[float]:
    now = 100.0
    while True:
        yield now
        now += step


def test_the_algorithms_own_reason() -> None:
    trained = run([5.0, 4.0, 3.0])
    assert (trained.reason, trained.objective, trained.weights.tolist()) == ("no more", 3.0, [2.0, 2.0])
    assert not trained.converged
    assert [done.iteration for done in trained.history] == [1, 2]  # the start is no pass
    assert [done.objective for done in trained.history] == [4.0, 3.0]
    assert [done.evaluations for done in trained.history] == [2, 3]
    assert [done.active for done in trained.history] == [1, 2]


def test_stops_when_the_gradient_is_small() -> None:
    trained = run([5.0, 4.0], gradient=9e-6)
    assert trained.converged
    assert "gradient norm 9.00e-06" in trained.reason
    assert trained.history == ()  # the start was good enough
    assert trained.weights.tolist() == [0.0, 0.0]
    assert not run([5.0, 4.0], gradient=1e-5).converged  # strictly below
    assert not run([5.0, 4.0], gradient=0.0, epsilon=0).converged


@pytest.mark.parametrize(("weight_norm", "stops"), [(0.5, False), (3.0, False), (30.0, True)])
def test_the_gradient_is_judged_by_the_weights(weight_norm: float, stops: bool) -> None:
    steps = iter([Step(0, 1.0, 1e-4, weights=START)])
    assert Run().finish(Made(steps, weight_norm, epsilon=1e-5)).converged is stops


def test_stops_when_the_objective_does_not_move() -> None:
    falling = [100.0, 50.0, 20.0, 10.0, 10.0 - 1e-5, 10.0 - 2e-5, 1.0, 1.0]
    trained = run(falling, period=2, delta=1e-5)
    assert trained.converged
    assert trained.reason == "converged: the objective changed by at most 1e-05 of it in 2 passes"
    assert trained.objective == 10.0 - 2e-5
    assert len(trained.history) == 5
    assert len(run(falling, period=1, delta=1e-5).history) == 4
    assert run(falling, period=0, delta=1e-5).reason == "no more"
    # The start counts: CRFsuite compares the tenth pass with it.
    assert len(run([1.0] * 20, period=10, delta=1e-5).history) == 10
    assert run([0.0] * 20, period=10, delta=1e-5).converged
    assert run([math.nan, 1.0, 1.0], period=2, delta=1e-5).reason == "no more"


def test_stops_after_so_many_passes() -> None:
    trained = run([5.0, 4.0, 3.0], max_iterations=1)
    assert (trained.reason, trained.objective, len(trained.history)) == ("max_iterations", 4.0, 1)
    trained = run([5.0, 4.0, 3.0], max_iterations=0)
    assert (trained.reason, trained.objective, len(trained.history)) == ("max_iterations", 5.0, 0)


def test_stops_when_the_time_is_up() -> None:
    trained = run([5.0, 4.0, 3.0, 2.0], max_seconds=3.5, clock=ticking().__next__)
    assert trained.reason == "time budget"
    assert 1 <= len(trained.history) < 3
    assert run([5.0, 4.0], max_seconds=0).history == ()
    assert run([5.0, 4.0], max_seconds=60).reason == "no more"


def test_patience_keeps_the_best_weights() -> None:
    scores = [0.1, 0.5, 0.3, 0.5, 0.4, 0.9]

    def dev(weights: Any) -> float:
        return scores[int(weights[0]) - 1]

    trained = run([9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0], dev=dev, patience=2)
    assert trained.reason == "patience"
    assert trained.weights.tolist() == [2.0, 2.0]  # the second pass; an equal score is not better
    assert trained.objective == 7.0
    assert [done.dev_score for done in trained.history] == [0.1, 0.5, 0.3, 0.5]
    patient = run([9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0], dev=dev, patience=5)
    assert (patient.reason, patient.weights.tolist(), patient.objective) == ("no more", [6.0, 6.0], 3.0)
    impatient = run([9.0, 8.0, 7.0], dev=dev)
    assert (impatient.weights.tolist(), impatient.history[-1].dev_score) == ([2.0, 2.0], 0.5)
    assert run([9.0, 8.0, 7.0], dev=lambda w: math.nan, patience=1).weights.tolist() == [1.0, 1.0]


def test_callbacks_see_each_pass_and_may_stop() -> None:
    seen: list[tuple[int, Any]] = []

    def remember(done: Step, weights: Any) -> None:
        seen.append((done.iteration, weights))

    def stop(done: Step, weights: Any) -> bool:
        weights[:] = -1  # their own copy
        return done.iteration == 3

    trained = run([5.0, 4.0, 3.0, 2.0, 1.0], callbacks=[remember, stop])
    assert trained.reason == "callback"
    assert trained.weights.tolist() == [3.0, 3.0]
    assert [(number, weights.tolist()) for number, weights in seen] == [(k, [k, k]) for k in (1, 2, 3)]


def test_convergence_is_said_before_other_reasons() -> None:
    trained = run([1.0], 0.5, epsilon=1.0, max_iterations=0)
    assert trained.converged
    stop = [lambda done, weights: True]
    assert run([1.0, 1.0], period=1, delta=1e-5, callbacks=stop).converged
    assert run([2.0, 1.0], period=1, delta=1e-5, callbacks=stop).reason == "callback"


def test_reports_each_pass() -> None:
    lines: list[str] = []
    run([5.0, 4.0, 3.0], reports=[lambda done: lines.append(done.line())], clock=ticking(0.25).__next__)
    assert lines == [
        "   1  objective 4.0000  gradient 1.00e+00  active 1  step 5.0e-01  evaluations 2  0.2 s",
        "   2  objective 3.0000  gradient 1.00e+00  active 2  step 5.0e-01  evaluations 3  0.5 s",
    ]
    assert (
        Step(3, 1.5, seconds=1.0, metrics={"active": 2, "evaluations": 0}).line()
        == "   3  objective 1.5000  active 2  evaluations 0  1.0 s"
    )


def test_a_place_between_two_passes_is_not_recorded() -> None:
    steps = [Step(0, 9.0), Step(1, 8.0), Step(1, 7.5), Step(2, 7.0)]
    followed = Run()
    assert [step.objective for step in followed.follow(Made(iter(steps)))] == [9.0, 8.0, 7.5, 7.0]
    assert [(done.number, done.objective) for done in followed.history] == [(1, 8.0), (2, 7.0)]
    stopped = Run(max_iterations=1)
    assert stopped.finish(Made(iter(steps))).objective == 8.0


@pytest.mark.parametrize("when", ["evaluation", "callback", "dev"])
def test_ctrl_c_keeps_the_last_complete_weights(when: str) -> None:
    seen: list[Any] = []

    def algorithm() -> Iterator[Step]:
        for step in points([5.0, 4.0, 3.0, 2.0]):
            if when == "evaluation" and step.objective == 2.0:
                raise KeyboardInterrupt
            yield step

    def interrupt(*anything: Any) -> float:
        seen.append(anything)
        if len(seen) == 2:
            raise KeyboardInterrupt
        return 0

    followed = Run(callbacks=[interrupt] if when == "callback" else [], dev=interrupt if when == "dev" else None)
    trained = followed.finish(Made(algorithm()))
    assert (trained.reason, trained.objective, trained.weights.tolist()) == ("interrupted", 3.0, [2.0, 2.0])
    assert len(trained.history) == (1 if when == "dev" else 2)


def test_ctrl_c_before_the_first_point() -> None:
    def algorithm() -> Iterator[Step]:
        raise KeyboardInterrupt
        yield Step(0, 0.0)

    trained = Run().finish(Made(algorithm()))
    assert trained.reason == "interrupted"
    assert trained.weights is START
    assert math.isnan(trained.objective)


def test_ctrl_c_with_patience_keeps_the_best() -> None:
    def algorithm() -> Iterator[Step]:
        yield from points([5.0, 4.0, 3.0])
        raise KeyboardInterrupt

    trained = Run(dev=lambda w: -w[0], patience=9).finish(Made(algorithm()))
    assert (trained.reason, trained.objective, trained.weights.tolist()) == ("interrupted", 4.0, [1.0, 1.0])


def test_a_second_ctrl_c_is_not_caught() -> None:
    class Slow(Run):
        """Interrupted again while the run is finished."""

        @property
        def trained(self) -> Trained:
            raise KeyboardInterrupt

    def algorithm() -> Iterator[Step]:
        raise KeyboardInterrupt
        yield Step(0, 0.0)

    with pytest.raises(KeyboardInterrupt):
        Slow().finish(Made(algorithm()))


@pytest.mark.parametrize("method", [lbfgs, owlqn, gd])
@pytest.mark.parametrize("at", [1, 2, 3, 17])
def test_ctrl_c_in_an_evaluation_of_a_real_algorithm(method: Any, at: int) -> None:
    loss, calls, accepted = logistic_loss(0), [], {}

    def objective(w: Any) -> tuple[float, Any]:
        calls.append(w.copy())
        if len(calls) == at:
            raise KeyboardInterrupt
        return loss(w)

    def keep(done: Step, weights: Any) -> None:
        accepted[done.iteration] = weights

    settings = {"c1": 0.1} if method is owlqn else {}
    trained = method(objective, np.ones(12), **settings, **watched(epsilon=0, delta=0, callbacks=[keep]))
    assert trained.reason == "interrupted"
    assert len(calls) == at
    last = accepted[max(accepted)] if accepted else np.ones(12)
    np.testing.assert_array_equal(trained.weights, last)
    if accepted:
        np.testing.assert_allclose(
            trained.objective, loss(last)[0] + 0.1 * np.abs(last).sum() * (method is owlqn), rtol=1e-12
        )


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({"epsilon": -1e-5}, r"^epsilon: "),
        ({"delta": math.nan}, r"^delta: "),
        ({"period": -1}, r"^period: "),
        ({"max_iterations": -1}, r"^max_iterations: "),
        ({"max_seconds": -0.5}, r"^max_seconds: "),
        ({"patience": 0, "dev": lambda w: 0.0}, r"^patience: "),
    ],
)
def test_wrong_settings(settings: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=place):
        watched(**settings)


def test_patience_has_nothing_to_wait_for_without_a_dev_score() -> None:
    assert run([5.0, 4.0, 3.0], patience=1).reason == "no more"
