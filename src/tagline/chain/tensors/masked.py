"""Questions about a padded batch as it lies in memory, which the kernels of `fused` answer at once.

A layer is asked for the loss and for the best labelling of padded emissions ``[B, T, L]`` with a mask. On a GPU each
operation of PyTorch costs about as much as a kernel of ours. So finding the tokens that count, the sweeps, the score of
the tags and the reduction are one step of autograd here, and one operator in a graph of `torch.compile`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tagline.chain.tensors.dispatch import fused_for, transforming

ALL, BY_MASK, BY_LENGTHS = 0, 1, 2
Again = Callable[..., Tensor]
"""Emissions, transitions, start and end in, the same loss out, as operations that autograd records."""


@dataclass(frozen=True, eq=False)
class PaddedBatch:
    """Scores of padded sentences in float32, contiguous, and which tokens count.

    Attributes:
        emissions: ``[B, T, L]``, with at least one token.
        transitions, start, end: as in a `TensorChain`.
        by: what `counts` is: `BY_MASK`, booleans ``[B, T]``; `BY_LENGTHS`, int64 ``[B]``; or `ALL` for None.
        counts: which tokens count.
        ignored: the tag of tokens that do not count either; None for none.
    """

    emissions: Tensor
    transitions: Tensor
    start: Tensor
    end: Tensor
    by: int
    counts: Tensor | None
    ignored: int | None = None

    @property
    def scores(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """What gradients are taken of."""
        return self.emissions, self.transitions, self.start, self.end


def answers(emissions: Tensor, num_labels: int) -> bool:
    """Whether the kernels answer for emissions of a device, with so many labels."""
    return emissions.dim() == 3 and emissions.numel() > 0 and num_labels <= 512 and fused_for(emissions.device)


def loss(batch: PaddedBatch, tags: Tensor, reduction: str, again: Again) -> Tensor:
    """Compute the negative log-likelihood of tags ``[B, T]``: "sum", "mean" or "token_mean" of it over the sentences.

    Where gradients are themselves differentiated, `again` computes the loss.
    """
    how = batch.counts, tags, batch.by, batch.ignored, reduction
    if torch.compiler.is_compiling():
        return _traced_loss(*batch.scores, *how)  # type: ignore[no-any-return]
    if torch.is_grad_enabled() and any(part.requires_grad for part in batch.scores):
        return _Loss.apply(again, how, *batch.scores)  # type: ignore[no-any-return, no-untyped-call]
    return _loss([part.detach() for part in batch.scores], *how)


def best(batch: PaddedBatch, pad: int) -> tuple[Tensor, Tensor]:
    """Find the best tags ``[B, T]``, `pad` where tokens do not count, and their scores ``[B]``; without gradients."""
    scores = [part.detach() for part in batch.scores]
    if torch.compiler.is_compiling():
        return _traced_best(*scores, batch.counts, batch.by, pad)  # type: ignore[no-any-return]
    return _best(scores, batch.counts, batch.by, pad)


class _Loss(torch.autograd.Function):
    """The loss with its gradients, which the backward pass has to multiply by that of the loss.

    So the backward pass, which is called in another thread, has least to do. Where a CUDA graph is captured it does not
    matter what calls cost: there the gradients are made in the backward pass, and need no multiplication.
    """

    @staticmethod
    def forward(ctx: Any, again: Again, how: tuple[Any, ...], *scores: Tensor) -> Tensor:
        ctx.again, ctx.at_once = again, not _captured(scores[0])
        (value, *slopes), kept = _answer(scores, *how, with_gradients=ctx.at_once)
        ctx.save_for_backward(*(slopes or [kept]), *scores)
        return value

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        made, scores = ctx.saved_tensors[:-4], ctx.saved_tensors[-4:]
        if torch.is_grad_enabled():
            wanted = [part for part in scores if part.requires_grad]
            again = iter(torch.autograd.grad(ctx.again(*scores), wanted, slope, create_graph=True))
            return None, None, *(next(again) if part.requires_grad else None for part in scores)
        if not ctx.at_once:
            return None, None, *_gradients(scores, made[0], slope)
        if transforming(slope):  # several backward passes at once, by vmap
            return None, None, *(part * slope for part in made)
        return None, None, *torch._foreach_mul(made, slope)


def _captured(values: Tensor) -> bool:
    """Whether what is done with values goes into a CUDA graph."""
    return values.is_cuda and torch.cuda.is_current_stream_capturing()


class _TracedLoss(torch.autograd.Function):
    """What `_Loss` does, in a graph of `torch.compile`."""

    @staticmethod
    def forward(ctx: Any, how: tuple[Any, ...], *scores: Tensor) -> Tensor:
        value, *slopes = _traced_loss_and_gradients(*scores, *how)
        ctx.save_for_backward(*slopes)
        return value  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        return None, *torch._foreach_mul(ctx.saved_tensors, slope)


def _answer(
    scores: Sequence[Tensor],
    counts: Tensor | None,
    tags: Tensor,
    by: int,
    ignored: int | None,
    reduction: str,
    *,
    with_gradients: bool,
) -> tuple[tuple[Tensor, ...], Tensor]:
    from tagline.chain.tensors import fused, recipes

    ordering = recipes.Ordering(by, ignored)
    counts, tags = _bytes(counts), tags.contiguous()
    return fused.padded_loss(_solid(scores), counts, tags, ordering, reduction, with_gradients)


def _loss(scores: Sequence[Tensor], *how: Any) -> Tensor:
    return _answer(scores, *how, with_gradients=False)[0][0]


def _loss_and_gradients(scores: Sequence[Tensor], *how: Any) -> tuple[Tensor, ...]:
    return _answer(scores, *how, with_gradients=True)[0]


def _gradients(scores: Sequence[Tensor], kept: Tensor, slope: Tensor) -> tuple[Tensor, ...]:
    from tagline.chain.tensors import fused

    return fused.padded_gradients(_solid(scores), kept, slope)


def _best(scores: Sequence[Tensor], counts: Tensor | None, by: int, pad: int) -> tuple[Tensor, Tensor]:
    from tagline.chain.tensors import fused, recipes

    return fused.padded_best(_solid(scores), _bytes(counts), recipes.Ordering(by), pad)


def _solid(scores: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The scores, with memory as the kernels read it."""
    return tuple([part.contiguous() for part in scores])


def _bytes(counts: Tensor | None) -> Tensor | None:
    """What the kernels read: booleans as bytes."""
    if counts is None or counts.dtype != torch.bool:
        return counts
    return counts.contiguous().view(torch.uint8)


SCORES = "Tensor emissions, Tensor transitions, Tensor start, Tensor end"


_library: Any = torch.library.Library("tagline", "FRAGMENT")  # type: ignore[no-untyped-call]


def _operator(name: str, more: str, returns: str, answer: Callable[..., Any], fake: Callable[..., Any] | None) -> Any:
    """Make an operator of a function of four scores and of `more`; without a `fake`, of one that asks others.

    `torch.library.custom_op` and `register_autograd` would do it too, with more Python in every call.
    """
    _library.define(f"{name}({SCORES}, {more}) -> {returns}")
    key = "CompositeExplicitAutograd" if fake else "CompositeImplicitAutograd"
    _library.impl(name, lambda *arguments: answer(arguments[:4], *arguments[4:]), key)
    if fake:
        torch.library.register_fake(f"tagline::{name}", fake, lib=_library)
    return getattr(torch.ops.tagline, name).default


def _fake_loss_and_gradients(*arguments: Any) -> tuple[Tensor, ...]:
    slopes = [torch.empty_like(part, memory_format=torch.contiguous_format) for part in arguments[:4]]
    return arguments[0].new_empty(()), *slopes


def _fake_best(emissions: Tensor, *_: Any) -> tuple[Tensor, Tensor]:
    return emissions.new_empty(emissions.shape[:2], dtype=torch.int64), emissions.new_empty(emissions.shape[0])


def _composed_loss(scores: Sequence[Tensor], *how: Any) -> Tensor:
    if torch.is_grad_enabled() and any(part.requires_grad for part in scores):
        return _TracedLoss.apply(how, *scores)  # type: ignore[no-any-return, no-untyped-call]
    return _traced_value(*scores, *how)  # type: ignore[no-any-return]


HOW = "Tensor? counts, Tensor tags, int by, int? ignored, str reduction"
_traced_loss = _operator("padded_loss", HOW, "Tensor", _composed_loss, None)
_traced_value = _operator("padded_value", HOW, "Tensor", _loss, lambda emissions, *_: emissions.new_empty(()))
_traced_loss_and_gradients = _operator(
    "padded_loss_and_gradients",
    HOW,
    "(Tensor, Tensor, Tensor, Tensor, Tensor)",
    _loss_and_gradients,
    _fake_loss_and_gradients,
)
_traced_best = _operator("padded_best", "Tensor? counts, int by, int pad", "(Tensor, Tensor)", _best, _fake_best)
