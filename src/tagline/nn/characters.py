"""From the characters of words to a vector a word: ``[U, C]`` numbers in, ``[U, D]`` out.

Number 0 pads at the right and never matters: the vector of a word does not depend on the longest word beside it.

    CNN     max_t relu(b + Σ_k W_k e(c_(t+k)))      over the characters t of the word (Ma and Hovy 2016)
    LSTM    the last states of two LSTMs, one from each side                          (Lample et al. 2016)
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from tagline.errors import InputError
from tagline.features.spellings import PADDING
from tagline.nn.embedding import Embedding
from tagline.nn.initialisation import fill_embedding, fill_lstm
from tagline.nn.recurrent import OneWayLSTM


class CharacterCNN(nn.Module):
    """A convolution over the characters of a word, and the maximum of each filter.

    Arguments:
        num: how many numbers characters have.
        dim: the size of a character's vector.
        filters: how many filters there are, over all widths.
        widths: how many characters a filter sees at once.
    """

    def __init__(self, num: int, dim: int = 30, filters: int = 50, widths: Sequence[int] = (3,)) -> None:
        super().__init__()
        if not widths or min(widths) < 1 or filters < len(widths):
            raise InputError(
                "widths: expected at least one, each from 1, and a filter for each, got {} and {} filters",
                list(widths),
                filters,
            )
        self.size = filters
        self.widths = tuple(widths)
        self.vectors = Embedding(num, dim, padding_idx=PADDING)
        shares = [filters // len(widths) + (k < filters % len(widths)) for k in range(len(widths))]
        self.filters = nn.ModuleList(nn.Conv1d(dim, share, width) for share, width in zip(shares, widths, strict=True))
        fill_embedding(self.vectors)

    def forward(self, characters: Tensor) -> Tensor:
        """Return the vectors ``[U, D]`` of words, 0 for one without characters."""
        inside = (characters != PADDING)[:, None]  # [U, 1, C]
        letters = self.vectors(characters).transpose(1, 2)  # [U, dim, C]
        maxima = []
        for convolution, width in zip(self.filters, self.widths, strict=True):
            seen = convolution(functional.pad(letters, ((width - 1) // 2, width // 2)))
            maxima.append(torch.where(inside, seen, 0.0).amax(2).relu())
        return torch.cat(maxima, 1)


class CharacterLSTM(nn.Module):
    """Two LSTMs over the characters of a word, one from each side; the size is twice `hidden`.

    Both read from the first character on, the second one of the word reversed, so that what follows a word's last
    character is not read at all and nothing has to be packed.
    """

    def __init__(self, num: int, dim: int = 30, hidden: int = 25) -> None:
        super().__init__()
        self.size = 2 * hidden
        self.vectors = Embedding(num, dim, padding_idx=PADDING)
        self.forwards = OneWayLSTM(dim, hidden)
        self.backwards = OneWayLSTM(dim, hidden)
        fill_embedding(self.vectors)
        fill_lstm(self.forwards)
        fill_lstm(self.backwards)

    def forward(self, characters: Tensor) -> Tensor:
        """Return the vectors ``[U, D]`` of words, 0 for one without characters."""
        inside = characters != PADDING
        lengths = inside.sum(1, keepdim=True)  # [U, 1]
        steps = torch.arange(characters.shape[1], device=characters.device)
        mirrored = characters.gather(1, (lengths - 1 - steps).clamp(min=0))
        ends = []
        for lstm, letters in ((self.forwards, characters), (self.backwards, mirrored)):
            states, _ = lstm(self.vectors(letters))  # [U, C, hidden]
            last = (lengths - 1).clamp(min=0)[:, :, None].expand(-1, -1, states.shape[2])
            ends.append(states.gather(1, last)[:, 0])
        return torch.where(lengths > 0, torch.cat(ends, 1), 0.0)
