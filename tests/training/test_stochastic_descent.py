"""Stochastic descent: its steps against plain NumPy, its lazy penalties, and where it ends."""

from __future__ import annotations

import numpy as np
import pytest

from tagline import _core
from tagline.datasets import make_entities
from tagline.errors import InputError
from tagline.features import Template, expand
from tagline.features.weights import structure_of
from tagline.training.lbfgs import lbfgs
from tagline.training.likelihood import Likelihood, Targets
from tagline.training.owlqn import owlqn
from tagline.training.run import Run
from tagline.training.stochastic_descent import StochasticPasses
from tests.training.convex import watched
from tests.training.problems import KINDS, Problem, likelihood_by_enumeration, make_problem


def one_sentence(problem: Problem, b: int) -> Problem:
    """The problem with the weight of all other sentences 0."""
    B = problem.features.num_sentences
    weights = np.zeros(B)
    weights[b] = 1.0 if problem.targets.weights is None else problem.targets.weights[b]
    targets = Targets(problem.targets.labels, problem.targets.allowed, weights)
    return Problem(problem.structure, problem.features, targets, problem.rules)


def soft(values: np.ndarray, by: float) -> np.ndarray:
    return np.sign(values) * np.maximum(np.abs(values) - by, 0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("c1", "c2"), [(0.0, 0.0), (0.0, 2.0), (1.5, 0.0), (0.7, 1.0)])
def test_steps_equal_the_definition(kind, c1, c2):
    """Each step: w ← soft((w / (1 + 2 η c2 / B)) − η ∇ loss_b, η c1 / B) on *all* weights, done lazily in the core."""
    problem = make_problem(4, **KINDS[kind])
    B = problem.features.num_sentences
    likelihood = Likelihood(problem.structure, problem.features, problem.targets, problem.rules, "float64")
    start = np.random.default_rng(0).normal(size=likelihood.size)
    descent = _core.Descent64(likelihood.core, c1, c2)
    descent.set(start)
    order = np.array([2, 0, 1, 0, 4 if B > 4 else 3, 2, 0], np.int64)
    rate, decay = 0.3, 0.1
    loss = descent.run(order, 1, rate, decay)

    w, seen, expected = start.copy(), 0, 0.0
    for b in order:
        if np.diff(problem.features.offsets)[b] == 0:
            continue
        eta = rate / (1 + rate * decay * seen)
        value, gradient = likelihood_by_enumeration(one_sentence(problem, int(b)), w)
        expected += value
        w = soft(w / (1 + 2 * eta * c2 / B) - eta * gradient, eta * c1 / B)
        seen += 1
    np.testing.assert_allclose(descent.get(), w, rtol=0, atol=1e-10)
    np.testing.assert_allclose(loss, expected, rtol=1e-9)
    assert descent.seen == seen


@pytest.mark.parametrize("order", [[3], [3, 3, 3], [0, 3], [3, 0, 3, 3]])
@pytest.mark.parametrize("batch", [1, 4])
def test_sentences_without_tokens_take_no_step(order, batch):
    """A pass may begin and end with them, and have nothing else."""
    problem = make_problem(4)
    assert np.diff(problem.features.offsets)[3] == 0
    likelihood = Likelihood(problem.structure, problem.features, problem.targets, problem.rules, "float64")
    start = np.random.default_rng(0).normal(size=likelihood.size)
    with_empty, without = (_core.Descent64(likelihood.core, 0.1, 0.2) for _ in range(2))
    losses = []
    for descent, some in ((with_empty, order), (without, [b for b in order if b != 3])):
        descent.set(start)
        losses.append(descent.run(np.array(some, np.int64), batch, 0.3, 0.1))
    assert losses[0] == losses[1]
    assert with_empty.seen == without.seen == order.count(0)
    np.testing.assert_array_equal(with_empty.get(), without.get())


def test_a_step_of_four_sentences():
    problem = make_problem(6)
    likelihood = Likelihood(problem.structure, problem.features, problem.targets, None, "float64")
    start = np.random.default_rng(0).normal(size=likelihood.size)
    descent = _core.Descent64(likelihood.core, 0.0, 0.0)
    descent.set(start)
    descent.run(np.array([0, 1, 2, 4]), 4, 0.25, 0.0)
    np.testing.assert_allclose(descent.get(), start - 0.25 * likelihood(start)[1], rtol=0, atol=1e-11)


def test_losses_without_learning():
    problem = make_problem(6, partial=True)
    likelihood = Likelihood(problem.structure, problem.features, problem.targets, None, "float64")
    start = np.random.default_rng(0).normal(size=likelihood.size)
    descent = _core.Descent64(likelihood.core, 0.0, 1.0)
    descent.set(start)
    everything = np.arange(problem.features.num_sentences)
    np.testing.assert_allclose(descent.run(everything, 4, 1.0, 0.0, False), likelihood(start)[0], rtol=1e-12)
    np.testing.assert_array_equal(descent.get(), start)


@pytest.mark.parametrize(("c1", "c2"), [(0.0, 0.5), (0.5, 0.2)])
def test_comes_near_the_optimum(c1, c2):
    problem = make_problem(8, L=3, A=12, lengths=tuple([4, 3, 5, 2] * 10))
    likelihood = Likelihood(problem.structure, problem.features, problem.targets, None, "float64")
    start = np.zeros(likelihood.size)
    trained = Run().finish(StochasticPasses(likelihood, start, c1=c1, c2=c2, passes=200))
    if c1 == 0:
        best = lbfgs(likelihood, start, c2=c2, dtype=np.float64).objective
    else:
        best = owlqn(likelihood, start, c1=c1, c2=c2, dtype=np.float64).objective
    value, _ = likelihood(trained.weights)
    w = trained.weights
    np.testing.assert_allclose(trained.objective, value + c1 * np.abs(w).sum() + c2 * w @ w, rtol=1e-12)
    assert best * (1 - 1e-9) <= trained.objective <= best * 1.002
    assert trained.reason == "passes"


@pytest.mark.parametrize(("c1", "c2"), [(0.0, 0.1), (0.3, 0.0), (0.0, 0.0)])
def test_reaches_the_optimum_when_given_the_passes(c1, c2):
    """The step sizes decay with any penalty and without; the tolerances of the default monitor end no run by chance.

    Labels are random and attributes few, so that an optimum exists without a penalty, too.
    """
    problem = make_problem(3, L=3, A=9, lengths=(4, 3, 5, 2) * 15)
    likelihood = Likelihood(problem.structure, problem.features, problem.targets, None, "float64")
    start = np.zeros(likelihood.size)
    exact = {"c2": c2, "dtype": np.float64, "noise": 1e-14, **watched(epsilon=1e-10, delta=0)}
    best = owlqn(likelihood, start, c1=c1, **exact) if c1 else lbfgs(likelihood, start, **exact)
    gaps = []
    for passes in (10, 100, 1000):
        trained = Run().finish(StochasticPasses(likelihood, start, c1=c1, c2=c2, passes=passes))
        assert len(trained.history) == passes
        gaps.append(trained.objective / best.objective - 1)
    assert gaps[0] > gaps[1] > gaps[2] >= -1e-12
    assert gaps[2] < 2e-5


def test_cooled_steps_equal_the_definition():
    """In the last two of five passes the step sizes fall evenly to 0, a quarter of a pass at a time."""
    problem = make_problem(8, L=3, A=12, lengths=(4, 3, 5, 2) * 5)
    likelihood = Likelihood(problem.structure, problem.features, problem.targets, None, "float64")
    start, B = np.zeros(likelihood.size), problem.features.num_sentences
    how = {"rate": 0.2, "passes": 5, "averaged": 0.0, "seed": 3}
    cooled = Run().finish(StochasticPasses(likelihood, start, c1=0.0, c2=0.5, cooled=0.4, **how))

    descent, random, quarter, decay = (
        _core.Descent64(likelihood.core, 0.0, 0.5),
        np.random.default_rng(3),
        0,
        2 * 0.5 / B,
    )
    descent.set(start)
    for _ in range(5):
        for part in np.array_split(random.permutation(B).astype(np.int64), 4):
            left = 20 - (quarter + 0.5)  # quarters, from the middle of this one
            size = 0.2 / (1 + 0.2 * decay * descent.seen)
            descent.run(part, 4, *((0.2, decay) if left >= 8 else (size * left / 8, 0.0)))
            quarter += 1
    np.testing.assert_array_equal(cooled.weights, descent.get())


@pytest.mark.parametrize(("c1", "c2"), [(0.0, 1.0), (0.0, 0.1), (0.2, 0.1)])
def test_cooled_steps_end_nearer_to_the_optimum_than_averages(c1, c2):
    corpus = make_entities(300, language="en")
    expanded = expand(Template.parse("U0:%x[-1,0]\nU1:%x[0,0]\nU2:%x[1,0]\nB\n"), corpus)
    assert expanded.states is not None
    column = corpus.column("tag")
    labels, count = column.ids.astype(np.int32), len(column.vocabulary)
    structure = structure_of(expanded.features, labels, count, len(expanded.states))
    likelihood = Likelihood(structure, expanded.features, Targets(labels), precision="float64")

    def reached(**how):
        passed = StochasticPasses(likelihood, np.zeros(likelihood.size), c1=c1, c2=c2, passes=12, **how)
        w = Run().finish(passed).weights
        return likelihood(w)[0] + c1 * np.abs(w).sum() + c2 * w @ w

    assert reached(averaged=0.0, cooled=0.2) < reached(averaged=0.5)


def test_same_seed_same_weights():
    problem = make_problem(8, lengths=(4, 3, 5, 2) * 5)
    likelihood = Likelihood(problem.structure, problem.features, problem.targets)
    zeros = np.zeros(likelihood.size)
    descents = [StochasticPasses(likelihood, zeros, c2=1.0, passes=4, seed=s) for s in (1, 1, 2)]
    runs = [Run().finish(descent).weights.tobytes() for descent in descents]
    assert runs[0] == runs[1] != runs[2]


def test_wrong_arguments():
    problem = make_problem(0)
    likelihood = Likelihood(problem.structure, problem.features, problem.targets)
    with pytest.raises(InputError, match=r"^batch: "):
        StochasticPasses(likelihood, np.zeros(likelihood.size), batch=0)
    with pytest.raises(InputError, match=r"^rate: "):
        StochasticPasses(likelihood, np.zeros(likelihood.size), rate=-1.0)
    descent = _core.Descent32(likelihood.core, 0.0, 0.0)
    with pytest.raises(ValueError, match=r"^order: "):
        descent.run(np.array([99]), 1, 0.1, 0.0)
