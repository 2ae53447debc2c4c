"""HMMs through files, pickle, copy and joblib: to the last bit; what is damaged is refused by name, or harmless."""

from __future__ import annotations

import copy
import io
import json
import os
import pickle
import struct
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from safetensors.numpy import load_file

import tagline
from tagline import HMM, InputError, StorageError, TaglineError, storage
from tagline.models.files import settings_of

from ..corpora import tagged
from .cases import FAMILIES, LENGTHS, observations, sequences, settings


def same_answers(one: HMM, other: Any, X: Any) -> None:
    assert one.labels_ == other.labels_
    assert one.predict(X) == other.predict(X)
    assert one.log_likelihood(X).tolist() == other.log_likelihood(X).tolist()


@pytest.fixture(scope="module")
def words() -> tuple[HMM, list[list[str]]]:
    X, y = tagged()
    return HMM(k=0.2, smoothing="witten-bell").fit(X, y), [*X, ["zebra", "the"], []]


@pytest.mark.parametrize("case", FAMILIES)
def test_a_file_keeps_every_family(case: str, tmp_path: Path) -> None:
    X = sequences(observations(case))
    hmm = HMM(3, tied=[0, 1, 1], topology="cyclic", max_iterations=3, **settings(case)).fit(X)
    path = tmp_path / "模型 β.tagline"
    hmm.save(path)
    loaded = tagline.load(path)
    assert type(loaded) is HMM
    same_answers(hmm, loaded, X)
    assert loaded.training_ == hmm.training_
    assert loaded.get_params() == {**hmm.get_params(), "tied": [0, 1, 1]}
    assert hmm.size_ == path.stat().st_size
    assert os.listdir(tmp_path) == [path.name]
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    for name, array in hmm.emission_.arrays().items():
        assert np.array_equal(getattr(loaded.emission_, name), array)
    loaded.set_params(warm_start=True, max_iterations=2).fit(X)  # goes on


def test_words_and_labels(words: tuple[HMM, Any], tmp_path: Path) -> None:
    hmm, X = words
    hmm.save(tmp_path / "model")
    loaded = tagline.load(tmp_path / "model")
    same_answers(hmm, loaded, X)
    assert loaded.smoothing == "witten-bell"
    tensors = load_file(tmp_path / "model")
    assert tensors["start"].shape == (4,)
    assert tensors["emission.probabilities"].dtype == np.float64
    with pytest.raises(InputError, match=r"^features: "):
        tagline.load(tmp_path / "model", features=len)


@pytest.mark.parametrize(
    "make",
    [
        lambda hmm: pickle.loads(pickle.dumps(hmm)),
        lambda hmm: pickle.loads(pickle.dumps(hmm, 2)),
        copy.copy,
        copy.deepcopy,
    ],
    ids=["pickle", "protocol 2", "copy", "deepcopy"],
)
def test_pickle_and_copy(words: tuple[HMM, Any], make: Any) -> None:
    hmm, X = words
    same_answers(hmm, make(hmm), X)
    assert make(hmm).get_params() == hmm.get_params()
    em = HMM(2, max_iterations=4).fit(X[:5])
    assert [done.line() for done in make(em).training_log_] == [done.line() for done in em.training_log_]
    assert make(HMM(3, k=2.0)).get_params() == HMM(3, k=2.0).get_params()


def test_a_pickle_holds_the_bytes_of_the_file(words: tuple[HMM, Any], tmp_path: Path) -> None:
    words[0].save(tmp_path / "model")
    assert words[0].__getstate__()["_file"] == (tmp_path / "model").read_bytes()


def test_joblib(words: tuple[HMM, Any]) -> None:
    stream = io.BytesIO()
    joblib.dump(words[0], stream)
    stream.seek(0)
    same_answers(words[0], joblib.load(stream), words[1])


def test_arrays_among_the_settings(tmp_path: Path) -> None:
    X = sequences(observations("gaussian diag"))
    can = np.array([[True, True], [False, True]])
    hmm = HMM(2, emission="gaussian", topology=can, transition_prior=np.full((2, 2), 2.0), max_iterations=3).fit(X)
    hmm.save(tmp_path / "model")
    loaded = tagline.load(tmp_path / "model")
    assert loaded.topology == can.tolist()
    assert (loaded.fit(X).transitions_ == hmm.fit(X).transitions_).all()


def test_given_emissions_are_kept_as_parameters(tmp_path: Path) -> None:
    X = sequences(observations("gaussian diag"))
    start = HMM(2, emission="gaussian", max_iterations=1).fit(X).emission_
    hmm = HMM(emission=start, max_iterations=3).fit(X)
    hmm.save(tmp_path / "model")
    assert tagline.load(tmp_path / "model").emission == "gaussian"
    same_answers(hmm, tagline.load(tmp_path / "model"), X)


def test_symbols_that_a_file_cannot_hold(tmp_path: Path) -> None:
    hmm = HMM(1).fit([[("a", 1), ("b", 2)]])
    assert hmm.predict([[("b", 2)]]) == [[0]]
    with pytest.raises(InputError, match=r"^symbols: .*'a'"):
        hmm.save(tmp_path / "model")
    with pytest.raises(AttributeError, match="not fitted"):
        HMM().save(tmp_path / "model")


def test_a_file_put_together_by_hand(tmp_path: Path) -> None:
    """Layout 1, as users have it."""
    config = {
        "model": "hmm",
        "version": 1,
        "labels": ["0", "1"],
        "numbers": True,
        "scheme": None,
        "emission": {"family": "categorical", "frozen": [], "tied": None},
        "symbols": "integers",
        "settings": {"k": 0.25, "a_setting_of_yore": 3},
        "training": {},
    }
    arrays = [
        ("start", [2], struct.pack("<2d", 0.25, 0.75)),
        ("transitions", [2, 2], struct.pack("<4d", 0.5, 0.5, 0.125, 0.875)),
        ("emission.probabilities", [2, 2], struct.pack("<4d", 0.5, 0.5, 1.0, 0.0)),
        ("emission.prior", [], struct.pack("<d", 1.0)),
        ("emission.unseen_prior", [], struct.pack("<d", 1.0)),
    ]
    header: dict[str, Any] = {"__metadata__": {"format": "tagline", "version": "1", "tagline": json.dumps(config)}}
    data = b""
    for name, shape, content in arrays:
        header[name] = {"dtype": "F64", "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    header["symbols.integers"] = {"dtype": "I64", "shape": [2], "data_offsets": [len(data), len(data) + 16]}
    data += struct.pack("<2q", 4, 9)
    text = json.dumps(header).encode()
    (tmp_path / "old").write_bytes(struct.pack("<Q", len(text)) + text + data)
    hmm = tagline.load(tmp_path / "old")
    assert hmm.k == 0.25
    assert np.exp(hmm.log_likelihood([[4, 9]])[0]) == pytest.approx(0.25 * 0.5 * 0.5 * 0.5 + 0.75 * 0.125 * 0.5)


WRONG: dict[str, Any] = {
    "version": ({"version": 9}, {}, r"broken\.tagline: .*layout"),
    "labels: none": ({"labels": []}, {}, r"broken\.tagline: .*labels"),
    "labels: a number": ({"labels": ["D", "N", "P", 3]}, {}, r"broken\.tagline: .*labels"),
    "labels: twice": ({"labels": ["D", "N", "P", "P"]}, {}, r"broken\.tagline: .*labels"),
    "labels: fewer": ({"labels": ["D", "N", "P"]}, {}, r"broken\.tagline: .*'start'"),
    "numbers": ({"numbers": True}, {}, r"broken\.tagline: .*labels"),
    "scheme": ({"scheme": "IOBX"}, {}, r"scheme: .*'IOBX'"),
    "scheme of others": ({"scheme": "IOB2"}, {}, r"broken\.tagline: labels\[0\]: .*IOB2"),
    "family": ({"emission": {"family": "gamma"}}, {}, r"broken\.tagline: .*emissions"),
    "another family": ({"emission": {"family": "poisson", "frozen": [], "tied": None}}, {}, "emissions: "),
    "emission": ({"emission": []}, {}, r"broken\.tagline: .*'emission'"),
    "tied": ({"emission": {"family": "categorical", "frozen": [], "tied": [0]}}, {}, r"tied: .*\[0\]"),
    "frozen": ({"emission": {"family": "categorical", "frozen": ["code"], "tied": None}}, {}, r"frozen: .*'code'"),
    "symbols": ({"symbols": "objects"}, {}, r"broken\.tagline: .*words"),
    "no symbols": ({"symbols": None}, {}, r"broken\.tagline: .*None"),
    "settings": ({"settings": 3}, {}, r"broken\.tagline: .*'settings'"),
    "training": ({"training": {"objective": "low"}}, {}, r"broken\.tagline: .*'low'"),
    "start: sum": ({}, {"start": lambda a: a * 2}, r"broken\.tagline: start: .*\b2\b"),
    "start: float32": ({}, {"start": lambda a: a.astype(np.float32)}, r"broken\.tagline: .*'start'"),
    "transitions: negative": ({}, {"transitions": lambda a: a - 0.5}, r"broken\.tagline: transitions\[0, 0\]: "),
    "transitions: NaN": ({}, {"transitions": lambda a: a * np.nan}, r"transitions\[0, 0\]: .*nan"),
    "transitions: missing": ({}, {"transitions": None}, r"broken\.tagline: .*'transitions'"),
    "emission: sum": ({}, {"emission.probabilities": lambda a: a / 2}, r"emissions: probabilities\[1\]: "),
    "emission: missing": ({}, {"emission.probabilities": None}, "emissions: .*'unseen_prior'"),
    "emission: states": ({}, {f"emission.{name}": lambda a: a[1:] for name in ("probabilities", "unseen")}, "states"),
    "symbols: cut": ({}, {"symbols.bytes": lambda a: a[1:]}, r"vocabulary: .*\b34\b"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_whatever_a_file_says_is_checked(words: tuple[HMM, Any], wrong: str, tmp_path: Path) -> None:
    config, arrays = words[0]._packed()
    changed, changes, place = WRONG[wrong]
    for name, change in changes.items():
        if change is None:
            del arrays[name]
        else:
            arrays[name] = change(arrays[name])
    storage.write(tmp_path / "broken.tagline", {**config, **changed}, arrays)
    with pytest.raises(StorageError, match=place) as caught:
        tagline.load(tmp_path / "broken.tagline")
    assert "broken.tagline: " in str(caught.value)


def survives(data: bytes, X: Any) -> bool:
    """Whether bytes are a model that answers."""
    try:
        hmm = HMM.from_file(storage.loads(data, verify=False))
        with np.errstate(all="ignore"):  # numbers of any size
            assert np.isfinite(hmm.predict_proba(X)).all()
    except TaglineError:
        return False
    return True


def small(kind: str) -> tuple[HMM, Any]:
    """A model and what to ask it."""
    if kind == "words":
        return HMM(k=0.5, scheme="IOB2").fit([["Anna", "sees", "Bo"]], [["B-P", "O", "B-P"]]), [["Anna", "x"]]
    how: dict[str, Any] = {"gaussian full": {"tied": [0, 1]}}.get(kind, {})
    return HMM(2, max_iterations=1, **settings(kind), **how).fit(observations(kind)), [np.ones((2, 2))]


@pytest.mark.parametrize("kind", ["words", "gaussian full", "mixture diag", "poisson"])
def test_damaged_bytes_are_refused_or_harmless(kind: str) -> None:
    """The checksum would refuse all of them; without it everything behind it has to hold."""
    hmm, X = small(kind)
    data = bytearray(storage.dumps(*hmm._packed()))
    assert survives(bytes(data), X)
    for size in range(0, len(data), 5):
        assert not survives(bytes(data[:size]), X), size
    accepted = 0
    for place in range(len(data)):
        for bit in (1 << (3 * place) % 8, 0x80):
            data[place] ^= bit
            accepted += survives(bytes(data), X)
            data[place] ^= bit
    assert 0 < accepted < 2 * len(data)


def test_the_settings_of_a_file_are_used_as_they_are(words: tuple[HMM, Any]) -> None:
    """A setting that cannot be meant is found when it is used, not when the file is read."""
    config, arrays = words[0]._packed()
    hmm = HMM.from_file(storage.loads(storage.dumps({**config, "settings": {"k": "many", "unknown": 7}}, arrays)))
    assert settings_of(storage.loads(storage.dumps(config, arrays)))["k"] == 0.2
    with pytest.raises(InputError, match=r"^k: "):
        hmm.fit([["a"]], [["N"]])


def test_lengths_of_one(tmp_path: Path) -> None:
    hmm = HMM(1).fit(np.zeros(1, int))
    hmm.save(tmp_path / "model")
    assert tagline.load(tmp_path / "model").predict(np.zeros(1, int), lengths=[1]).tolist() == [0]
    assert LENGTHS[1] == 1
