"""JSON lines that the compiled core writes are, byte for byte, what json.dumps makes of the same answers."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline.cli import render
from tagline.cli.render import LabelledBlock, json_lines
from tagline.models.answers import AnswerArrays
from tagline.models.entities import FoundSpans
from tagline.ragged import offsets_of
from tagline.readers.raw_text import corpus_of_texts
from tagline.readers.streams import Block

NAMES = ("B-PER", 'I-"é', "O\n")
TYPES = ("PER", "", "地\\")
texts = st.lists(st.text(max_size=30), max_size=4)


@st.composite
def answered(draw: Any) -> tuple[Block, LabelledBlock]:
    """Texts with labels, probabilities and spans."""
    corpus = corpus_of_texts(draw(texts), "characters")
    N = corpus.num_tokens
    labels = np.array(draw(st.lists(st.integers(0, 2), min_size=N, max_size=N)), np.int64)
    chance = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, 1e-4, 1e-5, 5e-324, 0.1 + 0.2]))
    chances = draw(st.none() | st.lists(chance, min_size=N, max_size=N))
    found = None
    if draw(st.booleans()):
        rows = []
        for b, length in enumerate(corpus.lengths.tolist()):
            edges = sorted(draw(st.sets(st.integers(0, length), max_size=4))) if length else []
            rows += [(b, *edge, draw(st.integers(0, 2))) for edge in pairwise(edges)]
        columns = np.array(rows, np.int64).reshape(-1, 4).T.copy()
        p = np.array(draw(st.lists(chance, min_size=len(rows), max_size=len(rows))), np.float64)
        found = FoundSpans(*columns, TYPES, p)  # type: ignore[misc]
    arrays = AnswerArrays(NAMES, corpus.offsets, labels, None if chances is None else np.array(chances, float), found)
    return Block(corpus), LabelledBlock(arrays)


@given(answered())
def test_the_core_writes_what_json_does(case: tuple[Block, LabelledBlock]) -> None:
    block, labelled = case
    by_core = render._json_of_arrays(block, labelled)
    assert by_core is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(render, "_json_of_arrays", lambda *_: None)
        assert json_lines(block, labelled) == by_core
    assert [json.loads(line)["text"] for line in by_core.split("\n")[:-1]] == block.corpus.texts


def test_lone_surrogates_are_left_to_python() -> None:
    corpus = corpus_of_texts(["a \ud800"])
    labelled = LabelledBlock(AnswerArrays(("O",), offsets_of([2]), np.zeros(2, np.int64)))
    assert render._json_of_arrays(Block(corpus), labelled) is None
    expected = '{"text": "a \ud800", "tokens": ["a", "\ud800"], "tags": ["O", "O"]}\n'
    assert json_lines(Block(corpus), labelled) == expected


def test_arrays_that_do_not_fit_are_refused() -> None:
    corpus = corpus_of_texts(["a b"])
    for labels in ([0, 3], [0], [-1, 0]):
        with pytest.raises(ValueError, match=r"^labels: "):
            json_lines(Block(corpus), LabelledBlock(AnswerArrays(NAMES, corpus.offsets, np.array(labels))))
    for start, end in ((0, 3), (1, 1), (-1, 1)):
        row = [np.array([value], np.int64) for value in (0, start, end, 0)]
        spans = FoundSpans(*row, TYPES, np.ones(1))
        with pytest.raises(ValueError, match=r"^spans: "):
            json_lines(Block(corpus), LabelledBlock(AnswerArrays(NAMES, corpus.offsets, np.zeros(2, int), None, spans)))
