"""Batches for the CRF layer, and the same as a `Chain` for NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from tagline.nn import CRF
from tagline.types import Chain


def make_mask(kind: str, B: int, T: int) -> Tensor:
    """Masks as users have them: padding on either side, gaps, [CLS], empty rows."""
    rng = np.random.default_rng(B * 100 + T)
    lengths = rng.integers(1, T + 1, B)
    steps = np.arange(T)
    masks: dict[str, Any] = {
        "full": np.ones((B, T), np.bool_),
        "right": steps < lengths[:, None],
        "left": steps >= T - lengths[:, None],
        "cls": (steps > 0) & (steps < T - 1) & np.ones((B, 1), np.bool_),
        "gaps": rng.random((B, T)) < 0.6,
        "empty row": (steps < lengths[:, None]) & (np.arange(B)[:, None] != 1),
        "nothing": np.zeros((B, T), np.bool_),
    }
    return torch.from_numpy(masks[kind])


MASKS = ("full", "right", "left", "cls", "gaps", "empty row", "nothing")


def poisoned(emissions: Tensor, mask: Tensor) -> Tensor:
    """NaN where the mask is off."""
    return torch.where(mask[:, :, None], emissions, torch.nan)


def chain_of(crf: CRF, emissions: Tensor, mask: Tensor) -> Chain:
    """The same scores as the layer's, compacted by hand."""
    rows = [row[kept].detach().numpy() for row, kept in zip(emissions, mask, strict=True)]
    transitions, start, end = (part.detach().numpy() for part in crf.scores(emissions.dtype))
    return Chain.from_sentences(rows, transitions, start, end)


def compact(values: Tensor, mask: Tensor) -> Any:
    """Values of the tokens that count, one after the other."""
    return values[mask].detach().numpy()
