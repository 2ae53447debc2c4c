"""MIRA against its definition in plain Python, and the mistakes that training logs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tagline.chain import viterbi
from tagline.features.attributes import Attributes, Features
from tagline.features.weights import Scorer, structure_of
from tagline.ragged import offsets_of
from tagline.training.likelihood import Likelihood, Targets
from tagline.training.online.mira import MiraPass, mira

L = 3


def lesson(edges: bool) -> tuple[Likelihood, list[tuple[list[list[int]], list[list[int]], list[int]]]]:
    """Sentences of up to three tokens: state attributes, edge attributes, labels."""
    draw = np.random.default_rng(3)
    sentences = []
    for _ in range(9):
        T = int(draw.integers(1, 4))
        rows = [[int(a) for a in draw.choice(6, 2)] for _ in range(T)]
        between = [[int(a) for a in draw.choice(3, 1)] if t else [] for t in range(T)]
        sentences.append((rows, between, [(rows[t][0] + t) % L for t in range(T)]))

    def joined(part: int) -> Attributes:
        rows = [row for sentence in sentences for row in sentence[part]]
        return Attributes(
            offsets_of(np.array([len(row) for row in rows])), np.array([a for row in rows for a in row], np.int32)
        )

    offsets = offsets_of(np.array([len(sentence[0]) for sentence in sentences]))
    features = Features(offsets, joined(0), joined(1) if edges else None)
    gold = np.array([label for sentence in sentences for label in sentence[2]], np.int32)
    everything = {"all_states": True, "all_transitions": True, "edge_pairs": "all"}
    structure = structure_of(features, gold, L, 6, num_edges=3 if edges else 0, **everything)  # type: ignore[arg-type]
    return Likelihood(structure, features, Targets(gold), None, "float64"), sentences


@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize(("c", "rest"), [(1.0, 20), (0.05, 2)])
def test_it_is_what_the_definition_says(edges: bool, c: float, rest: int) -> None:
    likelihood, sentences = lesson(edges)
    passes: list[MiraPass] = []
    weights = mira(likelihood, c=c, rest=rest, passes=6, report=passes.append)
    states, moves, crossed = np.zeros((6, L)), np.zeros((L, L)), np.zeros((3, L, L))
    spent, right = np.zeros(len(sentences)), [0] * len(sentences)
    for done in passes:
        active = [b for b in range(len(sentences)) if right[b] < rest]
        assert done.active == len(active)
        wrong, violation = 0, 0.0
        for b in active:
            rows, between, gold = sentences[b]

            def counts(labels: tuple[int, ...], rows: list = rows, between: list = between) -> list[np.ndarray]:
                parts = [np.zeros_like(states), np.zeros_like(moves), np.zeros_like(crossed)]
                for t, y in enumerate(labels):
                    for a in rows[t]:
                        parts[0][a, y] += 1
                    if t:
                        parts[1][labels[t - 1], y] += 1
                        for a in between[t] if edges else []:
                            parts[2][a, labels[t - 1], y] += 1
                return parts

            def score(labels: tuple[int, ...]) -> float:
                return sum(float((a * w).sum()) for a, w in zip(counts(labels), (states, moves, crossed), strict=True))

            paths = itertools.product(range(L), repeat=len(gold))
            best = max(paths, key=lambda labels: (round(score(labels), 9), tuple(-y for y in reversed(labels))))
            errors = sum(y != z for y, z in zip(best, gold, strict=True))
            wrong += errors
            right[b] = right[b] + 1 if errors == 0 else 0
            if not errors:
                continue
            change = [a - z for a, z in zip(counts(tuple(gold)), counts(best), strict=True)]
            missing = errors - (score(best) - score(tuple(gold)))
            step = max(0.0, missing / sum(float((part**2).sum()) for part in change))
            if spent[b] + step > c:
                step = c - spent[b]
            else:
                violation = max(violation, missing)
            spent[b] += step
            for w, part in zip((states, moves, crossed), change, strict=True):
                w += step * part
        assert done.wrong_labels == wrong
        np.testing.assert_allclose(done.violation, violation, rtol=0, atol=1e-6)
        if violation <= 0:
            right = [0] * len(sentences)
    expected = np.concatenate([states.reshape(-1), moves.reshape(-1), crossed.reshape(-1) if edges else []])
    np.testing.assert_allclose(weights, expected, rtol=1e-6, atol=1e-7)  # what is spent is float32 in the core


@pytest.mark.parametrize("edges", [False, True])
def test_mistakes_are_those_of_the_best_labellings(edges: bool) -> None:
    likelihood, _ = lesson(edges)
    weights = np.random.default_rng(1).normal(size=likelihood.size)
    likelihood(weights)
    chain = Scorer(likelihood.structure, weights).chain(likelihood.features)
    wrong = viterbi(chain).labels != likelihood.targets.labels
    bounds = likelihood.features.offsets
    sentences = sum(bool(wrong[first:last].any()) for first, last in itertools.pairwise(bounds))
    assert likelihood.core.mistakes() == (wrong.sum(), sentences)
