"""Compiled corpora: the same features, labels and weights as from memory; hostile files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tagline import CRF, Corpus, Sentence
from tagline.datasets import make_entities
from tagline.errors import TaglineError
from tagline.features.weights import structure_of
from tagline.models.crf.compilation import CompiledCorpus, compile_corpus
from tagline.models.crf.extraction import Extraction
from tagline.readers import write_columns
from tagline.readers.columns import iter_columns
from tagline.training.likelihood import Likelihood, Targets

TEMPLATE = "U00:%x[0,0]\nU01:%x[-1,0]/%x[0,0]\nB\nB01:%x[0,0]"


@pytest.fixture(scope="module")
def corpus():
    return make_entities(60, seed=3)


@pytest.fixture
def file(corpus, tmp_path):
    path = tmp_path / "train.txt"
    write_columns(corpus, path)
    return path


def small_blocks(path):
    return iter_columns(path, block_bytes=500)


def test_same_features_as_from_memory(corpus, file, tmp_path):
    seen = []
    compiled = compile_corpus(small_blocks(file), tmp_path / "cache", TEMPLATE, progress=seen.append)
    whole = Extraction(TEMPLATE).build(corpus)
    assert len(seen) > 3
    assert seen[-1] == compiled.num_tokens == corpus.num_tokens
    assert len(compiled) == len(corpus)
    assert compiled.states.names() == whole.states.names()
    assert compiled.edges.names() == whole.edges.names()
    for ours, theirs in (
        (compiled.features.states, whole.features.states),
        (compiled.features.edges, whole.features.edges),
    ):
        np.testing.assert_array_equal(ours.offsets, theirs.offsets)
        np.testing.assert_array_equal(ours.ids, theirs.ids)
    labels = [compiled.labelled.labels[n] for n in compiled.labelled.ids]
    assert labels == [tag for tags in corpus.tags for tag in tags]
    assert compiled.template == TEMPLATE
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_a_function_and_hashing(corpus, file, tmp_path):
    def features(sentence):
        return [{"word": token, "length": float(len(token))} for token in sentence.tokens]

    compiled = compile_corpus(small_blocks(file), tmp_path / "cache", features)
    whole = Extraction(features).build(corpus)
    np.testing.assert_array_equal(compiled.features.states.values, whole.features.states.values)
    hashed = compile_corpus(file, tmp_path / "hashed", TEMPLATE, hash_bits=12)
    assert hashed.states is None
    assert hashed.features.states.ids.max() < 1 << 12


def test_likelihood_from_disk(corpus, file, tmp_path):
    compiled = compile_corpus(small_blocks(file), tmp_path / "cache", TEMPLATE)
    labels = compiled.labelled.ids
    size = len(compiled.labelled.labels)
    structure = structure_of(compiled.features, labels, size, len(compiled.states), num_edges=len(compiled.edges))
    memory = Likelihood(structure, compiled.features, Targets(labels))
    from tagline.training import likelihood as module

    placed = module.place_on_disk
    folder = tmp_path / "scratch"
    folder.mkdir()
    disk = Likelihood(structure, compiled.features, Targets(labels), scratch=folder)
    w = np.random.default_rng(0).normal(size=structure.size)
    assert memory(w)[0] == disk(w)[0]
    np.testing.assert_array_equal(memory(w)[1], disk(w)[1])
    from tagline import _core

    layout = _core.Layout(size, structure.state_offsets, structure.state_labels)
    states = compiled.features.states
    for ours, theirs in zip(
        placed(layout, states, folder, block=7), layout.place(states.offsets, states.ids, None), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_damaged_files_are_refused(file, tmp_path):
    path = tmp_path / "cache"
    compile_corpus(file, path, TEMPLATE)
    whole = path.read_bytes()
    for cut in range(0, len(whole), max(1, len(whole) // 60)):
        path.write_bytes(whole[:cut])
        with pytest.raises(TaglineError):
            CompiledCorpus.open(path)


def test_no_sentences(tmp_path):
    with pytest.raises(TaglineError, match=r"^source: "):
        compile_corpus(iter(()), tmp_path / "cache", TEMPLATE)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(TaglineError, match=r"^features: "):
        compile_corpus(iter(()), tmp_path / "cache", None)


def test_a_crf_trained_from_disk(corpus, file, tmp_path):
    from tagline.models.crf.estimator import CRF

    compiled = compile_corpus(small_blocks(file), tmp_path / "cache", TEMPLATE)
    before = sorted(tmp_path.iterdir())
    disk = CRF(TEMPLATE, max_iterations=12).fit(compiled)
    memory = CRF(TEMPLATE, max_iterations=12).fit(corpus)
    np.testing.assert_array_equal(disk.parameters_.weights, memory.parameters_.weights)
    assert disk.predict(corpus) == memory.predict(corpus)
    assert sorted(tmp_path.iterdir()) == before
    with pytest.raises(TaglineError, match=r"^features: "):
        CRF("U00:%x[0,0]").fit(compiled)
    for settings in ({"clusters": {"a": "1"}}, {"vectors": {"a": [1.0]}}, {"stages": 2}):
        with pytest.raises(TaglineError, match=r"^X: "):
            CRF(TEMPLATE, **settings).fit(compiled)
    with pytest.raises(TaglineError, match=r"^X: "):
        CRF(TEMPLATE, min_frequency=2).fit(compiled)


@pytest.mark.parametrize("first", [0, 1])
def test_blocks_with_and_without_values(first: int, tmp_path: Path) -> None:
    """Values that are all 1 are left out of a block; another block may have others."""

    def features(sentence: Sentence) -> list[dict[str, float]]:
        return [{f"w={token}": 2.5 if token == "b" else 1.0} for token in sentence.tokens]

    blocks = [[["a", "c"], ["c"]], [["b", "a"], ["b"]]]
    corpora = [
        Corpus.from_sentences([{"token": words, "tag": [word.upper() for word in words]} for words in block])
        for block in (blocks[first], blocks[1 - first], blocks[first])
    ]
    compiled = compile_corpus(iter(corpora), tmp_path / "c", features)
    whole = Corpus.from_sentences([sentence for corpus in corpora for sentence in corpus])
    expected = CRF(features, c2=0.1).fit(whole)
    learned = CRF(features, c2=0.1).fit(compiled)
    np.testing.assert_allclose(learned.parameters_.weights, expected.parameters_.weights, rtol=1e-6, atol=1e-8)
