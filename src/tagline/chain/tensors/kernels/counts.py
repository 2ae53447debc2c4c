"""From both sweeps to gradients: how often each score is used on average, and by the labels.

    p_t ∝ v_t ⊙ y_t / x_t      Σ_t p_t(i, j) = E ⊙ Σ_t v_(t-1)ᵀ (y_t / c_t)      c_t p_t(k) = (v_(t-1) · E)(k) y_t(k)

Each row is normalised by itself, so no exponents are needed; c_t comes from the most probable label k alone. The
labels' own transitions are a product, too, of ones and zeros. A program takes a fixed share of the rows and sums into a
slot of its own; `gather` sums the slots: no atomics, the same bits every time.
"""

from __future__ import annotations

import triton
import triton.language as tl

from tagline.chain.tensors.kernels.order import place_of
from tagline.chain.tensors.kernels.sweeps import ONE, rescale, split

BY_SHARE, BY_SENTENCE, BY_SLOPE = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)
HUGE = tl.constexpr(2.0**120)  # above every state
LIFT = tl.constexpr(2.0**40)  # keeps y_t · weight / c_t, from about 2^-120 up, where its parts are exact, too


@triton.jit
def _level(v):
    """Rows of v with their maxima near 2^TARGET."""
    _, scale = rescale(tl.max(v, axis=1))
    return v * scale[:, None]


@triton.jit
def weight_of(weights, facts, b, inside, BY: tl.constexpr):
    """What the gradient of a sentence counts for: a weight of its own, or its share in the loss, which is in `facts`.

    With BY_SLOPE the share is multiplied by the gradient of the loss.
    """
    if BY == BY_SENTENCE:
        weight = tl.load(weights + b, mask=inside, other=0.0)
    else:
        weight = tl.where(inside, tl.load(facts + 5), 0.0)
    if BY == BY_SLOPE:
        weight *= tl.load(weights)
    return weight


@triton.jit
def spread(
    x, states, rows, owners, first, flags, weights, facts, labels, potentials, gradient, onward, gold, L, N,
    quads, Lp: tl.constexpr, R: tl.constexpr, LABELLED: tl.constexpr, MOVED: tl.constexpr, BY: tl.constexpr,
    EDGES: tl.constexpr,
):  # fmt: skip
    """Write the gradient of the emissions, y_t · weight · LIFT / c_t, and the pair of labels that leads into each row.

    A pair is Lp times the label before plus the label. Where nothing leads into a row it is −1, and y_t is 0. The
    gradient is of Σ_b weight_b · log Z_b, with LABELLED of Σ_b weight_b · (score of the labels − log Z_b). It is 0
    in rows of no sentence and of flagged ones.
    """
    row = tl.program_id(0) * R + tl.arange(0, R)
    b = tl.load(owners + row, mask=row < N, other=-1)
    inside, mine = b >= 0, row < N
    j, width = tl.arange(0, Lp), 4 * quads
    cells = row[:, None].to(tl.int64) * width + j[None, :]
    place = place_of(rows, row, mine, MOVED)
    slopes = gradient + place[:, None] * L + j[None, :]
    if tl.max(b) >= 0:
        kin = inside & (tl.load(flags + 2 * b, mask=inside, other=1) == 0)
        valid = inside[:, None] & (j < width)[None, :]
        v = _level(tl.load(states + cells, mask=valid, other=0.0))
        others = (row[:, None].to(tl.int64) + N) * width + j[None, :]
        y = _level(tl.load(states + others, mask=valid, other=0.0)) * ONE  # a product with sums of L states is finite
        own = tl.load(x + cells, mask=valid, other=1.0)
        g = tl.where(kin, weight_of(weights, facts, b, inside, BY).to(tl.float32), 0.0)
        both = tl.where(own > 0, y / own, 0.0) * v
        mass = tl.sum(both, axis=1)
        used = tl.where(kin[:, None], both * tl.where(mass > 0, g / mass, 0.0)[:, None], 0.0)
        if LABELLED:
            label = tl.load(labels + row, mask=inside, other=-1)
            used = tl.where((label[:, None] == j[None, :]) & (own > 0), g[:, None], 0.0) - used
        tl.store(slopes, used, mask=mine[:, None] & (j < L)[None, :])
        if EDGES:
            led = kin & (row > tl.load(first + b, mask=inside, other=0))
            before = tl.load(states + cells - width, mask=led[:, None] & (j < width)[None, :], other=0.0)
            most, k = tl.max(both, axis=1, return_indices=True)
            arrived = tl.sum(before * tl.load(potentials + Lp * Lp + k[:, None] * Lp + j[None, :]), axis=1)
            arrived *= tl.sum(tl.where(j[None, :] == k[:, None], y, 0.0), axis=1)
            share = g * LIFT * most / tl.where(mass > 0, mass, 1.0)
            onto = tl.where(led[:, None], y * tl.where(arrived > 0, share / arrived, 0.0)[:, None], 0.0)
            tl.store(onward + cells, onto, mask=mine[:, None] & (j < width)[None, :])
            if LABELLED:
                last = tl.load(labels + row - 1, mask=led, other=0)
                tl.store(gold + row, tl.where(led, last * Lp + label, -1).to(tl.int32), mask=mine)
    else:
        nothing = tl.zeros([R, Lp], tl.float32)
        tl.store(slopes, nothing, mask=mine[:, None] & (j < L)[None, :])
        if EDGES:
            tl.store(onward + cells, nothing, mask=mine[:, None] & (j < width)[None, :])
            if LABELLED:
                tl.store(gold + row, tl.full([R], -1, tl.int32), mask=mine)


@triton.jit
def _ends(gradient, rows, first, lengths, start, end, slots, L, B, share, pid, Lp: tl.constexpr, MOVED: tl.constexpr):
    """Add up the gradients of start and end over a share of the sentences, behind the transitions in a slot."""
    j = tl.arange(0, Lp)
    here = (j < L)[None, :]
    upto = tl.minimum(B, (pid + 1) * share)
    at_start, at_end = tl.zeros([16, Lp], tl.float32), tl.zeros([16, Lp], tl.float32)
    for low in range(pid * share, upto, 16):
        b = low + tl.arange(0, 16)
        n = tl.load(lengths + b, mask=b < upto, other=0)
        filled = (n > 0)[:, None] & here
        row = tl.load(first + b, mask=n > 0, other=0)
        top, last = place_of(rows, row, n > 0, MOVED), place_of(rows, row + n - 1, n > 0, MOVED)
        at_start += tl.load(gradient + top[:, None] * L + j[None, :], mask=filled, other=0.0)
        at_end += tl.load(gradient + last[:, None] * L + j[None, :], mask=filled, other=0.0)
    slot = slots + pid * (Lp * Lp + 2 * Lp) + Lp * Lp + j
    may_start = tl.load(start + j, mask=j < L, other=0.0) > float("-inf")
    may_end = tl.load(end + j, mask=j < L, other=0.0) > float("-inf")
    tl.store(slot, tl.where(may_start, tl.sum(at_start, axis=0), 0.0))
    tl.store(slot + Lp, tl.where(may_end, tl.sum(at_end, axis=0), 0.0))


@triton.jit
def _outer(pairs, before, onto, BF16: tl.constexpr):
    """Add beforeᵀ · onto to `pairs`, to the accuracy of float32: by six products of bf16 or three of tf32."""
    if BF16:
        return tl.dot(tl.trans(before), onto, pairs, input_precision="bf16x6")
    high, low = split(onto)
    before_high, before_low = split(tl.trans(before))
    total = tl.dot(before_low, high, input_precision="tf32")
    total = tl.dot(before_high, low, total, input_precision="tf32")
    total = tl.dot(before_high, high, total, input_precision="tf32")
    return pairs + total  # tensor cores round towards zero: they do not add up many rows


@triton.jit
def _used(golds, code, last, label, weights, facts, owners, row, BY: tl.constexpr):
    """Add to `golds` how often labels lead to others; BY_SENTENCE with the weights of their sentences."""
    if BY == BY_SENTENCE:
        b = tl.load(owners + row, mask=code >= 0, other=0)
        weight = weight_of(weights, facts, b, code >= 0, BY).to(tl.float32)
        high, low = split(tl.where(label, weight[:, None], 0.0))
        golds = tl.dot(last.to(tl.float32), low, golds, input_precision="tf32")
        return tl.dot(last.to(tl.float32), high, golds, input_precision="tf32")
    return tl.dot(last.to(tl.float16), label.to(tl.float16), golds)  # whole numbers


@triton.jit
def pair(
    gradient, states, onward, gold, rows, owners, first, lengths, weights, facts, potentials, start, end, slots, L, N,
    B, share, quads, Lp: tl.constexpr, K: tl.constexpr, R: tl.constexpr, P: tl.constexpr, LABELLED: tl.constexpr,
    MOVED: tl.constexpr, BY: tl.constexpr, BF16: tl.constexpr,
):  # fmt: skip
    """Add up a block ``[K, K]`` of the gradient of the transitions over a share of the rows, in its slot.

    As many programs again do this for start and end, over a share of the sentences.
    """
    pid = tl.program_id(0)
    if pid >= P:
        if (tl.program_id(1) == 0) & (tl.program_id(2) == 0):
            _ends(gradient, rows, first, lengths, start, end, slots, L, B, share, pid - P, Lp, MOVED)
        return
    i, j = tl.program_id(1) * K + tl.arange(0, K), tl.program_id(2) * K + tl.arange(0, K)
    r, width = tl.arange(0, R), 4 * quads
    base = pid.to(tl.int64) * R * width
    pairs, golds = tl.zeros([K, K], tl.float32), tl.zeros([K, K], tl.float32)
    for top in range(pid * R, N, P * R):
        row = top + r
        cells = r[:, None] * width
        valid = (row < N)[:, None]
        onto = tl.load(onward + base + cells + j[None, :], mask=valid & (j < width)[None, :], other=0.0)
        valid &= (row > 0)[:, None]
        before = tl.load(states + (base - width) + cells + i[None, :], mask=valid & (i < width)[None, :], other=0.0)
        # Rows of no sentence were never written. Nothing leads from them, but zero times NaN would not be zero.
        pairs = _outer(pairs, tl.where(tl.abs(before) < HUGE, before, 0.0), onto, BF16)
        if LABELLED:
            code = tl.load(gold + row, mask=row < N, other=-1)
            last, label = (code // Lp)[None, :] == i[:, None], (code % Lp)[:, None] == j[None, :]
            golds = _used(golds, code, last, label & (code >= 0)[:, None], weights, facts, owners, row, BY)
        base += P * R * width
    tile = i[:, None] * Lp + j[None, :]
    ratios = tl.load(potentials + tile)
    pairs *= 1 / LIFT
    pairs *= ratios
    if LABELLED:
        if BY != BY_SENTENCE:
            golds *= weight_of(weights, facts, 0, B > 0, BY).to(tl.float32)
        pairs = tl.where(ratios > 0, golds, 0.0) - pairs
    tl.store(slots + pid * (Lp * Lp + 2 * Lp) + tile, pairs)


@triton.jit
def gather(slots, by_pair, by_start, by_end, P, L, Lp: tl.constexpr, S: tl.constexpr, M: tl.constexpr):
    """Sum P slots, M numbers a program: the gradients of transitions, start and end."""
    k = tl.program_id(0) * M + tl.arange(0, M)
    i, j = k // Lp, k % Lp
    here = (j < L) & ((i < L) | (i >= Lp)) & (i < Lp + 2)
    total = tl.zeros([S, M], tl.float32)
    for p in range(0, P, S):
        rows = p + tl.arange(0, S)
        valid = (rows < P)[:, None] & here[None, :]
        total += tl.load(slots + rows[:, None] * (Lp * Lp + 2 * Lp) + k[None, :], mask=valid, other=0.0)
    sums = tl.sum(total, axis=0)
    tl.store(by_pair + i * L + j, sums, mask=here & (i < L))
    tl.store(by_start + j, sums, mask=here & (i == Lp))
    tl.store(by_end + j, sums, mask=here & (i == Lp + 1))
