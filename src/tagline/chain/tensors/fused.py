"""The engine for tensors on a GPU: Triton kernels (`kernels`), in exponentials with exact rescaling.

Forward: prepare scores, sweep in both directions, put log Z together. Backward: gradients are counts, each row
normalised by itself, transitions by one matrix product. Nothing waits for the host: what depends on values (forbidden
transitions, scores too far apart for float32) is decided on the device, where such sentences are redone in float64.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
import triton
from torch import Tensor

from tagline.chain.tensors.batched import NO_LABEL
from tagline.chain.tensors.kernels import best, chunks, counts, logs, order, scores, sweeps
from tagline.chain.tensors.types import TensorChain, WeightedGradients

NAME = "fused"
MOST_LABELS = 512
TILE_LABELS = 128  # whose matrix fits into registers
WARP_LABELS = 32  # what one warp sweeps over
BLOCK = 64  # labels of a block, where there are more
SIDE = 16  # sentences side by side, where labels come in blocks; and rows of a matrix that are read at once
STREAMED = 128  # sentences up to which a program of its own for each reads the matrix faster than blocks do
ROWS = 32  # of a sentence, prepared by one program
STEPS = 64  # of a chunk
LONG, FEW = 1024, 128  # sentences of at least LONG rows, and at most FEW of them, are cut into chunks
POINTED = 1 << 17  # rows up to which pointers pay
WARPS = {16: 1, 32: 1, 64: 4, 128: 4}  # of a sweep, by labels
PAIR = {16: (64, 2, 528), 32: (64, 2, 528), 64: (64, 4, 264), 128: (64, 8, 132)}  # rows, warps, programs by labels
AGAIN = 16  # programs that look for flagged sentences


def fits(c: TensorChain) -> bool:
    """Whether the kernels answer for this chain: float32, one matrix of transitions, not too many labels."""
    return c.emissions.dtype == torch.float32 and not c.per_position and c.num_labels <= MOST_LABELS


def _solid(c: TensorChain) -> TensorChain:
    """The chain without history, its memory as the kernels read it."""
    parts = (part.detach().contiguous() for part in c.scores)
    return replace(c.with_scores(*parts), first=c.first.contiguous(), lengths=c.lengths.contiguous())


def _is_long(c: TensorChain, Lp: int) -> bool:
    """Whether the sentences are cut into chunks."""
    return c.longest >= LONG and c.num_sentences <= FEW and Lp <= WARP_LABELS


def _live(Lp: int, device: torch.device) -> Tensor:
    """Room for marks of the blocks of a matrix, and of its transpose, that hold a legal pair."""
    return torch.empty(2, Lp // SIDE, Lp // SIDE, device=device, dtype=torch.int32)


class _Sweep:
    """Both sweeps over a batch, kept for the gradients."""

    def __init__(self, c: TensorChain, labels: Tensor | None):
        self.chain = c = _solid(c)
        self.labels = None if labels is None else labels.contiguous()
        self.B, self.N, self.L = c.num_sentences, c.num_rows, c.num_labels
        self.Lp = max(16, triton.next_power_of_2(self.L))
        self.parts = max(1, triton.cdiv(c.longest, ROWS))
        B, N, L, Lp = self.B, self.N, self.L, self.Lp
        place: dict[str, Any] = {"device": c.emissions.device}
        self.potentials = torch.empty(2 * Lp * Lp + 2 * Lp, **place)
        self.x = torch.empty(N, L, **place)
        self.states = torch.empty(2, N, L, **place)
        self.owners = torch.full((N,), -1, dtype=torch.int32, **place)
        self.flags = torch.empty(B, 2, dtype=torch.int32, **place)
        self.live = _live(Lp, c.emissions.device)
        place["dtype"] = torch.float64
        self.scratch = torch.empty(max(B, AGAIN), 2, Lp, **place)
        self.log_z = torch.empty(B, **place)

    def run(self) -> Tensor:
        """Sweep; return log p(labels) ``[B]``, undefined where there are no labels."""
        place: dict[str, Any] = {"device": self.x.device, "dtype": torch.float64}
        B = self.B
        likelihood = torch.empty(B, **place)
        if B:
            facts, parts, sums = (torch.empty(shape, **place) for shape in ((5,), (B, self.parts, 3), (B,)))
            self._run(facts, parts, sums, likelihood)
        return likelihood

    def _run(self, facts: Tensor, parts: Tensor, sums: Tensor, likelihood: Tensor) -> None:
        c, B, L, Lp = self.chain, self.B, self.L, self.Lp
        e, *edges = c.scores
        labels, labelled = self._labels()
        many = Lp > TILE_LABELS
        shares, together = (Lp // SIDE, SIDE) if many else (1, min(Lp, max(1, 4096 // Lp)))
        scores.prepare[(shares + B * self.parts,)](
            e, c.first, c.lengths, labels, *edges, self.potentials, facts, self.live, self.x, self.owners, parts, L,
            self.parts, Lp, together, shares, ROWS, labelled, num_warps=4,
        )  # fmt: skip
        inputs = (self.x, c.first, c.lengths, self.potentials, facts)
        swept = (*inputs, self.states, sums, self.flags, L, self.N)
        if many:
            if B > STREAMED:
                grid = (triton.cdiv(B, SIDE), 2)
                sweeps.sweep_blocks[grid](
                    *inputs, self.states, sums, L, self.N, B, Lp, SIDE, BLOCK, num_warps=4, num_stages=1
                )
            reached = torch.empty(B, 2, Lp, device=self.x.device)
            sweeps.sweep_rows[(B, 2)](
                *inputs, self.live, self.states, sums, self.flags, reached, L, self.N, Lp, SIDE, B <= STREAMED,
                num_warps=8, num_stages=1,
            )  # fmt: skip
        else:
            pairs, warps, long = Lp <= WARP_LABELS, WARPS[Lp], _is_long(c, Lp)
            if long:
                self._in_chunks(inputs, sums)
            elif not pairs:
                sweeps.sweep_wide[(B, 2)](*inputs, self.states, sums, L, self.N, Lp, num_warps=warps, num_stages=1)
            sweeps.sweep[(B, 2)](*swept, Lp, pairs, pairs and not long, num_warps=warps)
        logs.finish[(B,)](
            e, c.first, c.lengths, *edges, facts, parts, sums, self.flags, self.scratch, self.log_z, likelihood, L,
            self.parts, Lp, 16, min(128, triton.next_power_of_2(self.parts)), labelled, num_warps=1 if Lp <= 32 else 4,
        )  # fmt: skip

    def _labels(self) -> tuple[Tensor, bool]:
        """The labels and whether there are any; where there are none, kernels get a tensor that they do not read."""
        return (self.chain.first, False) if self.labels is None else (self.labels, True)

    def _in_chunks(self, inputs: tuple[Tensor, ...], sums: Tensor) -> None:
        B, L, Lp = self.B, self.L, self.Lp
        count = triton.cdiv(self.chain.longest - 1, STEPS)
        matrices = torch.empty(B * count, Lp, Lp, device=sums.device)
        exponents = torch.empty(B * count, dtype=torch.int32, device=sums.device)
        between = torch.empty(B, 2, count, Lp, device=sums.device)
        chunks.multiply[(B, count)](*inputs, matrices, exponents, L, count, Lp, STEPS, num_warps=1)
        chunks.stride[(B, 2)](*inputs, matrices, exponents, between, sums, L, count, Lp, STEPS, num_warps=1)
        chunks.fill[(B, count, 2)](*inputs, between, self.states, L, self.N, count, Lp, STEPS, num_warps=1)

    def gradients(self, weights: Tensor, edges: bool = True) -> tuple[Tensor, ...]:
        """Return the gradients of emissions and, with `edges`, of transitions, start, end."""
        c, B, N, L, Lp = self.chain, self.B, self.N, self.L, self.Lp
        if not B:
            return tuple(torch.zeros_like(part) for part in c.scores)
        e, *others = c.scores
        labels, labelled = self._labels()
        block = min(Lp, TILE_LABELS)
        rows, warps, most = PAIR[block]
        programs = max(AGAIN, min(triton.cdiv(N, rows), most))
        by_label = torch.empty_like(e)
        onward = torch.empty_like(e) if edges else by_label
        width = Lp * Lp + 2 * Lp
        slots = torch.empty(programs, width, device=e.device)
        weights = weights.contiguous()
        size = max(1, 1024 // Lp)
        counts.spread[(max(1, triton.cdiv(N, size)),)](
            self.x, self.states, self.owners, c.first, self.flags, weights, labels, self.potentials, by_label,
            onward, L, N, Lp, size, labelled, edges, num_warps=4,
        )  # fmt: skip
        if edges:
            blocks = triton.cdiv(L, block)
            counts.pair[(programs, blocks, blocks)](
                by_label, self.states, onward, self.owners, c.first, c.lengths, self.flags, weights, labels,
                self.potentials, *others[1:], slots, L, N, B, triton.cdiv(B, programs), Lp, block, rows, programs,
                labelled, num_warps=warps, num_stages=1,
            )  # fmt: skip
        logs.redo[(AGAIN,)](
            e, c.first, c.lengths, self.flags, weights, labels, *others, self.states, self.scratch, self.log_z,
            by_label, slots, L, N, B, triton.cdiv(B, AGAIN), Lp, 16, labelled, edges, num_warps=1 if Lp <= 32 else 4,
        )  # fmt: skip
        if not edges:
            return (by_label,)
        total = torch.empty(L + 2, L, device=e.device)
        span = 32 if Lp <= WARP_LABELS else 256
        counts.gather[(triton.cdiv(width, span),)](slots, total, programs, L, Lp, 16, span, num_warps=4)
        return by_label, total[:L], total[L], total[L + 1]


def evaluate(c: TensorChain, labels: Tensor | None, with_gradients: bool) -> tuple[Tensor, WeightedGradients]:
    """Compute log Z ``[B]``, or with labels ``[N]`` log p(labels), and how to get their gradients.

    log Z is −∞ where there is no legal path, log p where the labels are forbidden.
    """
    sweep = _Sweep(c, labels)
    likelihood = sweep.run()
    return sweep.log_z.clone() if labels is None else likelihood, sweep.gradients


def marginals(c: TensorChain) -> Tensor:
    """Compute P(y_n = j) ``[N, L]``, without gradients."""
    sweep = _Sweep(c, None)
    sweep.run()
    return sweep.gradients(torch.ones_like(sweep.log_z), edges=False)[0]


@torch.no_grad()
def viterbi(c: TensorChain) -> tuple[Tensor, Tensor]:
    """Find the best labelling: labels ``[N]`` and scores ``[B]``."""
    c = _solid(c)
    e, T, start, end = c.scores
    B, N, L = c.num_sentences, c.num_rows, c.num_labels
    Lp = max(16, triton.next_power_of_2(L))
    labels = torch.full((N,), NO_LABEL, device=e.device)
    totals = torch.empty(B, device=e.device, dtype=torch.float64)
    if not B:
        return labels, totals
    states = torch.empty(N, L, device=e.device)
    padded = torch.empty(2, Lp, Lp, device=e.device)
    live = _live(Lp, e.device)
    scores.pad_transitions[(Lp // SIDE,)](T, padded, live, L, Lp, SIDE, num_warps=4)
    rows = (e, c.first, c.lengths)
    pointed = N <= POINTED and Lp <= WARP_LABELS
    pointers = torch.empty(N if pointed else 0, L, device=e.device, dtype=torch.uint8)
    if _is_long(c, Lp) and pointed:
        _best_in_chunks(c, rows, padded, states, pointers, labels)
    elif Lp > TILE_LABELS:
        best.sweep_best_rows[(B,)](*rows, padded, live, start, end, states, labels, L, Lp, SIDE, num_warps=8)
        best.walk[(B,)](c.first, c.lengths, states, padded, labels, L, Lp, num_warps=1)
    else:
        arguments = (*rows, padded, start, end, states, labels, L, Lp)
        best.sweep_best[(B,)](*arguments, Lp <= WARP_LABELS, num_warps=WARPS[Lp])
        if pointed:
            best.point[(triton.cdiv(N, 32),)](states, padded, pointers, L, N, Lp, 32, num_warps=1)
            best.follow[(B,)](c.first, c.lengths, pointers, labels, L, Lp, num_warps=1)
        else:
            best.walk[(B,)](c.first, c.lengths, states, padded, labels, L, Lp, num_warps=1)
    scores.score_labels[(B,)](*rows, labels, T, start, end, totals, L, 128, num_warps=4)
    return labels, totals


def permuted(mask: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Move the tokens where a mask ``[B, T]`` is on to the front of their sentences.

    Returns:
        The first row and the length of each sentence ``[B]``, the token ``b·T + t`` in each row and the row of each
        token ``[B·T]``.
    """
    B, T = mask.shape
    place: dict[str, Any] = {"device": mask.device, "dtype": torch.int64}
    first, lengths = torch.empty(B, **place), torch.empty(B, **place)
    rows, slots = torch.empty(B * T, **place), torch.empty(B * T, **place)
    if B:
        side = min(1024, max(16, triton.next_power_of_2(T)))
        order.order[(B,)](mask.contiguous().view(torch.uint8), first, lengths, rows, slots, T, side, num_warps=4)
    return first, lengths, rows, slots


def _best_in_chunks(
    c: TensorChain, rows: tuple[Tensor, ...], padded: Tensor, states: Tensor, pointers: Tensor, labels: Tensor
) -> None:
    """Write the labels of long sentences."""
    B, N, L, Lp = c.num_sentences, c.num_rows, c.num_labels, padded.shape[1]
    count = triton.cdiv(c.longest - 1, STEPS)
    matrices = states.new_empty(B * count, Lp, Lp)
    deductions = states.new_empty(B * count, Lp, dtype=torch.float64)
    between = states.new_empty(B, count, Lp)
    maps = states.new_empty(B, count, Lp, dtype=torch.int32)
    size = (L, count, Lp, STEPS)
    best.multiply_best[(B, count, L)](*rows, padded, matrices, deductions, *size, num_warps=1)
    best.stride_best[(B,)](*rows, c.start, c.end, matrices, deductions, between, labels, *size, num_warps=1)
    best.fill_best[(B, count)](*rows, padded, between, states, *size, num_warps=1)
    best.point[(triton.cdiv(N, 32),)](states, padded, pointers, L, N, Lp, 32, num_warps=1)
    best.carry[(B, count)](c.first, c.lengths, pointers, maps, *size, num_warps=1)
    best.trace[(B, count)](c.first, c.lengths, pointers, maps, labels, *size, num_warps=1)
