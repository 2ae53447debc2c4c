"""The chains that the tests draw, and how close an engine must come on them.

`cases` is a Hypothesis strategy over ragged batches small enough to enumerate: empty batches, empty sentences, one
token, one label, shared transitions or one matrix a position (NaN at the first token of a sentence, which nobody may
read), forbidden scores that leave at least one labelling, ties, and scores of ±1e4. `random_chain` makes one chain
of a given size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tagline.types import Chain, Float64Array, IntArray

MAX_PATHS = 250

DRAWS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Any]] = {
    "integers": lambda rng, shape: rng.integers(-2, 3, shape).astype(np.float64),
    "reals": lambda rng, shape: rng.normal(0, 2, shape),
    "wide": lambda rng, shape: rng.normal(0, 20, shape),
    "huge": lambda rng, shape: 1e4 * rng.integers(-1, 2, shape) + rng.integers(-2, 3, shape),
    "huge reals": lambda rng, shape: rng.uniform(-1e4, 1e4, shape),
    "zeros": lambda rng, shape: np.zeros(shape),
}
EXACT = ("integers", "huge", "zeros")  # every sum of these is exact in float32, so ties are ties
MILD = ("integers", "reals", "zeros")


@dataclass(frozen=True)
class Case:
    """A chain, a labelling of it that is legal, and whether sums of its scores are free of rounding."""

    chain: Chain
    labels: IntArray
    exact: bool


@st.composite
def cases(
    draw: st.DrawFn,
    kinds: Sequence[str] = tuple(DRAWS),
    dtypes: Sequence[str] = ("float64", "float32"),
    min_sentences: int = 1,
    min_length: int = 0,
) -> Case:
    """Draw a case whose every sentence has at most `MAX_PATHS` labellings."""
    L = draw(st.integers(1, 4), label="labels")
    longest = 5 if L == 1 else int(np.log(MAX_PATHS) / np.log(L))
    lengths = draw(st.lists(st.integers(min_length, longest), min_size=min_sentences, max_size=4), label="lengths")
    kind = draw(st.sampled_from(kinds), label="kind")
    return random_chain(
        np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="seed")),
        L,
        lengths,
        kind=kind,
        dtype=draw(st.sampled_from(dtypes), label="dtype"),
        forbidden=draw(st.sampled_from([0.0, 0.3, 0.7]), label="forbidden"),
        per_position=draw(st.booleans(), label="per position"),
        edges=draw(st.booleans(), label="start and end"),
    )


def random_chain(
    rng: np.random.Generator,
    num_labels: int,
    lengths: Sequence[int],
    *,
    kind: str = "reals",
    dtype: str = "float64",
    forbidden: float = 0.0,
    per_position: bool = False,
    edges: bool = True,
) -> Case:
    """Make a chain with random scores, and forbid a share of them without forbidding one random labelling."""
    L, offsets = num_labels, np.cumsum([0, *lengths])
    N = int(offsets[-1])
    labels = rng.integers(0, L, N)
    firsts, lasts = offsets[:-1][np.diff(offsets) > 0], offsets[1:][np.diff(offsets) > 0] - 1
    inner = np.setdiff1d(np.arange(N), firsts)  # the tokens that a transition leads into
    step = (labels[inner - 1], labels[inner])
    used: dict[str, tuple[Any, ...]] = {
        "emissions": (np.arange(N), labels),
        "transitions": (inner, *step) if per_position else step,
        "start": (labels[firsts],),
        "end": (labels[lasts],),
    }
    shapes = {"emissions": (N, L), "transitions": (N, L, L) if per_position else (L, L), "start": (L,), "end": (L,)}
    scores = {}
    for name, shape in shapes.items():
        free = np.asarray(DRAWS[kind](rng, shape), dtype)
        gone = rng.random(shape) < forbidden
        gone[used[name]] = False
        scores[name] = np.where(gone, free.dtype.type(-np.inf), free)
    if per_position:
        scores["transitions"][firsts] = np.nan
    if not edges:
        del scores["start"], scores["end"]
    return Case(Chain(**scores, offsets=offsets), labels, kind in EXACT)


def largest_total(chain: Chain) -> float:
    """A bound on the size of any finite score of a labelling: what rounding errors are relative to."""
    total = 0.0
    for part in (chain.start, chain.end, *[chain.emissions] * longest(chain), *[chain.transitions] * longest(chain)):
        finite = np.abs(part[np.isfinite(part)])
        total += float(finite.max()) if finite.size else 0.0
    return max(1.0, total)


def longest(chain: Chain) -> int:
    return int(max(chain.lengths, default=0))


def in_float32(engine: ModuleType, chain: Chain) -> bool:
    """Whether an engine may work in float32 on a chain: naive never does."""
    return chain.emissions.dtype == np.float32 and engine.NAME != "naive"


def rounding(chain: Chain) -> float:
    """How far a sum of scores in float64, or a logarithm of sums, may be off: for all that has no float32 form."""
    return 16 * float(np.finfo(np.float64).eps) * largest_total(chain)


def log_z_tolerance(engine: ModuleType, chain: Chain, log_z: Any) -> Float64Array:
    """How far log Z and log p may be off, ``[B]``."""
    bar = 1e-6 * np.maximum(1.0, np.abs(np.where(np.isfinite(log_z), log_z, 0.0)))
    return bar if in_float32(engine, chain) else np.full_like(bar, rounding(chain))


def probability_tolerance(engine: ModuleType, chain: Chain) -> float:
    """How far marginals, and expected counts and gradients of one token, may be off."""
    return 1e-6 if in_float32(engine, chain) else rounding(chain)


def path_gap(engine: ModuleType, chain: Chain) -> float:
    """How far the score of the path that an engine calls best may lie below the best one."""
    return 1e-5 * longest(chain) if in_float32(engine, chain) else rounding(chain)


def assert_close(actual: Any, expected: Any, tolerance: Any, what: str = "") -> None:
    """Equal shapes, −∞ in the same places, no NaN, and no difference above the tolerance (a number or an array)."""
    got, wanted = np.asarray(actual), np.asarray(expected, np.float64)
    assert got.shape == wanted.shape, f"{what}: shape {got.shape}, expected {wanted.shape}"
    same = np.isneginf(got) & np.isneginf(wanted)
    with np.errstate(invalid="ignore"):
        apart = np.where(same, 0.0, np.abs(got - wanted))
    wrong = ~(apart <= tolerance)  # NaN is wrong
    if wrong.any():
        worst = np.unravel_index(np.argmax(np.where(wrong, np.nan_to_num(apart, nan=np.inf), -1.0)), got.shape)
        place = tuple(int(axis) for axis in worst)
        allowed = np.broadcast_to(tolerance, got.shape)[place]
        raise AssertionError(f"{what}{list(place)}: expected {wanted[place]} ± {allowed:.3g}, got {got[place]}")


def sentence_alone(chain: Chain, b: int) -> Chain:
    """Sentence b as a chain of its own."""
    first, last = chain.offsets[b], chain.offsets[b + 1]
    transitions = chain.transitions[first:last] if chain.per_position else chain.transitions
    return Chain(chain.emissions[first:last], transitions, chain.start, chain.end)


def finite_sum(uses: Float64Array, scores: Float64Array) -> float:
    """Σ uses·scores with 0·(−∞) = 0 and unread entries left out."""
    return float(np.sum(uses * np.where(np.isfinite(scores), scores, 0.0)))
