"""Figures draw into the axes of the caller or into new ones, save where a path is given, and return the axes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from tagline import CRF, HMM, InputError, plots
from tagline.drawing.charts import plot_states
from tagline.evaluation import (
    evaluate,
    evaluate_spans,
    evaluate_tokens,
    plot_confusion,
    plot_reliability,
    plot_types,
    reliability,
)
from tagline.evaluation.plots import plot_transitions

GOLD, PREDICTED = [["B-PER", "I-PER", "O"]] * 3, [["B-PER", "O", "O"]] * 3
SERIES = np.concatenate([np.zeros(20), np.full(20, 9.0)]) + np.random.default_rng(0).normal(size=40)


def drawings() -> dict[str, Callable[..., Any]]:
    report = evaluate(GOLD, PREDICTED)
    found = reliability(np.linspace(0, 1, 50), np.arange(50) > 20)
    words = HMM().fit([["the", "cat"], ["a", "dog"]], [["D", "N"]] * 2)
    series = HMM(2, emission="gaussian").fit(SERIES)
    crf = CRF(max_iterations=2).fit([[{"a": 1}, {"b": 1}]], [["N", "V"]])
    return {
        "confusion": lambda *p, **k: plot_confusion(report.tokens, *p, **k),
        "types": lambda *p, **k: plot_types(report.spans.by_type, *p, **k),  # type: ignore[union-attr]
        "reliability": lambda *p, **k: plot_reliability(found, *p, **k),
        "transitions": lambda *p, **k: plot_transitions(["a", "b"], [[-np.inf, 1.0], [-2.0, 0.0]], *p, **k),
        "crf": crf.plot_transitions,
        "hmm": words.plot_transitions,
        "states": lambda *p, **k: series.plot_states(SERIES, *p, **k),
        "words": lambda *p, **k: words.plot_states([["the", "cat"], ["the", "bird"]], *p, **k),
    }


@pytest.fixture(scope="module")
def drawn() -> dict[str, Callable[..., Any]]:
    return drawings()


NAMES = ("confusion", "types", "reliability", "transitions", "crf", "hmm", "states", "words")


@pytest.mark.parametrize("name", NAMES)
def test_axes_are_returned_and_files_written(drawn: dict[str, Any], name: str, tmp_path: Path) -> None:
    fresh = drawn[name]()
    assert fresh.get_figure().axes[0] is fresh
    assert list(tmp_path.iterdir()) == []
    figure = Figure(dpi=50)
    FigureCanvasAgg(figure)
    ax = figure.add_subplot(1, 2, 1)
    assert drawn[name](tmp_path / "picture.png", ax=ax) is ax
    assert ax.get_figure() is figure
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_axes_that_lie_freely_have_room_for_the_answers() -> None:
    figure = Figure()
    FigureCanvasAgg(figure)
    ax = figure.add_axes((0.1, 0.1, 0.8, 0.8))
    plot_reliability(reliability([0.2, 0.9], [False, True]), ax=ax)
    assert [axes.get_ylabel() for axes in figure.axes] == ["share that is right", "answers"]


def test_a_notebook_gets_its_figure_from_pyplot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made: list[Figure] = []
    ipython = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=None))
    pyplot: Any = SimpleNamespace(figure=lambda **look: made.append(Figure(**look)) or made[0])
    monkeypatch.setitem(sys.modules, "IPython", ipython)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", pyplot)
    monkeypatch.setattr(sys.modules["matplotlib"], "pyplot", pyplot, raising=False)
    ax = plot_types(evaluate(GOLD, PREDICTED).spans.by_type)  # type: ignore[union-attr]
    assert ax.get_figure() is made[0]
    plot_types({}, tmp_path / "types.png")
    assert len(made) == 1


def test_states_over_a_series(drawn: dict[str, Any]) -> None:
    ax = drawn["states"]()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0", "1"]
    assert [round(float(end)) for end in ax.get_xlim()] == [0, 40]
    line = ax.lines[0].get_ydata()
    np.testing.assert_array_equal(line, SERIES)
    low, high = ax.get_ylim()
    assert low < SERIES.min() < SERIES.max() < high
    words = drawn["words"]()
    assert [text.get_text() for text in words.get_yticklabels()][:2] == ["the", "cat"]
    assert np.isnan(words.lines[0].get_ydata()).tolist() == [False, False, False, True]  # bird is unknown


def test_bands_are_the_runs_of_states() -> None:
    ax = plot_states(np.arange(5.0), np.array([1, 1, 0, 1, 1]), ["calm", "$storm"], offsets=np.array([0, 3, 5]))
    calm, storm = ax.collections
    edges = [sorted({float(x) for x, _ in path.vertices}) for path in storm.get_paths()]
    assert edges == [[-0.5, 1.5], [2.5, 4.5]]
    assert calm.get_label() == "calm"
    assert np.isnan(ax.lines[0].get_ydata()).tolist() == [False, False, False, True, False, False]
    with pytest.raises(InputError, match=r"^X: "):
        plot_states(np.zeros(0), np.zeros(0, np.int64), [])
    many = plot_states(np.zeros((4, 20)), np.zeros(4, np.int64), ["a"])
    assert len(many.get_legend().get_texts()) == 1


def test_probabilities_have_a_scale_of_their_own(drawn: dict[str, Any]) -> None:
    assert drawn["hmm"]().images[0].get_clim()[0] == 0
    low, high = drawn["transitions"]().images[0].get_clim()
    assert (low, high) == (-2, 2)


def test_the_ending_of_a_name_is_the_kind_of_the_file(tmp_path: Path) -> None:
    tokens = evaluate_tokens([["A", "B"]], [["A", "A"]])
    beginnings = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF", "PNG": b"\x89PNG"}
    for kind, beginning in beginnings.items():
        first, second = (tmp_path / f"{n}.{kind}" for n in range(2))
        for path in (first, second):
            plot_confusion(tokens, path)
        assert first.read_bytes().startswith(beginning)
        assert first.read_bytes() == second.read_bytes()
    for name in ("c.jpg", "c", "model.tagline", "c.html"):
        with pytest.raises(InputError, match=r"^path: "):
            plot_confusion(tokens, tmp_path / name)
        assert not (tmp_path / name).exists()


def test_many_labels_make_no_endless_picture() -> None:
    """The most frequent are drawn, and the title says how many are left out."""
    names = [f"T{n:03d}" for n in range(120)]
    gold = [[f"B-{name}"] * (n + 1) for n, name in enumerate(names)]
    types = plot_types(evaluate_spans(gold, gold).by_type)
    assert types.get_figure().get_figheight() < 20
    assert len(types.get_yticklabels()) == 40
    assert types.get_yticklabels()[-1].get_text().startswith("T119")
    assert "80 left out" in types.get_title()
    flat = [[name] * (n + 1) for n, name in enumerate(names)]
    confusion = plot_confusion(evaluate_tokens(flat, flat))
    assert [tick.get_text() for tick in confusion.get_xticklabels()] == names[60:]
    assert "60 left out" in confusion.get_title()
    weights = np.zeros((120, 120))
    weights[7, 7] = 3.0
    transitions = plots.transitions(weights, labels=names)
    assert "T007" in [tick.get_text() for tick in transitions.get_xticklabels()]
    assert len(transitions.get_xticklabels()) == 60
    assert "60 left out" in transitions.get_title()
