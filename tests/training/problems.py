"""Random small training problems, and the likelihood written out as plain NumPy loops over enumerated labellings."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np

from tagline.features.attributes import Attributes, Features
from tagline.features.weights import Structure, structure_of
from tagline.readers.rules import Rules
from tagline.training.likelihood import Targets

KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "values": {"values": True},
    "edges": {"edges": True, "values": True},
    "partial": {"partial": True},
    "weights": {"weights": True},
    "rules": {"rules": True},
    "many labels": {"L": 5, "A": 30, "lengths": (3, 1, 4, 2)},
}
"""Settings of `make_problem` that each bring in something of their own."""


@dataclass
class Problem:
    structure: Structure
    features: Features
    targets: Targets
    rules: Rules | None


def random_attributes(rng: np.random.Generator, N: int, A: int, values: bool, most: int = 5) -> Attributes:
    counts = rng.integers(0, most, N)
    ids = rng.integers(0, A, counts.sum()).astype(np.int32)
    real = rng.normal(size=len(ids)).astype(np.float32) if values else None
    return Attributes(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), ids, real)


def make_problem(
    seed: int,
    *,
    L: int = 3,
    A: int = 7,
    lengths: tuple[int, ...] = (4, 1, 3, 0, 5),
    values: bool = False,
    edges: bool = False,
    partial: bool = False,
    weights: bool = False,
    rules: bool = False,
    ends: bool = True,
    all_states: bool = False,
) -> Problem:
    rng = np.random.default_rng(seed)
    bounds = np.cumsum([0, *lengths]).astype(np.int64)
    N = int(bounds[-1])
    states = random_attributes(rng, N, A, values)
    edge = random_attributes(rng, N, 4, values, 3) if edges else None
    labels = rng.integers(0, L, N).astype(np.int32)
    limits = None
    if rules:  # label L − 1 may not begin or follow label 0
        follow = np.ones((L, L), bool)
        follow[0, L - 1] = False
        start = np.ones(L, bool)
        start[L - 1] = False
        limits = Rules(follow, start, np.ones(L, bool))
        labels[labels == L - 1] = 0
    allowed = None
    shown = labels
    if partial:
        allowed = np.zeros((N, L), bool)
        allowed[np.arange(N), labels] = True
        unknown = rng.random(N) < 0.4
        allowed[unknown] |= rng.random((int(unknown.sum()), L)) < 0.6
        shown = np.where(allowed.sum(axis=1) > 1, -1, labels).astype(np.int32)
    features = Features(bounds, states, edge)
    structure = structure_of(
        features, shown, L, A, num_edges=4 if edges else 0, start=ends, end=ends, all_states=all_states
    )
    sentence_weights = rng.random(len(lengths)) * 3 if weights else None
    return Problem(structure, features, Targets(shown, allowed, sentence_weights), limits)


def counts_of(problem: Problem, b: int, y: tuple[int, ...]) -> np.ndarray:
    """How often each weight is used by labelling y of sentence b: the global feature vector F(y, x)."""
    s, f = problem.structure, problem.features
    counts = np.zeros(s.size)
    parts = s.parts
    first = int(f.offsets[b])
    for t, label in enumerate(y):
        n = first + t
        for k in range(f.states.offsets[n], f.states.offsets[n + 1]):
            a, value = f.states.ids[k], 1.0 if f.states.values is None else float(f.states.values[k])
            for q in range(s.state_offsets[a], s.state_offsets[a + 1]):
                if s.state_labels[q] == label:
                    counts[q] += value
        if t == 0:
            continue
        pair = (y[t - 1], label)
        for q, known in enumerate(s.transitions):
            if tuple(known) == pair:
                counts[parts["transitions"].start + q] += 1
        for k in range(f.edges.offsets[n], f.edges.offsets[n + 1]) if f.edges else ():
            a, value = f.edges.ids[k], 1.0 if f.edges.values is None else float(f.edges.values[k])
            for q in range(s.edge_offsets[a], s.edge_offsets[a + 1]):
                if tuple(s.edge_pairs[q]) == pair:
                    counts[parts["edges"].start + q] += value
    if y and s.start:
        counts[parts["start"].start + y[0]] += 1
    if y and s.end:
        counts[parts["end"].start + y[-1]] += 1
    return counts


def legal(problem: Problem, y: tuple[int, ...]) -> bool:
    rules = problem.rules
    if rules is None or not y:
        return True
    moves = all(rules.transitions[a, b] for a, b in pairwise(y))
    return bool(rules.start[y[0]] and rules.end[y[-1]] and moves)


def fits(problem: Problem, b: int, y: tuple[int, ...]) -> bool:
    """Whether the targets allow a labelling."""
    first, targets = int(problem.features.offsets[b]), problem.targets
    for t, label in enumerate(y):
        if targets.labels[first + t] >= 0:
            if targets.labels[first + t] != label:
                return False
        elif not targets.allowed[first + t, label]:
            return False
    return True


def likelihood_by_enumeration(problem: Problem, w: np.ndarray) -> tuple[float, np.ndarray]:
    """Σ_b weight_b (log Σ_legal e^(w·F) − log Σ_legal and allowed e^(w·F)), and its gradient."""
    total, gradient = 0.0, np.zeros(problem.structure.size)
    for b, T in enumerate(np.diff(problem.features.offsets)):
        weight = 1.0 if problem.targets.weights is None else problem.targets.weights[b]
        paths = [y for y in product(range(problem.structure.num_labels), repeat=int(T)) if legal(problem, y)]
        counts = np.array([counts_of(problem, b, y) for y in paths])
        scores = counts @ w
        inside = np.array([fits(problem, b, y) for y in paths])
        for sign, chosen in ((1.0, np.ones(len(paths), bool)), (-1.0, inside)):
            high = scores[chosen].max()
            p = np.exp(scores[chosen] - high)
            total += sign * weight * (high + np.log(p.sum()))
            gradient += sign * weight * (p / p.sum()) @ counts[chosen]
    return total, gradient
