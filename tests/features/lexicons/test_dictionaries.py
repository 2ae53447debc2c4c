"""Dictionaries: matches against a search of every stretch, constraints and filling against enumeration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain as joined
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tagline.chain import constrain, viterbi
from tagline.errors import InputError
from tagline.features.lexicons.dictionaries import Dictionary
from tagline.readers.corpus import Column, Corpus
from tagline.readers.rules import SCHEMES
from tagline.readers.schemes import spans_to_tags
from tagline.readers.spans import Span
from tagline.types import Chain

WORDS = st.sampled_from("abc")
ENTRIES = st.dictionaries(st.lists(WORDS, min_size=1, max_size=3).map(tuple), st.sampled_from(["X", "Y"]), max_size=6)
SENTENCES = st.lists(st.lists(st.sampled_from("abcd"), max_size=8), max_size=4)


def search(entries: dict[tuple[str, ...], str], tokens: list[str | None]) -> list[Span]:
    """At each position the longest stretch that is an entry, else one token on."""
    found, at = [], 0
    while at < len(tokens):
        ends = [end for end in range(at + 1, len(tokens) + 1) if tuple(tokens[at:end]) in entries]
        if ends:
            found.append((at, ends[-1], entries[tuple(tokens[at : ends[-1]])]))  # type: ignore[index]
        at = ends[-1] if ends else at + 1
    return found


def corpus_of(sentences: list[list[str]]) -> Corpus:
    return Corpus.from_sentences([{"token": tokens} for tokens in sentences])


@given(ENTRIES, SENTENCES)
def test_matches_are_leftmost_and_longest(entries: dict[tuple[str, ...], str], sentences: list[list[str]]) -> None:
    dictionary = Dictionary(entries)
    assert len(dictionary) == len(entries)
    assert dictionary.entries() == entries
    expected = [search(entries, list(tokens)) for tokens in sentences]
    assert dictionary.match(corpus_of(sentences)).to_lists(len(sentences)) == expected
    assert [dictionary.match(tokens) for tokens in sentences] == expected


@given(ENTRIES, SENTENCES, st.sampled_from(["BIOES", "BIO", "IOE2"]))
def test_the_column_says_the_matches(
    entries: dict[tuple[str, ...], str], sentences: list[list[str]], scheme: str
) -> None:
    corpus = corpus_of(sentences)
    written = Dictionary(entries).column(corpus, scheme)
    expected = [
        tag for tokens in sentences for tag in spans_to_tags(search(entries, list(tokens)), len(tokens), scheme)
    ]
    assert written.strings == expected
    assert corpus.with_column("dictionary", written).names == ["token", "dictionary"]


def labels_of(scheme: str, separator: str = "-") -> list[str]:
    letters = SCHEMES[scheme].letters
    return ["O", *(letter + separator + kind for kind in "XY" for letter in letters if letter != "O")]


def every_span_set(length: int, at: int = 0) -> Iterator[list[Span]]:
    """All ways to lay spans of the types X and Y into so many tokens."""
    if at == length:
        yield []
        return
    for rest in every_span_set(length, at + 1):
        yield rest
    for end in range(at + 1, length + 1):
        for rest in every_span_set(length, end):
            yield from ([(at, end, kind), *rest] for kind in "XY")


def touch(spans: list[Span]) -> bool:
    return any(one[1:] == (other[0], other[2]) for one, other in pairwise(spans))


SPAN_SETS = {length: list(every_span_set(length)) for length in range(1, 5)}


def test_the_span_sets_are_all() -> None:
    """Tokens are outside, or begin or continue a span: 1, 3, and then 4·f(n − 1) − f(n − 2) ways."""
    assert [len(SPAN_SETS[length]) for length in range(1, 5)] == [3, 11, 41, 153]


# Whether every labelling that keeps the matches is allowed. IOB1 and IOE1 write a span that touches another in another
# way, and IO cannot say that two touch.
EXACT = {"IOB2": True, "BIOES": True, "BILOU": True, "IOE2": True, "IO": False, "IOB1": False, "IOE1": False}


@pytest.mark.parametrize(("scheme", "exact"), EXACT.items())
@given(entries=ENTRIES, tokens=st.lists(st.sampled_from("abcd"), min_size=1, max_size=5), cut=st.integers(1, 4))
@settings(max_examples=40)
def test_labels_over_the_model(
    scheme: str, exact: bool, entries: dict[tuple[str, ...], str], tokens: list[str], cut: int
) -> None:
    """Of all span sets, those may be written that have each match as a span."""
    sentences = [tokens[:cut], tokens[cut:]]
    labels = labels_of(scheme)
    matches = [search(entries, list(part)) for part in sentences]
    assume(scheme != "IO" or not any(map(touch, matches)))
    allowed = Dictionary(entries, priority="over").allowed(corpus_of(sentences), labels, scheme)
    numbers = {label: number for number, label in enumerate(labels)}
    for rows, part, found in zip((allowed[:cut], allowed[cut:]), sentences, matches, strict=True):
        for spans in SPAN_SETS.get(len(part), ()):
            if scheme == "IO" and touch(spans):
                continue
            path = [numbers[tag] for tag in spans_to_tags(spans, len(part), scheme)]
            may, keeps = bool(rows[range(len(part)), path].all()), set(found) <= set(spans)
            assert keeps or not may
            assert may or not keeps or (not exact and touch(spans))


def test_known_labels_reach_decoding() -> None:
    """A model that always says O, and the dictionary over it."""
    corpus = corpus_of([["in", "New", "York"], ["York"], []])
    labels = ["O", "B-LOC", "I-LOC"]
    dictionary = Dictionary({"New York": "LOC"}, priority="over")
    known = dictionary.known(corpus, labels, "BIO")
    assert known.tolist() == [-1, 1, 2, -1]
    chain = Chain(np.tile([1.0, 0, 0], (4, 1)), np.zeros((3, 3)), offsets=corpus.offsets)
    assert viterbi(constrain(chain, known=known)).labels.tolist() == [0, 1, 2, 0]
    assert viterbi(constrain(chain, allowed=dictionary.allowed(corpus, labels, "BIO"))).labels.tolist() == [0, 1, 2, 0]
    underscored = ["O", "B_LOC", "I_LOC"]
    assert dictionary.known(corpus, underscored, "BIO").tolist() == [-1, 1, 2, -1]
    assert dictionary.known(corpus_of([]), labels).tolist() == []
    assert dictionary.allowed(corpus_of([]), labels, "BIO").shape == (0, 3)
    with pytest.raises(InputError, match=r"^labels: .*'I-LOC'"):
        dictionary.known(corpus, labels[:2], "BIO")


def test_words_of_a_users_dictionary() -> None:
    """Word segmentation: the words of the dictionary are cut out, the rest is left to the model."""
    corpus = corpus_of([list("我在北京大学读书")])
    dictionary = Dictionary(["北京大学", "北京"], "WORD", tokenizer="characters", priority="over")
    labels = ["B", "M", "E", "S"]
    assert dictionary.known(corpus, labels, "BMES-words").tolist() == [-1, -1, 0, 1, 1, 2, -1, -1]
    assert dictionary.allowed(corpus, labels, "BMES-words")[5].tolist() == [False, False, True, False]


@pytest.mark.parametrize("scheme", [*EXACT, "BMES"])
@given(entries=ENTRIES, sentences=SENTENCES, data=st.data())
@settings(max_examples=40)
def test_filling_under_the_model(
    scheme: str, entries: dict[tuple[str, ...], str], sentences: list[list[str]], data: st.DataObject
) -> None:
    """The model's spans stay, and the stretches between them hold what the dictionary finds there."""
    corpus, dictionary = corpus_of(sentences), Dictionary(entries, priority="under")
    tags, expected = [], []
    for tokens in sentences:
        held = data.draw(st.lists(st.sampled_from(["", "X", "Z"]), min_size=len(tokens), max_size=len(tokens)))
        spans = [(n, n + 1, kind) for n, kind in enumerate(held) if kind]
        tags.append(spans_to_tags(spans, len(tokens), scheme))
        free = [None if kind else token for token, kind in zip(tokens, held, strict=True)]
        added = search(entries, free)
        expected.append(spans_to_tags(sorted([*spans, *added]), len(tokens), scheme))
    assert dictionary.fill(corpus, tags, scheme) == expected
    filled = dictionary.fill(corpus.with_column("tag", Column.of(joined(*tags))), None, scheme)
    assert filled.tags == expected  # type: ignore[union-attr]


def test_filling_leaves_improper_tags_alone() -> None:
    corpus = corpus_of([["a", "b", "c", "a"], ["b"]])
    dictionary = Dictionary({"a": "X"})
    assert dictionary.fill(corpus, [["O", "O", "I-Z", "O"], ["I_Z"]], "BIO") == [["B-X", "O", "B-Z", "B-X"], ["I_Z"]]
    assert dictionary.fill(corpus, [["O", "I-Z", "O", "O"], ["I-Z"]], "BIO")[1] == ["I-Z"]  # type: ignore[comparison-overlap]
    assert dictionary.fill(corpus, [["O", "B_Z", "O", "O"], ["O"]], "BIO")[0] == ["B_X", "B_Z", "O", "B_X"]
    with pytest.raises(InputError, match=r"^tags: "):
        dictionary.fill(corpus, [["O"]], "BIO")
    with pytest.raises(InputError, match=r"^sentence 1, token 0: "):
        dictionary.fill(corpus, [["O"] * 4, ["NN"]], "BIO")


def test_case_and_tokenizers() -> None:
    dictionary = Dictionary(["New York", "Straße"], "LOC", fold_case=True)
    assert dictionary.match(["NEW", "york", "STRASSE"]) == [(0, 2, "LOC"), (2, 3, "LOC")]
    assert Dictionary(["New York"], "LOC").match(["NEW", "york"]) == []
    assert Dictionary(["St. John's"], "LOC").match(["St", ".", "John's"]) == [(0, 3, "LOC")]
    assert Dictionary(["St. John's"], "LOC", tokenizer="whitespace").match(["St.", "John's"]) == [(0, 2, "LOC")]
    assert Dictionary(["北京"], "LOC", tokenizer="characters").match(list("在北京")) == [(1, 3, "LOC")]
    assert Dictionary([["St.", "John's"]], "LOC").match(["St.", "John's"]) == [(0, 2, "LOC")]


def test_conflicts() -> None:
    twice = {"rome": "LOC", "Rome": "PER"}
    place = r"entries\[1\]: .*conflicts="
    with pytest.raises(InputError, match=place):
        Dictionary(twice, fold_case=True)
    for which, kind in (("first", "LOC"), ("last", "PER")):
        assert Dictionary(twice, fold_case=True, conflicts=which).match(["ROME"]) == [(0, 1, kind)]
    assert Dictionary(["Rome", "Rome"], "LOC").match(["Rome"]) == [(0, 1, "LOC")]


def test_reading(tmp_path: Path) -> None:
    path = tmp_path / "places.tsv"
    path.write_bytes("\ufeffNew York\tLOC\r\n\r\n  \nAnna\n".encode())
    dictionary = Dictionary.read(path, "PER", fold_case=True, priority="over")
    assert dictionary.match(["new", "york", "anna"]) == [(0, 2, "LOC"), (2, 3, "PER")]
    assert repr(dictionary) == "Dictionary(2 phrases, types LOC, PER, priority 'over')"
    with pytest.raises(InputError, match=re.escape(f"{path}:4: ")):
        Dictionary.read(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a\tX\tY\n", ":1: "),
        (b"a\tX\n\n\tX\n", ":3: "),
        (b"a\t\n", ":1: "),
        (b"a\tX Y\n", ":1: "),
        (b"a\tX\na\tY\n", ":2: "),
        (b"a\tX\nb\xff\tX\n", ":2: "),
    ],
)
def test_wrong_files(tmp_path: Path, text: bytes, message: str) -> None:
    path = tmp_path / "wrong.tsv"
    path.write_bytes(text)
    with pytest.raises(InputError, match=re.escape(f"{path}{message.format(path=path)}")):
        Dictionary.read(path)


@pytest.mark.parametrize(
    ("entries", "options", "place"),
    [
        ("New York", {}, "entries: "),
        (3, {}, "entries: "),
        (["a", ""], {"kind": "X"}, "entries[1]: "),
        ([3], {"kind": "X"}, "entries[0]: "),
        ([["a", ""]], {"kind": "X"}, "entries[0]: "),
        ({"a": 3}, {}, "entries[0]: "),
        (["a"], {}, "entries[0]: "),
        ([], {"priority": "high"}, "priority: "),
        ([], {"conflicts": "?"}, "conflicts: "),
        ([], {"tokenizer": "?"}, "tokenizer: "),
    ],
)
def test_wrong_arguments(entries: Any, options: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=re.escape(place)):
        Dictionary(entries, **options)


def test_wrong_text() -> None:
    with pytest.raises(InputError, match=r"^text: .*'a b'"):
        Dictionary(["a"], "X").match("a b")
    with pytest.raises(InputError, match=r"^column 'word': "):
        Dictionary(["a"], "X").match(corpus_of([["a"]]), "word")
