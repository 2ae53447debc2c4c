"""tagline demo, and the commands of the guide, which are run as they stand there."""

from __future__ import annotations

import io
import re
import shlex
from pathlib import Path

import pytest
from rich.console import Console

from tagline.cli import demonstration as demo
from tagline.datasets import make_entities

from .commands import Done, tagline

GUIDE = Path(__file__).parents[2] / "docs" / "command-line.md"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("guide")


def run_line(line: str, monkeypatch: pytest.MonkeyPatch, home: Path) -> Done:
    """Run a line of shell that has nothing but echo, tagline and pipes in it."""
    monkeypatch.chdir(home)
    text: str | None = None
    for part in line.split(" | "):
        words = shlex.split(part)
        if words[0] == "echo":
            text = words[1] + "\n"
            continue
        assert words[0] == "tagline", line
        done = tagline(*words[1:], input=text)
        assert done.code == 0, done.err
        text = done.out
    return done


def test_the_guide_runs(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    blocks = re.findall(r"```sh\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.S)
    outputs = {line: run_line(line, monkeypatch, home).out for block in blocks for line in block.splitlines()}
    assert len(outputs) >= 9
    shown = next(iter(outputs.values()))
    for words in (
        "Training on 2,000 such sentences",
        "all of whose names are unseen too",
        "[PER Marta Lindqvist 0.",
        "[LOC 温州 0.",
        "Why is Valparaiso B-LOC and not ",
        "U10:in\n",
        "lower of the token before",
        "tagline tag -m demo/model.tagline demo/test.txt | tagline eval -",
    ):
        assert words in shown
    assert "\x1b" not in shown
    f1 = float(re.search(r"\n  all +\S+ +\S+ +(\S+)", shown)[1])  # type: ignore[index]
    assert f1 > 90
    assert "FB1:  9" in outputs["tagline tag -m demo/model.tagline demo/test.txt | tagline eval -"]


def test_the_fresh_sentences_are_unseen() -> None:
    seen = " ".join(make_entities(demo.TRAINING).texts or ())
    for name in ("Marta", "Lindqvist", "Valparaiso", "Baltic", "星海", "欧阳雪", "温州"):
        assert name in "".join(demo.FRESH)
        assert name not in seen


def test_colour_where_there_is_a_terminal() -> None:
    sentence = make_entities(1)[0]
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, color_system="standard")
    console.print(
        demo.coloured(sentence, demo.ShownLabelling(sentence.tags or [], spans=[demo.ShownSpan(0, 1, "PER", 0.5)]))
    )
    assert re.search(r"\x1b\[30;42m\[PER \S+ 0\.500\]\x1b\[0m", out.getvalue())
