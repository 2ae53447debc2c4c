"""Long sentences in chunks of S steps, side by side.

Chunk c leads from row cS to row min((c + 1)S, n − 1). `multiply` makes its matrix Π_t E·diag(x_t); `stride` runs over
the matrices of a sentence, forwards and backwards, for the states at the rows between chunks; `fill` sweeps inside each
chunk from there. This is done only where no transition is forbidden: then every label leads to every other, and
nothing dies out unseen.
"""

from __future__ import annotations

import triton
import triton.language as tl

from tagline.chain.tensors.kernels.sweeps import LN_2, RARE, TARGET, along, product, rescale, split

ONE = tl.constexpr(2.0**-TARGET.value)  # brings a maximum from 2^TARGET to 1


@triton.jit
def steps_of(lengths, b, c, S: tl.constexpr):
    """Return the length of a sentence, and the steps of its chunk c: none where they are 0 or less."""
    n = tl.load(lengths + b).to(tl.int32)
    return n, tl.minimum(n - 1 - c * S, S)


@triton.jit
def multiply(
    x, first, lengths, potentials, facts, matrices, exponents, quads, chunks, Lp: tl.constexpr, S: tl.constexpr
):
    """Write the matrix ``[Lp, Lp]`` of each chunk and the sum of its exponents."""
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
        place = b * chunks + c
        tl.store(matrices + place.to(tl.int64) * Lp * Lp + tile, m * scale * ONE)
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
        j, width = tl.arange(0, Lp), 4 * quads
        here = j < width
        row = tl.load(first + b)
        place = (b * chunks).to(tl.int64)
        to = between + (2 * b + backward).to(tl.int64) * chunks * Lp + j
        v = tl.load(potentials + 2 * Lp * Lp + backward * Lp + j)
        shifts = n * 0
        if backward == 0:
            v *= tl.load(x + row * width + j, mask=here, other=0.0)
            tile = j[:, None] * Lp + j[None, :]
            m = tl.load(matrices + place * Lp * Lp + tile, mask=(tile >= 0) & (count > 0), other=0.0)
            for c in range(0, count):
                tl.store(to + c * Lp, v)
                more = (tile >= 0) & (c + 1 < count)
                after = tl.load(matrices + (place + c + 1) * Lp * Lp + tile, mask=more, other=0.0)
                s, scale = rescale(tl.max(v))
                v = tl.sum(v[:, None] * m, axis=0) * scale
                shifts += s + tl.load(exponents + place + c)
                m = after
            total = tl.sum(v * tl.load(potentials + 2 * Lp * Lp + Lp + j))
            tl.store(sums + b, tl.log(total.to(tl.float64)) - shifts.to(tl.float64) * LN_2)
        else:
            tile = j[None, :] * Lp + j[:, None]
            m = tl.load(matrices + (place + count - 1) * Lp * Lp + tile, mask=(tile >= 0) & (count > 0), other=0.0)
            for back in range(0, count):
                c = count - 1 - back
                own = tl.load(x + (row + tl.minimum((c + 1) * S, n - 1)) * width + j, mask=here, other=0.0)
                tl.store(to + c * Lp, v * own)
                after = tl.load(matrices + (place + c - 1) * Lp * Lp + tile, mask=(tile >= 0) & (c > 0), other=0.0)
                _, scale = rescale(tl.max(v))
                v = tl.sum(v[:, None] * m, axis=0) * scale
                m = after


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
        along(v, source, target, (1 - 2 * backward) * width, steps + 1, v, a1, a2, here, True, False)
