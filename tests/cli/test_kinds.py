"""The kinds of models on the command line: trained, tagged with, scored, inspected and explained alike."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import tagline as package
from tagline import HMM
from tagline.models.registry import kinds
from tagline.readers import read_columns
from tagline.settings import Declared, declarations, resolved

from .commands import line_of, tagline


@pytest.fixture(scope="module")
def hmm(folder: Path) -> Path:
    path = folder / "hmm.tagline"
    done = tagline("train", folder / "train.txt", "-o", path, "--model", "hmm", "--dev", folder / "dev.txt")
    assert done.code == 0, done.err
    assert done.out == ""
    for words in (
        "learning from 150 sentences, ",
        "counted, ",
        "9 labels (IOB2), ",
        " symbols, ",
        "precision  recall      F1    gold\nDATE  ",
        f"saved {path} (",
    ):
        assert words in done.err
    return path


def test_the_model_is_the_one_that_python_trains(hmm: Path, folder: Path) -> None:
    train, dev = read_columns(folder / "train.txt"), read_columns(folder / "dev.txt")
    model = HMM(scheme="auto", on_illegal="repair").fit(train)
    loaded = package.load(hmm)
    assert isinstance(loaded, HMM)
    assert loaded.predict(dev) == model.predict(dev)
    np.testing.assert_array_equal(loaded.transitions_, model.transitions_)


def test_settings_arrive(folder: Path, tmp_path: Path) -> None:
    words = ["train", folder / "train.txt", "-o", tmp_path / "m", "--model", "hmm", "-q", "--json"]
    done = tagline(*words, "--smoothing", "witten-bell", "--add-k", 0.5, "--unknown", "error", "--scheme", "none")
    facts = json.loads(done.out)
    assert facts["emission"] == "categorical"
    assert facts["training"]["reason"] == "counted"
    assert facts["template"] is None
    loaded = package.load(tmp_path / "m")
    assert (loaded.smoothing, loaded.k, loaded.unknown, loaded.scheme) == ("witten-bell", 0.5, "error", None)
    np.testing.assert_array_equal(
        loaded.transitions_,
        HMM(smoothing="witten-bell", k=0.5, unknown="error", scheme=None)
        .fit(read_columns(folder / "train.txt"))
        .transitions_,
    )


def test_tagging_and_scoring(hmm: Path, folder: Path) -> None:
    tagged = tagline("tag", "-m", hmm, folder / "dev.txt")
    assert tagged.code == 0, tagged.err
    scored = tagline("eval", "-", input=tagged.out)
    assert "F1" in scored.out or "FB1" in scored.out
    model = package.load(hmm)
    dev = read_columns(folder / "dev.txt")
    lines = [line.split("\t") for line in tagged.out.splitlines() if line]
    assert [line[-1] for line in lines] == [tag for row in model.predict(dev) for tag in row]
    more = tagline("tag", "-m", hmm, "--format", "text", "--spans", "--as", "jsonl", input="Anna lives in Rome.\n")
    assert {"tokens", "tags", "spans"} <= set(json.loads(more.out))
    best = tagline("tag", "-m", hmm, "--format", "text", "-k", 2, "--marginals", input="Anna lives in Rome.\n")
    assert best.out.startswith("# 0 ")


def test_inspecting(hmm: Path, tmp_path: Path) -> None:
    model = package.load(hmm)
    out = tagline("inspect", hmm, "--top", 2).out
    assert out.startswith("labels      9: B-DATE B-LOC ")
    first = model.top_features(1, "B-PER")[0]
    assert f"\nprobable words of B-PER\n{np.exp(first.weight):10.6f}  {first.attribute}\n" in out
    move = model.top_transitions(1)[0]
    assert f"transitions probable\n{np.exp(move.weight):10.6f}  {move.previous} → {move.label}\n" in out
    facts = json.loads(tagline("inspect", hmm, "--json", "--label", "B-PER", "--top", 3).out)
    assert list(facts["top_features"]) == ["B-PER"]
    assert facts["training"]["sentences"] == 150
    done = tagline("inspect", hmm, "--top", 0, "--weights", tmp_path / "w.csv", "--plot", tmp_path / "t.png")
    assert f"wrote {tmp_path / 'w.csv'}\n" in done.err
    with open(tmp_path / "w.csv", encoding="utf-8", newline="") as file:
        assert len(list(csv.reader(file))) == 1 + len(model.weights_table())
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")
    assert "--label: " in line_of(tagline("inspect", hmm, "--label", "FOO"))


def test_explaining(hmm: Path) -> None:
    model = package.load(hmm)
    out = tagline("explain", "-m", hmm, "Carol lives in Rome.", "--most", 3).out
    assert out == model.explain(["Carol", "lives", "in", "Rome", "."]).text(3)
    assert tagline("explain", "-m", hmm, "Carol lives in Rome.", "--token", "Rome").out.startswith("Rome  ")


def test_raw_text_is_cut_as_the_words_were(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("今 B\n天 E\n好 S\n\n我 B\n们 E\n\n", encoding="utf-8")
    assert tagline("train", tmp_path / "train.txt", "-o", tmp_path / "m", "--model", "hmm", "-q").code == 0
    out = tagline("tag", "-m", tmp_path / "m", "--format", "text", input="今天我们好\n").out
    assert [line.split("\t")[0] for line in out.split()[::2]] == list("今天我们好")


def test_states_without_names_are_written_as_digits(tmp_path: Path) -> None:
    HMM(2, max_iterations=2).fit([["a", "b"], ["b"]]).save(tmp_path / "m")
    out = tagline("tag", "-m", tmp_path / "m", input="a\nb\n\n").out
    assert {line.split("\t")[1] for line in out.splitlines() if line} <= {"0", "1"}
    assert tagline("inspect", tmp_path / "m").code == 0
    HMM(2, emission="gaussian", max_iterations=2).fit(np.arange(9.0)).save(tmp_path / "g")
    assert "gaussian" in line_of(tagline("tag", "-m", tmp_path / "g", input="a\n"))
    assert "state 0  means [" in tagline("inspect", tmp_path / "g").out


def test_a_second_column_is_not_looked_at(folder: Path, tmp_path: Path) -> None:
    done = tagline("train", folder / "two.txt", "-o", tmp_path / "m", "--model", "hmm")
    assert "looking at the column token alone; --model crf looks at the others, too" in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "--model svm",
            "--model: ",
        ),
        (
            "--model hmm --c2 0.5",
            "--c2: expected an option of --model hmm (--states, --emission, --smoothing, --add-k",
        ),
        ("--model hmm --template pos", "--template: expected an option of --model hmm"),
        ("--model hmm --tolerance 3", "--tolerance: expected an option of --model hmm"),
        ("--smoothing witten-bell", "--smoothing: expected an option of --model crf"),
        ("--model hmm --smoothing none", "--smoothing: expected one of add-k, witten-bell, dirichlet, got 'none'"),
        ("--model hmm --add-k -1", "--add-k: expected a number of 0 or more, got -1.0"),
        ("--model hmm --unknown drop", "--unknown: expected one of smooth, error, got 'drop'"),
        ("--model hmm --scheme IOBX", "--scheme"),
    ],
)
def test_wrong_options(folder: Path, tmp_path: Path, words: str, message: str) -> None:
    done = tagline("train", folder / "train.txt", "-o", tmp_path / "m", *words.split())
    assert line_of(done).startswith(message)
    assert not (tmp_path / "m").exists()


def test_help_says_when_to_pick_which() -> None:
    said = " ".join(tagline("train", "--help").out.split())
    for name, kind in kinds().items():
        assert f"{name} {' '.join(kind.advice.split()[:5])}" in said


def test_every_kind_has_its_parameters() -> None:
    for kind in kinds().values():
        assert {*declarations(resolved(kind.settings))} == {*kind.estimator().get_params()}
        assert all(option.flag.startswith("--") for option in kind.options.values())


def test_what_several_kinds_declare_is_the_same_option() -> None:
    """The command has it once: its flags, its help and what is done with its file."""
    known: dict[str, Declared] = {}
    for kind in kinds().values():
        for name, entry in kind.options.items():
            first = known.setdefault(name, entry)
            assert (first.flag, first.type in (int, float)) == (entry.flag, entry.type in (int, float)), name
            assert (first.setting.file, first.setting.panel) == (entry.setting.file, entry.setting.panel), name


def test_options_of_earlier_versions_say_what_to_write_now(folder: Path, tmp_path: Path) -> None:
    done = tagline("train", folder / "train.txt", "-o", tmp_path / "m", "--epsilon", 3)
    assert done.code == 2
    assert "--epsilon is no option any more; it belongs to the algorithm: --algorithm auto:epsilon=…" in done.err


def test_trigrams(folder: Path, tmp_path: Path) -> None:
    """A kind without options of its own."""
    path = tmp_path / "m"
    done = tagline("train", folder / "two.txt", "-o", path, "--model", "trigram", "--tag-column", 1)
    assert done.code == 0, done.err
    assert "3 labels" in done.err
    out = tagline("tag", "-m", path, input="the\ndog\n\n").out
    assert out == "the\tDT\ndog\tNN\n\n"
    assert tagline("inspect", path).out.startswith("labels      3: DT NN VBD")
