"""LSTMs that ask for their weights by name, so that other tensors can stand for them (`graphs`)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class OneWayLSTM(nn.LSTM):
    """One layer and one direction of `nn.LSTM` over ``[B, T, D]``, which begins with zeros."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__(inputs, hidden, batch_first=True)

    def forward(self, tokens: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        """Return the states ``[B, T, H]``, as the first of two."""
        zeros = tokens.new_zeros(1, tokens.shape[0], self.hidden_size)
        return _one_way(weights_of(self), tokens, zeros, self.training, batch_first=True), None


def both_ways(weights: Sequence[Tensor], tokens: Tensor, lengths: Tensor, training: bool) -> Tensor:
    """Return the states ``[B, T, 2 H]`` for tokens ``[B, T, D]``, 0 at padding.

    Each direction begins at its own end of a sentence and comes to the padding last. `weights` are those of `nn.LSTM`,
    one half for each direction.
    """
    B, T, _ = tokens.shape
    steps = torch.arange(T, device=tokens.device)[:, None]
    inside = (steps < lengths)[:, :, None]  # [T, B, 1]
    turned = torch.where(inside, (lengths - 1 - steps)[:, :, None], steps[:, :, None])
    half = len(weights) // 2
    tokens = tokens.transpose(0, 1)
    zeros = tokens.new_zeros(1, B, weights[1].shape[1])
    first = _one_way(weights[:half], tokens, zeros, training)
    second = _one_way(weights[half:], tokens.gather(0, turned.expand_as(tokens)), zeros, training)
    states = torch.cat([first, second.gather(0, turned.expand_as(second))], 2)
    return torch.where(inside, states, 0.0).transpose(0, 1)


def weights_of(lstm: nn.LSTM) -> list[nn.Parameter]:
    """Return the weights of one layer, those of each direction together."""
    return [weight for way in lstm.all_weights for weight in way]


def _one_way(
    weights: Sequence[Tensor], tokens: Tensor, zeros: Tensor, training: bool, batch_first: bool = False
) -> Tensor:
    states: Tensor = torch.lstm(tokens, (zeros, zeros), [*weights], True, 1, 0.0, training, False, batch_first)[0]
    return states
