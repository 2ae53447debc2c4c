"""The engine for tensors on the CPU: the compiled core reads them in place, threads over sequences.

Gradients are marginals, computed with the value in one pass and kept until `backward` wants them; where the backward
pass is itself recorded (``create_graph=True``) it runs again in plain PyTorch. A sequence without a legal path and
forbidden tags raise where a gradient is wanted; NaN must be kept out by the caller.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tagline import _core
from tagline.chain import batched
from tagline.chain.checks import forbidden_gold, no_path
from tagline.chain.tensors import TensorChain, as_array

EDGE_BYTES = 1 << 26  # of pair probabilities at a time, where sequences weigh differently


@dataclass(frozen=True, eq=False)
class Packed:
    """The arrays that the core reads, and where their rows come from."""

    arrays: tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[np.int64]]
    runs: Any

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Of the sequences, ``[B]``."""
        return np.diff(self.arrays[4])

    def put(self, values: NDArray[Any], fill: float) -> Tensor:
        """Put values of tokens into rows ``[N, …]``, with `fill` elsewhere."""
        return torch.from_numpy(values if self.runs.dense else self.runs.put(values, fill))

    def take(self, values: Tensor) -> NDArray[Any]:
        """Return values of rows ``[N, …]`` that belong to tokens."""
        array = as_array(values)
        return array if self.runs.dense else self.runs.pack(array)


def pack(c: TensorChain) -> Packed:
    """Return arrays without copying; where there are rows between the sequences, those inside are copied together."""
    emissions, transitions, start, end = c.arrays
    if not c.runs.dense:
        emissions = c.runs.pack(emissions)
        transitions = c.runs.pack(transitions) if c.per_position else transitions
    return Packed((emissions, transitions, start, end, c.runs.offsets), c.runs)


def _asked(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except _core.NoPath as error:
        raise no_path(int(str(error))) from None


class _LogPartition(torch.autograd.Function):
    """log Z ``[B]``; its gradient is how often each score is used on average."""

    @staticmethod
    def forward(ctx: Any, c: TensorChain, *scores: Tensor) -> Tensor:
        ctx.chain = c
        ctx.save_for_backward(*scores)
        packed = pack(c)
        if not any(ctx.needs_input_grad):
            return torch.from_numpy(_core.log_partition(*packed.arrays, True))
        ctx.packed = packed
        ctx.counts = _asked(_core.expected_counts, *packed.arrays)
        return torch.from_numpy(ctx.counts[4])

    @staticmethod
    def backward(ctx: Any, weights: Tensor) -> tuple[Tensor | None, ...]:
        scores = ctx.saved_tensors
        if torch.is_grad_enabled():
            return None, *_recorded(ctx, scores, batched.log_partition(ctx.chain.with_scores(*scores)), weights)
        return None, *_weighted(ctx, scores, weights, None)


class _LogLikelihood(torch.autograd.Function):
    """log p(tags) ``[B]``; its gradient is how often the tags use each score less how often it is used on average."""

    @staticmethod
    def forward(ctx: Any, c: TensorChain, tags: Tensor, *scores: Tensor) -> Tensor:
        ctx.chain = c
        ctx.save_for_backward(*scores, tags)
        packed = pack(c)
        labels = packed.take(tags)
        if any(ctx.needs_input_grad):
            ctx.packed, ctx.labels = packed, labels
            ctx.counts = _asked(_core.gradients, *packed.arrays, labels)
            found = ctx.counts[4]
        else:
            log_z = _asked(_core.log_partition, *packed.arrays, False)
            found = _core.score(*packed.arrays, labels) - log_z
        if (gone := found == -np.inf).any():
            raise forbidden_gold(int(gone.argmax()))
        return torch.from_numpy(found)

    @staticmethod
    def backward(ctx: Any, weights: Tensor) -> tuple[Tensor | None, ...]:
        *scores, tags = ctx.saved_tensors
        if torch.is_grad_enabled():
            value = batched.log_likelihood(ctx.chain.with_scores(*scores), tags)
            return None, None, *_recorded(ctx, scores, value, weights)
        return None, None, *_weighted(ctx, scores, weights, ctx.labels)


def _recorded(ctx: Any, scores: Any, value: Tensor, weights: Tensor) -> tuple[Tensor | None, ...]:
    """Gradients that can be differentiated again."""
    wanted = [part for part in scores if part.requires_grad]
    found = iter(torch.autograd.grad(value, wanted, weights, create_graph=True, allow_unused=True))
    return tuple(next(found) if part.requires_grad else None for part in scores)


def _weighted(ctx: Any, scores: Any, weights: Tensor, labels: NDArray[np.int64] | None) -> tuple[Tensor | None, ...]:
    """Sums of each sequence's gradient times its weight, from the counts of all sequences together."""
    packed, (nodes, moves, *ends, _) = ctx.packed, ctx.counts
    factors = as_array(weights)
    per_position = ctx.chain.per_position
    if len(factors) == 0 or (factors == factors[0]).all():
        factor = factors[0] if len(factors) else 0.0
        parts = [moves if per_position else moves * factor, *(part * factor for part in ends)]
    else:
        parts = list(_uneven(packed, per_position, moves, nodes, factors, labels))
    if per_position:
        parts[0] = packed.runs.spread(moves, factors)
    found = (packed.runs.spread(nodes, factors), *parts)
    return tuple(torch.from_numpy(part).to(score.dtype) for part, score in zip(found, scores, strict=True))


def _uneven(
    packed: Packed,
    per_position: bool,
    moves: NDArray[Any],
    nodes: NDArray[Any],
    factors: NDArray[Any],
    labels: NDArray[np.int64] | None,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Transition, start and end gradients where sequences weigh differently."""
    offsets, lengths = packed.arrays[4], packed.lengths
    some = lengths > 0
    L = nodes.shape[1]
    first, last = offsets[:-1][some], offsets[1:][some] - 1
    start, end = (factors[some] @ nodes[places].astype(np.float64) for places in (first, last))
    if per_position:
        return moves, start, end
    total = np.zeros((L, L))
    step = max(1, EDGE_BYTES // (8 * L * L * max(1, int(lengths.max(initial=1)))))
    for b in range(0, len(lengths), step):
        part = slice(b, min(b + step, len(lengths)))
        tokens = slice(offsets[part.start], offsets[part.stop])
        chain = (packed.arrays[0][tokens], *packed.arrays[1:4], offsets[part.start : part.stop + 1] - tokens.start)
        edges = _asked(_core.marginals, *chain, True)[1]
        each = np.repeat(factors[part], lengths[part])
        total -= np.tensordot(each, edges, 1)
    if labels is None:
        return -total, start, end
    inner = np.ones(len(labels), np.bool_)
    inner[offsets[:-1][some]] = False
    into = np.flatnonzero(inner)
    np.add.at(total, (labels[into - 1], labels[into]), np.repeat(factors, lengths)[into])
    return total, start, end


def log_partition(c: TensorChain) -> Tensor:
    """Compute log Z ``[B]``; without gradients, −∞ for a sequence without a legal path."""
    return _LogPartition.apply(c, *c.scores)  # type: ignore[no-any-return, no-untyped-call]


def log_likelihood(c: TensorChain, tags: Tensor) -> Tensor:
    """Compute log p(tags) ``[B]``, for tags ``[N]``."""
    return _LogLikelihood.apply(c, tags, *c.scores)  # type: ignore[no-any-return, no-untyped-call]


def marginals(c: TensorChain) -> Tensor:
    """Compute P(y_n = j) ``[N, L]``; with gradients, in plain PyTorch."""
    if c.needs_gradient:
        return batched.marginals(c)
    packed = pack(c)
    return packed.put(_asked(_core.marginals, *packed.arrays, False)[0], 0.0)


def viterbi(c: TensorChain) -> tuple[Tensor, Tensor]:
    """Find the best labelling: tags ``[N]`` and scores ``[B]``."""
    packed = pack(c)
    tags, scores = _asked(_core.viterbi, *packed.arrays)
    return packed.put(tags, batched.NONE), torch.from_numpy(scores)
