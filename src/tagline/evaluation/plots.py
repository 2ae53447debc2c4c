"""Figures of an evaluation (confusion matrix, reliability, scores by type) and of a model's transitions.

Each draws into the axes that it is given as ``ax``, or into new ones, saves the figure where a ``path`` is given, as
PNG, SVG or PDF by the ending of its name, and returns the axes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tagline.drawing.figures import (
    BLUE,
    GREY,
    INK,
    PALE_BLUE,
    QUIET,
    MissingPlotExtraError,
    Path,
    axes_for,
    families,
    finish,
    quieten,
    short,
)
from tagline.errors import InputError
from tagline.evaluation.calibration import Reliability
from tagline.evaluation.scores import Score
from tagline.evaluation.token_scores import TokenScores
from tagline.types import Float64Array, IntArray

__all__ = [
    "MissingPlotExtraError",
    "plot_confusion",
    "plot_criteria",
    "plot_reliability",
    "plot_transitions",
    "plot_types",
]

NUMBERED_CELLS = 30  # labels up to which each cell carries its count
MOST_TYPES, MOST_LABELS = 40, 60  # that are drawn: pictures of more would be pages long, and their names illegible
COLOURS = {"precision": PALE_BLUE, "recall": "#ffbf79", "F1": BLUE}


def plot_confusion(tokens: TokenScores, path: Path | None = None, *, ax: Any = None) -> Any:
    """Draw the confusion matrix: gold labels down, predicted across; shades are shares of a gold label's tokens.

    Of more than 60 labels the most frequent are drawn, and the title says how many are left out.

    >>> import tempfile, os
    >>> from tagline.evaluation import evaluate_tokens
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ax = plot_confusion(evaluate_tokens([["A", "B"]], [["A", "A"]]), os.path.join(folder, "confusion.png"))
    ...     os.listdir(folder)
    ['confusion.png']
    """
    L = len(tokens.labels)
    if not L:
        raise InputError("tokens: expected at least one label to draw, got none")
    shares = tokens.confusion / np.maximum(tokens.confusion.sum(axis=1, keepdims=True), 1)  # [L, L]
    # A square root: one token in a hundred can be seen.
    look = {"cmap": "Blues", "norm": _square_root()}
    meaning = "share of the gold label"
    drawn = _largest(tokens.confusion.sum(axis=0) + tokens.confusion.sum(axis=1))
    shown = [tokens.labels[label] for label in drawn]
    axes, cell = _label_grid(shown, shares[np.ix_(drawn, drawn)], ("gold", "predicted"), meaning, 0.9, look, ax, path)
    if L <= NUMBERED_CELLS:
        _number_cells(axes, tokens, shares, cell)
    left = f"\nthe {len(shown)} most frequent labels, {L - len(shown)} left out" if len(shown) < L else ""
    axes.set_title(f"{tokens.num_tokens} tokens, accuracy {100 * tokens.accuracy:.2f} %{left}", fontsize=10)
    return finish(axes, path)


def plot_reliability(
    found: Reliability, path: Path | None = None, title: str = "Reliability", *, ax: Any = None
) -> Any:
    """Draw a reliability diagram: confidence against the share that is right, and below how many answers each bin has.

    Axes that are given are made smaller, so that the numbers of answers have room below them.

    >>> from tagline import evaluation
    >>> axes = evaluation.plot_reliability(evaluation.reliability([0.9, 0.6], [True, False], bins=2), title="Spans")
    >>> axes.get_title()
    'Spans: ECE 0.2500, Brier 0.1850'
    """
    axes = axes_for(ax, path, 5, 5.6)
    below = _axes_below(axes)
    axes.plot([0, 1], [0, 1], color=QUIET, linewidth=1, linestyle="--", label="honest")
    axes.bar(found.low, found.accuracy, _widths(found), align="edge", color=PALE_BLUE, edgecolor="white", label="right")
    axes.plot(found.confidence, found.accuracy, "o-", color=BLUE, markersize=4, linewidth=1.2, label="mean of a bin")
    axes.set(xlim=(0, 1), ylim=(0, 1.02), ylabel="share that is right")
    axes.legend(frameon=False, fontsize=8, loc="best")
    axes.set_title(f"{title}: ECE {found.ece:.4f}, Brier {found.brier:.4f}", fontsize=10)
    below.bar(found.low, found.count, _widths(found), align="edge", color=GREY, edgecolor="white")
    below.set(xlabel="confidence", ylabel="answers")
    below.ticklabel_format(axis="y", style="plain")
    quieten(axes)
    quieten(below)
    axes.tick_params(labelbottom=False)
    return finish(axes, path, below)


def _axes_below(axes: Any) -> Any:
    """Take the lower part of axes for others with the same x."""
    from mpl_toolkits.axes_grid1 import make_axes_locatable  # type: ignore[import-untyped]

    whole = axes.get_subplotspec()
    if whole is None:  # axes that lie freely in their figure
        return make_axes_locatable(axes).append_axes("bottom", size="28%", pad=0.12, sharex=axes)
    upper, lower = whole.subgridspec(2, 1, height_ratios=[3.6, 1], hspace=0.08)
    axes.set_subplotspec(upper)
    return axes.get_figure().add_subplot(lower, sharex=axes)


def plot_types(
    scores: Mapping[str, Score], path: Path | None = None, title: str = "Scores by type", *, ax: Any = None
) -> Any:
    """Draw precision, recall and F1 of each type as bars, the most frequent gold type at the top.

    Of more than 40 types the most frequent are drawn, and the title says how many are left out.

    >>> from tagline import evaluation
    >>> scores = evaluation.evaluate_spans([["B-PER", "O", "B-LOC"]], [["B-PER", "O", "O"]])
    >>> axes = evaluation.plot_types(scores.by_type)
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['LOC  (1)', 'PER  (1)']
    """
    ordered = sorted(scores.items(), key=lambda item: (item[1].gold, item[1].found))[-MOST_TYPES:]
    if left := len(scores) - len(ordered):
        title = f"{title}: the {len(ordered)} most frequent, {left} left out"
    names = [f"{short(name) or '(no type)'}  ({score.gold})" for name, score in ordered]
    room = 0.075 * max([len(name) for name in names], default=0) + 0.6
    axes = axes_for(ax, path, 5 + room, min(0.62, 16 / max(len(ordered), 1)) * len(ordered) + 1.5)
    places = np.arange(len(ordered))
    for k, (metric, colour) in enumerate(COLOURS.items()):
        values = [100 * getattr(score, metric.lower()) for _, score in ordered]
        bars = axes.barh(places + 0.27 * (1 - k), values, 0.25, color=colour, label=metric)
        if metric == "F1":
            axes.bar_label(bars, fmt="%.1f", padding=3, fontsize=8, color=INK)
    axes.set_yticks(places, names, fontsize=9, fontfamily=families(names))
    axes.set_ylim(-0.6, max(len(ordered), 1) - 0.4)
    axes.set(xlim=(0, 109), xlabel="percent (gold spans in brackets)", xticks=range(0, 101, 20))
    axes.set_title(title, fontsize=10, pad=26)
    axes.legend(frameon=False, fontsize=8, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    quieten(axes)
    axes.tick_params(axis="y", length=0)
    return finish(axes, path)


def plot_transitions(
    labels: Sequence[str], weights: ArrayLike, path: Path | None = None, *, ax: Any = None, meaning: str = "weight"
) -> Any:
    """Draw the weights ``[L, L]`` of transitions: previous labels down, next across; blue speaks for, red against.

    Those that are not finite, as forbidden ones are, stay blank. `meaning` stands beside the scale. Of more than 60
    labels those with the largest weights are drawn, and the title says how many are left out.

    >>> import tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ax = plot_transitions(["N", "V"], [[-1.0, 2.0], [0.5, 0.0]], os.path.join(folder, "transitions.png"))
    ...     os.listdir(folder)
    ['transitions.png']
    """
    L, values = len(labels), np.asarray(weights, np.float64)
    if not L or values.shape != (L, L):
        raise InputError("weights: expected [L, L] for {} labels, got {}", L, list(values.shape))
    values = np.where(np.isfinite(values), values, np.nan)
    most = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    sizes = np.nan_to_num(np.abs(values))
    drawn = _largest(sizes.sum(axis=0) + sizes.sum(axis=1))
    labels, values = [labels[label] for label in drawn], values[np.ix_(drawn, drawn)]
    against = bool((values < 0).any())
    look = {"cmap": "RdBu" if against else "Blues", "vmin": -most if against else 0.0, "vmax": most}
    axes, cell = _label_grid(labels, values, ("previous", "next"), meaning, 1.8, look, ax, path)
    if L <= NUMBERED_CELLS:
        for (i, j), value in np.ndenumerate(values):
            if abs(value) >= 0.05:  # others would read 0.0
                colour = "white" if abs(value) > 0.6 * most else INK
                size = min(9.0, cell / 3.2)
                axes.text(j, i, f"{value:.1f}", ha="center", va="center", fontsize=size, color=colour)
    if len(labels) < L:
        axes.set_title(f"the {len(labels)} labels with the largest {meaning}s, {L - len(labels)} left out", fontsize=10)
    return finish(axes, path)


def _largest(sizes: ArrayLike) -> IntArray:
    """Return the labels with the largest sizes ``[L]``, as many as a grid has room for, in their own order."""
    return np.sort(np.argsort(-np.asarray(sizes), kind="stable")[:MOST_LABELS])


def plot_criteria(
    sizes: Sequence[int],
    curves: Mapping[str, Sequence[float]],
    chosen: str,
    path: Path | None = None,
    *,
    ax: Any = None,
) -> Any:
    """Draw criteria by the number of states, the lowest point of the chosen one marked; return the axes.

    >>> plot_criteria([1, 2, 3], {"BIC": [9.0, 4.0, 5.0]}, "BIC").get_xlabel()
    'states'
    """
    axes = axes_for(ax, path, 5.2, 3.6)
    for (name, values), colour in zip(curves.items(), (BLUE, "#f58518"), strict=False):
        axes.plot(sizes, values, "o-", color=colour, markersize=4, linewidth=1.2, label=name)
    best = int(np.argmin(curves[chosen]))
    axes.plot(sizes[best], curves[chosen][best], "o", color=INK, markersize=9, fillstyle="none", label="lowest")
    axes.set(xlabel="states", ylabel="criterion", xticks=list(sizes))
    axes.legend(frameon=False, fontsize=8)
    quieten(axes)
    return finish(axes, path)


def _label_grid(
    labels: Sequence[str],
    values: Float64Array,
    sides: tuple[str, str],
    meaning: str,
    margin: float,
    look: dict[str, Any],
    ax: Any,
    path: Path | None,
) -> tuple[Any, float]:
    """Draw a value for each pair of labels as a shade, with a colour bar.

    Arguments:
        labels: L, both down and across.
        values: ``[L, L]``.
        sides: what the labels down and those across are.
        meaning: of a value, beside the colour bar.
        margin: width for the colour bar, in inches.
        look: how values become colours, as ``imshow`` takes it.
        ax, path: of the caller.

    Returns:
        The axes, and the side of a cell in points.
    """
    L, names = len(labels), [short(label) for label in labels]
    side = min(max(3.2, 0.42 * L), 16)
    room = 0.085 * max(len(name) for name in names) + 0.8
    axes = axes_for(ax, path, side + room + max(margin, 0.12 * side), side + room)
    if ax is not None:
        side = 0.72 * float(min(ax.get_window_extent().size)) / float(ax.get_figure().dpi)  # names take the rest
    image = axes.imshow(values, **look)
    cell = 72 * side / L
    ticks: dict[str, Any] = {"fontsize": min(8.0, 0.62 * cell), "fontfamily": families(names)}
    axes.set_xticks(range(L), names, rotation=90, **ticks)
    axes.set_yticks(range(L), names, **ticks)
    axes.set(ylabel=sides[0], xlabel=sides[1])
    axes.tick_params(length=0)
    bar = axes.get_figure().colorbar(image, ax=axes, fraction=0.04, pad=0.02)
    bar.set_label(meaning, fontsize=8)
    bar.ax.tick_params(labelsize=8)
    bar.outline.set_visible(False)
    return axes, cell


def _square_root() -> Any:
    from matplotlib.colors import PowerNorm

    return PowerNorm(0.5, vmin=0, vmax=1)


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
