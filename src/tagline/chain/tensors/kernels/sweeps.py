"""Along the chain, both directions at the same time.

    v_0 = exp(start) ⊙ x_0          v_t = (v_(t-1) · E) ⊙ x_t · 2^s           (forwards: α)
    y_last = exp(end) ⊙ x_last      y_t = x_t ⊙ (E · y_(t+1)) · 2^s           (backwards: x ⊙ β)

The two are one recursion: backwards with Eᵀ from the last row. 2^s keeps the maximum near 2^TARGET; it is taken from
the step before, and exact. No step takes more from the maximum than the range of the transitions: where that is SELDOM
or less, one s serves for four steps. A product over all labels is accurate while the ranges of scores stay within
`logs.GUARD` nats a step; with forbidden transitions the labels that can be reached are carried along, and a sentence in
which one of them dies out is flagged.

A program takes one sentence and direction, with E in registers; `sweep_free` is faster for many labels or sentences,
but knows no forbidden transitions. Where there are more labels than registers hold, E is read anew at every step, but
for its blocks without a legal pair (`along_rows`). Reading is what that costs: where there are many sentences and
nothing is forbidden, a program takes several, and a step is a product on tensor cores, block by block (`sweep_blocks`).
Rows of the kernels' own tables hold 4 · `quads` numbers, zeros beyond L, so that four can be read at once.
"""

from __future__ import annotations

import triton
import triton.language as tl

TARGET = tl.constexpr(50)
ONE = tl.constexpr(2.0**-TARGET.value)  # brings a maximum from 2^TARGET to 1
FADED = tl.constexpr(2.0**-48)
RARE = tl.constexpr(7.5)  # the range of transitions, in nats, up to which one scale serves for four products of chunks
SELDOM = tl.constexpr(12.0)  # and for four steps: a maximum is above 2^-20 then, all else within 2^-87 of it (`GUARD`)
FROM_FIRST = tl.constexpr([int(part) for part in triton.__version__.split(".")[:2]] < [3, 7])  # see `_matrix`
LN_2 = tl.constexpr(0.6931471805599453)


@triton.jit
def rescale(most):
    """Return s and 2^s that bring a maximum near 2^TARGET; 0 and 1 for a maximum of 0."""
    shift = 127 + TARGET - (most.to(tl.int32, bitcast=True) >> 23)
    shift = tl.where(most > 0, tl.minimum(shift, 127), 0)
    return shift, ((shift + 127) << 23).to(tl.float32, bitcast=True)


@triton.jit
def _faded(v, reach, most):
    """Whether a label that can be reached lies below FADED of the maximum."""
    return (tl.min(tl.where(reach > 0, v, float("inf"))) < most * FADED).to(tl.int32)


@triton.jit
def _led(reach, a, x, AXIS: tl.constexpr):
    """The labels that those of `reach` lead to, 1.0 and 0.0."""
    if AXIS == 0:
        reached = tl.max(tl.where(a > 0, reach[:, None], 0.0), axis=0)
    else:
        reached = tl.max(tl.where(a > 0, reach[None, :], 0.0), axis=1)
    return tl.where(x > 0, reached, 0.0)


@triton.jit
def _scale(v, due):
    """Return what `rescale` does for the maximum of v, where that is due; otherwise 0 and 1."""
    s, scale = tl.zeros([], tl.int32), tl.full([], 1.0, tl.float32)
    if due:
        s, scale = rescale(tl.max(v))
    return s, scale


@triton.jit
def along(v, source, target, step, n, last, a1, a2, here, often, PAIRS: tl.constexpr, TRACK: tl.constexpr):
    """Sweep from v, the state of the first of n rows, over the others; rescale at every step only if `often`.

    PAIRS: the vector lies along the rows and the columns of the tile in turns, so that it never changes its layout;
    otherwise it is turned after each step. Returns Σ v·last of the last row, the sum of the exponents, and whether a
    label faded.
    """
    shifts, faded = n * 0, n * 0
    if TRACK:
        reach = (v > 0).to(tl.float32)
    pairs = (n - 1) // 2
    x1 = tl.load(source + step, mask=here & (n > 1), other=0.0)
    x2 = tl.load(source + 2 * step, mask=here & (n > 2), other=0.0)
    x3 = tl.load(source + 3 * step, mask=here & (n > 3), other=0.0)
    x4 = tl.load(source + 4 * step, mask=here & (n > 4), other=0.0)
    for pair in range(pairs):
        t = 2 * pair
        x5 = tl.load(source + (t + 5) * step, mask=here & (t + 5 < n), other=0.0)
        x6 = tl.load(source + (t + 6) * step, mask=here & (t + 6 < n), other=0.0)
        if TRACK:
            most = tl.max(v)
            faded |= _faded(v, reach, most)
            s, scale = rescale(most)
        else:
            s, scale = _scale(v, often | (pair % 2 == 0))
        shifts += s
        across = tl.sum(v[:, None] * a1, axis=0) * (x1 * scale)
        tl.store(target + (t + 1) * step, across, mask=here)
        if TRACK:
            most = tl.max(across)
            crossed = _led(reach, a1, x1, 0)
            faded |= _faded(across, crossed, most)
            reach = _led(crossed, a2 if PAIRS else a1, x2, 1 if PAIRS else 0)
            s, scale = rescale(most)
        else:
            s, scale = _scale(across, often)
        shifts += s
        if PAIRS:
            v = tl.sum(a2 * across[None, :], axis=1) * (x2 * scale)
        else:
            v = tl.sum(across[:, None] * a1, axis=0) * (x2 * scale)
        tl.store(target + (t + 2) * step, v, mask=here)
        x1, x2, x3, x4 = x3, x4, x5, x6
    total = tl.sum(v * last)
    most = tl.max(v)
    if TRACK:
        faded |= _faded(v, reach, most)
    if 2 * pairs + 1 < n:
        s, scale = rescale(most)
        shifts += s
        across = tl.sum(v[:, None] * a1, axis=0) * (x1 * scale)
        tl.store(target + (n - 1) * step, across, mask=here)
        total = tl.sum(across * last)
        if TRACK:
            faded |= _faded(across, _led(reach, a1, x1, 0), tl.max(across))
    return total, shifts, faded


@triton.jit
def _over_rows(row, reached, matrix, live, j, L, Lp: tl.constexpr, K: tl.constexpr, TRACK: tl.constexpr):
    """v · E of a row v, and with TRACK the labels that those of `reached` lead to, K rows of E at a time.

    Blocks of E ``[K, K]`` that `live` marks as empty are not read.
    """
    k = tl.arange(0, K)
    total = tl.zeros([K, Lp], tl.float32)
    led = tl.zeros([K, Lp], tl.float32)
    for i0 in range(0, L, K):
        filled = tl.load(live + (i0 // K) * (Lp // K) + j // K) > 0
        a = tl.load(matrix + (i0 + k)[:, None] * Lp + j[None, :], mask=filled[None, :], other=0.0)
        total += tl.load(row + i0 + k, mask=i0 + k < L, other=0.0)[:, None] * a
        if TRACK:
            led = tl.maximum(led, tl.where(a > 0, tl.load(reached + i0 + k)[:, None], 0.0))
    return tl.sum(total, axis=0), tl.max(led, axis=0)


@triton.jit
def along_rows(
    v, source, target, reached, step, n, last, matrix, live, L, width, Lp: tl.constexpr, K: tl.constexpr,
    TRACK: tl.constexpr,
):  # fmt: skip
    """What `along` does, with E in memory; `reached` ``[Lp]`` is scratch."""
    j = tl.arange(0, Lp)
    here = j < width
    shifts, faded = n * 0, n * 0
    reach = (v > 0).to(tl.float32)
    most = tl.max(v)
    for t in range(1, n):
        if TRACK:
            faded |= _faded(v, reach, most)
            tl.store(reached + j, reach)
        tl.debug_barrier()  # what was stored for this step is there
        x = tl.load(source + t * step + j, mask=here, other=0.0)
        s, scale = rescale(most)
        shifts += s
        v, led = _over_rows(target + (t - 1) * step, reached, matrix, live, j, L, Lp, K, TRACK)
        v *= x * scale
        reach = tl.where(x > 0, led, 0.0)
        tl.debug_barrier()  # nobody reads the last step any more
        tl.store(target + t * step + j, v, mask=here)
        most = tl.max(v)
    if TRACK:
        faded |= _faded(v, reach, most)
    return tl.sum(v * last), shifts, faded


@triton.jit
def sweep(
    x, first, lengths, potentials, facts, live, states, sums, flags, reached, L, N, quads,
    Lp: tl.constexpr, K: tl.constexpr, PAIRS: tl.constexpr, FREE: tl.constexpr,
):  # fmt: skip
    """Write v and y ``[2, N, L]``, log Σ v·exp(end) without what was taken out ``[B]``, and flags ``[B, 2]``.

    Flags mean nothing where no transition is forbidden. There, and without FREE, nothing is written: another kernel
    does it. K is 0 where E lies in registers; otherwise so many of its rows are read at once, and `reached` is scratch
    ``[B, 2, Lp]``.
    """
    track = tl.load(facts + 2) > 0
    if track or FREE:
        _sweep(
            track, x, first, lengths, potentials, facts, live, states, sums, flags, reached, L, N, quads, Lp, K, PAIRS,
            FREE,
        )  # fmt: skip


@triton.jit
def _sweep(
    track, x, first, lengths, potentials, facts, live, states, sums, flags, reached, L, N, quads,
    Lp: tl.constexpr, K: tl.constexpr, PAIRS: tl.constexpr, FREE: tl.constexpr,
):  # fmt: skip
    b, backward = tl.program_id(0), tl.program_id(1)
    n = tl.load(lengths + b).to(tl.int32)
    faded = n * 0
    if n > 0:
        j, width = tl.arange(0, Lp), 4 * quads
        here = j < width
        last = tl.load(potentials + 2 * Lp * Lp + (1 - backward) * Lp + j)
        row = tl.load(first + b) + backward * (n - 1)
        source = x + row * width
        target = states + (backward.to(tl.int64) * N + row) * width
        v = tl.load(potentials + 2 * Lp * Lp + backward * Lp + j) * tl.load(source + j, mask=here, other=0.0)
        tl.store(target + j, v, mask=here)
        step = (1 - 2 * backward) * width
        matrix = potentials + backward * Lp * Lp
        if K > 0:
            blocks = live + backward * (Lp // K) * (Lp // K)
            own = reached + (2 * b + backward) * Lp
            if track:
                total, shifts, faded = along_rows(
                    v, source, target, own, step, n, last, matrix, blocks, L, width, Lp, K, True
                )
            else:
                total, shifts, faded = along_rows(
                    v, source, target, own, step, n, last, matrix, blocks, L, width, Lp, K, False
                )
        else:
            tile = j[:, None] * Lp + j[None, :]
            a1 = tl.load(matrix + tile)
            a2 = tl.load(potentials + (1 - backward) * Lp * Lp + tile)
            source, target, often = source + j, target + j, tl.load(facts + 1).to(tl.float32) > SELDOM
            if track or not FREE:
                total, shifts, faded = along(v, source, target, step, n, last, a1, a2, here, often, PAIRS, True)
            else:
                total, shifts, faded = along(v, source, target, step, n, last, a1, a2, here, often, PAIRS, False)
        if backward == 0:
            tl.store(sums + b, tl.log(total.to(tl.float64)) - shifts.to(tl.float64) * LN_2)
    tl.store(flags + 2 * b + backward, faded)


@triton.jit
def _matrix(matrix, Lp: tl.constexpr, W: tl.constexpr, G: tl.constexpr, Q: tl.constexpr):
    """Load E with five axes: Q times the same, G groups of its rows, W of its columns, and the rows and columns of one.

    Triton deals an array out to lanes, then warps, then registers, the last axis first. After that versions up to 3.6
    go from the first axis on, others back from the last but one. So the first four axes are turned round for these,
    and columns, Q, G, W and rows follow each other in either case.
    """
    R: tl.constexpr = Lp // G
    C: tl.constexpr = Lp // W
    q, g, w = tl.arange(0, Q) * 0, tl.arange(0, G) * R, tl.arange(0, W) * C
    r, c = tl.arange(0, R), tl.arange(0, C)[None, None, None, None, :]
    if FROM_FIRST:  # [Q, G, W, R, C]
        i = q[:, None, None, None, None] + g[None, :, None, None, None] + r[None, None, None, :, None]
        j = w[None, None, :, None, None] + c
    else:  # [R, W, G, Q, C]
        i = r[:, None, None, None, None] + g[None, None, :, None, None] + q[None, None, None, :, None]
        j = w[None, :, None, None, None] + c
    return tl.load(matrix + i * Lp + j)


@triton.jit
def _times(v, a, Lp: tl.constexpr, G: tl.constexpr, Q: tl.constexpr):
    """v · E of Q sentences ``[Q, W, C]``, for an E as `_matrix` loads it."""
    along = tl.reshape(v, [Q, G, Lp // G])
    if FROM_FIRST:
        product = tl.sum(tl.sum(along[:, :, None, :, None] * a, axis=3), axis=1)
    else:
        along = tl.permute(along, [2, 1, 0])
        product = tl.permute(tl.sum(tl.sum(along[:, None, :, :, None] * a, axis=0), axis=1), [1, 0, 2])
    return product


@triton.jit
def sweep_free(
    x, first, lengths, turns, potentials, facts, states, sums, N, B, quads,
    Lp: tl.constexpr, W: tl.constexpr, G: tl.constexpr, Q: tl.constexpr, BESIDE: tl.constexpr, SORTED: tl.constexpr,
):  # fmt: skip
    """Write what `sweep` does except for flags, where no transition is forbidden, for Q sentences a program.

    Each of W warps takes as many columns of E, and G groups of its lanes as many rows. A lane then reads Lp / G numbers
    of a vector for Lp² / 32W products, where reading all Lp of them is what a step would take longest for. With BESIDE
    lanes also share out the sentences, and each has more of E: that is faster for many sentences and few labels. With
    SORTED `turns` says which sentence comes when.
    """
    at, backward = tl.program_id(0) * Q + tl.arange(0, Q), tl.program_id(1)
    C: tl.constexpr = Lp // W
    if tl.load(facts + 2) == 0:
        b = at
        if SORTED:
            b = tl.load(turns + at, mask=at < B, other=0)
        n = tl.load(lengths + b, mask=at < B, other=0).to(tl.int32)
        rows = n[:, None, None]
        j, width = tl.arange(0, W)[:, None] * C + tl.arange(0, C)[None, :], 4 * quads  # [W, C]
        here = (j < width)[None, :, :]
        a = _matrix(potentials + backward * Lp * Lp, Lp, W, G, Q if BESIDE else 1)
        often = tl.load(facts + 1).to(tl.float32) > SELDOM
        row = tl.load(first + b, mask=at < B, other=0) + backward * (n - 1)
        cells = row[:, None, None] * width + j[None, :, :]  # [Q, W, C]
        source, target = x + cells, states + backward.to(tl.int64) * N * width + cells
        step = (1 - 2 * backward) * width
        v = tl.load(source, mask=here & (rows > 0), other=0.0)
        v *= tl.load(potentials + 2 * Lp * Lp + backward * Lp + j)[None, :, :]
        tl.store(target, v, mask=here & (rows > 0))
        shifts = n * 0
        own = tl.load(source + step, mask=here & (rows > 1), other=0.0)
        for t in range(1, tl.max(n)):
            ahead = tl.load(source + (t + 1) * step, mask=here & (rows > t + 1), other=0.0)
            if often | (t % 4 == 1):
                s, scale = rescale(tl.max(tl.max(v, axis=2), axis=1))
                shifts += tl.where(t < n, s, 0)
                own *= scale[:, None, None]
            v = tl.where(rows > t, _times(v, a, Lp, G, Q) * own, v)
            tl.store(target + t * step, v, mask=here & (rows > t))
            own = ahead
        if backward == 0:
            last = tl.load(potentials + 2 * Lp * Lp + Lp + j)[None, :, :]
            total = tl.sum(tl.sum(v * last, axis=2), axis=1)
            tl.store(sums + b, tl.log(total.to(tl.float64)) - shifts.to(tl.float64) * LN_2, mask=n > 0)


@triton.jit
def split(a):
    """A matrix as two that tensor cores hold exactly (tf32): the leading bits, and the rest to as many."""
    high = ((a.to(tl.int32, bitcast=True) + 4096) & -8192).to(tl.float32, bitcast=True)  # rounded: errors cancel
    return high, a - high


@triton.jit
def product(v, high, low):
    """v times a matrix that was split, to the accuracy of float32."""
    v_high, v_low = split(v)
    small = tl.dot(v_low, high, input_precision="tf32")
    small = tl.dot(v_high, low, small, input_precision="tf32")
    return tl.dot(v_high, high, input_precision="tf32") + small


@triton.jit
def sweep_blocks(
    x, first, lengths, potentials, facts, states, sums, L, N, quads, B,
    Lp: tl.constexpr, Q: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Write what `sweep` does except for flags, where no transition is forbidden, for more labels than registers hold.

    A program takes Q sentences and multiplies K × K blocks on tensor cores.
    """
    if tl.load(facts + 2) == 0:
        _in_blocks(x, first, lengths, potentials, states, sums, L, N, 4 * quads, B, Lp, Q, K)


@triton.jit
def _in_blocks(
    x, first, lengths, potentials, states, sums, L, N, width, B, Lp: tl.constexpr, Q: tl.constexpr, K: tl.constexpr
):
    b, backward = tl.program_id(0) * Q + tl.arange(0, Q), tl.program_id(1)
    n = tl.load(lengths + b, mask=b < B, other=0).to(tl.int32)
    j = tl.arange(0, K)
    rows = tl.load(first + b, mask=b < B, other=0) + backward * (n - 1)
    target = states + backward.to(tl.int64) * N * width
    ends = potentials + 2 * Lp * Lp + backward * Lp
    matrix = potentials + backward * Lp * Lp + j[:, None] * Lp + j[None, :]
    most = tl.zeros([Q], tl.float32)
    for j0 in range(0, L, K):
        cells = rows[:, None] * width + (j0 + j)[None, :]
        valid = (n > 0)[:, None] & (j0 + j < width)[None, :]
        v = tl.load(ends + j0 + j)[None, :] * tl.load(x + cells, mask=valid, other=0.0)
        tl.store(target + cells, v, mask=valid)
        most = tl.maximum(most, tl.max(v, axis=1))
    shifts = n * 0
    for t in range(1, tl.max(n)):
        tl.debug_barrier()
        going = t < n
        s, scale = rescale(most)
        shifts += tl.where(going, s, 0)
        before = rows + (t - 1) * (1 - 2 * backward)
        after = rows + t * (1 - 2 * backward)
        higher = tl.zeros([Q], tl.float32)
        for j0 in range(0, L, K):
            total = tl.zeros([Q, K], tl.float32)
            for k0 in range(0, L, K):
                valid = going[:, None] & (k0 + j < width)[None, :]
                v = tl.load(target + before[:, None] * width + (k0 + j)[None, :], mask=valid, other=0.0)
                high, low = split(tl.load(matrix + k0 * Lp + j0))
                total += product(v, high, low)
            cells = after[:, None] * width + (j0 + j)[None, :]
            valid = going[:, None] & (j0 + j < width)[None, :]
            v = total * (tl.load(x + cells, mask=valid, other=0.0) * scale[:, None])
            tl.store(target + cells, v, mask=valid)
            higher = tl.maximum(higher, tl.max(v, axis=1))
        most = tl.where(going, higher, most)
    tl.debug_barrier()
    if backward == 0:
        sum_ = tl.zeros([Q], tl.float32)
        for j0 in range(0, L, K):
            cells = (rows + n - 1)[:, None] * width + (j0 + j)[None, :]
            valid = (n > 0)[:, None] & (j0 + j < width)[None, :]
            last = tl.load(potentials + 2 * Lp * Lp + Lp + j0 + j)[None, :]
            sum_ += tl.sum(tl.load(target + cells, mask=valid, other=0.0) * last, axis=1)
        tl.store(sums + b, tl.log(sum_.to(tl.float64)) - shifts.to(tl.float64) * LN_2, mask=b < B)
