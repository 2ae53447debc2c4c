"""Small corpora and models that the tests of the commands share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tagline.datasets import make_entities
from tagline.models.crf.estimator import CRF
from tagline.readers import write_columns

from .commands import tagline

NOUNS = "the DT B-NP\ncat NN I-NP\nsat VBD O\n\na DT B-NP\ndog NN I-NP\nsang VBD O\n\n"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files: train.txt and dev.txt of one column, and two.txt of two."""
    home = tmp_path_factory.mktemp("cli")
    write_columns(make_entities(150), home / "train.txt")
    write_columns(make_entities(30, seed=1, split="test"), home / "dev.txt")
    (home / "two.txt").write_text(NOUNS, encoding="utf-8")
    return home


@pytest.fixture(scope="session")
def model(folder: Path) -> Path:
    """A model of entities, English and Chinese."""
    path = folder / "model.tagline"
    done = tagline("train", folder / "train.txt", "-o", path, "--max-iterations", 12, "--c2", 0.1)
    assert done.code == 0, done.err
    return path


@pytest.fixture(scope="session")
def loaded(model: Path) -> CRF:
    """The same model in Python."""
    from tagline.models.files import load

    return load(model)


@pytest.fixture(scope="session")
def chunker(folder: Path) -> Path:
    """A model that looks at two columns."""
    path = folder / "chunker.tagline"
    assert tagline("train", folder / "two.txt", "-o", path, "-q").code == 0
    return path


@pytest.fixture(scope="session")
def pos(folder: Path) -> Path:
    """A model whose tags mark no spans."""
    path = folder / "pos.tagline"
    assert tagline("train", folder / "two.txt", "-o", path, "-q", "--tag-column", 1).code == 0
    return path
