"""Improved iterative scaling: its equation, its sums against enumeration, its optimum against that of L-BFGS."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

import tagline
from tagline import chain
from tagline.errors import InputError
from tagline.features.functions import FeatureFunctions, FunctionValues
from tagline.training import iterative_scaling as module
from tagline.training import scaling_sums
from tagline.training.iteration import Convergence
from tagline.training.iterative_scaling import iis, solve
from tagline.training.lbfgs import lbfgs
from tagline.training.likelihood import Likelihood
from tagline.training.scaling_sums import LabellingSums, SentenceSums, by_total
from tagline.types import Chain

from .convex import textbook, to_the_end, watched
from .problems import KINDS, Problem, counts_of, likelihood_by_enumeration, make_problem


@dataclass
class Given:
    """Sentences of made-up features, without functions behind them."""

    values: list[FunctionValues]
    observed: Any


def random_values(random: Any, T: int, L: int, K: int, whole: bool = True) -> FunctionValues:
    states, transitions = random.integers(0, 3, (T, L, K)), random.integers(0, 2, (T, L, L, K))
    transitions[:1] = 0
    scale = 1.0 if whole else 0.37
    return FunctionValues(states * scale, transitions * scale)


def enumerated(values: FunctionValues, weights: Any) -> tuple[dict[float, Any], float]:
    """Path by path: {f#: Σ P·f}, log Z."""
    T, L, _ = values.states.shape
    features = [values.along(np.array(path, np.int64)) for path in product(range(L), repeat=T)]
    scores = np.array([weights @ f for f in features])
    log_z = float(np.logaddexp.reduce(scores))
    sums: dict[float, Any] = {}
    for f, score in zip(features, scores, strict=True):
        total = round(float(f.sum()), 9)
        sums[total] = sums.get(total, 0) + np.exp(score - log_z) * f
    return sums, log_z


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(1, 3), st.booleans())
def test_expectations_by_total(seed: int, T: int, L: int, whole: bool) -> None:
    random = np.random.default_rng(seed)
    values = random_values(random, T, L, 3, whole)
    weights = random.standard_normal(3) * 3
    split = by_total(values, weights)
    expected, log_z = enumerated(values, weights)
    np.testing.assert_allclose(split.log_z, log_z, rtol=1e-12, atol=1e-12)
    sums: dict[float, Any] = {}
    for total, features in zip(split.totals, split.features, strict=True):
        sums[round(float(total), 9)] = sums.get(round(float(total), 9), 0) + features
    for total, features in sums.items():
        np.testing.assert_allclose(features, expected.get(total, np.zeros(3)), rtol=1e-9, atol=1e-12)
    assert set(expected) <= set(sums)


def test_long_sentences_do_not_underflow() -> None:
    random = np.random.default_rng(0)
    values = random_values(random, 60, 2, 2)
    weights = np.array([30.0, -40.0])
    split = by_total(values, weights)
    scores = Chain(values.states @ weights, values.transitions @ weights)
    np.testing.assert_allclose(split.log_z, chain.log_partition(scores)[0], rtol=1e-12)
    posterior = chain.marginals(scores, edges=True)
    expected = np.einsum("tj,tjk->k", posterior.nodes, values.states)
    expected += np.einsum("tij,tijk->k", posterior.edges, values.transitions)
    np.testing.assert_allclose(split.features.sum(axis=0), expected, rtol=1e-9)


@settings(max_examples=50)
@given(st.integers(0, 10_000), st.floats(0.01, 20))
def test_solve(seed: int, far: float) -> None:
    random = np.random.default_rng(seed)
    totals, features = random.integers(1, 9, 6).astype(float), random.random((6, 2))
    observed = np.array([features[:, 0].sum() * far, 0.0])
    delta = solve(totals, features, observed)

    def equation(delta: float) -> float:
        return float(np.log(features[:, 0] @ np.exp(delta * totals)) - np.log(observed[0]))

    np.testing.assert_allclose(delta[0], scipy.optimize.brentq(equation, -50, 50, xtol=1e-14), rtol=1e-9, atol=1e-11)
    assert delta[1] == 0


@settings(max_examples=50)
@given(st.integers(0, 10_000), st.floats(1e-3, 50), st.floats(-30, 30))
def test_solve_with_a_penalty(seed: int, c2: float, weight: float) -> None:
    """Of a feature that was observed, of one that was not, and of one that never occurs."""
    random = np.random.default_rng(seed)
    totals, features = random.integers(1, 9, 6).astype(float), random.random((6, 3))
    features[:, 2] = 0
    observed = np.array([random.random() * 20, 0.0, 0.0])
    delta = solve(totals, features, observed, np.full(3, weight), c2)
    for k in range(3):

        def equation(d: float, k: int = k) -> float:
            return float(features[:, k] @ np.exp(d * totals) + 2 * c2 * (weight + d) - observed[k])

        far = 20.0 + abs(weight) + observed[k] / (2 * c2)
        root = scipy.optimize.brentq(equation, -1e4, min(far, 80.0), xtol=1e-13)
        np.testing.assert_allclose(delta[k], root, rtol=1e-9, atol=1e-9)


def test_solve_in_one_step_where_all_totals_are_equal() -> None:
    """Then δ = log(observed / expected) / f#, generalised iterative scaling."""
    delta = solve(np.full(3, 4.0), np.array([[1.0], [2.0], [3.0]]), np.array([12.0]))
    np.testing.assert_allclose(delta, [np.log(2) / 4], rtol=1e-14)


def test_solve_does_not_overflow() -> None:
    """The first step of Newton's method goes to δ ≈ 7, where exp(1000·δ) is no number."""
    (delta,) = solve(np.array([1.0, 1000.0]), np.array([[1.0], [1e-200]]), np.array([1000.0]))
    np.testing.assert_allclose(np.exp(delta) + np.exp(1000 * delta - 200 * np.log(10)), 1000, rtol=1e-9)


def test_a_point_stays_when_the_next_one_comes() -> None:
    """Ctrl-C in a pass returns the weights before it."""
    likelihood = some_likelihood(1)
    points = iter(module.ScalingPasses(LabellingSums(likelihood), np.zeros(3), 0.0, Convergence()))
    first = next(points)
    next(points)
    assert first.weights.tolist() == [0.0, 0.0, 0.0]


def test_textbook_optimum() -> None:
    likelihood, golden = textbook()
    trained = iis(likelihood, **to_the_end(epsilon=1e-8))
    assert trained.converged
    ranked = chain.k_best(likelihood.functions.with_weights(trained.weights).chain("abc"), 8)[0]
    probabilities = {tuple(path + 1): p for path, p in zip(ranked.labels, ranked.probabilities, strict=True)}
    expected = golden["MLE (no regulariser)"]
    for path, probability in expected["path_probs"].items():
        np.testing.assert_allclose(probabilities[tuple(map(int, path))], probability, rtol=0, atol=1e-6)
    np.testing.assert_allclose(trained.objective, -expected["loglik"], rtol=1e-9)
    objectives = [done.objective for done in trained.history]
    assert np.all(np.diff(objectives) <= 1e-12)  # every pass is better
    assert trained.history[-1].evaluations == len(objectives) + 1


def some_likelihood(seed: int, whole: bool = True) -> Given:
    """Labelled at random, some labellings of one sentence contradicting each other, so that an optimum exists."""
    random = np.random.default_rng(seed)
    values = [random_values(random, T, 2, 3, whole) for T in (3, 1, 4, 0, 2) for _ in range(2)]
    values = [sentence for sentence in values for _ in range(4)]
    paths = [random.integers(0, 2, len(sentence.states)) for sentence in values]
    return Given(values, np.sum([sentence.along(path) for sentence, path in zip(values, paths, strict=True)], axis=0))


def objective_of(likelihood: Given) -> Any:
    def objective(weights: Any) -> tuple[float, Any]:
        value, gradient = -weights @ likelihood.observed, -likelihood.observed
        for sentence in likelihood.values:
            if len(sentence.states):
                sums, log_z = enumerated(sentence, weights)
                value, gradient = value + log_z, gradient + np.sum(list(sums.values()), axis=0)
        return float(value), gradient

    return objective


@pytest.mark.parametrize("whole", [True, False])
def test_the_optimum_of_lbfgs(whole: bool) -> None:
    likelihood = some_likelihood(0, whole)
    scaled = iis(likelihood, np.full(3, 0.3), **to_the_end(epsilon=1e-8))
    newton = lbfgs(objective_of(likelihood), np.zeros(3), **to_the_end(epsilon=1e-9))
    np.testing.assert_allclose(scaled.objective, newton.objective, rtol=1e-9)
    np.testing.assert_allclose(scaled.weights, newton.weights, rtol=0, atol=1e-6)
    for done in scaled.history[:3]:
        assert done.gradient_norm > 0
    value, gradient = objective_of(likelihood)(scaled.weights)
    np.testing.assert_allclose(scaled.objective, value, rtol=1e-12)
    assert np.abs(gradient).max() < 1e-6


def test_the_start_is_not_changed_and_sentences_may_be_none() -> None:
    start = np.array([1.0, 2.0])
    trained = iis(Given([], np.zeros(2)), start)
    assert trained.converged
    assert trained.weights.tolist() == [1.0, 2.0]
    likelihood = some_likelihood(1)
    begin = np.zeros(3)
    moved = iis(likelihood, begin, **watched(max_iterations=2))
    assert begin.tolist() == [0, 0, 0]
    assert np.all(moved.weights != 0)


def test_a_feature_that_never_comes_up_keeps_its_weight() -> None:
    likelihood = some_likelihood(2)
    wider = [
        FunctionValues(
            np.pad(sentence.states, ((0, 0), (0, 0), (0, 1))), np.pad(sentence.transitions, ((0, 0),) * 3 + ((0, 1),))
        )
        for sentence in likelihood.values
    ]
    trained = iis(Given(wider, np.append(likelihood.observed, 0.0)), [0, 0, 0, 5.0], **watched(max_iterations=3))
    assert trained.weights[3] == 5.0


# On the likelihood of a feature CRF.

FIT: dict[str, dict[str, Any]] = {
    **{kind: case for kind, case in KINDS.items() if kind != "partial"},  # all labels are known
    "tokens without features": {"ends": False, "lengths": (1, 1, 1, 1, 1, 3), "A": 3},
}


def problem_of(kind: str) -> Problem:
    """A random problem whose values, where it has any, are not negative."""
    problem = make_problem(5, **FIT[kind])
    for attributes in (problem.features.states, problem.features.edges):
        if attributes is not None and attributes.values is not None:
            np.abs(attributes.values, out=attributes.values)
    return problem


def likelihood_of(problem: Problem) -> Likelihood:
    return Likelihood(problem.structure, problem.features, problem.targets, problem.rules, "float64")


@pytest.mark.parametrize("kind", FIT)
def test_sums_by_sentence_against_enumeration(kind: str) -> None:
    problem = problem_of(kind)
    sums = SentenceSums(likelihood_of(problem))
    weights = np.random.default_rng(1).normal(size=problem.structure.size)
    value, gradient = likelihood_by_enumeration(problem, weights)
    expected = sums.at(weights)
    np.testing.assert_allclose(expected.log_z - weights @ sums.observed, value, rtol=1e-9)
    np.testing.assert_allclose(expected.features.sum(axis=0) - sums.observed, gradient, rtol=0, atol=1e-9)
    lengths = np.diff(problem.features.offsets)
    assert len(expected.totals) == len(lengths)
    most = sorted(
        max(counts_of(problem, b, y).sum() for y in product(range(problem.structure.num_labels), repeat=int(T)))
        if T > 0
        else 0.0
        for b, T in enumerate(lengths)
    )
    assert (np.sort(expected.totals) >= np.array(most) * (1 - 1e-12)).all()  # a group for each of these few sentences


@pytest.mark.parametrize("kind", FIT)
def test_the_optimum_of_a_feature_crf(kind: str) -> None:
    likelihood = likelihood_of(problem_of(kind))
    scaled = iis(likelihood, c2=0.5, **to_the_end(epsilon=1e-7))
    newton = lbfgs(likelihood, np.zeros(likelihood.size), c2=0.5, dtype=np.float64, **to_the_end(epsilon=1e-9))
    assert scaled.converged
    np.testing.assert_allclose(scaled.weights, newton.weights, rtol=0, atol=1e-6)
    np.testing.assert_allclose(scaled.objective, newton.objective, rtol=1e-9)
    assert np.all(np.diff([done.objective for done in scaled.history]) <= 1e-10)  # every pass is better


def test_few_groups_of_many_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    likelihood = likelihood_of(problem_of("plain"))
    whole = iis(likelihood, c2=0.5, **to_the_end(epsilon=1e-7))
    monkeypatch.setattr(scaling_sums, "MOST_GROUPS", 1)
    grouped = iis(likelihood, c2=0.5, **to_the_end(epsilon=1e-7))
    np.testing.assert_allclose(grouped.weights, whole.weights, rtol=0, atol=1e-6)
    assert len(grouped.history) > len(whole.history)


def test_what_scaling_cannot_learn_from() -> None:
    with pytest.raises(InputError, match=r"^y: "):
        iis(likelihood_of(make_problem(5, partial=True)))
    with pytest.raises(InputError, match=r"^X: "):
        iis(likelihood_of(make_problem(5, values=True)))
    with pytest.raises(InputError, match=r"^feature 0: "):
        iis(likelihood_of(make_problem(5, A=1, all_states=True, lengths=(1,))))


def test_an_estimator_scales_iteratively() -> None:
    X = [[{"word": "Anna"}, {"word": "sings"}], [{"word": "Ben"}, {"word": "sings"}]]
    y = [["N", "V"], ["N", "V"]]
    scaled, newton = (
        tagline.CRF(algorithm=f"{name}:epsilon=1e-7,delta=0", c2=0.1).fit(X, y) for name in ("iis", "lbfgs")
    )
    assert scaled.predict(X) == y
    np.testing.assert_allclose(scaled.parameters_.weights, newton.parameters_.weights, rtol=0, atol=1e-5)


def test_wrong_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    likelihood = some_likelihood(3)
    with pytest.raises(InputError, match=r"^c1: "):
        iis(likelihood, c1=1.0)
    with pytest.raises(InputError, match=r"^c2: "):
        iis(likelihood, c2=-1.0)
    with pytest.raises(InputError, match=r"^start: "):
        iis(likelihood, [0.0, 0.0])
    negative = FeatureFunctions([(lambda y, x, i: 1.0, 0.0), (lambda y, x, i: -1.5 * y, 0.0)], labels=[0, 1])
    with pytest.raises(InputError, match=r"^feature 1: "):
        iis(negative.likelihood(["ab"], [[0, 1]]))
    with pytest.raises(InputError, match=r"^feature 0: "):
        iis(FeatureFunctions([(lambda y, x, i: y == 1, 0.0)], labels=[0, 1]).likelihood(["ab"], [[0, 0]]))
    monkeypatch.setattr(scaling_sums, "MOST_LABELLINGS", 15)
    with pytest.raises(InputError, match=r"^features: "):
        iis(some_likelihood(3, whole=False))
    iis(likelihood, **watched(max_iterations=1))
