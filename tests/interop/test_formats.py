"""Model files of other tools: told apart by their content, converted with the same answers, or refused."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tagline
from tagline.errors import InputError, StorageError
from tagline.interop.formats import FORMATS, WRITTEN, read_model, recognise, write_model
from tests.cli.commands import tagline as run

TEMPLATE = "U00:%x[0,0]\nU01:%x[-1,0]/%x[0,0]\nB\n"
SENTENCES = [["Anna", "sings", "."], ["Bob", "sees", "Rome"], ["."], ["Rome", "sees", "Anna", "."]]


@pytest.fixture(scope="module")
def model() -> Any:
    labels = [["P", "O", "O"], ["P", "O", "L"], ["O"], ["L", "O", "P", "O"]]
    return tagline.CRF(TEMPLATE, c2=0.05, scheme=None).fit(SENTENCES, labels)


def items(sentences: list[list[str]]) -> list[list[list[str]]]:
    """The attributes of the template, by hand."""
    out = []
    for words in sentences:
        before = ["_B-1", *words]
        out.append([[f"U00:{word}", f"U01:{before[t]}/{word}"] for t, word in enumerate(words)])
    return out


@pytest.mark.parametrize("form", WRITTEN)
def test_a_model_goes_out_and_comes_back(model: Any, form: str, tmp_path: Path) -> None:
    path = tmp_path / "a name that says nothing.txt"
    write_model(model, path, form)
    assert recognise(path.read_bytes()[:4096]) == form
    back = read_model(path)
    X = items(SENTENCES) if form == "crfsuite" else SENTENCES
    assert back.predict(X) == model.predict(SENTENCES)
    for got, expected in zip(back.marginal_arrays(X), model.marginal_arrays(SENTENCES), strict=True):  # type: ignore[attr-defined]
        order = [back.labels_.index(label) for label in model.labels_]
        np.testing.assert_allclose(got[:, order], expected, rtol=0, atol=1e-6)
    np.testing.assert_allclose(
        np.exp(back.log_likelihood(X, model.predict(SENTENCES))),
        np.exp(model.log_likelihood(SENTENCES, model.predict(SENTENCES))),
        rtol=0, atol=1e-6,
    )  # fmt: skip


@pytest.mark.parametrize("form", WRITTEN)
def test_the_command_converts_both_ways(model: Any, form: str, tmp_path: Path) -> None:
    own, other, again = (str(tmp_path / name) for name in ("own", "other", "again"))
    model.save(own)
    assert run("convert-model", own, other, "--to", form).code == 0
    done = run("convert-model", other, again)
    assert done.code == 0, done.err
    back: Any = tagline.load(again)
    X = items(SENTENCES) if form == "crfsuite" else SENTENCES
    assert back.predict(X) == model.predict(SENTENCES)
    assert str(tmp_path) in done.err


@pytest.mark.parametrize("form", ["crfpp", "crfpp-text", "wapiti"])
def test_commands_take_the_files_of_other_tools(model: Any, form: str, tmp_path: Path) -> None:
    path, words = tmp_path / "model", tmp_path / "words.txt"
    write_model(model, path, form)
    words.write_text("\n\n".join("\n".join(sentence) for sentence in SENTENCES) + "\n")
    done = run("tag", "-m", str(path), str(words))
    assert done.code == 0, done.err
    tags = [line.split("\t")[1] for line in done.out.splitlines() if line]
    assert tags == [label for row in model.predict(SENTENCES) for label in row]
    assert run("inspect", str(path)).code == 0


def test_a_file_of_ours_is_loaded(model: Any, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    assert read_model(tmp_path / "model", mapped=False).predict(SENTENCES) == model.predict(SENTENCES)
    write_model(model, tmp_path / "copy", "tagline")
    assert read_model(tmp_path / "copy").labels_ == model.labels_
    with pytest.raises((OSError, StorageError), match="nowhere: "):
        read_model(tmp_path / "nowhere")


STRANGERS: dict[str, tuple[bytes, str]] = {
    "MALLET": (b"\xac\xed\x00\x05sr\x00", r"file: .*MALLET"),
    "Stanford NER": (gzip.compress(b"\xac\xed\x00\x05sr\x00" * 9), r"file: .*MALLET"),
    "another pickle": (pickle.dumps({"a": 1}), r"file: .*sklearn-crfsuite"),
    "a packed file": (gzip.compress(b"x" * 99), r"file: .*\bgzip\b"),
    "text": (b"some words", r"file: .*\b10\b"),
    "nothing": (b"", "file: "),
    "half a CRFsuite model": (b"lCRF\x10", r"file: .*CRFsuite"),
    "half a CRF++ model": (b"\x64\0\0\0\0\0\0\0\0", "file: "),
    "half a text model": (b"version: 100\n", "file: "),
    "half a Wapiti model": (b"#mdl#2#9\n", r"file: .*b''"),
}


@pytest.mark.parametrize("name", STRANGERS)
def test_what_is_no_model_is_refused(name: str, tmp_path: Path) -> None:
    data, place = STRANGERS[name]
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises((StorageError, InputError), match=place):
        read_model(path)


def test_what_cannot_be_written_is_refused(model: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^format: "):
        write_model(model, tmp_path / "x", "mallet")
    with pytest.raises(InputError, match=r"^format: "):
        write_model(model, tmp_path / "x", "sklearn-crfsuite")
    hmm = tagline.HMM().fit(SENTENCES, [["A"] * len(s) for s in SENTENCES])
    with pytest.raises(InputError, match=r"^model: "):
        write_model(hmm, tmp_path / "x", "crfsuite")
    assert not (tmp_path / "x").exists()


def test_every_format_has_its_home() -> None:
    from importlib import import_module

    for form in FORMATS.values():
        if form.home is not None:
            home = import_module(form.home)
            assert callable(home.read_crf)
            assert callable(getattr(home, "write_crf", None)) == form.written


@pytest.mark.parametrize("command", [("crf_test", "-m"), ("crf_learn", "-C"), ("wapiti", "label", "-m")])
@pytest.mark.parametrize("form", ["tagline", *WRITTEN])
def test_commands_of_other_tools_name_a_model_that_is_not_theirs(
    model: Any, form: str, command: tuple[str, ...], tmp_path: Path
) -> None:
    wanted = {"crf_test": "crfpp", "crf_learn": "crfpp-text", "wapiti": "wapiti"}[command[0]]
    path, words = tmp_path / "model", tmp_path / "words.txt"
    write_model(model, path, form)
    words.write_text("Anna\n\n")
    done = run(*command, path, words if command[0] != "crf_learn" else tmp_path / "new")
    assert (done.code == 0) == (form == wanted), done.err
    if form != wanted:
        assert "damaged" not in done.err
        assert f"convert-model {path} FILE --to {wanted}" in done.err
