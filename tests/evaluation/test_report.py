"""The report as text, JSON and HTML, and the pictures."""

from __future__ import annotations

import json
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from tagline.errors import InputError
from tagline.evaluation import (
    Report,
    evaluate,
    evaluate_spans,
    evaluate_tokens,
    plot_confusion,
    plot_reliability,
    plot_types,
    reliability,
)
from tagline.evaluation.plots import MissingPlotExtraError, plot_transitions

from .cases import random_pair

GOLD = [["B-PER", "I-PER", "O"], ["B-<b>&", "O"]]
GUESS = [["B-PER", "O", "B-PER"], ["B-<b>&", "O"]]
WORDS = [["Anna", "<script>", "sings"], ["a&b", "here"]]


@pytest.fixture
def report() -> Report:
    probabilities = reliability([0.9, 0.8, 0.6], [True, True, False])
    found = evaluate(GOLD, GUESS, tokens=WORDS, other=GOLD, resamples=200, seed=1)
    return found.with_calibration(spans=probabilities)


def test_text_has_every_part_and_says_its_rule(report: Report) -> None:
    titles = [title for title, _ in report.sections()]
    assert titles == [
        "Spans (rule: conlleval)",
        "Confidence",
        "Comparison",
        "Partial matches",
        "Mistakes",
        "Tokens",
        "Calibration of spans",
    ]
    text = report.text()
    assert report.spans is not None
    assert report.spans.text() in text
    assert all(f"{title}\n{'-' * len(title)}\n" in text for title in titles)


def test_parts_are_those_of_the_single_functions(report: Report) -> None:
    assert report.spans == evaluate_spans(GOLD, GUESS)
    assert report.tokens.as_dict() == evaluate_tokens(GOLD, GUESS).as_dict()
    assert report.partial is not None
    assert report.mistakes is not None
    assert report.comparison is not None
    assert report.interval is not None
    assert report.comparison.second == 1
    assert (report.interval.resamples, report.comparison.resamples) == (200, 200)
    bare = evaluate(GOLD, GUESS, other=GUESS)
    assert bare.interval is None
    assert bare.comparison is not None
    assert (bare.comparison.p_value, bare.comparison.resamples) == (1, 10_000)


def test_json_keys_stay(report: Report) -> None:
    found = json.loads(report.json())
    assert list(found) == [
        "format", "version", "spans", "tokens", "partial", "mistakes", "interval", "comparison", "calibration"
    ]  # fmt: skip
    assert (found["format"], found["version"]) == ("tagline-evaluation", 1)
    assert list(found["spans"]) == ["rule", "tokens", "accuracy", "overall", "macro_f1", "by_type"]
    assert list(found["spans"]["overall"]) == ["correct", "found", "gold", "precision", "recall", "f1"]
    assert list(found["tokens"]) == ["tokens", "accuracy", "macro_f1", "by_label", "labels", "confusion"]
    assert list(found["partial"]) == ["rule", "exact", "boundary", "type", "overlap"]
    assert list(found["mistakes"]) == ["rule", "gold", "predicted", "types", "examples"]
    assert list(found["interval"]) == ["metric", "value", "low", "high", "level", "resamples", "seed"]
    assert set(found["comparison"]) == {
        "metric", "first", "second", "difference", "p_value", "method", "resamples", "seed"
    }  # fmt: skip
    assert list(found["calibration"]["spans"]) == ["binning", "ece", "mce", "brier", "bins"]
    assert found["mistakes"]["examples"]["boundary"][0] == {
        "sentence": 0, "gold": [0, 2, "PER"], "predicted": [0, 1, "PER"], "tokens": ["Anna", "<script>", "sings"]
    }  # fmt: skip
    assert found == report.as_dict()


def test_tags_without_spans() -> None:
    report = evaluate([["NN", "VB"]], [["NN", "NN"]], rule=None)
    assert report.spans is report.partial is report.mistakes is None
    assert [title for title, _ in report.sections()] == ["Tokens"]
    assert json.loads(report.json())["spans"] is None
    assert "Accuracy 50.00%" in report.html()


class Checker(HTMLParser):
    """Collects text and tags; every tag must be closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        assert not {name for name, _ in attrs} & {"src", "href"}
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def test_html_is_whole_and_escaped(report: Report) -> None:
    checker = Checker()
    checker.feed(report.html("Results of <i>"))
    assert checker.open == []
    assert not checker.seen & {"script", "b", "i", "link", "img"}
    for words in ("Results of <i>", "<b>&", "Anna <script>", "Rule: conlleval", "ECE"):
        assert words in checker.words
    assert '<mark class="gold">&lt;script&gt;</mark>' in report.html()
    assert '<mark class="shared">Anna</mark>' in report.html()


def test_many_labels_get_a_list_of_confusions() -> None:
    tags = [[f"L{n:02d}" for n in range(50)]]
    html = evaluate(tags, [[*tags[0][1:], "L00"]], rule=None).html()
    assert "Most frequent confusions" in html
    assert "gold \\ predicted" not in html


def size_of(path: Path) -> tuple[int, int]:
    """Width and height of a PNG."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    return int.from_bytes(data[16:20]), int.from_bytes(data[20:24])


@pytest.mark.parametrize("label", [r"$\frac$", "$a_", "a\nb", "\x1b[31m", "\ud800", "\x00"])
def test_labels_are_drawn_as_they_are(tmp_path: Path, label: str) -> None:
    gold, predicted = [[f"B-{label}", "O"]], [["O", f"B-{label}"]]
    plot_confusion(evaluate_tokens(gold, predicted), tmp_path / "confusion.png")
    plot_types(evaluate_spans(gold, predicted).by_type, tmp_path / "types.png", title=label)
    plot_transitions([label, "O"], [[1.0, 0.0], [0.5, 2.0]], tmp_path / "transitions.png")
    assert len(list(tmp_path.iterdir())) == 3


def test_plots_are_drawn_without_pyplot(tmp_path: Path) -> None:
    before = "matplotlib.pyplot" in sys.modules
    gold, predicted = random_pair(seed=1, sentences=50, letters="BI", types=("地名", "a" * 50 + "1", "a" * 50 + "2"))
    plot_confusion(evaluate_tokens(gold, predicted), tmp_path / "confusion.png")
    plot_types(evaluate_spans(gold, predicted).by_type, tmp_path / "types.png")
    for binning in ("width", "mass"):
        found = reliability(np.linspace(0, 1, 50) ** 2, np.arange(50) > 20, binning=binning)
        plot_reliability(found, tmp_path / f"{binning}.png")
    assert ("matplotlib.pyplot" in sys.modules) == before
    for name in ("confusion", "types", "width", "mass"):
        width, height = size_of(tmp_path / f"{name}.png")
        assert 400 < width < 3000, name
        assert 300 < height < 3000, name


def test_plots_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^tokens: "):
        plot_confusion(evaluate_tokens([], []), tmp_path / "confusion.png")
    plot_types({}, tmp_path / "types.png")
    plot_reliability(reliability([], []), tmp_path / "reliability.png")
    assert len(list(tmp_path.iterdir())) == 2


def test_a_missing_extra_names_its_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    with pytest.raises(MissingPlotExtraError, match=r"^plots: .*pip install 'tagline\[plot\]'"):
        plot_types({}, tmp_path / "types.png")
