"""Inputs that another library reads in another way are not taken in silence, and both readings can be written."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from tagline import HMM
from tagline.errors import InputError
from tagline.models.hmm.readings import AmbiguousInputWarning

NUMBERS = [[0], [1], [1], [0], [1]]
REALS = [[0.5], [7.0], [7.5], [0.25]]
TAGGED = [[("the", "DT"), ("cat", "NN")], [], [("a", "DT"), ("dog", "NN")]]
WORDS = [["the", "cat"], [], ["a", "dog"]]


def hmm(**settings: Any) -> HMM:
    return HMM(2, max_iterations=2, **settings)


@pytest.mark.parametrize(
    ("X", "settings"),
    [
        (NUMBERS, {}),
        (tuple(map(tuple, NUMBERS)), {}),
        ([np.array(row) for row in NUMBERS], {}),
        (REALS, {"emission": "gaussian"}),
    ],
)
def test_lists_of_one_number_name_both_readings(X: Any, settings: Any) -> None:
    N = len(X)
    model = hmm(**settings)
    with pytest.warns(AmbiguousInputWarning, match=rf"^X: .*\b{N}\b"):
        model.fit(X)
    for ask in (model.predict, model.score, model.predict_marginals):
        with pytest.warns(AmbiguousInputWarning):
            ask(X)
    with warnings.catch_warnings():  # the reading that is taken, and the other one, in the words of the message
        warnings.simplefilter("ignore", AmbiguousInputWarning)
        silent = model.log_likelihood(X)
    np.testing.assert_array_equal(model.log_likelihood(np.array(X), lengths=[1] * N), silent)
    joined = model.log_likelihood(np.array(X))
    assert joined.shape == (1,)
    assert not np.isclose(joined[0], silent.sum(), rtol=1e-9)


def test_numbers_that_have_one_reading_are_read_in_silence() -> None:
    model = hmm().fit([[0, 1], [1]])
    for X in ([[0]], [[0, 1], [1]], [[0], [1, 1]], [np.array([[0], [1]])], np.array(NUMBERS), []):
        model.predict(X)
    hmm().fit(NUMBERS, [[0], [1], [1], [0], [1]])
    hmm().fit([["a"], ["b"], ["a"]])
    hmm().fit(NUMBERS, lengths=[2, 3])


@pytest.mark.parametrize("y", [[1] * 5, (1,) * 5, np.ones(5, int)])
@pytest.mark.parametrize("X", [np.array([0, 1, 1, 0, 1]), [[0, 1, 1], [0, 1]]])
def test_ones_as_states_are_taken_for_lengths(X: Any, y: Any) -> None:
    with pytest.raises(InputError, match=r"^y: .*lengths="):
        HMM(2).fit(X, y)


def test_other_states_are_states() -> None:
    X = np.array([0, 1, 1, 0, 1])
    assert HMM().fit(X, [1, 0, 1, 2, 1]).predict(X).shape == (5,)
    assert HMM().fit(X, [[1] * 5]).labels_ == [0, 1]
    assert HMM().fit(X, ["1"] * 5).labels_ == ["1"]
    assert HMM(2).fit(X[:1], [1]).labels_ == [0, 1]
    assert HMM().fit(X, [0, 0, 1, 1, 1]).score(X, [1] * 5) <= 1  # not learned from: they may be


def test_tagged_words_are_not_learned_as_symbols_in_silence() -> None:
    with pytest.warns(AmbiguousInputWarning, match=r"^X: .*'the'"):
        model = hmm().fit(TAGGED)
    model.predict(TAGGED)  # it knows pairs
    hmm().fit(WORDS)
    HMM().fit(TAGGED, [["D", "N"], [], ["D", "N"]])  # with y there is one reading
    hmm().fit([[("a", 1), ("b", 2)]])


def test_tagged_words_are_not_taken_for_unknown_ones() -> None:
    model = HMM().fit(WORDS, [["D", "N"], [], ["D", "N"]])
    for ask in (model.predict, model.log_likelihood, model.predict_marginals):
        with pytest.raises(InputError, match=r"^X: .*'the'"):
            ask(TAGGED)
    model.predict([["the", "unicorn"], []])
