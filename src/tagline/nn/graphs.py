"""The loss of a CRF and its gradients from CUDA graphs: one launch instead of dozens.

A training step on a GPU is held up by launches, not by the kernels of a CRF. Shapes are padded to a few sizes (T to a
multiple of `STEPS`, B to a power of two; sequences of padding are empty and count nothing), and for each size what
`CRF.loss` and its backward pass do is recorded once and replayed: on an H200 0.4 ms instead of 1.4 for 32 sentences,
most of it the call of `backward` itself.
The graphs read the layer's parameters where they lie; where those have moved, they are recorded anew.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

STEPS = 16
FEWEST = 8  # sequences of the smallest graph
MOST_GRAPHS = 64  # the longest unused goes first

Losses = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Emissions ``[B, T, L]``, tags ``[B, T]`` and lengths ``[B]`` in, the loss of each sequence ``[B]`` out."""


@dataclass(eq=False)
class _Graph:
    """A recorded loss: copy inputs in, replay, read results.

    Attributes:
        found: the loss, then the gradients of the emissions and of the parameters, one after the other.
        shapes: of those gradients; None for a parameter that is not trained.
        even: B where each of the first B sequences weighs 1 / B, 0 for other weights.
    """

    graph: torch.cuda.CUDAGraph
    inputs: tuple[Tensor, Tensor, Tensor]
    weights: Tensor
    found: Tensor
    shapes: tuple[torch.Size | None, ...]
    even: int = 0

    def fill(self, emissions: Tensor, tags: Tensor, lengths: Tensor, weights: Tensor | None) -> None:
        """Copy a batch in."""
        B, T, _ = emissions.shape
        scores, gold, counts = self.inputs
        with torch.no_grad():
            scores[:B, :T].copy_(emissions)
            gold[:B, :T].copy_(tags)
            if len(counts) > B:
                counts.zero_()
            counts[:B].copy_(lengths)
            if weights is not None:
                torch.div(weights, B, out=self.weights[:B])
            elif self.even != B:
                self.weights.fill_(1 / B)
        self.even = B if weights is None else 0


class _Recorded(nn.Module):
    """A module that is called for its losses, so that other tensors can stand for its parameters."""

    def __init__(self, module: nn.Module, losses: Losses) -> None:
        super().__init__()
        self.module, self.losses = module, losses

    def forward(self, emissions: Tensor, tags: Tensor, lengths: Tensor) -> Tensor:
        return self.losses(emissions, tags, lengths)


class GraphedLoss:
    """Σ_b weight_b · loss_b / B by replay, with gradients in the emissions and in the parameters of a module.

    Arguments:
        module: whose parameters the losses depend on.
        losses: what is recorded, a method that asks the module; it must not wait for the device.
    """

    def __init__(self, module: nn.Module, losses: Losses) -> None:
        self.module, self.losses = module, losses
        self._graphs: OrderedDict[Any, _Graph] = OrderedDict()

    def __getstate__(self) -> dict[str, Any]:
        """What copies keep: graphs belong to this process and to these parameters."""
        return {**vars(self), "_graphs": OrderedDict()}

    def __call__(self, emissions: Tensor, tags: Tensor, lengths: Tensor, weights: Tensor | None) -> Tensor:
        """Compute the loss; the arguments are those of `Losses`, with weights ``[B]``, 1 when left out."""
        parameters = tuple(self.module.parameters())
        found: Tensor = _Replay.apply(self, emissions, tags, lengths, weights, *parameters)  # type: ignore[no-untyped-call]
        return found

    def graph_for(self, emissions: Tensor, parameters: tuple[Tensor, ...]) -> _Graph:
        """Return the graph of a size that holds these emissions, recorded now if need be."""
        B, T, L = emissions.shape
        size = max(FEWEST, 1 << (B - 1).bit_length()), -(-T // STEPS) * STEPS, L
        key = (*size, emissions.device, emissions.dtype, *(part.data_ptr() for part in parameters))
        if key in self._graphs:
            self._graphs.move_to_end(key)
            return self._graphs[key]
        while len(self._graphs) >= MOST_GRAPHS:
            self._graphs.popitem(last=False)
        self._graphs[key] = self._record(size, emissions)
        return self._graphs[key]

    def _record(self, size: tuple[int, int, int], like: Tensor) -> _Graph:
        B, T, L = size
        emissions = torch.zeros(B, T, L, device=like.device, dtype=like.dtype, requires_grad=True)
        tags = torch.zeros(B, T, dtype=torch.int64, device=like.device)
        lengths = torch.ones(B, dtype=torch.int64, device=like.device)
        weights = torch.zeros(B, device=like.device)
        # Autograd remembers on which stream a leaf was first used: others stand for the parameters, in their memory.
        leaves = {
            f"module.{name}": part.detach().requires_grad_(part.requires_grad)
            for name, part in self.module.named_parameters()
        }
        wanted = (emissions, *(part for part in leaves.values() if part.requires_grad))
        recorded = _Recorded(self.module, self.losses)

        def run() -> Tensor:
            with torch.enable_grad():
                values = torch.func.functional_call(recorded, leaves, (emissions, tags, lengths))
                loss = (values * weights).sum()
                parts = (loss.detach(), *torch.autograd.grad(loss, wanted))
                return torch.cat([part.flatten().to(like.dtype) for part in parts])

        # Warmed up and recorded on a stream of its own; other threads may use the device meanwhile.
        side = torch.cuda.Stream(like.device)  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream(like.device))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(side):
            run()
            run()
        torch.cuda.current_stream(like.device).wait_stream(side)
        with torch.cuda.graph(graph, stream=side, capture_error_mode="thread_local"):
            found = run()
        shapes = (emissions.shape, *(part.shape if part.requires_grad else None for part in leaves.values()))
        return _Graph(graph, (emissions, tags, lengths), weights, found, shapes)


class _Replay(torch.autograd.Function):
    """A replay as a step of autograd; the gradients are worked out in the forward pass."""

    @staticmethod
    def forward(
        ctx: Any,
        owner: GraphedLoss,
        emissions: Tensor,
        tags: Tensor,
        lengths: Tensor,
        weights: Tensor | None,
        *parameters: Tensor,
    ) -> Tensor:
        kept = owner.graph_for(emissions, parameters)
        kept.fill(emissions, tags, lengths, weights)
        kept.graph.replay()
        # A copy: another batch of this size may come before the backward pass does.
        ctx.found, ctx.shapes, ctx.size = kept.found.clone(), kept.shapes, emissions.shape
        loss: Tensor = ctx.found[0]
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        sizes = [0 if shape is None else shape.numel() for shape in ctx.shapes]
        parts = (ctx.found[1:] * slope).split(sizes)
        first, *rest = (None if s is None else part.view(s) for s, part in zip(ctx.shapes, parts, strict=True))
        B, T, _ = ctx.size
        return None, first[:B, :T], None, None, None, *rest  # type: ignore[index]
