"""The running mean of the weights (Polyak & Juditsky 1992), which is scored and kept in place of the last weights.

    m ← m + (1 − d_n) (w − m) after update n,        d_n = min(decay, n / (n + 9))

so that a short run is not held back by where it began. While the network is scored, it holds the mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor


class Average:
    """The running mean of weights; with a decay of 0 there is none.

    Attributes:
        mean: like the weights; empty where there is none.
        updates: how many there were.
    """

    def __init__(self, weights: Sequence[Tensor], decay: float) -> None:
        self.weights, self.decay, self.updates = list(weights) if decay else [], decay, 0
        self.mean = [weight.detach().clone() for weight in self.weights]

    @torch.no_grad()
    def update(self) -> None:
        """Take the weights as they are now into the mean."""
        if self.mean:
            share = 1 - min(self.decay, self.updates / (self.updates + 9))
            torch._foreach_lerp_(self.mean, self.weights, share)
            self.updates += 1

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Put the mean in the place of the weights, and put the weights back afterwards."""
        last = [weight.detach().clone() for weight in self.weights]
        self.settle()
        try:
            yield
        finally:
            self._put(last)

    def settle(self) -> None:
        """Put the mean in the place of the weights for good."""
        self._put(self.mean)

    @torch.no_grad()
    def _put(self, values: Sequence[Tensor]) -> None:
        for weight, value in zip(self.weights, values, strict=True):
            weight.copy_(value)
