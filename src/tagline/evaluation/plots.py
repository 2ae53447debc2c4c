"""Pictures, saved as PNG: of an evaluation (confusion matrix, reliability, scores by type), of a model's transitions.

matplotlib (extra ``plot``) is imported when a picture is drawn. Figures are made by hand on the Agg canvas: no window,
no pyplot, no state left behind.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tagline.errors import InputError, TaglineError, visible
from tagline.evaluation.calibration import Reliability
from tagline.evaluation.scores import Score
from tagline.evaluation.tokens import TokenScores
from tagline.types import Float64Array
from tagline.writing import open_new

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 150
LONGEST_NAME = 24
NUMBERED_CELLS = 30  # labels up to which each cell carries its count
COLOURS = {"precision": "#9ecae9", "recall": "#ffbf79", "F1": "#4c78a8"}
# Fonts with Chinese, Japanese and Korean characters; the first one installed is used where a name needs it.
EAST_ASIAN = ("Noto Sans CJK SC", "Source Han Sans SC", "PingFang SC", "Microsoft YaHei", "SimHei", "WenQuanYi Zen Hei")
INK, QUIET = "#1b1f24", "#8c959f"


class MissingPlotExtraError(TaglineError):
    """matplotlib is not installed."""


def plot_confusion(tokens: TokenScores, path: str | PathLike[str]) -> None:
    """Draw the confusion matrix: gold labels down, predicted across; shades are shares of a gold label's tokens.

    >>> import tempfile, os
    >>> from tagline.evaluation import evaluate_tokens
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plot_confusion(evaluate_tokens([["A", "B"]], [["A", "A"]]), os.path.join(folder, "confusion.png"))
    ...     os.listdir(folder)
    ['confusion.png']
    """
    L = len(tokens.labels)
    if not L:
        raise InputError("tokens: expected at least one label to draw, got none")
    shares = tokens.confusion / np.maximum(tokens.confusion.sum(axis=1, keepdims=True), 1)  # [L, L]
    # A square root: one token in a hundred can be seen.
    look = {"cmap": "Blues", "norm": _square_root()}
    figure, axes, cell = _label_grid(tokens.labels, shares, ("gold", "predicted"), "share of the gold label", 0.9, look)
    if L <= NUMBERED_CELLS:
        _number_cells(axes, tokens, shares, cell)
    axes.set_title(f"{tokens.num_tokens} tokens, accuracy {100 * tokens.accuracy:.2f} %", fontsize=10)
    _save(figure, path)


def plot_reliability(found: Reliability, path: str | PathLike[str], title: str = "Reliability") -> None:
    """Draw a reliability diagram: confidence against the share that is right, and how many answers each bin has."""
    figure = _figure(5, 5.6)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3.6, 1])
    upper.plot([0, 1], [0, 1], color=QUIET, linewidth=1, linestyle="--", label="honest")
    upper.bar(
        found.low, found.accuracy, _widths(found), align="edge", color="#9ecae9", edgecolor="white", label="right"
    )
    upper.plot(
        found.confidence, found.accuracy, "o-", color="#4c78a8", markersize=4, linewidth=1.2, label="mean of a bin"
    )
    upper.set(xlim=(0, 1), ylim=(0, 1.02), ylabel="share that is right")
    upper.legend(frameon=False, fontsize=8, loc="upper left")
    upper.set_title(f"{title}: ECE {found.ece:.4f}, Brier {found.brier:.4f}", fontsize=10)
    lower.bar(found.low, found.count, _widths(found), align="edge", color="#bab0ab", edgecolor="white")
    lower.set(xlabel="confidence", ylabel="answers")
    lower.ticklabel_format(axis="y", style="plain")
    for axes in (upper, lower):
        _quieten(axes)
    _save(figure, path)


def plot_types(scores: Mapping[str, Score], path: str | PathLike[str], title: str = "Scores by type") -> None:
    """Draw precision, recall and F1 of each type as bars, the most frequent gold type at the top."""
    ordered = sorted(scores.items(), key=lambda item: (item[1].gold, item[1].found))
    names = [f"{_short(name) or '(no type)'}  ({score.gold})" for name, score in ordered]
    room = 0.075 * max([len(name) for name in names], default=0) + 0.6
    figure = _figure(5 + room, min(0.62 * len(ordered) + 1.5, 40))
    axes = figure.add_subplot()
    places = np.arange(len(ordered))
    for k, (metric, colour) in enumerate(COLOURS.items()):
        values = [100 * getattr(score, metric.lower()) for _, score in ordered]
        bars = axes.barh(places + 0.27 * (1 - k), values, 0.25, color=colour, label=metric)
        if metric == "F1":
            axes.bar_label(bars, fmt="%.1f", padding=3, fontsize=8, color=INK)
    axes.set_yticks(places, names, fontsize=9, fontfamily=_families(names))
    axes.set_ylim(-0.6, max(len(ordered), 1) - 0.4)
    axes.set(xlim=(0, 109), xlabel="percent (gold spans in brackets)", xticks=range(0, 101, 20))
    axes.set_title(title, fontsize=10, pad=26)
    axes.legend(frameon=False, fontsize=8, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    _quieten(axes)
    axes.tick_params(axis="y", length=0)
    _save(figure, path)


def plot_transitions(labels: Sequence[str], weights: ArrayLike, path: str | PathLike[str]) -> None:
    """Draw the weights ``[L, L]`` of transitions: previous labels down, next across; blue speaks for, red against.

    >>> import tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plot_transitions(["N", "V"], [[-1.0, 2.0], [0.5, 0.0]], os.path.join(folder, "transitions.png"))
    ...     os.listdir(folder)
    ['transitions.png']
    """
    L, values = len(labels), np.asarray(weights, np.float64)
    if not L or values.shape != (L, L):
        raise InputError(f"weights: expected [L, L] for {L} labels, got {list(values.shape)}")
    most = float(np.abs(values).max()) or 1.0
    look = {"cmap": "RdBu", "vmin": -most, "vmax": most}
    figure, axes, cell = _label_grid(labels, values, ("previous", "next"), "weight", 1.8, look)
    if L <= NUMBERED_CELLS:
        for (i, j), value in np.ndenumerate(values):
            if abs(value) >= 0.05:  # others would read 0.0
                colour = "white" if abs(value) > 0.6 * most else INK
                size = min(9.0, cell / 3.2)
                axes.text(j, i, f"{value:.1f}", ha="center", va="center", fontsize=size, color=colour)
    _save(figure, path)


def plot_criteria(
    sizes: Sequence[int],
    curves: Mapping[str, Sequence[float]],
    chosen: str,
    path: str | PathLike[str] | None = None,
    *,
    ax: Any = None,
) -> Any:
    """Draw criteria by the number of states, the lowest point of the chosen one marked; return the axes.

    >>> plot_criteria([1, 2, 3], {"BIC": [9.0, 4.0, 5.0]}, "BIC").get_xlabel()
    'states'
    """
    figure = _figure(5.2, 3.6) if ax is None else ax.figure
    axes = figure.add_subplot() if ax is None else ax
    for (name, values), colour in zip(curves.items(), ("#4c78a8", "#f58518"), strict=False):
        axes.plot(sizes, values, "o-", color=colour, markersize=4, linewidth=1.2, label=name)
    best = int(np.argmin(curves[chosen]))
    axes.plot(sizes[best], curves[chosen][best], "o", color=INK, markersize=9, fillstyle="none", label="lowest")
    axes.set(xlabel="states", ylabel="criterion", xticks=list(sizes))
    axes.legend(frameon=False, fontsize=8)
    _quieten(axes)
    if path is not None:
        _save(figure, path)
    return axes


def _label_grid(
    labels: Sequence[str],
    values: Float64Array,
    sides: tuple[str, str],
    meaning: str,
    margin: float,
    look: dict[str, Any],
) -> tuple[Figure, Any, float]:
    """Draw a value for each pair of labels as a shade, with a colour bar.

    Arguments:
        labels: L, both down and across.
        values: ``[L, L]``.
        sides: what the labels down and those across are.
        meaning: of a value, beside the colour bar.
        margin: width for the colour bar, in inches.
        look: how values become colours, as ``imshow`` takes it.

    Returns:
        The figure, its axes, and the side of a cell in points.
    """
    L, names = len(labels), [_short(label) for label in labels]
    side = min(max(3.2, 0.42 * L), 24)
    room = 0.085 * max(len(name) for name in names) + 0.8
    figure = _figure(side + room + margin, side + room)
    axes = figure.add_subplot()
    image = axes.imshow(values, **look)
    cell = 72 * side / L
    ticks: dict[str, Any] = {"fontsize": min(8.0, 0.62 * cell), "fontfamily": _families(names)}
    axes.set_xticks(range(L), names, rotation=90, **ticks)
    axes.set_yticks(range(L), names, **ticks)
    axes.set(ylabel=sides[0], xlabel=sides[1])
    axes.tick_params(length=0)
    bar = figure.colorbar(image, ax=axes, fraction=0.04, pad=0.02)
    bar.set_label(meaning, fontsize=8)
    bar.ax.tick_params(labelsize=8)
    bar.outline.set_visible(False)
    return figure, axes, cell


def _figure(width: float, height: float) -> Figure:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise MissingPlotExtraError(
            f"plots: expected matplotlib, got no module {error.name}; install it with: pip install 'tagline[plot]'"
        ) from None
    figure = Figure(figsize=(width, height), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _square_root() -> Any:
    from matplotlib.colors import PowerNorm

    return PowerNorm(0.5, vmin=0, vmax=1)


def _save(figure: Figure, path: str | PathLike[str]) -> None:
    from matplotlib.text import Text

    for text in figure.findobj(Text):  # a label may have dollars in it
        text.set_parse_math(False)
        text.set_text(visible(text.get_text()))
    with warnings.catch_warnings():  # a character that no font has is drawn as a box
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        with open_new(path) as stream:
            figure.savefig(stream, format="png", dpi=DPI)


def _number_cells(axes: Any, tokens: TokenScores, shares: Any, points: float) -> None:
    """Write the counts into their cells, as large as the longest allows."""
    longest = len(str(int(tokens.confusion.max(initial=0))))
    size = min(9.0, points / (0.72 * max(longest, 2)))
    for (i, j), count in np.ndenumerate(tokens.confusion):
        if count:
            axes.text(
                j, i, str(count), ha="center", va="center", fontsize=size, color="white" if shares[i, j] > 0.3 else INK
            )


def _widths(found: Reliability) -> Any:
    return np.maximum(found.high - found.low, 0.002)  # a bin of one confidence can still be seen


def _quieten(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(QUIET)
    axes.tick_params(labelsize=8, color=QUIET)


def _families(names: Sequence[str]) -> list[str]:
    from matplotlib.font_manager import fontManager

    installed = set(fontManager.get_font_names()) if any(character > "\u2e80" for character in "".join(names)) else ()
    return ["DejaVu Sans", *[family for family in EAST_ASIAN if family in installed][:1]]


def _short(name: str) -> str:
    """Cut a long name in its middle: names that begin alike differ at their ends."""
    half = (LONGEST_NAME - 1) // 2
    name = visible(name).replace("\n", "\\n").replace("\t", "\\t")
    return name if len(name) <= LONGEST_NAME else f"{name[:half]}…{name[-half:]}"
