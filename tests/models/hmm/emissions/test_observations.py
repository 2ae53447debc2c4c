"""The door: arrays with lengths, ragged lists, symbols of any kind; what is wrong is named by its place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tagline.errors import InputError
from tagline.models.hmm.emissions import MISSING, UNKNOWN, Symbols, check_observations
from tagline.readers.corpus import Corpus


@pytest.mark.parametrize(
    ("X", "lengths", "values", "offsets"),
    [
        (np.array([[1.0, 2.0], [3.0, 4.0]]), None, [[1, 2], [3, 4]], [0, 2]),
        (np.array([[1.0, 2.0], [3.0, 4.0]]), [1, 1], [[1, 2], [3, 4]], [0, 1, 2]),
        (np.array([1, 2, 3]), [2, 0, 1], [[1], [2], [3]], [0, 2, 2, 3]),
        ([[1, 2, 3], [4]], None, [[1], [2], [3], [4]], [0, 3, 4]),
        ([[1, 2, 3]], [1], [[1, 2, 3]], [0, 1]),
        ([np.array([[1.0, 2.0]]), [[3, 4], [5, 6]], []], None, [[1, 2], [3, 4], [5, 6]], [0, 1, 3, 3]),
        ([[], [1]], None, [[1]], [0, 0, 1]),
        ([], None, np.empty((0, 1)), [0]),
        (np.ones((2, 3, 1)), None, [[1]] * 6, [0, 3, 6]),
        ([[True, False]], None, [[1], [0]], [0, 2]),
    ],
)
def test_forms_of_observations(X: Any, lengths: Any, values: Any, offsets: Any) -> None:
    found, bounds = check_observations("gaussian", X, lengths)
    assert found.dtype == np.float64
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, values)
    np.testing.assert_array_equal(bounds, offsets)
    assert bounds.dtype == np.int64


def test_missing_numbers() -> None:
    found, _ = check_observations("poisson", [[1, None], [np.nan]])
    np.testing.assert_array_equal(found, [[1], [np.nan], [np.nan]])
    masked = np.ma.masked_array([[1, 2], [3, 4]], [[False, True], [False, False]])
    np.testing.assert_array_equal(check_observations("gaussian", masked)[0], [[1, np.nan], [3, 4]])
    bags, _ = check_observations("multinomial", np.array([[1, 2], [np.nan, np.nan], [-1, -1]]))
    assert bags.dtype == np.int64
    assert bags.tolist() == [[1, 2], [-1, -1], [-1, -1]]


@pytest.mark.parametrize(
    ("family", "X", "lengths", "place"),
    [
        ("gaussian", np.array([[1.0], [np.inf]]), None, r"^X\[1\]\[0\]: "),
        ("gaussian", [[0.0], [1.0, -1e200]], None, r"^X\[1\]\[1\]\[0\]: "),
        ("gaussian", [1.0, 2.0], None, r"^X: "),
        ("gaussian", "text", None, r"^X: .*'text'"),
        ("gaussian", [["a", "b"]], None, r"^X\[0\]: "),
        ("gaussian", [[[1, 2], [3]]], None, r"^X\[0\]: "),
        (
            "gaussian",
            [np.ones((2, 2)), np.ones((2, 3))],
            None,
            r"^X\[1\]: ",
        ),
        ("gaussian", np.ones((2, 2, 2, 2)), None, r"^X: "),
        ("gaussian", np.ones((2, 0)), None, r"^X: "),
        ("gaussian", 5, None, r"^X: "),
        ("gaussian", None, None, r"^X: "),
        ("gaussian", np.ones((3, 2)), [2, 2], r"^lengths: "),
        ("gaussian", np.ones((3, 2)), [4, -1], r"^lengths\[1\]: "),
        ("gaussian", np.ones((3, 2)), [1.5, 1.5], r"^lengths: "),
        ("gaussian", np.ones((3, 2)), 3, r"^lengths: "),
        ("gaussian", np.ones(3, complex), None, r"^X: "),
        ("poisson", np.array([[0.5]]), None, r"^X\[0\]\[0\]: "),
        ("poisson", np.array([[1], [-1]]), None, r"^X\[1\]\[0\]: "),
        ("poisson", np.array([[np.inf]]), None, r"^X\[0\]\[0\]: "),
        ("bernoulli", [[0, 1], [2]], None, r"^X\[1\]\[0\]\[0\]: "),
        ("multinomial", np.array([[1, np.nan]]), None, r"^X\[0\]\[1\]: "),
        ("multinomial", np.array([[1, -1]]), None, r"^X\[0\]\[1\]: "),
    ],
)
def test_bad_observations(family: str, X: Any, lengths: Any, place: str) -> None:
    with pytest.raises(InputError, match=place):
        check_observations(family, X, lengths)


def test_the_width_of_a_model_is_asked_for() -> None:
    with pytest.raises(InputError, match=r"^X: "):
        check_observations("gaussian", np.ones((2, 2)), num_dimensions=3)
    with pytest.raises(InputError, match=r"^X\[0\]: "):
        check_observations("gaussian", [[1, 2]], num_dimensions=3)
    assert check_observations("gaussian", [[]], num_dimensions=3)[0].shape == (0, 3)


# Symbols.


@pytest.mark.parametrize(
    ("X", "lengths", "values", "ids", "offsets"),
    [
        (np.array([[2], [0], [2]]), None, (0, 2), [1, 0, 1], [0, 3]),
        (np.array([2, 0, 1]), [1, 2], (0, 1, 2), [2, 0, 1], [0, 1, 3]),
        ([[2, 0], [], [1]], None, (0, 1, 2), [2, 0, 1], [0, 2, 2, 3]),
        ([np.array([2, 0]), np.array([1])], None, (0, 1, 2), [2, 0, 1], [0, 2, 3]),
        ([np.array([[2], [0]]), [[1]]], None, (0, 1, 2), [2, 0, 1], [0, 2, 3]),
        ([["b", "a"], ["a"]], None, ("b", "a"), [0, 1, 1], [0, 2, 3]),
        (np.array(["b", "a"]), [1, 1], ("b", "a"), [0, 1], [0, 1, 2]),
        (["b", "a"], [1, 1], ("b", "a"), [0, 1], [0, 1, 2]),
        ([["a", None, float("nan"), 7, (1, 2)]], None, ("a", 7, (1, 2)), [0, -1, -1, 1, 2], [0, 5]),
        ([[0, None], [3]], None, (0, 3), [0, -1, 1], [0, 2, 3]),
        (np.array([0.0, np.nan, 2.0]), None, (0.0, 2.0), [0, -1, 1], [0, 3]),
        (np.ma.masked_array([4, 5], [True, False]), None, (5,), [-1, 0], [0, 2]),
        ([], None, (), [], [0]),
        ([[], []], None, (), [], [0, 0, 0]),
        (([1, 2], (2,)), None, (1, 2), [0, 1, 1], [0, 2, 3]),
    ],
)
def test_forms_of_symbols(X: Any, lengths: Any, values: Any, ids: Any, offsets: Any) -> None:
    table, found, bounds = Symbols.read(X, lengths)
    assert table.values == values
    assert all(type(one) is type(two) for one, two in zip(table.values, values, strict=True))
    np.testing.assert_array_equal(found, ids)
    np.testing.assert_array_equal(bounds, offsets)
    assert found.dtype == bounds.dtype == np.int64
    again, _ = table.number(X, lengths)
    np.testing.assert_array_equal(again, ids)


def test_symbols_of_a_corpus() -> None:
    corpus = Corpus.from_sentences([(["a", "dog"], ["X", "Y"]), (["a"], ["X"])])
    table, ids, offsets = Symbols.read(corpus)
    assert table.values == ("a", "dog")
    assert ids.tolist() == [0, 1, 0]
    assert offsets.tolist() == [0, 2, 3]
    assert Symbols.of(["dog"]).number(corpus)[0].tolist() == [UNKNOWN, 0, UNKNOWN]
    assert len(Symbols.read(corpus[1:])[0]) == 1


def test_unknown_and_missing_symbols() -> None:
    table = Symbols.of(["a", "b"])
    ids, _ = table.number([["b", "c", None]])
    assert ids.tolist() == [1, UNKNOWN, MISSING]
    assert table.names(ids) == ["b", None, None]
    numbers = Symbols.of(range(3))
    assert numbers.number(np.array([[2], [7]]))[0].tolist() == [2, UNKNOWN]
    assert numbers.number([["x"]])[0].tolist() == [UNKNOWN]
    assert table.number(np.array([0, 1]))[0].tolist() == [UNKNOWN, UNKNOWN]
    assert Symbols.of(np.array([3, 1])).values == (3, 1)
    assert Symbols.of(np.array([3, 1])).number(np.array([1, 3]))[0].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("X", "lengths", "place"),
    [
        (np.array([1, -1]), None, r"^X: "),
        ([[1, -3]], None, r"^X: "),
        ("text", None, r"^X: .*'text'"),
        (["text"], None, r"^X\[0\]: "),
        ([1, 2], None, r"^X\[0\]: "),
        (None, None, r"^X: "),
        (np.ones((2, 2), int), None, r"^X: "),
        ([["a", ["b", "c"]]], None, r"^X: .*'b'"),
        (np.array([1, 2]), [3], r"^lengths: "),
        (np.array(5), None, r"^X: "),
    ],
)
def test_bad_symbols(X: Any, lengths: Any, place: str) -> None:
    with pytest.raises(InputError, match=place):
        Symbols.read(X, lengths)


def test_symbols_must_differ() -> None:
    with pytest.raises(InputError, match=r"^symbols: .*'a'"):
        Symbols.of("aba")
