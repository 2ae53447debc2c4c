"""Training where few pairs of labels are legal: lists of pairs in the core against its matrices, and against slopes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tagline
from tagline import compiled
from tagline.features.attributes import Features
from tagline.features.weights import structure_of
from tagline.readers.rules import Rules
from tagline.training.likelihood import Likelihood, Targets

from .problems import Problem, random_attributes

core = pytest.importorskip("tagline._core")

LENGTHS = (14, 1, 30, 0, 5, 2, 22)


def with_and_without(work: Callable[[], Any]) -> tuple[Any, Any]:
    """What the core answers by lists of pairs, which it chooses itself here, and by matrices."""
    try:
        core.use_pair_lists("auto")
        lists = work()
        core.use_pair_lists("never")
        return lists, work()
    finally:
        core.use_pair_lists("auto")


def few_pairs(L: int, *, partial: bool = False, weights: bool = False) -> Problem:
    """Labels drawn along legal pairs; unknown ones may be any label that does not end the labelling."""
    rng = np.random.default_rng(L)
    follow = rng.random((L, L)) < 3 / L
    follow[np.arange(L), (np.arange(L) + 1) % L] = True
    offsets = np.cumsum([0, *LENGTHS]).astype(np.int64)
    N = int(offsets[-1])
    labels = np.zeros(N, np.int32)
    for first, last in itertools.pairwise(offsets):
        for n in range(first, last):
            labels[n] = rng.integers(L) if n == first else rng.choice(np.flatnonzero(follow[labels[n - 1]]))
    allowed, shown = None, labels
    if partial:
        allowed = np.zeros((N, L), np.bool_)
        allowed[np.arange(N), labels] = True
        unknown = rng.random(N) < 0.4
        allowed[unknown] |= rng.random((int(unknown.sum()), L)) < 0.5
        shown = np.where(allowed.sum(axis=1) > 1, -1, labels).astype(np.int32)
    features = Features(offsets, random_attributes(rng, N, 30, values=True), None)
    structure = structure_of(features, labels, L, 30, start=True, end=True)
    rules = Rules(follow, np.ones(L, np.bool_), rng.random(L) < 2)
    shares = rng.random(len(LENGTHS)) * 3 if weights else None
    return Problem(structure, features, Targets(shown, allowed, shares), rules)


@pytest.mark.parametrize("settings", [{}, {"partial": True}, {"weights": True}], ids=["plain", "partial", "weights"])
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_value_and_gradient(precision: str, settings: dict[str, bool]) -> None:
    problem = few_pairs(70, **settings)
    bar = 1e-11 if precision == "float64" else 5e-5
    w = np.random.default_rng(1).normal(size=problem.structure.size)
    likelihood = Likelihood(problem.structure, problem.features, problem.targets, problem.rules, precision)
    lists, matrices = with_and_without(lambda: likelihood(w))
    np.testing.assert_allclose(lists[0], matrices[0], rtol=max(bar / 50, 1e-12))
    np.testing.assert_allclose(lists[1], matrices[1], rtol=0, atol=bar)
    again, _ = with_and_without(lambda: likelihood(w))  # sums that were used before
    assert again[0] == lists[0]
    assert again[1].tobytes() == lists[1].tobytes()


@pytest.mark.parametrize("partial", [False, True], ids=["known", "partial"])
def test_gradient_is_the_slope(partial: bool) -> None:
    problem = few_pairs(66, partial=partial)
    exact = Likelihood(problem.structure, problem.features, problem.targets, problem.rules, "float64")
    rng = np.random.default_rng(2)
    w, direction, step = rng.normal(size=exact.size), rng.normal(size=exact.size), 1e-5
    slope = (exact(w + step * direction)[0] - exact(w - step * direction)[0]) / (2 * step)
    np.testing.assert_allclose(exact(w)[1] @ direction, slope, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("algorithm", ["lbfgs", "sgd", "ap", "pa", "arow"])
def test_every_algorithm_learns_the_same(algorithm: str) -> None:
    """25 types in BIOES, 101 labels: the same labellings, and weights to rounding."""
    rng = np.random.default_rng(3)
    X, y = [], []
    for _ in range(60):
        tokens: list[str] = []
        labels: list[str] = []
        for _ in range(4):
            kind, length = rng.integers(25), rng.integers(1, 4)
            names = [f"S-T{kind}"] if length == 1 else [f"B-T{kind}", *[f"I-T{kind}"] * (length - 2), f"E-T{kind}"]
            tokens += [f"w{kind}{place}" for place in range(length)] + ["the"] * rng.integers(0, 2)
            labels += names + ["O"] * (len(tokens) - len(labels) - len(names))
        X.append(tokens)
        y.append(labels)

    def fit() -> Any:
        model = tagline.CRF("english_ner", algorithm=algorithm, max_iterations=4, scheme="BIOES", random_state=0)
        return model.fit(X, y)

    assert compiled.core is not None
    lists, matrices = with_and_without(fit)
    assert len(lists.labels_) > 64
    assert [list(labels) for labels in lists.predict(X)] == [list(labels) for labels in matrices.predict(X)]
    for name, ours in lists.parameters_.__dict__.items():
        if isinstance(ours, np.ndarray) and ours.dtype.kind == "f":
            np.testing.assert_allclose(ours, getattr(matrices.parameters_, name), rtol=0, atol=2e-3)
