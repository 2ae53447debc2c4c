"""A small model of each kind that labels words, and a service of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tagline
from tagline.datasets import make_entities

pytest.importorskip("fastapi", reason="the service needs: pip install 'tagline[web]'")
testclient = pytest.importorskip("starlette.testclient")


@pytest.fixture(scope="session")
def crf() -> Any:
    """A tagger of English entities."""
    held = make_entities(100, language="en", split="test")
    crf = tagline.CRF("english_ner", scheme="IOB2", c2=0.3, max_iterations=15)
    return crf.fit(make_entities(300, language="en"), X_dev=held)


@pytest.fixture(scope="session")
def model_file(crf: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its file."""
    path = tmp_path_factory.mktemp("models") / "names.tagline"
    crf.save(path)
    return path


@pytest.fixture(scope="session")
def trigram() -> Any:
    """A tagger whose labels mark no spans."""
    X = [["the", "cat", "sleeps"], ["a", "dog", "barks"]] * 3
    return tagline.TrigramTagger().fit(X, [["DT", "NN", "VBZ"]] * 6)


@pytest.fixture
def client(crf: Any, trigram: Any) -> Iterator[Any]:
    """A caller of a service with both."""
    from tagline.serving import create_app

    with testclient.TestClient(create_app({"names": crf, "pos": trigram})) as caller:
        yield caller
