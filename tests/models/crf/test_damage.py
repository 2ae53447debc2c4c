"""Damaged model files: every truncation and every flipped bit is refused by our own error, or harmless.

The checksum refuses them all; it is switched off here, so that everything behind it has to hold. Only NumPy and the
core are needed: the test also runs on the sanitized core.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tagline import storage
from tagline.chain import marginals, viterbi
from tagline.errors import StorageError, TaglineError
from tagline.features.lexicons.dictionaries import Dictionary
from tagline.features.templates.template import Template
from tagline.features.weights import Scorer, structure_of
from tagline.models.crf.extraction import Extraction
from tagline.models.crf.file import SavedCRF, pack, unpack
from tagline.models.crf.parameters import Parameters
from tagline.models.files import TrainingFacts, load

X = [["Anna", "sees", "Bob"], ["Bob", "in", "Rome"], []]
LABELS = ("B-LOC", "B-PER", "O")
Y = np.array([1, 2, 1, 1, 2, 0], np.int32)
TEMPLATE = Template.parse("U00:%x[0,0]\nU01:%x[0,1]\nB\nB01:%x[0,0]\n")


def small_model(hash_bits: int | None) -> bytes:
    """A file with every kind of weight, a template and a dictionary."""
    places = Dictionary({"Rome": "LOC", "Rome Station": "LOC"})
    built = Extraction(TEMPLATE, hash_bits, places).build(X)
    sizes = (8, 8) if hash_bits else (len(built.states or ()), len(built.edges or ()))
    structure = structure_of(built.features, Y, 3, sizes[0], num_edges=sizes[1], start=True, end=True)
    weights = np.random.default_rng(5).normal(size=structure.size)
    found = Parameters(LABELS, "IOB2", structure, weights, built.states, built.edges)
    return storage.dumps(
        *pack(
            SavedCRF(found, TEMPLATE, hash_bits, places, {"c2": 1.0}, TrainingFacts(2, 3, 0.5, "by hand", ("a note",)))
        )
    )


def survives(data: bytes) -> bool:
    """Whether bytes are a model that answers."""
    try:
        saved = unpack(storage.loads(data, verify=False))
        found = saved.parameters
        extraction = Extraction(saved.way, saved.hash_bits, saved.dictionary)
        scorer = Scorer(found.structure, found.weights, found.rules)
        features = extraction.look_up(X, (found.states, found.edges)).features
        chain = scorer.chain(features)
        labels = viterbi(chain).labels
        assert ((labels >= 0) & (labels < len(found.labels))).all()
        assert np.isfinite(marginals(chain).nodes).all()
        found.name_of("states", found.structure.num_attributes - 1)
    except TaglineError:
        return False
    return True


@pytest.fixture(scope="module", params=[None, 3], ids=["names", "hashed"])
def small(request: pytest.FixtureRequest) -> bytes:
    return small_model(request.param)


def test_every_truncation_is_refused(small: bytes) -> None:
    assert survives(small)
    for size in range(len(small)):
        assert not survives(small[:size]), size


@pytest.mark.parametrize("turn", range(2))
def test_a_flipped_bit_at_every_place_is_refused_or_harmless(small: bytes, turn: int) -> None:
    data = bytearray(small)
    accepted = 0
    for place in range(len(data)):
        bit = 1 << (3 * place + 5 * turn) % 8  # all eight bits come up in every field
        data[place] ^= bit
        accepted += survives(bytes(data))
        data[place] ^= bit
    assert 0 < accepted < len(data)


def test_extreme_bytes_are_refused_or_harmless() -> None:
    data = bytearray(small_model(None))
    for place in range(len(data)):
        before = data[place]
        data[place] = (0x00, 0x7F, 0x80, 0xFF)[place % 4]
        survives(bytes(data))
        data[place] = before


def test_the_checksum_refuses_what_would_be_harmless(small: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model"
    field = small.index(b"checksum")  # a file without one is taken as it is
    for place in (*range(0, field, 7), *range(field + 10, len(small), 7)):
        flipped = bytearray(small)
        flipped[place] ^= 1
        path.write_bytes(flipped)
        with pytest.raises(StorageError):
            load(path)


@pytest.mark.parametrize("number", [3, 2**31, 2**32 - 1])
def test_labels_that_there_are_not_are_refused(number: int) -> None:
    config, arrays = pack(unpack(storage.loads(small_model(None))))
    for name in ("states.labels", "transitions", "edges.pairs"):
        damaged = arrays[name].astype(np.uint32)
        damaged.flat[0] = number
        with pytest.raises(StorageError, match=f"label numbers below 3 in {name}"):
            unpack(storage.loads(storage.dumps(config, {**arrays, name: damaged})))
