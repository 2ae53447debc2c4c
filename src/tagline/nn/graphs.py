"""The loss of a CRF and its gradients from CUDA graphs: one launch instead of dozens.

A training step on a GPU is held up by launches, not by the kernels of a CRF. Shapes are padded to a few sizes (T to a
multiple of `STEPS`, B to a power of two; sequences of padding are empty and count nothing), and for each size what
`CRF.loss` and its backward pass do is recorded once and replayed: on an H200 0.05 ms of kernels for 32 sentences, and
0.5 ms with launches and the call of `backward` instead of 1.4. The graphs read the layer's parameters and buffers where
they lie; where those have moved, they are recorded anew.
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
FEWEST = 8  # sequences of the smallest graph
MOST_GRAPHS = 64  # the longest unused goes first

Losses = Callable[[Tensor, Tensor, Tensor], Tensor]
"""Emissions ``[B, T, L]``, tags ``[B, T]`` and lengths ``[B]`` in, the loss of each sequence ``[B]`` out."""


@dataclass(eq=False)
class _Results:
    """The loss of a batch, the gradient of the emissions, and those of the parameters that are trained, in a row.

    They lie where the graph writes them, until it is replayed for another batch.
    """

    values: list[Tensor]

    def keep(self) -> None:
        """Copy them."""
        self.values = [value.clone() for value in self.values]


class _Graph:
    """A recorded loss: copy inputs in, replay, read results.

    Arguments:
        graph: what was recorded.
        inputs: emissions ``[B, T, L]``, tags ``[B, T]``, lengths ``[B]``, and weights ``[B]`` of the sequences.
        results: as in `_Results`.
        places: where the parameters lie, and whether they are trained.
    """

    def __init__(self, graph: torch.cuda.CUDAGraph, inputs: list[Tensor], results: list[Tensor], places: Any) -> None:
        self.graph, self.inputs, self.results, self.places = graph, inputs, results, places
        self._parts: dict[torch.Size, tuple[list[Tensor], list[Tensor]]] = {}
        self._filled = inputs[0].shape[0]  # sequences of the last batch; those behind them have length 0
        self._even = 0  # B where each of the first B sequences weighs 1 / B
        self._last: Callable[[], _Results | None] = lambda: None

    def replay(self, emissions: Tensor, tags: Tensor, lengths: Tensor, weights: Tensor | None) -> _Results:
        """Return the results for a batch that fits."""
        if (last := self._last()) is not None:  # of a batch whose backward pass may still come
            last.keep()
        B, (inputs, values) = len(lengths), self._part(emissions.shape)
        if self._filled > B:
            self.inputs[2].zero_()
        torch._foreach_copy_(inputs, [emissions, tags, lengths])
        if weights is not None:
            torch.div(weights, B, out=self.inputs[3][:B])
        elif self._even != B:
            self.inputs[3].fill_(1 / B)
        self._filled, self._even = B, B if weights is None else 0
        self.graph.replay()
        results = _Results(values)
        self._last = ref(results)
        return results

    def _part(self, size: torch.Size) -> tuple[list[Tensor], list[Tensor]]:
        """Inputs without the weights, and results, as far as a batch of a size fills them."""
        if size not in self._parts:
            B, T, _ = size
            emissions, tags, lengths, _ = self.inputs
            loss, slope, rest = self.results
            self._parts[size] = [emissions[:B, :T], tags[:B, :T], lengths[:B]], [loss, slope[:B, :T], rest]
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
    """

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self._graphs: OrderedDict[Any, _Graph] = OrderedDict()

    def __getstate__(self) -> dict[str, Any]:
        """What copies keep: graphs belong to this process and to these parameters."""
        return {**vars(self), "_graphs": OrderedDict()}

    def __call__(
        self, losses: Losses, emissions: Tensor, tags: Tensor, lengths: Tensor, weights: Tensor | None
    ) -> Tensor:
        """Compute the loss.

        Arguments:
            losses: what is recorded, the same each time, a method that asks the module and does not wait for the
                device. It is not kept: a module with graphs must go with the last reference to it, as the garbage
                collector may come while another graph is recorded.
            emissions, tags, lengths: its arguments.
            weights: ``[B]``, 1 when left out.
        """
        # By their dictionaries: `parameters()` and `buffers()` take longer than the replay.
        parameters = self.module._parameters.values()
        found: Tensor = _Replay.apply(self, losses, emissions, tags, lengths, weights, *parameters)  # type: ignore[no-untyped-call]
        return found

    def graph_for(self, losses: Losses, emissions: Tensor) -> _Graph:
        """Return the graph of a size that holds these emissions, recorded now if need be."""
        B, T, L = emissions.shape
        size = max(FEWEST, 1 << (B - 1).bit_length()), -(-T // STEPS) * STEPS, L
        parts = (*self.module._parameters.values(), *self.module._buffers.values())
        places = [(part.data_ptr(), part.requires_grad) for part in parts if part is not None]
        key = (*size, emissions.device, emissions.dtype)
        kept = self._graphs.get(key)
        if kept is not None and kept.places == places:
            self._graphs.move_to_end(key)
            return kept
        while len(self._graphs) >= MOST_GRAPHS:
            self._graphs.popitem(last=False)
        kept = self._graphs[key] = self._record(losses, size, emissions, places)
        return kept

    def _record(self, losses: Losses, size: tuple[int, int, int], like: Tensor, places: Any) -> _Graph:
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
        recorded = _Recorded(self.module, losses)

        def run() -> list[Tensor]:
            with torch.enable_grad():
                values = torch.func.functional_call(recorded, leaves, (emissions, tags, lengths))
            first, *rest = torch.autograd.grad(values, wanted, weights.to(values.dtype))
            loss = (values.detach() * weights).sum().to(like.dtype)
            return [loss, first, torch.cat([first.new_zeros(0), *map(torch.flatten, rest)])]

        # Warmed up and recorded on a stream of its own; other threads may use the device meanwhile.
        side = torch.cuda.Stream(like.device)  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream(like.device))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(side):
            run()
            run()
        torch.cuda.current_stream(like.device).wait_stream(side)
        with _no_collection(), torch.cuda.graph(graph, stream=side, capture_error_mode="thread_local"):
            results = run()
        return _Graph(graph, [emissions.detach(), tags, lengths, weights], results, places)


@contextmanager
def _no_collection() -> Iterator[None]:
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
        tags: Tensor,
        lengths: Tensor,
        weights: Tensor | None,
        *parameters: Tensor,
    ) -> Tensor:
        ctx.results = owner.graph_for(losses, emissions).replay(emissions, tags, lengths, weights)
        ctx.shapes = [part.shape if part.requires_grad else None for part in parameters]
        loss: Tensor = ctx.results.values[0].clone()
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        _, first, rest = ctx.results.values
        parts = (rest * slope).split_with_sizes([0 if shape is None else shape.numel() for shape in ctx.shapes])
        found = [None if shape is None else part.view(shape) for part, shape in zip(parts, ctx.shapes, strict=True)]
        return None, None, first * slope, None, None, None, *found
