"""The best labelling: the sweep with maxima in place of sums, then pointers, then the way back.

    v_t(j) = max_i (v_(t-1)(i) + T(i, j)) + e_t(j) − m,       m the maximum of the step before

The sweep keeps v. Where maxima came from is found on the way back; or, where there are few rows, before it and for all
rows at once, because pointers are quicker to follow. Of equals the smallest label wins, so that the labelling is the
smaller one when read from its end. Long sentences are cut into chunks, as in `chunks`: a chunk's matrix says how well
each label before the chunk leads to each label at its end. Pointers, found for all rows at once, make a map of where
each label at its end came from.
"""

from __future__ import annotations

import triton
import triton.language as tl

from tagline.chain.tensors.kernels.chunks import steps_of
from tagline.chain.tensors.kernels.order import place_of


@triton.jit
def _down(v):
    """The maximum, which is to be subtracted; 0 where everything is forbidden."""
    most = tl.max(v)
    return tl.where(most == float("-inf"), 0.0, most)


@triton.jit
def _scores(emissions, rows, row, inside, L, Lp: tl.constexpr, MOVED: tl.constexpr):
    """The emissions of a row, 0 beyond L."""
    j = tl.arange(0, Lp)
    cells = emissions + place_of(rows, row, inside, MOVED) * L + j
    return tl.load(cells, mask=(j < L) & inside, other=0.0)


@triton.jit
def _climb(
    v, emissions, rows, row, target, n, t1, t2, here, L,
    Lp: tl.constexpr, PAIRS: tl.constexpr, KEEP: tl.constexpr, MOVED: tl.constexpr,
):  # fmt: skip
    """Sweep from v, the state of the first of n rows, over the others; return the last state and what was subtracted.

    KEEP: write the states. PAIRS: the vector lies along rows and columns in turns (`sweeps`); otherwise it is turned
    after each step.
    """
    x1 = _scores(emissions, rows, row + 1, n > 1, L, Lp, MOVED)
    x2 = _scores(emissions, rows, row + 2, n > 2, L, Lp, MOVED)
    x3 = _scores(emissions, rows, row + 3, n > 3, L, Lp, MOVED)
    x4 = _scores(emissions, rows, row + 4, n > 4, L, Lp, MOVED)
    taken = (n * 0).to(tl.float64)
    pairs = (n - 1) // 2
    for step in range(pairs):
        t = 2 * step
        x5 = _scores(emissions, rows, row + t + 5, t + 5 < n, L, Lp, MOVED)
        x6 = _scores(emissions, rows, row + t + 6, t + 6 < n, L, Lp, MOVED)
        down = _down(v)
        turned = tl.max(v[:, None] + t1, axis=0) + (x1 - down)
        again = _down(turned)
        if PAIRS:
            v = tl.max(turned[None, :] + t2, axis=1) + (x2 - again)
        else:
            v = tl.max(turned[:, None] + t1, axis=0) + (x2 - again)
        if KEEP:
            tl.store(target + (t + 1) * L, turned, mask=here)
            tl.store(target + (t + 2) * L, v, mask=here)
        else:
            taken += (down + again).to(tl.float64)
        x1, x2, x3, x4 = x3, x4, x5, x6
    if 2 * pairs + 1 < n:
        down = _down(v)
        turned = tl.max(v[:, None] + t1, axis=0) + (x1 - down)
        if KEEP:
            tl.store(target + (n - 1) * L, turned, mask=here)
        else:
            taken += down.to(tl.float64)
        v = turned
    return v, taken


@triton.jit
def _tiles(padded, Lp: tl.constexpr):
    """T and its transpose."""
    j = tl.arange(0, Lp)
    tile = j[:, None] * Lp + j[None, :]
    return tl.load(padded + tile), tl.load(padded + Lp * Lp + tile)


@triton.jit
def _settle(v, end, to, here, Lp: tl.constexpr):
    """Write the best label of a last row."""
    j = tl.arange(0, Lp)
    ended = v + tl.load(end + j, mask=here, other=float("-inf"))
    tl.store(to, tl.min(tl.where(ended == tl.max(ended), j, Lp)).to(tl.int64))


@triton.jit
def sweep_best(
    emissions, rows, first, lengths, padded, start, end, states, labels, L,
    Lp: tl.constexpr, PAIRS: tl.constexpr, MOVED: tl.constexpr,
):  # fmt: skip
    """Write the states ``[N, L]`` and the last label of each sentence."""
    b = tl.program_id(0)
    n = tl.load(lengths + b).to(tl.int32)
    if n > 0:
        j = tl.arange(0, Lp)
        here = j < L
        t1, t2 = _tiles(padded, Lp)
        row = tl.load(first + b)
        target = states + row * L + j
        v = tl.load(start + j, mask=here, other=float("-inf"))
        v += _scores(emissions, rows, row, n > 0, L, Lp, MOVED)
        tl.store(target, v, mask=here)
        # Tokens that are neighbours need no table: what waits for two loads a step takes a third longer.
        top, last = place_of(rows, row, n > 0, MOVED), place_of(rows, row + n - 1, n > 0, MOVED)
        if last - top == n - 1:
            v, _ = _climb(v, emissions, rows, top, target, n, t1, t2, here, L, Lp, PAIRS, True, False)
        else:
            v, _ = _climb(v, emissions, rows, row, target, n, t1, t2, here, L, Lp, PAIRS, True, True)
        _settle(v, end, labels + row + n - 1, here, Lp)


@triton.jit
def sweep_best_rows(
    emissions, rows, first, lengths, padded, live, start, end, states, labels, L,
    Lp: tl.constexpr, K: tl.constexpr, MOVED: tl.constexpr,
):  # fmt: skip
    """Write what `sweep_best` does, for more labels than registers hold: K rows of T at a time.

    Blocks of T ``[K, K]`` that `live` marks as forbidden are not read.
    """
    b = tl.program_id(0)
    n = tl.load(lengths + b).to(tl.int32)
    if n > 0:
        j, k = tl.arange(0, Lp), tl.arange(0, K)
        here = j < L
        row = tl.load(first + b)
        v = tl.load(start + j, mask=here, other=float("-inf"))
        v += _scores(emissions, rows, row, n > 0, L, Lp, MOVED)
        tl.store(states + row * L + j, v, mask=here)
        for t in range(1, n):
            tl.debug_barrier()
            down = _down(v)
            last, this = states + (row + t - 1) * L, (row + t) * L
            own = _scores(emissions, rows, row + t, t < n, L, Lp, MOVED)
            most = tl.full([K, Lp], float("-inf"), tl.float32)
            for i0 in range(0, L, K):
                filled = tl.load(live + (i0 // K) * (Lp // K) + j // K) > 0
                cells = padded + (i0 + k)[:, None] * Lp + j[None, :]
                scores = tl.load(cells, mask=filled[None, :], other=float("-inf"))
                u = tl.load(last + i0 + k, mask=i0 + k < L, other=float("-inf"))
                most = tl.maximum(most, u[:, None] + scores)
            v = tl.max(most, axis=0) + (own - down)
            tl.store(states + this + j, v, mask=here)
        _settle(v, end, labels + row + n - 1, here, Lp)


@triton.jit
def point(states, padded, pointers, L, N, Lp: tl.constexpr, R: tl.constexpr):
    """Write where the state of each row came from in the row before ``[N, L]``, for rows 1 … N − 1."""
    rows = 1 + tl.program_id(0) * R + tl.arange(0, R)
    j = tl.arange(0, Lp)
    best = tl.full([R, Lp], float("-inf"), tl.float32)
    came = tl.zeros([R, Lp], tl.int32)
    before = states + (rows - 1).to(tl.int64) * L
    for i in range(0, L):
        v = tl.load(before + i, mask=rows < N, other=float("-inf"))
        score = v[:, None] + tl.load(padded + i * Lp + j)[None, :]
        better = score > best
        best = tl.where(better, score, best)
        came = tl.where(better, i, came)
    cells = rows[:, None].to(tl.int64) * L + j[None, :]
    tl.store(pointers + cells, came.to(tl.uint8), mask=(rows < N)[:, None] & (j < L)[None, :])


@triton.jit
def _pointers(table, t, L, Lp: tl.constexpr):
    j = tl.arange(0, Lp)
    return tl.load(table + t * L + j, mask=(j < L) & (t > 0), other=0).to(tl.int32)


@triton.jit
def _step_back(came, label, labels, t, Lp: tl.constexpr):
    """The label at t, given the one after it."""
    label = tl.sum(tl.where(tl.arange(0, Lp) == label, came, 0))
    tl.store(labels + t, label.to(tl.int64), mask=t >= 0)
    return label


@triton.jit
def _walk_back(table, labels, t, label, L, Lp: tl.constexpr):
    """Follow the pointers from a label at t to the first row. Rows are fetched ahead: only the choice in them waits."""
    p0, p1 = _pointers(table, t, L, Lp), _pointers(table, t - 1, L, Lp)
    p2, p3 = _pointers(table, t - 2, L, Lp), _pointers(table, t - 3, L, Lp)
    for back in range(0, t, 4):
        at = t - back
        q0, q1 = _pointers(table, at - 4, L, Lp), _pointers(table, at - 5, L, Lp)
        q2, q3 = _pointers(table, at - 6, L, Lp), _pointers(table, at - 7, L, Lp)
        label = _step_back(p0, label, labels, at - 1, Lp)
        label = _step_back(p1, label, labels, at - 2, Lp)
        label = _step_back(p2, label, labels, at - 3, Lp)
        label = _step_back(p3, label, labels, at - 4, Lp)
        p0, p1, p2, p3 = q0, q1, q2, q3


@triton.jit
def follow(first, lengths, pointers, labels, L, Lp: tl.constexpr):
    """Write all labels but the last of each sentence, by pointers."""
    b = tl.program_id(0)
    n = tl.load(lengths + b).to(tl.int32)
    if n > 1:
        row = tl.load(first + b)
        _walk_back(pointers + row * L, labels + row, n - 1, tl.load(labels + row + n - 1).to(tl.int32), L, Lp)


@triton.jit
def _state(table, t, L, Lp: tl.constexpr):
    j = tl.arange(0, Lp)
    return tl.load(table + t * L + j, mask=(j < L) & (t >= 0), other=float("-inf"))


@triton.jit
def _came_from(v, turned, label, labels, t, Lp: tl.constexpr):
    """The label at t with state v, given the one after it: the first where v + T(·, label) is largest."""
    j = tl.arange(0, Lp)
    bits = (v + tl.load(turned + label * Lp + j)).to(tl.int32, bitcast=True)
    # Integers in the order of the numbers: their maximum is one instruction.
    ordered = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    label = tl.min(tl.where(ordered == tl.max(ordered), j, Lp))
    tl.store(labels + t, label.to(tl.int64), mask=t >= 0)
    return label


@triton.jit
def walk(first, lengths, states, padded, labels, L, Lp: tl.constexpr):
    """Write all labels but the last of each sentence, by states fetched ahead: only the choice in them waits."""
    b = tl.program_id(0)
    n = tl.load(lengths + b).to(tl.int32)
    if n > 1:
        row = tl.load(first + b)
        label = tl.load(labels + row + n - 1).to(tl.int32)
        table, to, turned = states + row * L, labels + row, padded + Lp * Lp
        v0, v1 = _state(table, n - 2, L, Lp), _state(table, n - 3, L, Lp)
        v2, v3 = _state(table, n - 4, L, Lp), _state(table, n - 5, L, Lp)
        for back in range(0, n - 1, 4):
            t = n - 2 - back
            u0, u1 = _state(table, t - 4, L, Lp), _state(table, t - 5, L, Lp)
            u2, u3 = _state(table, t - 6, L, Lp), _state(table, t - 7, L, Lp)
            label = _came_from(v0, turned, label, to, t, Lp)
            label = _came_from(v1, turned, label, to, t - 1, Lp)
            label = _came_from(v2, turned, label, to, t - 2, Lp)
            label = _came_from(v3, turned, label, to, t - 3, Lp)
            v0, v1, v2, v3 = u0, u1, u2, u3


@triton.jit
def multiply_best(
    emissions, rows, first, lengths, padded, matrices, deductions, L, chunks,
    Lp: tl.constexpr, S: tl.constexpr, MOVED: tl.constexpr,
):  # fmt: skip
    """Write how well label i before a chunk leads to each at its end, a row of ``[Lp, Lp]``, less a deduction."""
    b, c, i = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    _, steps = steps_of(lengths, b, c, S)
    if steps > 0:
        j = tl.arange(0, Lp)
        here = j < L
        t1, t2 = _tiles(padded, Lp)
        row = tl.load(first + b) + c * S + 1
        v = tl.load(padded + i * Lp + j) + _scores(emissions, rows, row, steps > 0, L, Lp, MOVED)
        v, taken = _climb(v, emissions, rows, row, matrices + j, steps, t1, t2, here, L, Lp, True, False, MOVED)
        place = (b * chunks + c).to(tl.int64)
        tl.store(matrices + (place * Lp + i) * Lp + j, v)
        tl.store(deductions + place * Lp + i, taken)


@triton.jit
def stride_best(
    emissions, rows, first, lengths, start, end, matrices, deductions, between, labels, L, chunks,
    Lp: tl.constexpr, S: tl.constexpr, MOVED: tl.constexpr,
):  # fmt: skip
    """Write the states before chunks ``[B, chunks, Lp]``, and each sentence's last label."""
    b = tl.program_id(0)
    n = tl.load(lengths + b).to(tl.int32)
    if n > 0:
        count = (n - 1 + S - 1) // S
        j = tl.arange(0, Lp)
        here = j < L
        tile = j[:, None] * Lp + j[None, :]
        both = here[:, None] & here[None, :]
        row = tl.load(first + b)
        place = (b * chunks).to(tl.int64)
        v = tl.load(start + j, mask=here, other=float("-inf"))
        v += _scores(emissions, rows, row, n > 0, L, Lp, MOVED)
        m = tl.load(matrices + place * Lp * Lp + tile, mask=both & (count > 0), other=float("-inf"))
        o = tl.load(deductions + place * Lp + j, mask=here & (count > 0), other=0.0)
        for c in range(0, count):
            tl.store(between + (place + c) * Lp + j, v)
            more = c + 1 < count
            after = tl.load(matrices + (place + c + 1) * Lp * Lp + tile, mask=both & more, other=float("-inf"))
            ahead = tl.load(deductions + (place + c + 1) * Lp + j, mask=here & more, other=0.0)
            v += (o - tl.max(o)).to(tl.float32)
            v = tl.max(v[:, None] + m, axis=0) - _down(v)
            m, o = after, ahead
        _settle(v, end, labels + row + n - 1, here, Lp)


@triton.jit
def fill_best(
    emissions, rows, first, lengths, padded, between, states, L, chunks,
    Lp: tl.constexpr, S: tl.constexpr, MOVED: tl.constexpr,
):  # fmt: skip
    """Write the states of the rows of each chunk but its last, ``[N, L]``: the chunk after writes that."""
    b, c = tl.program_id(0), tl.program_id(1)
    _, steps = steps_of(lengths, b, c, S)
    if steps > 0:
        j = tl.arange(0, Lp)
        here = j < L
        t1, t2 = _tiles(padded, Lp)
        row = tl.load(first + b) + c * S
        v = tl.load(between + (b * chunks + c).to(tl.int64) * Lp + j)
        tl.store(states + row * L + j, v, mask=here)
        _climb(v, emissions, rows, row, states + row * L + j, steps, t1, t2, here, L, Lp, True, True, MOVED)


@triton.jit
def carry(first, lengths, pointers, maps, L, chunks, Lp: tl.constexpr, S: tl.constexpr):
    """Write where each label at the end of a chunk came from before it ``[B, chunks, Lp]``."""
    b, c = tl.program_id(0), tl.program_id(1)
    _, steps = steps_of(lengths, b, c, S)
    if steps > 0:
        j = tl.arange(0, Lp)
        row = tl.load(first + b) + c * S
        origin = tl.where(j < L, j, 0)
        for back in range(0, steps):
            origin = tl.load(pointers + (row + steps - back) * L + origin).to(tl.int32)
        tl.store(maps + (b * chunks + c).to(tl.int64) * Lp + j, origin)


@triton.jit
def trace(first, lengths, pointers, maps, labels, L, chunks, Lp: tl.constexpr, S: tl.constexpr):
    """Write the labels of the rows of each chunk but its last, found by following the maps from the last label."""
    b, c = tl.program_id(0), tl.program_id(1)
    n, steps = steps_of(lengths, b, c, S)
    if steps > 0:
        count = (n - 1 + S - 1) // S
        row = tl.load(first + b)
        label = tl.load(labels + row + n - 1).to(tl.int32)
        table = maps + (b * chunks).to(tl.int64) * Lp
        for back in range(0, count - 1 - c):
            label = tl.load(table + (count - 1 - back) * Lp + label)
        top = row + c * S
        _walk_back(pointers + top * L, labels + top, steps, label, L, Lp)
