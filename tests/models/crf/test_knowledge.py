"""A CRF with clusters and vectors: through files and pickle, damaged, and from words as from features."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tagline
from tagline import CRF, InputError, StorageError, storage
from tagline.features.lexicons.clusters import Clusters
from tagline.features.vectors import WordVectors
from tagline.models.crf.chains import feature_chains
from tagline.models.crf.file import unpack
from tagline.models.crf.tagger import CRFTagger

X = [["Anna", "lives", "in", "Rome"], ["Ben", "saw", "Oslo"], ["he", "left", "it"], ["Rome", "saw", "Ben"]]
Y = [["PER", "O", "O", "LOC"], ["PER", "O", "LOC"], ["O", "O", "O"], ["LOC", "O", "PER"]]
CLUSTERS = Clusters({"rome": "00000", "oslo": "00001", "bern": "0000", "anna": "10000", "ben": "10001", "zoe": "10001"})
VECTORS = {"rome": [1.0, 0.0], "oslo": [0.5, 0.25], "bern": [0.75, 0.0], "anna": [0, 1], "ben": [0, 1], "zoe": [0, 1]}


def model(**settings: Any) -> CRF:
    return CRF("U00:%x[0,0]\nU01:%x[-1,0]\nB\n", c2=0.1, **settings).fit(X, Y)


@pytest.mark.parametrize("settings", [{"clusters": CLUSTERS}, {"vectors": VECTORS}])
def test_knowledge_tells_of_words_that_training_has_not_seen(settings: dict[str, Any]) -> None:
    sentence = ["Zoe", "saw", "Bern"]
    assert model().predict([["Bern", "saw", "Zoe"]]) == model().predict([sentence])
    assert model(**settings).predict([sentence, sentence[::-1]]) == [["PER", "O", "LOC"], ["LOC", "O", "PER"]]


@pytest.mark.parametrize("settings", [{"clusters": [CLUSTERS, {"rome": 3}]}, {"vectors": WordVectors.of(VECTORS, 0.5)}])
def test_files_and_pickles_keep_it(settings: dict[str, Any], tmp_path: Path) -> None:
    crf, sentences = model(**settings), [*X, ["Zoe", "saw", "Bern"], []]
    crf.save(tmp_path / "one")
    loaded = tagline.load(tmp_path / "one")
    loaded.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    tagger = CRFTagger.from_file(storage.read(tmp_path / "one"))
    for other in (loaded, tagger, pickle.loads(pickle.dumps(crf))):
        assert other.predict(sentences) == crf.predict(sentences)
        for mine, theirs in zip(crf.marginal_arrays(sentences), other.marginal_arrays(sentences), strict=True):
            np.testing.assert_array_equal(mine, theirs)
    assert loaded.fit(X, Y).predict(sentences) == crf.predict(sentences)


def test_emissions_of_words_are_those_of_features() -> None:
    crf, sentences = model(clusters=CLUSTERS, vectors=VECTORS), [*X, ["Zoe", "saw", "Bern"], []]
    assert crf._words is not None
    assert crf._vectors is not None
    quick = np.concatenate([chain.emissions for chain in crf.chains(sentences)])
    plain = np.concatenate([chain.emissions for chain in feature_chains(crf._scorer, crf._look_up(sentences, None))])
    np.testing.assert_allclose(quick, plain, rtol=1e-5, atol=1e-6)


def test_explanations_name_vectors() -> None:
    terms = [term.name for term in model(vectors=VECTORS).explain(["Zoe"]).tokens[0].contributions]
    assert "UV+0:1" in terms


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    model(clusters=CLUSTERS, vectors=VECTORS).save(tmp_path / "model")
    file = storage.read(tmp_path / "model")
    numbers, table = file.tensors["clusters.0.numbers"], file.tensors["vectors.table"]
    for name, array in [
        ("clusters.0.numbers", numbers + 5),
        ("clusters.0.numbers", numbers[1:]),
        ("clusters.0.words", file.tensors["clusters.0.words"] * 0 + 255),
        ("clusters.0.names", np.zeros(0, np.uint8)),
        ("vectors.table", table[1:]),
        ("vectors.table", np.full_like(table, np.inf)),
        ("vectors.words", np.zeros(0, np.uint8)),
    ]:
        with pytest.raises(StorageError):
            unpack(storage.loads(storage.dumps(file.config, {**file.tensors, name: array})))
    for wrong in (3, {}, {"clusters": 99, "vectors": False}, {"clusters": 0, "vectors": 1}, {"clusters": -1}):
        with pytest.raises(StorageError):
            unpack(storage.loads(storage.dumps({**file.config, "knowledge": wrong}, file.tensors)))


def test_what_cannot_be_meant() -> None:
    with pytest.raises(InputError, match=r"^hash_bits: "):
        model(vectors=VECTORS, hash_bits=8)
    with pytest.raises(InputError, match=r"^clusters, vectors, mentions: "):
        CRF(clusters=CLUSTERS).fit([[{"word": "a"}]], [["O"]])
    with pytest.raises(TypeError, match=r"CRF: vector_scale is no setting any more; .*WordVectors\.of"):
        CRF(vector_scale=0.5)  # type: ignore[call-arg]
    assert model(clusters=CLUSTERS, hash_bits=10).predict([["Zoe"]]) == [["PER"]]


def test_a_loaded_model_learns_from_the_vectors_that_it_has(tmp_path: Path) -> None:
    X, y = [["anna", "sings"], ["bob", "runs"]], [["N", "V"], ["N", "V"]]
    vectors = WordVectors.of({"anna": [1.0, 0.5], "sings": [-1.0, 0.25], "bob": [0.5, 0.5]}, 4.0)
    crf = CRF("U00:%x[0,0]\nU80:%v[0,0]\nB\n", vectors=vectors).fit(X, y)
    crf.save(tmp_path / "model")
    again = tagline.load(tmp_path / "model").fit(X, y)
    assert again.objective_ == pytest.approx(crf.objective_, rel=1e-9)
