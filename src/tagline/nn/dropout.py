"""Noise while training: parts of vectors, or whole words, are left out at random.

Variational dropout keeps one mask for all tokens of a sentence (Gal and Ghahramani 2016); word dropout makes known
words unknown, so that the unknown word's vector learns what words that were never seen have in common.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tagline.checks import check_number
from tagline.features.spellings import KNOWN, UNKNOWN
from tagline.messages import message


class TrainingNoise(nn.Module):
    """Noise with probability `p` while training; subclasses say what it does."""

    argument = "dropout"  # which one `p` is, for messages

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = check_probability(self.argument, p)

    def forward(self, values: Tensor) -> Tensor:
        """Return the values with noise in training, as they are otherwise."""
        return self.with_noise(values) if self.training and self.p else values

    def with_noise(self, values: Tensor) -> Tensor:
        """Return the values with noise."""
        raise NotImplementedError

    def extra_repr(self) -> str:
        """Name the probability."""
        return f"p={self.p}"


class VariationalDropout(TrainingNoise):
    """Leave out features with probability `p`, the same ones at every token of a sentence."""

    def with_noise(self, values: Tensor) -> Tensor:
        """Return values ``[B, T, D]``: features that are left out are 0, the others are divided by 1 − p."""
        stays = torch.empty_like(values[:, :1]).bernoulli_(1 - self.p)  # [B, 1, D]
        return values * (stays / (1 - self.p))


class WordDropout(TrainingNoise):
    """Make known words unknown with probability `p`."""

    argument = "word_dropout"

    def with_noise(self, values: Tensor) -> Tensor:
        """Return the numbers of words, some of them that of the unknown word."""
        drawn = torch.rand(values.shape, device=values.device) < self.p
        return torch.where(drawn & (values >= KNOWN), UNKNOWN, values)


def check_probability(name: str, p: float) -> float:
    """Return a probability below 1, or say what is wrong with it."""
    check_number(name, p, least=0, below=1, wanted=message("a probability from 0 to below 1"))
    return float(p)
