"""Model files that version 0.1.0 wrote are read unchanged: one of each kind, with the answers it gave then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tagline

FOLDER = Path(__file__).parent / "fixtures"
EXPECTED: dict[str, dict[str, Any]] = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
NETWORKS = ("bilstm", "transformer")


def test_every_kind_has_a_file() -> None:
    assert {path.stem for path in FOLDER.glob("*.tagline")} == EXPECTED.keys()


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("name", EXPECTED)
def test_an_older_file_gives_its_answers(name: str) -> None:
    expected, network = EXPECTED[name], name in NETWORKS
    model: Any = tagline.load(FOLDER / f"{name}.tagline", **({"device": "cpu"} if network else {}))
    X = [np.array(sentence) for sentence in expected["X"]] if name == "hmm_gaussian" else expected["X"]
    assert [list(row) for row in model.predict(X)] == expected["labels"]
    close = {"rtol": 1e-5, "atol": 1e-6} if network else {"rtol": 1e-6, "atol": 1e-7}
    np.testing.assert_allclose(model.log_likelihood(X), expected["log_z"], **close)
    for ours, theirs in zip(model.marginal_arrays(X), expected["marginals"], strict=True):
        np.testing.assert_allclose(ours, np.reshape(theirs, ours.shape), **close)
    assert model.summary().as_dict() == expected["summary"]
