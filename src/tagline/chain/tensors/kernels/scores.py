"""Scores as the sweeps want them: exponentials at most 1, and what was taken out of them.

    E = exp(T − max T)      x_t = exp(e_t − max e_t)      Σ_t max e_t, the score of the labels, the range of each row

Sums over a sentence are in float64. Forbidden scores are exact zeros.
"""

from __future__ import annotations

import triton
import triton.language as tl

from tagline.chain.tensors.kernels.order import place_of

LOG2_E = tl.constexpr(1.4426950408889634)
LN_2_HIGH = tl.constexpr(0.693145751953125)  # 15 bits: times a whole number below 2^8 it is exact
LN_2_LOW = tl.constexpr(1.42860682030941723212e-6)
BY_ONE, BY_SENTENCES, BY_TOKENS = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)


@triton.jit
def exponential(d):
    """exp(d) for d ≤ 0 within one unit in the last place: 2^k · exp(u) with |u| ≤ ln 2 / 2, by its series; 0 below −87.

    The hardware's own is off by four units, always to the same side for the same transition, which adds up.
    """
    k = tl.floor(tl.maximum(d, -87.0) * LOG2_E + 0.5)
    u = (tl.maximum(d, -87.0) - k * LN_2_HIGH) - k * LN_2_LOW
    series = u * (1 / 5040) + (1 / 720)
    series = series * u + (1 / 120)
    series = series * u + (1 / 24)
    series = series * u + (1 / 6)
    series = series * u + 0.5
    series = series * (u * u) + u + 1.0
    power = ((k.to(tl.int32) + 127) << 23).to(tl.float32, bitcast=True)
    return tl.where(d < -87.0, 0.0, series * power)


@triton.jit
def prepare(
    emissions, rows, first, lengths, labels, transitions, start, end, potentials, facts, live, x, owners, parts, turns,
    L, quads, chunks, B, Lp: tl.constexpr, M: tl.constexpr, P: tl.constexpr, R: tl.constexpr, LABELLED: tl.constexpr,
    MOVED: tl.constexpr, TURNS: tl.constexpr,
):  # fmt: skip
    """Write what `_potentials` does in the first P programs, M rows at a time, and what `_rows` does in the others.

    With TURNS, also which sentence comes when, the longest first among so many neighbours.
    """
    pid = tl.program_id(0) - P
    if pid < 0:
        _potentials(transitions, start, end, potentials, facts, live, pid + P, L, Lp, M, P)
    else:
        _rows(
            pid // chunks, pid % chunks, emissions, rows, first, lengths, labels, transitions, start, end, x, owners,
            parts, L, 4 * quads, chunks, Lp, R, LABELLED, MOVED,
        )  # fmt: skip
        if TURNS > 0 and pid % chunks == 0:
            _take_turn(lengths, turns, pid // chunks, B, TURNS)


@triton.jit
def _take_turn(lengths, turns, b, B, S: tl.constexpr):
    """Write a sentence where its length puts it among S neighbours; of like ones the first comes first."""
    other = b // S * S + tl.arange(0, S)
    n, length = tl.load(lengths + b), tl.load(lengths + other, mask=other < B, other=-1)
    before = (length > n) | ((length == n) & (other < b))
    tl.store(turns + b // S * S + tl.sum(before.to(tl.int32)), b)


@triton.jit
def mark(live, anything, part, Lp: tl.constexpr, R: tl.constexpr):
    """Note which blocks ``[R, R]`` of R rows of a matrix, and of its transpose, hold anything: 1 or 0, by blocks."""
    blocks: tl.constexpr = Lp // R
    held = tl.max(tl.reshape(tl.max(anything.to(tl.int32), axis=0), [blocks, R]), axis=1)
    c = tl.arange(0, blocks)
    tl.store(live + part * blocks + c, held)
    tl.store(live + blocks * blocks + c * blocks + part, held)


@triton.jit
def _potentials(
    transitions, start, end, potentials, facts, live, part, L, Lp: tl.constexpr, R: tl.constexpr, P: tl.constexpr
):
    """Write E and its transpose ``[2, Lp, Lp]``, exp(start − max) and exp(end − max) ``[2, Lp]``, 0 beyond L.

    facts (float64): max T, the range of its finite entries, whether any is forbidden, max start, max end. Of several
    programs each looks at all of T and writes its share of the rows; these R rows are also marked in `live`.
    """
    j = tl.arange(0, Lp)
    top, low, holes = float("-inf"), float("inf"), 0
    for i0 in range(0, L, R):
        i = i0 + tl.arange(0, R)
        inside = (i < L)[:, None] & (j < L)[None, :]
        scores = tl.load(transitions + i[:, None] * L + j[None, :], mask=inside, other=float("-inf"))
        top = tl.maximum(top, tl.max(scores))
        low = tl.minimum(low, tl.min(tl.where(scores == float("-inf"), float("inf"), scores)))
        holes += tl.sum((inside & (scores == float("-inf"))).to(tl.int32))
    dead = top == float("-inf")
    top = tl.where(dead, 0.0, top)
    for i0 in range(part * (Lp // P), (part + 1) * (Lp // P), R):
        i = i0 + tl.arange(0, R)
        inside = (i < L)[:, None] & (j < L)[None, :]
        scores = tl.load(transitions + i[:, None] * L + j[None, :], mask=inside, other=float("-inf"))
        ratios = exponential(scores - top)
        tl.store(potentials + i[:, None] * Lp + j[None, :], ratios)
        tl.store(potentials + Lp * Lp + j[None, :] * Lp + i[:, None], ratios)
        if P > 1:
            mark(live, ratios > 0, part, Lp, R)
    if part == 0:
        tl.store(facts, top.to(tl.float64))
        tl.store(facts + 1, tl.where(dead, 0.0, top - low).to(tl.float64))
        tl.store(facts + 2, (holes > 0).to(tl.float64))
        for side in tl.static_range(2):
            if side == 0:
                ends = tl.load(start + j, mask=j < L, other=float("-inf"))
            else:
                ends = tl.load(end + j, mask=j < L, other=float("-inf"))
            most = tl.max(ends)
            most = tl.where(most == float("-inf"), 0.0, most)
            tl.store(potentials + 2 * Lp * Lp + side * Lp + j, exponential(ends - most))
            tl.store(facts + 3 + side, most.to(tl.float64))


@triton.jit
def _rows(
    b, c, emissions, rows, first, lengths, labels, transitions, start, end, x, owners, parts, L, width, chunks,
    Lp: tl.constexpr, R: tl.constexpr, LABELLED: tl.constexpr, MOVED: tl.constexpr,
):  # fmt: skip
    """Write x and the owner of R rows of a sentence.

    Of these rows, in float64: Σ max e, the score of the labels, the largest range.
    """
    n = tl.load(lengths + b)
    part = parts + (b * chunks + c) * 3
    if c * R < n:
        t = c * R + tl.arange(0, R)
        row = tl.load(first + b) + t
        inside = t < n
        place = place_of(rows, row, inside, MOVED)
        j = tl.arange(0, Lp)
        valid = inside[:, None] & (j < L)[None, :]
        e = tl.load(emissions + place[:, None] * L + j[None, :], mask=valid, other=float("-inf"))
        top = tl.max(e, axis=1)
        low = tl.min(tl.where(e == float("-inf"), float("inf"), e), axis=1)
        top = tl.where(top == float("-inf"), 0.0, top)
        written = inside[:, None] & (j < width)[None, :]
        tl.store(x + row[:, None] * width + j[None, :], exponential(e - top[:, None]), mask=written)
        tl.store(owners + row, tl.zeros([R], tl.int32) + b, mask=inside)
        tl.store(part, tl.sum(tl.where(inside, top, 0.0).to(tl.float64)))
        tl.store(part + 2, tl.max(tl.where(low < float("inf"), top - low, 0.0)).to(tl.float64))
        if LABELLED:
            tl.store(part + 1, tl.sum(_along(emissions, labels, transitions, start, end, row, place, t, n, L)))
    else:
        for k in tl.static_range(3):
            tl.store(part + k, 0.0)


@triton.jit
def _along(emissions, labels, transitions, start, end, row, place, t, n, L):
    """The scores that the labels of some rows use, float64; 0 for rows outside."""
    inside = t < n
    label = tl.load(labels + row, mask=inside, other=0)
    before = tl.load(labels + row - 1, mask=inside & (t > 0), other=0)
    used = tl.load(emissions + place * L + label, mask=inside, other=0.0).to(tl.float64)
    used += tl.load(transitions + before * L + label, mask=inside & (t > 0), other=0.0).to(tl.float64)
    used += tl.load(start + label, mask=inside & (t == 0), other=0.0).to(tl.float64)
    used += tl.load(end + label, mask=inside & (t == n - 1), other=0.0).to(tl.float64)
    return used


@triton.jit
def pad_transitions(transitions, padded, live, L, Lp: tl.constexpr, R: tl.constexpr):
    """Write T and its transpose ``[2, Lp, Lp]``, −∞ beyond L: tiles that load in whole lines. Mark blocks in `live`."""
    i, j = tl.program_id(0) * R + tl.arange(0, R), tl.arange(0, Lp)
    inside = (i < L)[:, None] & (j < L)[None, :]
    scores = tl.load(transitions + i[:, None] * L + j[None, :], mask=inside, other=float("-inf"))
    tl.store(padded + i[:, None] * Lp + j[None, :], scores)
    tl.store(padded + Lp * Lp + j[None, :] * Lp + i[:, None], scores)
    mark(live, scores > float("-inf"), tl.program_id(0), Lp, R)


@triton.jit
def settle(
    emissions, rows, first, lengths, labels, transitions, start, end, scores, tags, L, T, pad,
    R: tl.constexpr, MOVED: tl.constexpr,
):  # fmt: skip
    """Write the score of each sentence's labels ``[B]``; if tokens were moved, also all tags, `pad` at the others."""
    b = tl.program_id(0)
    n = tl.load(lengths + b)
    top = tl.load(first + b)
    total = tl.zeros([R], tl.float64)
    upto = n
    if MOVED:
        upto = n * 0 + T
    for t0 in range(0, upto, R):
        t = t0 + tl.arange(0, R)
        place = place_of(rows, top + t, t < T, MOVED)
        total += _along(emissions, labels, transitions, start, end, top + t, place, t, n, L)
        if MOVED:
            tag = tl.load(labels + top + t, mask=t < n, other=0)
            tl.store(tags + place, tl.where(t < n, tag, pad), mask=t < T)
    tl.store(scores + b, tl.sum(total))


@triton.jit
def reduce(likelihood, lengths, facts, loss, B, S: tl.constexpr, DIVISOR: tl.constexpr):
    """Write the sum of the negative log-likelihoods over 1, B or the tokens, as DIVISOR says.

    What the gradient of each log-likelihood counts for goes to `facts`.
    """
    total, tokens = tl.zeros([S], tl.float64), tl.zeros([S], tl.int64)
    for low in range(0, B, S):
        b = low + tl.arange(0, S)
        total += tl.load(likelihood + b, mask=b < B, other=0.0)
        tokens += tl.load(lengths + b, mask=b < B, other=0)
    share = tl.full([], -1.0, tl.float64)
    if DIVISOR == BY_SENTENCES:
        share = share / B
    if DIVISOR == BY_TOKENS:
        share = share / tl.maximum(tl.sum(tokens), 1)
    tl.store(facts + 5, share)
    tl.store(loss, tl.sum(total) * share)
