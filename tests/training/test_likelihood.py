"""The likelihood and its gradient against enumeration of all labellings, for every kind of weight and target."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tagline
from tagline import compiled
from tagline.errors import InputError
from tagline.features.attributes import Attributes, Features
from tagline.features.weights import structure_of
from tagline.training.likelihood import Likelihood, Targets
from tests.training.problems import likelihood_by_enumeration, make_problem

KINDS = {
    "plain": {},
    "values": {"values": True},
    "edges": {"edges": True},
    "edge values": {"edges": True, "values": True},
    "partial": {"partial": True},
    "weights": {"weights": True},
    "rules": {"rules": True},
    "no ends": {"ends": False},
    "all states": {"all_states": True},
    "everything": {"values": True, "edges": True, "partial": True, "weights": True, "rules": True},
}


@pytest.fixture(params=compiled.supported_cpus())
def variant(request):
    before = compiled.cpu()
    compiled.use_cpu(request.param)
    yield request.param
    compiled.use_cpu(before)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("precision", "rtol"), [("float64", 1e-11), ("float32", 1e-5)])
def test_equals_enumeration(kind, precision, rtol, variant):
    for seed in range(3):
        problem = make_problem(seed, **KINDS[kind])
        w = np.random.default_rng(seed).normal(size=problem.structure.size)
        likelihood = Likelihood(problem.structure, problem.features, problem.targets, problem.rules, precision)
        value, gradient = likelihood(w)
        expected, slope = likelihood_by_enumeration(problem, w)
        np.testing.assert_allclose(value, expected, rtol=rtol)
        np.testing.assert_allclose(gradient, slope, rtol=0, atol=rtol * 10)


@given(st.integers(0, 10_000), st.integers(1, 5), st.booleans(), st.booleans(), st.booleans())
def test_equals_enumeration_at_random(seed, L, edges, partial, values):
    problem = make_problem(seed, L=L, A=4, lengths=(3, 2, 1), edges=edges, partial=partial, values=values)
    w = np.random.default_rng(seed).normal(size=problem.structure.size)
    value, gradient = Likelihood(problem.structure, problem.features, problem.targets, None, "float64")(w)
    expected, slope = likelihood_by_enumeration(problem, w)
    np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(gradient, slope, rtol=0, atol=1e-10)


@pytest.mark.parametrize("L", [1, 2, 4, 5, 8, 9, 17, 22, 25, 33, 44, 49, 63, 70, 130])
@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(("A", "values"), [(9, True), (400, True), (400, False)], ids=["rows", "cells", "plain cells"])
def test_gradient_by_finite_differences(L, A, values, precision, variant):
    """Every width of row, and attributes with many labels and with few: rows and, above 8 labels, cells."""
    problem = make_problem(L, L=L, A=A, lengths=(30, 7, 1, 40), values=values, ends=True)
    if A > 9:
        seen = np.diff(problem.structure.state_offsets)
        assert (seen[seen > 0] * 8 < L).any() == (L > 8)  # as core/training/layout.cpp chooses
    exact = Likelihood(problem.structure, problem.features, problem.targets, None, "float64")
    rng = np.random.default_rng(L)
    w, direction = rng.normal(size=exact.size), rng.normal(size=exact.size)
    step = 1e-5
    slope = (exact(w + step * direction)[0] - exact(w - step * direction)[0]) / (2 * step)
    value, gradient = Likelihood(problem.structure, problem.features, problem.targets, None, precision)(w)
    np.testing.assert_allclose(value, exact(w)[0], rtol=1e-6, atol=1e-5 if precision == "float32" else 0)
    np.testing.assert_allclose(gradient, exact(w)[1], rtol=0, atol=2e-5 if precision == "float32" else 1e-12)
    np.testing.assert_allclose(exact(w)[1] @ direction, slope, rtol=1e-6, atol=1e-7)


def large_problem():
    """Enough tokens for several lanes and for rows that are summed in float64."""
    rng = np.random.default_rng(5)
    return make_problem(3, L=6, A=40, lengths=tuple(rng.integers(1, 60, 6000)), edges=False)


def test_same_bytes_for_any_number_of_threads():
    problem = large_problem()
    before = tagline.threads()
    results = []
    try:
        for threads in (1, 2, 3):
            tagline.set_threads(threads)
            likelihood = Likelihood(problem.structure, problem.features, problem.targets)
            value, gradient = likelihood(np.linspace(-1, 1, likelihood.size))
            results.append((value, gradient.tobytes()))
    finally:
        tagline.set_threads(before)
    assert results[0] == results[1] == results[2]


def test_float32_sums_keep_their_digits():
    problem = large_problem()
    w = np.linspace(-1, 1, problem.structure.size)
    narrow = Likelihood(problem.structure, problem.features, problem.targets, precision="float32")(w)
    wide = Likelihood(problem.structure, problem.features, problem.targets, precision="float64")(w)
    np.testing.assert_allclose(narrow[0], wide[0], rtol=1e-7)
    np.testing.assert_allclose(narrow[1], wide[1], rtol=0, atol=2e-6 * np.abs(wide[1]).max())


@pytest.mark.parametrize("values", [False, True], ids=["", "values"])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_curvature_bounds_the_hessian(precision, values):
    problem = make_problem(1, lengths=(4, 3, 2), ends=False, values=values)
    likelihood = Likelihood(problem.structure, problem.features, problem.targets, None, "float64")
    w = np.random.default_rng(1).normal(size=likelihood.size)
    curvature = Likelihood(problem.structure, problem.features, problem.targets, None, precision).curvature(w)
    states = problem.structure.parts["states"].stop
    expected = np.zeros(states)
    f = problem.features
    from tagline.chain import marginals
    from tagline.features.weights import Scorer

    nodes = marginals(Scorer(problem.structure, w).chain(f)).nodes
    for n in range(f.num_tokens):
        for k in range(f.states.offsets[n], f.states.offsets[n + 1]):
            a, value = f.states.ids[k], 1.0 if f.states.values is None else f.states.values[k]
            for q in range(problem.structure.state_offsets[a], problem.structure.state_offsets[a + 1]):
                p = nodes[n, problem.structure.state_labels[q]]
                expected[q] += value**2 * p * (1 - p)
    np.testing.assert_allclose(curvature[:states], expected, rtol=0, atol=1e-5)


def test_observed_counts():
    problem = make_problem(2, edges=True, values=True)
    likelihood = Likelihood(problem.structure, problem.features, problem.targets)
    far = np.zeros(likelihood.size)
    gradient = likelihood_by_enumeration(problem, far)[1]
    expected = likelihood(far)[1] + likelihood.core.observed()
    np.testing.assert_allclose(expected - likelihood.core.observed(), gradient, atol=1e-5)


def test_a_sentence_without_a_legal_path_is_named():
    problem = make_problem(0, partial=True, rules=True)
    allowed = problem.targets.allowed.copy()
    L = problem.structure.num_labels
    allowed[4] = False
    allowed[4, L - 1] = True  # the one token of sentence 1 may only be what must not begin
    labels = problem.targets.labels.copy()
    labels[4] = -1
    likelihood = Likelihood(problem.structure, problem.features, Targets(labels, allowed), problem.rules)
    with pytest.raises(InputError, match=r"^sentence 1: "):
        likelihood(np.zeros(likelihood.size))


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda p: Targets(p.targets.labels + np.int32(9)), r"^labels: "),
        (lambda p: Targets(p.targets.labels[:-1]), r"^bounds: "),
        (lambda p: Targets(p.targets.labels, weights=np.ones(3)), r"^weights: "),
    ],
)
def test_wrong_targets_are_refused(change, place):
    problem = make_problem(0)
    with pytest.raises(ValueError, match=place):
        Likelihood(problem.structure, problem.features, change(problem))


def test_an_interrupted_evaluation_leaves_nothing_behind():
    """Sums that were begun do not end up in the next gradient. Signals are looked at every 50 ms."""
    lengths = tuple(np.random.default_rng(5).integers(1, 60, 3000))
    problem = make_problem(3, L=64, A=40, lengths=lengths)
    likelihood = Likelihood(problem.structure, problem.features, problem.targets, precision="float64")
    w = np.linspace(-1, 1, likelihood.size)
    expected = likelihood(w)

    class AlarmError(Exception):
        pass

    def ring(*_):
        raise AlarmError

    before = signal.signal(signal.SIGALRM, ring)
    interrupted = 0
    try:
        for _ in range(3):
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            try:
                likelihood(w)
            except AlarmError:
                interrupted += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert interrupted == 3
    value, gradient = likelihood(w)
    assert value == expected[0]
    np.testing.assert_array_equal(gradient, expected[1])


def test_large_gradients_are_handed_out_once():
    """Blocks of 2 MB and more are used again once they are released, and not before."""
    N, L = 30_000, 10
    ids = np.arange(N, dtype=np.int32)
    features = Features(np.arange(0, N + 1, 10), Attributes(np.arange(N + 1), ids), None)
    labels = np.random.default_rng(0).integers(0, L, N).astype(np.int32)
    structure = structure_of(features, labels, L, N, all_states=True)
    likelihood = Likelihood(structure, features, Targets(labels))
    w = np.random.default_rng(1).normal(size=structure.size)
    first = likelihood(w)[1]
    assert first.nbytes >= 1 << 21
    kept = first.copy()
    likelihood(w / 2)  # released: the next one takes its place
    second, third = likelihood(w / 2)[1], likelihood(w / 3)[1]
    np.testing.assert_array_equal(first, kept)
    np.testing.assert_array_equal(second, likelihood(w / 2)[1])
    assert not np.shares_memory(second, third)
    del first, second, third
    np.testing.assert_array_equal(likelihood(w)[1], kept)
