"""The example programs are short, run as they stand, and learn what they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name: str) -> str:
    """What a program prints; with one thread, for its networks are tiny."""
    return subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    ).stdout


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) < 60


def test_the_toy() -> None:
    *epochs, first, second, unseen, empty = run("toy_bilstm_crf.py").splitlines()
    losses = [float(line.split()[-1]) for line in epochs]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.2
    gold = "the/B royal/I bank/I of/I scotland/I opened/O a/O branch/O in/O leeds/B"
    assert first.partition("  ")[2] == gold
    assert second.partition("  ")[2] == "leeds/B castle/I is/O not/O in/O leeds/B"
    assert all(0.9 < float(line.split()[0]) < 1 for line in (first, second))
    assert re.fullmatch(r"\d\.\d+  the/\w bank/\w opened/\w in/\w wick/\w", unseen), "a word that was never seen"
    assert empty.strip() == "1.000", "a sentence without words has one labelling"


def test_the_module_for_batches() -> None:
    found = re.fullmatch(r"loss \S+, (\d+) of 200 sentences right\n", run("bilstm_crf_module.py"))
    assert found is not None
    assert int(found[1]) >= 190


def test_the_module_on_bert() -> None:
    pytest.importorskip("transformers")
    found = re.fullmatch(r"loss \S+, (\d+) of 100 sentences right\n", run("bert_crf_module.py"))
    assert found is not None
    assert int(found[1]) >= 95
