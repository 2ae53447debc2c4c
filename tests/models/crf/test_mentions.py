"""A CRF that looks at other mentions of a word in its document: files, doors, from words as from features."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from tagline import CRF, MEMM, Corpus, Dictionary, InputError, MaxEnt, SemiCRF
from tagline.models.crf.chains import feature_chains
from tagline.models.crf.compilation import compile_corpus

from .documents import TEMPLATE, documents, loaded_everywhere, marked


def with_mentions(kind: type[CRF] = CRF, **settings: Any) -> CRF:
    X, y, sizes = documents(60)
    how = {"features": TEMPLATE, "c2": 0.1, "scheme": "IOB2", "mentions": 2, **settings}
    return kind(**how).fit(X, y, documents=sizes)


@pytest.mark.parametrize("kind", [CRF, MEMM, MaxEnt])
def test_the_document_tells(kind: type[CRF]) -> None:
    X, y, sizes = documents(40, seed=1)
    crf = with_mentions(kind)
    assert crf.score(X, y, documents=sizes) == 1.0
    assert crf.score(X, y) <= 0.95  # sentence by sentence there is no other mention
    assert [row for n, row in enumerate(crf.predict(marked(X))) if n % 3] == y
    named = Corpus.from_sentences(
        [{"token": row, "text": [str(b // 2)] * len(row)} for b, row in enumerate(X)],
    )
    assert crf.predict(named, documents="text") == y


@pytest.mark.parametrize(
    "settings",
    [
        {"clusters": [{"mr": "title"}, {"visit": "verb"}]},
        {"vectors": {"mr": [1.0, 0.0], "visit": [0.0, 1.0]}, "features": f"{TEMPLATE}U80:%v[-1,0:mention1]\n"},
        {"hash_bits": 12},
        {"stages": 2},
        {"stages": 2, "clusters": {"mr": "title"}},
        {"features": f"{TEMPLATE}U5:%x[0,1]\nU6:%x[-1,1:mention1]\n", "dictionary": Dictionary({"Mr": "T"})},
        {"features": f"{TEMPLATE}B7:%x[-1,0:mention1]\n", "mentions": 0},
    ],
)
def test_files_pickles_and_words_keep_it(settings: dict[str, Any], tmp_path: Path) -> None:
    X, y, sizes = documents(20, seed=1)
    crf = with_mentions(**settings)
    assert crf.input_.documents
    assert crf.input_.columns == 1
    assert crf.score(X, y, documents=sizes) == 1.0
    again = clone(loaded_everywhere(crf, tmp_path)).fit(*documents(60)[:2], documents=documents(60)[2])
    assert again.predict(X, documents=sizes) == y
    lines = [sorted(line.text for line in model._extraction.template.lines) for model in (crf, again)]
    assert lines[0] == lines[1]
    quick = np.concatenate([chain.emissions for chain in crf.chains(X, documents=sizes)])
    features = crf._look_up(crf._documented(X, sizes), None)
    plain = np.concatenate([chain.emissions for chain in feature_chains(crf._scorer, features)])
    np.testing.assert_allclose(quick, plain, rtol=1e-5, atol=1e-6)


def test_both_stages_learn_from_documents() -> None:
    X, y, sizes = documents(20, seed=1)
    first = with_mentions(stages=2)._first
    assert first is not None
    assert first.predict(X, documents=sizes) == y
    assert first.predict(X) != y


def test_dev_sets_and_further_training_see_documents() -> None:
    X, y, sizes = documents(60)
    X_dev, y_dev, sizes_dev = documents(10, seed=2)
    for settings in ({}, {"stages": 2}):
        crf = CRF(TEMPLATE, c2=0.1, scheme="IOB2", mentions=1, max_iterations=30, **settings)
        crf.fit(X, y, documents=sizes, X_dev=X_dev, y_dev=y_dev, documents_dev=sizes_dev)
        assert crf.training_log_[-1].dev_score == 1.0
        assert crf.training_.dev["token accuracy" if "token accuracy" in crf.training_.dev else "f1"] == 1.0
    crf = CRF(TEMPLATE, c2=0.1, scheme="IOB2", mentions=1, algorithm="auto:passes=20").partial_fit(
        X, y, documents=sizes
    )
    assert crf.score(X_dev, y_dev, documents=sizes_dev) == 1.0


def test_explanations_name_what_the_document_says() -> None:
    crf = with_mentions()
    text = [["Mr", "Who"], ["then", "Who", "won"]]
    alone, placed = crf.explain(text[1]), crf.explain(text[1], documents=text)
    names = [term.name for term in placed.tokens[1].contributions]
    assert "UM-1:mr" in names
    assert "UM-1:mr" not in [term.name for term in alone.tokens[1].contributions]
    assert [token.label for token in placed.tokens] == crf.predict(text, documents=[2])[1]
    behind = crf.explain(text[1], documents=text[:1])
    assert [token.label for token in behind.tokens] == [token.label for token in placed.tokens]
    assert crf.explain(text[1], documents=text, known=[None, "B-LOC", None]).tokens[1].label == "B-LOC"
    assert crf.explain(text[0], documents=text).tokens[1].token == "Who"
    assert "the token before mention 1 of the word" in str(placed)
    staged = with_mentions(stages=2, mentions=0)
    assert any("UE" in term.name for term in staged.explain(text[1], documents=text).tokens[1].contributions)
    with pytest.raises(InputError, match=r"^documents: "):
        CRF(TEMPLATE).fit([["a"]], [["O"]]).explain(["a"], documents=[["a"]])
    with pytest.raises(InputError, match=r"^X: "):
        crf.explain(text[1], documents=3)


def test_a_text_is_a_document() -> None:
    crf = with_mentions()
    texts = [f"{sign} Who ! then Who won" for sign in ("Mr", "visit")]
    found = [[entity.type for entity in text.entities or ()] for text in crf.tag(texts)]
    assert [types[-1] for types in found] == ["PER", "LOC"]


@pytest.mark.parametrize(
    ("settings", "inputs", "place"),
    [
        ({"mentions": 10}, {}, "mentions: expected .* 9, got 10"),
        ({"mentions": 1, "features": None}, {}, "clusters, vectors, mentions: expected a template beside them"),
        ({"mentions": 1}, {"documents": [3]}, "documents: expected how many sentences each document has, 4 in all"),
        ({}, {"documents": [4]}, "documents: expected None with one stage and no mentions"),
        ({"mentions": 1, "features": "U0:%x[0,3]\nB\n"}, {}, "expected a column below 1, got 3"),
    ],
)
def test_what_cannot_be_meant(settings: dict[str, Any], inputs: dict[str, Any], place: str) -> None:
    X, y, _ = documents(2)
    with pytest.raises(InputError, match=place):
        CRF(**{"features": TEMPLATE, **settings}).fit(X, y, **inputs)


def test_other_kinds_refuse_the_lines(tmp_path: Path) -> None:
    X, y, _ = documents(4)
    lines = f"{TEMPLATE}U9:%x[0,0:mention1]\n"
    with pytest.raises(InputError, match=r"^features: "):
        SemiCRF(lines, scheme="IOB2").fit(X, y)
    corpus = Corpus.from_sentences(list(zip(X, y, strict=True)))
    with pytest.raises(InputError, match=r"^features: "):
        compile_corpus([corpus], tmp_path / "compiled", lines)
    with pytest.raises(InputError, match=r"^teacher: "):
        CRF(lines).fit(X, y, teacher=CRF(TEMPLATE).fit(X, y))
