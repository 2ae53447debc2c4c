"""The log domain in float64, for sentences that exponentials in float32 cannot hold; it leaves the others alone.

    log α_t(j) = log Σ_i exp(log α_(t-1)(i) + T(i, j)) + e_t(j)

A program takes one sentence; labels come in blocks of J, the vector of the step lies in `scratch`. log α is kept as two
float32 numbers in the memory of v and y.
"""

from __future__ import annotations

import triton
import triton.language as tl

from tagline.chain.tensors.kernels.counts import weight_of
from tagline.chain.tensors.kernels.order import place_of

GUARD = tl.constexpr(60.0)


@triton.jit
def _total(values):
    """log Σ exp along axis 0; −∞ for nothing but −∞."""
    top = tl.max(values, axis=0)
    safe = tl.where(top == float("-inf"), 0.0, top)
    return safe + tl.log(tl.sum(tl.exp(values - safe), axis=0))


@triton.jit
def _advance(alpha, transitions, e, to, L, Lp: tl.constexpr, J: tl.constexpr):
    """Write the next log α, given one ``[Lp]``, to `to`."""
    i = tl.arange(0, Lp)
    for j0 in range(0, L, J):
        j = j0 + tl.arange(0, J)
        here = (i < L)[:, None] & (j < L)[None, :]
        scores = tl.load(transitions + i[:, None] * L + j[None, :], mask=here, other=float("-inf")).to(tl.float64)
        own = tl.load(e + j, mask=j < L, other=float("-inf")).to(tl.float64)
        scores += alpha[:, None]
        top = tl.max(scores, axis=0)
        safe = tl.where(top == float("-inf"), 0.0, top)
        tl.store(to + j, safe + tl.log(tl.sum(tl.exp(scores - safe[None, :]), axis=0)) + own, mask=j < L)
    tl.debug_barrier()


@triton.jit
def finish(
    emissions, rows, first, lengths, transitions, start, end, facts, parts, sums, flags, scratch, log_z, likelihood,
    L, chunks, Lp: tl.constexpr, J: tl.constexpr, C: tl.constexpr, LABELLED: tl.constexpr, MOVED: tl.constexpr,
):  # fmt: skip
    """Put log Z ``[B]`` together, with LABELLED log p(labels), otherwise log Z again, and settle who is flagged."""
    b = tl.program_id(0)
    n = tl.load(lengths + b)
    top, gold, worst = tl.zeros([C], tl.float64), tl.zeros([C], tl.float64), tl.zeros([C], tl.float64)
    for c0 in range(0, chunks, C):
        c = c0 + tl.arange(0, C)
        part = parts + (b * chunks + c) * 3
        top += tl.load(part, mask=c < chunks, other=0.0)
        worst = tl.maximum(worst, tl.load(part + 2, mask=c < chunks, other=0.0))
        if LABELLED:
            gold += tl.load(part + 1, mask=c < chunks, other=0.0)
    track = tl.load(facts + 2) > 0  # only then was anything written to the flags
    flagged = (tl.load(flags + 2 * b, mask=track, other=0) | tl.load(flags + 2 * b + 1, mask=track, other=0)) != 0
    flagged = (n > 0) & (flagged | (tl.max(worst) + tl.load(facts + 1) > GUARD))
    tl.store(flags + 2 * b, flagged.to(tl.int32))
    j = tl.arange(0, Lp)
    z = (n * 0).to(tl.float64)
    if flagged:
        row = tl.load(first + b)
        place = place_of(rows, row, n > 0, MOVED)
        alpha = tl.load(start + j, mask=j < L, other=float("-inf")).to(tl.float64)
        alpha += tl.load(emissions + place * L + j, mask=j < L, other=0.0).to(tl.float64)
        for t in range(1, n):
            to = scratch + (2 * b + t % 2) * Lp
            _advance(alpha, transitions, emissions + place_of(rows, row + t, t < n, MOVED) * L, to, L, Lp, J)
            alpha = tl.load(to + j, mask=j < L, other=float("-inf"))
        z = _total(alpha + tl.load(end + j, mask=j < L, other=float("-inf")).to(tl.float64))
    elif n > 0:
        taken = tl.load(facts) * (n - 1).to(tl.float64) + tl.load(facts + 3) + tl.load(facts + 4)
        z = tl.load(sums + b) + taken + tl.sum(top)
    tl.store(log_z + b, z)
    if LABELLED:
        score = tl.sum(gold)
        z = tl.where(score == float("-inf"), score, score - z)
    tl.store(likelihood + b, z)


@triton.jit
def redo(
    emissions, rows, first, lengths, flags, weights, facts, labels, transitions, start, end, states, scratch, log_z,
    gradient, slots, L, N, B, share, quads, Lp: tl.constexpr, J: tl.constexpr, LABELLED: tl.constexpr,
    MOVED: tl.constexpr, BY: tl.constexpr, EDGES: tl.constexpr,
):  # fmt: skip
    """Write what `counts.spread` does for the flagged ones in a share of the sentences, and add to its slot."""
    pid = tl.program_id(0)
    upto = tl.minimum(B, (pid + 1) * share)
    flagged = upto * 0
    for b0 in range(pid * share, upto, 128):
        b = b0 + tl.arange(0, 128)
        flagged += tl.sum(tl.load(flags + 2 * b, mask=b < upto, other=0))
    if flagged > 0:
        slot = slots + pid * (Lp * Lp + 2 * Lp)
        work = scratch + 2 * pid * Lp
        for b in range(pid * share, upto):
            if (tl.load(flags + 2 * b) != 0) & (tl.load(log_z + b) > float("-inf")):
                row = tl.load(first + b)
                n = tl.load(lengths + b)
                _forwards(emissions, rows, transitions, start, states, work, row, n, L, N, 4 * quads, Lp, J, MOVED)
                _backwards(
                    emissions, rows, labels, transitions, end, states, work, gradient, slot, row, n,
                    tl.load(log_z + b), weight_of(weights, facts, b, n > 0, BY), L, N, 4 * quads, Lp, J, LABELLED,
                    MOVED, EDGES,
                )  # fmt: skip


@triton.jit
def _forwards(
    emissions, rows, transitions, start, states, work, row, n, L, N, width,
    Lp: tl.constexpr, J: tl.constexpr, MOVED: tl.constexpr,
):  # fmt: skip
    """Write log α of a sentence as two float32 numbers."""
    j = tl.arange(0, Lp)
    inner = j < L
    alpha = tl.load(start + j, mask=inner, other=float("-inf")).to(tl.float64)
    alpha += tl.load(emissions + place_of(rows, row, n > 0, MOVED) * L + j, mask=inner, other=0.0).to(tl.float64)
    for t in range(0, n):
        if t > 0:
            own = emissions + place_of(rows, row + t, t < n, MOVED) * L
            _advance(alpha, transitions, own, work + (t % 2) * Lp, L, Lp, J)
            alpha = tl.load(work + (t % 2) * Lp + j, mask=inner, other=float("-inf"))
        high = alpha.to(tl.float32)
        rest = tl.where(alpha == float("-inf"), 0.0, alpha - high.to(tl.float64))
        tl.store(states + (row + t) * width + j, high, mask=inner)
        tl.store(states + (row + t + N) * width + j, rest.to(tl.float32), mask=inner)
    tl.debug_barrier()


@triton.jit
def _stored(states, row, inner, j, N, width):
    """log α of a row as `_forwards` left it."""
    alpha = tl.load(states + row * width + j, mask=inner, other=float("-inf")).to(tl.float64)
    return alpha + tl.load(states + (row + N) * width + j, mask=inner, other=0.0).to(tl.float64)


@triton.jit
def _backwards(
    emissions, rows, labels, transitions, end, states, work, gradient, slot, row, n, z, g, L, N, width,
    Lp: tl.constexpr, J: tl.constexpr, LABELLED: tl.constexpr, MOVED: tl.constexpr, EDGES: tl.constexpr,
):  # fmt: skip
    """Write the gradient of a sentence's emissions, and add to the slot."""
    j = tl.arange(0, Lp)
    inner = j < L
    beta = tl.load(end + j, mask=inner, other=float("-inf")).to(tl.float64)
    for back in range(0, n):
        t = n - 1 - back
        token = place_of(rows, row + t, t < n, MOVED) * L + j
        own = tl.load(emissions + token, mask=inner, other=float("-inf")).to(tl.float64)
        used = g * tl.exp(_stored(states, row + t, inner, j, N, width) + beta - z)
        if LABELLED:
            label = tl.load(labels + row + t)
            before = tl.load(labels + row + t - 1, mask=t > 0, other=-1)
            used = tl.where((j == label) & (own > float("-inf")), g, 0.0) - used
        tl.store(gradient + token, used.to(tl.float32), mask=inner)
        if t == 0:
            _add(slot + Lp * Lp + j, used, inner)
        if t == n - 1:
            _add(slot + Lp * Lp + Lp + j, used, inner)
        if t > 0:
            tl.store(work + j, own + beta, mask=inner)
            tl.debug_barrier()
            alpha = _stored(states, row + t - 1, inner, j, N, width)
            most = tl.full([Lp], float("-inf"), tl.float64)
            sums = tl.zeros([Lp], tl.float64)
            for k0 in range(0, L, J):
                k = k0 + tl.arange(0, J)
                here = inner[:, None] & (k < L)[None, :]
                block = tl.load(transitions + j[:, None] * L + k[None, :], mask=here, other=float("-inf"))
                scores = block.to(tl.float64) + tl.load(work + k, mask=k < L, other=float("-inf"))[None, :]
                if EDGES:
                    pairs = g * tl.exp(alpha[:, None] + scores - z)
                    if LABELLED:
                        gold = (j == before)[:, None] & (k == label)[None, :] & (block > float("-inf"))
                        pairs = tl.where(gold, g, 0.0) - pairs
                    _add(slot + j[:, None] * Lp + k[None, :], pairs, here)
                higher = tl.maximum(most, tl.max(scores, axis=1))
                safe = tl.where(higher == float("-inf"), 0.0, higher)
                sums = sums * tl.exp(most - safe) + tl.sum(tl.exp(scores - safe[:, None]), axis=1)
                most = higher
            beta = tl.where(most == float("-inf"), most, most + tl.log(sums))
            tl.debug_barrier()


@triton.jit
def _add(to, values, mask):
    tl.store(to, tl.load(to, mask=mask, other=0.0) + values.to(tl.float32), mask=mask)
