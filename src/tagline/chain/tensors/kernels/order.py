"""How a mask reorders tokens: in each sentence those where it is on come first, and both kinds keep their order."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def order(is_on, first, lengths, rows, slots, T, S: tl.constexpr):
    """Write for a sentence of T tokens its first row, how many are on, the token of each row, the row of each token.

    A program takes one sentence, S tokens at a time.
    """
    b = tl.program_id(0).to(tl.int64)
    top = b * T
    n = b * 0
    for t0 in range(0, T, S):
        t = t0 + tl.arange(0, S)
        n += tl.sum((tl.load(is_on + top + t, mask=t < T, other=0) != 0).to(tl.int64))
    before = b * 0
    for t0 in range(0, T, S):
        t = t0 + tl.arange(0, S)
        here = (tl.load(is_on + top + t, mask=t < T, other=0) != 0).to(tl.int64)
        upto = before + tl.cumsum(here)
        spot = tl.where(here > 0, upto - 1, n + t - upto)
        tl.store(slots + top + t, top + spot, mask=t < T)
        tl.store(rows + top + spot, top + t, mask=t < T)
        before += tl.sum(here)
    tl.store(first + b, top)
    tl.store(lengths + b, n)
