"""Spans to tags and back, between all schemes, and what is lost on the way."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagline.errors import InputError
from tagline.readers.corpus import Corpus
from tagline.readers.schemes import LossyConversionWarning, convert, spans_to_tags, tags_to_spans, validate
from tests.readers.span_oracle import LETTERS, Span, written

LOSSLESS = [name for name in LETTERS if name != "IO"]


@st.composite
def sentences(draw: st.DrawFn, types: str = "XY") -> tuple[list[Span], int]:
    """Spans in order, and the length of their sentence."""
    spans, at = [], 0
    for gap, length, kind in draw(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 4), st.sampled_from(types)))):
        spans.append((at + gap, at + gap + length, kind))
        at += gap + length
    return spans, at + draw(st.integers(0, 2))


def merged(spans: list[Span]) -> list[Span]:
    """Spans as IO tells them: neighbours of one type are one."""
    result: list[Span] = []
    for start, end, kind in spans:
        if result and result[-1][1:] == (start, kind):
            result[-1] = (result[-1][0], end, kind)
        else:
            result.append((start, end, kind))
    return result


@pytest.mark.parametrize("name", LETTERS)
@given(sentence=sentences())
def test_spans_become_tags_and_come_back(name: str, sentence: tuple[list[Span], int]) -> None:
    spans, length = sentence
    tags = spans_to_tags(spans, length, name)
    assert tags == written(spans, length, name)
    assert validate([tags], name) == []
    assert tags_to_spans(tags, name) == (merged(spans) if name == "IO" else spans)
    assert tags == spans_to_tags(reversed(spans), length, name)


@pytest.mark.parametrize(("source", "target"), list(product(LOSSLESS, LOSSLESS)))
@settings(max_examples=25)  # for each of 64 pairs
@given(given_sentences=st.lists(sentences(), max_size=4))
def test_round_trips(source: str, target: str, given_sentences: list[tuple[list[Span], int]]) -> None:
    before = [written(spans, length, source) for spans, length in given_sentences]
    there = convert(before, source, target)
    assert there == [written(spans, length, target) for spans, length in given_sentences]
    assert convert(there, target, source) == before


@pytest.mark.parametrize("source", LOSSLESS)
@given(sentence=sentences())
def test_to_io_says_how_many_spans_merge(source: str, sentence: tuple[list[Span], int]) -> None:
    spans, length = sentence
    lost = len(spans) - len(merged(spans))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tags = convert([written(spans, length, source)], source, "IO")[0]
    assert tags == written(spans, length, "IO")
    expected = [f"{source} to IO is lossy: {lost} spans merge with the one of their type before them"] if lost else []
    assert [str(warning.message) for warning in caught] == expected


def test_from_io_says_what_cannot_be_known() -> None:
    with pytest.warns(LossyConversionWarning, match=r"^IO to IOB2\b.*\b1\b"):
        assert convert(["I-X", "I-X", "O", "I-Y"], "IO", "IOB2") == ["B-X", "I-X", "O", "B-Y"]
    assert convert(["I-X", "O", "I-Y"], "IO", "IOB2") == ["B-X", "O", "B-Y"]
    assert convert(["I-X", "I-X"], "IO", "IO") == ["I-X", "I-X"]


def test_words() -> None:
    words = ["B", "E", "S", "B", "M", "E"]
    assert tags_to_spans(words, "BMES-words") == [(0, 2, ""), (2, 3, ""), (3, 6, "")]
    assert convert(words, "BMES-words", "BIO") == ["B", "I", "B", "B", "I", "I"]
    assert convert(["B", "I", "B", "B", "I", "I"], "BIO", "BMES-words") == words
    assert convert(words, "BMES-words", "BILOU") == ["B", "L", "U", "B", "I", "L"]
    assert spans_to_tags([(0, 1, ""), (1, 3, "")], 3, "BMES-words") == ["S", "B", "E"]


def test_to_words_drops_types_and_says_so() -> None:
    message = r"^IOB2 to BMES-words\b.*\b2\b.*\b3\b"
    with pytest.warns(LossyConversionWarning, match=message):
        tags = convert([["O", "B-X", "I-X"], ["O", "B-Y", "O"]], "IOB2", "BMES-words")
    assert tags == [["S", "B", "E"], ["S", "S", "S"]]


def test_the_warning_points_at_the_caller() -> None:
    with pytest.warns(LossyConversionWarning) as caught:
        convert(["B-X", "B-X"], "IOB2", "IO")
    assert caught[0].filename == __file__


def test_separators_are_kept() -> None:
    assert convert(["B_X", "I_X", "O"], "IOB2", "BIOES") == ["B_X", "E_X", "O"]
    assert convert(["B_X", "I-X", "O"], "IOB2", "BIOES") == ["B-X", "E-X", "O"]
    assert spans_to_tags([(0, 1, "X")], 1, "IOB2", separator="_") == ["B_X"]
    with pytest.raises(InputError, match=r"^separator: "):
        spans_to_tags([(0, 1, "X")], 1, "IOB2", separator="+")


def test_a_corpus_keeps_its_other_columns_and_is_left_alone() -> None:
    corpus = Corpus.from_sentences([(["Anna", "Lee"], ["B-PER", "I-PER"]), (["sings"], ["O"])])
    corpus.columns["tag"].ids.flags.writeable = False
    result = convert(corpus, "IOB2", "BIOES")
    assert result.tags == [["B-PER", "E-PER"], ["O"]]
    assert result.tokens == corpus.tokens
    assert corpus.tags == [["B-PER", "I-PER"], ["O"]]


def test_tags_are_numbered_in_the_order_of_their_first_use() -> None:
    corpus = Corpus.from_sentences([(["a", "b", "c"], ["O", "B-Y", "B-X"]), (["d"], ["B-Y"])])
    assert convert(corpus, "IOB2", "BIOES").columns["tag"].vocabulary == ("O", "S-Y", "S-X")


def test_another_column_of_a_corpus() -> None:
    corpus = Corpus.from_sentences([{"token": ["a", "b"], "tag": ["NN", "VB"], "chunk": ["B-NP", "B-VP"]}])
    result = convert(corpus, "BIO", "BIOES", column="chunk")
    assert result.sequences("chunk") == [["S-NP", "S-VP"]]
    assert result.tags == [["NN", "VB"]]
    with pytest.raises(InputError, match=r"^column 'ner': "):
        convert(corpus, "BIO", "BIOES", column="ner")


def test_forms() -> None:
    assert convert(["B-X"], "BIO", "BIOES") == ["S-X"]
    assert convert([["B-X"], []], "BIO", "BIOES") == [["S-X"], []]
    assert convert([], "BIO", "BIOES") == []
    assert convert([[]], "BIO", "BIOES") == [[]]
    assert convert(("B-X", "O"), "BIO", "BIOES") == ["S-X", "O"]  # type: ignore[type-var]
    assert convert(np.array(["B-X", "O"]), "BIO", "BIOES") == ["S-X", "O"]  # type: ignore[type-var]
    assert tags_to_spans([], "BIO") == []
    assert spans_to_tags([], 0, "BIO") == []


@pytest.mark.parametrize(
    ("tags", "place"),
    [
        ("B-X", "tags: "),
        (3, "tags: "),
        (["O", 1], "tags[1]: "),
        ([[0, 1]], "tags[0][0]: "),
        ([["O"], "O"], "tags[1]: "),
        ([1, 2], "tags[0]: "),
    ],
)
def test_wrong_forms(tags: Any, place: str) -> None:
    with pytest.raises(InputError) as error:
        convert(tags, "BIO", "BIOES")
    assert str(error.value).startswith(place)


@pytest.mark.parametrize(
    ("spans", "place"),
    [
        ([(0, 3, "X"), (2, 4, "Y")], "spans: "),
        ([(0, 4, "X"), (1, 2, "Y")], "spans: "),
        ([(1, 2, "X"), (1, 2, "X")], "spans: "),
        ([(3, 5, "X")], "span (3, 5, 'X'): "),
        ([(-1, 1, "X")], "span (-1, 1, 'X'): "),
        ([(2, 2, "X")], "span (2, 2, 'X'): "),
        ([(0, 1)], "spans: "),
        ([("0", 1, "X")], "spans: "),
        ([(0.0, 1.0, "X")], "spans: "),
        ([(0, 1, 7)], "spans: "),
    ],
)
def test_wrong_spans(spans: Any, place: str) -> None:
    with pytest.raises(InputError) as error:
        spans_to_tags(spans, 4, "IOB2")
    assert str(error.value).startswith(place)


def test_wrong_length() -> None:
    with pytest.raises(InputError, match=r"^length: "):
        spans_to_tags([], -1, "IOB2")


def test_arrays_of_strings_are_named_as_strings() -> None:
    with pytest.raises(InputError, match=r"^sentence 0, token 1: .*'NN'$"):
        convert(np.array(["O", "NN"]), "BIO", "BIOES")  # type: ignore[type-var]


def test_words_must_cover_and_have_no_labels() -> None:
    with pytest.raises(InputError, match=r"^sentence 0, token 1: "):
        spans_to_tags([(0, 1, "")], 2, "BMES-words")
    with pytest.raises(InputError, match=r"^spans: "):
        spans_to_tags([(0, 1, "X")], 1, "BMES-words")
