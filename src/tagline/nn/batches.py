"""Batches of sentences as tensors on a device.

They are collated in NumPy and sent in one copy, from pinned memory to a GPU, so that no step waits for the device. How
tokens lie in PyTorch's `PackedSequence` (step by step, longer sentences first) is worked out here as well: its
`pack_padded_sequence` would wait, and refuses empty sentences.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tagline.features.spellings import FormBatch
from tagline.types import IntArray


@dataclass(frozen=True, eq=False)
class WordBatch:
    """B sentences over U distinct spellings, N tokens in all; all integers int64.

    Attributes:
        forms, words, cases, characters: as in `tagline.features.spellings.FormBatch`.
        cells: ``[N]``, the cell ``b·T + t`` of each token in packed order: by step, within a step by falling length;
            None where it is not known, and the sentences are read as they are padded.
        device_lengths: ``[B]``, on the device.
        lengths: ``[B]``, always on the CPU.
        step_sizes: ``[T]``, how many sentences reach each step, always on the CPU.
    """

    forms: Tensor
    words: Tensor
    cases: Tensor
    characters: Tensor
    cells: Tensor | None
    device_lengths: Tensor
    lengths: Tensor
    step_sizes: Tensor

    @classmethod
    def of(cls, batch: FormBatch, device: torch.device | str = "cpu") -> WordBatch:
        """Send a batch to a device."""
        cells, step_sizes = packed_order(batch.lengths)
        parts = (batch.forms, batch.words, batch.cases, batch.characters, cells, batch.lengths)
        forms, words, cases, characters, device_cells, lengths = send(parts, torch.device(device))
        on_cpu = torch.from_numpy(batch.lengths), torch.from_numpy(step_sizes)
        return cls(forms, words, cases, characters, device_cells, lengths, *on_cpu)

    def to(self, device: torch.device | str) -> WordBatch:
        """Return the batch on another device."""
        moved = {
            field.name: value.to(device, non_blocking=True)
            for field in fields(self)
            if field.name not in ("lengths", "step_sizes") and (value := getattr(self, field.name)) is not None
        }
        return replace(self, **moved)

    @property
    def size(self) -> int:
        """B."""
        return self.forms.shape[0]


def send(parts: tuple[NDArray[np.integer], ...], device: torch.device) -> list[Tensor]:
    """Send arrays of integers to a device in one copy; they arrive as int64."""
    flat = torch.from_numpy(np.concatenate([part.ravel() for part in parts]).astype(np.int64, copy=False))
    if device.type == "cuda":
        flat = flat.pin_memory()
    runs = torch.split(flat.to(device, non_blocking=True), [part.size for part in parts])
    return [run.view(part.shape) for run, part in zip(runs, parts, strict=True)]


def packed_order(lengths: IntArray) -> tuple[IntArray, IntArray]:
    """Return the cells ``[N]`` of tokens in packed order, and how many sentences reach each step ``[T]``.

    >>> cells, step_sizes = packed_order(np.array([1, 3, 0]))
    >>> cells.tolist(), step_sizes.tolist()
    ([3, 0, 4, 5], [2, 1, 1])
    """
    T = int(lengths.max(initial=0))
    order = np.argsort(-lengths, kind="stable")
    reached = np.arange(T)[:, None] < lengths[order]  # [T, B]
    steps, ranks = np.nonzero(reached)
    return order[ranks] * T + steps, reached.sum(1)
