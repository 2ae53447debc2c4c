"""Pictures, one door each: they ask the engine and the models, and draw with `tagline.drawing`."""

from __future__ import annotations

from tagline.drawing.spans import Mark, Picture, Piece, colours_of
from tagline.plots.tables import TokenTable, backward_table, forward_table, viterbi_table
from tagline.plots.trellises import Trellis, trellis

__all__ = [
    "Mark",
    "Picture",
    "Piece",
    "TokenTable",
    "Trellis",
    "backward_table",
    "colours_of",
    "forward_table",
    "trellis",
    "viterbi_table",
]
