"""A corpus: sized, indexable, iterable, cut and joined without losing anything."""

from __future__ import annotations

import numpy as np
import pytest

from tagline.errors import InputError
from tagline.readers.corpus import Column, Corpus, Sentence

CORPUS = Corpus.from_sentences(
    [(["Anna", "sings"], ["B-PER", "O"]), (["Hello"], ["O"]), ([], []), (["in", "Rome"], ["O", "B-LOC"])]
)


def test_sizes_and_items() -> None:
    assert (len(CORPUS), CORPUS.num_tokens, CORPUS.lengths.tolist()) == (4, 5, [2, 1, 0, 2])
    assert CORPUS[0].tokens == ["Anna", "sings"]
    assert CORPUS[-1].tags == ["O", "B-LOC"]
    assert len(CORPUS[2]) == 0
    assert [len(sentence) for sentence in CORPUS] == [2, 1, 0, 2]
    assert CORPUS[1].place == "sentence 1"
    with pytest.raises(IndexError):
        CORPUS[4]


def test_strings_are_held_once() -> None:
    assert CORPUS.columns["tag"].vocabulary == ("B-PER", "O", "B-LOC")
    assert CORPUS.columns["tag"].ids.dtype == np.int32


def test_slices_head_and_split() -> None:
    assert CORPUS[1:].tokens == CORPUS.tokens[1:]
    assert CORPUS[::-1].tokens == CORPUS.tokens[::-1]
    assert CORPUS.head(2).tokens == CORPUS.tokens[:2]
    left, right = CORPUS.split(0.5)
    assert left.tokens + right.tokens == CORPUS.tokens
    one, two = CORPUS.split(0.5, seed=3)
    assert sorted(one.tokens + two.tokens) == sorted(CORPUS.tokens)
    assert CORPUS.split(0.5, seed=3)[0].tokens == one.tokens
    with pytest.raises(InputError, match=r"^fraction: "):
        CORPUS.split(2)


def test_from_other_forms() -> None:
    same = [Sentence({"token": ["a"], "tag": ["O"]}), {"token": ["b"], "tag": ["O"]}]
    assert Corpus.from_sentences(same).tokens == [["a"], ["b"]]
    assert len(Corpus.from_sentences([])) == 0


@pytest.mark.parametrize(
    ("sentences", "place"),
    [
        ([(["a"], ["O", "O"])], r"^sentence 0: .*columns"),
        ([(["a"], ["O"]), {"token": ["b"]}], r"^sentence 1: "),
        (["a b"], r"^sentence 0: .*columns"),
    ],
)
def test_wrong_sentences(sentences: list, place: str) -> None:
    with pytest.raises(InputError, match=place):
        Corpus.from_sentences(sentences)


def test_columns_by_name() -> None:
    upper = Column.of(word.upper() for word in CORPUS.columns["token"].strings)
    assert CORPUS.with_column("upper", upper).sequences("upper")[0] == ["ANNA", "SINGS"]
    with pytest.raises(InputError, match=r"^column 'pos': "):
        CORPUS.column("pos")
    with pytest.raises(InputError, match=r"^columns: "):
        CORPUS.with_column("short", Column.of(["x"]))


def test_describe() -> None:
    facts = CORPUS.describe()
    assert (facts.sentences, facts.tokens, facts.longest, facts.scheme) == (4, 5, 2, "IOB2")
    assert facts.labels == {"O": 3, "B-PER": 1, "B-LOC": 1}
    assert facts.entities == {"PER": 1, "LOC": 1}
    assert "entities   2" in facts.text()
