"""Word scores against cutting the text into words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline.errors import InputError
from tagline.evaluation.scores import Score
from tagline.evaluation.segmentation import evaluate_segmentation

TEXT = "北京人口ab"


def words(tags: list[str]) -> set[tuple[int, int]]:
    """The words of a sentence as (start, end), by walking along it."""
    found, start = set(), 0
    for n in range(1, len(tags) + 1):
        if n == len(tags) or tags[n][0] in "BSUWO" or tags[n - 1][0] in "ELSUWO":
            found.add((start, n))
            start = n
    return found


TAG = st.sampled_from(["B", "M", "E", "S", "I", "O", "L", "U", "W", "B-N", "I-V"])
SENTENCE = st.lists(st.tuples(TAG, TAG, st.sampled_from(TEXT)), max_size=10)


@given(st.lists(SENTENCE, max_size=4), st.sets(st.text(TEXT, min_size=1, max_size=2)))
def test_words_are_those_of_a_walk(sentences: list[list[tuple[str, str, str]]], known: set[str]) -> None:
    gold, predicted, tokens = ([[row[k] for row in rows] for rows in sentences] for k in range(3))
    pairs = [(words(g), words(p)) for g, p in zip(gold, predicted, strict=True)]
    found = evaluate_segmentation(gold, predicted, tokens=tokens, training_words=known)
    correct = sum(len(g & p) for g, p in pairs)
    assert found.words == Score(correct, sum(len(p) for _, p in pairs), sum(len(g) for g, _ in pairs))
    rows = [
        ("".join(characters[start:end]) in known, (start, end) in p)
        for characters, (g, p) in zip(tokens, pairs, strict=True)
        for start, end in g
    ]
    assert found.oov == (sum(right for old, right in rows if not old), sum(not old for old, _ in rows))
    assert found.iv == (sum(right for old, right in rows if old), sum(old for old, _ in rows))


def test_improper_tags_and_types() -> None:
    assert evaluate_segmentation([["B", "B", "E"]], [["S", "B", "M"]]).words == Score(2, 2, 2)
    assert evaluate_segmentation([["B-N", "I-N"]], [["B-V", "I-V"]]).f1 == 1
    assert evaluate_segmentation([["B"], ["I"]], [["B"], ["I"]]).words == Score(2, 2, 2)


def test_without_training_words() -> None:
    found = evaluate_segmentation([["B", "E", "S"]], [["B", "E", "S"]])
    assert (found.oov_recall, found.iv_recall) == (None, None)
    assert found.text() == "2 words; found: 2; correct: 2; precision: 100.00%; recall: 100.00%; F1: 100.00\n"


def test_text_with_training_words() -> None:
    found = evaluate_segmentation(
        [["B", "E", "S"]], [["S", "S", "S"]], tokens=[["北", "京", "人"]], training_words=["人"]
    )
    assert (found.oov_recall, found.iv_recall) == (0, 1)
    assert found.text().splitlines()[1] == (
        "recall of 1 words that are not in the training text: 0.00%; of 1 that are: 100.00%"
    )


def test_wrong_input_is_named() -> None:
    with pytest.raises(InputError, match=r"^label 'NOUN': "):
        evaluate_segmentation([["NOUN"]], [["B"]])
    with pytest.raises(InputError, match=r"^tokens: "):
        evaluate_segmentation([["B"]], [["B"]], training_words=[])
