"""Pictures, one door each: they ask the engine and the models, and draw with `tagline.drawing`."""

from __future__ import annotations

from tagline.drawing.spans import Mark, Picture, Piece, colours_of

__all__ = ["Mark", "Picture", "Piece", "colours_of"]
