"""Documents: where they begin, and what their columns say, by hand and against a plain count."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline.errors import InputError
from tagline.features.documents import COLUMNS, document_columns, document_lines, document_numbers, stated_documents
from tagline.features.templates.template import Template
from tagline.readers import Corpus


def corpus_of(*sentences: str) -> Corpus:
    return Corpus.from_sentences([{"token": text.split()} for text in sentences])


def test_where_documents_begin() -> None:
    marked = corpus_of("a b", "-DOCSTART-", "c", "", "-DOCSTART- x", "d")
    assert document_numbers(marked).tolist() == [0, 1, 1, 1, 2, 2]
    assert document_numbers(corpus_of("a", "b")).tolist() == [0, 1]
    assert stated_documents(corpus_of("a", "b")) is None
    assert document_numbers(corpus_of("a", "b", "c"), [2, 0, 1]).tolist() == [0, 0, 2]
    named = Corpus.from_sentences([{"token": ["a", "b"], "page": [name, "?"]} for name in "xxyx"])
    assert document_numbers(named, "page").tolist() == [0, 0, 1, 2]
    for empty in (corpus_of(), corpus_of("", "")):
        assert len(document_numbers(empty)) == len(empty)


@pytest.mark.parametrize("documents", [[1], [3, -1], ["x"], 7.5, {"a": 2}, [1.5, 1.5], [[1], [1]], [[1], [1, 1]]])
def test_bad_documents(documents: object) -> None:
    with pytest.raises(InputError, match=r"^documents: "):
        document_numbers(corpus_of("a", "b"), documents)


def test_columns_by_hand() -> None:
    corpus = corpus_of("Rome won", "ROME and Rome Times", "Rome")
    labels = [["B-LOC", "O"], ["O", "O", "B-ORG", "I-ORG"], ["B-PER"]]
    staged = document_columns(corpus, 1, labels, "IOB2", np.array([0, 0, 1]))
    assert staged.names == ["token", *COLUMNS]
    # Rome is LOC, O and ORG in the first document: elsewhere counts the other two, O after names.
    assert staged.column(COLUMNS[0]).strings == ["ORG", "-", "LOC", "-", "LOC", "-", "-"]
    assert staged.column(COLUMNS[1]).strings == ["LOC1", "-", "LOC1", "-", "LOC1", "ORG2", "PER1"]


@given(
    rows=st.lists(st.lists(st.tuples(st.sampled_from("abAB"), st.sampled_from("XYZ")), max_size=4), max_size=5),
    numbers=st.lists(st.integers(0, 1), min_size=5, max_size=5),
)
def test_labels_without_spans_are_counted(rows: list[list[tuple[str, str]]], numbers: list[int]) -> None:
    corpus = Corpus.from_sentences([{"token": [word for word, _ in row]} for row in rows])
    which = np.sort(numbers)[: len(rows)]
    staged = document_columns(corpus, 1, [[label for _, label in row] for row in rows], None, which)
    mentions = [(d, w.lower(), label) for d, row in zip(which, rows, strict=True) for w, label in row]
    expected = []
    for place, (document, word, _) in enumerate(mentions):
        others = Counter(m[2] for at, m in enumerate(mentions) if at != place and m[:2] == (document, word))
        expected.append(min(others, key=lambda label: (-others[label], label)) if others else "-")
    assert staged.column(COLUMNS[0]).strings == expected


def test_lines_look_at_both_columns() -> None:
    template = document_lines(Template.parse("U0:%x[0,1]\nB"), 2)
    assert template.num_columns == 4
    states, _ = template.strings([["a"], ["b"], ["PER"], ["PER1"]])
    assert {"UE+0:PER", "UI+0:PER1", "UEs:PER/x"} <= set(states[0])
    with pytest.raises(InputError, match=r"^stages: "):
        document_lines(Template.parse("u%x[0,0]", dialect="wapiti"), 1)
