"""A sketch drawn with matplotlib: into axes of the caller, or into a figure of its own size."""

from __future__ import annotations

import io
from typing import Any

from tagline.drawing.figures import MissingPlotExtraError, Path, axes_for, families, finish, new_figure, write_figure
from tagline.drawing.sketch import INK, Box, Disc, Line, Shape, Sketch, Word

PIXELS = 96  # an inch
POINTS = 72 / PIXELS  # a pixel


def draw(sketch: Sketch, path: Path | None = None, *, ax: Any = None) -> Any:
    """Draw a sketch; return the axes. `path` and `ax` are as of all figures."""
    axes = axes_for(ax, path, sketch.width / PIXELS, sketch.height / PIXELS)
    return finish(_drawn(axes, sketch, POINTS * (1.0 if ax is None else _shrunk(axes, sketch))), path)


def _drawn(axes: Any, sketch: Sketch, scale: float) -> Any:
    axes.set(xlim=(0, sketch.width), ylim=(sketch.height, 0), aspect="equal")
    axes.set_axis_off()
    fonts = families([shape.text for shape in sketch.shapes if isinstance(shape, Word)])
    for place, shape in enumerate(sketch.shapes):
        _draw(axes, shape, scale, fonts, place + 2)
    return axes


def png(sketch: Sketch) -> bytes | None:
    """Return a sketch as a PNG file; None where matplotlib is not installed."""
    stream = io.BytesIO()
    try:
        figure = new_figure(sketch.width / PIXELS, sketch.height / PIXELS, own=True)
    except MissingPlotExtraError:
        return None
    finish(_drawn(figure.add_subplot(), sketch, POINTS), None)
    write_figure(figure, stream)
    return stream.getvalue()


def _shrunk(axes: Any, sketch: Sketch) -> float:
    """By how much a sketch becomes smaller in axes of the caller, of which it takes the whole."""
    extent = axes.get_window_extent()
    inch = float(axes.get_figure().dpi) / PIXELS
    return float(min(extent.width / sketch.width, extent.height / sketch.height)) / inch


def _draw(axes: Any, shape: Shape, scale: float, fonts: list[str], order: int) -> None:
    from matplotlib import patches, rcParams

    ink = rcParams["text.color"]  # white where the style is dark
    colour = ink if shape.colour == INK else shape.colour
    look: dict[str, Any] = {"alpha": shape.opacity, "zorder": order}
    if isinstance(shape, Word):
        side = {"start": "left", "middle": "center", "end": "right"}[shape.anchor]
        font = {"fontsize": scale * shape.size, "fontfamily": fonts, "fontweight": "bold" if shape.bold else "normal"}
        axes.text(shape.x, shape.y, shape.text, ha=side, va="center_baseline", color=colour, **font, **look)
    elif isinstance(shape, Disc):
        axes.add_patch(patches.Circle((shape.x, shape.y), shape.radius, color=colour, linewidth=0, **look))
    elif isinstance(shape, Line):
        style = (0, (3, 3)) if shape.dashed else "-"
        width = {"linewidth": scale * shape.width, "linestyle": style, "solid_capstyle": "round"}
        axes.plot((shape.x1, shape.x2), (shape.y1, shape.y2), color=colour, scalex=False, scaley=False, **width, **look)
    else:
        axes.add_patch(_rectangle(shape, colour, scale, order))


def _rectangle(box: Box, colour: str, scale: float, order: int) -> Any:
    from matplotlib import patches
    from matplotlib.colors import to_rgba

    fill, edge = to_rgba(colour, box.opacity), to_rgba(colour, 1.0 if box.outline else 0.0)
    size = (box.x, box.y), box.width, box.height
    return patches.Rectangle(*size, facecolor=fill, edgecolor=edge, linewidth=scale * box.outline, zorder=order)
