"""When training stops and what it keeps: every reason, the dev score, callbacks, Ctrl-C."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tagline.errors import InputError
from tagline.training.gradient_descent import gd
from tagline.training.lbfgs import lbfgs
from tagline.training.monitor import Monitor, Pass, Point, Points, Trained
from tagline.training.owlqn import owlqn

from .convex import logistic_loss

START = np.full(2, 7.0)


def points(objectives: list[float], gradient: float = 1.0, reason: str = "no more") -> Points:
    """A made-up algorithm: point k has weights (k, k), and its buffer is used again for point k + 2."""
    buffers = [np.zeros(2), np.zeros(2)]
    for k, objective in enumerate(objectives):
        buffers[k % 2][:] = k
        yield Point(buffers[k % 2], objective, gradient, 1.0, k, k + 1, 0.5)
    return reason


def run(objectives: list[float], gradient: float = 1.0, **settings: Any) -> Trained:
    return Monitor(**{"epsilon": 1e-5, "delta": 0, **settings}).follow(points(objectives, gradient), START)


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
    def algorithm() -> Points:
        yield Point(START, 1.0, 1e-4, weight_norm)
        return "no more"

    assert Monitor(epsilon=1e-5).follow(algorithm(), START).converged is stops


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

    def remember(done: Pass, weights: Any) -> None:
        seen.append((done.iteration, weights))

    def stop(done: Pass, weights: Any) -> bool:
        weights[:] = -1  # their own copy
        return done.iteration == 3

    trained = run([5.0, 4.0, 3.0, 2.0, 1.0], callbacks=[remember, stop])
    assert trained.reason == "callback"
    assert trained.weights.tolist() == [3.0, 3.0]
    assert [(number, weights.tolist()) for number, weights in seen] == [(k, [k, k]) for k in (1, 2, 3)]


def test_convergence_is_said_before_other_reasons() -> None:
    trained = Monitor(max_iterations=0, epsilon=1.0).follow(points([1.0], 0.5), START)
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
    assert Pass(3, 1.5, math.nan, 2, 1.0, 0).line() == "   3  objective 1.5000  active 2  evaluations 0  1.0 s"


def test_one_monitor_follows_several_algorithms() -> None:
    monitor = Monitor(epsilon=1e-5, period=2, delta=1e-5, max_iterations=3, clock=ticking().__next__)
    first = monitor.follow(points([9.0, 8.0, 7.0]), START)
    second = monitor.follow(points([8.0, 7.0, 6.0, 5.0, 4.0]), START)
    assert [done.iteration for done in second.history] == [1, 2, 3, 4, 5]
    assert second.history[:2] == first.history
    assert second.reason == "max_iterations"  # 3 of its own; and 7.0 twice is no standstill
    assert np.all(np.diff([done.seconds for done in second.history]) > 0)


@pytest.mark.parametrize("when", ["evaluation", "callback", "dev"])
def test_ctrl_c_keeps_the_last_complete_weights(when: str) -> None:
    seen: list[Any] = []

    def algorithm() -> Points:
        for point in points([5.0, 4.0, 3.0, 2.0]):
            if when == "evaluation" and point.objective == 2.0:
                raise KeyboardInterrupt
            yield point
        return "no more"

    def interrupt(*anything: Any) -> float:
        seen.append(anything)
        if len(seen) == 2:
            raise KeyboardInterrupt
        return 0

    monitor = Monitor(
        delta=0, callbacks=[interrupt] if when == "callback" else [], dev=interrupt if when == "dev" else None
    )
    trained = monitor.follow(algorithm(), START)
    assert (trained.reason, trained.objective, trained.weights.tolist()) == ("interrupted", 3.0, [2.0, 2.0])
    assert len(trained.history) == (1 if when == "dev" else 2)


def test_ctrl_c_before_the_first_point() -> None:
    def algorithm() -> Points:
        raise KeyboardInterrupt
        yield Point(START, 0.0)

    trained = Monitor().follow(algorithm(), START)
    assert trained.reason == "interrupted"
    assert trained.weights is START
    assert math.isnan(trained.objective)


def test_ctrl_c_with_patience_keeps_the_best() -> None:
    def algorithm() -> Points:
        yield from points([5.0, 4.0, 3.0])
        raise KeyboardInterrupt

    trained = Monitor(delta=0, dev=lambda w: -w[0], patience=9).follow(algorithm(), START)
    assert (trained.reason, trained.objective, trained.weights.tolist()) == ("interrupted", 4.0, [1.0, 1.0])


def test_a_second_ctrl_c_is_not_caught() -> None:
    class Slow:
        """Interrupted again while the run is finished."""

        def __next__(self) -> Point:
            raise KeyboardInterrupt

        def close(self) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Monitor().follow(Slow(), START)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", [lbfgs, owlqn, gd])
@pytest.mark.parametrize("at", [1, 2, 3, 17])
def test_ctrl_c_in_an_evaluation_of_a_real_algorithm(method: Any, at: int) -> None:
    loss, calls, accepted = logistic_loss(0), [], {}

    def objective(w: Any) -> tuple[float, Any]:
        calls.append(w.copy())
        if len(calls) == at:
            raise KeyboardInterrupt
        return loss(w)

    def keep(done: Pass, weights: Any) -> None:
        accepted[done.iteration] = weights

    settings = {"c1": 0.1} if method is owlqn else {}
    trained = method(objective, np.ones(12), **settings, monitor=Monitor(epsilon=0, delta=0, callbacks=[keep]))
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
        ({"patience": 3}, r"^patience: "),
    ],
)
def test_wrong_settings(settings: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=place):
        Monitor(**settings)
