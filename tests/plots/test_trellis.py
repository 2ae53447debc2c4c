"""The trellis is the engine's numbers: areas, widths and lines are read back from the SVG and compared with it."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from tagline import CRF, HMM, Chain, Corpus, InputError, NoPathError, TrigramTagger, chain, plots, show

from .pictures import Svg

EVIL = "<img src=x onerror=alert(1)>"
BLUE, ORANGE = "#2f7fd0", "#d9730d"


def draw(seed: int, T: int, L: int, scale: float = 1.5) -> Chain:
    rng = np.random.default_rng(seed)
    return Chain(rng.normal(0, scale, (T, L)), rng.normal(0, scale, (L, L)), rng.normal(size=L), rng.normal(size=L))


def lines(svg: Svg, colour: str) -> list[tuple[float, ...]]:
    found = [line.attrib for line in svg.all("line") if line.attrib["stroke"] == colour]
    return [tuple(float(line[name]) for name in ("x1", "y1", "x2", "y2")) for line in found]


def test_areas_of_nodes_and_widths_of_edges_are_the_marginals() -> None:
    one = draw(1, 5, 3)
    labels, tokens = ["A", "B", "C"], list("vwxyz")
    svg = Svg(plots.trellis(one, tokens=tokens, labels=labels).svg())
    truth = chain.marginals(one, edges=True)
    circles, edges = svg.noted("circle"), svg.noted("line")
    for (t, j), p in np.ndenumerate(truth.nodes):
        area = float(circles[f"{tokens[t]}: {labels[j]} {p:.4f}"].attrib["r"]) ** 2 / 100 if p >= 0.005 else 0.0
        assert area == pytest.approx(p if p >= 0.005 else 0.0, abs=2e-4)
    assert truth.edges is not None
    shown = {(t, i, j) for t, i, j in np.argwhere(truth.edges >= 0.005).tolist()}
    drawn = [line for line in svg.all("line") if "→" in "".join(line.itertext())]
    assert len(drawn) == len(shown)
    t, i, j = max(shown, key=lambda place: truth.edges[place])
    width = float(edges[f"{labels[i]} → {labels[j]}: {truth.edges[t, i, j]:.4f}"].attrib["stroke-width"])
    assert width == pytest.approx(6 * truth.edges[t, i, j], abs=1e-3)


def test_the_best_labelling_is_a_line_and_the_runner_up_a_dashed_one() -> None:
    one = draw(2, 6, 3)
    ranked = chain.k_best(one, 2)[0]
    drawn = plots.trellis(one, labels=["A", "B", "C"])
    svg = Svg(drawn.svg())
    rows = {word.text: float(word.attrib["y"]) for word in svg.all("text") if word.text in ("A", "B", "C")}
    for colour, k in ((BLUE, 0), (ORANGE, 1)):
        path = lines(svg, colour)[1:]  # the first is that of the legend
        heights = [path[0][1], *(line[3] for line in path)]
        assert heights == pytest.approx([rows["ABC"[label]] for label in ranked.labels[k]], abs=1e-3)
    assert {"stroke-dasharray" in line.attrib for line in svg.all("line") if line.attrib["stroke"] == ORANGE} == {True}
    assert {"stroke-dasharray" in line.attrib for line in svg.all("line") if line.attrib["stroke"] == BLUE} == {False}
    assert drawn.probability == pytest.approx(float(ranked.probabilities[0]))
    assert f"runner-up, probability {ranked.probabilities[1]:.4f}" in svg.words()


def test_cells_that_no_labelling_passes_are_hatched() -> None:
    """Label 1 is forbidden at the end, so nothing that leads only there is possible either."""
    one = Chain([[0.0, 0.0, 0.0]] * 2, [[0.0, 0.0, 0.0], [-np.inf, 0.0, -np.inf], [0.0, 0.0, 0.0]], end=[0, -np.inf, 0])
    drawn = plots.trellis(one, labels=["A", "B", "C"], tokens=["x", "y"])
    assert (~drawn.possible).tolist() == [[False, True, False]] * 2
    hatched = {note for note in Svg(drawn.svg()).noted("line") if "not possible" in note}
    assert hatched == {"x: B is not possible", "y: B is not possible"}


@pytest.mark.parametrize(("T", "L"), [(0, 3), (1, 1), (1, 4), (3, 1), (4, 60), (200, 5)])
def test_every_size_is_drawn(T: int, L: int, tmp_path: Path) -> None:
    drawn = plots.trellis(draw(3, T, L), path=tmp_path / "one.svg")
    svg = Svg((tmp_path / "one.svg").read_text(encoding="utf-8"))
    assert svg.inside()
    assert len(drawn.tokens) == T
    assert (drawn.runner_up is None) == (T == 0 or L == 1)
    shown = [word for word in svg.words() if word.startswith("…")]
    expected = [*(["… 140 more tokens"] if T == 200 else []), *(["… 36 more labels, less probable"] if L == 60 else [])]
    assert shown == expected
    drawn.save(tmp_path / "one.png")
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")


def test_long_sentences_go_on_below() -> None:
    svg = Svg(plots.trellis(draw(4, 40, 3), most=40).svg())
    tokens = {word.text: float(word.attrib["y"]) for word in svg.all("text") if word.attrib.get("font-weight")}
    assert len(tokens) == 40
    assert len(set(tokens.values())) == 3  # bands
    assert float(svg.root.attrib["width"]) <= 900
    blue = lines(svg, BLUE)[1:]
    assert len(blue) == 39 + 2  # a line between two bands has two halves
    halves = [k for k in range(1, len(blue)) if blue[k][0] < blue[k - 1][0]]
    assert len(halves) == 2
    best = plots.trellis(draw(4, 40, 3), most=40).best
    for k, t in zip(halves, (halves[0], halves[1] - 1), strict=True):
        rises = [blue[n][3] - blue[n][1] for n in (k - 1, k)]
        assert rises == pytest.approx([13.0 * (best[t] - best[t - 1])] * 2, abs=1e-2)  # half a row for each label


def test_of_many_labels_those_of_the_best_labelling_are_always_shown() -> None:
    one = draw(5, 12, 40, scale=3.0)
    drawn = plots.trellis(one, most_labels=2)
    words = Svg(drawn.svg()).words()
    assert {str(label) for label in drawn.best} <= set(words)


def test_everything_is_escaped(tmp_path: Path) -> None:
    drawn = plots.trellis(
        draw(6, 3, 2), tokens=[EVIL, "a\x00\x1b\ud800\uffff", "&\"'"], labels=[EVIL, "</svg><script>"]
    )
    for source in (drawn.svg(), drawn.html()):
        assert "<img" not in source
        assert "<script" not in source
        source.encode()
    svg = Svg(drawn.svg())
    assert any(note.startswith(f"{EVIL}: ") for note in svg.noted("circle"))
    assert "&\"'" in svg.words()
    drawn.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "color-scheme" in page
    assert "<img" not in page


@given(tokens=st.lists(st.text(max_size=8), min_size=2, max_size=2), label=st.text(max_size=8))
def test_any_text_is_well_formed(tokens: list[str], label: str) -> None:
    drawn = plots.trellis(draw(6, 2, 2), tokens=tokens, labels=[label, "\ud800"])
    assert len(Svg(drawn.svg()).words()) == 6  # labels, tokens, two notes
    drawn.html().encode()


def test_transitions_of_each_token() -> None:
    """Sentence 1 of a chain with transitions [N, L, L] is drawn by its own."""
    rng = np.random.default_rng(9)
    whole = Chain(rng.normal(size=(5, 2)), rng.normal(size=(5, 2, 2)), offsets=[0, 2, 5])
    np.testing.assert_allclose(plots.trellis(whole, 1).nodes, chain.marginals(whole).nodes[2:], rtol=0, atol=1e-12)


def test_sentences_that_are_no_words() -> None:
    series = [np.array([[0.1], [0.2], [5.0]]), np.array([[5.1], [0.0]])]
    hmm = HMM(2, emission="gaussian", random_state=0).fit(series)
    drawn = plots.trellis(hmm, series[0])
    assert drawn.tokens == ("0.1", "0.2", "5")
    features = [[{"bias": 1.0, "up": 0.5}, {"bias": 1.0}]]
    crf = CRF(max_iterations=3).fit(features, [["A", "B"]])
    assert plots.trellis(crf, features[0]).tokens == ("0", "1")


def test_it_is_shown_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    show(plots.trellis(draw(2, 2, 2), tokens=["x", "\x1b"], labels=["A", "B"]))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert "x/" in lines[0]
    assert "\\u001b/" in lines[0]


def test_light_and_dark() -> None:
    """A file follows its reader's theme; inside a page the letters have the page's colour."""
    drawn = plots.trellis(draw(7, 3, 2))
    assert "prefers-color-scheme:dark" in drawn.svg()
    assert "<style" not in drawn._repr_html_()
    inks = {word.attrib["fill"] for word in Svg(drawn.svg()).all("text")}
    assert inks == {"currentColor"}


def test_what_shows_no_html_gets_a_png(monkeypatch: pytest.MonkeyPatch) -> None:
    for drawn in (plots.trellis(draw(7, 3, 2)), plots.viterbi_table(draw(7, 3, 2))):
        data = drawn._repr_png_()
        assert data is not None
        assert data.startswith(b"\x89PNG\r\n")
        width, height = (int.from_bytes(data[place : place + 4], "big") for place in (16, 20))
        sketch = drawn.sketch()
        assert abs(width / height - sketch.width / sketch.height) < 0.02
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert plots.trellis(draw(7, 3, 2))._repr_png_() is None


def test_models_and_sentences() -> None:
    corpus = Corpus.from_sentences([(["Anna", "sings"], ["B-PER", "O"]), (["Rome", "sleeps"], ["B-LOC", "O"])] * 3)
    crf = CRF("english_ner", max_iterations=5).fit(corpus)
    by_text = plots.trellis(crf, "Anna sleeps")
    for other in (
        plots.trellis((crf, ["Anna", "sleeps"])),
        plots.trellis(crf, Corpus.from_sentences([{"token": ["Anna", "sleeps"]}])[0]),
    ):
        assert other.tokens == by_text.tokens == ("Anna", "sleeps")
        np.testing.assert_array_equal(other.nodes, by_text.nodes)
    np.testing.assert_allclose(by_text.nodes, crf.marginal_arrays([["Anna", "sleeps"]])[0], rtol=0, atol=1e-6)
    fixed = plots.trellis(crf, ["Anna", "sleeps"], known=["B-LOC", None])
    assert fixed.labels[fixed.best[0]] == "B-LOC"
    assert plots.trellis(crf, "").tokens == ()
    hmm = HMM().fit(corpus)
    assert plots.trellis(hmm, ["Anna", "sings"]).labels == tuple(hmm.labels_)


def test_pairs_of_labels_are_summed() -> None:
    corpus = Corpus.from_sentences([(["the", "Dog", "runs"], ["D", "N", "V"]), (["the", "run"], ["D", "N"])] * 4)
    model = TrigramTagger().fit(corpus)
    drawn = plots.trellis(model, ["the", "run"])
    np.testing.assert_allclose(drawn.nodes, model.marginal_arrays([["the", "run"]])[0], rtol=0, atol=1e-6)
    np.testing.assert_allclose(drawn.edges[1].sum(axis=0), drawn.nodes[1], rtol=0, atol=1e-9)
    with pytest.raises(InputError, match=r"\bpairs\b"):
        plots.forward_table(model, ["the", "run"])


def test_axes_of_the_caller() -> None:
    axes = Figure().subplots()
    drawn = plots.trellis(draw(8, 3, 2), ax=axes, labels=["$a$", "b"])
    assert "$a$" in [text.get_text() for text in axes.texts]
    assert len(axes.patches) == len(Svg(drawn.svg()).all("circle"))


def test_refusals(tmp_path: Path) -> None:
    two = Chain(np.zeros((4, 2)), np.zeros((2, 2)), offsets=[0, 1, 4])
    assert len(plots.trellis(two, 1).tokens) == 3
    for source, how, message in (
        (two, {}, r"\bsentence="),
        (two, {"sentence": 2}, r"^sentence: "),
        (two, {"sentence": 0, "labels": ["a"]}, r"^labels: "),
        (two, {"sentence": 0, "tokens": "a"}, r"^tokens: "),
        (two, {"sentence": 0, "known": ["a"]}, r"^known: "),
        (two, {"sentence": 0, "path": tmp_path / "x.gif"}, r"^path: .*\.svg, \.png, \.pdf, \.html.*x\.gif"),
        (two, {"sentence": 0, "most": 0}, r"^most: "),
        (3, {}, "a Chain, or a model and a sentence"),
        (Chain(np.zeros((2000, 100)), np.zeros((100, 100))), {}, r"\b2,000\b"),
    ):
        with pytest.raises(InputError, match=message):
            plots.trellis(source, **how)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(NoPathError):
        plots.trellis(Chain([[-np.inf, -np.inf]], np.zeros((2, 2))))
