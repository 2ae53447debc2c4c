"""tagline train --order 2: the model that Python trains, pruned or not, and every other command on it."""

from __future__ import annotations

from pathlib import Path

import pytest

import tagline as package
from tagline.models.crf.estimator import CRF
from tagline.readers import read_columns

from .commands import tagline


@pytest.mark.parametrize("prune", [None, 0.01])
def test_training_tagging_and_explaining(prune: float | None, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.tagline"
    options = ["--order", 2, "--max-iterations", 8] + ([] if prune is None else ["--prune", prune])
    done = tagline("train", folder / "train.txt", "-o", path, "--template", "english_ner", *options)
    assert done.code == 0, done.err
    model = CRF("english_ner", scheme="auto", max_iterations=8, order=2, prune=prune).fit(
        read_columns(folder / "train.txt")
    )
    dev = read_columns(folder / "dev.txt")
    assert package.load(path).predict(dev) == model.predict(dev)
    tagged = tagline("tag", "-m", path, folder / "dev.txt", "--spans")
    assert tagged.code == 0
    assert tagline("explain", "-m", path, "Anna lives in Rome.").code == 0
    assert "triples" in tagline("inspect", path).out


def test_pruning_needs_order_2(folder: Path, tmp_path: Path) -> None:
    done = tagline("train", folder / "train.txt", "-o", tmp_path / "m.tagline", "--prune", 0.01)
    assert done.code != 0
    assert "prune: " in done.err
    done = tagline("train", folder / "train.txt", "-o", tmp_path / "m.tagline", "--order", 3)
    assert "--order: " in done.err
