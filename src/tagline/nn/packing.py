"""From padded batches to rows of tokens: any mask, its tokens moved together, in loss and decoding alike.

A token that the mask leaves out is not there: its neighbours follow each other. On the CPU tokens stay where they are
if those kept of each sequence follow each other, as with padding on either side; otherwise they are packed into
consecutive rows. Elsewhere their number would have to be asked of the device, so the tokens of each sequence are
permuted, kept ones first, by a kernel of ours or by cumulative sums and a scatter, and nothing waits for anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tagline import compiled
from tagline.chain import tensor_dispatch
from tagline.chain.tensors import TensorChain, as_array


@dataclass(frozen=True, eq=False)
class Layout:
    """How the tokens of a batch ``[B, T]`` lie in rows.

    Attributes:
        shape: B and T.
        first, lengths: ``[B]``, as in a `TensorChain`.
        kept: ``[B, T]``, which tokens count; None for all, or for those that `padded` says.
        rows: ``[N]``, the token ``b·T + t`` in each row; None where row and token are the same.
        slots: ``[B·T]``, the row of each token, where every token has one; None otherwise.
        padded: whether tokens count that come before the length of their sequence.
    """

    shape: tuple[int, int]
    first: Tensor
    lengths: Tensor
    kept: Tensor | None = None
    rows: Tensor | None = None
    slots: Tensor | None = None
    padded: bool = False

    def pack(self, values: Tensor) -> Tensor:
        """Turn values of tokens ``[B, T, …]`` into rows ``[N, …]``, with gradients."""
        flat = values.flatten(0, 1)
        if self.rows is None:
            return flat.contiguous()
        if not (flat.requires_grad and torch.is_grad_enabled()):
            return flat.index_select(0, self.rows)
        return _Taken.apply(flat, self.rows, self.slots)  # type: ignore[no-any-return, no-untyped-call]

    def unpack(self, values: Tensor, fill: float) -> Tensor:
        """Turn values in rows ``[N, …]`` into values of tokens ``[B, T, …]``, `fill` where a token does not count."""
        if self.rows is None:
            found = values
        elif self.slots is None:
            found = values.new_full((self.shape[0] * self.shape[1], *values.shape[1:]), fill)
            return found.index_copy(0, self.rows, values).reshape(*self.shape, *values.shape[1:])
        else:
            found = values.index_select(0, self.slots)
        found = found.reshape(*self.shape, *values.shape[1:])
        kept = self.kept
        if self.padded:
            kept = torch.arange(self.shape[1], device=found.device) < self.lengths[:, None]
        if kept is None:
            return found
        return torch.where(kept[(..., *[None] * (found.dim() - 2))], found, fill)

    def chain(
        self, emissions: Tensor, transitions: Tensor, start: Tensor, end: Tensor, free: bool = False
    ) -> TensorChain:
        """Make the chain of rows of emissions ``[N, L]``."""
        return TensorChain(emissions, self.first, self.lengths, self.shape[1], transitions, start, end, free)

    def num_tokens(self) -> Tensor:
        """Count the tokens that count."""
        return self.lengths.sum()


def everything(B: int, T: int, device: torch.device) -> Layout:
    """Lay out a batch in which every token counts."""
    return Layout((B, T), _grid(B, T, device), torch.full((B,), T, device=device))


def by_lengths(lengths: Tensor, T: int) -> Layout:
    """Lay out a batch padded at the right, given how many tokens of each sequence count."""
    B = lengths.shape[0]
    return Layout((B, T), _grid(B, T, lengths.device), lengths, padded=True)


def by_mask(kept: Tensor) -> Layout:
    """Lay out a batch given which tokens count, ``[B, T]`` booleans in any pattern."""
    if kept.is_cpu and not torch.compiler.is_compiling():
        return _packed(kept)
    if (found := tensor_dispatch.permuted(kept)) is not None:
        first, lengths, rows, slots = found
        return Layout((kept.shape[0], kept.shape[1]), first, lengths, kept, rows, slots)
    return _permuted(kept)


def _grid(B: int, T: int, device: torch.device) -> Tensor:
    return torch.arange(0, B * T, T, device=device) if T else torch.zeros(B, dtype=torch.int64, device=device)


def _packed(kept: Tensor) -> Layout:
    B, T = kept.shape
    if compiled.core is not None and (runs := compiled.core.runs_of(as_array(kept))) is not None:
        return Layout((B, T), torch.from_numpy(runs[0]), torch.from_numpy(runs[1]), kept)
    rows = np.flatnonzero(kept.numpy())  # NumPy, because small operations take it a third of the time
    if len(rows) == B * T:
        return everything(B, T, kept.device)
    bounds = np.searchsorted(rows, np.arange(B + 1) * T)
    first, lengths = torch.from_numpy(bounds[:-1]), torch.from_numpy(np.diff(bounds))
    return Layout((B, T), first, lengths, kept, torch.from_numpy(rows))


def _permuted(kept: Tensor) -> Layout:
    B, T = kept.shape
    counted = kept.cumsum(1)
    lengths = counted[:, -1] if T else counted.sum(1)
    steps = torch.arange(T, device=kept.device)
    spots = torch.where(kept, counted - 1, lengths[:, None] + steps - counted)  # [B, T]: kept first, each in order
    first = _grid(B, T, kept.device)
    slots = spots + first[:, None]
    rows = torch.empty_like(slots).scatter(1, spots, first[:, None] + steps)
    return Layout((B, T), first, lengths, kept, rows.flatten(), slots.flatten())


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
