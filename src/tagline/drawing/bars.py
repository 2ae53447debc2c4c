"""Bars for numbers that speak for something, to the right, or against it, to the left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tagline.drawing.figures import BLUE, INK, ORANGE, QUIET, Path, axes_for, families, finish, quieten, short
from tagline.errors import InputError

MOST_BARS, LONGEST = 200, 60  # and letters of a name


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
        raise InputError(f"expected from 1 to {MOST_BARS} bars to draw, got {len(names)}")
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
