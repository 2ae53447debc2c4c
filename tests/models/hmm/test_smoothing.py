"""Smoothed counts against definitions written out by hand, event by event."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tagline import HMM, InputError
from tagline.models.hmm.counting import count_states
from tagline.models.hmm.emissions import Categorical
from tagline.models.hmm.smoothing import SMOOTHING, smoothed

Table = list[list[float]]


def add_k(counts: Table, can: list[list[bool]], k: float) -> Table:
    out = []
    for row, may in zip(counts, can, strict=True):
        total = sum(c + k for c, m in zip(row, may, strict=True) if m)
        free = sum(may)
        out.append([0.0 if not m else (c + k) / total if total else 1 / free for c, m in zip(row, may, strict=True)])
    return out


def dirichlet(counts: Table, can: list[list[bool]], alpha: Table) -> Table:
    out = []
    for row, may, prior in zip(counts, can, alpha, strict=True):
        mass = [c + a - 1 if m else 0.0 for c, m, a in zip(row, may, prior, strict=True)]
        total, free = sum(mass), sum(may)
        out.append([x / total if total else m / free for x, m in zip(mass, may, strict=True)])
    return out


def witten_bell(counts: Table, can: list[list[bool]], events: list[float]) -> Table:
    """p(j | row) = (c_j + T q_j) / (c + T), q from the events by the same rule over the uniform distribution."""
    C, T0, N0 = len(events), sum(e > 0 for e in events), sum(events)
    lower = [(e + T0 / C) / (N0 + T0) if T0 else 1 / C for e in events]
    out = []
    for row, may in zip(counts, can, strict=True):
        free = sum(q for q, m in zip(lower, may, strict=True) if m)
        q = [p / free if m else 0.0 for p, m in zip(lower, may, strict=True)]
        c, T = (
            sum(x for x, m in zip(row, may, strict=True) if m),
            sum(x > 0 and m for x, m in zip(row, may, strict=True)),
        )
        out.append([(x * m + T * p) / (c + T) if T else p for x, m, p in zip(row, may, q, strict=True)])
    return out


@st.composite
def tables(draw: Any) -> tuple[np.ndarray, np.ndarray]:
    R, C = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    counts = draw(arrays(np.float64, (R, C), elements=st.integers(0, 4).map(float)))
    can = draw(arrays(np.bool_, (R, C)))
    can[~can.any(axis=1), 0] = True
    return counts, can


@given(tables(), st.sampled_from([0.0, 0.1, 1.0, 3.5]))
def test_add_k_is_the_definition(table: tuple[np.ndarray, np.ndarray], k: float) -> None:
    counts, can = table
    found = smoothed(counts, "add-k", k=k, possible=can)
    np.testing.assert_allclose(found, add_k(counts.tolist(), can.tolist(), k), rtol=1e-14)
    assert (found[~can] == 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-14)


@given(tables(), st.integers(0, 2**32 - 1))
def test_dirichlet_is_the_definition(table: tuple[np.ndarray, np.ndarray], seed: int) -> None:
    counts, can = table
    alpha = 1 + np.random.default_rng(seed).random(counts.shape).round(1)
    found = smoothed(counts, "dirichlet", prior=alpha, possible=can)
    np.testing.assert_allclose(found, dirichlet(counts.tolist(), can.tolist(), alpha.tolist()), rtol=1e-13)
    assert (found[~can] == 0).all()


@given(tables())
def test_witten_bell_is_the_definition(table: tuple[np.ndarray, np.ndarray]) -> None:
    counts, can = table
    events = counts.sum(axis=0) + np.arange(counts.shape[1]) % 2
    found = smoothed(counts, "witten-bell", possible=can, context_free=events)
    np.testing.assert_allclose(found, witten_bell(counts.tolist(), can.tolist(), events.tolist()), rtol=1e-13)
    assert (found[~can] == 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-13)


X = [["the", "cat", "sings"], ["a", "cat", "sees", "the", "dog"], ["cat"]]
Y = [["D", "N", "V"], ["D", "N", "V", "D", "N"], ["N"]]
LABELS, WORDS = ["D", "N", "V"], ["the", "cat", "sings", "a", "sees", "dog"]


def counts_by_hand() -> tuple[Table, Table, Table, list[float]]:
    start, moves = [0.0] * 3, [[0.0] * 3 for _ in LABELS]
    words, seen = [[0.0] * (len(WORDS) + 1) for _ in LABELS], [0.0] * 3
    for x, y in zip(X, Y, strict=True):
        start[LABELS.index(y[0])] += 1
        for before, after in pairwise(y):
            moves[LABELS.index(before)][LABELS.index(after)] += 1
        for word, tag in zip(x, y, strict=True):
            words[LABELS.index(tag)][WORDS.index(word)] += 1
            seen[LABELS.index(tag)] += 1
    return [start], moves, words, seen


@pytest.mark.parametrize("name", SMOOTHING)
def test_the_estimator_smooths_by_the_definition(name: str) -> None:
    """Start, transitions, and words with one more event: a word never seen."""
    start, moves, words, seen = counts_by_hand()
    hmm = HMM(smoothing=name, k=0.25, start_prior=1.5, transition_prior=2.0, emission_prior=1.25).fit(X, Y)
    can = {"start": [[True] * 3], "moves": [[True] * 3] * 3, "words": [[True] * 7] * 3}

    def one(kind: str, counts: Table, prior: float, events: list[float]) -> Table:
        if name == "add-k":
            return add_k(counts, can[kind], 0.25)
        if name == "dirichlet":
            return dirichlet(counts, can[kind], [[prior] * len(row) for row in counts])
        return witten_bell(counts, can[kind], events)

    np.testing.assert_allclose(hmm.start_, one("start", start, 1.5, seen)[0], rtol=1e-13)
    np.testing.assert_allclose(hmm.transitions_, one("moves", moves, 2.0, seen), rtol=1e-13)
    emission = hmm.emission_
    assert isinstance(emission, Categorical)
    assert emission.unseen is not None
    assert hmm.parameters_.symbols.values == tuple(WORDS)
    expected = np.array(one("words", words, 1.25, np.sum(words, axis=0).tolist()))
    np.testing.assert_allclose(emission.probabilities, expected[:, :-1], rtol=1e-13)
    np.testing.assert_allclose(emission.unseen, expected[:, -1], rtol=1e-13)


def test_arrays_of_priors() -> None:
    prior = np.array([[1.0, 2.0, 1.0], [3.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
    _, moves, _, _ = counts_by_hand()
    hmm = HMM(smoothing="dirichlet", transition_prior=prior).fit(X, Y)
    np.testing.assert_allclose(hmm.transitions_, dirichlet(moves, [[True] * 3] * 3, prior.tolist()), rtol=1e-13)


def test_counting_starts_and_pairs() -> None:
    states = np.array([0, 1, 1, 2, -1, 0, 2])
    start, pairs = count_states(states, np.array([0, 3, 3, 4, 7]), 3)
    assert start.tolist() == [1, 0, 1]
    assert pairs.tolist() == [[0, 1, 1], [0, 1, 0], [0, 0, 0]]
    assert count_states(np.zeros(0, np.int64), np.array([0, 0]), 2)[1].tolist() == [[0, 0], [0, 0]]


def test_wrong_settings() -> None:
    for settings, place in (
        ({"smoothing": "good-turing"}, "smoothing: "),
        ({"k": -0.5}, "k: "),
        ({"k": float("nan")}, "k: "),
        ({"transition_prior": 0.5}, "transition_prior: "),
        ({"start_prior": "strong"}, "start_prior: "),
        ({"emission_prior": 0.5, "smoothing": "dirichlet"}, "prior: "),
    ):
        with pytest.raises(InputError, match=place):
            HMM(**settings).fit(X, Y)
