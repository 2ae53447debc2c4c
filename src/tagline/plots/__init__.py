"""Pictures: spans of a text in colour, tables for notebooks, figures. They know texts and numbers, not models.

`tagline.show` and the notebook views of results draw with these; matplotlib (extra ``plot``) is imported when a figure
is drawn.
"""

from __future__ import annotations

from tagline.plots.spans import Mark, Picture, Piece, colours_of

__all__ = ["Mark", "Picture", "Piece", "colours_of"]
