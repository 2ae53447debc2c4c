"""The loss of a CRF and its gradients from CUDA graphs: one launch instead of dozens.

A training step on a GPU is held up by launches, not by the kernels of a CRF. Sizes are rounded up to a few (T to a
multiple of `STEPS`, B to a power of two). The tokens of a batch fill the front of a graph's rows; the sentences that a
batch lacks are empty and have no part in the loss. For each size the loss and its backward pass are recorded once and
replayed. The graphs read the layer's parameters and buffers where they lie; if those have moved, the graphs are
recorded anew.
"""

from __future__ import annotations

import gc
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import ref

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

STEPS = 16
FEWEST = 8  # sentences of the smallest graph
MOST_GRAPHS = 64  # the longest unused goes first

Losses = Callable[[Tensor, Tensor, Tensor, Tensor, int], Tensor]
"""Emissions ``[N, L]``, labels ``[N]``, the first row and the length of each sentence ``[B]``, and a number that no
length is above in, the loss of each sentence ``[B]`` out."""


@dataclass(eq=False)
class _GraphGradients:
    """The gradients of the emissions ``[B, T, L]`` and of the parameters that are trained.

    They lie where the graph writes them, until it is replayed for another batch.
    """

    values: list[Tensor]

    def keep(self) -> None:
        """Copy them."""
        self.values = [value.clone() for value in self.values]


@dataclass(frozen=True, eq=False)
class _Part:
    """The part of a graph's memory that a batch of one size fills."""

    emissions: Tensor
    integers: list[Tensor]
    first: Tensor
    gradients: list[Tensor]


class _Graph:
    """A recorded loss: copy inputs in, replay, read results.

    Arguments:
        graph: what was recorded.
        inputs: emissions ``[N, L]``, labels ``[N]``, first rows and lengths ``[B]``, and weights ``[B]``.
        loss: one number.
        gradients: of the emissions ``[N, L]`` and of the parameters that are trained.
        places: where the parameters lie, and whether they are trained.
    """

    def __init__(
        self, graph: torch.cuda.CUDAGraph, inputs: list[Tensor], loss: Tensor, gradients: list[Tensor], places: Any
    ) -> None:
        self.graph, self.loss, self.gradients, self.places = graph, loss, gradients, places
        self.emissions, self.labels, self.first, self.lengths, self.weights = inputs
        self._parts: dict[torch.Size, _Part] = {}
        self._filled = len(self.lengths)  # sentences of the last batch; those behind them have length 0
        self._even = 0  # B where each of the first B sentences weighs 1 / B
        self._last: Callable[[], _GraphGradients | None] = lambda: None

    def replay(
        self, emissions: Tensor, labels: Tensor, lengths: Tensor, weights: Tensor | None
    ) -> tuple[Tensor, _GraphGradients]:
        """Return the loss and its gradients for a batch that fits."""
        if (last := self._last()) is not None:  # of a batch whose backward pass may still come
            last.keep()
        B, part = len(lengths), self._part(emissions.shape)
        if self._filled > B:
            self.lengths.zero_()
        part.emissions.copy_(emissions)
        torch._foreach_copy_(part.integers, [labels, part.first, lengths])
        if weights is not None:
            torch.div(weights, B, out=self.weights[:B])
        elif self._even != B:
            self.weights.fill_(1 / B)
        self._filled, self._even = B, B if weights is None else 0
        self.graph.replay()
        gradients = _GraphGradients(part.gradients)
        self._last = ref(gradients)
        return self.loss.clone(), gradients

    def _part(self, size: torch.Size) -> _Part:
        if size not in self._parts:
            B, T, _ = size
            emissions, slope = (rows[: B * T].view(size) for rows in (self.emissions, self.gradients[0]))
            first = torch.arange(0, B * T, T, device=emissions.device)
            integers = [self.labels[: B * T].view(B, T), self.first[:B], self.lengths[:B]]
            self._parts[size] = _Part(emissions, integers, first, [slope, *self.gradients[1:]])
        return self._parts[size]


class _Recorded(nn.Module):
    """A module whose call computes its losses, so that other tensors can stand for its parameters."""

    def __init__(self, module: nn.Module, losses: Losses) -> None:
        super().__init__()
        self.module, self.losses = module, losses

    def forward(self, *arguments: Any) -> Tensor:
        return self.losses(*arguments)


class GraphedLoss:
    """Σ_b weight_b · loss_b / B by replay, with gradients in the emissions and in the parameters of a module.

    Arguments:
        module: whose own parameters and buffers the losses depend on.
    """

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self._graphs: OrderedDict[Any, _Graph] = OrderedDict()

    def __getstate__(self) -> dict[str, Any]:
        """Leave the graphs out of copies: they belong to this process and to these parameters."""
        return {**vars(self), "_graphs": OrderedDict()}

    def __call__(
        self, losses: Losses, emissions: Tensor, labels: Tensor, lengths: Tensor, weights: Tensor | None
    ) -> Tensor:
        """Compute the loss.

        Arguments:
            losses: what is recorded, the same each time: a method that asks the module and does not wait for the
                device. It is not kept: a module with graphs must go with the last reference to it, as the garbage
                collector may come while another graph is recorded.
            emissions: ``[B, T, L]``.
            labels: ``[B, T]``, anything at padding.
            lengths: ``[B]``.
            weights: ``[B]``, 1 when left out.
        """
        # By their dictionaries: `parameters()` and `buffers()` take longer than the replay.
        trained = [part for part in self.module._parameters.values() if part is not None and part.requires_grad]
        loss: Tensor = _Replay.apply(self, losses, emissions, labels, lengths, weights, *trained)  # type: ignore[no-untyped-call]
        return loss

    def graph_for(self, losses: Losses, emissions: Tensor) -> _Graph:
        """Return the graph of a size that holds these emissions, recorded now if need be."""
        B, T, L = emissions.shape
        size = max(FEWEST, 1 << (B - 1).bit_length()), -(-T // STEPS) * STEPS, L
        parts = (*self.module._parameters.values(), *self.module._buffers.values())
        places = [(part.data_ptr(), part.requires_grad) for part in parts if part is not None]
        key = (*size, emissions.device, emissions.dtype)
        graph = self._graphs.get(key)
        if graph is not None and graph.places == places:
            self._graphs.move_to_end(key)
            return graph
        while len(self._graphs) >= MOST_GRAPHS:
            self._graphs.popitem(last=False)
        graph = self._graphs[key] = self._record(losses, size, emissions, places)
        return graph

    def _record(self, losses: Losses, size: tuple[int, int, int], like: Tensor, places: Any) -> _Graph:
        B, T, L = size
        rows = torch.zeros(B * T, L, device=like.device, dtype=like.dtype, requires_grad=True)
        labels, first, lengths = (torch.zeros(n, dtype=torch.int64, device=like.device) for n in (B * T, B, B))
        weights = torch.zeros(B, device=like.device, dtype=torch.float64)
        # Autograd remembers on which stream a leaf was first used: others stand for the parameters, in their memory.
        leaves = {
            f"module.{name}": part.detach().requires_grad_(part.requires_grad)
            for name, part in self.module.named_parameters(recurse=False)
        }
        wanted = (rows, *(part for part in leaves.values() if part.requires_grad))
        recorded = _Recorded(self.module, losses)

        def run() -> tuple[Tensor, list[Tensor]]:
            with torch.enable_grad():
                values = torch.func.functional_call(recorded, leaves, (rows, labels, first, lengths, T))
            slopes = torch.autograd.grad(values, wanted, weights)
            terms = torch.mul(values.detach(), weights, out=rows.new_empty(B))
            return terms.sum(), [slope.contiguous() for slope in slopes]

        # Warmed up and recorded on a stream of its own; other threads may use the device meanwhile.
        side = torch.cuda.Stream(like.device)  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream(like.device))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(side):
            run()
            run()
        torch.cuda.current_stream(like.device).wait_stream(side)
        with no_collection(), torch.cuda.graph(graph, stream=side, capture_error_mode="thread_local"):
            loss, gradients = run()
        return _Graph(graph, [rows.detach(), labels, first, lengths, weights], loss, gradients, places)


@contextmanager
def no_collection() -> Iterator[None]:
    """Keep the garbage collector away: taking another graph apart ends a recording."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


class _Replay(torch.autograd.Function):
    """A replay as a step of autograd; the gradients are worked out in the forward pass."""

    @staticmethod
    def forward(
        ctx: Any,
        owner: GraphedLoss,
        losses: Losses,
        emissions: Tensor,
        labels: Tensor,
        lengths: Tensor,
        weights: Tensor | None,
        *trained: Tensor,
    ) -> Tensor:
        loss, ctx.gradients = owner.graph_for(losses, emissions).replay(emissions, labels, lengths, weights)
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        first, *rest = torch._foreach_mul(ctx.gradients.values, slope)
        return None, None, first, None, None, None, *rest
