"""Which kernels answer a question of `fused`, in what order and with what memory: a recipe for each size of batch.

A batch is a chain (tokens in rows, `first` and `lengths` given), or padded: then `order` finds the rows first, and the
kernels read each row's token where it lies (`moved`). Names of tensors are those of the kernels' arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl

from tagline.chain.tensors.kernels import best, chunks, counts, logs, order, scores, sweeps
from tagline.chain.tensors.kernels.launches import KNOWN, Launch, Layout, Part, Recipe

MOST_LABELS = 512
TILE_LABELS = 128  # whose matrix fits into registers
WARP_LABELS = 32  # what one warp sweeps over
SHARED_LABELS = 32  # whose exponentials one program prepares; where there are more, several do
BLOCK = 64  # labels of a block, where there are more
SIDE = 16  # sentences side by side, where labels come in blocks
LINES = 32  # of a matrix that are read at once, where there are more labels than registers hold
STREAMED = 128  # sentences up to which a program of its own for each reads the matrix faster than blocks do
ROWS = 32  # of a sentence, prepared by one program
LONG, FEW, STEPS = 256, 64, 32  # at most FEW sentences of at least LONG rows are summed over in chunks of STEPS or more
LONG_BEST, FEW_BEST, STEPS_BEST = 1024, 128, 64  # the same for the best labelling
POINTED = 1 << 17  # rows up to which pointers pay
WARPS = {16: 1, 32: 1, 64: 4, 128: 4}  # of a sweep, by labels
TURNS = 256  # neighbours among which sentences are sorted by length, where not all are swept at the same time
SPREAD, SPREAD_REGISTERS = 512, 40  # numbers of a program that spreads; registers of a thread, for more threads
PAIR_LABELS = 64  # of a block of gradients of transitions
PAIR = {16: (32, 1, 1056), 32: (32, 1, 1056), 64: (64, 4, 66), 128: (32, 8, 132)}  # rows, warps, programs by labels
SPLITS_BF16 = KNOWN and isinstance(counts.pair, triton.JITFunction)  # whether Triton does so; its interpreter does not
BF16_LABELS = 64  # from which six products of bf16 are faster than three of tf32
GATHER = {True: (512, 16), False: (128, 64)}  # slots and numbers of a program; whether there are few labels
AGAIN = 16  # programs that look for flagged sentences
MOST_RECIPES = 256  # the longest unused goes first

SCORES = "emissions transitions start end"
CHAIN, PADDED = f"{SCORES} first lengths labels", f"{SCORES} counts tags"
SLOPES = "gradient by_pair by_start by_end"  # of the scores
F32, F64, I32, I64 = torch.float32, torch.float64, torch.int32, torch.int64


class Free(NamedTuple):
    """How `sweeps.sweep_free` is run.

    Attributes:
        crowd: for how many sentences, at least.
        warps, groups, together, beside, sorted: its W, G, Q, BESIDE and SORTED.
        registers: of a thread, at most; None where the compiler may choose.
    """

    crowd: int
    warps: int
    groups: int
    together: int
    beside: bool = False
    sorted: bool = False
    registers: int | None = None


FREE = {
    16: (Free(2048, 1, 2, 4, True),),
    32: (Free(2560, 1, 1, 8, True), Free(1024, 1, 1, 4, True)),
    64: (Free(0, 2, 4, 1),),
    128: (Free(0, 4, 4, 1, sorted=True, registers=168),),  # so that three programs run side by side
}  # by labels


class Size(NamedTuple):
    """What a recipe is for.

    Attributes:
        B, N, L: sentences, rows, labels.
        longest: no length is above it; of a padded batch, T.
        moved: whether the batch is padded.
        labelled: whether there are labels.
    """

    B: int
    N: int
    L: int
    longest: int
    moved: bool
    labelled: bool

    @property
    def Lp(self) -> int:
        """Labels rounded up to a power of two."""
        return max(16, 1 << (self.L - 1).bit_length())

    @property
    def quads(self) -> int:
        """A quarter of the numbers in a row of the kernels' own tables, which begin where four can be read at once."""
        return -(-self.L // 4)

    @property
    def steps(self) -> int:
        """The steps of a chunk, where the sums over sentences are made in chunks; otherwise 0."""
        if self.longest < LONG or self.B > FEW or self.Lp > WARP_LABELS:
            return 0
        return max(STEPS, 1 << (self.longest.bit_length() - 1) // 2)  # about as many steps as chunks

    @property
    def steps_of_best(self) -> int:
        """The same for the best labelling."""
        long = self.longest >= LONG_BEST and self.B <= FEW_BEST and self.Lp <= WARP_LABELS
        return STEPS_BEST if long else 0

    @property
    def free(self) -> Free | None:
        """How a free sweep is run; None where another is faster."""
        ways = () if self.steps else FREE.get(self.Lp, ())
        return next((way for way in ways if way.crowd <= self.B), None)

    @property
    def parts(self) -> int:
        """How many programs prepare a sentence."""
        return max(1, -(-self.longest // ROWS))

    def chunks(self, steps: int) -> int:
        """How many chunks of so many steps a sentence has."""
        return -(-(self.longest - 1) // steps)


class Ordering(NamedTuple):
    """How a padded batch says which tokens count.

    Attributes:
        by: one of `order`'s.
        ignored: the tag of tokens that do not count; None where all tags do.
    """

    by: int
    ignored: int | None = None


def remembered(build: Callable[..., Recipe]) -> Any:
    """Make a recipe once for the same arguments, the last of which is what it does not read: device and signature."""
    return lru_cache(MOST_RECIPES)(build)


def forget() -> None:
    """Let all recipes be made anew."""
    for build in (sweep, gradients, loss, loss_gradients, best_labels, places):
        build.cache_clear()


def _rows_parts(s: Size) -> dict[str, Part]:
    """Where the tokens of a padded batch lie."""
    return {
        "first": Part(I64, s.B),
        "lengths": Part(I64, s.B),
        "rows": Part(I32, s.N),
        "owners": Part(I32, s.N),
        "labels": Part(I64, s.N),
    }


def _kept(s: Size) -> dict[str, Part]:
    """What both sweeps leave for the gradients."""
    B, N, Lp = s.B, s.N, s.Lp
    parts = _rows_parts(s) if s.moved else {"owners": Part(I32, N)}
    return parts | {
        "facts": Part(F64, 6),
        "potentials": Part(F32, 2 * Lp * Lp + 2 * Lp),
        "x": Part(F32, 4 * N * s.quads),
        "states": Part(F32, 8 * N * s.quads),
        "flags": Part(I32, 2 * B),
        "scratch": Part(F64, max(B, AGAIN) * 2 * Lp),
        "log_z": Part(F64, B),
    }


def _order(s: Size, ordering: Ordering, slots: bool = False) -> Launch:
    side = min(1024, max(16, triton.next_power_of_2(s.longest)))
    pointers = "counts tags first lengths rows slots rows rows" if slots else (
        "counts tags first lengths rows owners owners labels"
    )  # fmt: skip
    return Launch(
        order.order, (s.B, triton.cdiv(s.longest, side)), pointers, s.longest, ordering.ignored or 0,
        side, ordering.by, ordering.ignored is not None, s.labelled, slots, num_warps=4,
    )  # fmt: skip


def _rows(s: Size) -> str:
    """The name of what says where tokens lie; for chains anything, because it is not read."""
    return "rows" if s.moved else "first"


def _labels(s: Size) -> str:
    return "labels" if s.labelled else "first"


@remembered
def sweep(s: Size, _: Any) -> Recipe:
    """Return how log Z, or with labels log p(labels), of a chain is made. Inputs: those of `CHAIN`, `likelihood`."""
    nobody = Launch(order.disown, (triton.cdiv(s.N, 1024),), "owners", s.N, 1024, num_warps=4)
    layouts = Layout(_kept(s)), Layout(_sweep_parts(s))
    return Recipe(f"{CHAIN} likelihood", layouts, [nobody, *_sweep_launches(s)])


@remembered
def gradients(s: Size, edges: bool, _: Any) -> Recipe:
    """Return how the gradients of a chain are made of what `sweep` left.

    Inputs: those of `CHAIN`, `weights`, and the gradients; without `edges` only that of the emissions is made.
    """
    layouts = Layout(_kept(s)), Layout(_gradient_parts(s, edges))
    return Recipe(f"{CHAIN} weights {SLOPES}", layouts, _gradient_launches(s, counts.BY_SENTENCE, edges))


@remembered
def loss(s: Size, ordering: Ordering, divisor: int, slopes: bool, _: Any) -> Recipe:
    """Return how the loss of a padded batch is made, and with `slopes` its gradients.

    Inputs: those of `PADDED`, `loss`, and the gradients.
    """
    side = min(1024, max(16, triton.next_power_of_2(s.B)))
    reduce = Launch(scores.reduce, (1,), "likelihood lengths facts loss", s.B, side, divisor, num_warps=4)
    launches = [_order(s, ordering), *_sweep_launches(s), reduce]
    working = _sweep_parts(s) | {"likelihood": Part(F64, s.B)}
    if slopes:
        working |= _gradient_parts(s, True)
        launches += _gradient_launches(s, counts.BY_SHARE, True)
    return Recipe(f"{PADDED} loss {SLOPES if slopes else ''}", (Layout(_kept(s)), Layout(working)), launches)


@remembered
def loss_gradients(s: Size, _: Any) -> Recipe:
    """Return how the gradients of a padded batch's loss are made of what `loss` left.

    Inputs: those of `SCORES`, `weights`, which is the gradient of the loss, and the gradients.
    """
    layouts = Layout(_kept(s)), Layout(_gradient_parts(s, True))
    return Recipe(f"{SCORES} weights {SLOPES}", layouts, _gradient_launches(s, counts.BY_SLOPE, True))


def _sweep_parts(s: Size) -> dict[str, Part]:
    B, Lp = s.B, s.Lp
    parts = {
        "live": Part(I32, 2 * (Lp // SIDE) ** 2),
        "parts": Part(F64, B * s.parts * 3),
        "sums": Part(F64, B),
        "reached": Part(F32, B * 2 * Lp if Lp > TILE_LABELS else 1),
        "turns": Part(I32, B),
    }
    if s.steps:
        count = B * s.chunks(s.steps)
        parts |= {
            "matrices": Part(F32, count * Lp * Lp),
            "exponents": Part(I32, count),
            "between": Part(F32, 2 * count * Lp),
        }
    return parts


def _sweep_launches(s: Size) -> list[Launch]:
    """From scores to log Z and the score of the labels."""
    B, L, Lp = s.B, s.L, s.Lp
    shares, together = (Lp // LINES, LINES) if Lp > SHARED_LABELS else (1, Lp)
    rows, labels = _rows(s), _labels(s)
    turns = TURNS if s.free and s.free.sorted else 0
    prepare = Launch(
        scores.prepare, (shares + B * s.parts,),
        f"emissions {rows} first lengths {labels} transitions start end potentials facts live x owners parts turns",
        L, s.quads, s.parts, B, Lp, together, shares, ROWS, s.labelled, s.moved, turns, num_warps=2 if Lp == 32 else 4,
    )  # fmt: skip
    finish = Launch(
        logs.finish, (B,),
        f"emissions {rows} first lengths transitions start end facts parts sums flags scratch log_z likelihood",
        L, s.parts, Lp, 16, min(128, triton.next_power_of_2(s.parts)), s.labelled, s.moved,
        num_warps=1 if Lp <= 32 else 4,
    )  # fmt: skip
    return [prepare, *_sweeps(s), finish]


def _sweeps(s: Size) -> list[Launch]:
    """Both directions, by one sentence or several at a time, chunk by chunk, or block by block."""
    B, N, L, Lp = s.B, s.N, s.L, s.Lp
    inputs = "x first lengths potentials facts"
    swept = f"{inputs} live states sums flags reached"
    if Lp > TILE_LABELS:
        blocks = Launch(
            sweeps.sweep_blocks, (triton.cdiv(B, SIDE), 2), f"{inputs} states sums", L, N, s.quads, B, Lp, SIDE, BLOCK,
            num_warps=4, num_stages=1,
        )  # fmt: skip
        streamed = B <= STREAMED
        last = Launch(
            sweeps.sweep, (B, 2), swept, L, N, s.quads, Lp, LINES, False, streamed, num_warps=16, num_stages=1
        )
        return [last] if streamed else [blocks, last]
    pairs, free = Lp <= WARP_LABELS, s.free
    alone = free is None and not s.steps
    last = Launch(sweeps.sweep, (B, 2), swept, L, N, s.quads, Lp, 0, pairs, alone, num_warps=WARPS[Lp])
    if s.steps:
        count, between = s.chunks(s.steps), "matrices exponents between sums"
        sizes = count, Lp, s.steps
        return [
            Launch(chunks.multiply, (B, count), f"{inputs} matrices exponents", s.quads, *sizes, num_warps=1),
            Launch(chunks.stride, (B, 2), f"{inputs} {between}", s.quads, *sizes, num_warps=1),
            Launch(chunks.fill, (B, count, 2), f"{inputs} between states", N, s.quads, *sizes, num_warps=1),
            last,
        ]
    if free is None:
        return [last]
    limit = {} if free.registers is None else {"maxnreg": free.registers}
    first = Launch(
        sweeps.sweep_free, (triton.cdiv(B, free.together), 2),
        "x first lengths turns potentials facts states sums",
        N, B, s.quads, Lp, free.warps, free.groups, free.together, free.beside, free.sorted,
        num_warps=free.warps, num_stages=1, **limit,
    )  # fmt: skip
    return [first, last]


def _pair_shape(s: Size) -> tuple[int, int, int, int]:
    """Labels of a block, rows read at once, warps, and programs that add up gradients of transitions."""
    block = min(s.Lp, PAIR_LABELS)
    rows, warps, most = PAIR[block]
    return block, rows, warps, max(AGAIN, min(triton.cdiv(s.N, rows), most))


def _gradient_parts(s: Size, edges: bool) -> dict[str, Part]:
    slots = _pair_shape(s)[3] * (s.Lp * s.Lp + 2 * s.Lp)
    return {
        "onward": Part(F32, 4 * s.N * s.quads if edges else 1),
        "gold": Part(I32, s.N if edges and s.labelled else 1),
        "slots": Part(F32, slots),
    }


def _gradient_launches(s: Size, by: tl.constexpr, edges: bool) -> list[Launch]:
    """From both sweeps to gradients, weighted as `by` says: one of `counts`'."""
    B, N, L, Lp, weighted = s.B, s.N, s.L, s.Lp, by.value
    rows, labels, weights = _rows(s), _labels(s), "weights" if weighted else "facts"
    block, size, warps, programs = _pair_shape(s)
    width, blocks = Lp * Lp + 2 * Lp, triton.cdiv(L, block)
    share, (slots, span) = max(1, SPREAD // Lp), GATHER[Lp <= WARP_LABELS]
    spread = Launch(
        counts.spread, (max(1, triton.cdiv(N, share)),),
        f"x states {rows} owners first flags {weights} facts {labels} potentials gradient onward gold",
        L, N, s.quads, Lp, share, s.labelled, s.moved, weighted, edges, num_warps=4, maxnreg=SPREAD_REGISTERS,
    )  # fmt: skip
    pair = Launch(
        counts.pair, (2 * programs, blocks, blocks),
        f"gradient states onward gold {rows} owners first lengths {weights} facts potentials start end slots",
        L, N, B, triton.cdiv(B, programs), s.quads, Lp, block, size, programs, s.labelled, s.moved, weighted,
        block >= BF16_LABELS and SPLITS_BF16,
        num_warps=warps, num_stages=1,
    )  # fmt: skip
    redo = Launch(
        logs.redo, (AGAIN,),
        f"emissions {rows} first lengths flags {weights} facts {labels} transitions start end states scratch log_z "
        "gradient slots",
        L, N, B, triton.cdiv(B, AGAIN), s.quads, Lp, 16, s.labelled, s.moved, weighted, edges,
        num_warps=1 if Lp <= 32 else 4,
    )  # fmt: skip
    gather = Launch(
        counts.gather, (triton.cdiv(width, span),), "slots by_pair by_start by_end", programs, L, Lp, slots, span,
        num_warps=4,
    )  # fmt: skip
    return [spread, pair, redo, gather] if edges else [spread, redo]


@remembered
def best_labels(s: Size, ordering: Ordering | None, pad: int, _: Any) -> Recipe:
    """Return how the best labelling is found.

    Inputs are those of `CHAIN` and `scores`; or with an `ordering` those of `PADDED`, `scores` and `best`, the tags of
    all tokens, `pad` where they do not count.
    """
    B, N, L, Lp = s.B, s.N, s.L, s.Lp
    rows, moved = _rows(s), s.moved
    pointed = N <= POINTED and Lp <= WARP_LABELS
    working = _rows_parts(s) if moved else {}
    working |= {
        "padded": Part(F32, 2 * Lp * Lp),
        "live": Part(I32, 2 * (Lp // SIDE) ** 2),
        "states": Part(F32, N * L),
        "pointers": Part(torch.uint8, N * L if pointed else 1),
    }
    scored = f"emissions {rows} first lengths"
    pad_transitions = Launch(
        scores.pad_transitions, (triton.cdiv(Lp, LINES),), "transitions padded live", L, Lp, min(Lp, LINES), num_warps=4
    )
    walk = Launch(best.walk, (B,), "first lengths states padded labels", L, Lp, num_warps=1)
    point = Launch(best.point, (triton.cdiv(N, 32),), "states padded pointers", L, N, Lp, 32, num_warps=1)
    if s.steps_of_best and pointed:
        count = s.chunks(s.steps_of_best)
        sizes = (L, count, Lp, s.steps_of_best)
        working |= {
            "matrices": Part(F32, B * count * Lp * Lp),
            "deductions": Part(F64, B * count * Lp),
            "between": Part(F32, B * count * Lp),
            "maps": Part(I32, B * count * Lp),
        }
        launches = [
            Launch(best.multiply_best, (B, count, L), f"{scored} padded matrices deductions", *sizes, moved,
                   num_warps=1),
            Launch(best.stride_best, (B,), f"{scored} start end matrices deductions between labels", *sizes, moved,
                   num_warps=1),
            Launch(best.fill_best, (B, count), f"{scored} padded between states", *sizes, moved, num_warps=1),
            point,
            Launch(best.carry, (B, count), "first lengths pointers maps", *sizes, num_warps=1),
            Launch(best.trace, (B, count), "first lengths pointers maps labels", *sizes, num_warps=1),
        ]  # fmt: skip
    elif Lp > TILE_LABELS:
        launches = [
            Launch(best.sweep_best_rows, (B,), f"{scored} padded live start end states labels", L, Lp, LINES, moved,
                   num_warps=8),
            walk,
        ]  # fmt: skip
    else:
        swept = Launch(
            best.sweep_best, (B,), f"{scored} padded start end states labels", L, Lp, Lp <= WARP_LABELS, moved,
            num_warps=WARPS[Lp],
        )  # fmt: skip
        follow = Launch(best.follow, (B,), "first lengths pointers labels", L, Lp, num_warps=1)
        launches = [swept, point, follow] if pointed else [swept, walk]
    settle = Launch(
        scores.settle, (B,), f"{scored} labels transitions start end scores {'best' if moved else 'labels'}",
        L, s.longest, pad, min(1024, max(16, triton.next_power_of_2(s.longest))), moved, num_warps=4,
    )  # fmt: skip
    begin = [_order(s, ordering)] if ordering else []
    inputs = f"{PADDED} scores best" if moved else f"{CHAIN} scores"
    return Recipe(inputs, (Layout(working),), [*begin, pad_transitions, *launches, settle])


@remembered
def places(s: Size, _: Any) -> Recipe:
    """Return how a mask reorders tokens. Inputs are `counts tags first lengths rows slots`."""
    return Recipe("counts tags first lengths rows slots", (), [_order(s, Ordering(1), slots=True)])
