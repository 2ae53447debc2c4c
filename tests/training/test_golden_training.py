"""Golden training values: the optimum of a textbook example, by every algorithm, on the compiled likelihood."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tagline.features.attributes import Attributes, Features
from tagline.features.weights import Structure
from tagline.training.auto import BothPasses
from tagline.training.gradient_descent import gd
from tagline.training.iterative_scaling import iis
from tagline.training.lbfgs import lbfgs
from tagline.training.likelihood import Likelihood, Targets
from tagline.training.owlqn import owlqn
from tagline.training.run import Run
from tagline.training.stochastic_descent import StochasticPasses
from tests.chain.golden import GOLDEN
from tests.training.convex import watched

GOLD = GOLDEN["doc001_training_optimum"]
ORDER = GOLD["inputs"]["feature_order"]
COUNTS = GOLD["inputs"]["counts"]

# s1 … s4: (label, positions from 0); t1 … t5: (pair, positions); each is one attribute with one weight.
STATES = {"s1": (0, {0}), "s2": (1, {0, 1}), "s3": (0, {1, 2}), "s4": (1, {2})}
EDGES = {
    "t1": ((0, 1), {1, 2}),
    "t2": ((0, 0), {1}),
    "t3": ((1, 0), {2}),
    "t4": ((1, 0), {1}),
    "t5": ((1, 1), {2}),
}
# Flat weights are states first: where each of the golden order lies.
PLACES = [len(STATES) + list(EDGES).index(name) if name in EDGES else list(STATES).index(name) for name in ORDER]


def attributes(kinds, sentences) -> Attributes:
    rows = [[k for k, (_, positions) in enumerate(kinds.values()) if t in positions] for t in range(3)]
    offsets = np.cumsum([0, *(len(row) for row in rows * sentences)]).astype(np.int64)
    return Attributes(offsets, np.array([k for row in rows * sentences for k in row], np.int32))


def structure() -> Structure:
    return Structure(
        2,
        np.arange(len(STATES) + 1),
        np.array([label for label, _ in STATES.values()], np.int32),
        np.empty((0, 2), np.int32),
        np.arange(len(EDGES) + 1),
        np.array([pair for pair, _ in EDGES.values()], np.int32),
    )


def likelihood(repeat: bool = True) -> Likelihood:
    """The counted paths, each as often as it was counted, or once with its count as its weight."""
    paths = [path for path, count in COUNTS.items() for _ in range(count if repeat else 1)]
    labels = np.array([int(label) - 1 for path in paths for label in path], np.int32)
    bounds = np.arange(len(paths) + 1) * 3
    features = Features(bounds, attributes(STATES, len(paths)), attributes(EDGES, len(paths)))
    weights = None if repeat else np.array(list(COUNTS.values()), np.float64)
    return Likelihood(structure(), features, Targets(labels, weights=weights), None, "float64")


EXACT = {"epsilon": 1e-10, "delta": 0.0}


def _auto(objective, c2, *, run, convergence):
    exact = {"dtype": np.float64, "noise": 1e-14, "convergence": convergence}
    return run.finish(BothPasses(objective, np.zeros(9), c2=c2, **exact))


ALGORITHMS = {
    "lbfgs": lambda f, c2: lbfgs(f, np.zeros(9), c2=c2, dtype=np.float64, noise=1e-14, **watched(**EXACT)),
    "owlqn": lambda f, c2: owlqn(f, np.zeros(9), c1=0.0, c2=c2, dtype=np.float64, noise=1e-14, **watched(**EXACT)),
    "gd": lambda f, c2: gd(f, np.zeros(9), c2=c2, **watched(**EXACT, max_iterations=20_000)),
    "iis": lambda f, c2: iis(f, np.zeros(9), c2=c2, **watched(**EXACT, max_iterations=20_000)),
    "auto": lambda f, c2: _auto(f, c2, **watched(**EXACT)),
}


@pytest.mark.parametrize("repeat", [True, False], ids=["repeated", "weighted"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_textbook_optimum(algorithm, repeat):
    ref = GOLD["ref"]["L2 (maximise loglik - 0.5*||w||^2)"]
    trained = ALGORITHMS[algorithm](likelihood(repeat), 0.5)
    np.testing.assert_allclose(trained.weights[PLACES], ref["w"], rtol=0, atol=1e-6)
    np.testing.assert_allclose(-trained.objective, ref["objective"], rtol=1e-9)


def test_textbook_optimum_by_sgd():
    """Stochastic steps come near, and only near."""
    ref = GOLD["ref"]["L2 (maximise loglik - 0.5*||w||^2)"]
    trained = Run().finish(StochasticPasses(likelihood(), np.zeros(9), c2=0.5, passes=2000))
    np.testing.assert_allclose(-trained.objective, ref["objective"], rtol=1e-4)
    np.testing.assert_allclose(trained.weights[PLACES], ref["w"], rtol=0, atol=2e-2)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_textbook_optimum_without_a_penalty(algorithm):
    """The weights are not unique, the distribution is."""
    ref = GOLD["ref"]["MLE (no regulariser)"]
    objective = likelihood()
    trained = ALGORITHMS[algorithm](objective, 0.0)
    for path in product("12", repeat=3):
        labels = np.array([int(label) - 1 for label in path], np.int32)
        features = Features(np.array([0, 3]), attributes(STATES, 1), attributes(EDGES, 1))
        log_p = -Likelihood(structure(), features, Targets(labels), None, "float64")(trained.weights)[0]
        np.testing.assert_allclose(np.exp(log_p), ref["path_probs"]["".join(path)], rtol=0, atol=1e-6)
    np.testing.assert_allclose(-objective(trained.weights)[0], ref["loglik"], rtol=1e-9)
