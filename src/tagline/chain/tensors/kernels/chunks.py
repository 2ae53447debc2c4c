"""Long sentences in chunks of S steps, side by side.

Chunk c leads from row cS to row min((c + 1)S, n − 1). `multiply` makes its matrix Π_t E·diag(x_t); `stride` runs over
the matrices of a sentence, forwards and backwards, for the states at the rows between chunks; `fill` sweeps inside each
chunk from there. Of odd chunks the transpose of the matrix is kept: then the vector of `stride` lies along the rows and
the columns of matrices in turns, and never changes its layout. All this is done only where no transition is forbidden:
then every label leads to every other, and nothing dies out unseen.
"""

from __future__ import annotations

import triton
import triton.language as tl

from tagline.chain.tensors.kernels.sweeps import LN_2, ONE, RARE, SELDOM, TARGET, along, product, rescale, split


@triton.jit
def steps_of(lengths, b, c, S: tl.constexpr):
    """Return the length of a sentence, and the steps of its chunk c: none where they are 0 or less."""
    n = tl.load(lengths + b).to(tl.int32)
    return n, tl.minimum(n - 1 - c * S, S)


@triton.jit
def multiply(
    x, first, lengths, potentials, facts, matrices, exponents, quads, chunks, Lp: tl.constexpr, S: tl.constexpr
):
    """Write the matrix ``[Lp, Lp]`` of each chunk, or its transpose, and the sum of its exponents."""
    b, c = tl.program_id(0), tl.program_id(1)
    n, steps = steps_of(lengths, b, c, S)
    if (steps > 0) & (tl.load(facts + 2) == 0):
        j, width = tl.arange(0, Lp), 4 * quads
        here = j < width
        tile = j[:, None] * Lp + j[None, :]
        a = tl.load(potentials + tile)
        high, low = split(a)
        source = x + (tl.load(first + b) + c * S) * width + j
        m = a * tl.load(source + width, mask=here, other=0.0)[None, :]
        own = tl.load(source + 2 * width, mask=here & (steps > 1), other=0.0)
        often = tl.load(facts + 1).to(tl.float32) > RARE
        shifts = n * 0
        for t in range(2, steps + 1):
            ahead = tl.load(source + (t + 1) * width, mask=here & (t < steps), other=0.0)
            if often | (t % 4 == 2):
                s, scale = rescale(tl.max(m))
                shifts += s
                own *= scale
            m = product(m, high, low) * own[None, :]
            own = ahead
        s, scale = rescale(tl.max(m))
        m *= scale * ONE
        place = b * chunks + c
        to = matrices + place.to(tl.int64) * Lp * Lp + tile
        if c % 2 == 0:
            tl.store(to, m)
        else:
            tl.store(to, tl.trans(m))
        tl.store(exponents + place, shifts + s - TARGET)


@triton.jit
def stride(
    x, first, lengths, potentials, facts, matrices, exponents, between, sums, quads, chunks,
    Lp: tl.constexpr, S: tl.constexpr,
):  # fmt: skip
    """Write the states at the rows between chunks, ``[B, 2, chunks, Lp]``: v before chunk c, y after it."""
    b, backward = tl.program_id(0), tl.program_id(1)
    n = tl.load(lengths + b).to(tl.int32)
    if (n > 0) & (tl.load(facts + 2) == 0):
        count = (n - 1 + S - 1) // S
        place = (b * chunks).to(tl.int64)
        to = between + (2 * b + backward).to(tl.int64) * chunks * Lp
        rows = x + tl.load(first + b) * 4 * quads
        if backward == 0:
            total, shifts = _forwards(rows, potentials, matrices + place * Lp * Lp, to, count, 4 * quads, Lp)
            shifts += _sum(exponents + place, count)
            tl.store(sums + b, tl.log(total.to(tl.float64)) - shifts.to(tl.float64) * LN_2)
        else:
            _backwards(rows, potentials, matrices + place * Lp * Lp, to, n, count, 4 * quads, Lp, S)


@triton.jit
def _load(matrices, c, count, Lp: tl.constexpr):
    """The matrix of chunk c, zeros where there is no such chunk."""
    j = tl.arange(0, Lp)
    tile = j[:, None] * Lp + j[None, :]
    return tl.load(matrices + c * Lp * Lp + tile, mask=(tile >= 0) & (c >= 0) & (c < count), other=0.0)


@triton.jit
def _sum(numbers, count):
    """Sum whole numbers."""
    total = tl.zeros([128], tl.int32)
    for low in range(0, count, 128):
        k = low + tl.arange(0, 128)
        total += tl.load(numbers + k, mask=k < count, other=0)
    return tl.sum(total)


@triton.jit
def _forwards(rows, potentials, matrices, to, count, width, Lp: tl.constexpr):
    """Write v before each chunk; return Σ v·exp(end) after the last, and the sum of the exponents."""
    j = tl.arange(0, Lp)
    v = tl.load(potentials + 2 * Lp * Lp + j) * tl.load(rows + j, mask=j < width, other=0.0)
    shifts = count * 0
    m0, m1 = _load(matrices, 0, count, Lp), _load(matrices, 1, count, Lp)
    for c in range(0, count - 1, 2):
        m2, m3 = _load(matrices, c + 2, count, Lp), _load(matrices, c + 3, count, Lp)
        tl.store(to + c * Lp + j, v)
        s, scale = rescale(tl.max(v))
        shifts += s
        across = tl.sum(v[:, None] * m0, axis=0) * scale
        tl.store(to + (c + 1) * Lp + j, across)
        s, scale = rescale(tl.max(across))
        shifts += s
        v = tl.sum(m1 * across[None, :], axis=1) * scale
        m0, m1 = m2, m3
    last = tl.load(potentials + 2 * Lp * Lp + Lp + j)
    total = tl.sum(v * last)
    if count % 2 == 1:
        tl.store(to + (count - 1) * Lp + j, v)
        s, scale = rescale(tl.max(v))
        shifts += s
        total = tl.sum(tl.sum(v[:, None] * m0, axis=0) * scale * last)
    return total, shifts


@triton.jit
def _backwards(rows, potentials, matrices, to, n, count, width, Lp: tl.constexpr, S: tl.constexpr):
    """Write y after each chunk."""
    j = tl.arange(0, Lp)
    here = j < width
    v = tl.load(potentials + 2 * Lp * Lp + Lp + j)
    top, row = count - 1, n - 1
    if count % 2 == 1:
        tl.store(to + top * Lp + j, v * tl.load(rows + row * width + j, mask=here, other=0.0))
        _, scale = rescale(tl.max(v))
        v = tl.sum(_load(matrices, top, count, Lp) * v[None, :], axis=1) * scale
        row = top * S
        top -= 1
    m0, m1 = _load(matrices, top, count, Lp), _load(matrices, top - 1, count, Lp)
    x0 = tl.load(rows + row * width + j, mask=here & (top > 0), other=0.0)
    x1 = tl.load(rows + top * S * width + j, mask=here & (top > 0), other=0.0)
    for back in range(0, top, 2):
        c = top - back
        m2, m3 = _load(matrices, c - 2, count, Lp), _load(matrices, c - 3, count, Lp)
        x2 = tl.load(rows + (c - 1) * S * width + j, mask=here & (c > 2), other=0.0)
        x3 = tl.load(rows + (c - 2) * S * width + j, mask=here & (c > 2), other=0.0)
        tl.store(to + c * Lp + j, v * x0)
        _, scale = rescale(tl.max(v))
        across = tl.sum(v[:, None] * m0, axis=0) * scale
        tl.store(to + (c - 1) * Lp + j, across * x1)
        _, scale = rescale(tl.max(across))
        v = tl.sum(m1 * across[None, :], axis=1) * scale
        m0, m1, x0, x1 = m2, m3, x2, x3


@triton.jit
def fill(x, first, lengths, potentials, facts, between, states, N, quads, chunks, Lp: tl.constexpr, S: tl.constexpr):
    """Write v and y ``[2, N, width]`` of the rows of each chunk."""
    b, c, backward = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    n, steps = steps_of(lengths, b, c, S)
    if ((steps > 0) | ((n > 0) & (c == 0))) & (tl.load(facts + 2) == 0):
        j, width = tl.arange(0, Lp), 4 * quads
        here = j < width
        tile = j[:, None] * Lp + j[None, :]
        a1 = tl.load(potentials + backward * Lp * Lp + tile)
        a2 = tl.load(potentials + (1 - backward) * Lp * Lp + tile)
        row = tl.load(first + b) + c * S + backward * steps
        source = x + row * width + j
        target = states + (backward.to(tl.int64) * N + row) * width + j
        v = tl.load(between + ((2 * b + backward).to(tl.int64) * chunks + c) * Lp + j, mask=here & (n > 1), other=0.0)
        if n == 1:
            v = tl.load(potentials + 2 * Lp * Lp + backward * Lp + j) * tl.load(source, mask=here, other=0.0)
        edge = tl.where(backward == 0, c == 0, c * S + steps == n - 1)
        tl.store(target, v, mask=here & edge)
        often = tl.load(facts + 1).to(tl.float32) > SELDOM
        along(v, source, target, (1 - 2 * backward) * width, steps + 1, v, a1, a2, here, often, True, False)
