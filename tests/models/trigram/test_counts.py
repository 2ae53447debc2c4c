"""Trigram counts, weights and probabilities, against dictionaries and the formulas of Brants (2000)."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline.errors import InputError
from tagline.models.trigram import counts as trigram_counts
from tagline.models.trigram.counts import TrigramCounts

SENTENCES = st.lists(st.lists(st.integers(0, 3), max_size=6), min_size=1, max_size=6).filter(any)


def counts_of(sentences: list[list[int]], S: int = 4) -> TrigramCounts:
    states = np.array([state for sentence in sentences for state in sentence], np.int64)
    return TrigramCounts.of(states, np.cumsum([0, *map(len, sentences)]), S)


def by_hand(sentences: list[list[int]], S: int = 4) -> tuple[Counter, Counter, Counter, Counter, Counter, int]:
    """f(abc), f(ab) and f(b) as contexts, f(bc), f(c), N."""
    abc: Counter = Counter()
    for sentence in sentences:
        line = [S, S, *sentence, S] if sentence else []
        abc.update(zip(line, line[1:], line[2:], strict=False))
    ab: Counter = Counter()
    b, bc, c = Counter(), Counter(), Counter()
    for (x, y, z), n in abc.items():
        ab[x, y] += n
        b[y] += n
        bc[y, z] += n
        c[z] += n
    return abc, ab, b, bc, c, sum(abc.values())


@given(SENTENCES)
def test_counts(sentences: list[list[int]]) -> None:
    found = counts_of(sentences)
    abc = by_hand(sentences)[0]
    assert dict(zip(map(tuple, found.grams.tolist()), found.counts.tolist(), strict=True)) == dict(abc)
    assert found.grams.tolist() == sorted(map(list, abc))


@given(SENTENCES)
def test_weights_by_deleted_interpolation(sentences: list[list[int]]) -> None:
    abc, ab, b, bc, c, N = by_hand(sentences)
    given = [1.0, 1.0, 1.0]
    for (x, y, z), n in abc.items():
        estimates = [
            (c[z] - 1) / (N - 1) if N > 1 else 0,
            (bc[y, z] - 1) / (b[y] - 1) if b[y] > 1 else 0,
            (n - 1) / (ab[x, y] - 1) if ab[x, y] > 1 else 0,
        ]
        best = [k for k in range(3) if estimates[k] == max(estimates)]
        for k in best:
            given[k] += n / len(best)
    np.testing.assert_allclose(counts_of(sentences).weights(), np.array(given) / sum(given), rtol=1e-12)


@given(SENTENCES)
def test_probabilities(sentences: list[list[int]]) -> None:
    S = 4
    abc, ab, b, bc, c, N = by_hand(sentences)
    found = counts_of(sentences)
    weights = found.weights()
    one, two, three = weights
    table, rows = found.table(weights)
    np.testing.assert_allclose(np.exp(table.astype(np.float64)).sum(axis=1), 1, rtol=1e-6)
    for x in range(S + 1):
        for y in range(S + 1):
            for z in range(S + 1):
                p = one * (c[z] + 1) / (N + S + 1)
                p += two * bc[y, z] / b[y] if b[y] else 0
                p += three * abc[x, y, z] / ab[x, y] if ab[x, y] else 0
                p /= one + (two if b[y] else 0) + (three if ab[x, y] else 0)
                assert table[rows[x, y], z] == pytest.approx(np.log(p), rel=1e-5, abs=1e-6)


def test_empty_sentences_show_nothing() -> None:
    one, other = counts_of([[0, 1], [], [2], []]), counts_of([[0, 1], [2]])
    np.testing.assert_array_equal(one.grams, other.grams)
    np.testing.assert_array_equal(one.counts, other.counts)


def test_too_many_states() -> None:
    with pytest.raises(InputError, match=r"^tags: "):
        counts_of([[0]], 5000)


def test_too_large_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trigram_counts, "MOST_CELLS", 10)
    found = counts_of([[0, 1]])
    with pytest.raises(InputError, match=r"^tags: "):
        found.table(found.weights())
