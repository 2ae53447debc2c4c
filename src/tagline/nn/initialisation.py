"""Where the weights of encoders begin."""

from __future__ import annotations

import torch
from torch import nn


def fill_embedding(vectors: nn.Embedding) -> None:
    """Draw vectors evenly from ±√(3/D), so that their numbers have variance 1/D; the padding stays 0."""
    bound = (3 / vectors.embedding_dim) ** 0.5
    with torch.no_grad():
        vectors.weight.uniform_(-bound, bound)
        if vectors.padding_idx is not None:
            vectors.weight[vectors.padding_idx] = 0


def fill_lstm(lstm: nn.LSTM) -> None:
    """Draw the weights of each gate: recurrent ones orthogonal, input ones after Glorot; forget gates begin open."""
    H = lstm.hidden_size
    for name, parameter in lstm.named_parameters():
        if "bias" in name:
            nn.init.zeros_(parameter)
            if "bias_ih" in name:
                nn.init.ones_(parameter[H : 2 * H])  # gates come in the order input, forget, cell, output
        else:
            draw = nn.init.orthogonal_ if "weight_hh" in name else nn.init.xavier_uniform_
            for gate in parameter.view(4, H, -1):
                draw(gate)
