"""Numbers of tokens and labels as a table for notebooks: tokens down, labels across, larger numbers darker.

Shades are transparent blue under letters in the colour of the page, so that both themes can be read.
"""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline.drawing.result_tables import QUIET, RULE, TABLE

MOST_ROWS, MOST_COLUMNS = 20, 12
BLUE = "47,127,208"
CELL = "padding:.15em .5em;text-align:right"


def grid(
    values: NDArray[Any],
    *,
    title: str,
    note: str = "",
    beside: NDArray[np.int64] | None = None,
    most: float | None = None,
) -> str:
    """Return an array ``[N, L]`` as HTML, the first rows and columns of a large one.

    Arguments:
        beside: ``[N, L]``, a number that stands beside each, as that of a label before; none below 0.
        most: the largest value there can be; the largest that there is when left out.

    >>> "−∞" in grid(np.array([[0.5, -np.inf]]), title="scores")
    True
    """
    N, L = values.shape
    shown = np.asarray(values[:MOST_ROWS, :MOST_COLUMNS], np.float64)
    finite = shown[np.isfinite(shown)]
    low = 0.0 if most is not None else float(finite.min(initial=np.inf))
    high = most if most is not None else float(finite.max(initial=-np.inf))
    head = "".join(f'<th style="{CELL};{RULE}">{label}</th>' for label in ["", *range(shown.shape[1])])
    rows = []
    for n, row in enumerate(shown):
        cells = [f'<td style="{CELL}">{n}</td>']
        for label, value in enumerate(row.tolist()):
            before = "" if beside is None or beside[n, label] < 0 else f" <small>←{int(beside[n, label])}</small>"
            written = f"{value:.3f}" if np.isfinite(value) else "−∞"
            cells.append(f'<td style="{CELL};{_shade(value, low, high)}">{written}{before}</td>')
        rows.append(f"<tr>{''.join(cells)}</tr>")
    rest = [
        f"{count:,} more {what}"
        for count, what in ((N - len(shown), "tokens"), (L - shown.shape[1], "labels"))
        if count
    ]
    below = "; ".join([*([note] if note else []), *(["… " + ", ".join(rest)] if rest else [])])
    above = f"<div><b>{escape(title)}</b></div>"
    body = f'<table style="{TABLE}"><tr>{head}</tr>{"".join(rows)}</table>'
    return f'<div>{above}{body}<div style="{QUIET}">{escape(below)}</div></div>'


def _shade(value: float, low: float, high: float) -> str:
    if not np.isfinite(value):
        return "opacity:.5"
    share = (value - low) / (high - low) if high > low else 0.0
    return f"background:rgba({BLUE},{0.5 * share:.2f})"
