"""CRFsuite's file as a CRF: it answers as CRFsuite does, and what CRFsuite cannot hold is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
import pytest

import tagline
from tagline import InputError, StorageError
from tagline.features.lexicons.dictionaries import Dictionary
from tagline.interop.crfsuite.conversion import read_crf, write_crf
from tagline.interop.formats import read_model, write_model
from tests.interop.crfsuite.models import sentences, train


def tagger_of(file: bytes) -> Any:
    """CRFsuite's tagger. It reads these bytes, and they must outlive it: it holds no reference to them."""
    tagger = pycrfsuite.Tagger()
    tagger.open_inmemory(file)
    return tagger


@pytest.mark.parametrize("values", [True, False])
@pytest.mark.parametrize("algorithm", ["lbfgs", "ap"])
def test_a_file_of_crfsuite_answers_as_there(tmp_path: Path, algorithm: str, values: bool) -> None:
    file = train(tmp_path / "m", *sentences(1, values=values), algorithm)
    model, tagger = read_crf(file), tagger_of(file)
    assert write_crf(model) == file
    assert model.labels_ == tagger.labels()
    X, _ = sentences(2, count=100, values=values)
    assert model.predict(X) == [tagger.tag(items) for items in X]
    for items, marginals in zip(X, model.predict_marginals(X), strict=True):
        tagger.set(items)
        theirs = [[tagger.marginal(label, t) for label in model.labels_] for t in range(len(items))]
        ours = [[row[label] for label in model.labels_] for row in marginals]
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6)


def test_ties_are_decided_by_the_order_of_labels(tmp_path: Path) -> None:
    file = train(tmp_path / "m", [[["a"], ["b"], ["a"]]], [["Z", "Y", "X"]])
    model, tagger = read_crf(file), tagger_of(file)
    X = [[["unknown"]], [["a"]], [["unknown"], ["a"], ["unknown"]]]
    assert model.predict(X) == [tagger.tag(items) for items in X]
    assert model.predict(X)[0] == ["Z"]


def test_the_order_of_labels_survives_our_own_file(tmp_path: Path) -> None:
    file = train(tmp_path / "m", *sentences(3))
    read_crf(file).save(tmp_path / "m.tagline")
    assert tagline.load(tmp_path / "m.tagline").labels_ == tagger_of(file).labels()


def test_models_of_ours_are_opened_by_crfsuite() -> None:
    X, y = sentences(4)
    model = tagline.CRF(c1=0.1, c2=0.1).fit(X, y)
    file = write_crf(model)
    tagger = tagger_of(file)
    assert model.predict(X) == [tagger.tag(items) for items in X]


def test_a_template_becomes_the_names_that_it_makes(tmp_path: Path) -> None:
    X, y = [["Anna", "sings"], ["Bob", "sleeps"]], [["N", "V"], ["N", "V"]]
    model = tagline.CRF("U00:%x[0,0]\nU01:%x[-1,0]\nB").fit(X, y)
    write_model(model, tmp_path / "m", "crfsuite")
    file = (tmp_path / "m").read_bytes()
    tagger = tagger_of(file)
    items = [["U00:Bob", "U01:_B-1"], ["U00:sings", "U01:Bob"]]
    assert tagger.tag(items) == read_model(tmp_path / "m").predict([items])[0] == model.predict([["Bob", "sings"]])[0]


SENTENCES: Any = [[["a"], ["b"]], [["b"], ["a"]]], [["B-X", "I-X"], ["O", "B-X"]]
WORDS: Any = [["Anna", "Karenina"], ["she", "Anna"]], [["B-X", "I-X"], ["O", "B-X"]]
NAMES = Dictionary({"Anna": "X"}, priority="under")


@pytest.mark.parametrize(
    ("settings", "data", "place"),
    [
        ({"hash_bits": 8}, SENTENCES, r"^model: "),
        ({"start_end": True}, SENTENCES, r"^model: .*start_end="),
        ({"scheme": "IOB2"}, SENTENCES, r"^model: .*those of IOB2"),
        ({"features": "U00:%x[0,0]\nB01:%x[0,0]"}, WORDS, r"^model: .*features"),
        ({"features": "U00:%x[0,0]", "scheme": "IOB2", "dictionary": NAMES}, WORDS, r"^model: .*those of IOB2"),
    ],
)
def test_what_crfsuite_cannot_hold_is_refused(settings: Any, data: Any, place: str) -> None:
    with pytest.raises(InputError, match=place):
        write_crf(tagline.CRF(**settings).fit(*data))


def test_an_empty_model_has_nothing_to_say(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"^<bytes>: .*sentences"):
        read_crf(train(tmp_path / "m", [], []))


def test_damaged_files_are_refused_or_harmless(tmp_path: Path) -> None:
    file = train(tmp_path / "m", *sentences(5, count=4))
    for size in range(0, len(file), 97):
        with pytest.raises(StorageError):
            read_crf(file[:size])
    draw = np.random.default_rng(0)
    for place in draw.integers(0, len(file), 200):
        damaged = bytearray(file)
        damaged[place] ^= 1 << int(draw.integers(8))
        try:
            read_crf(bytes(damaged)).predict([[["w1"], ["w2"]]])
        except StorageError:
            continue
