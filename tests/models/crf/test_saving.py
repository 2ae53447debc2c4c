"""Models through files, pickle and copy: nothing is lost, nothing runs, and what is damaged is refused by name."""

from __future__ import annotations

import copy
import io
import json
import os
import pickle
import struct
import tempfile
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from safetensors.numpy import load_file

import tagline
from tagline import CRF, Dictionary, InputError, StorageError, Template, storage
from tagline.models.crf.file import MissingFunction, unpack
from tagline.training import LBFGS

from ..corpora import TEMPLATE, everything, features, items, tagged


def same_answers(one: CRF, other: CRF, **inputs: Any) -> None:
    assert one.labels_ == other.labels_
    assert one.predict(**inputs) == other.predict(**inputs)
    for mine, theirs in zip(one.marginal_arrays(**inputs), other.marginal_arrays(**inputs), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.fixture(scope="module")
def full() -> tuple[CRF, dict[str, Any]]:
    return everything()


def test_a_file_keeps_everything(full: tuple[CRF, dict[str, Any]], tmp_path: Path) -> None:
    model, inputs = full
    path = tmp_path / "模型 β.tagline"
    model.save(path)
    loaded = tagline.load(path)
    assert type(loaded) is CRF
    same_answers(model, loaded, **inputs)
    assert loaded.get_params() == {**model.get_params(), "callbacks": ()}
    assert loaded.training_ == model.training_
    assert loaded.objective_ == model.objective_
    assert loaded.state_features_ == {
        key: float(np.float32(weight)) for key, weight in model.state_features_.items() if weight
    }
    assert os.listdir(tmp_path) == [path.name]
    assert model.size_ == path.stat().st_size


def test_saving_twice_makes_the_same_bytes(full: tuple[CRF, dict[str, Any]], tmp_path: Path) -> None:
    model, _ = full
    model.save(tmp_path / "one")
    tagline.load(tmp_path / "one").save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_safetensors_reads_it(full: tuple[CRF, dict[str, Any]], tmp_path: Path) -> None:
    model, _ = full
    model.save(tmp_path / "model")
    tensors = load_file(tmp_path / "model")
    size = model.parameters_.pruned().structure.size
    assert tensors["weights"].shape == (size,)
    assert tensors["weights"].dtype == np.float32


def test_small_types_and_no_zeros(tmp_path: Path) -> None:
    X, y = items()
    model = CRF(c1=1.0, c2=0.01).fit(X, y)
    config, arrays = model._packed()
    assert arrays["weights"].all()
    everything = CRF(max_iterations=1).fit(X, y).parameters_
    assert len(arrays["weights"]) < everything.structure.size
    assert {arrays[name].dtype for name in ("states.counts", "states.labels", "transitions")} == {np.dtype(np.uint8)}
    loaded = unpack(storage.loads(storage.dumps(config, arrays)))
    assert 0 < len(loaded.parameters.states) < len(everything.states)
    model.save(tmp_path / "sparse")
    same_answers(model, tagline.load(tmp_path / "sparse"), X=X)


def test_arrays_are_mapped(full: tuple[CRF, dict[str, Any]], tmp_path: Path) -> None:
    model, _ = full
    model.save(tmp_path / "model")
    weights = tagline.load(tmp_path / "model").parameters_.weights
    assert not weights.flags.writeable
    assert not weights.flags.owndata


@pytest.mark.parametrize(
    "make",
    [
        lambda model: pickle.loads(pickle.dumps(model)),
        lambda model: pickle.loads(pickle.dumps(model, protocol=2)),
        copy.copy,
        copy.deepcopy,
    ],
    ids=["pickle", "protocol 2", "copy", "deepcopy"],
)
def test_pickle_and_copy(full: tuple[CRF, dict[str, Any]], make: Any) -> None:
    model, inputs = full
    other = make(model)
    same_answers(model, other, **inputs)
    assert other.get_params() == model.get_params()
    assert [done.line() for done in other.training_log_] == [done.line() for done in model.training_log_]


def test_joblib_leaves_no_temporary_files(
    full: tuple[CRF, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, inputs = full
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    stream = io.BytesIO()
    joblib.dump(model, stream)
    stream.seek(0)
    for _ in range(3):
        stream.seek(0)
        same_answers(model, joblib.load(stream), **inputs)
    assert os.listdir(tmp_path / "tmp") == []


def test_an_unfitted_estimator_is_pickled_as_it_is() -> None:
    model = CRF(TEMPLATE, c1=0.5, callbacks=(print,))
    assert pickle.loads(pickle.dumps(model)).get_params() == model.get_params()
    with pytest.raises(AttributeError, match="not fitted"):
        model.save("nowhere")


def test_a_pickle_holds_the_bytes_of_the_file(full: tuple[CRF, dict[str, Any]], tmp_path: Path) -> None:
    model, _ = full
    model.save(tmp_path / "model")
    assert model.__getstate__()["_file"] == (tmp_path / "model").read_bytes()


def test_plain_settings_are_kept_and_code_is_not(tmp_path: Path) -> None:
    X, y = items()
    model = CRF(
        c2=np.float64(0.5),
        label_weights={"N": 2.0},
        algorithm=LBFGS(memory=np.int64(7), max_linesearch=9),  # type: ignore[arg-type]
        max_seconds=float("inf"),
        callbacks=(lambda done, weights: None,),
    ).fit(X, y)
    model.save(tmp_path / "model")
    loaded = tagline.load(tmp_path / "model")
    assert loaded.c2 == 0.5
    assert loaded.algorithm == "lbfgs:memory=7,max_linesearch=9"
    assert loaded.label_weights == {"N": 2.0}
    assert loaded.max_seconds is None  # infinity is no JSON
    assert loaded.callbacks == ()
    loaded.fit(X, y)
    same_answers(model, loaded, X=X)


def test_a_template_travels_with_the_model(tmp_path: Path) -> None:
    X, y = tagged()
    (tmp_path / "template").write_text(TEMPLATE, encoding="utf-8")
    model = CRF(tmp_path / "template").fit(X, y)
    (tmp_path / "template").unlink()
    model.save(tmp_path / "model")
    assert str(tmp_path).encode() not in (tmp_path / "model").read_bytes()
    loaded = tagline.load(tmp_path / "model")
    assert loaded.features == Template.parse(TEMPLATE, "template")
    same_answers(model, loaded, X=X)
    with pytest.raises(InputError, match=r"^features: "):
        tagline.load(tmp_path / "model", features=features)


def test_patterns_travel_with_the_model(tmp_path: Path) -> None:
    X, y = tagged(30)
    model = CRF('U0:%t[0,0,"^[A-Z]"]\nU1:%M[-1,0,"(?i)[aeiou]+|$"]\nB\n', c2=0.1, max_iterations=5).fit(X, y)
    model.save(tmp_path / "m")
    same_answers(model, tagline.load(tmp_path / "m"), X=X)


def test_an_older_file_with_a_pattern_that_needs_backtracking_is_refused_with_the_remedy(tmp_path: Path) -> None:
    X, y = tagged(5)
    config, arrays = CRF(Template.parse('U:%x[0,0]\nU1:%m[0,0,"(a)b"]', "my.txt"), max_iterations=2).fit(X, y)._packed()
    config["features"]["template"] = config["features"]["template"].replace("(a)b", r"(a)\1")
    storage.write(tmp_path / "m", config, arrays)
    with pytest.raises(StorageError) as caught:
        tagline.load(tmp_path / "m")
    assert str(caught.value).startswith(f"{tmp_path / 'm'}: my.txt:2: ")


def test_edge_templates_and_hashes(tmp_path: Path) -> None:
    X, y = tagged()
    for bits in (None, 9):
        model = CRF(TEMPLATE + "B01:%x[0,0]\n", hash_bits=bits, start_end=True).fit(X, y)
        model.save(tmp_path / "model")
        loaded = tagline.load(tmp_path / "model")
        assert loaded.hash_bits == bits
        same_answers(model, loaded, X=X)


def test_a_function_is_kept_by_name(tmp_path: Path) -> None:
    X, y = tagged()
    model = CRF(features).fit(X, y)
    model.save(tmp_path / "model")
    same_answers(model, tagline.load(tmp_path / "model", features=features), X=X)
    loaded = tagline.load(tmp_path / "model")
    assert loaded.top_features(1) == tagline.load(tmp_path / "model").top_features(1)
    for ask in (loaded.predict, lambda X: loaded.fit(X, y)):
        with pytest.raises(InputError, match=r"^features: .*corpora\.features"):
            ask(X)
    with pytest.raises(InputError, match=r"^features: "):
        tagline.load(tmp_path / "model", features="english_ner")
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    assert isinstance(tagline.load(tmp_path / "again").features, MissingFunction)
    same_answers(model, pickle.loads(pickle.dumps(model)), X=X)  # pickle finds functions by itself


@pytest.mark.parametrize("option", ["dictionary", "scheme", "device"])
def test_an_option_that_a_model_does_not_take_is_refused(option: str, tmp_path: Path) -> None:
    CRF(TEMPLATE).fit([["a"]], [["O"]]).save(tmp_path / "model")
    with pytest.raises(InputError, match=f"^{option}: .*model.* a crf model"):
        tagline.load(tmp_path / "model", **{option: None})


@pytest.mark.parametrize("priority", ["feature", "over", "under"])
def test_a_dictionary_travels_with_the_model(priority: str, tmp_path: Path) -> None:
    X = [["Anna", "sees", "New", "York"], ["Bob", "sees", "Anna"], ["New", "cat"]]
    y = [["B-PER", "O", "B-LOC", "I-LOC"], ["B-PER", "O", "B-PER"], ["O", "O"]]
    places = Dictionary({"New York": "LOC", "the Thames": "LOC"}, priority=priority, fold_case=True)
    model = CRF(
        "U00:%x[0,0]\nU01:%x[0,1]\nB\n" if priority == "feature" else TEMPLATE, scheme="IOB2", dictionary=places
    )
    model.fit(X, y)
    model.save(tmp_path / "model")
    loaded = tagline.load(tmp_path / "model")
    assert loaded.dictionary.entries() == places.entries()
    assert loaded.dictionary.priority == priority
    assert loaded.dictionary.fold_case
    same_answers(model, loaded, X=[*X, ["in", "the", "thames", "cat"]])


def test_an_older_file_loads(tmp_path: Path) -> None:
    """A file of format 1 and layout 1, put together by hand: its bytes are what users have."""
    config = {
        "model": "crf",
        "version": 1,
        "labels": ["N", "V"],
        "scheme": None,
        "start": True,
        "end": False,
        "features": {"template": "U00:%x[0,0]\nB\n", "source": "by hand"},
        "hash_bits": None,
        "dictionary": None,
        "settings": {"c2": 0.25, "a_setting_of_yore": 3},
        "training": {},
    }
    names = tagline.features.Vocabulary.of(["U00:Anna", "U00:sings"]).arrays()
    arrays = [
        ("weights", "F32", [5], struct.pack("<5f", 2.0, 1.5, 0.5, 1.0, -1.0)),
        ("states.counts", "U8", [2], b"\x01\x01"),
        ("states.labels", "U8", [2], b"\x00\x01"),
        ("transitions", "U8", [1, 2], b"\x00\x01"),
        ("edges.counts", "U8", [0], b""),
        ("edges.pairs", "U8", [0, 2], b""),
    ]
    kinds = {"uint8": "U8", "uint16": "U16", "uint32": "U32"}
    for name, array in names.items():
        arrays.append((f"states.names.{name}", kinds[array.dtype.name], list(array.shape), array.tobytes()))
    header: dict[str, Any] = {"__metadata__": {"format": "tagline", "version": "1", "tagline": json.dumps(config)}}
    data = b""
    for name, kind, shape, content in arrays:
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    (tmp_path / "old").write_bytes(struct.pack("<Q", len(text)) + text + data)
    model = tagline.load(tmp_path / "old")
    assert model.c2 == 0.25
    assert model.predict([["Anna", "sings"]]) == [["N", "V"]]
    # 1.0 + 2.0 + 0.5 + 1.5 against −1.0 for V V at the start and so on: the scores by hand.
    assert model.log_likelihood([["Anna", "sings"]])[0] == pytest.approx(
        np.log(np.exp(5.0) + np.exp(1.0 + 2.0) + np.exp(-1.0) + np.exp(-1.0 + 1.5)), abs=1e-6
    )


def test_files_of_others_are_refused(full: tuple[CRF, dict[str, Any]], tmp_path: Path) -> None:
    config, arrays = full[0]._packed()
    path = tmp_path / "model"
    for change, place in (
        ({"version": 99}, r"model: .*layout"),
        ({"model": "hmm2"}, r"model: .*'hmm2'"),
        ({"model": None}, r"model: .*'model'"),
    ):
        storage.write(path, {**config, **change}, arrays)
        with pytest.raises(StorageError, match=place):
            tagline.load(path)
    with pytest.raises(StorageError, match="nothing: "):
        tagline.load(tmp_path / "nothing")


WRONG: dict[str, Any] = {
    "labels: a number": ({"labels": ["D", "N", "P", 3]}, {}, r"broken\.tagline: .*labels"),
    "labels: twice": ({"labels": ["D", "N", "P", "P"]}, {}, r"broken\.tagline: .*labels"),
    "labels: none": ({"labels": []}, {}, r"broken\.tagline: .*labels"),
    "labels: fewer": ({"labels": ["D", "N", "P"]}, {}, r"broken\.tagline: .*\b3\b"),
    "scheme: unknown": ({"scheme": "IOBX"}, {}, r"scheme: .*'IOBX'"),
    "scheme: of other labels": ({"scheme": "IOB2"}, {}, r"broken\.tagline: labels\[0\]: .*IOB2"),
    "start: a number": ({"start": 1}, {}, r"broken\.tagline: .*'start'"),
    "end: less": ({"end": False}, {}, r"broken\.tagline: .*'weights'"),
    "hash_bits: with names": ({"hash_bits": 3}, {}, r"broken\.tagline: .*states"),
    "hash_bits: too many": ({"hash_bits": 31}, {}, r"broken\.tagline: .*hash_bits"),
    "features: a list": ({"features": []}, {}, r"broken\.tagline: .*'features'"),
    "features: odd": ({"features": {"code": "import os"}}, {}, r"broken\.tagline: .*\{'code': 'import os'\}"),
    "features: a number": ({"features": {"function": 3}}, {}, r"broken\.tagline: .*strings"),
    "features: bad template": ({"features": {"template": "X00", "source": "T"}}, {}, "T:1: "),
    "dictionary: no phrases": ({"dictionary": {"priority": "over", "fold_case": True}}, {}, "'dictionary'"),
    "dictionary: odd": ({"dictionary": {"priority": "over"}}, {}, r"broken\.tagline: .*fold_case"),
    "training: objective": ({"training": {"objective": "low"}}, {}, r"broken\.tagline: .*'low'"),
    "settings": ({"settings": None}, {}, r"broken\.tagline: .*'settings'"),
    "weights: NaN": ({}, {"weights": lambda w: np.where(np.arange(len(w)) == 3, np.nan, w)}, r"broken\.tagline: .*nan"),
    "weights: short": ({}, {"weights": lambda w: w[1:]}, r"broken\.tagline: .*'weights'"),
    "weights: float64": ({}, {"weights": lambda w: w.astype(np.float64)}, r"broken\.tagline: .*'weights'"),
    "counts: more": ({}, {"states.counts": lambda c: c + (np.arange(len(c)) == 0)}, r"states\.counts"),
    "counts: signed": ({}, {"states.counts": lambda c: c.astype(np.int32)}, r"broken\.tagline: .*'states.counts'"),
    "labels: above": ({}, {"states.labels": lambda labels: labels + 3}, r"broken\.tagline: .*\b6\b"),
    "labels: unsorted": ({}, {"states.labels": lambda labels: labels * 0}, r"broken\.tagline: .*states.labels"),
    "transitions: above": ({}, {"transitions": lambda pairs: pairs + 3}, r"broken\.tagline: .*transitions"),
    "transitions: unsorted": ({}, {"transitions": lambda pairs: pairs[::-1]}, r"broken\.tagline: .*transitions"),
    "transitions: flat": ({}, {"transitions": lambda pairs: pairs.ravel()}, r"broken\.tagline: .*'transitions'"),
    "pairs: above": ({}, {"edges.pairs": lambda pairs: pairs + 3}, r"broken\.tagline: .*edges.pairs"),
    "pairs: unsorted": ({}, {"edges.pairs": lambda pairs: pairs * 0}, r"broken\.tagline: .*edges.pairs"),
    "names: fewer": ({}, {"states.counts": lambda c: np.append(c, 0).astype(c.dtype)}, r"broken\.tagline: .*\b24\b"),
    "names: missing": ({}, {"states.names.slots": None}, r"vocabulary: .*'slots'"),
    "names: cut": ({}, {"states.names.bytes": lambda data: data[1:]}, r"vocabulary: .*lengths"),
    "array: missing": ({}, {"edges.counts": None}, r"broken\.tagline: .*'edges.counts'"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_whatever_a_file_says_is_checked(full: tuple[CRF, dict[str, Any]], wrong: str, tmp_path: Path) -> None:
    config, arrays = full[0]._packed()
    settings, changes, place = WRONG[wrong]
    for name, change in changes.items():
        if change is None:
            del arrays[name]
        else:
            arrays[name] = change(arrays[name])
    storage.write(tmp_path / "broken.tagline", {**config, **settings}, arrays)
    with pytest.raises(StorageError, match=place) as caught:
        tagline.load(tmp_path / "broken.tagline")
    assert "broken.tagline: " in str(caught.value)


def test_a_wrong_dictionary_is_refused(tmp_path: Path) -> None:
    X, y = [["Anna"]], [["B-PER"]]
    model = CRF(TEMPLATE, scheme="IOB2", dictionary=Dictionary({"Anna": "PER"}, priority="under")).fit(X, y)
    config, arrays = model._packed()
    for text in (b"{", b"[1]", b'[["a", "PER", 3]]', b"[[[3], 4]]", b'[[["a"], ""]]', b"\xff", b'[[[["a"]], "PER"]]'):
        arrays["dictionary"] = np.frombuffer(text, np.uint8)
        storage.write(tmp_path / "model", config, arrays)
        with pytest.raises(StorageError, match="model: "):
            tagline.load(tmp_path / "model")
