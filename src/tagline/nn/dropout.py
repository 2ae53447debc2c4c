"""Noise while training: parts of vectors, or whole words, are left out at random.

Variational dropout keeps one mask for all steps of a sequence (Gal and Ghahramani 2016); word dropout makes known words
unknown, so that the unknown word's vector learns what words that were never seen have in common.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tagline.errors import InputError
from tagline.features.words import KNOWN, UNKNOWN


class VariationalDropout(nn.Module):
    """Leave out features with probability `p`, the same ones at every step of a sequence."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = check_probability("dropout", p)

    def forward(self, values: Tensor) -> Tensor:
        """Return values ``[B, T, D]``, features that are left out 0, the others divided by 1 − p."""
        if not self.training or self.p == 0:
            return values
        kept = torch.empty_like(values[:, :1]).bernoulli_(1 - self.p)  # [B, 1, D]
        return values * (kept / (1 - self.p))

    def extra_repr(self) -> str:
        """Name the probability."""
        return f"p={self.p}"


class WordDropout(nn.Module):
    """Make known words unknown with probability `p`."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = check_probability("word_dropout", p)

    def forward(self, words: Tensor) -> Tensor:
        """Return the numbers of words, some of them that of the unknown word."""
        if not self.training or self.p == 0:
            return words
        gone = torch.rand(words.shape, device=words.device) < self.p
        return torch.where(gone & (words >= KNOWN), UNKNOWN, words)

    def extra_repr(self) -> str:
        """Name the probability."""
        return f"p={self.p}"


def check_probability(name: str, p: float) -> float:
    """Return a probability below 1, or say what is wrong with it."""
    if isinstance(p, bool) or not isinstance(p, int | float) or not 0 <= p < 1:
        raise InputError(f"{name}: expected a probability from 0 to below 1, got {p!r}")
    return float(p)
