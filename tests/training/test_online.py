"""Averaged perceptron, passive-aggressive and AROW against their definitions in NumPy, over enumerated labellings."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tagline import _core
from tagline.errors import InputError
from tagline.training.choices import algorithm_of
from tagline.training.likelihood import Likelihood
from tagline.training.online.learner import OnlinePasses
from tagline.training.run import Run
from tests.training.problems import KINDS, counts_of, fits, legal, make_problem

RULES = {
    "ap": {"rule": "ap"},
    "pa 0": {"rule": "pa", "type": 0},
    "pa 1": {"rule": "pa", "type": 1, "c": 0.3},
    "pa 2": {"rule": "pa", "type": 2, "c": 0.3},
    "pa insensitive": {"rule": "pa", "type": 1, "c": 5.0, "error_sensitive": False},
    "arow": {"rule": "arow", "variance": 0.7, "gamma": 1.3},
}


def best_of(problem, b, w, allowed):
    """The best labelling; random real weights leave no ties."""
    T = int(np.diff(problem.features.offsets)[b])
    paths = [y for y in product(range(problem.structure.num_labels), repeat=T) if legal(problem, y)]
    if allowed:
        paths = [y for y in paths if fits(problem, b, y)]
    return max(paths, key=lambda y: w @ counts_of(problem, b, y))


def by_definition(problem, start, order, rule, type=1, c=1.0, error_sensitive=True, variance=1.0, gamma=1.0):
    w, sums, seen = start.copy(), np.zeros_like(start), 1
    spread = np.full_like(start, variance)
    total, wrong = 0.0, 0
    for b in order:
        if np.diff(problem.features.offsets)[b] == 0:
            continue
        gold, best = best_of(problem, b, w, True), best_of(problem, b, w, False)
        errors = sum(x != y for x, y in zip(gold, best, strict=True))
        if errors:
            wrong += errors
            delta = counts_of(problem, b, gold) - counts_of(problem, b, best)
            loss, step, scale = errors / len(gold), 1.0, np.ones_like(w)
            if rule == "pa":
                loss = -w @ delta + (np.sqrt(errors) if error_sensitive else 1)
                step = {
                    0: loss / (delta @ delta),
                    1: min(c, loss / (delta @ delta)),
                    2: loss / (delta @ delta + 0.5 / c),
                }[type]
            elif rule == "arow":
                loss = -w @ delta + errors
                step, scale = loss / (delta @ (spread * delta) + gamma), spread.copy()
                spread = 1 / (1 / spread + delta**2 / gamma)
            step *= 1 if problem.targets.weights is None else problem.targets.weights[b]
            w = w + step * scale * delta
            sums = sums + seen * step * scale * delta
            total += loss
        seen += 1
    return w, w - sums / seen, total, wrong


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rule", RULES)
def test_equals_the_definition(kind, rule):
    problem = make_problem(5, **KINDS[kind])
    likelihood = Likelihood(problem.structure, problem.features, problem.targets, problem.rules, "float64")
    start = np.random.default_rng(3).normal(size=likelihood.size)
    order = np.array([2, 0, 1, 0, 3, 2, 0, 1], np.int64)
    core = _core.Online64(likelihood.core, **RULES[rule])
    core.set(start)
    loss, wrong = core.run(order)
    last, mean, total, errors = by_definition(problem, start, order, **RULES[rule])
    assert errors > 0
    assert wrong == errors
    np.testing.assert_allclose(loss, total, rtol=1e-9)
    np.testing.assert_allclose(core.get(False), last, rtol=0, atol=1e-11)
    np.testing.assert_allclose(core.get(True), mean, rtol=0, atol=1e-11)


@pytest.mark.parametrize("rule", ["ap", "pa", "arow"])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_learns_what_can_be_learned(rule, precision):
    """Labels that follow from the features: no mistakes are left."""
    problem = make_problem(8, L=3, A=60, lengths=(3, 2, 4, 1, 3), values=True)
    likelihood = Likelihood(problem.structure, problem.features, problem.targets, None, precision)
    trained = Run().finish(OnlinePasses(likelihood, np.zeros(likelihood.size), rule, seed=1))
    assert trained.reason.startswith("converged: every sentence")
    if rule == "arow":
        for b in range(problem.features.num_sentences):
            T = int(np.diff(problem.features.offsets)[b])
            first = int(problem.features.offsets[b])
            assert best_of(problem, b, trained.weights, False) == tuple(problem.targets.labels[first : first + T])


def test_same_seed_same_weights():
    problem = make_problem(8, lengths=(4, 3, 5, 2) * 3)
    likelihood = Likelihood(problem.structure, problem.features, problem.targets)
    learners = [OnlinePasses(likelihood, np.zeros(likelihood.size), "ap", passes=4, seed=s) for s in (1, 1, 2)]
    runs = [Run().finish(learner).weights.tobytes() for learner in learners]
    assert runs[0] == runs[1] != runs[2]


def test_wrong_settings():
    problem = make_problem(0)
    likelihood = Likelihood(problem.structure, problem.features, problem.targets)
    for wrong in ("pa:type=3", "pa:c=0", "arow:gamma=-1"):
        name = wrong.partition(":")[2].partition("=")[0]
        with pytest.raises(InputError, match=rf"^algorithm\.{name}: "):
            algorithm_of(wrong)
    with pytest.raises(ValueError, match=r"^rule: "):
        _core.Online32(likelihood.core, "mira")
