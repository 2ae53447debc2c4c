"""What every picture of `tagline.plots` can do: show itself in a notebook, and be saved by the ending of a name."""

from __future__ import annotations

from html import escape
from typing import Any

from tagline.drawing.figures import Path, kind_of
from tagline.drawing.patches import draw, png
from tagline.drawing.sketch import Sketch
from tagline.drawing.svg import svg
from tagline.errors import visible
from tagline.writing import open_new

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>body {{ font: 16px/1.5 system-ui, sans-serif; margin: 1rem }}</style>
</head>
<body>
{body}
</body>
</html>
"""


class Drawn:
    """A picture that is sketched once: SVG and HTML by ourselves, PNG and axes through matplotlib."""

    def sketch(self) -> Sketch:
        """Lay the picture out."""
        raise NotImplementedError

    def svg(self) -> str:
        """Return a file of SVG that needs nothing else, for light and dark."""
        return svg(self.sketch())

    def html(self) -> str:
        """Return a fragment for a page, in the colours of the text around it."""
        return f'<div style="overflow-x:auto">{svg(self.sketch(), alone=False)}</div>'

    def draw(self, path: Path | None = None, *, ax: Any = None) -> Any:
        """Draw with matplotlib (extra ``plot``): a file (.png, .svg, .pdf) where a path is given; return the axes."""
        return draw(self.sketch(), path, ax=ax)

    def save(self, path: Path) -> None:
        """Write a file of the kind that its name ends in: ``.svg``, ``.png``, ``.pdf`` or ``.html``."""
        kind = kind_of(path, ("svg", "png", "pdf", "html"))
        if kind in ("png", "pdf"):
            self.draw(path)
        else:
            write_text(path, self.svg() if kind == "svg" else page(self.sketch().title, self.html()))

    def _repr_html_(self) -> str:
        return self.html()

    def _repr_png_(self) -> bytes | None:
        """The picture for what shows no HTML, such as a notebook on its way to PDF; None without matplotlib."""
        return png(self.sketch())


def page(title: str, body: str) -> str:
    """Return a page around a fragment."""
    return PAGE.format(title=escape(visible(title)), body=body)


def save_page(path: Path, title: str, body: str, text: str) -> None:
    """Write a picture that is words: a page, or a plain text where the name ends in ``.txt``."""
    write_text(path, page(title, body) if kind_of(path, ("html", "txt")) == "html" else f"{text}\n")


def write_text(path: Path, text: str) -> None:
    """Write a file, whole or not at all."""
    with open_new(path) as stream:
        stream.write(text.encode())
