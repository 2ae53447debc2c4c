"""Words as numbers, against a plain loop over tokens."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline.errors import InputError
from tagline.features.spellings import CASES, KNOWN, NUM_CASES, UNKNOWN, FormTable
from tagline.features.vocabulary import Vocabulary
from tagline.readers.corpus import Column, Corpus

WORDS = st.text(st.sampled_from("aAbBzß09٣.,-北 é\n"), max_size=7)


def slow_name(word: str, known: set[str], lowercase: bool) -> str | None:
    """The known name of a word, by trying one after the other."""
    zeros = "".join("0" if letter.isdecimal() else letter for letter in word)
    ways = [word, word.lower(), zeros, "".join("0" if c.isdecimal() else c for c in word.lower())]
    for way in ways if lowercase else [word, zeros]:
        if way in known:
            return way
    return None


def slow_case(word: str) -> str:
    cased = [letter for letter in word if letter.isupper() or letter.islower()]
    if any(letter.isdecimal() for letter in word):
        return "letters and digits" if any(letter.isalpha() for letter in word) else "number"
    upper = [letter for letter in cased if letter.isupper()]
    if not cased:
        return "other"
    if not upper:
        return "lower"
    if len(upper) == 1 and cased[0].isupper():
        return "title"
    return "upper" if len(upper) == len(cased) else "mixed"


def test_names_of_training_words() -> None:
    column = Column.of(["Rome", "ROME", "1996", "F-16", "x", "the", "The"])
    assert FormTable.learn(column).words.names() == ["rome", "0000", "f-00", "x", "the"]
    assert FormTable.learn(column, lowercase=False).words.names() == ["Rome", "ROME", "0000", "F-00", "x", "the", "The"]
    assert FormTable.learn(column, min_frequency=2).words.names() == ["rome", "the"]


def test_names_of_extra_words_come_first_in_the_look_up() -> None:
    column = Column.of(["Rome", "rome", "1996", "1997", "odd"])
    table = FormTable.learn(column, min_frequency=2, extra=["more", "Rome", "1996", "0000", "odd", "more"])
    # Rome and 1996 by their own names; rome is not in the list and rare; odd is rare, but in the list.
    assert table.words.names() == ["more", "Rome", "1996", "0000", "odd"]
    assert table.forms(["1996", "2020", "Rome", "rome", "ROME"]).words.tolist() == [4, 5, 3, 1, 1]


def test_the_order_in_which_words_are_looked_up() -> None:
    names = ["A1", "a1", "A0", "a0"]
    for first, name in enumerate(names):
        table = FormTable(Vocabulary.of([*names[:first:-1], name]), Vocabulary.of([]))
        assert table.words[int(table.forms(["A1"]).words[0]) - KNOWN] == name


def test_words_of_the_corpus_are_numbered_first() -> None:
    table = FormTable.learn(Column.of(["b", "Q", "a"]), extra=["a", "z", "b"])
    assert table.words.names() == ["b", "q", "a", "z"]


def test_a_part_of_a_corpus_teaches_only_what_is_in_it() -> None:
    corpus = Corpus.from_sentences([(["Anna", "xyz"], ["O", "O"]), (["Anna"], ["O"])])
    table = FormTable.learn(corpus.take([1]).columns["token"])
    assert table.words.names() == ["anna"]
    assert "".join(table.characters.names()) == "Ana"


@given(st.lists(WORDS), st.lists(WORDS, unique=True), st.lists(WORDS), st.booleans(), st.integers(1, 3))
def test_words_by_a_slow_look_up(
    training: list[str], extra: list[str], seen: list[str], lowercase: bool, least: int
) -> None:
    table = FormTable.learn(Column.of(training), extra=extra, lowercase=lowercase, min_frequency=least)
    names = table.words.names()
    assert set(extra) <= set(names)
    numbers = {name: number for number, name in enumerate(names, KNOWN)}
    for word, number in zip(seen, table.forms(seen).words.tolist(), strict=True):
        name = slow_name(word, set(names), lowercase)
        assert number == (UNKNOWN if name is None else numbers[name])
    if least == 1:
        assert (table.forms(training).words >= KNOWN).all()


@given(st.lists(WORDS))
def test_cases_by_a_loop(words: list[str]) -> None:
    found = FormTable.learn(Column.of([])).forms(words).cases
    assert [CASES[number - 1] for number in found] == [slow_case(word) for word in words]
    assert len(CASES) + 1 == NUM_CASES


def test_cases_of_known_spellings() -> None:
    words = ["rome", "Rome", "ROME", "McRome", "1,996.5", "F-16", "3rd", "...", "北京", "2008年", ""]
    found = FormTable.learn(Column.of([])).forms(words).cases
    assert [CASES[number - 1] for number in found] == [
        *("lower", "title", "upper", "mixed", "number", "letters and digits", "letters and digits"),
        *("other", "other", "letters and digits", "other"),
    ]


@given(st.lists(WORDS), st.lists(WORDS), st.integers(1, 6))
def test_characters_by_a_loop(training: list[str], seen: list[str], longest: int) -> None:
    table = FormTable.learn(Column.of(training), longest=longest)
    found = table.forms(seen).characters
    letters = table.characters.names()
    assert found.dtype == np.int32
    assert found.shape[1] >= 1
    for word, row in zip(seen, found.tolist(), strict=True):
        read = word
        if len(word) > longest:
            half = longest // 2
            read = word[: longest - half] + (word[-half:] if half else "")
        wanted = [letters.index(letter) + KNOWN if letter in letters else UNKNOWN for letter in read]
        assert row == wanted + [0] * (len(row) - len(wanted))


def slow_batch(table: FormTable, vocabulary: list[str], sentences: list[list[int]]) -> list[list[tuple[Any, ...]]]:
    """What each token is, one at a time."""
    alone = [table.forms([word]) for word in vocabulary]
    return [
        [(int(alone[v].words[0]), int(alone[v].cases[0]), _trimmed(alone[v].characters[0])) for v in sentence]
        for sentence in sentences
    ]


def _trimmed(row: Any) -> tuple[int, ...]:
    return tuple(int(number) for number in row if number)


@given(st.lists(WORDS, min_size=1, max_size=6, unique=True), st.data())
def test_batches_by_a_loop(vocabulary: list[str], data: st.DataObject) -> None:
    ids = st.lists(st.lists(st.integers(0, len(vocabulary) - 1), max_size=5), max_size=5)
    sentences = data.draw(ids)
    table = FormTable.learn(Column.of(vocabulary[::2]), longest=4)
    batch = table.forms(vocabulary).batch([np.array(sentence, np.int32) for sentence in sentences])
    B, T = len(sentences), max(map(len, sentences), default=0)
    assert batch.forms.shape == (B, T)
    assert batch.lengths.tolist() == [len(sentence) for sentence in sentences]
    assert (batch.words[0], batch.cases[0], _trimmed(batch.characters[0])) == (0, 0, ())
    used = {v for sentence in sentences for v in sentence}
    assert len(batch.words) == len(batch.cases) == len(batch.characters) == len(used) + 1
    for b, sentence in enumerate(slow_batch(table, vocabulary, sentences)):
        assert (batch.forms[b, len(sentence) :] == 0).all()
        rows = batch.forms[b, : len(sentence)]
        assert (rows > 0).all()
        found = [(int(batch.words[u]), int(batch.cases[u]), _trimmed(batch.characters[u])) for u in rows]
        assert found == sentence
    longest = max((len(word[:4]) for v, word in enumerate(vocabulary) if v in used), default=0)
    assert batch.characters.shape[1] == max(1, longest)


@pytest.mark.parametrize("sentences", [[], [[]], [[], []]])
def test_batches_without_tokens(sentences: list[list[int]]) -> None:
    forms = FormTable.learn(Column.of(["a"])).forms(["a"])
    batch = forms.batch([np.array(sentence, np.int32) for sentence in sentences])
    assert batch.forms.shape == (len(sentences), 0)
    assert batch.words.tolist() == [0]
    assert batch.characters.shape == (1, 1)
    assert batch.forms.dtype == batch.words.dtype == batch.cases.dtype == batch.lengths.dtype == np.int64


def test_no_spellings_at_all() -> None:
    table = FormTable.learn(Column.of([]))
    assert (table.num_words, table.num_characters) == (KNOWN, KNOWN)
    assert table.forms([]).characters.shape == (0, 1)
    assert table.forms([]).batch([np.zeros(0, np.int32)]).forms.shape == (1, 0)


def test_lone_surrogates() -> None:
    """They come from broken text in Python; unknown where a model meets them, an error where it would learn them."""
    forms = FormTable.learn(Column.of(["ab"])).forms(["a\ud800b", "ab"])
    assert forms.words.tolist() == [UNKNOWN, KNOWN]
    assert forms.characters.tolist() == [[2, 1, 3], [2, 3, 0]]
    with pytest.raises(InputError, match=r"^names: "):
        FormTable.learn(Column.of(["a\ud800b"]))


def test_copies() -> None:
    table = FormTable.learn(Column.of(["Rome", "x1"]), longest=7)
    twin = pickle.loads(pickle.dumps(table))
    assert (twin.words, twin.characters, twin.lowercase, twin.longest) == (table.words, table.characters, True, 7)
    again = FormTable(Vocabulary.from_arrays(table.words.arrays()), Vocabulary.from_arrays(table.characters.arrays()))
    assert again.forms(["rome"]).words.tolist() == [KNOWN]


@pytest.mark.parametrize("setting", ["min_frequency", "longest"])
@pytest.mark.parametrize("value", [0, 1.5, "x"])
def test_wrong_settings(setting: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"^{setting}: "):
        FormTable.learn(Column.of(["a"]), **{setting: value})
