"""What all figures share: where they are drawn, names as labels, how they are saved.

A figure is made by hand on the Agg canvas: no window, no pyplot, no state left behind. Two things differ: axes that the
caller brings are drawn into, and a notebook gets its figure from pyplot, which shows it below the cell.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from tagline.drawing.notebooks import notebook
from tagline.errors import InputError, TaglineError, visible
from tagline.writing import open_new

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Path = str | PathLike[str]

DPI = 150
KINDS = ("png", "svg", "pdf")
LONGEST_NAME = 24
# Fonts with Chinese, Japanese and Korean characters; the first one installed is used where a name needs it.
# Of a collection matplotlib knows the first font only: of Noto Sans CJK that is the Japanese one.
EAST_ASIAN = (
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC", "PingFang SC", "Microsoft YaHei", "SimHei"),
    *("WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "Droid Sans Fallback"),
)
INK, QUIET = "#1b1f24", "#8c959f"
BLUE, PALE_BLUE, ORANGE, GREY = "#4c78a8", "#9ecae9", "#f58518", "#bab0ab"


class MissingPlotExtraError(TaglineError):
    """matplotlib is not installed."""


def new_figure(width: float, height: float, *, own: bool = False) -> Figure:
    """Return an empty figure, in inches; that of a notebook is pyplot's, unless it is for our own use."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise MissingPlotExtraError(
            "plots: expected matplotlib, got no module {}; install it with: pip install 'tagline[plot]'", error.name
        ) from None
    if not own and notebook() is not None:
        from matplotlib import pyplot

        return pyplot.figure(figsize=(width, height), layout="constrained")
    figure = Figure(figsize=(width, height), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def kind_of(path: Path, kinds: Sequence[str] = KINDS, argument: str = "path") -> str:
    """Tell the kind of a picture by the ending of its file's name.

    >>> kind_of("confusion.PDF")
    'pdf'
    """
    name = os.fspath(path)
    kind = os.path.splitext(name)[1][1:].lower()
    if kind not in kinds:
        endings = ", ".join(f".{kind}" for kind in kinds)
        raise InputError(
            "{}: the ending of a picture's name says its kind, one of {}; got {!r}", argument, endings, name
        )
    return kind


def axes_for(ax: Any, path: Path | None, width: float, height: float) -> Any:
    """Return the axes to draw into: those of the caller, or new ones."""
    if path is not None:
        kind_of(path)
    return new_figure(width, height, own=path is not None).add_subplot() if ax is None else ax


def finish(axes: Any, path: Path | None, *others: Any) -> Any:
    """Make all texts plain, save the figure where a path is given, and return the axes.

    Arguments:
        path: of a file, whose ending says the kind: .png, .svg or .pdf.
        others: further axes that belong to them.
    """
    from matplotlib.text import Text

    for part in (axes, *others):
        for text in part.findobj(Text):  # a label may have dollars in it
            text.set_parse_math(False)
            text.set_text(visible(text.get_text()))
    if path is not None:
        kind = kind_of(path)
        with open_new(path) as stream:
            write_figure(axes.get_figure(), stream, kind)
    return axes


def write_figure(figure: Figure, stream: Any, kind: str = "png") -> None:
    """Write a figure as PNG, SVG or PDF, the same bytes each time."""
    from matplotlib import rc_context

    undated: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with warnings.catch_warnings(), rc_context({"svg.hashsalt": "tagline"}):
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # it is drawn as a box
        figure.savefig(stream, format=kind, dpi=DPI, metadata=undated.get(kind))


def quieten(axes: Any) -> None:
    """Draw the frame as two thin lines."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(QUIET)
    axes.tick_params(labelsize=8, color=QUIET)


def families(names: Sequence[str]) -> list[str]:
    """Return the fonts that have the characters of names."""
    from matplotlib.font_manager import fontManager

    installed = set(fontManager.get_font_names()) if any(character > "\u2e80" for character in "".join(names)) else ()
    return ["DejaVu Sans", *[family for family in EAST_ASIAN if family in installed][:1]]


def short(name: str, longest: int = LONGEST_NAME) -> str:
    """Cut a long name in its middle: names that begin alike differ at their ends."""
    half = (longest - 1) // 2
    name = visible(name).replace("\n", "\\n").replace("\t", "\\t")
    return name if len(name) <= longest else f"{name[:half]}…{name[-half:]}"
