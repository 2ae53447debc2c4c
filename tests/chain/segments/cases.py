"""Segment chains for tests: ragged, with forbidden scores, and NaN wherever nothing may be read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tagline.chain.segments import SegmentChain
from tagline.chain.segments.types import readable
from tagline.ragged import offsets_of


def draw(
    seed: int,
    lengths: Sequence[int],
    D: int,
    L: int,
    *,
    forbidden: float = 0.0,
    scale: float = 2.0,
    whole: bool = False,
) -> SegmentChain:
    """Draw scores; `forbidden` is the share that is −∞, `whole` makes them small whole numbers, so that some tie."""
    rng, offsets = np.random.default_rng(seed), offsets_of(lengths)

    def scores(*shape: int) -> np.ndarray:
        drawn = rng.normal(0, scale, shape)
        drawn = drawn.round() if whole else drawn
        return np.where(rng.random(shape) < forbidden, -np.inf, drawn)

    segments = scores(int(offsets[-1]), D, L)
    segments[~readable(offsets, D)] = np.nan
    return SegmentChain(segments, scores(L, L), scores(L), scores(L), offsets)
