"""A sketch as SVG: one small writer that escapes every text and every attribute, runs no script and loads nothing."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from tagline.drawing.sketch import Box, Disc, Line, Shape, Sketch, Word
from tagline.errors import visible

FONT = "system-ui, 'Segoe UI', 'Noto Sans', 'Noto Sans CJK SC', sans-serif"
# A file of its own follows the theme of its reader; inside a page the picture takes over the colour of the text there.
THEMES = "<style>svg{color:#1b1f24}@media (prefers-color-scheme:dark){svg{color:#e6edf3}}</style>"
_NO_XML = re.compile("[\ufffe\uffff]")


def svg(sketch: Sketch, *, alone: bool = True) -> str:
    """Write a sketch as SVG.

    Arguments:
        alone: for a file of its own, with colours for light and dark; else for the inside of a page.
    """
    size: dict[str, Any] = {"viewBox": f"0 0 {_number(sketch.width)} {_number(sketch.height)}"}
    size |= {"width": sketch.width, "height": sketch.height, "role": "img", "aria-label": sketch.title}
    look = {"font-family": FONT, "style": "max-width:100%;height:auto"}
    body = "\n".join(_shape(shape) for shape in sketch.shapes)
    themes = THEMES if alone else ""
    inside = f"\n{element('title', {}, sketch.title)}{themes}\n{body}\n"
    return _element("svg", {"xmlns": "http://www.w3.org/2000/svg", **size, **look}, inside) + "\n"


def element(name: str, attributes: dict[str, Any], text: str = "") -> str:
    """Write one element with a text in it, everything escaped.

    >>> element("text", {"x": 1.50, "class": '"'}, "<img src=x>")
    '<text x="1.5" class="&quot;">&lt;img src=x&gt;</text>'
    """
    return _element(name, attributes, _escaped(text))


def _element(name: str, attributes: dict[str, Any], inside: str) -> str:
    written = "".join(
        f' {key}="{_escaped(value if isinstance(value, str) else _number(value))}"' for key, value in attributes.items()
    )
    return f"<{name}{written}>{inside}</{name}>" if inside else f"<{name}{written}/>"


def _shape(shape: Shape) -> str:
    note = element("title", {}, shape.note) if shape.note else ""
    if isinstance(shape, Word):
        return _word(shape, note)
    if isinstance(shape, Disc):
        place = {"cx": shape.x, "cy": shape.y, "r": shape.radius}
        return _element("circle", {**place, "fill": shape.colour, **_faint("fill", shape.opacity)}, note)
    if isinstance(shape, Line):
        place = {"x1": shape.x1, "y1": shape.y1, "x2": shape.x2, "y2": shape.y2}
        look = {"stroke": shape.colour, "stroke-width": shape.width, "stroke-linecap": "round"}
        look |= _faint("stroke", shape.opacity)
        dashes = {"stroke-dasharray": f"{_number(3 * shape.width)} {_number(3 * shape.width)}"} if shape.dashed else {}
        return _element("line", {**place, **look, **dashes}, note)
    return _box(shape, note)


def _box(box: Box, note: str) -> str:
    place = {"x": box.x, "y": box.y, "width": box.width, "height": box.height, "rx": 3}
    fill = {"fill": box.colour, **_faint("fill", box.opacity)} if box.opacity else {"fill": "none"}
    line = {"stroke": box.colour, "stroke-width": box.outline} if box.outline else {}
    return _element("rect", {**place, **fill, **line}, note)


def _word(word: Word, note: str) -> str:
    place = {"x": word.x, "y": word.y, "font-size": word.size, "fill": word.colour}
    look = {"dominant-baseline": "central", **_faint("fill", word.opacity)}
    look |= {} if word.anchor == "start" else {"text-anchor": word.anchor}
    look |= {"font-weight": 600} if word.bold else {}
    return _element("text", {**place, **look}, _escaped(word.text) + note)


def _faint(what: str, opacity: float) -> dict[str, Any]:
    return {} if opacity == 1.0 else {f"{what}-opacity": opacity}


def _number(value: float) -> str:
    """Write a number in few digits: a thousandth of a pixel is not seen."""
    return f"{value:.3f}".rstrip("0").rstrip(".") or "0"


def _escaped(text: str) -> str:
    return escape(_NO_XML.sub("\ufffd", visible(text)))
