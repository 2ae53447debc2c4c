"""The ready-made sets: read without a complaint, found by name, and each says what its task needs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tagline.errors import InputError
from tagline.features.expansion import expand
from tagline.features.templates import sets as module
from tagline.features.templates.sets import load_set, sets
from tagline.readers.corpus import Corpus

COLUMNS = {"chinese_ner": 1, "chunking": 2, "english_ner": 1, "pos": 1, "segmentation": 1}


def test_the_names() -> None:
    assert sets() == tuple(COLUMNS)
    with pytest.raises(InputError, match=r"^set: .*chinese_ner"):
        load_set("ner")
    with pytest.raises(InputError, match=r"^set: .*'\.\./chunking'"):
        load_set("../chunking")


@pytest.mark.parametrize(("name", "columns"), COLUMNS.items())
def test_a_set_is_a_sound_template(name: str, columns: int) -> None:
    template = load_set(name)
    assert template.num_columns == columns
    assert template.notes == ()
    assert template.label_bigrams
    assert not template.has_edges
    assert template.text == (Path(module.__file__).parent / "sets" / f"{name}.txt").read_text(encoding="utf-8")
    assert template.text.startswith("# ")
    assert template.text.endswith("B\n")
    ids = [re.split("[:%]", line.text)[0] for line in template.states]
    assert len(set(ids)) == len(ids)  # no two lines share weights
    assert ids == sorted(ids)


@pytest.mark.parametrize(("name", "columns"), COLUMNS.items())
def test_a_set_expands_as_defined(name: str, columns: int) -> None:
    """On words of every kind, and on a sentence of one token."""
    sentences = [
        ["The", "U.N.", "paid", "$", "3.5bn", "to", "McDonald's", "in", "1996-08", "."],
        list("三Ａ北京、2"),
        ["a"],
    ]
    names = ("token", "pos")[:columns]
    corpus = Corpus.from_sentences([dict.fromkeys(names, words) for words in sentences])
    template, expanded = load_set(name), expand(load_set(name), corpus)
    assert expanded.states is not None
    rows = expanded.features.states
    written = [
        [expanded.states[number] for number in rows.ids[first:last]]
        for first, last in zip(rows.offsets[:-1], rows.offsets[1:], strict=True)
    ]
    assert written == [row for words in sentences for row in template.strings([words] * columns)[0]]


def test_what_the_sets_see() -> None:
    """One attribute of each kind, written out by hand."""
    (states, _) = load_set("english_ner").strings([["in", "New", "York", "1996"]])
    assert {"U02:York", "U11:york", "U26:ork", "U31:Xx", "U34:Xx/Xx", "U05:New/York"} <= set(states[2])
    assert "U16:0000" in states[3]
    (states, _) = load_set("pos").strings([["Walking", "home"]])
    assert {"U01:walking", "U12:ing", "U14:lking", "U22:wal", "U02:_B-1", "U40:Xx"} <= set(states[0])
    (states, _) = load_set("chunking").strings([["the", "cat"], ["DT", "NN"]])
    assert {"U16:DT/NN", "U02:cat", "U32:the/NN", "U42:cat"} <= set(states[1])
    (states, _) = load_set("chinese_ner").strings([list("在北京")])
    assert {"U11:在/北", "U12:北/京", "U21:在/北/京", "U00:_B-1"} <= set(states[1])
    (states, _) = load_set("segmentation").strings([list("第１名")])
    assert {"U02:0", "U11:第/0", "U12:0/名", "U20:第/0/名"} <= set(states[1])
