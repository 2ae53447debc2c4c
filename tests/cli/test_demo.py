"""tagline demo: what it shows and leaves behind. The commands of the guide run in tests/test_documents.py."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from tagline.cli import demonstration as demo
from tagline.datasets import make_entities

from .commands import tagline


def test_the_demo_shows_what_it_does_and_leaves_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = tagline("demo", "--keep", "demo")
    assert done.code == 0, done.err
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
        assert words in done.out
    assert "\x1b" not in done.out
    f1 = float(re.search(r"\n  all +\S+ +\S+ +(\S+)", done.out)[1])  # type: ignore[index]
    assert f1 > 90
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == ["model.tagline", "test.txt", "train.txt"]
    tagged = tagline("tag", "-m", "demo/model.tagline", "demo/test.txt")
    assert "FB1:  9" in tagline("eval", "-", input=tagged.out).out


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
