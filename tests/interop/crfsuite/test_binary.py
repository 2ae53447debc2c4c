"""CRFsuite's file: what python-crfsuite writes is read, written again to the byte, and opened by it."""

from __future__ import annotations

import random
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pycrfsuite
import pytest

from tagline.errors import InputError, StorageError
from tagline.interop.crfsuite.binary import CRFsuiteModel, read_model, write_model
from tests.interop.crfsuite.models import sentences, train


@pytest.fixture(scope="module")
def trained(tmp_path_factory: Any) -> bytes:
    """A file of python-crfsuite."""
    X, y = sentences(1)
    return train(tmp_path_factory.mktemp("crfsuite") / "m.crfsuite", X, y)


def test_a_file_is_written_again_to_the_byte(trained: bytes) -> None:
    assert write_model(read_model(trained)) == trained


@pytest.mark.parametrize("params", [{"c1": 1.0}, {"feature.possible_transitions": 1}, {"c1": 1e6}])
def test_sparse_dense_and_empty_models_too(tmp_path: Path, params: dict[str, Any]) -> None:
    X, y = sentences(2)
    file = train(tmp_path / "m", X, y, **params)
    assert write_model(read_model(file)) == file
    assert (len(read_model(file).attributes) == 0) == (params == {"c1": 1e6})


def test_names_and_weights_are_those_that_crfsuite_dumps(tmp_path: Path) -> None:
    X, y = [[{"a:b": 1.0, "c": 2.0}, {"c": 1.0}]], [["Y", "X"]]
    model = read_model(train(tmp_path / "m", X, y))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "m"))
    info = tagger.info()
    assert list(model.labels) == tagger.labels() == ["Y", "X"]
    assert set(model.attributes) == set(info.attributes)
    rows = zip(model.state_attributes, model.state_labels, model.state_weights, strict=True)
    ours = {(model.attributes[a], model.labels[b]): w for a, b, w in rows}
    assert ours == pytest.approx(info.state_features, abs=1e-6)
    moves = zip(model.transitions, model.transition_weights, strict=True)
    assert {(model.labels[a], model.labels[b]): w for (a, b), w in moves} == pytest.approx(info.transitions, abs=1e-6)


def test_crfsuite_opens_what_we_write(tmp_path: Path) -> None:
    model = CRFsuiteModel(
        ("B", "A"),
        ("long " * 20, "你", "a\nb", ""),
        np.array([3, 0, 1, 2]),
        np.array([0, 1, 0, 1]),
        np.array([4.0, 1.5, -2.0, 3.0]),
        np.array([[1, 0], [0, 1]]),
        np.array([0.5, -0.25]),
    )
    (tmp_path / "m").write_bytes(write_model(model))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "m"))
    assert tagger.labels() == ["B", "A"]
    assert tagger.tag([["你"], ["a\nb"], [""], ["long " * 20]]) == ["A", "A", "B", "A"]
    tagger.dump(str(tmp_path / "dump"))
    assert "(1) B --> A: -0.250000" in (tmp_path / "dump").read_text()


def test_features_are_written_in_crfsuites_order(trained: bytes) -> None:
    model = read_model(trained)
    order = np.random.default_rng(0).permutation(len(model.state_weights))
    shuffled = replace(
        model,
        state_attributes=model.state_attributes[order],
        state_labels=model.state_labels[order],
        state_weights=model.state_weights[order],
    )
    assert write_model(shuffled) == trained


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"attributes": ("a\0b", "c")}, r"^attributes: .*'a\\x00b'"),
        ({"attributes": ("a", "a")}, r"^attributes: "),
        ({"labels": ("\ud800",)}, r"^labels: "),
        ({"state_labels": np.array([1])}, r"^model: "),
        ({"state_attributes": np.array([2])}, r"^model: "),
        ({"state_weights": np.array([np.inf])}, r"^model: "),
        ({"state_weights": np.array([1.0, 2.0])}, r"^model: "),
    ],
)
def test_what_crfsuite_cannot_hold_is_refused(change: dict[str, Any], place: str) -> None:
    none = np.empty((0, 2), np.int64)
    model = CRFsuiteModel(("X",), ("a", "b"), np.array([0]), np.array([0]), np.ones(1), none, np.empty(0))
    write_model(model)
    with pytest.raises(InputError, match=place):
        write_model(replace(model, **change))


def test_every_truncation_is_an_error(trained: bytes) -> None:
    for size in [*range(0, 200), *range(200, len(trained), 97), len(trained) - 1]:
        with pytest.raises(StorageError, match=r"^<bytes>: "):
            read_model(trained[:size])
        if size > 8:  # the header may say so, too
            with pytest.raises(StorageError):
                read_model(trained[:4] + struct.pack("<I", size) + trained[8:size])


def test_flipped_bytes_give_a_model_or_an_error(trained: bytes) -> None:
    draw = random.Random(0)
    outcomes = set()
    for _ in range(1500):
        damaged = bytearray(trained)
        for _ in range(draw.randint(1, 4)):
            place = draw.randrange(48) if draw.random() < 0.3 else draw.randrange(len(damaged))
            damaged[place] = draw.choice([0, 1, 127, 128, 255, draw.randrange(256)])
        outcomes.add(_outcome(bytes(damaged)))
    assert outcomes == {"read", "refused"}


def _outcome(file: bytes) -> str:
    try:
        write_model(read_model(file))
    except StorageError as error:
        return "refused" if "expected" in str(error) and ", got " in str(error) else str(error)
    return "read"


def test_huge_counts_ask_for_no_memory(trained: bytes) -> None:
    for place in range(16, 48, 4):
        if place == 16:  # the number of features: CRFsuite writes 0 and reads it nowhere
            continue
        for number in (2**31 - 1, 2**32 - 1, 2**20, len(trained) - 1):
            with pytest.raises(StorageError):
                read_model(trained[:place] + struct.pack("<I", number) + trained[place + 4 :])


def test_names_that_overlap_are_refused(trained: bytes) -> None:
    """Each record may claim the whole table: together they may not."""
    place = struct.unpack_from("<I", trained, 36)[0]  # attributes
    size, _, _, length, offset = struct.unpack_from("<5I", trained, place + 4)
    damaged = bytearray(trained)
    for record in struct.unpack_from(f"<{length}I", trained, place + offset):
        struct.pack_into("<I", damaged, place + record + 4, size - record - 8)
    with pytest.raises(StorageError, match=r"^<bytes>: attributes: "):
        read_model(damaged)
