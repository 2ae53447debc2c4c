"""Batches of pieces as tensors: what a transformer encoder takes.

They are put together in NumPy (`tagline.features.subwords`) and sent in one copy, as batches of words are.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from tagline.features.subwords import PieceBatch
from tagline.nn.batches import send


@dataclass(frozen=True, eq=False)
class SubwordBatch:
    """B sentences of up to T words in W windows of up to S pieces.

    Attributes:
        input_ids: ``[W, S]``, pieces, special ones around each window, padding behind.
        attention_mask: ``[W, S]``, booleans, which pieces are no padding.
        words: ``[W, S]``, which word of its sentence a piece belongs to; −1 for special and padding pieces.
        sentences: ``[W]``, the sentence of each window.
        first: ``[B, T]``, the first piece of each word as ``window · S + place``; 0 where there is no word.
        lengths: ``[B]``, words of each sentence, on the CPU.
        device_lengths: the same on the device.
    """

    input_ids: Tensor
    attention_mask: Tensor
    words: Tensor
    sentences: Tensor
    first: Tensor
    lengths: Tensor
    device_lengths: Tensor

    @classmethod
    def of(cls, batch: PieceBatch, device: torch.device | str = "cpu") -> SubwordBatch:
        """Send a batch to a device."""
        parts = (batch.input_ids, batch.widths, batch.words, batch.sentences, batch.first, batch.lengths)
        input_ids, widths, words, sentences, first, lengths = send(parts, torch.device(device))
        mask = torch.arange(input_ids.shape[1], device=input_ids.device) < widths[:, None]
        return cls(input_ids, mask, words, sentences, first, torch.from_numpy(batch.lengths), lengths)

    def to(self, device: torch.device | str) -> SubwordBatch:
        """Return the batch on another device."""
        moved = {
            field.name: getattr(self, field.name).to(device, non_blocking=True)
            for field in fields(self)
            if field.name != "lengths"
        }
        return replace(self, **moved)

    @property
    def size(self) -> int:
        """B."""
        return self.first.shape[0]
