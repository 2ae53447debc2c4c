"""What `tagline train` writes down beside the weights, and how `tagline inspect` shows it, of one model and of two."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tagline as package

from .commands import line_of, tagline

SHORT = ("--max-iterations", 3, "-q")


@pytest.fixture(scope="module")
def models(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    place = tmp_path_factory.mktemp("facts")
    first, second = place / "first.tagline", place / "second.tagline"
    notes = ("--note", "who=Anna", "--note", "data=news = of 2026")
    assert tagline("train", folder / "train.txt", "-o", first, "--dev", folder / "dev.txt", *notes, *SHORT).code == 0
    assert tagline("train", folder / "train.txt", "-o", second, "--c2", 0.1, "--no-date", *SHORT).code == 0
    return first, second


def test_facts_are_in_the_file(models: tuple[Path, Path], folder: Path) -> None:
    facts = json.loads(tagline("inspect", models[0], "--json").out)["training"]
    assert facts["user"] == {"who": "Anna", "data": "news = of 2026"}
    assert facts["date"].endswith("Z")
    assert facts["tokens"] > facts["sentences"] > 0
    report = package.load(models[0]).evaluate(package.readers.read(folder / "dev.txt"))
    assert report.spans is not None
    assert facts["dev"]["f1"] == report.spans.overall.f1
    assert {name: scores["f1"] for name, scores in facts["dev"]["types"].items()} == {
        name: score.f1 for name, score in report.spans.by_type.items()
    }
    assert facts["dev"]["accuracy"] == report.tokens.accuracy
    assert len(facts["log"]) == 3
    shown = tagline("inspect", models[0]).out
    for line in ("note        who: Anna", "log         3 passes, objective ", "date        20", "version     "):
        assert f"\n{line}" in shown
    assert "\ndate" not in tagline("inspect", models[1]).out


def test_counted_models_have_dev_scores(folder: Path, tmp_path: Path) -> None:
    words = ("--model", "hmm", "--dev", folder / "dev.txt", "-q")
    assert tagline("train", folder / "train.txt", "-o", tmp_path / "m", *words).code == 0
    assert package.load(tmp_path / "m").summary().training["dev"]["accuracy"] > 0.5


def test_two_models_side_by_side(models: tuple[Path, Path]) -> None:
    done = tagline("inspect", *models, "--top", 2)
    assert done.code == 0
    assert f"first   {models[0]}\nsecond  {models[1]}\n" in done.out
    assert "\nsettings\n  c2" in done.out
    assert "user who" in done.out
    assert done.out.splitlines()[-3].endswith(" weights differ, most")
    differences = json.loads(tagline("inspect", *models, "--json").out)
    assert {"name": "c2", "first": 1.0, "second": 0.1} in differences["settings"]
    assert tagline("inspect", models[0], models[0]).out.endswith("no difference\n")
    assert "--plot: " in line_of(tagline("inspect", *models, "--plot", "x.png"))


@pytest.mark.parametrize("note", ["who", "=Anna", " =x"])
def test_notes_are_keys_and_values(folder: Path, tmp_path: Path, note: str) -> None:
    done = tagline("train", folder / "train.txt", "-o", tmp_path / "m", "--note", note)
    assert line_of(done).startswith("--note: ")


def test_a_model_is_saved_even_where_scoring_fails(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise package.InputError("dev: expected scores, got a failure")

    monkeypatch.setattr("tagline.models.recipes.Recipe.score", fail)
    words = ("-o", tmp_path / "m", "--dev", folder / "dev.txt", *SHORT)
    assert "got a failure" in line_of(tagline("train", folder / "train.txt", *words))
    assert package.load(tmp_path / "m").labels_
