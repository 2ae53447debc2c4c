"""The likelihood that is normalised at each token: against the plain definition, enumeration and finite differences."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline.errors import NoPathError
from tagline.features.weights import structure_of
from tagline.readers.rules import Rules
from tagline.training.algorithms import Settings, train
from tagline.training.choices import LBFGS, algorithm_of
from tagline.training.likelihood import Likelihood
from tests.training.convex import watched

from .problems import KINDS, Problem, counts_of, fits, legal, make_problem


def likelihood_of(problem: Problem, precision: str = "float64", local: bool = True) -> Likelihood:
    return Likelihood(problem.structure, problem.features, problem.targets, problem.rules, precision, None, local)


def probability(problem: Problem, b: int, y: tuple[int, ...], w: Any) -> float:
    """Π_t p(y_t | y_(t−1), x), each factor a softmax over the labels that may stand there: the definition.

    The score of a label after a beginning is what it adds to w·F; at the last token the end counts, too.
    """
    L, T = problem.structure.num_labels, len(y)
    total = 1.0

    def added(prefix: tuple[int, ...]) -> float:
        whole, before = counts_of(problem, b, prefix), counts_of(problem, b, prefix[:-1])
        ends = problem.structure.parts["end"]
        before[ends] = 0
        if len(prefix) < T:
            whole[ends] = 0
        return float((whole - before) @ w)

    for t in range(T):
        scores = np.full(L, -np.inf)
        for label in range(L):
            prefix = (*y[:t], label)
            if may_stand(problem, prefix, T):
                scores[label] = added(prefix)
        if scores[y[t]] == -np.inf:
            return 0.0
        total *= float(np.exp(scores[y[t]]) / np.exp(scores).sum())
    return total


def may_stand(problem: Problem, prefix: tuple[int, ...], T: int) -> bool:
    rules = problem.rules
    if rules is None:
        return True
    first = bool(rules.start[prefix[0]]) if len(prefix) == 1 else bool(rules.transitions[prefix[-2], prefix[-1]])
    return first and (len(prefix) < T or bool(rules.end[prefix[-1]]))


def by_definition(problem: Problem, w: Any) -> float:
    """Σ_b weight_b · −log of the probabilities of all labellings that the targets allow."""
    total = 0.0
    for b, T in enumerate(np.diff(problem.features.offsets)):
        weight = 1.0 if problem.targets.weights is None else problem.targets.weights[b]
        paths = product(range(problem.structure.num_labels), repeat=int(T))
        total -= weight * np.log(sum(probability(problem, b, y, w) for y in paths if fits(problem, b, y)))
    return float(total)


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("ends", [True, False])
def test_against_the_definition(kind: str, ends: bool) -> None:
    problem = make_problem(4, ends=ends, **{"lengths": (3, 1, 2, 0, 3), **KINDS[kind]})
    w = np.random.default_rng(1).normal(size=problem.structure.size)
    value, _ = likelihood_of(problem)(w)
    np.testing.assert_allclose(value, by_definition(problem, w), rtol=1e-11)


@pytest.mark.parametrize("kind", list(KINDS))
def test_the_gradient_is_the_slope(kind: str) -> None:
    problem = make_problem(7, **KINDS[kind])
    likelihood, step = likelihood_of(problem), 1e-5
    w = np.random.default_rng(2).normal(size=problem.structure.size)
    _, gradient = likelihood(w)
    steps = step * np.eye(len(w))
    slopes = [(likelihood(w + change)[0] - likelihood(w - change)[0]) / (2 * step) for change in steps]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kind", list(KINDS))
def test_float32_agrees(kind: str) -> None:
    problem = make_problem(8, **KINDS[kind])
    w = np.random.default_rng(3).normal(size=problem.structure.size)
    exact, rough = likelihood_of(problem)(w), likelihood_of(problem, "float32")(w)
    np.testing.assert_allclose(rough[0], exact[0], rtol=2e-6)
    np.testing.assert_allclose(rough[1], exact[1], rtol=0, atol=2e-5)


@given(seed=st.integers(0, 10_000), L=st.integers(1, 4), edges=st.booleans())
def test_probabilities_add_up_to_one(seed: int, L: int, edges: bool) -> None:
    problem = make_problem(seed, L=L, lengths=(3,), edges=edges, values=edges)
    w = np.random.default_rng(seed).normal(0, 2, problem.structure.size)
    sums = sum(probability(problem, 0, y, w) for y in product(range(L), repeat=3))
    np.testing.assert_allclose(sums, 1, rtol=1e-12)
    value, _ = likelihood_of(problem)(w)
    np.testing.assert_allclose(value, by_definition(problem, w), rtol=1e-10, atol=1e-13)


def test_large_scores_do_not_overflow() -> None:
    problem = make_problem(3, partial=True)
    w = np.random.default_rng(4).normal(0, 300, problem.structure.size)
    for precision in ("float32", "float64"):
        value, gradient = likelihood_of(problem, precision)(w)
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()
        assert value >= 0


def test_without_transitions_it_is_a_crf() -> None:
    """Nothing links the tokens then: both are one classifier a token."""
    for kind in ("plain", "values", "partial", "weights"):
        problem = make_problem(6, **KINDS[kind])
        f, t, A = problem.features, problem.targets, problem.structure.num_attributes
        problem.structure = structure_of(f, t.labels, 3, A, transitions=False, start=True, end=True)
        w = np.random.default_rng(5).normal(size=problem.structure.size)
        local, whole = likelihood_of(problem)(w), likelihood_of(problem, local=False)(w)
        np.testing.assert_allclose(local[0], whole[0], rtol=1e-12)
        np.testing.assert_allclose(local[1], whole[1], rtol=0, atol=1e-12)


def test_unknown_labels_alone_count_nothing() -> None:
    problem = make_problem(11, partial=True)
    assert problem.targets.allowed is not None
    problem.targets.allowed[:] = True
    problem.targets.labels[:] = -1
    value, gradient = likelihood_of(problem)(np.random.default_rng(0).normal(size=problem.structure.size))
    np.testing.assert_allclose(value, 0, atol=1e-12)
    np.testing.assert_allclose(gradient, 0, atol=1e-12)


def test_a_label_that_nothing_may_follow() -> None:
    """Labellings that would run into it have no probability; a sentence that must is named."""
    problem = make_problem(12, L=2, lengths=(3,), partial=True)
    assert problem.targets.allowed is not None
    problem.targets.allowed[:] = True
    problem.targets.labels[:] = -1
    follow = np.array([[True, True], [False, False]])  # nothing after label 1
    problem.rules = Rules(follow, np.ones(2, bool), np.ones(2, bool))
    w = np.random.default_rng(0).normal(size=problem.structure.size)
    value, _ = likelihood_of(problem)(w)
    np.testing.assert_allclose(value, by_definition(problem, w), rtol=1e-11)
    assert value > 0  # what ran into label 1 is lost
    problem.targets.allowed[0] = [False, True]
    with pytest.raises(NoPathError, match=r"^sentence 0: "):
        likelihood_of(problem)(w)
    assert legal(problem, (0, 0, 1))


@pytest.mark.parametrize("kind", ["plain", "partial", "rules", "weights", "edges"])
def test_every_algorithm_descends(kind: str) -> None:
    problem = make_problem(13, **KINDS[kind])
    ends = {}
    negative = kind == "edges"  # iterative scaling takes no negative values
    for algorithm in ("lbfgs", "owlqn", "sgd", "gd", "auto", *(() if negative or kind == "partial" else ("iis",))):
        around = watched(epsilon=1e-8, delta=0, max_iterations=3000)
        settings = Settings(algorithm_of("sgd:passes=300" if algorithm == "sgd" else algorithm), 0.0, 0.5, local=True)
        start = np.zeros(problem.structure.size)
        trained = train(problem.structure, problem.features, problem.targets, problem.rules, start, settings, **around)
        ends[algorithm] = trained.objective
        value = likelihood_of(problem)(trained.weights)[0] + 0.5 * float(trained.weights @ trained.weights)
        np.testing.assert_allclose(trained.objective, value, rtol=1e-9)
        if algorithm == "iis":
            falls = [done.objective for done in trained.history]
            assert all(after <= before * (1 + 1e-12) for before, after in pairwise(falls))
    if kind != "partial":  # convex: one optimum
        for algorithm, objective in ends.items():
            assert objective == pytest.approx(ends["lbfgs"], rel=2e-2 if algorithm in ("sgd", "iis") else 1e-7), (
                algorithm
            )


def test_stopping_by_a_certificate() -> None:
    problem = make_problem(14, L=4, A=12, lengths=(6, 3, 5, 1))
    ends = [
        train(
            problem.structure,
            problem.features,
            problem.targets,
            problem.rules,
            np.zeros(problem.structure.size),
            Settings(LBFGS(), 0.0, 0.2, local=True),
            **watched(epsilon=0, delta=0, tolerance=tolerance),
        )
        for tolerance in (1e-3, 1e-11)
    ]
    rough, exact = ends
    assert exact.objective <= rough.objective <= exact.objective * (1 + 1e-3)
    for done in rough.history:
        assert done.gap is not None
        assert done.objective - exact.objective <= done.gap
