"""From padded batches to rows of tokens, for any mask, in loss and decoding alike.

A token where the mask is off is not there: its neighbours follow each other. On the CPU tokens stay where they are if
those that count are neighbours in each sentence, as with padding on either side; otherwise they are packed into
consecutive rows. Elsewhere their number would have to be asked of the device. So there the tokens of each sentence are
permuted, those that count first, by a kernel of ours or by cumulative sums and a scatter, and nothing waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tagline import compiled
from tagline.chain.tensors import TensorChain
from tagline.chain.tensors.dispatch import permuted, transforming
from tagline.chain.tensors.masked import BY_LENGTHS, PaddedBatch
from tagline.chain.tensors.types import as_array


@dataclass(frozen=True, eq=False)
class Packing:
    """How the tokens of a batch ``[B, T]`` lie in rows.

    Attributes:
        shape: B and T.
        first, lengths: ``[B]``, as in a `TensorChain`.
        mask: ``[B, T]``, which tokens count; None where all do, or where the lengths say it (`by_length`).
        rows: ``[N]``, the token ``b·T + t`` in each row; None where row and token are the same.
        slots: ``[B·T]``, the row of each token, where every token has one; None otherwise.
        by_length: whether the tokens of a sentence that count are its first ones, as many as its length.
    """

    shape: tuple[int, int]
    first: Tensor
    lengths: Tensor
    mask: Tensor | None = None
    rows: Tensor | None = None
    slots: Tensor | None = None
    by_length: bool = False

    def pack(self, values: Tensor) -> Tensor:
        """Turn values of tokens ``[B, T, …]`` into rows ``[N, …]``, with gradients."""
        flat = values.flatten(0, 1)
        if self.rows is None:
            return flat.contiguous()
        if not (flat.requires_grad and torch.is_grad_enabled()) or transforming():
            return flat.index_select(0, self.rows)
        return _Taken.apply(flat, self.rows, self.slots)  # type: ignore[no-any-return, no-untyped-call]

    def unpack(self, values: Tensor, fill: float) -> Tensor:
        """Turn values in rows ``[N, …]`` into values of tokens ``[B, T, …]``, `fill` where a token does not count."""
        B, T = self.shape
        if self.rows is not None and self.slots is None:
            empty = values.new_full((B * T, *values.shape[1:]), fill)
            return empty.index_copy(0, self.rows, values).reshape(B, T, *values.shape[1:])
        tokens = values if self.slots is None else values.index_select(0, self.slots)
        tokens = tokens.reshape(B, T, *values.shape[1:])
        mask = torch.arange(T, device=tokens.device) < self.lengths[:, None] if self.by_length else self.mask
        if mask is None:
            return tokens
        return torch.where(mask[(..., *[None] * (tokens.dim() - 2))], tokens, fill)

    def chain(self, emissions: Tensor, transitions: Tensor, start: Tensor, end: Tensor) -> TensorChain:
        """Make the chain of rows of emissions ``[N, L]``."""
        return TensorChain(emissions, self.first, self.lengths, self.shape[1], transitions, start, end)

    def steps(self) -> Tensor:
        """Return the sentence and the step of each row, ``[N, 2]``."""
        grid = torch.stack(torch.meshgrid(*map(torch.arange, self.shape), indexing="ij"), 2)
        return self.pack(grid.to(self.first.device))

    def num_tokens(self) -> Tensor:
        """Return how many tokens count."""
        return self.lengths.sum()


def everything(B: int, T: int, device: torch.device) -> Packing:
    """Pack a batch in which every token counts."""
    return Packing((B, T), _grid(B, T, device), torch.full((B,), T, device=device))


def by_lengths(lengths: Tensor, T: int) -> Packing:
    """Pack a batch padded at the right, given how many tokens of each sentence count."""
    B = lengths.shape[0]
    return Packing((B, T), _grid(B, T, lengths.device), lengths, by_length=True)


def by_mask(mask: Tensor) -> Packing:
    """Pack a batch, given which tokens count, ``[B, T]`` booleans in any pattern."""
    if mask.is_cpu and not torch.compiler.is_compiling() and not transforming():
        B, T = mask.shape
        if compiled.core is not None and (runs := compiled.core.runs_of(as_array(mask))) is not None:
            return Packing((B, T), torch.from_numpy(runs[0]), torch.from_numpy(runs[1]), mask)
        counted = np.flatnonzero(mask.numpy())  # NumPy, because small operations take it a third of the time
        if len(counted) == B * T:
            return everything(B, T, mask.device)
        offsets = np.searchsorted(counted, np.arange(B + 1) * T)
        first, lengths = torch.from_numpy(offsets[:-1]), torch.from_numpy(np.diff(offsets))
        return Packing((B, T), first, lengths, mask, torch.from_numpy(counted))
    if (places := permuted(mask)) is not None:
        first, lengths, rows, slots = places
        return Packing((mask.shape[0], mask.shape[1]), first, lengths, mask, rows, slots)
    return _permuted(mask)


def of(batch: PaddedBatch, tags: Tensor) -> Packing:
    """Pack a batch that is otherwise read as it lies, with its tags ``[B, T]``."""
    B, T = tags.shape
    if batch.by == BY_LENGTHS and batch.counts is not None:
        return by_lengths(batch.counts, T)
    mask = batch.counts if batch.ignored is None else tags != batch.ignored
    if mask is None:
        return everything(B, T, tags.device)
    return _permuted(mask if batch.counts is None or batch.ignored is None else mask & batch.counts)


def _grid(B: int, T: int, device: torch.device) -> Tensor:
    return torch.arange(0, B * T, T, device=device) if T else torch.zeros(B, dtype=torch.int64, device=device)


def _permuted(mask: Tensor) -> Packing:
    B, T = mask.shape
    counted = mask.cumsum(1)
    lengths = counted[:, -1] if T else counted.sum(1)
    steps = torch.arange(T, device=mask.device)
    places = torch.where(mask, counted - 1, lengths[:, None] + steps - counted)  # [B, T]: those that count first
    first = _grid(B, T, mask.device)
    slots = places + first[:, None]
    rows = torch.empty_like(slots).scatter(1, places, first[:, None] + steps)
    return Packing((B, T), first, lengths, mask, rows.flatten(), slots.flatten())


class _Taken(torch.autograd.Function):
    """``values[rows]`` for distinct rows: the gradient is put back without sums, so it is the same bits every time."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, rows: Tensor, slots: Tensor | None) -> Tensor:
        ctx.save_for_backward(rows, slots)
        ctx.count = values.shape[0]
        return values.index_select(0, rows)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        rows, slots = ctx.saved_tensors
        if slots is not None:
            return gradient.index_select(0, slots), None, None
        empty = gradient.new_zeros(ctx.count, *gradient.shape[1:])
        return empty.index_copy(0, rows, gradient), None, None
