"""Vectors as features: their attributes by hand, and emissions against the weights of those attributes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline.errors import InputError
from tagline.features.expansion import expand
from tagline.features.knowledge import Knowledge
from tagline.features.lexicons.embeddings import Embeddings
from tagline.features.templates.template import Template
from tagline.features.vectors import VectorScorer, WordVectors, add_vectors
from tagline.features.weights import Scorer, structure_of
from tagline.readers import Corpus

VECTORS = WordVectors.of({"rome": [1, 2], "Oslo": [-2, 0.5]}, scale=0.5)
TEMPLATE = Template.parse("U0:%x[0,0]\nUa:%v[0,0]\nUb:%v[1,0]x\nB\n")


def rows_of(template: Template, corpus: Corpus, vectors: WordVectors) -> list[list[tuple[str, float]]]:
    expanded = add_vectors(expand(template, corpus), template.vector_lines, vectors, corpus)
    assert expanded.states is not None
    states, names = expanded.features.states, expanded.states.names()
    assert states.values is not None
    pairs = [(names[i], float(value)) for i, value in zip(states.ids, states.values, strict=True)]
    return [pairs[a:b] for a, b in zip(states.offsets, states.offsets[1:], strict=False)]


def test_attributes_by_hand() -> None:
    corpus = Corpus.from_sentences([{"token": ["Rome", "Oslo"]}, {"token": ["runs"]}])
    assert rows_of(TEMPLATE, corpus, VECTORS) == [
        [("U0:Rome", 1.0), ("Ua:0", 0.5), ("Ua:1", 1.0), ("Ub:0x", -1.0), ("Ub:1x", 0.25)],
        [("U0:Oslo", 1.0), ("Ua:0", -1.0), ("Ua:1", 0.25)],
        [("U0:runs", 1.0)],
    ]


def test_known_names_only() -> None:
    corpus = Corpus.from_sentences([{"token": ["Rome", "Oslo"]}])
    built = add_vectors(expand(TEMPLATE, corpus), TEMPLATE.vector_lines, VECTORS, corpus)
    assert built.states is not None
    kept = built.states.take([n for n, name in enumerate(built.states.names()) if name != "Ua:1"])
    found = add_vectors(expand(TEMPLATE, corpus, (kept, None)), TEMPLATE.vector_lines, VECTORS, corpus, known=True)
    assert found.states is kept
    assert [kept[i] for i in found.features.states.ids] == ["U0:Rome", "Ua:0", "Ub:0x", "Ub:1x", "U0:Oslo", "Ua:0"]


@given(
    sentences=st.lists(st.lists(st.sampled_from(["a", "B", "b", "c", "?"]), max_size=5), min_size=1, max_size=5),
    rows=st.lists(st.integers(-3, 3), min_size=1, max_size=3, unique=True),
    block=st.integers(1, 4),
)
def test_scores_of_words_are_the_weights_of_attributes(sentences: list[list[str]], rows: list[int], block: int) -> None:
    rng = np.random.default_rng(len(sentences) + block)
    vectors = WordVectors.of({word: rng.normal(size=3) for word in "abc"})
    template = Template.parse("\n".join([f"U{row}:%v[{row},0]" for row in rows] + ["U:%x[0,0]", "B"]))
    corpus = Corpus.from_sentences([{"token": tokens} for tokens in sentences])
    built = add_vectors(expand(template, corpus), template.vector_lines, vectors, corpus)
    assert built.states is not None
    structure = structure_of(
        built.features, np.zeros(corpus.num_tokens, np.int32), 2, len(built.states), all_states=True
    )
    weights = rng.normal(size=structure.size).astype(np.float32)
    scorer = VectorScorer(template.vector_lines, vectors, built.states, structure, weights)
    without = expand(template, corpus, (built.states, None)).features
    whole = Scorer(structure, weights).chain(built.features).emissions
    emissions = Scorer(structure, weights).chain(without).emissions.copy()
    scores = scorer.of_corpus(corpus)
    for first in range(0, len(corpus), block):
        offsets = corpus.offsets[first : first + block + 1]
        scores.add_to(emissions[offsets[0] : offsets[-1]], int(offsets[0]), offsets - offsets[0])
    np.testing.assert_allclose(emissions, whole, rtol=1e-4, atol=1e-5)


def test_settings(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_text("rome 1 2\noslo 3 4\n")
    read = WordVectors.of(path, 2.0)
    assert (read.words, read.table.tolist()) == (("rome", "oslo"), [[2, 4], [6, 8]])
    assert WordVectors.of(read, 2.0) is read
    assert WordVectors.of(Embeddings(("a",), np.ones((1, 2), np.float32))).size == 2
    assert np.isfinite(WordVectors.of({"a": [1e9]}).table).all()


@pytest.mark.parametrize("vectors", [3, {"a": [1], "b": [1, 2]}, {"a": ["x"]}, {"a\nb": [1]}, {"": [1]}, {"a": []}])
def test_bad_settings(vectors: object) -> None:
    with pytest.raises(InputError, match=r"^vectors: "):
        WordVectors.of(vectors)


def test_lines() -> None:
    with pytest.raises(InputError, match=r"^my\.txt:1: "):
        Template.parse("U0:%v[0,0]/%x[0,0]\n", "my.txt")
    with pytest.raises(InputError, match=r"^<template>:1: "):
        Template.parse("B0:%v[0,0]\n")
    with pytest.raises(InputError, match=r"^<template>:1: "):
        Template.parse('U0:%v[0,0,"x"]\n')
    with pytest.raises(InputError, match=r"^vectors: .*my\.txt"):
        Knowledge().informed(Template.parse("U0:%v[0,0]\n", "my.txt"))
    assert Template.parse("U0:%v[-1,0]\nU1:%x[0,0]").strings([["a"]]) == ([["U1:a"]], [[]])
    informed = Knowledge.of(vectors=VECTORS).informed(Template.parse("U0:%x[0,0]\nB"))
    assert [line.text for line in informed.vector_lines] == ["UV-1:%v[-1,0]", "UV+0:%v[0,0]", "UV+1:%v[1,0]"]


def test_vectors_that_were_scaled_are_scaled_anew() -> None:
    once = WordVectors.of({"rome": [1.0, -2.0]}, scale=0.5)
    assert WordVectors.of(once, 0.5) is once
    assert WordVectors.of(once, 2.0).table.tolist() == [[2.0, -4.0]]
