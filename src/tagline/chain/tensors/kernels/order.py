"""How a padded batch becomes rows: in each sentence the tokens that count come first, and both kinds keep their order.

A row is then not where its token lies: `rows` says where, and `place_of` is how every kernel asks.
"""

from __future__ import annotations

import triton
import triton.language as tl

ALL, BY_MASK, BY_LENGTHS = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)


@triton.jit
def place_of(rows, row, inside, MOVED: tl.constexpr):
    """Where the token of a row lies: where `rows` says, or, if nothing was moved, in that row."""
    place = row.to(tl.int64)
    if MOVED:
        place = tl.load(rows + row, mask=inside, other=0).to(tl.int64)
    return place


@triton.jit
def _counting(counts, tags, b, t, T, ignored, BY: tl.constexpr, IGNORING: tl.constexpr):
    """Which of the tokens t of a sentence count, 1 and 0."""
    on = t < T
    if BY == BY_MASK:
        on &= tl.load(counts + b * T + t, mask=t < T, other=0) != 0
    if BY == BY_LENGTHS:
        on &= t < tl.load(counts + b)
    if IGNORING:
        on &= tl.load(tags + b * T + t, mask=t < T, other=0) != ignored
    return on.to(tl.int32)


@triton.jit
def order(
    counts, tags, first, lengths, rows, slots, owners, labels, T, ignored,
    S: tl.constexpr, BY: tl.constexpr, IGNORING: tl.constexpr, LABELLED: tl.constexpr, SLOTS: tl.constexpr,
):  # fmt: skip
    """Write of each sentence its first row and its length; of S tokens the row, or of their rows token, owner, label.

    counts: a mask ``[B, T]`` or lengths ``[B]``, as BY says. With IGNORING, tokens with one tag do not count. With
    SLOTS the row of each token is written, otherwise the sentence that owns each row, −1 for tokens that do not count.
    """
    b, t0 = tl.program_id(0).to(tl.int64), tl.program_id(1) * S
    all_on, on_before = tl.zeros([S], tl.int32), tl.zeros([S], tl.int32)
    for low in range(0, T, S):
        on = _counting(counts, tags, b, low + tl.arange(0, S), T, ignored, BY, IGNORING)
        all_on += on
        on_before += tl.where(low < t0, on, 0)
    n = tl.sum(all_on)
    t = t0 + tl.arange(0, S)
    on = _counting(counts, tags, b, t, T, ignored, BY, IGNORING)
    upto = tl.sum(on_before) + tl.cumsum(on)
    row = b * T + tl.where(on > 0, upto - 1, n + t - upto)
    tl.store(rows + row, (b * T + t).to(tl.int32), mask=t < T)
    if SLOTS:
        tl.store(slots + b * T + t, row.to(tl.int32), mask=t < T)
    else:
        tl.store(owners + row, tl.where(on > 0, b, -1).to(tl.int32), mask=t < T)
    if LABELLED:
        tl.store(labels + row, tl.load(tags + b * T + t, mask=t < T, other=0).to(tl.int64), mask=t < T)
    if t0 == 0:
        tl.store(first + b, b * T)
        tl.store(lengths + b, n.to(tl.int64))


@triton.jit
def disown(owners, N, S: tl.constexpr):
    """Write −1, no sentence, as the owner of S rows."""
    row = tl.program_id(0) * S + tl.arange(0, S)
    tl.store(owners + row, tl.full([S], -1, tl.int32), mask=row < N)
