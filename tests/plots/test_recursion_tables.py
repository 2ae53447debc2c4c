"""The tables of the recursions: the engine's numbers, by logarithms or themselves, with the pointers of Viterbi."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from tagline import HMM, Chain, InputError, NoPathError, chain, plots

from .pictures import Svg
from .test_trellis import BLUE, EVIL, draw, lines


def beginnings(one: Chain, t: int, label: int) -> list[float]:
    """Scores of all beginnings that give a token a label, counted one by one."""
    scores = []
    for path in itertools.product(range(one.num_labels), repeat=t):
        labels = (*path, label)
        score = one.start[labels[0]] + sum(one.emissions[n, k] for n, k in enumerate(labels))
        scores.append(float(score + sum(one.transitions[pair] for pair in itertools.pairwise(labels))))
    return scores


def test_sums_and_maxima_by_enumeration() -> None:
    one = draw(1, 4, 3)
    sums = plots.forward_table(one, logs=False).values
    best = plots.viterbi_table(one).values
    for t, label in itertools.product(range(4), range(3)):
        scores = beginnings(one, t, label)
        assert sums[t, label] == pytest.approx(np.exp(scores).sum(), rel=1e-12)
        assert best[t, label] == pytest.approx(max(scores), rel=1e-12)
    after = plots.backward_table(one).values
    np.testing.assert_allclose(np.log(sums) + after, chain.forward(one) + chain.backward(one), rtol=1e-12)


def test_numbers_of_an_hmm_are_probabilities() -> None:
    model = HMM().fit([["a", "b"], ["a", "a"], ["b"]], [["X", "Y"], ["X", "X"], ["Y"]])
    table = plots.forward_table(model, ["a", "b"], logs=False)
    assert table.values[-1].sum() == pytest.approx(float(np.exp(model.log_likelihood([["a", "b"]])[0])), rel=1e-6)
    assert table.labels == ("X", "Y")


def test_pointers_lead_along_the_best_labelling() -> None:
    one = draw(2, 5, 3)
    table = plots.viterbi_table(one, labels=["A", "B", "C"])
    assert table.back is not None
    assert table.best is not None
    for t in range(1, 5):
        assert table.back[t, table.best[t]] == table.best[t - 1]
    svg = Svg(table.svg())
    rows = {word.text: float(word.attrib["y"]) for word in svg.all("text") if word.text in ("A", "B", "C")}
    path = [line for line in lines(svg, BLUE) if line[0] != 10.0]  # but for the legend
    heights = [path[0][1], *(line[3] for line in path)]
    assert heights == pytest.approx([rows["ABC"[label]] for label in table.best], abs=1e-3)
    assert [float(box.attrib["stroke-width"]) for box in svg.all("rect") if "stroke" in box.attrib] == [2.0] * 5


def test_cells_have_the_numbers() -> None:
    one = Chain([[1.0, 0.5], [0.0, 0.0]], [[0.6, 1.0], [1.0, 0.0]], [0.0, -np.inf])
    words = Svg(plots.viterbi_table(one).svg()).words()
    for number in ("1.000", "−∞", "1.600", "2.000"):
        assert number in words
    assert str(plots.viterbi_table(one, tokens=["x", "y\n"], labels=["N", "V"])).splitlines() == [
        "         N      V",
        "  x  1.000     −∞",
        "y\\n  1.600  2.000",
    ]
    assert "0" in Svg(plots.forward_table(one, logs=False).svg()).words()


@pytest.mark.parametrize(("T", "L"), [(0, 2), (1, 1), (3, 60), (100, 4)])
@pytest.mark.parametrize("name", ["forward_table", "backward_table", "viterbi_table"])
def test_every_size_is_drawn(name: str, T: int, L: int, tmp_path: Path) -> None:
    table = getattr(plots, name)(draw(3, T, L), path=tmp_path / "table.html", labels=[EVIL] * L)
    svg = Svg(table.svg())
    assert svg.inside()
    assert "<img" not in (tmp_path / "table.html").read_text(encoding="utf-8")
    assert table.values.shape == (T, L)
    if T == 3:
        assert "… 36 more labels, with smaller numbers" in svg.words()


def test_axes_and_refusals() -> None:
    axes = Figure().subplots()
    plots.forward_table(draw(4, 2, 2), ax=axes)
    assert len(axes.patches) == 4
    with pytest.raises(InputError, match=r"^logs=False: "):
        plots.forward_table(Chain(np.full((80, 2), 10.0), np.zeros((2, 2))), logs=False)
    with pytest.raises(InputError, match=r"^logs: "):
        plots.forward_table(draw(4, 2, 2), logs="no")  # type: ignore[arg-type]
    with pytest.raises(NoPathError):
        plots.backward_table(Chain([[-np.inf]], [[0.0]]))
