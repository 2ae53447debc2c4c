"""The loss of a CRF and its gradients from CUDA graphs: one launch instead of dozens.

A training step on a GPU is held up by launches, not by the kernels of a CRF. Shapes are padded to a few sizes (T to a
multiple of `STEPS`, B to a power of two; sequences of padding are empty and count nothing), and for each size what
`CRF.loss` and its backward pass do is recorded once and replayed: on an H200 0.4 ms instead of 1.4 for 32 sentences,
most of it the call of `backward` itself.
The graphs read the layer's parameters and buffers where they lie; where those have moved, they are recorded anew.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import ref

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

STEPS = 16
FEWEST = 8  # sequences of the smallest graph
MOST_GRAPHS = 64  # the longest unused goes first

Losses = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Emissions ``[B, T, L]``, tags ``[B, T]`` and lengths ``[B]`` in, the loss of each sequence ``[B]`` out."""


@dataclass(eq=False)
class _Results:
    """The loss of a batch, then the gradients of the emissions and of the parameters; None where none is wanted.

    They lie where the graph writes them, until it is replayed for another batch.
    """

    values: list[Tensor | None]

    def keep(self) -> None:
        """Copy them."""
        self.values = [None if value is None else value.clone() for value in self.values]


@dataclass(frozen=True, eq=False)
class _Part:
    """The inputs and results of a graph, as far as a batch of one size fills them."""

    emissions: Tensor
    tags: Tensor
    lengths: Tensor
    weights: Tensor
    results: list[Tensor | None]


class _Graph:
    """A recorded loss: copy inputs in, replay, read results.

    Arguments:
        graph: what was recorded.
        whole: its inputs and results.
    """

    def __init__(self, graph: torch.cuda.CUDAGraph, whole: _Part) -> None:
        self.graph, self.whole = graph, whole
        self._parts: dict[torch.Size, _Part] = {}
        self._filled = len(whole.lengths)  # sequences of the last batch; those behind them have length 0
        self._even = 0  # B where each of the first B sequences weighs 1 / B
        self._last: Callable[[], _Results | None] = lambda: None

    def replay(self, emissions: Tensor, tags: Tensor, lengths: Tensor, weights: Tensor | None) -> _Results:
        """Return the results for a batch that fits."""
        if (last := self._last()) is not None:  # of a batch whose backward pass may still come
            last.keep()
        B, part = len(lengths), self._part(emissions.shape)
        if self._filled > B:
            self.whole.lengths.zero_()
        part.emissions.copy_(emissions)
        part.tags.copy_(tags)
        part.lengths.copy_(lengths)
        if weights is not None:
            torch.div(weights, B, out=part.weights)
        elif self._even != B:
            self.whole.weights.fill_(1 / B)
        self._filled, self._even = B, B if weights is None else 0
        self.graph.replay()
        results = _Results(part.results)
        self._last = ref(results)
        return results

    def _part(self, size: torch.Size) -> _Part:
        if size not in self._parts:
            (B, T, _), whole = size, self.whole
            loss, slope, *rest = whole.results
            assert slope is not None
            self._parts[size] = _Part(
                whole.emissions[:B, :T],
                whole.tags[:B, :T],
                whole.lengths[:B],
                whole.weights[:B],
                [loss, slope[:B, :T], *rest],
            )
        return self._parts[size]


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
        module: whose own parameters and buffers the losses depend on.
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
        parameters = tuple(self.module.parameters(recurse=False))
        found: Tensor = _Replay.apply(self, emissions, tags, lengths, weights, *parameters)  # type: ignore[no-untyped-call]
        return found

    def graph_for(self, emissions: Tensor, parameters: tuple[Tensor, ...]) -> _Graph:
        """Return the graph of a size that holds these emissions, recorded now if need be."""
        B, T, L = emissions.shape
        size = max(FEWEST, 1 << (B - 1).bit_length()), -(-T // STEPS) * STEPS, L
        places = ((part.data_ptr(), part.requires_grad) for part in (*parameters, *self.module.buffers(recurse=False)))
        key = (*size, emissions.device, emissions.dtype, *places)
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
            for name, part in self.module.named_parameters(recurse=False)
        }
        wanted = (emissions, *(part for part in leaves.values() if part.requires_grad))
        recorded = _Recorded(self.module, self.losses)

        def run() -> list[Tensor]:
            with torch.enable_grad():
                values = torch.func.functional_call(recorded, leaves, (emissions, tags, lengths))
                loss = (values * weights).sum()
                return [loss.detach().to(like.dtype), *torch.autograd.grad(loss, wanted)]

        # Warmed up and recorded on a stream of its own; other threads may use the device meanwhile.
        side = torch.cuda.Stream(like.device)  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream(like.device))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(side):
            run()
            run()
        torch.cuda.current_stream(like.device).wait_stream(side)
        with torch.cuda.graph(graph, stream=side, capture_error_mode="thread_local"):
            loss, slope, *slopes = run()
        found = iter(slopes)
        rest = [next(found) if part.requires_grad else None for part in leaves.values()]
        return _Graph(graph, _Part(emissions.detach(), tags, lengths, weights, [loss, slope, *rest]))


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
        ctx.results = owner.graph_for(emissions, parameters).replay(emissions, tags, lengths, weights)
        loss: Tensor = ctx.results.values[0].clone()
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        first, *rest = (None if value is None else value * slope for value in ctx.results.values[1:])
        return None, first, None, None, None, *rest
