"""Embedding tables whose gradient has the same bits in every run, on a GPU too.

The backward pass of PyTorch's own embedding adds up with atomics on a GPU as soon as more than 3,072 numbers are looked
up and some of them are frequent, so two trainings with one seed would differ. Here

    gradient of row v  =  Σ_n [ids_n = v] · gradient of output n

is one matrix product with the matrix of these zeros and ones where that is small enough (for characters it takes a
quarter to four fifths of the time), and PyTorch's deterministic kernel where it is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from tagline.chain.tensors.dispatch import transforming

FEW_IDS = 3072  # up to so many PyTorch's kernel adds up in order
MOST_CELLS = 1 << 25  # of the matrix of zeros and ones


class Embedding(nn.Embedding):
    """`torch.nn.Embedding`, whose gradient has the same bits in every run."""

    def forward(self, ids: Tensor) -> Tensor:
        """Return the rows ``[…, D]`` with these numbers ``[…]``."""
        return rows_of(self.weight, ids, self.padding_idx)


def rows_of(table: Tensor, ids: Tensor, padding: int | None = None) -> Tensor:
    """Return rows ``[…, D]`` of a table ``[V, D]`` by their numbers ``[…]``; row `padding` gets no gradient."""
    ordered = table.is_cuda and ids.numel() > FEW_IDS and table.requires_grad and torch.is_grad_enabled()
    if not ordered or torch.compiler.is_compiling() or transforming():
        return functional.embedding(ids, table, padding)
    rows: Tensor = _Lookup.apply(table, ids, padding)  # type: ignore[no-untyped-call]
    return rows


class _Lookup(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, table: Tensor, ids: Tensor, padding: int | None) -> Tensor:
        ctx.save_for_backward(ids)
        ctx.count, ctx.padding = table.shape[0], padding
        return functional.embedding(ids, table)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (ids,) = ctx.saved_tensors
        return _summed(gradient, ids, ctx.count, ctx.padding), None, None


def _summed(gradient: Tensor, ids: Tensor, count: int, padding: int | None) -> Tensor:
    """Sum gradients ``[…, D]`` by number: ``[V, D]``."""
    if count * ids.numel() > MOST_CELLS:
        with _deterministic():
            ignored = -1 if padding is None else padding
            table: Tensor = torch.ops.aten.embedding_dense_backward(gradient, ids, count, ignored, False)
        return table
    chosen = torch.arange(count, device=ids.device)[:, None] == ids.flatten()  # [V, N]
    with torch.autocast(gradient.device.type, enabled=False):
        table = chosen.to(gradient.dtype) @ gradient.flatten(0, -2)
    if padding is not None:
        table[padding] = 0
    return table


@contextmanager
def _deterministic() -> Iterator[None]:
    enabled, warns = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=warns or not enabled)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(enabled, warn_only=warns)
