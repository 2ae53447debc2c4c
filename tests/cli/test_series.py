"""`tagline train --model hmm --states` on a series of a CSV file, and what is done with such a model."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import tagline as package
from tagline import HMM

from .commands import line_of, tagline

DAYS = np.repeat([0, 1, 0, 2, 0], 20)
X = np.array([[15.0, 8.0], [11.0, 30.0], [31.0, 6.0]])[DAYS] + np.random.default_rng(0).normal(size=(100, 2))


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("series") / "weather.csv"
    rows = [f"day {n},{'AB'[n >= 50]},{warmth!r},{wind!r}\n" for n, (warmth, wind) in enumerate(X.tolist())]
    path.write_text("day,place,warmth,wind\n" + "".join(rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def model(series: Path) -> Path:
    path = series.with_name("weather.tagline")
    done = tagline("train", "--model", "hmm", "--states", 3, series, "-o", path, "--group", "place", "--seed", 1)
    assert done.code == 0, done
    assert "left out day, which has no numbers" in done.err
    assert "columns warmth, wind, sequences by place" in done.err
    assert "learning from 2 sentences, 100 tokens" in done.err
    return path


def test_the_model_is_the_one_that_python_trains(model: Path) -> None:
    plain = HMM(3, emission="gaussian", random_state=1).fit(X, lengths=[50, 50])
    np.testing.assert_array_equal(package.load(model).means_, plain.means_)  # type: ignore[attr-defined]


def test_rows_come_back_with_their_states(model: Path, series: Path) -> None:
    done = tagline("tag", "-m", model, series, "--marginals")
    assert done.code == 0, done
    rows = list(csv.DictReader(done.out.splitlines()))
    loaded = package.load(model)
    assert [row["warmth"] for row in rows] == [repr(warmth) for warmth in X[:, 0].tolist()]  # unchanged
    assert [int(row["state"]) for row in rows] == loaded.predict(X, lengths=[50, 50]).tolist()
    shares = np.array([[float(row[f"p({state})"]) for state in range(3)] for row in rows])
    np.testing.assert_allclose(shares, loaded.predict_proba(X, [50, 50]), rtol=1e-5)  # type: ignore[attr-defined]


def test_columns_and_emissions_are_named(series: Path, tmp_path: Path) -> None:
    path = tmp_path / "m"
    words = ("--columns", "wind", "--emission", "mixture", "--n-components", 2, "--n-init", 2)
    assert tagline("train", "--model", "hmm", "--states", 2, *words, series, "-o", path).code == 0
    assert package.load(path).feature_names_in_.tolist() == ["wind"]  # type: ignore[attr-defined]
    shown = tagline("inspect", path).out
    assert "mixture (diag covariance) of wind" in shown


def test_symbols_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "dna.tsv").write_text("base\n" + "A\nC\nG\nT\n" * 5, encoding="utf-8")
    path = tmp_path / "m"
    words = ("--model", "hmm", "--states", 2, "--emission", "categorical")
    assert tagline("train", *words, tmp_path / "dna.tsv", "-o", path).code == 0
    assert tagline("tag", "-m", path, tmp_path / "dna.tsv").out.startswith("base\tstate\nA\t")


def test_what_cannot_be_meant(model: Path, series: Path, tmp_path: Path) -> None:
    out, hmm = ("-o", tmp_path / "m"), ("--model", "hmm")
    labelled = tmp_path / "train.txt"
    labelled.write_text("a X\n\nb Y\n", encoding="utf-8")
    for words, message in (
        ((*hmm, series), "--states: "),
        ((*hmm, "--states", 2, labelled), ".csv or .tsv"),
        ((*hmm, "--emission", "gaussian", labelled), "--emission: "),
        ((*hmm, "--states", 2, series, "--columns", "rain"), "--columns: "),
        ((*hmm, "--states", 2, series, "--columns", "day"), "'day 0'"),
        ((*hmm, "--states", 2, series, "--group", "rain"), "--group: "),
        (("--model", "trigram", "--states", 2, labelled), "--states: "),
    ):
        assert message in line_of(tagline("train", *words, *out, "-q"))
        assert not (tmp_path / "m").exists()
    assert "warmth, wind" in line_of(tagline("tag", "-m", model, labelled))
    tagline("train", labelled, *out, *hmm)
    assert "table" in line_of(tagline("tag", *("-m", tmp_path / "m"), series))


def test_a_series_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    rows = "\n".join(f"{value:.6f}" for value in random.normal(random.integers(3, size=80), 1.0))
    (tmp_path / "series.csv").write_text(f"x\n{rows}\n", encoding="utf-8")
    words = ("train", tmp_path / "series.csv", "--model", "hmm", "--states", 3)
    kept = (*words, "--checkpoint", tmp_path / "state", "--save-every", 0)
    assert tagline(*words, "-o", tmp_path / "whole", "--max-iterations", 8).code == 0
    assert tagline(*kept, "-o", tmp_path / "half", "--max-iterations", 3).code == 0
    done = tagline(*kept, "--resume", "-o", tmp_path / "again", "--max-iterations", 8)
    assert f"going on from {tmp_path / 'state'}" in done.err
    models = [package.load(tmp_path / name) for name in ("whole", "again", "half")]
    tables = [model.transitions_.tobytes() for model in models]  # type: ignore[attr-defined]
    assert tables[0] == tables[1] != tables[2]
