"""Draw the pictures of the course, docs/learn/1 to 4: `python docs/draw_course.py`, or with names for some of them.

`exact()` has pictures that are the same on every machine: a test compares them with the files. `measured()` has those
with times or rounding errors in them. A file that ends in -zh has Chinese words.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tagline import Chain, FeatureFunctions, chain, plots
from tagline.chain import check_gradients
from tagline.chain.linear import chain_from_log_potentials, gradient_linear, probability_linear
from tagline.drawing.sketch import BEST, INK, RIVAL, Box, Disc, Line, Shape, Sketch, Word, width_of
from tagline.drawing.svg import svg
from tagline.features.functions import FunctionLikelihood
from tagline.readers.schemes import legal
from tagline.training.gradient_descent import gd
from tagline.training.iteration import Convergence
from tagline.training.iterative_scaling import iis
from tagline.training.lbfgs import lbfgs
from tagline.training.run import Run

Array = NDArray[np.floating]
IMAGES = Path(__file__).parent / "images"

# --- page 1: three characters, 去北京, "go to Beijing" ---

CITY = ["去", "北", "京"]
CITY_LABELS = ["B-LOC", "I-LOC", "B-PER", "I-PER", "O"]
CITY_SCORES = np.array([[0.2, 0.1, 0.3, 0.0, 3.0], [2.0, 0.3, 1.5, 0.2, 0.8], [0.4, 1.6, 0.3, 1.8, 0.5]])


def city() -> Chain:
    """Three tokens with emissions alone."""
    return Chain(CITY_SCORES, np.zeros((5, 5)))


def graphs(texts: Sequence[str]) -> Sketch:
    """Labels that hang on their tokens alone, and labels that hang on each other."""
    shapes: list[Shape] = []
    for side, text in enumerate(texts):
        left = 30 + 330 * side
        middles = [left + 50 + 90 * t for t in range(3)]
        shapes.append(Word(left + 140, 16, text, 13, bold=True))
        for t, x in enumerate(middles):
            if side and t:
                shapes.append(Line(middles[t - 1] + 17, 66, x - 17, 66, BEST, 2.5))
            shapes.append(Line(x, 83, x, 120, width=1.5, opacity=0.6))
            shapes.append(Disc(x, 66, 17, BEST, 0.25))
            shapes.append(Word(x, 66, f"y{'₁₂₃'[t]}", 14))
            shapes.append(Box(x - 17, 120, 34, 30, INK, 0.0, 1.2))
            shapes.append(Word(x, 135, CITY[t], 15))
    return Sketch(650, 162, ": ".join(texts), tuple(shapes))


# --- page 2: the textbook's example of three tokens and two labels ---

LOG_PSI = np.array([[[1.0, 0.5], [0.0, 0.0]], [[1.4, 1.5], [1.8, 0.5]], [[0.8, 1.5], [1.8, 0.7]]])
BY_HAND = {"tokens": ["x₁", "x₂", "x₃"], "labels": ["1", "2"]}


def listed(psi: list[list[list[float]]]) -> float:
    """Z by the list of all labellings."""
    T, L = len(psi), len(psi[0])
    total = 0.0
    for labelling in itertools.product(range(L), repeat=T):
        weight = psi[0][0][labelling[0]]
        for t in range(1, T):
            weight *= psi[t][labelling[t - 1]][labelling[t]]
        total += weight
    return total


def summed(psi: list[list[list[float]]]) -> float:
    """Z by the forward sum, with the same plain loops."""
    alpha = psi[0][0]
    for step in psi[1:]:
        alpha = [sum(alpha[i] * step[i][j] for i in range(len(alpha))) for j in range(len(alpha))]
    return sum(alpha)


def seconds(function: Callable[[], object]) -> float:
    """The least time of a call, out of some."""
    best = float("inf")
    for _ in range(7):
        begun = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - begun)
    return best


def cost(title: str, tokens: str, time_taken: str, names: Sequence[str]) -> Sketch:
    """Measure the list of all labellings and the forward sum, with five labels."""
    random = np.random.default_rng(0)
    curves = []
    for function, lengths, name, colour in (
        (listed, (1, 2, 3, 4, 5, 6, 7), names[0], RIVAL),
        (summed, (1, 2, 4, 8, 16, 32, 64, 128, 256), names[1], BEST),
    ):
        points = []
        for T in lengths:
            psi = random.random((T, 5, 5)).tolist()
            points.append((float(np.log10(T)), float(np.log10(seconds(lambda f=function, p=psi: f(p))))))
        curves.append(Curve(name, points, colour, dots=True))
    across = Axis(tokens, [(float(np.log10(T)), str(T)) for T in (1, 2, 4, 8, 16, 32, 64, 128, 256)])
    return chart(title, across, Axis(time_taken, powers(range(-7, 1))), curves)


# --- page 3: how far the numbers go ---


def range_of_z(title: str, tokens: str, digits: str, names: Sequence[str]) -> Sketch:
    """log10 Z of growing sentences, and where float32 and float64 end."""
    log_psi = np.random.RandomState(1111).random_sample((400, 5, 5))
    log_alpha = chain.forward(chain_from_log_potentials(log_psi))
    log_z = np.logaddexp.reduce(log_alpha, axis=1) / np.log(10)
    curves = [Curve(names[0], [(t + 1, float(log_z[t])) for t in range(0, 400, 3)])]
    for name, dtype, colour in ((names[1], np.float64, RIVAL), (names[2], np.float32, INK)):
        limit = float(np.log10(float(np.finfo(dtype).max)))
        curves.append(Curve(name, [(0, limit), (400, limit)], colour, dashed=True))
    across = Axis(tokens, [(t, str(t)) for t in range(0, 401, 50)])
    return chart(title, across, Axis(digits, powers(range(0, 401, 50))), curves)


def log_marginals(emissions: Array, transitions: Array) -> Array:
    """Marginals by sums in the log domain, in the precision of what comes in."""
    log_alpha, log_beta = np.zeros_like(emissions), np.zeros_like(emissions)
    log_alpha[0] = emissions[0]
    for t in range(1, len(emissions)):
        log_alpha[t] = np.logaddexp.reduce(log_alpha[t - 1][:, None] + transitions, axis=0) + emissions[t]
    for t in range(len(emissions) - 2, -1, -1):
        log_beta[t] = np.logaddexp.reduce(transitions + emissions[t + 1] + log_beta[t + 1], axis=1)
    return np.exp(log_alpha + log_beta - np.logaddexp.reduce(log_alpha[-1]))


def float32(title: str, tokens: str, error: str, names: Sequence[str]) -> Sketch:
    """The largest errors of marginals in float32, by logarithms and by the engine."""
    random = np.random.default_rng(0)
    emissions, transitions = random.normal(size=(8192, 5)), random.normal(size=(5, 5))
    by_logs, by_engine = [], []
    for power in range(3, 14):
        e, a = emissions[: 2**power].astype(np.float32), transitions.astype(np.float32)
        right = chain.marginals(Chain(e.astype(np.float64), a.astype(np.float64))).nodes
        for points, nodes in ((by_logs, log_marginals(e, a)), (by_engine, chain.marginals(Chain(e, a)).nodes)):
            points.append((float(power), float(np.log10(np.abs(nodes - right).max()))))
    curves = [Curve(names[0], by_logs, RIVAL, dots=True), Curve(names[1], by_engine, dots=True)]
    across = Axis(tokens, [(power, str(2**power)) for power in range(3, 14)])
    return chart(title, across, Axis(error, powers(range(-8, 1))), curves)


# --- page 4: six sentences, and the ways down ---

C2 = 0.1


def problem(chinese: bool) -> FunctionLikelihood:
    """The little problem of the page: nouns and verbs, five features."""
    if chinese:
        texts, labellings = (
            ["他 画 画", "我 看 画", "我 画", "他 看", "看 画", "画 画"],
            "名动名 名动名 名动 名动 动名 动名",
        )
        words, (noun, verb) = ("画", "看"), "名动"
    else:
        texts = ["people fish", "fish swim", "they fish fish", "people swim", "swim fish", "they swim"]
        labellings, words, (noun, verb) = "NV NV NVN NV VN NV", ("fish", "swim"), "NV"
    functions = FeatureFunctions(
        [(lambda label, x, i, word=word: label == verb and x[i] == word, 0.0) for word in words]
        + [(lambda label, x, i: label == noun and i == 0, 0.0)]
        + [
            (lambda previous, label, x, i, pair=pair: previous + label == pair, 0.0)
            for pair in (noun + verb, verb + noun)
        ],
        labels=noun + verb,
    )
    return functions.likelihood([text.split() for text in texts], labellings.split())


def optimum(objective: FunctionLikelihood) -> float:
    """The least value of the objective, certified to 1e-10 by its gradient."""
    best = lbfgs(objective, np.zeros(5), c2=C2, dtype=np.float64, convergence=Convergence(epsilon=1e-9, delta=0))
    gradient = objective(best.weights)[1] + 2 * C2 * best.weights
    assert gradient @ gradient / (4 * C2) < 1e-10
    return best.objective


def logs(values: Iterable[float]) -> list[tuple[float, float]]:
    """Points of a curve over passes, on a logarithmic scale; nothing where rounding has won."""
    return [(n, float(np.log10(value))) for n, value in enumerate(values, 1) if value > 0]


def descent(title: str, passes: str, distance: str, names: Sequence[str], chinese: bool) -> Sketch:
    """How far the objective is above its optimum after each pass."""
    objective = problem(chinese)
    best = optimum(objective)
    curves = []
    for name, descend, colour, dashed in zip(
        names, (gd, iis, lbfgs), (RIVAL, INK, BEST), (False, True, False), strict=True
    ):
        never, limit = Convergence(epsilon=0, delta=0), Run(max_iterations=60)
        run = descend(objective, np.zeros(5), c2=C2, convergence=never, run=limit)
        curves.append(Curve(name, logs(done.objective - best for done in run.history), colour, dashed))
    across = Axis(passes, [(n, str(n)) for n in range(0, 61, 10)])
    return chart(title, across, Axis(distance, powers(range(-9, 2))), curves)


def certificate(title: str, passes: str, distance: str, names: Sequence[str], chinese: bool) -> Sketch:
    """What the gradient certifies, and the truth, for gradient descent."""
    objective = problem(chinese)
    best = optimum(objective)
    never, limit = Convergence(epsilon=0, delta=0), Run(max_iterations=25)
    run = gd(objective, np.zeros(5), c2=C2, convergence=never, run=limit)
    bounds = logs(done.gradient_norm**2 / (4 * C2) for done in run.history)
    gaps = logs(done.objective - best for done in run.history)
    across = Axis(passes, [(n, str(n)) for n in range(0, 26, 5)])
    curves = [Curve(names[0], bounds, RIVAL, dashed=True, dots=True), Curve(names[1], gaps, BEST, dots=True)]
    return chart(title, across, Axis(distance, powers(range(-9, 3))), curves)


def steps(title: str, step: str, error: str, name: str) -> Sketch:
    """The largest error of central differences, for steps of all sizes."""
    random = np.random.RandomState(1111)
    psi, labels = np.exp(random.random_sample((10, 5, 5))), random.choice(5, 10)
    gradient = gradient_linear(labels, psi)
    points = []
    for power in range(-12, 0):
        check = check_gradients(lambda p: np.log(probability_linear(labels, p)), psi, gradient, step=10.0**power)
        points.append((float(power), float(np.log10(np.abs(check.numeric - check.analytic).max()))))
    across = Axis(step, powers(range(-12, 0)))
    return chart(title, across, Axis(error, powers(range(-11, -1))), [Curve(name, points, dots=True)])


# --- charts: curves over two axes ---


@dataclass(frozen=True)
class Curve:
    """One line of a chart, with its name for the legend."""

    name: str
    points: Sequence[tuple[float, float]]
    colour: str = BEST
    dashed: bool = False
    dots: bool = False


@dataclass(frozen=True)
class Axis:
    """A scale: its name, and where which number stands. Logarithmic ones are given logarithms."""

    name: str
    ticks: Sequence[tuple[float, str]]

    @property
    def span(self) -> tuple[float, float]:
        """First and last tick."""
        return self.ticks[0][0], self.ticks[-1][0]


LEFT, RIGHT, TOP, PLOT_WIDTH, PLOT_HEIGHT = 78.0, 24.0, 34.0, 560.0, 260.0


def chart(title: str, across: Axis, up: Axis, curves: Sequence[Curve]) -> Sketch:
    """Lay out curves; what lies outside of the ticks is cut off."""
    (x0, x1), (y0, y1) = across.span, up.span

    def place(x: float, y: float) -> tuple[float, float]:
        return LEFT + PLOT_WIDTH * (x - x0) / (x1 - x0), TOP + PLOT_HEIGHT * (y1 - y) / (y1 - y0)

    shapes: list[Shape] = [Word(LEFT - 66, 14, up.name, 12, "start", opacity=0.8)]
    for y, text in up.ticks:
        _, height = place(x0, y)
        shapes.append(Line(LEFT, height, LEFT + PLOT_WIDTH, height, opacity=0.13))
        shapes.append(Word(LEFT - 8, height, text, 12, "end"))
    bottom = TOP + PLOT_HEIGHT
    for x, text in across.ticks:
        at, _ = place(x, y0)
        shapes.append(Line(at, bottom, at, bottom + 5, opacity=0.5))
        shapes.append(Word(at, bottom + 17, text, 12))
    shapes.append(Line(LEFT, bottom, LEFT + PLOT_WIDTH, bottom, opacity=0.5))
    shapes.append(Word(LEFT + PLOT_WIDTH, bottom + 38, across.name, 12, "end", opacity=0.8))
    for curve in curves:
        inside = [place(x, y) for x, y in curve.points if x0 <= x <= x1 and y0 <= y <= y1]
        for (ax, ay), (bx, by) in itertools.pairwise(inside):
            shapes.append(Line(ax, ay, bx, by, curve.colour, 2.0, dashed=curve.dashed))
        shapes.extend(Disc(x, y, 3, curve.colour) for x, y in inside if curve.dots)
    for n, curve in enumerate(curves):
        y = bottom + 62 + 19 * n
        shapes.append(Line(LEFT, y, LEFT + 26, y, curve.colour, 2.0, dashed=curve.dashed))
        shapes.append(Word(LEFT + 34, y, curve.name, 12, "start"))
    width = max(LEFT + PLOT_WIDTH + RIGHT, *(LEFT + 34 + width_of(curve.name, 12) for curve in curves))
    return Sketch(width, bottom + 62 + 19 * len(curves), title, tuple(shapes))


def powers(exponents: Iterable[int]) -> list[tuple[float, str]]:
    """Ticks of a logarithmic scale."""
    raised = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    return [(e, "1" if e == 0 else f"10{str(e).translate(raised)}") for e in exponents]


def exact() -> dict[str, str]:
    """Return the SVG of each picture that is the same everywhere."""
    by_hand = chain_from_log_potentials(LOG_PSI)
    ends = ("Z of a random chain, 5 labels", "the largest float64", "the largest float32")
    ends_zh = ("随机链的 Z，5 个标签", "float64 的最大值", "float32 的最大值")
    words = {"tokens": CITY, "labels": CITY_LABELS}
    ruled = chain.constrain(city(), rules=legal(CITY_LABELS, "IOB2"))
    return {
        "learn-graphs.svg": svg(graphs(["each label by itself", "labels on a chain"])),
        "learn-graphs-zh.svg": svg(graphs(["标签各自独立", "标签连成一条链"])),
        "learn-alone.svg": plots.trellis(city(), **words).svg(),
        "learn-rules.svg": plots.trellis(ruled, **words).svg(),
        "learn-forward.svg": plots.forward_table(by_hand, logs=False, **BY_HAND).svg(),
        "learn-backward.svg": plots.backward_table(by_hand, logs=False, **BY_HAND).svg(),
        "learn-viterbi.svg": plots.viterbi_table(by_hand, **BY_HAND).svg(),
        "learn-trellis.svg": plots.trellis(by_hand, **BY_HAND).svg(),
        "learn-range.svg": svg(range_of_z("How Z grows", "tokens", "Z", ends)),
        "learn-range-zh.svg": svg(range_of_z("Z 的增长", "词元数", "Z", ends_zh)),
    }


def measured() -> dict[str, Callable[[], str]]:
    """Return what draws each picture with times or rounding errors in it."""
    methods = ("gradient descent", "iterative scaling", "L-BFGS")
    methods_zh = ("梯度下降", "迭代尺度法", "L-BFGS")
    known, known_zh = ("certified by the gradient", "the truth"), ("由梯度保证的上界", "真实的差距")
    ways = ("logarithms in float32", "the engine in float32")
    ways_zh = ("float32 的对数域", "float32 的引擎")
    return {
        "learn-float32.svg": lambda: svg(float32("Marginals in float32", "tokens", "largest error", ways)),
        "learn-float32-zh.svg": lambda: svg(float32("float32 的边缘概率", "词元数", "最大误差", ways_zh)),
        "learn-step.svg": lambda: svg(steps("Central differences", "step", "largest error", "250 derivatives")),
        "learn-step-zh.svg": lambda: svg(steps("中心差分", "步长", "最大误差", "250 个导数")),
        "learn-descent.svg": lambda: svg(
            descent("Three ways down", "passes", "objective, above its optimum", methods, False)
        ),
        "learn-descent-zh.svg": lambda: svg(descent("三种下山的办法", "遍数", "目标函数高出最优值", methods_zh, True)),
        "learn-certificate.svg": lambda: svg(
            certificate("The certificate", "passes", "objective, above its optimum", known, False)
        ),
        "learn-certificate-zh.svg": lambda: svg(certificate("上界", "遍数", "目标函数高出最优值", known_zh, True)),
        "learn-cost.svg": lambda: svg(
            cost("What log Z costs", "tokens", "seconds", ("all labellings of 5 labels, listed", "the forward sum"))
        ),
        "learn-cost-zh.svg": lambda: svg(
            cost("求配分函数的代价", "词元数", "秒", ("列举 5 个标签的全部标注序列", "前向算法"))
        ),
    }


def main(names: Sequence[str]) -> None:
    """Write the files with these names, or all."""
    for name, picture in exact().items():
        if not names or name in names:
            (IMAGES / name).write_text(picture, encoding="utf-8")
    for name, draw in measured().items():
        if not names or name in names:
            (IMAGES / name).write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
