"""The example programs are short, run as they stand, and learn what they say."""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("one_thread")

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name: str) -> str:
    """What a program prints, as a process of its own would that has the libraries loaded already."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return output.getvalue()


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


# The first hour: six ways in.

FIRST_HOUR = {
    "english_entities.py": r"all +8\d\.\d\d.*PER +4-14 +Anna Smith",
    "chinese.py": r"ORG 0 5 \S{5}\n.*\n\S\S \S\S \S\S\n$",
    "network.py": r"dev F1 0\.[6-9]\d after 15 epochs\n",
    "time_series.py": r'emission="gaussian".*\n→ +3 .*\n\d\d+ % of the hidden states found\n$',
    "long_training.py": r"pass 5 .*lines in the log.*the same weights: True\n$",
}


def test_the_first_hour_is_all_there() -> None:
    names = {path.name for path in (EXAMPLES / "first_hour").iterdir()}
    assert names == {*FIRST_HOUR, "production.sh"}


@pytest.mark.parametrize("name", FIRST_HOUR)
def test_the_first_hour(name: str) -> None:
    assert re.search(FIRST_HOUR[name], run(f"first_hour/{name}"), re.DOTALL)


def test_the_first_hour_in_production() -> None:
    """The command of the environment that runs the tests."""
    home = Path(sys.executable).parent
    if not (home / "tagline").exists():
        pytest.skip("the package is not installed")
    path = f"{home}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", EXAMPLES / "first_hour" / "production.sh"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PATH": path},
    )
    assert "[PER Anna Smith] lives in [LOC Oslo]." in done.stdout
    assert "skipped 1 broken sentence" in done.stderr
    assert "read as raw text" in done.stderr
    assert "FB1:  9" in done.stdout
