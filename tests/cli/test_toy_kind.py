"""A kind of model that is registered, and nothing else, goes all the way through the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import tagline as package
from tagline.errors import InputError
from tagline.models.registry import kinds, register, unregister

from .commands import line_of, tagline
from .toy import KIND, MajorityTagger


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    register(KIND)
    yield
    unregister(KIND.name)


@pytest.fixture
def model(folder: Path, tmp_path: Path) -> Path:
    path = tmp_path / "toy.tagline"
    words = ("train", folder / "train.txt", "-o", path, "--model", "majority", "--certainty", 3, "--dev")
    done = tagline(*words, folder / "dev.txt")
    assert done.code == 0, done.err
    assert "learning from 150 sentences" in done.err
    assert "counted, " in done.err
    assert "9 labels\n" in done.err
    assert f"saved {path}" in done.err
    return path


def test_it_is_trained_with_its_own_options(model: Path) -> None:
    loaded = package.load(model)
    assert isinstance(loaded, MajorityTagger)
    assert loaded.certainty == 3.0
    said = tagline("train", "--help").out
    assert "--certainty" in said
    assert "majority     the most frequent label of each word: a toy" in said


def test_its_options_are_checked(folder: Path, tmp_path: Path) -> None:
    start = ("train", folder / "train.txt", "-o", tmp_path / "m")
    done = tagline(*start, "--model", "majority", "--certainty", -1)
    assert line_of(done) == "--certainty: expected a number of 0 or more, got -1.0"
    assert line_of(tagline(*start, "--certainty", 1)).startswith("--certainty: expected an option of --model crf (")
    assert line_of(tagline(*start, "--model", "majority", "--c2", 1)).startswith(
        "--c2: expected an option of --model majority (--certainty), got one of --model crf"
    )


def test_it_tags_with_every_answer(model: Path, folder: Path) -> None:
    tagged = tagline("tag", "-m", model, folder / "dev.txt")
    assert tagged.code == 0, tagged.err
    assert tagline("eval", "-", input=tagged.out).code == 0
    asked = ("tag", "-m", model, "--format", "text", "--as", "jsonl")
    answers = json.loads(tagline(*asked, "--spans", "--marginals", input="Anna lives in Rome.\n").out)
    assert answers["tokens"] == ["Anna", "lives", "in", "Rome", "."]
    assert {"tags", "spans", "probabilities"} <= answers.keys()
    best = json.loads(tagline(*asked, "-k", 3, input="Anna lives in Rome.\n").out)["k_best"]
    assert len(best) == 3
    assert best[0]["tags"] == answers["tags"]


def test_it_is_inspected_and_says_what_it_cannot_do(model: Path) -> None:
    assert tagline("inspect", model).out.startswith("labels      9: B-DATE B-LOC ")
    assert "--weights: " in line_of(tagline("inspect", model, "--weights", "w.csv"))
    line = line_of(tagline("explain", "-m", model, "Anna"))
    assert line.startswith("--model: ")


def test_a_file_of_a_kind_that_is_gone_is_refused(model: Path) -> None:
    unregister(KIND.name)
    try:
        with pytest.raises(package.StorageError, match=r"toy\.tagline: .*'majority'"):
            package.load(model)
    finally:
        register(KIND)
    with pytest.raises(InputError, match=r"^kind: .*'majority'"):
        register(KIND)
    assert list(kinds())[-1] == "majority"
