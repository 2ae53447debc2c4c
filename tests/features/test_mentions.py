"""Other mentions of a word in its document, against the plain definition: every pair of tokens is looked at."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline import Corpus, InputError, Template
from tagline.features.documents import document_sizes
from tagline.features.expansion import expand
from tagline.features.mentions import mention_columns, mention_places, named_like, resolved

WORDS = ("Rome", "ROME", "rome", "Ulm", "won", "1996", "北京", "x")
TEMPLATE = """U0:%x[0,0]
U1:%x[-1,0:mention1]
U1:%x[-1,0:mention2]
U2:%x[2,0:mention1:lower]/%x[0,1:mention2]
U3:%m[1,0:mention1,"^[RU]"]
U4:%t[-2,1:mention3,"B"]/%x[-1,0]
U5:%x[1,0:mention1:prefix2]
U6:%x[0,0:mention1:lower:suffix4]
B7:%x[1,1:mention1]
B
"""

documents = st.lists(
    st.lists(st.lists(st.sampled_from(WORDS), max_size=5), min_size=1, max_size=4), min_size=1, max_size=4
)


def corpus_of(rows: list[list[str]]) -> Corpus:
    kinds = [[f"k{(3 * b + t) % 4}" for t in range(len(row))] for b, row in enumerate(rows)]
    return Corpus.from_sentences([{"token": row, "kind": kind} for row, kind in zip(rows, kinds, strict=True)])


def plain_places(rows: list[list[str]], numbers: list[int], count: int) -> list[list[int]]:
    """The definition: all other tokens of the document with the same word, both like names, the nearest first."""
    tokens = [(number, word) for number, row in zip(numbers, rows, strict=True) for word in row]
    places = []
    for n, (document, word) in enumerate(tokens):
        others = [
            m
            for m, (other_document, other) in enumerate(tokens)
            if m != n
            and other_document == document
            and other.lower() == word.lower()
            and named_like(word)
            and named_like(other)
        ]
        others.sort(key=lambda m: (abs(m - n), m))
        places.append((others + [-1] * count)[:count])
    return places


def plain_attributes(template: Template, corpus: Corpus, places: list[list[int]]) -> list[tuple[list[str], list[str]]]:
    """Write out each line: a macro with a mention is expanded there, as a line of its own."""
    where = [(b, t) for b, sentence in enumerate(corpus) for t in range(len(sentence))]
    tables = [list(sentence.columns.values()) for sentence in corpus]
    written = []
    for n, (b, t) in enumerate(where):
        rows: tuple[list[str], list[str]] = [], []
        for line in template.lines:
            text: str | None = line.literals[0]
            for macro, literal in zip(line.macros, line.literals[1:], strict=True):
                derivation, at = macro.derivation, (b, t)
                if derivation.mention:
                    place = places[n][derivation.mention - 1]
                    derivation = replace(derivation, functions=derivation.functions[1:])
                    at = where[place] if place >= 0 else (-1, 0)
                alone = replace(line, literals=("", ""), macros=(replace(macro, derivation=derivation),))
                value = None if at[0] < 0 else alone.expand(tables[at[0]], at[1])
                text = None if value is None or text is None else text + value + literal
            if text is not None and line.macros and (t or not line.is_edge):
                rows[line.is_edge].append(text)
        written.append(rows)
    return written


@given(documents, st.integers(1, 4))
def test_places_are_those_of_the_definition(texts: list[list[list[str]]], count: int) -> None:
    rows, numbers = [row for text in texts for row in text], [d for d, text in enumerate(texts) for _ in text]
    corpus = corpus_of(rows)
    places = mention_places(corpus.column("token"), corpus.offsets, np.array(numbers), count)
    assert places.tolist() == plain_places(rows, numbers, count)


@given(documents)
def test_attributes_are_those_of_the_definition(texts: list[list[list[str]]]) -> None:
    rows, numbers = [row for text in texts for row in text], [d for d, text in enumerate(texts) for _ in text]
    corpus, template = corpus_of(rows), Template.parse(TEMPLATE)
    found = mention_columns(corpus, template, 2, np.array(numbers))
    expanded = expand(resolved(template, 2), found)
    expected = plain_attributes(template, corpus, plain_places(rows, numbers, 3))
    for part, (attributes, names) in enumerate(
        [(expanded.features.states, expanded.states), (expanded.features.edges, expanded.edges)]
    ):
        assert attributes is not None
        strings = [] if names is None else names.names()
        for n, row in enumerate(expected):
            ids = attributes.ids[attributes.offsets[n] : attributes.offsets[n + 1]]
            assert [strings[number] for number in ids] == row[part]


def test_an_example_by_hand() -> None:
    rows = [["Mr", "Rome"], ["in", "ROME", "then"], ["Rome"], ["Rome", "rome"]]
    corpus = corpus_of(rows)
    places = mention_places(corpus.column("token"), corpus.offsets, np.array([0, 0, 0, 1]), 2)
    assert places.tolist() == [[-1, -1], [3, 5], [-1, -1], [1, 5], [-1, -1], [3, 1], [-1, -1], [-1, -1]]


def test_lines_of_several_mentions_share_weights_without_a_note() -> None:
    assert Template.parse("U1:%x[-1,0:mention1]\nU1:%x[-1,0:mention2]\n").notes == ()
    assert Template.parse("U1:%x[-1,0:mention1]\nU1:%x[1,0:mention2]\n").notes != ()


def test_what_cannot_be_meant() -> None:
    for text, place in (
        ("U1:%x[0,0:lower:mention1]", r"^<template>:1: "),
        ("U1:%x[0,0:mention]", r"^<template>:1: "),
        ("U1:%x[0,0:mention10]", r"^<template>:1: "),
    ):
        with pytest.raises(InputError, match=place):
            Template.parse(text)
    template = Template.parse("U1:%x[0,0:mention1]")
    with pytest.raises(InputError, match=r"^template: "):
        template.strings([["a"]])
    with pytest.raises(InputError, match=r"^template: "):
        expand(template, corpus_of([["a"]]))


def test_sizes_of_documents() -> None:
    assert document_sizes(np.array([], np.int64)).tolist() == []
    assert document_sizes(np.array([5, 5, 6, 9])).tolist() == [2, 1, 1]
