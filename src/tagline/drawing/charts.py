"""Charts with axes: bars for and against, the curve of a training, a series with the states behind it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline.drawing.coloured_spans import PALETTE
from tagline.drawing.figures import BLUE, INK, ORANGE, QUIET, Path, axes_for, families, finish, quieten, short
from tagline.errors import InputError

IntArray = NDArray[np.int64]

MOST_BARS, LONGEST = 200, 60  # and letters of a name
MOST_SYMBOLS = 40  # that are written beside the axis
# Of dimensions, dark on the colours of states.
LINES = ("#1b1f24", "#1f5fa8", "#b3261e", "#2d7d46", "#7a4fa3", "#9c5700", "#0b7285", "#5c636a")


def plot_bars(
    names: Sequence[str],
    values: Sequence[float],
    path: Path | None = None,
    *,
    ax: Any = None,
    title: str = "",
    meaning: str = "weight",
) -> Any:
    """Draw a bar for each name, the first at the top, blue for and orange against; return the axes.

    Arguments:
        path: of a file to write (.png, .svg or .pdf); None to write none.
        ax: axes of matplotlib to draw into; new ones where left out.
        meaning: of a value, below the axis.

    >>> [float(bar.get_width()) for bar in plot_bars(["word=Rome", "cap"], [2.5, -0.5]).patches]
    [2.5, -0.5]
    """
    if not 0 < len(names) <= MOST_BARS:
        raise InputError("expected from 1 to {} bars to draw, got {}", MOST_BARS, len(names))
    shown = [short(name, LONGEST) for name in names]
    room = 0.075 * max(map(len, shown)) + 0.6
    axes = axes_for(ax, path, 4.2 + room, 0.28 * len(shown) + 1.2)
    bars = axes.barh(range(len(shown)), values, 0.7, color=[BLUE if value >= 0 else ORANGE for value in values])
    axes.bar_label(bars, fmt="%+.3f", padding=3, fontsize=8, color=INK)
    axes.set_yticks(range(len(shown)), shown, fontsize=8, fontfamily=families(shown))
    axes.axvline(0, color=QUIET, linewidth=0.8)
    axes.set(xlabel=meaning, ylim=(len(shown) - 0.4, -0.6))
    axes.margins(x=0.18)
    axes.set_title(title, fontsize=10, fontfamily=families([title]))
    quieten(axes)
    axes.tick_params(axis="y", length=0)
    return finish(axes, path)


def plot_training(log: Sequence[Any], path: Path | None = None, *, ax: Any = None) -> Any:
    """Draw what each pass reached; see `plot_training` of models.

    Arguments:
        log: one entry a pass (`tagline.training.iteration.Step`), at least one.
        path, ax: as of all figures.
    """
    if not log:
        raise InputError(
            "training_log_: expected at least one pass to draw, got none; a model that was counted or loaded has no log"
        )
    axes = axes_for(ax, path, 6.0, 3.6)
    numbers = [done.number for done in log]
    objective = [done.objective if math.isfinite(done.objective) else math.nan for done in log]
    label, marker = "loss" if log[0].noun == "epoch" else "objective", "." if len(log) == 1 else None
    axes.plot(numbers, objective, color=BLUE, marker=marker, label=label)
    axes.set_xlabel(log[0].noun)
    axes.set_ylabel(label, color=BLUE)
    scored = [(done.number, 100 * done.dev_score) for done in log if done.dev_score is not None]
    if not scored:
        return finish(axes, path)
    right = axes.twinx()
    right.plot(*zip(*scored, strict=True), color=ORANGE, marker=marker, label="dev score")
    right.set_ylabel("dev score", color=ORANGE)
    best = max(scored, key=lambda point: point[1])
    right.plot(*best, color=ORANGE, marker="o", linestyle="none")
    right.annotate(f"{best[1]:.2f}", best, textcoords="offset points", xytext=(0, -12), ha="center", color=ORANGE)
    return finish(axes, path, right)


def plot_states(
    values: NDArray[Any],
    states: IntArray,
    labels: Sequence[str],
    path: Path | None = None,
    *,
    ax: Any = None,
    offsets: IntArray | None = None,
    names: Sequence[str] = (),
    symbols: Sequence[str] | None = None,
) -> Any:
    """Draw a series with its states; return the axes.

    Arguments:
        values: ``[N]`` or ``[N, D]``; numbers of symbols where there are `symbols`, below 0 where one is missing.
        states: ``[N]``, numbers of labels.
        labels: names of the states.
        path: of a PNG file to write; None to write none.
        ax: axes of matplotlib to draw into; new ones where left out.
        offsets: ``[B + 1]``, where sentences begin: a dotted line each.
        names: of the D dimensions.
        symbols: what numbers stand for.

    >>> import numpy as np
    >>> plot_states(np.array([0.1, 0.2, 5.0]), np.array([0, 0, 1]), ["calm", "storm"]).get_xlabel()
    'observation'
    """
    N = len(states)
    if not N or len(values) != N:
        raise InputError("X: expected observations to draw, with a state each, got {} and {} states", len(values), N)
    axes = axes_for(ax, path, min(4 + 0.03 * N, 14), 3.4)
    named = _bands(axes, states, labels)
    rows = np.asarray(values, np.float64).reshape(N, -1)
    starts = [] if offsets is None else offsets[1:-1].tolist()
    if symbols is None:
        named += _lines(axes, rows, names, starts)
    else:
        axes.plot(np.arange(N), np.where(rows[:, 0] < 0, np.nan, rows[:, 0]), ".", color=INK, markersize=5)
        _name_symbols(axes, symbols)
    for start in starts:
        axes.axvline(start - 0.5, color=INK, linewidth=0.8, linestyle=":")
    axes.set(xlim=(-0.5, N - 0.5), xlabel="observation")
    fonts = {"family": families([handle.get_label() for handle in named]), "size": 8}
    axes.legend(handles=named, frameon=False, prop=fonts, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    quieten(axes)
    return finish(axes, path)


def _bands(axes: Any, states: IntArray, labels: Sequence[str]) -> list[Any]:
    """Draw a band of colour for each run of a state; return one for each state, named."""
    edges = np.concatenate([[0], np.flatnonzero(np.diff(states)) + 1, [len(states)]])
    drawn = []
    for k in np.unique(states).tolist():
        runs = [(first - 0.5, last - first) for first, last in pairwise(edges.tolist()) if states[first] == k]
        look = {"facecolors": PALETTE[k % len(PALETTE)], "linewidth": 0, "zorder": 0}
        name = short(str(labels[k]))
        drawn.append(axes.broken_barh(runs, (0, 1), transform=axes.get_xaxis_transform(), label=name, **look))
    return drawn


def _lines(axes: Any, rows: NDArray[Any], names: Sequence[str], starts: Sequence[int]) -> list[Any]:
    """Draw a line for each dimension, broken where a sentence starts; return those that need a name."""
    D = rows.shape[1]
    places = np.insert(np.arange(len(rows), dtype=np.float64), starts, np.nan)
    rows = np.insert(rows, starts, np.nan, axis=0)
    drawn = []
    for d in range(D):
        name = short(str(names[d])) if d < len(names) else f"dimension {d}"
        colour, width = (LINES[d], 1.1) if len(LINES) >= D else (INK, 0.5)
        drawn += axes.plot(places, rows[:, d], color=colour, linewidth=width, label=name)
    return drawn if 1 < D <= len(LINES) else []


def _name_symbols(axes: Any, symbols: Sequence[str]) -> None:
    """Write the symbols beside their numbers, where they are few."""
    if len(symbols) <= MOST_SYMBOLS:
        shown = [short(str(symbol)) for symbol in symbols]
        axes.set_yticks(range(len(symbols)), shown, fontsize=8, fontfamily=families(shown))
        axes.set_ylim(-0.6, len(symbols) - 0.4)
    else:
        axes.set_ylabel("symbol, by number", fontsize=8)
