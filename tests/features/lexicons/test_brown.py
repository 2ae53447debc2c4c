"""Brown clusters: the core's merges against the definition; counts and bit strings by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagline.errors import InputError
from tagline.features.lexicons import brown
from tagline.features.lexicons.brown import bits_of, brown_clusters, brown_merges, count_bigrams

from .brown_definition import merges


@settings(max_examples=60)
@given(
    sentences=st.lists(st.lists(st.sampled_from("abcdefghij"), max_size=12), min_size=1, max_size=8),
    num_classes=st.integers(1, 6),
)
def test_merges_are_those_of_the_definition(sentences: list[list[str]], num_classes: int) -> None:
    counts = count_bigrams(sentences)
    pairs = zip(counts.firsts.tolist(), counts.seconds.tolist(), strict=True)
    bigrams = dict(zip(pairs, counts.numbers.tolist(), strict=True))
    expected = merges(counts.counts.tolist(), bigrams, num_classes)
    assert list(map(tuple, brown_merges(counts, num_classes).tolist())) == expected


def test_merges_of_more_words() -> None:
    rng = np.random.default_rng(0)
    tokens = (30 * rng.random(600) ** 2).astype(int)
    sentences = [[f"w{n}" for n in row] for row in np.split(tokens, 40)]
    counts = count_bigrams(sentences)
    pairs = zip(counts.firsts.tolist(), counts.seconds.tolist(), strict=True)
    bigrams = dict(zip(pairs, counts.numbers.tolist(), strict=True))
    expected = merges(counts.counts.tolist(), bigrams, 8)
    assert list(map(tuple, brown_merges(counts, 8).tolist())) == expected


def test_counts_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = [list(text) for text in ("abcab", "", "bca", "dd", "cabba")]
    whole = count_bigrams(sentences, 2)
    assert whole.words == ("a", "b", "c", "d")
    assert whole.counts.tolist() == [5, 5, 3, 2]
    monkeypatch.setattr(brown, "BLOCK", 3)
    parts = count_bigrams(sentences, 2)
    for name in ("counts", "firsts", "seconds", "numbers"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))
    assert count_bigrams(sentences, 3).words == ("a", "b", "c")


def test_bit_strings() -> None:
    # words 0 … 4, three classes: {0, 3}, {1, 4}, {2}; then {1, 4} + {2}, then all.
    table = np.array([[0, 3], [1, 4], [1, 2], [0, 1]])
    assert bits_of(table, 5, 3) == ["0", "10", "11", "0", "10"]
    assert bits_of(np.zeros((0, 2), np.int64), 1, 5) == ["0"]


def test_words_with_like_neighbours_share_bits() -> None:
    rng = np.random.default_rng(1)
    names, places, verbs = ["Anna", "Ben", "Zoe"], ["Rome", "Oslo", "Bern"], ["saw", "left"]
    sentences = [[str(rng.choice(part)) for part in (names, verbs, ["in"], places)] for _ in range(200)]
    table = brown_clusters(sentences, 4)
    for group in (names, places, verbs):
        assert len({table.of(word) for word in group}) == 1
    assert len({table.of(word) for word in ("Anna", "Rome", "saw", "in")}) == 4
    assert table.is_bits


def test_progress_and_errors() -> None:
    steps: list[tuple[int, int]] = []
    brown_merges(count_bigrams([[f"w{n}" for n in range(150)]]), 3, lambda *at: steps.append(at))
    assert steps == [(100, 152), (152, 152)]
    with pytest.raises(InputError, match=r"^text: "):
        brown_clusters([["a", "a"]], 2, min_count=3)
    with pytest.raises(InputError, match=r"^count: "):
        brown_clusters([["a"]], 0)


def test_the_number_of_classes_is_looked_at_before_the_text() -> None:
    with pytest.raises(InputError, match=r"^count: "):
        brown_clusters(iter(()), 0)


def test_tables_that_memory_does_not_hold_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brown, "MEMORY", 2 * 40 * 5**2)
    text = [["a", "b", "c", "d", "e"]]
    assert len(brown_clusters(text, 4).names) == 4
    with pytest.raises(InputError, match=r"^count: "):
        brown_clusters(text, 50)


def test_a_string_is_no_list_of_words() -> None:
    with pytest.raises(InputError, match=r"^sentences: "):
        brown_clusters(["the cat sat"], 2)
