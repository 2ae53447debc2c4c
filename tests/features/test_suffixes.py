"""Endings of words and the labels that they suggest, against the recursion written out for one word at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline.features.suffixes import endings, joined, likely, smoothing_weight

WORDS = st.lists(st.text("abXé中😀", min_size=0, max_size=5), unique=True, max_size=8)


def by_definition(words: list[str], counts: np.ndarray, prior: np.ndarray, ending: str) -> np.ndarray:
    """P_m(t) of one ending."""
    theta = smoothing_weight(prior)
    p = prior
    for m in range(1, len(ending) + 1):
        same = [w for w, word in enumerate(words) if len(word) >= m and word[-m:] == ending[-m:]]
        shares = counts[same].sum(axis=0) / counts[same].sum()
        p = (shares + theta * p) / (1 + theta)
    return p


@given(WORDS, st.integers(0, 4), st.integers(1, 4), st.integers(0, 2**32), st.sampled_from([1.0, 5.0, 1e3]))
def test_endings_are_those_of_the_definition(words: list[str], longest: int, K: int, seed: int, ratio: float) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 3, (len(words), K)).astype(float)
    counts[:, 0] += 1
    prior = rng.dirichlet(np.ones(K))
    names, found = endings(words, counts, prior, longest, ratio)
    wanted = {word[-m:] for word in words for m in range(1, min(longest, len(word)) + 1)}
    assert set(names) == wanted
    assert len(found.offsets) == len(names) + 1
    for number, name in enumerate(names):
        p = by_definition(words, counts, prior, name)
        labels = np.flatnonzero((p > 0) & (p * ratio >= p.max()))
        here = slice(found.offsets[number], found.offsets[number + 1])
        np.testing.assert_allclose(found.shares[here], p[found.labels[here]], rtol=1e-12)
        if ratio == 1e3:  # at others rounding may decide
            assert found.labels[here].tolist() == labels.tolist()
        assert p[found.labels[here]].max() == p.max()


@given(st.integers(1, 5), st.integers(0, 2**32))
def test_shares_of_an_ending_add_up_to_one(K: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.ones(K))
    _, found = endings(["walking", "sing"], rng.integers(1, 9, (2, K)).astype(float), prior, 10, 1e300)
    np.testing.assert_allclose(np.add.reduceat(found.shares, found.offsets[:-1]), 1, rtol=1e-12)


def test_theta_is_the_standard_deviation() -> None:
    prior = np.array([0.5, 0.3, 0.2])
    assert smoothing_weight(prior) == pytest.approx(np.sqrt(((prior - 1 / 3) ** 2).sum() / 2), rel=1e-15)
    assert smoothing_weight(np.ones(1)) == 0


def test_likely_labels() -> None:
    shares = np.array([[0.8, 0.16, 0.04, 0.0], [0.0, 0.0, 0.0, 1.0]])
    assert likely(shares, 8.0).tolist() == [[True, True, False, False], [False, False, False, True]]


def test_no_words_have_no_endings() -> None:
    names, found = endings([], np.zeros((0, 2)), np.array([0.5, 0.5]), 10, 1e3)
    assert len(names) == 0
    assert found.offsets.tolist() == [0]
    both = joined([found, found])
    assert both.offsets.tolist() == [0]
    assert len(both.labels) == 0
