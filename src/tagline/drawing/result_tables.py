"""Results in terminals and notebooks: a short `repr`, the whole text for `print`, a table of HTML.

Tables are escaped, run no script, and take over the colours of the page around them, light or dark.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from tagline.errors import visible

TABLE = "border-collapse:collapse;margin:.4em 0;font-variant-numeric:tabular-nums"
CELL = "padding:.15em .8em .15em 0;text-align:{};vertical-align:top;white-space:pre-wrap"
RULE = "border-bottom:1px solid rgba(128,128,128,.5)"
QUIET = "opacity:.7;font-size:.85em"
LONGEST = 400  # characters of a cell


class Readable:
    """A result that shows itself: `line` in its `repr`, `text` when it is printed, a table in a notebook."""

    def line(self) -> str:
        """Say in one line what there is: the first line of the text, where nothing else is said."""
        return self.text().partition("\n")[0]

    def text(self) -> str:
        """Write a line for each fact."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({visible(self.line())})"

    def __str__(self) -> str:
        return visible(self.text().rstrip("\n"))

    def _repr_html_(self) -> str:
        line, text = self.line(), self.text()
        return facts(text.removeprefix(f"{line}\n"), line)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, aligned: str = "", title: str = "") -> str:
    """Return a table of plain texts as HTML.

    Arguments:
        head: of the columns; empty for none.
        aligned: a letter a column, l or r; the first to the left and all others to the right when left out.
        title: what stands above.

    >>> "&lt;b&gt;" in table(["type", "F1"], [["<b>", "91.20"]])
    True
    """
    columns = len(head) if head else max(map(len, rows), default=0)
    styles = [CELL.format("left" if side == "l" else "right") for side in aligned or "l" + "r" * (columns - 1)]
    top = "".join(f'<th style="{style};{RULE}">{_cell(cell)}</th>' for cell, style in zip(head, styles, strict=False))
    body = "".join(
        "<tr>"
        + "".join(f'<td style="{style}">{_cell(cell)}</td>' for cell, style in zip(row, styles, strict=False))
        + "</tr>"
        for row in rows
    )
    above = f"<div><b>{_cell(title)}</b></div>" if title else ""
    return f'{above}<table style="{TABLE}">{f"<tr>{top}</tr>" if head else ""}{body}</table>'


def facts(text: str, title: str = "") -> str:
    """Return lines such as ``labels      9: B-PER …`` as tables of two columns; other lines stand between them.

    >>> facts("tokens  12").count("<td")
    2
    """
    parts = [f"<div><b>{_cell(title)}</b></div>"] if title else []
    rows: list[list[str]] = []
    for line in [*text.splitlines(), ""]:
        row = re.split(r" {2,}", line.strip(), maxsplit=1)
        if len(row) == 2:
            rows.append(row)
            continue
        if rows:
            parts.append(table([], rows, aligned="ll"))
            rows = []
        if line.strip():
            parts.append(f"<div>{_cell(line.strip())}</div>")
    return f"<div>{''.join(parts)}</div>"


def _cell(text: str) -> str:
    short = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    return escape(visible(short))
