"""Scores by sklearn-crfsuite's names."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from sklearn_crfsuite import metrics as theirs

from tagline import InputError
from tagline.interop.sklearn_crfsuite import metrics as ours

NAMES = [name for name in dir(theirs) if name.startswith("flat_")]


def labelled(seed: int) -> tuple[list[list[str]], list[list[str]]]:
    draw = random.Random(seed)
    lengths = [draw.randint(1, 6) for _ in range(30)]
    rows = [[[draw.choice("XYZ") for _ in range(length)] for length in lengths] for _ in range(2)]
    return rows[0], rows[1]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("average", ["micro", "macro", "weighted"])
def test_scores_are_theirs(name: str, average: str) -> None:
    y, guesses = labelled(1)
    arguments: dict[str, Any] = {"beta": 0.5} if "fbeta" in name else {}
    if name in ("flat_classification_report", "flat_accuracy_score"):
        arguments |= {"labels": ["Z", "X"], "digits": 3} if "report" in name else {}
    else:
        arguments |= {"average": average, "labels": ["Z", "X"], "zero_division": 0}
    assert getattr(ours, name)(y, guesses, **arguments) == getattr(theirs, name)(y, guesses, **arguments)


def test_accuracy_takes_the_arguments_of_scikit_learn() -> None:
    y, guesses = labelled(2)
    count = ours.flat_accuracy_score(y, guesses, normalize=False)
    assert count == sum(a == b for row, other in zip(y, guesses, strict=True) for a, b in zip(row, other, strict=True))


def test_sentences_that_are_right_as_a_whole() -> None:
    y, guesses = labelled(3)
    guesses[::3] = y[::3]
    expected = sum(a == b for a, b in zip(y, guesses, strict=True)) / len(y)
    assert ours.sequence_accuracy_score(y, guesses) == theirs.sequence_accuracy_score(y, guesses) == expected
    assert ours.sequence_accuracy_score(iter(y), np.array(guesses, dtype=object)) == expected
    assert ours.sequence_accuracy_score([], []) == 0


def test_sentences_of_one_length_are_sentences() -> None:
    """There, such lists become a matrix, and tokens are counted: 3 of 2 sentences."""
    y, guesses = [["X", "Y"], ["Y", "Y"]], [["X", "Y"], ["X", "Y"]]
    assert ours.sequence_accuracy_score(y, guesses) == 0.5
    assert theirs.sequence_accuracy_score(y, guesses) == 1.5


def test_sentences_that_do_not_fit_are_named() -> None:
    with pytest.raises(InputError, match=r"^y_pred\[1\]: .*y_true"):
        ours.flat_f1_score([["X", "Y"], ["X"]], [["X", "Y"], ["X", "Y"]], average="micro")
    for score in (ours.flat_accuracy_score, ours.sequence_accuracy_score):
        with pytest.raises(InputError, match=r"^y_pred: .*y_true"):
            score([["X"], ["Y"]], [["X"]])
