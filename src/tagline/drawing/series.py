"""A series with the states behind it: the observations as lines, the states as bands of colour."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline.drawing.figures import INK, Path, axes_for, families, finish, quieten, short
from tagline.drawing.spans import PALETTE
from tagline.errors import InputError

IntArray = NDArray[np.int64]

MOST_SYMBOLS = 40  # that are written beside the axis
# Of dimensions, dark on the colours of states.
LINES = ("#1b1f24", "#1f5fa8", "#b3261e", "#2d7d46", "#7a4fa3", "#9c5700", "#0b7285", "#5c636a")


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
        raise InputError(f"X: expected observations to draw, with a state each, got {len(values)} and {N} states")
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
