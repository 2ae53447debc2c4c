"""Dictionaries that are learned: entities of the other parts alone are matched; a CRF takes dictionary and corpus."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tagline
from tagline import CRF, Corpus, InputError
from tagline.features.lexicons.dictionaries import Dictionary
from tagline.features.lexicons.gazetteers import COLUMN, learn_dictionary


def entities(count: int, seed: int = 0) -> Corpus:
    rng = np.random.default_rng(seed)
    names = [f"n{k}" for k in range(30)]
    sentences = []
    for _ in range(count):
        words = [str(word) for word in rng.choice([*names, "a", "b"], 4)]
        sentences.append((words, ["B-X" if word.startswith("n") else "O" for word in words]))
    return Corpus.from_sentences(sentences)


def test_each_part_sees_the_entities_of_the_others() -> None:
    corpus = entities(20)
    dictionary, learned = learn_dictionary(corpus, "IOB2", parts=4)
    assert learned.names == ["token", COLUMN, "tag"]
    for b, (tokens, column) in enumerate(zip(corpus.tokens, learned.sequences(COLUMN), strict=True)):
        others = {w for k, row in enumerate(corpus.tokens) if k % 4 != b % 4 for w in row if w.startswith("n")}
        assert column == ["S-X" if word in others else "O" for word in tokens]
    assert set(dictionary.entries()) == {(w,) for row in corpus.tokens for w in row if w.startswith("n")}


def test_the_most_frequent_type_counts() -> None:
    rows = [
        (["Paris", "Hilton"], ["B-PER", "I-PER"]),
        (["paris"], ["B-LOC"]),
        (["Paris"], ["B-LOC"]),
        (["Paris"], ["B-A"]),
    ]
    corpus = Corpus.from_sentences(rows)
    assert learn_dictionary(corpus, "IOB2", fold_case=True)[0].entries() == {
        ("paris",): "LOC",
        ("paris", "hilton"): "PER",
    }
    assert learn_dictionary(corpus, "IOB2", fold_case=True, min_count=2)[0].entries() == {("paris",): "LOC"}


def test_a_crf_takes_both(tmp_path: Path) -> None:
    dictionary, learned = learn_dictionary(entities(60), "IOB2")
    crf = CRF("U00:%x[0,1]\nB\n", c2=0.1, scheme="IOB2", dictionary=dictionary).fit(learned)
    sentence = [["n1", "a", "n2", "n99"]]
    assert crf.predict(sentence) == [["B-X", "O", "B-X", "O"]]
    crf.save(tmp_path / "model")
    assert tagline.load(tmp_path / "model").predict(sentence) == crf.predict(sentence)


def test_lists_that_peek_are_trusted_too_much() -> None:
    # Names are new in every sentence: a list of the sentences' own names knows them all, and of others none.
    train = Corpus.from_sentences([([f"n{k}", "x"], ["B-X", "O"]) for k in range(50)])
    dictionary, learned = learn_dictionary(train, "IOB2")
    template = "U00:%x[0,1]\nU01:%x[0,0:prefix1]\nB\n"
    peeking = CRF(template, c2=0.01, scheme="IOB2", dictionary=Dictionary(dictionary.entries())).fit(train)
    honest = CRF(template, c2=0.01, scheme="IOB2", dictionary=dictionary).fit(learned)
    new = [["n77", "x"]]
    mine, theirs = (crf.predict_marginals(new)[0][0]["B-X"] for crf in (honest, peeking))
    assert mine > 0.99 > theirs


def test_errors() -> None:
    with pytest.raises(InputError, match=r"^corpus: "):
        learn_dictionary(Corpus.from_sentences([(["a"], ["O"])]), "IOB2")
    with pytest.raises(InputError, match=r"^parts: "):
        learn_dictionary(entities(3), "IOB2", parts=1)


def test_sentences_without_tags_are_no_corpus() -> None:
    with pytest.raises(InputError, match=r"^corpus: "):
        learn_dictionary([["a"]], "IOB2")  # type: ignore[arg-type]
