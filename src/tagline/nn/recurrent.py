"""Both directions of an LSTM over padded sentences; on a GPU, in training, from CUDA graphs.

cuDNN launches some kernels for every token of the longest sentence, and the host takes several times as long for that
as the GPU for the work. So both passes are recorded once for a size and replayed. Sizes are rounded up to a few, as in
`graphs`; the sentences and tokens that a batch lacks are padding, which never matters.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from tagline.chain.tensors.dispatch import transforming
from tagline.nn.graphs import FEWEST, MOST_GRAPHS, STEPS, no_collection

MOST_CELLS = 1 << 14  # of a batch: with more the GPU has enough to do


def both_ways(weights: Sequence[Tensor], tokens: Tensor, lengths: Tensor, training: bool) -> Tensor:
    """Return the states ``[B, T, 2 H]`` for tokens ``[B, T, D]``, 0 at padding.

    Each direction begins at its own end of a sentence and comes to the padding last. `weights` are those of `nn.LSTM`,
    one half for each direction.
    """
    B, T, _ = tokens.shape
    steps = torch.arange(T, device=tokens.device)[:, None]
    inside = (steps < lengths)[:, :, None]  # [T, B, 1]
    turned = torch.where(inside, (lengths - 1 - steps)[:, :, None], steps[:, :, None])
    half = len(weights) // 2
    tokens = tokens.transpose(0, 1)
    zeros = tokens.new_zeros(1, B, weights[1].shape[1])

    def one_way(inputs: Tensor, own: Sequence[Tensor]) -> Tensor:
        states: Tensor = torch.lstm(inputs, (zeros, zeros), [*own], True, 1, 0.0, training, False, False)[0]
        return states

    first = one_way(tokens, weights[:half])
    second = one_way(tokens.gather(0, turned.expand_as(tokens)), weights[half:])
    states = torch.cat([first, second.gather(0, turned.expand_as(second))], 2)
    return torch.where(inside, states, 0.0).transpose(0, 1)


def weights_of(lstm: nn.LSTM) -> list[nn.Parameter]:
    """Return the weights of one layer, those of each direction together."""
    return [weight for way in lstm.all_weights for weight in way]


class _Recording:
    """Both passes of one size: copy inputs in, replay, read results."""

    def __init__(self, size: tuple[int, int], tokens: Tensor, weights: Sequence[Tensor], pool: Any) -> None:
        (B, T), D, device = size, tokens.shape[2], tokens.device
        self.tokens = torch.zeros(B, T, D, dtype=tokens.dtype, device=device, requires_grad=True)
        self.lengths = torch.zeros(B, dtype=torch.int64, device=device)
        # Autograd remembers on which stream a leaf was first used: others stand for the weights, in their memory.
        leaves = [weight.detach().requires_grad_(weight.requires_grad) for weight in weights]
        wanted = [self.tokens, *(leaf for leaf in leaves if leaf.requires_grad)]
        self.ahead, self.back = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
        side = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream(device))

        def forwards() -> Tensor:
            # What autocast remembers of weights would be read again where it no longer lies.
            with torch.enable_grad(), _same_autocast():
                return both_ways(leaves, self.tokens, self.lengths, True)

        with warnings.catch_warnings():
            # They are copied in every replay, which takes the GPU some microseconds.
            warnings.filterwarnings("ignore", message="RNN module weights are not part")
            with torch.cuda.stream(side):
                states = forwards()
                self.slope = torch.zeros_like(states)
                torch.autograd.grad(states, wanted, self.slope)
            torch.cuda.current_stream(device).wait_stream(side)
            options: dict[str, Any] = {"pool": pool, "stream": side, "capture_error_mode": "thread_local"}
            with no_collection(), torch.cuda.graph(self.ahead, **options):
                states = forwards()
            with no_collection(), torch.cuda.graph(self.back, **options):
                self.slopes = torch.autograd.grad(states, wanted, self.slope)
        self.states = states.detach()

    def forwards(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Return the states, where the graph writes them."""
        B, T, _ = tokens.shape
        if len(self.lengths) > B:
            self.lengths.zero_()
        self.tokens.detach()[:B, :T].copy_(tokens)
        self.lengths[:B].copy_(lengths)
        self.ahead.replay()
        return self.states[:B, :T]

    def backwards(self, slope: Tensor) -> tuple[Tensor, ...]:
        """Return the gradients of tokens and weights, where the graph writes them."""
        B, T, _ = slope.shape
        self.slope[:B, :T].copy_(slope)
        self.back.replay()
        return self.slopes[0][:B, :T], *self.slopes[1:]


def _same_autocast() -> torch.autocast:
    return torch.autocast(
        "cuda", torch.get_autocast_dtype("cuda"), torch.is_autocast_enabled("cuda"), cache_enabled=False
    )


class GraphedLSTM:
    """The recordings of one LSTM, which share memory: the last forward pass is the one that it holds."""

    def __init__(self) -> None:
        self._recordings: OrderedDict[Any, _Recording] = OrderedDict()
        self._pool: Any = None
        self._count = 0  # of passes in both directions

    def __getstate__(self) -> dict[str, Any]:
        """Leave the graphs out of copies: they belong to this process and to these weights."""
        return {"_recordings": OrderedDict(), "_pool": None, "_count": 0}

    def answers(self, lstm: nn.LSTM, tokens: Tensor) -> bool:
        """Whether a batch is replayed: in training, on a GPU, of moderate size, and where nobody else is recording."""
        if not (tokens.is_cuda and lstm.training and torch.is_grad_enabled()):
            return False
        busy = torch.compiler.is_compiling() or transforming() or torch.cuda.is_current_stream_capturing()
        return not busy and 0 < tokens.shape[0] * tokens.shape[1] <= MOST_CELLS

    def __call__(self, lstm: nn.LSTM, tokens: Tensor, lengths: Tensor) -> Tensor:
        """Compute what `both_ways` does, with gradients in tokens and weights."""
        return _Replayed.apply(self, tokens, lengths, *weights_of(lstm))  # type: ignore[no-any-return, no-untyped-call]

    def forwards(self, tokens: Tensor, lengths: Tensor, weights: Sequence[Tensor]) -> tuple[_Recording, Tensor, int]:
        """Return the recording, its states, and the number of this pass."""
        recording = self._recording(tokens, weights)
        self._count += 1
        return recording, recording.forwards(tokens, lengths), self._count

    def take(self, number: int) -> bool:
        """Return whether memory still holds the forward pass with this number; a backward pass uses it up."""
        held = number == self._count
        self._count += 1
        return held

    def _recording(self, tokens: Tensor, weights: Sequence[Tensor]) -> _Recording:
        B, T, D = tokens.shape
        size = max(FEWEST, 1 << (B - 1).bit_length()), -(-T // STEPS) * STEPS
        cast = torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else None
        places = tuple([(weight.data_ptr(), weight.requires_grad) for weight in weights])
        key = (size, D, tokens.device, tokens.dtype, cast, places)
        recording = self._recordings.get(key)
        if recording is None:
            if self._pool is None:
                self._pool = torch.cuda.graph_pool_handle()
            while len(self._recordings) >= MOST_GRAPHS:
                self._recordings.popitem(last=False)
            recording = self._recordings[key] = _Recording(size, tokens, weights, self._pool)
        self._recordings.move_to_end(key)
        return recording


class _Replayed(torch.autograd.Function):
    """A forward pass by replay; if another one came before the backward pass, it is replayed once more."""

    @staticmethod
    def forward(ctx: Any, owner: GraphedLSTM, tokens: Tensor, lengths: Tensor, *weights: Tensor) -> Tensor:
        ctx.owner = owner
        ctx.recording, states, ctx.number = owner.forwards(tokens, lengths, weights)
        ctx.save_for_backward(tokens, lengths)
        return states.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        if not ctx.owner.take(ctx.number):
            ctx.recording.forwards(*ctx.saved_tensors)
        slopes = torch._foreach_mul([*ctx.recording.backwards(slope)], 1.0)  # copies, by few launches
        asked = iter(slopes[1:])
        return None, slopes[0], None, *(next(asked) if needed else None for needed in ctx.needs_input_grad[3:])
