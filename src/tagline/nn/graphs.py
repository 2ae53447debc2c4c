"""Losses and their gradients from CUDA graphs: one launch instead of hundreds.

A training step on a GPU is held up by launches, not by its kernels. Sizes are rounded up to a few (see `sentences` and
`steps`). A batch fills the front of a graph's inputs; the sentences that it lacks are empty and have no part in the
loss. For each size the losses and their backward pass are recorded once and replayed. The graphs read the parameters
and buffers of a module where they lie; if those have moved, the graphs are recorded anew.
"""

from __future__ import annotations

import gc
import math
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import ref

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from tagline.chain.tensors.dispatch import transforming

STEPS = 16
FEWEST = 8  # sentences of the smallest graph
MOST_GRAPHS = 64  # the longest unused goes first

Losses = Callable[..., Tensor]
"""Inputs of rounded sizes in, the loss of each sentence ``[B]`` out; does not wait for the device."""

Sizes = tuple[tuple[int, ...], ...]
"""The rounded shape of each input."""


def sentences(count: int) -> int:
    """Round up to a power of two.

    >>> [sentences(count) for count in (3, 32, 33)]
    [8, 32, 64]
    """
    return max(FEWEST, 1 << (count - 1).bit_length())


def steps(count: int) -> int:
    """Round up to a multiple of `STEPS`.

    >>> [steps(count) for count in (3, 32, 33)]
    [16, 32, 48]
    """
    return -(-count // STEPS) * STEPS


def may_record() -> bool:
    """Whether gradients are wanted and nobody else is recording."""
    busy = torch.compiler.is_compiling() or transforming() or torch.cuda.is_current_stream_capturing()
    return torch.is_grad_enabled() and not busy


@dataclass(eq=False)
class _GraphGradients:
    """The gradients of the inputs and of the parameters that want them.

    They lie where the graphs write them, until the next replay.
    """

    values: list[Tensor]

    def keep(self) -> None:
        """Copy them."""
        self.values = [value.clone() for value in self.values]


@dataclass(frozen=True, eq=False)
class _Graph:
    """Recorded losses: copy inputs in, replay, read results.

    Attributes:
        graph: what was recorded.
        inputs: of rounded sizes; the last one is the lengths ``[B]``.
        integers: the memory of those that are integers.
        weights: ``[B]``.
        loss: one number.
        slopes: for each input its gradient, None for one that wants none.
        places: where parameters and buffers lie, and which are trained.
    """

    graph: torch.cuda.CUDAGraph
    inputs: list[Tensor]
    integers: Tensor
    weights: Tensor
    loss: Tensor
    slopes: list[Tensor | None]
    places: Any

    def replay(self, inputs: Sequence[Tensor], weights: Tensor | None) -> list[Tensor]:
        """Replay for a batch that fits; return the gradients of its inputs, where the graph writes them."""
        B = len(inputs[-1])
        self.integers.zero_()  # padding, and sentences that are not there
        for place, values in zip(self.inputs, inputs, strict=True):
            _front(place, values).copy_(values)
        if weights is None:
            self.weights.fill_(1 / B)
        else:
            self.weights.zero_()
            torch.div(weights, B, out=self.weights[:B])
        self.graph.replay()
        return [_front(slope, values) for slope, values in zip(self.slopes, inputs, strict=True) if slope is not None]


def _front(place: Tensor, values: Tensor) -> Tensor:
    return place[tuple([slice(count) for count in values.shape])]


class _Recorded(nn.Module):
    """A module whose call computes its losses, so that other tensors can stand for its parameters."""

    def __init__(self, module: nn.Module, losses: Losses) -> None:
        super().__init__()
        self.module, self.losses = module, losses

    def forward(self, *arguments: Any) -> Tensor:
        return self.losses(*arguments)


class GraphedLoss:
    """Σ_b weight_b · loss_b / B by replay, with gradients in inputs and in the parameters of a module.

    The graphs share their memory: it holds what the last replay computed.
    """

    def __init__(self) -> None:
        self._graphs: OrderedDict[Any, _Graph] = OrderedDict()
        self._pool: Any = None
        self._slopes: list[Tensor] = []  # of the parameters
        self._last: Callable[[], _GraphGradients | None] = lambda: None

    def __reduce__(self) -> tuple[type[GraphedLoss], tuple[()]]:
        """Leave the graphs out of copies: they belong to this process and to these parameters."""
        return GraphedLoss, ()

    def __call__(
        self,
        module: nn.Module,
        losses: Losses,
        inputs: Sequence[Tensor],
        sizes: Sizes,
        weights: Tensor | None,
        state: object = (),
    ) -> Tensor:
        """Compute the loss.

        Arguments:
            module: whose parameters and buffers the losses depend on, the same each time. It is not kept: a module
                with graphs must go with the last reference to it, as the garbage collector may come while another
                graph is recorded.
            losses: what is recorded, the same each time; not kept, either.
            inputs: numbers that may want gradients, and integers, for which 0 stands where a batch is smaller than
                the graph; the last ones are the lengths ``[B]``, for which the losses must be 0 where they are 0.
            sizes: the rounded shape of each.
            weights: ``[B]``, 1 when left out.
            state: what else the losses depend on.
        """
        trained = [part for part in _parameters(module) if part.requires_grad]
        with torch.no_grad():
            graph = self._graph_for(module, losses, inputs, sizes, state)
        loss: Tensor = _Replay.apply(self, graph, weights, len(inputs), *inputs, *trained)  # type: ignore[no-untyped-call]
        return loss

    def replay(self, graph: _Graph, inputs: Sequence[Tensor], weights: Tensor | None) -> tuple[Tensor, _GraphGradients]:
        """Return the loss and its gradients."""
        self._keep()
        gradients = _GraphGradients([*graph.replay(inputs, weights), *self._slopes])
        self._last = ref(gradients)
        return graph.loss.clone(), gradients

    def _keep(self) -> None:
        if (last := self._last()) is not None:  # of a batch whose backward pass may still come
            last.keep()
            self._last = lambda: None

    def _graph_for(
        self,
        module: nn.Module,
        losses: Losses,
        inputs: Sequence[Tensor],
        sizes: Sizes,
        state: object,
    ) -> _Graph:
        """Return the graph of these sizes, recorded now if need be."""
        cast = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else None
        kinds = tuple([(values.dtype, values.requires_grad) for values in inputs])
        key = (sizes, inputs[-1].device, kinds, cast, state)
        places = [(part.data_ptr(), part.requires_grad) for part in (*_parameters(module), *_buffers(module))]
        graph = self._graphs.get(key)
        if graph is not None and graph.places == places:
            self._graphs.move_to_end(key)
            return graph
        self._keep()
        if any(other.places != places for other in self._graphs.values()):
            self._graphs.clear()
        if not self._graphs:
            self._pool = torch.cuda.graph_pool_handle()
            self._slopes = [torch.zeros_like(part) for part in _parameters(module) if part.requires_grad]
        while len(self._graphs) >= MOST_GRAPHS:
            self._graphs.popitem(last=False)
        graph = self._graphs[key] = self._record(_Recorded(module, losses), inputs, sizes, places)
        return graph

    def _record(self, recorded: _Recorded, like: Sequence[Tensor], sizes: Sizes, places: Any) -> _Graph:
        device = like[-1].device
        inputs, integers = _places_for(like, sizes)
        weights = torch.zeros(sizes[-1], device=device, dtype=torch.float64)
        # Autograd remembers on which stream a leaf was first used: others stand for the parameters, in their memory.
        leaves = {name: part.detach().requires_grad_(part.requires_grad) for name, part in recorded.named_parameters()}
        wanted = [part for part in (*inputs, *leaves.values()) if part.requires_grad]
        kind = (wanted[0] if wanted else weights).dtype

        def run() -> tuple[Tensor, list[Tensor]]:
            with torch.enable_grad(), _same_autocast():
                values = torch.func.functional_call(recorded, leaves, tuple(inputs))
            slopes = [*torch.autograd.grad(values, wanted, weights.to(values.dtype))]
            terms = torch.mul(values.detach(), weights, out=torch.empty(sizes[-1], dtype=kind, device=device))
            own = [slope.contiguous() for slope in slopes[: len(slopes) - len(self._slopes)]]
            torch._foreach_copy_(self._slopes, slopes[len(own) :])
            return terms.sum(), own

        # Warmed up and recorded on a stream of its own; other threads may use the device meanwhile.
        side = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream(device))
        graph = torch.cuda.CUDAGraph()
        # Noise is drawn in replays alone.
        with warnings.catch_warnings(), torch.random.fork_rng([device]), _same_bits():
            # They are copied in every replay, which takes the GPU some microseconds.
            warnings.filterwarnings("ignore", message="RNN module weights are not part")
            with torch.cuda.stream(side):
                run()
                run()
            torch.cuda.current_stream(device).wait_stream(side)
            options: dict[str, Any] = {"pool": self._pool, "stream": side, "capture_error_mode": "thread_local"}
            with _no_collection(), torch.cuda.graph(graph, **options):
                loss, found = run()
        left = iter(found)
        slopes = [next(left) if place.requires_grad else None for place in inputs]
        return _Graph(graph, [place.detach() for place in inputs], integers, weights, loss, slopes, places)


def _parameters(module: nn.Module) -> list[nn.Parameter]:
    # By their dictionaries: `parameters()` takes longer than a replay.
    parts = [part for own in module.modules() for part in own._parameters.values() if part is not None]
    return [*dict.fromkeys(parts)]


def _buffers(module: nn.Module) -> list[Tensor]:
    return [part for own in module.modules() for part in own._buffers.values() if part is not None]


def _places_for(like: Sequence[Tensor], sizes: Sizes) -> tuple[list[Tensor], Tensor]:
    """Return memory for the inputs, and that of the integers among them, which lies in one piece."""
    counts = [0 if values.is_floating_point() else math.prod(size) for values, size in zip(like, sizes, strict=True)]
    integers = torch.zeros(sum(counts), dtype=torch.int64, device=like[-1].device)
    places = [
        torch.zeros(size, dtype=values.dtype, device=values.device, requires_grad=values.requires_grad)
        if values.is_floating_point()
        else piece.view(size)
        for values, size, piece in zip(like, sizes, torch.split(integers, counts), strict=True)
    ]
    return places, integers


def _same_autocast() -> torch.autocast:
    # What autocast remembers of weights would be read again where it no longer lies.
    return torch.autocast(
        "cuda", torch.get_autocast_dtype("cuda"), torch.is_autocast_enabled("cuda"), cache_enabled=False
    )


@contextmanager
def _same_bits() -> Iterator[None]:
    """Have cuDNN add up in the same order each time; it chooses otherwise for some of the rounded sizes."""
    before = torch.backends.cudnn.deterministic
    torch.backends.cudnn.deterministic = True
    try:
        yield
    finally:
        torch.backends.cudnn.deterministic = before


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
        ctx: Any, owner: GraphedLoss, graph: _Graph, weights: Tensor | None, count: int, *tensors: Tensor
    ) -> Tensor:
        loss, ctx.gradients = owner.replay(graph, tensors[:count], weights)
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        scaled = iter(torch._foreach_mul(ctx.gradients.values, slope))
        return None, None, None, None, *(next(scaled) if wanted else None for wanted in ctx.needs_input_grad[4:])
