"""The engine for tensors on a GPU: Triton kernels (`tagline.chain.kernels`), in exponentials with exact rescaling.

Forward: prepare scores, sweep in both directions, put log Z together. Backward: gradients are counts, each row
normalised by itself, transitions by one matrix product. Nothing waits for the host: what depends on values (forbidden
transitions, scores too far apart for float32) is decided on the device, where such sequences are redone in float64.
Where the backward pass is itself recorded (``create_graph=True``), it runs in plain PyTorch.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
import triton
from torch import Tensor

from tagline.chain import batched
from tagline.chain.kernels import best, chunks, counts, logs, order, scores, sweeps
from tagline.chain.tensors import TensorChain

MOST_LABELS = 512
TILE_LABELS = 128  # whose matrix fits into registers
WARP_LABELS = 32  # what one warp sweeps over
BLOCK = 64  # labels of a block, and
SIDE = 16  # sequences side by side, where there are more
ROWS = 32  # of a sequence, prepared by one program
STEPS = 64  # of a chunk
LONG, FEW = 1024, 128  # sequences of so many rows, and so few of them, are cut into chunks
POINTED = 1 << 17  # rows up to which pointers pay
WARPS = {16: 1, 32: 1, 64: 4, 128: 4}  # of a sweep, by labels
PAIR = {16: (64, 2, 528), 32: (64, 2, 528), 64: (64, 4, 264), 128: (64, 8, 132)}  # rows, warps, programs by labels
AGAIN = 16  # programs that look for flagged sequences


def fits(c: TensorChain) -> bool:
    """Whether the kernels answer for this chain: float32, one matrix of transitions, not too many labels.

    For any other plain PyTorch does.
    """
    return c.emissions.dtype == torch.float32 and not c.per_position and c.num_labels <= MOST_LABELS


def _solid(c: TensorChain) -> TensorChain:
    """The chain without history, its memory as the kernels read it."""
    parts = (part.detach().contiguous() for part in c.scores)
    return replace(c.with_scores(*parts), first=c.first.contiguous(), lengths=c.lengths.contiguous())


def _is_long(c: TensorChain, Lp: int) -> bool:
    """Whether the sequences go in chunks."""
    return c.longest >= LONG and c.num_sequences <= FEW and Lp <= WARP_LABELS


class _Sweep:
    """Both sweeps over a batch, kept for the gradients."""

    def __init__(self, c: TensorChain, tags: Tensor | None):
        self.chain = c = _solid(c)
        self.tags = None if tags is None else tags.contiguous()
        self.B, self.N, self.L = c.num_sequences, c.num_rows, c.num_labels
        self.Lp = max(16, triton.next_power_of_2(self.L))
        self.parts = max(1, triton.cdiv(c.longest, ROWS))
        B, N, L, Lp = self.B, self.N, self.L, self.Lp
        place: dict[str, Any] = {"device": c.emissions.device}
        self.moves = torch.empty(2 * Lp * Lp + 2 * Lp, **place)
        self.x = torch.empty(N, L, **place)
        self.states = torch.empty(2, N, L, **place)
        self.owners = torch.full((N,), -1, dtype=torch.int32, **place)
        self.flags = torch.empty(B, 2, dtype=torch.int32, **place)
        place["dtype"] = torch.float64
        self.scratch = torch.empty(max(B, AGAIN), 2, Lp, **place)
        self.log_z = torch.empty(B, **place)
        self.likelihood = torch.empty(B, **place)
        if B:
            self._run(torch.empty(5, **place), torch.empty(B, self.parts, 3, **place), torch.empty(B, **place))

    def _run(self, facts: Tensor, parts: Tensor, sums: Tensor) -> None:
        c, B, L, Lp = self.chain, self.B, self.L, self.Lp
        e, *edges = c.scores
        tags, tagged = (c.first, False) if self.tags is None else (self.tags, True)
        scores.prepare[(1 + B * self.parts,)](
            e, c.first, c.lengths, tags, *edges, self.moves, facts, self.x, self.owners, parts, L, self.parts,
            Lp, min(Lp, max(1, 4096 // Lp)), ROWS, tagged, num_warps=4,
        )  # fmt: skip
        given = (self.x, c.first, c.lengths, self.moves, facts)
        swept = (*given, self.states, sums, self.flags, L, self.N)
        if Lp > TILE_LABELS:
            grid = (triton.cdiv(B, SIDE), 2)
            sweeps.sweep_blocks[grid](*swept, B, Lp, SIDE, BLOCK, num_warps=4, num_stages=1)
        else:
            pairs, warps, long = Lp <= WARP_LABELS, WARPS[Lp], _is_long(c, Lp)
            if long:
                self._in_chunks(given, sums)
            elif not pairs:
                sweeps.sweep_wide[(B, 2)](*given, self.states, sums, L, self.N, Lp, num_warps=warps, num_stages=1)
            sweeps.sweep[(B, 2)](*swept, Lp, pairs, pairs and not long, num_warps=warps)
        logs.finish[(B,)](
            e, c.first, c.lengths, *edges, facts, parts, sums, self.flags, self.scratch, self.log_z, self.likelihood, L,
            self.parts, Lp, 16, min(128, triton.next_power_of_2(self.parts)), tagged, num_warps=1 if Lp <= 32 else 4,
        )  # fmt: skip

    def _in_chunks(self, given: tuple[Tensor, ...], sums: Tensor) -> None:
        B, L, Lp = self.B, self.L, self.Lp
        count = triton.cdiv(self.chain.longest - 1, STEPS)
        matrices = torch.empty(B * count, Lp, Lp, device=sums.device)
        exponents = torch.empty(B * count, dtype=torch.int32, device=sums.device)
        between = torch.empty(B, 2, count, Lp, device=sums.device)
        chunks.multiply[(B, count)](*given, matrices, exponents, L, count, Lp, STEPS, num_warps=1)
        chunks.stride[(B, 2)](
            *given, matrices, exponents, between, sums, L, count, Lp, STEPS, num_warps=1
        )  # fmt: skip
        chunks.fill[(B, count, 2)](*given, between, self.states, L, self.N, count, Lp, STEPS, num_warps=1)

    def gradients(self, weights: Tensor, edges: bool = True) -> tuple[Tensor, ...]:
        """Return the gradients of emissions and, with `edges`, of transitions, start, end."""
        c, B, N, L, Lp = self.chain, self.B, self.N, self.L, self.Lp
        if not B:
            return tuple(torch.zeros_like(part) for part in c.scores)
        e, *others = c.scores
        tags, tagged = (c.first, False) if self.tags is None else (self.tags, True)
        block = min(Lp, TILE_LABELS)
        rows, warps, most = PAIR[block]
        programs = max(AGAIN, min(triton.cdiv(N, rows), most))
        found = torch.empty_like(e)
        onward = torch.empty_like(e) if edges else found
        width = Lp * Lp + 2 * Lp
        slots = torch.empty(programs, width, device=e.device)
        weights = weights.contiguous()
        size = max(1, 1024 // Lp)
        counts.spread[(max(1, triton.cdiv(N, size)),)](
            self.x, self.states, self.owners, c.first, self.flags, weights, tags, self.moves, found, onward, L, N,
            Lp, size, tagged, edges, num_warps=4,
        )  # fmt: skip
        if edges:
            counts.pair[(programs, Lp // block, Lp // block)](
                found, self.states, onward, self.owners, c.first, c.lengths, self.flags, weights, tags, self.moves,
                *others[1:], slots, L, N, B, triton.cdiv(B, programs), Lp, block, rows, programs, tagged,
                num_warps=warps, num_stages=1,
            )  # fmt: skip
        logs.redo[(AGAIN,)](
            e, c.first, c.lengths, self.flags, weights, tags, *others, self.states, self.scratch, self.log_z, found,
            slots, L, N, B, triton.cdiv(B, AGAIN), Lp, 16, tagged, edges, num_warps=1 if Lp <= 32 else 4,
        )  # fmt: skip
        if not edges:
            return (found,)
        total = torch.empty(L + 2, L, device=e.device)
        span = 32 if Lp <= WARP_LABELS else 256
        counts.gather[(triton.cdiv(width, span),)](slots, total, programs, L, Lp, 16, span, num_warps=4)
        return found, total[:L], total[L], total[L + 1]


class _LogPartition(torch.autograd.Function):
    """log Z ``[B]``; its gradient is how often each score is used on average."""

    @staticmethod
    def forward(ctx: Any, c: TensorChain, *parts: Tensor) -> Tensor:
        ctx.chain, ctx.sweep = c, _Sweep(c, None)
        ctx.save_for_backward(*parts)
        found: Tensor = ctx.sweep.log_z.clone()
        return found

    @staticmethod
    def backward(ctx: Any, weights: Tensor) -> tuple[Tensor | None, ...]:
        parts = ctx.saved_tensors
        if torch.is_grad_enabled():
            return None, *_recorded(parts, batched.log_partition(ctx.chain.with_scores(*parts)), weights)
        return None, *ctx.sweep.gradients(weights)


class _LogLikelihood(torch.autograd.Function):
    """log p(tags) ``[B]``; its gradient is how often the tags use each score less how often it is used on average."""

    @staticmethod
    def forward(ctx: Any, c: TensorChain, tags: Tensor, *parts: Tensor) -> Tensor:
        ctx.chain, ctx.sweep = c, _Sweep(c, tags)
        ctx.save_for_backward(*parts, tags)
        found: Tensor = ctx.sweep.likelihood
        return found

    @staticmethod
    def backward(ctx: Any, weights: Tensor) -> tuple[Tensor | None, ...]:
        *parts, tags = ctx.saved_tensors
        if torch.is_grad_enabled():
            value = batched.log_likelihood(ctx.chain.with_scores(*parts), tags)
            return None, None, *_recorded(parts, value, weights)
        return None, None, *ctx.sweep.gradients(weights)


def _recorded(parts: Any, value: Tensor, weights: Tensor) -> tuple[Tensor | None, ...]:
    """Gradients that can be differentiated again."""
    wanted = [part for part in parts if part.requires_grad]
    found = iter(torch.autograd.grad(value, wanted, weights, create_graph=True, allow_unused=True))
    return tuple(next(found) if part.requires_grad else None for part in parts)


def log_partition(c: TensorChain) -> Tensor:
    """Compute log Z ``[B]``."""
    if not fits(c):
        return batched.log_partition(c)
    found: Tensor = _LogPartition.apply(c, *c.scores)  # type: ignore[no-untyped-call]
    return found


def log_likelihood(c: TensorChain, tags: Tensor) -> Tensor:
    """Compute log p(tags) ``[B]``, for tags ``[N]``; −∞ where they are forbidden."""
    if not fits(c):
        return batched.log_likelihood(c, tags)
    found: Tensor = _LogLikelihood.apply(c, tags, *c.scores)  # type: ignore[no-untyped-call]
    return found


def marginals(c: TensorChain) -> Tensor:
    """Compute P(y_n = j) ``[N, L]``; with gradients, in plain PyTorch."""
    if c.needs_gradient or not fits(c):
        return batched.marginals(c)
    sweep = _Sweep(c, None)
    return sweep.gradients(torch.ones_like(sweep.log_z), edges=False)[0]


@torch.no_grad()
def viterbi(c: TensorChain) -> tuple[Tensor, Tensor]:
    """Find the best labelling: tags ``[N]`` and scores ``[B]``."""
    if not fits(c):
        return batched.viterbi(c)
    c = _solid(c)
    e, T, start, end = c.scores
    B, N, L = c.num_sequences, c.num_rows, c.num_labels
    Lp = max(16, triton.next_power_of_2(L))
    tags = torch.full((N,), batched.NONE, device=e.device)
    totals = torch.empty(B, device=e.device, dtype=torch.float64)
    if not B:
        return tags, totals
    states = torch.empty(N, L, device=e.device)
    padded = torch.empty(2, Lp, Lp, device=e.device)
    scores.pad_moves[(Lp // 16,)](T, padded, L, Lp, 16, num_warps=4)
    rows = (e, c.first, c.lengths)
    pointed = N <= POINTED and Lp <= WARP_LABELS
    pointers = torch.empty(N if pointed else 0, L, device=e.device, dtype=torch.uint8)
    if _is_long(c, Lp) and pointed:
        _best_in_chunks(c, rows, padded, states, pointers, tags)
    elif Lp > TILE_LABELS:
        best.sweep_best_blocks[(B,)](*rows, padded, start, end, states, tags, L, Lp, BLOCK, num_warps=4)
        best.walk[(B,)](c.first, c.lengths, states, padded, tags, L, Lp, num_warps=1)
    else:
        given = (*rows, padded, start, end, states, tags, L, Lp)
        best.sweep_best[(B,)](*given, Lp <= WARP_LABELS, num_warps=WARPS[Lp])
        if pointed:
            best.point[(triton.cdiv(N, 32),)](states, padded, pointers, L, N, Lp, 32, num_warps=1)
            best.follow[(B,)](c.first, c.lengths, pointers, tags, L, Lp, num_warps=1)
        else:
            best.walk[(B,)](c.first, c.lengths, states, padded, tags, L, Lp, num_warps=1)
    scores.score_tags[(B,)](*rows, tags, T, start, end, totals, L, 128, num_warps=4)
    return tags, totals


def permuted(kept: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Move the tokens that a mask ``[B, T]`` keeps to the front of their sequences.

    Returns:
        The first row and the length of each sequence ``[B]``, the token ``b·T + t`` in each row and the row of each
        token ``[B·T]``.
    """
    B, T = kept.shape
    place: dict[str, Any] = {"device": kept.device, "dtype": torch.int64}
    first, lengths = torch.empty(B, **place), torch.empty(B, **place)
    rows, slots = torch.empty(B * T, **place), torch.empty(B * T, **place)
    if B:
        side = min(1024, max(16, triton.next_power_of_2(T)))
        order.order[(B,)](kept.contiguous().view(torch.uint8), first, lengths, rows, slots, T, side, num_warps=4)
    return first, lengths, rows, slots


def _best_in_chunks(
    c: TensorChain, rows: tuple[Tensor, ...], padded: Tensor, states: Tensor, pointers: Tensor, tags: Tensor
) -> None:
    """Write the tags of long sequences."""
    B, N, L, Lp = c.num_sequences, c.num_rows, c.num_labels, padded.shape[1]
    count = triton.cdiv(c.longest - 1, STEPS)
    matrices = states.new_empty(B * count, Lp, Lp)
    offsets = states.new_empty(B * count, Lp, dtype=torch.float64)
    between = states.new_empty(B, count, Lp)
    maps = states.new_empty(B, count, Lp, dtype=torch.int32)
    size = (L, count, Lp, STEPS)
    best.multiply_best[(B, count, L)](*rows, padded, matrices, offsets, *size, num_warps=1)
    best.stride_best[(B,)](*rows, c.start, c.end, matrices, offsets, between, tags, *size, num_warps=1)
    best.fill_best[(B, count)](*rows, padded, between, states, *size, num_warps=1)
    best.point[(triton.cdiv(N, 32),)](states, padded, pointers, L, N, Lp, 32, num_warps=1)
    best.carry[(B, count)](c.first, c.lengths, pointers, maps, *size, num_warps=1)
    best.trace[(B, count)](c.first, c.lengths, pointers, maps, tags, *size, num_warps=1)
