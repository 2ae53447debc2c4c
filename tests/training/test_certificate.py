"""The gap to the optimum: it holds at every pass, it is not loose, and stopping by it is what it says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize

from tagline import CRF, InputError, TrainingState
from tagline.datasets import make_entities
from tagline.training.algorithms import Settings, train
from tagline.training.certificate import gap_at, relative_gap, smallest_subgradient
from tagline.training.choices import LBFGS, algorithm_of
from tagline.training.iteration import Step, log_of, log_state
from tagline.training.lbfgs import lbfgs
from tagline.training.likelihood import Likelihood
from tagline.training.objective import Penalty
from tagline.training.running.checkpoints import State, written
from tagline.training.running.progress import Budget, seconds_left

from .convex import logistic, logistic_loss, watched
from .problems import KINDS, Problem, make_problem

CERTAIN = [kind for kind in KINDS if kind != "partial"]


def likelihood_of(problem: Problem) -> Likelihood:
    return Likelihood(problem.structure, problem.features, problem.targets, problem.rules, "float64")


def lowest(objective: Any, size: int, c1: float, c2: float) -> tuple[float, Any]:
    """The optimum to 1e-10, by SciPy: w = u − v with u, v ≥ 0 makes c1·|w| smooth."""

    def total(parts: Any) -> tuple[float, Any]:
        w = parts[:size] - parts[size:]
        value, gradient = objective(w)
        gradient = gradient + 2 * c2 * w
        return value + c2 * w @ w + c1 * parts.sum(), np.concatenate([gradient + c1, c1 - gradient])

    parts = np.zeros(2 * size)
    for _ in range(3):  # again from where it ended, with a fresh memory
        found = scipy.optimize.minimize(
            total,
            parts,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0, None)] * (2 * size) if c1 else None,
            options={"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-16, "gtol": 1e-11, "maxcor": 30},
        )
        parts = found.x
    return float(found.fun), parts[:size] - parts[size:]


@pytest.mark.parametrize("kind", CERTAIN)
@pytest.mark.parametrize(
    ("algorithm", "c1", "c2"),
    [("lbfgs", 0.0, 0.3), ("owlqn", 0.4, 0.05), ("gd", 0.2, 0.5), ("auto", 0.0, 0.02), ("auto", 0.3, 0.1)],
)
def test_the_bound_holds_at_every_pass(kind: str, algorithm: str, c1: float, c2: float) -> None:
    problem = make_problem(5, **KINDS[kind])
    best, _ = lowest(likelihood_of(problem), problem.structure.size, c1, c2)
    around = watched(epsilon=0, delta=0, max_iterations=60, tolerance=1e-9)
    start = np.random.default_rng(0).normal(size=problem.structure.size)
    settings = Settings(algorithm_of(algorithm), c1, c2)
    trained = train(problem.structure, problem.features, problem.targets, problem.rules, start, settings, **around)
    passes = [done for done in trained.history if done.gap is not None]
    assert len(passes) >= 3
    for done in passes:
        assert done.gap is not None
        assert done.objective - best <= done.gap + 1e-10 * best
    assert trained.gap == passes[-1].gap
    assert trained.gap is not None
    assert trained.gap < 1e-4 * best


@pytest.mark.parametrize("c2", [0.05, 1.0, 20.0])
def test_it_is_no_looser_than_the_curvature_makes_it(c2: float) -> None:
    # With a Hessian of at most M, ‖g‖² ≤ 2·M·(f − f*): the gap is at most M / (2·c2) times what it bounds.
    problem = make_problem(3)
    likelihood, n = likelihood_of(problem), problem.structure.size
    best, optimum = lowest(likelihood, n, 0.0, c2)
    steps = 1e-5 * np.eye(n)
    hessian = np.array([(likelihood(optimum + step)[1] - likelihood(optimum - step)[1]) / 2e-5 for step in steps])
    most = float(np.linalg.eigvalsh(hessian + 2 * c2 * np.eye(n)).max()) / (2 * c2)
    exact = {"dtype": np.float64, "noise": 1e-13}
    around = watched(epsilon=0, delta=0, max_iterations=40, tolerance=1e-8)
    history = lbfgs(likelihood, np.zeros(n), c2=c2, **exact, **around).history
    far = [done for done in history if done.objective - best > 1e-8 * best]
    ratios = [done.gap / (done.objective - best) for done in far if done.gap is not None]
    assert len(ratios) >= 2
    assert min(ratios[-2:]) >= 1
    assert max(ratios[-2:]) <= 1.1 * most


@pytest.mark.parametrize("tolerance", [1e-1, 1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize(("c1", "c2"), [(0.0, 0.2), (0.3, 0.2)])
def test_stopping_by_it_is_within_the_tolerance(tolerance: float, c1: float, c2: float) -> None:
    problem = make_problem(9, L=4, A=12, lengths=(6, 3, 5, 1))
    best, _ = lowest(likelihood_of(problem), problem.structure.size, c1, c2)
    trained = train(
        problem.structure,
        problem.features,
        problem.targets,
        problem.rules,
        np.zeros(problem.structure.size),
        Settings(LBFGS(), c1, c2),
        **watched(epsilon=0, delta=0, tolerance=tolerance),
    )
    assert trained.converged
    assert "proven to be within" in trained.reason
    assert trained.objective <= best * (1 + tolerance) * (1 + 1e-12)
    before = trained.history[-2]
    assert before.relative_gap is not None
    assert before.relative_gap > tolerance


def test_one_strength_a_weight() -> None:
    problem = logistic(4, np.geomspace(0.01, 10, 12))

    class Loss:
        convex = True

        def __call__(self, weights: Any) -> tuple[float, Any]:
            return problem.objective(weights)

    history = lbfgs(Loss(), np.zeros(12), c2=problem.c2, **watched(epsilon=1e-9, delta=0)).history
    for done in history:
        assert done.gap is not None
        assert done.objective - problem.lowest <= done.gap + 1e-9


def test_subgradients_with_kinks() -> None:
    penalty = Penalty.of(1.0, 0.5, 4)
    weights, gradient = np.array([2.0, -2.0, 0.0, 0.0]), np.array([1.0, 3.0, 0.75, -2.5])
    assert smallest_subgradient(penalty, weights, gradient).tolist() == [2.0, 2.0, 0.0, -1.5]
    assert gap_at(penalty, weights, gradient) == (4 + 4 + 2.25) / 2


def test_nothing_is_proven_where_nothing_can_be() -> None:
    partial, certain = make_problem(1, partial=True), make_problem(1)
    assert (partial.targets.labels < 0).any()
    for problem, c2 in ((partial, 1.0), (certain, 0.0)):
        around = watched(max_iterations=5)
        trained = lbfgs(likelihood_of(problem), np.zeros(problem.structure.size), c2=c2, **around)
        assert trained.gap is None
        assert all(done.gap is None and done.relative_gap is None for done in trained.history)
    unknown = lbfgs(logistic_loss(0), np.zeros(12), c2=1.0, **watched(max_iterations=5))  # convex, but who knows
    assert unknown.gap is None
    mixed = lbfgs(likelihood_of(certain), np.zeros(certain.structure.size), c2=np.eye(certain.structure.size)[0])
    assert mixed.gap is None  # one weight has a penalty, the others have none


def test_partial_labels_have_several_optima() -> None:
    # Why there is no certificate: a token that is either label, with 2 labels that look the same from w = 0.
    problem = make_problem(2, L=2, A=3, lengths=(2, 2), partial=True)
    assert not likelihood_of(problem).convex
    assert likelihood_of(make_problem(2)).convex


def test_relative_gaps() -> None:
    assert relative_gap(0.0, 0.0) == 0.0  # one label: nothing to learn
    assert relative_gap(2.0, 2.0) == float("inf")
    assert relative_gap(1.0, 5.0) == 0.25  # the optimum is 4 or more
    assert relative_gap(float("nan"), 1.0) is None
    assert relative_gap(1.0, float("nan")) is None


# In a CRF.

CORPUS = make_entities(150, language="en")


def test_a_crf_that_stops_by_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = CRF("english_ner", c2=0.5, scheme="IOB2", tolerance=1e-9).fit(CORPUS)
    states: list[TrainingState] = []
    monkeypatch.setattr("tagline.training.algorithms.SMALL", 0)  # in float32, as for more tokens
    rough = CRF("english_ner", c2=0.5, scheme="IOB2", tolerance=1e-4, callbacks=[states.append])
    rough.fit(CORPUS)
    assert rough.stop_reason_.startswith("converged: the objective is proven to be within")
    best = exact.objective_
    assert exact.gap_ is not None
    assert exact.gap_ < 1e-9 * best
    proven = [state for state in states if state.gap is not None]
    assert proven
    assert len(proven) < len(states)
    for state in proven:
        assert state.gap is not None
        assert state.objective - best <= state.gap + 1e-6 * best
        assert state.metrics()["gap"] == state.gap
    assert rough.objective_ <= best * (1 + 1e-4)
    assert rough.relative_gap_ is not None
    assert rough.relative_gap_ <= 1e-4
    assert rough.training_log_[-1].gap == rough.gap_


@pytest.mark.parametrize("settings", [{}, {"algorithm": "sgd:passes=5"}, {"algorithm": "sgd", "c1": 0.2, "c2": 0.2}])
def test_every_end_is_certified(settings: dict[str, Any]) -> None:
    crf = CRF("english_ner", **settings).fit(CORPUS)
    best = CRF("english_ner", **{**settings, "algorithm": "lbfgs"}, tolerance=1e-8)
    assert crf.gap_ is not None
    assert crf.objective_ - best.fit(CORPUS).objective_ <= crf.gap_ * (1 + 1e-6)


def test_a_dev_set_keeps_the_gap_of_the_weights_that_are_kept() -> None:
    dev = make_entities(30, language="en", split="test")
    crf = CRF("english_ner", c2=0.01, algorithm="lbfgs", patience=2, max_iterations=30).fit(CORPUS, X_dev=dev)
    kept = crf.kept_pass_
    assert isinstance(kept, Step)
    assert (crf.gap_, crf.objective_) == (kept.gap, kept.objective)


X, Y = [[{"w": "a"}, {"w": "b"}]] * 3, [["A", "B"]] * 3


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({"tolerance": 0}, "tolerance: "),
        ({"tolerance": 1e-4, "algorithm": "sgd"}, "tolerance: "),
        ({"tolerance": 1e-4, "algorithm": "ap", "c2": 0.0}, "tolerance: "),
        ({"tolerance": 1e-4, "c2": 0.0}, "tolerance: "),
    ],
)
def test_a_tolerance_that_cannot_be_proven_is_refused(settings: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=place.replace("(", r"\(")):
        CRF(**settings).fit(X, Y)


def test_a_tolerance_wants_labels_that_are_known() -> None:
    with pytest.raises(InputError, match=r"^tolerance: "):
        CRF(tolerance=1e-4).fit(X, [["A", "B"], ["A", None], ["A", "B"]])
    assert CRF().fit(X, [["A", "B"], ["A", None], ["A", "B"]]).gap_ is None


def test_more_sentences_bring_no_certificate() -> None:
    crf = CRF().fit(X, Y)
    assert crf.gap_ is not None
    assert crf.partial_fit(X, Y).gap_ is None


def test_in_the_summary_and_in_the_file(tmp_path: Any) -> None:
    from tagline import load

    crf = CRF(c2=0.5, tolerance=1e-4).fit(X, Y)
    crf.save(tmp_path / "m.tagline")
    again: Any = load(tmp_path / "m.tagline")
    assert (again.gap_, again.tolerance) == (crf.gap_, 1e-4)
    assert again.summary().training["gap"] == crf.gap_
    line = f"gap         {crf.gap_:.4g}: the objective is proven to be within"
    assert line in again.view().text()
    assert "gap" not in CRF(c2=0.0, max_iterations=3).fit(X, Y).summary().training


def test_passes_say_it() -> None:
    done = Step(2, 101.0, gap=1.0)
    assert done.relative_gap == 0.01
    assert "gap 1.00e+00" in done.line()
    assert done.headline() == "objective 101.00  within 1 %"
    assert Step(2, 1.0, gap=5.0).headline() == "objective 1.00"  # no bound yet


def test_a_history_is_read_with_its_gaps() -> None:
    history = [Step(1, 3.0, 0.1, seconds=0.5, metrics={"active": 2, "step": None}), Step(2, 2.0, gap=0.5)]
    assert repr(log_of(State({"history": written(log_state(history))}, {}))) == repr(history)


def test_the_time_left_is_guessed_from_the_gap() -> None:
    passes = [Step(n, 100.0, seconds=2.0 * n, gap=10.0 ** (2 - n)) for n in range(1, 8)]
    budget = Budget(tolerance=1e-9)
    left = seconds_left(passes, budget)
    assert left is not None
    assert left == pytest.approx(4.0, rel=0.1)
    assert seconds_left(passes[:3], budget) is None
