"""The likelihood of a second-order CRF: against enumeration, and its gradient against finite differences."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from tagline import compiled
from tagline.features.attributes import Attributes, Features
from tagline.features.weights import Structure, observed_triples, structure_of
from tagline.readers.rules import Rules
from tagline.training.likelihood import Likelihood, Targets
from tagline.types import Float64Array

pytestmark = pytest.mark.skipif(compiled.core is None, reason="needs the compiled core")

L, A, E = 3, 4, 2
LENGTHS = [4, 1, 0, 3, 2]
OFFSETS = np.cumsum([0, *LENGTHS]).astype(np.int64)
N = int(OFFSETS[-1])


def problem(edges: bool, partial: bool, seed: int = 0) -> tuple[Structure, Features, Targets]:
    """Sentences with attributes of any value, labels of which some are sets, and all triples that are shown."""
    rng = np.random.default_rng(seed)

    def attributes(count: int) -> Attributes:
        counts = rng.integers(0, 3, N)
        ids = rng.integers(0, count, counts.sum()).astype(np.int32)
        values = rng.normal(1, 0.5, counts.sum()).astype(np.float32)
        return Attributes(np.cumsum([0, *counts]).astype(np.int64), ids, values)

    features = Features(OFFSETS, attributes(A), attributes(E) if edges else None)
    gold = rng.integers(0, L, N).astype(np.int32)
    structure = structure_of(features, gold, L, A, num_edges=E if edges else 0, start=True, end=True)
    structure = replace(structure, triples=observed_triples(gold, OFFSETS, L))
    labels, allowed = gold, None
    if partial:
        allowed = np.zeros((N, L), bool)
        allowed[np.arange(N), gold] = True
        allowed[1], allowed[6, 0] = True, True
        labels = np.where(allowed.sum(axis=1) > 1, -1, gold).astype(np.int32)
    return structure, features, Targets(labels, allowed, rng.uniform(0.5, 2, len(LENGTHS)))


def rules(structure: Structure) -> Rules:
    """Label pairs that no sentence shows are forbidden."""
    transitions = np.zeros((L, L), bool)
    transitions[tuple(structure.transitions.T)] = True
    assert not transitions.all()
    return Rules(transitions, np.ones(L, bool), np.ones(L, bool))


def value_by_enumeration(structure: Structure, features: Features, targets: Targets, weights: Float64Array) -> float:
    """Σ weight · (log Z − log Z of the labellings that are allowed), from the definition."""
    parts, total = structure.parts, 0.0
    states, edges = np.zeros((A, L)), np.zeros((E, L, L))
    for a in range(A):
        of = slice(structure.state_offsets[a], structure.state_offsets[a + 1])
        states[a, structure.state_labels[of]] = weights[of]
    for a in range(len(structure.edge_offsets) - 1):
        of = slice(structure.edge_offsets[a], structure.edge_offsets[a + 1])
        edges[a][tuple(structure.edge_pairs[of].T)] = weights[parts["edges"]][of]
    moves, triples = np.full((L, L), -np.inf), np.zeros((L, L, L))
    moves[tuple(structure.transitions.T)] = weights[parts["transitions"]]
    assert structure.triples is not None
    triples[tuple(structure.triples.T)] = weights[parts["triples"]]
    start, end = weights[parts["start"]], weights[parts["end"]]

    def of_token(attributes: Attributes | None, table: Float64Array, n: int) -> Float64Array:
        out = np.zeros(table.shape[1:])
        for k in range(*attributes.offsets[n : n + 2]) if attributes is not None else ():
            out += float(attributes.values[k]) * table[attributes.ids[k]]  # type: ignore[union-attr, index]
        return out

    for b, T in enumerate(LENGTHS):
        scores, fitting = [0.0] * (not T), [0.0] * (not T)
        for y in itertools.product(range(L), repeat=T) if T else ():
            score = start[y[0]] + end[y[-1]]
            fits = possible = True
            for t in range(T):
                n = OFFSETS[b] + t
                score += of_token(features.states, states, n)[y[t]]
                if t >= 1:
                    score += moves[y[t - 1], y[t]] + of_token(features.edges, edges, n)[y[t - 1], y[t]]
                if t >= 2:
                    score += triples[y[t - 2], y[t - 1], y[t]]
                fits &= y[t] == targets.labels[n] if targets.allowed is None else bool(targets.allowed[n, y[t]])
                possible &= targets.kept is None or bool(targets.kept[n, y[t]])
            if possible:
                scores.append(score)
                fitting += [score] * bool(fits)
        assert targets.weights is not None
        total += targets.weights[b] * (np.logaddexp.reduce(scores) - np.logaddexp.reduce(fitting))
    return total


def kept_labels(targets: Targets) -> Targets:
    """Prune labels at random, but none that is allowed."""
    kept = np.random.default_rng(5).random((N, L)) < 0.5
    known = targets.labels >= 0
    kept[np.flatnonzero(known), targets.labels[known]] = True
    if targets.allowed is not None:
        kept |= targets.allowed
    return replace(targets, kept=kept)


@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("pruned", [False, True])
def test_value_and_gradient(edges: bool, partial: bool, pruned: bool) -> None:
    structure, features, targets = problem(edges, partial)
    targets = kept_labels(targets) if pruned else targets
    likelihood = Likelihood(structure, features, targets, rules(structure), "float64")
    weights = np.random.default_rng(1).normal(0, 1, structure.size)
    value, gradient = likelihood(weights)
    np.testing.assert_allclose(value, value_by_enumeration(structure, features, targets, weights), rtol=1e-11)
    step = 1e-5
    for k in range(structure.size):
        change = np.zeros(structure.size)
        change[k] = step
        slope = (likelihood(weights + change)[0] - likelihood(weights - change)[0]) / (2 * step)
        np.testing.assert_allclose(gradient[k], slope, rtol=1e-6, atol=1e-8)
    again = Likelihood(structure, features, targets, rules(structure), "float32")(weights)
    np.testing.assert_allclose(again[0], value, rtol=1e-5)
    np.testing.assert_allclose(again[1], gradient, rtol=1e-4, atol=1e-4)


def test_the_sum_over_sentences_does_not_depend_on_threads() -> None:
    structure, features, targets = problem(False, False)
    weights = np.random.default_rng(2).normal(0, 1, structure.size)
    before, answers = compiled.threads(), []
    for threads in (1, 2):
        compiled.set_threads(threads)
        value, gradient = Likelihood(structure, features, targets, None, "float32")(weights)
        answers.append((value, gradient.tobytes()))
    compiled.set_threads(before)
    assert answers[0] == answers[1]


def test_some_sentences_alone() -> None:
    structure, features, targets = problem(False, True)
    targets = kept_labels(targets)
    likelihood = Likelihood(structure, features, targets, None, "float64")
    weights = np.random.default_rng(3).normal(0, 1, structure.size)
    parts = [likelihood.of_sentences(np.array(chosen))(weights) for chosen in ([0, 3], [1, 2, 4])]
    np.testing.assert_allclose(sum(part[0] for part in parts), likelihood(weights)[0], rtol=1e-12)
    np.testing.assert_allclose(sum(part[1] for part in parts), likelihood(weights)[1], rtol=1e-10, atol=1e-12)


def test_observed_triples() -> None:
    labels = np.array([0, 1, 0, 1, 2, 2, 2, -1, 0, 0], np.int32)
    offsets = np.array([0, 4, 6, 10], np.int64)
    assert observed_triples(labels, offsets, 3).tolist() == [[0, 1, 0], [1, 0, 1]]
