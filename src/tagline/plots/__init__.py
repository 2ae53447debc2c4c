"""Pictures, one door each: they ask the engine and the models, and draw with `tagline.drawing`.

`trellis`, the tables and `spans` are objects that show themselves in notebooks and `save` by the ending of a name; the
others are figures of matplotlib (extra ``plot``) and return axes. All take ``path``, those that are drawn also ``ax``.
"""

from __future__ import annotations

from tagline.drawing.coloured_spans import Mark, Picture, Piece, colours_of
from tagline.plots.doors import (
    confusion,
    explanation,
    learning_curve,
    reliability,
    states,
    top_weights,
    transitions,
    types,
    weights,
)
from tagline.plots.recursion_tables import TokenTable, backward_table, forward_table, viterbi_table
from tagline.plots.span_pictures import spans
from tagline.plots.trellises import Trellis, trellis

__all__ = [
    "Mark",
    "Picture",
    "Piece",
    "TokenTable",
    "Trellis",
    "backward_table",
    "colours_of",
    "confusion",
    "explanation",
    "forward_table",
    "learning_curve",
    "reliability",
    "spans",
    "states",
    "top_weights",
    "transitions",
    "trellis",
    "types",
    "viterbi_table",
    "weights",
]
