"""Draw the pictures of pages 5 to 7 of the course: `python docs/draw_family.py`. A test compares them with the files.

Blue discs are labels, grey ones what is observed, squares are factors: each ties the variables that it is joined to.
Pictures with words in them are drawn in English and in Chinese by the same code.
"""

from __future__ import annotations

from itertools import pairwise
from math import hypot
from pathlib import Path

from tagline.drawing.sketch import BEST, INK, RIVAL, Box, Disc, Line, Shape, Sketch, Word
from tagline.drawing.svg import svg

IMAGES = Path(__file__).parent / "images"
LANGUAGES = {"": "en", "-zh": "zh"}  # how the names of files end
Point = tuple[float, float]


# Parts of a graph


def node(place: Point, text: str, *, observed: bool = False, radius: float = 16) -> list[Shape]:
    """A variable."""
    colour, opacity = (INK, 0.14) if observed else (BEST, 0.4)
    return [Disc(*place, radius, colour, opacity), Word(*place, text, 13)]


def line(
    a: Point, b: Point, *, short: float = 16, arrow: bool = False, colour: str = INK, width: float = 1.4
) -> list[Shape]:
    """A line from one place to another that ends `short` before the middle of either; with a head, an arrow."""
    length = hypot(b[0] - a[0], b[1] - a[1])
    ux, uy = (b[0] - a[0]) / length, (b[1] - a[1]) / length
    tail, tip = (a[0] + short * ux, a[1] + short * uy), (b[0] - short * ux, b[1] - short * uy)
    shapes: list[Shape] = [Line(*tail, *tip, colour, width, 0.8)]
    if arrow:
        for side in (-1, 1):  # two short strokes, 30 degrees off the line
            back = (-0.87 * ux + side * 0.5 * uy, -0.87 * uy - side * 0.5 * ux)
            shapes.append(Line(*tip, tip[0] + 7 * back[0], tip[1] + 7 * back[1], colour, width, 0.8))
    return shapes


def factor(place: Point, *ties: Point, colour: str = RIVAL) -> list[Shape]:
    """A square that is joined to variables."""
    lines: list[Shape] = []
    for tie in ties:
        length = hypot(tie[0] - place[0], tie[1] - place[1])
        share = 1 - 16 / length
        end = (place[0] + share * (tie[0] - place[0]), place[1] + share * (tie[1] - place[1]))
        lines.append(Line(*place, *end, INK, 1.4, 0.8))
    return [*lines, Box(place[0] - 5, place[1] - 5, 10, 10, colour)]


def middle(a: Point, b: Point) -> Point:
    """The place half way."""
    return (a[0] + b[0]) / 2, (a[1] + b[1]) / 2


# The family


def grid(language: str) -> Sketch:
    """Generative and discriminative models of one label, of a chain, of any graph."""
    words = {
        "en": (
            "Models of one label, of a chain, of any graph: generative above, discriminative below",
            ("one label", "a chain of labels", "any graph of labels"),
            ("generative: p(x, y)", "discriminative: p(y | x)"),
            (("naive Bayes", "HMM", "Bayesian network"), ("logistic regression", "linear-chain CRF", "general CRF")),
            ("in a row", "more links", "given x"),
        ),
        "zh": (
            "单个标签、链、一般图的模型：上排生成式，下排判别式",
            ("单个标签", "标签成链", "标签成一般图"),
            ("生成式：p(x, y)", "判别式：p(y | x)"),
            (
                ("朴素贝叶斯", "隐马尔可夫模型", "贝叶斯网络"),
                ("逻辑斯谛回归", "线性链条件随机场", "一般条件随机场"),
            ),
            ("排成链", "更多边", "给定 x"),
        ),
    }[language]
    title, columns, rows, names, steps = words
    shapes: list[Shape] = []
    for column, text in enumerate(columns):
        shapes.append(Word(100 + 260 * column, 18, text, 13, bold=True))
    for row, text in enumerate(rows):
        top = 40 + 232 * row
        for column in range(3):
            x = 8 + 260 * column
            shapes += [Box(x, top, 190, 168, INK, 0.05), Word(x + 95, top + 150, names[row][column], 13, bold=True)]
            if column:
                shapes += line((x - 66, top + 84), (x - 4, top + 84), short=0, arrow=True)
                shapes.append(Word(x - 35, top + 70, steps[column - 1], 10.5, opacity=0.8))
        shapes.append(Word(8, top + 180, text, 12, "start", opacity=0.85))
        shapes += (
            _single(top, generative=row == 0) + _chain(top, generative=row == 0) + _graph(top, generative=row == 0)
        )
    for column in range(3):
        x = 150 + 260 * column
        shapes += line((x, 214), (x, 268), short=0, arrow=True)
        shapes.append(Word(x + 8, 240, steps[2], 10.5, "start", opacity=0.8))
    return Sketch(726, 464, title, tuple(shapes))


def _single(top: float, *, generative: bool) -> list[Shape]:
    label, inputs = (103.0, top + 34), [(48.0, top + 108), (103.0, top + 108), (158.0, top + 108)]
    shapes = node(label, "y")
    for n, place in enumerate(inputs):
        shapes += node(place, f"x{'₁₂₃'[n]}", observed=True)
        shapes += line(label, place, arrow=True) if generative else factor(middle(label, place), label, place)
    return shapes


def _chain(top: float, *, generative: bool) -> list[Shape]:
    labels, inputs = ([(308.0 + 55 * n, top + height) for n in range(3)] for height in (34, 108))
    shapes: list[Shape] = []
    for n, (label, place) in enumerate(zip(labels, inputs, strict=True)):
        shapes += node(label, f"y{'₁₂₃'[n]}") + node(place, f"x{'₁₂₃'[n]}", observed=True)
        shapes += line(label, place, arrow=True) if generative else factor(middle(label, place), label, place)
    for a, b in pairwise(labels):
        shapes += line(a, b, arrow=True) if generative else factor(middle(a, b), a, b)
    return shapes


def _graph(top: float, *, generative: bool) -> list[Shape]:
    labels = [(568.0, top + 34), (640.0, top + 26), (596.0, top + 74), (676.0, top + 72)]
    place = (640.0, top + 118)
    links = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]
    shapes: list[Shape] = []
    for n, label in enumerate(labels):
        shapes += node(label, f"y{'₁₂₃₄'[n]}", radius=13)
    shapes += node(place, "x", observed=True)
    for first, second in links:
        a, b = labels[first], labels[second]
        shapes += line(a, b, short=13, arrow=True) if generative else factor(middle(a, b), a, b)
    for n in (2, 3):
        shapes += (
            line(labels[n], place, arrow=True) if generative else factor(middle(labels[n], place), labels[n], place)
        )
    return shapes


def chains() -> Sketch:
    """HMM, MEMM and CRF: the same variables, tied in three ways."""
    shapes: list[Shape] = []
    for column, name in enumerate(("HMM", "MEMM", "CRF")):
        left = 40.0 + 240 * column
        labels, inputs = ([(left + 70 * n, height) for n in range(3)] for height in (62.0, 142.0))
        shapes.append(Word(left + 70, 18, name, 14, bold=True))
        for n, (label, place) in enumerate(zip(labels, inputs, strict=True)):
            shapes += node(label, f"y{'₁₂₃'[n]}") + node(place, f"x{'₁₂₃'[n]}", observed=True)
            if name == "HMM":
                shapes += line(label, place, arrow=True)
            elif name == "MEMM":
                shapes += line(place, label, arrow=True)
            else:
                shapes += factor(middle(label, place), label, place)
        for a, b in pairwise(labels):
            shapes += factor(middle(a, b), a, b) if name == "CRF" else line(a, b, arrow=True)
        formula = {
            "HMM": "∏ P(yₜ | yₜ₋₁) P(xₜ | yₜ)",
            "MEMM": "∏ P(yₜ | yₜ₋₁, xₜ)",
            "CRF": "∏ ψ(yₜ₋₁, yₜ) ψ(yₜ, x) / Z(x)",
        }[name]
        shapes.append(Word(left + 70, 186, formula, 12))
    return Sketch(700, 206, "HMM, MEMM, CRF: y₁ y₂ y₃ over x₁ x₂ x₃", tuple(shapes))


def label_bias() -> Sketch:
    """The machine of rib and rob: two ways from state 0 to state 3, which part at the first letter."""
    places = {"0": (40.0, 90.0), "1": (170.0, 40.0), "2": (310.0, 40.0), "3": (440.0, 90.0)}
    places |= {"4": (170.0, 140.0), "5": (310.0, 140.0)}
    links = [("0", "1", "r  0.6"), ("1", "2", "i  1"), ("2", "3", "b  1")]
    links += [("0", "4", "r  0.4"), ("4", "5", "o  1"), ("5", "3", "b  1")]
    shapes: list[Shape] = []
    for a, b, text in links:
        shapes += line(places[a], places[b], arrow=True)
        x, y = middle(places[a], places[b])
        above = b in "12" or a == "2"
        shapes.append(Word(x, y + (-14 if above else 14), text, 12.5))
    for name, place in places.items():
        shapes += node(place, name, observed=name == "0")
    return Sketch(480, 180, "0 → 1 → 2 → 3: r i b; 0 → 4 → 5 → 3: r o b", tuple(shapes))


def cliques() -> Sketch:
    """A graph of four variables, and its factor graph with one factor for each maximal clique."""
    shapes: list[Shape] = []
    for left in (0.0, 250.0):
        places = {1: (left + 40.0, 80.0), 2: (left + 115.0, 30.0), 3: (left + 115.0, 130.0), 4: (left + 190.0, 80.0)}
        if left:
            for members in ((1, 2, 3), (2, 3, 4)):
                x, y = (sum(places[n][axis] for n in members) / 3 for axis in (0, 1))
                shapes += factor((x, y), *(places[n] for n in members))
        else:
            for a, b in ((1, 2), (1, 3), (2, 3), (2, 4), (3, 4)):
                shapes += line(places[a], places[b])
        for n, place in places.items():
            shapes += node(place, f"x{'₁₂₃₄'[n - 1]}")
    shapes += [Word(320, 100, "ψ₁₂₃", 12), Word(410, 100, "ψ₂₃₄", 12)]
    return Sketch(480, 160, "x₁ x₂ x₃ x₄: ψ₁₂₃ ψ₂₃₄", tuple(shapes))


# Templates


def template(language: str) -> Sketch:
    """Rows are counted from the present token, columns from the left."""
    title, rows, heads, present = {
        "en": (
            "A template line at the token sat: rows are counted from it, columns from the left",
            (("the", "DT"), ("cat", "NN"), ("sat", "VBD"), ("down", "RB")),
            ("column 0", "column 1", "label", "row"),
            2,
        ),
        "zh": (
            "模板在“北京”处展开：行从当前词数起，列从左边数起",
            (("我", "代词"), ("爱", "动词"), ("北京", "名词"), ("。", "标点")),
            ("第 0 列", "第 1 列", "标签", "行"),
            2,
        ),
    }[language]
    labels = {"en": ("B-NP", "I-NP", "B-VP", "B-ADVP"), "zh": ("O", "O", "B-LOC", "O")}[language]
    shapes: list[Shape] = [
        Word(40, 18, heads[3], 12, opacity=0.8),
        *(Word(115 + 90 * n, 18, heads[n], 12, opacity=0.8) for n in range(3)),
    ]
    for n, row in enumerate(rows):
        y = 48.0 + 32 * n
        shapes.append(Word(40, y, f"{n - present:+d}".replace("-", "−").replace("+0", "0"), 12, opacity=0.8))
        for column, text in enumerate((*row, labels[n])):
            hot = (n - present, column) in ((-1, 0), (0, 1))
            colour = RIVAL if hot else BEST if column == 2 and n == present else INK
            opacity = 0.35 if colour != INK else 0.07
            shapes += [Box(74 + 90 * column, y - 13, 82, 26, colour, opacity), Word(115 + 90 * column, y, text, 13)]
    macros = "U05:%x[-1,0]/%x[0,1]"
    expanded = f"U05:{rows[present - 1][0]}/{rows[present][1]}"
    shapes += [Word(380, 80, macros, 13, "start"), Word(380, 112, f"→  {expanded}", 13, "start", bold=True)]
    return Sketch(570, 170, title, tuple(shapes))


# Networks


def bilstm(language: str) -> Sketch:
    """A BiLSTM-CRF from words to labels, with the emissions as bars."""
    title, words, rows, labels = {
        "en": (
            "A BiLSTM-CRF: words, vectors, two LSTMs, emissions, a chain",
            ("Anna", "saw", "Oslo"),
            ("words", "vectors", "LSTM →", "LSTM ←", "emissions  e = W h + b", "labels and transitions"),
            ("B-PER", "O", "B-LOC"),
        ),
        "zh": (
            "BiLSTM-CRF：字、向量、两个方向的 LSTM、发射分数、链",
            ("北", "京", "冷"),
            ("字", "向量", "LSTM →", "LSTM ←", "发射分数 e = W h + b", "标签与转移分数"),
            ("B-LOC", "I-LOC", "O"),
        ),
    }[language]
    heights = (372.0, 322.0, 262.0, 202.0, 130.0, 48.0)
    xs = (230.0, 380.0, 530.0)
    bars = ((0.9, 0.2, 0.1), (0.1, 0.8, 0.3), (0.3, 0.2, 0.7))
    shapes: list[Shape] = [Word(8, y, text, 12, "start", opacity=0.85) for y, text in zip(heights, rows, strict=True)]
    for n, x in enumerate(xs):
        shapes.append(Word(x, heights[0], words[n], 14, bold=True))
        shapes += line((x, heights[0]), (x, heights[1]), short=13, arrow=True)
        shapes += [Box(x - 34 + 18 * k, heights[1] - 8, 14, 16, INK, 0.16 + 0.1 * ((n + 2 * k) % 3)) for k in range(4)]
        for side, name, y in ((-24, "→", heights[2]), (24, "←", heights[3])):
            shapes += [Box(x + side - 22, y - 14, 44, 28, RIVAL, 0.3), Word(x + side, y, f"h{'₁₂₃'[n]}{name}", 12)]
            shapes += line((x + side, heights[1] - 8), (x + side, y + 14), short=2, arrow=True)
            shapes += line((x + side, y - 14), (x + side, heights[4] + 24), short=2, arrow=True)
        for k, share in enumerate(bars[n]):
            bar = 44 * share
            shapes.append(Box(x - 26 + 20 * k, heights[4] + 22 - bar, 12, bar, BEST))
        shapes += line((x, heights[4] - 26), (x, heights[5]), short=18, arrow=True)
        shapes += [Box(x - 34, heights[5] - 14, 68, 28, BEST, 0.35), Word(x, heights[5], labels[n], 13, bold=True)]
    for a, b in pairwise(xs):
        shapes += line((a - 2, heights[2]), (b - 46, heights[2]), short=3, arrow=True)
        shapes += line((b + 2, heights[3]), (a + 46, heights[3]), short=3, arrow=True)
        shapes += [Line(a + 34, heights[5], b - 34, heights[5], INK, 1.4, 0.8)]
        shapes += [Box((a + b) / 2 - 5, heights[5] - 5, 10, 10, RIVAL)]
        shapes.append(Word((a + b) / 2, heights[5] - 18, "A[y, y′]", 11))
    return Sketch(600, 396, title, tuple(shapes))


def pictures() -> dict[str, str]:
    """Return the SVG of each file."""
    sketches = {"family-chains": chains(), "family-label-bias": label_bias(), "family-cliques": cliques()}
    for end, language in LANGUAGES.items():
        sketches[f"family-grid{end}"] = grid(language)
        sketches[f"family-template{end}"] = template(language)
        sketches[f"family-bilstm-crf{end}"] = bilstm(language)
    return {f"{name}.svg": svg(sketch) for name, sketch in sketches.items()}


if __name__ == "__main__":
    for name, text in pictures().items():
        (IMAGES / name).write_text(text, encoding="utf-8")
