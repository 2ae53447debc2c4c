"""The door of the engine: arrays of scores, sound and unsound, through every question."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from tagline import chain as engine
from tagline.chain import constrain
from tagline.errors import NoPathError
from tagline.types import Chain
from tests.fuzz.choices import Choices, value
from tests.fuzz.doors.base import Door, ensure, largest

_SPECIAL = (-np.inf, -np.inf, -np.inf, np.inf, np.nan, 0.0, 1e290, -1e290, 1.7e308, 3e38, 1e-310, -0.0, 700.0, -745.0)
_SCALES = (1.0, 1.0, 0.0, 30.0, 1e4, 1e15, 1e100, 1e289, 1e-300)
_DTYPES = ("f8", "f8", "f4", "f4", "f2", "i8", "i4", "u1", ">f8", "?", "c16", "U1", "O", "f16")


class Chains(Door):
    """Arrays as `Chain` takes them, and every answer of the engine."""

    name = "chain"

    def valid(self) -> list[bytes]:
        return [bytes(40)]

    def draw(self, random: Random) -> bytes:
        return random.randbytes(48)

    def use(self, data: bytes) -> None:
        choices = Choices(data)
        chain = chain_of(choices)
        repr(chain)
        if choices.chance(60):
            chain = constrained(choices, chain)
        _QUESTIONS[choices.below(len(_QUESTIONS))](choices, chain)


def chain_of(choices: Choices) -> Chain:
    """A chain, mostly a sound one."""
    random = choices.generator()
    L = choices.of((1, 2, 3, 3, 4, 5, 8, 9, 16, 17, 33))
    lengths = [choices.of((0, 1, 1, 2, 3, 5, 9)) for _ in range(choices.of((0, 1, 1, 2, 3)))]
    N = sum(lengths)
    pairs = (N, L, L) if choices.chance(64) else (L, L)
    wrong = choices.chance(24)
    emissions = _scores(choices, random, _shape(choices, (N, L), wrong))
    transitions = _scores(choices, random, _shape(choices, pairs, wrong))
    start, end = (_scores(choices, random, _shape(choices, (L,), wrong)) if choices.chance(128) else None for _ in "se")
    offsets: Any = np.cumsum([0, *lengths])
    if choices.chance(24):
        offsets = _wrong_offsets(choices, offsets)
    return Chain(emissions, transitions, start, end, offsets)


def _shape(choices: Choices, shape: tuple[int, ...], wrong: bool) -> tuple[int, ...]:
    if not wrong or choices.chance(128):
        return shape
    return choices.of(((), (0,), shape[::-1], (*shape, 1), tuple(size + 1 for size in shape), (0, 0), (1, *shape)))


def _scores(choices: Choices, random: np.random.Generator, shape: tuple[int, ...]) -> Any:
    array: Any = random.normal(size=shape) * choices.of(_SCALES)
    if choices.chance(110) and array.size:
        for _ in range(1 + choices.below(6)):
            array.flat[choices.byte() % array.size] = choices.of(_SPECIAL)
    if choices.chance(30):
        array = np.where(random.random(shape) < 0.4, -np.inf, array)
    if choices.chance(100):
        with np.errstate(all="ignore"):
            array = np.asarray(array).astype(choices.of(_DTYPES))
    if choices.chance(10):
        return value(choices)
    if choices.chance(20):
        return np.asarray(array).tolist()
    return np.asfortranarray(array) if choices.chance(30) else array


def _wrong_offsets(choices: Choices, offsets: Any) -> Any:
    if choices.chance(128):
        return value(choices)
    array = offsets.astype(choices.of(("i8", "i4", "u1", "u8", "f8", "i1")))
    array[choices.byte() % len(array)] = choices.of((0, 1, 255, 3, 100, 127)) % 128
    return array


def constrained(choices: Choices, chain: Chain) -> Chain:
    """The chain with something forbidden."""
    N, L = chain.emissions.shape
    random = choices.generator()
    shapes: dict[str, tuple[int, ...]] = {"transitions": chain.transitions.shape, "start": (L,), "end": (L,)}
    shapes |= {"allowed": (N, L), "known": (N,)}
    name = choices.of(list(shapes))
    forbidden: Any = random.random(shapes[name]) < 0.8
    if name == "known":
        forbidden = random.integers(-2, L + (choices.byte() > 200), N)
    if choices.chance(40):
        forbidden = value(choices)
    return constrain(chain, **{name: forbidden})


def _labels(choices: Choices, chain: Chain) -> Any:
    if choices.chance(40):
        return value(choices)
    return choices.generator().integers(0, chain.num_labels, chain.num_tokens)


def _tolerance(chain: Chain) -> float:
    """How far sums of a chain's scores may be off."""
    eps = 1e-12 if chain.emissions.dtype == np.float64 else 1e-5
    return eps * (1 + largest(chain)) * (2 + chain.num_tokens)


def _partition(choices: Choices, chain: Chain) -> None:
    log_z = engine.log_partition(chain, allow_no_path=choices.chance(128))
    ensure(not np.isnan(log_z).any() and not np.isposinf(log_z).any(), "log Z that is no number")
    with engine.using_engine("naive"):
        other = engine.log_partition(chain, allow_no_path=True)
    same = np.isclose(log_z, other, rtol=0, atol=_tolerance(chain)) | (log_z == other)
    ensure(bool(same.all()), f"log Z {log_z} where the definition has {other}")


def _marginals(choices: Choices, chain: Chain) -> None:
    found = engine.marginals(chain, edges=choices.chance(128))
    ensure(bool(np.isfinite(found.nodes).all() and (found.nodes >= 0).all()), "marginals that are no probabilities")
    if largest(chain) > 1e9:  # differences are lost in rounding
        return
    ensure(bool((np.abs(found.nodes.sum(-1) - 1) < 1e-4).all()), "marginals that do not add up to 1")
    if found.edges is not None:
        inner = np.ones(chain.num_tokens, bool)
        inner[chain.offsets[:-1][chain.lengths > 0]] = False
        ensure(bool((np.abs(found.edges.sum((1, 2))[inner] - 1) < 1e-4).all()), "pairs that do not add up to 1")


def _best(choices: Choices, chain: Chain) -> None:
    paths = engine.viterbi(chain)
    ensure(bool(np.isfinite(paths.scores).all()), "a best labelling that is forbidden")
    off = np.abs(engine.score(chain, paths.labels) - paths.scores)
    ensure(bool((off <= _tolerance(chain)).all()), "a score that is not the labelling's")
    ensure(bool((paths.scores <= engine.log_partition(chain) + _tolerance(chain)).all()), "more than all probability")


def _k_best(choices: Choices, chain: Chain) -> None:
    k = value(choices) if choices.chance(60) else choices.of((1, 2, 5, 30))
    if isinstance(k, int | np.integer) and k > 10**4 and chain.num_tokens > 5:
        k = 10**4
    for ranked in engine.k_best(chain, k):
        ensure(bool((np.diff(ranked.scores) <= 0).all()), "labellings out of order")
        ensure(bool(((ranked.probabilities >= 0) & (ranked.probabilities <= 1 + 1e-6)).all()), "no probabilities")
        ensure(len({tuple(row) for row in ranked.labels.tolist()}) == len(ranked.labels), "a labelling twice")


def _samples(choices: Choices, chain: Chain) -> None:
    if choices.chance(60):
        engine.sample(chain, value(choices))
        return
    count = value(choices) if choices.chance(60) else choices.of((0, 1, 3))
    if isinstance(count, int) and count > 10**5:
        count = 10**5
    seed = value(choices) if choices.chance(30) else 1
    drawn = engine.sample_paths(chain, count, seed)
    ensure(not drawn.size or bool((drawn >= 0).all() and (drawn < chain.num_labels).all()), "labels out of range")
    for row in drawn[:2]:
        ensure(bool(np.isfinite(engine.score(chain, row)).all()), "a forbidden labelling was drawn")


def _entropy(choices: Choices, chain: Chain) -> None:
    entropy, most = engine.entropy(chain), chain.lengths * np.log(chain.num_labels)
    ensure(bool(np.isfinite(entropy).all()), "an entropy that is no number")
    ensure(bool(((entropy >= -_tolerance(chain)) & (entropy <= most + 1e-3 + _tolerance(chain))).all()), "entropy")


def _spans(choices: Choices, chain: Chain) -> None:
    spans: Any = value(choices)
    if choices.chance(160) and chain.num_sentences:
        b = choices.below(chain.num_sentences)
        sets = [choices.of((0, [0], {0, chain.num_labels - 1}, [], [True] * chain.num_labels)) for _ in range(2)]
        spans = [(b, choices.below(4), sets)]
    found = engine.span_probability(chain, spans)
    ensure(largest(chain) > 1e9 or bool(((found >= 0) & (found <= 1 + 1e-5)).all()), f"no probabilities: {found}")


def _gradients(choices: Choices, chain: Chain) -> None:
    found = engine.gradients(chain, _labels(choices, chain))
    for part in (found.emissions, found.transitions, found.start, found.end, found.log_likelihood):
        ensure(largest(chain) > 1e9 or bool(np.isfinite(part).all()), "gradients that are no numbers")


def _counts(choices: Choices, chain: Chain) -> None:
    found = engine.expected_counts(chain)
    for part in (found.emissions, found.transitions, found.start, found.end):
        ensure(largest(chain) > 1e9 or bool(np.isfinite(part).all()), "counts that are no numbers")


def _sums(choices: Choices, chain: Chain) -> None:
    engine.score(chain, _labels(choices, chain))
    alpha, beta = engine.forward(chain), engine.backward(chain)
    ensure(not np.isnan(alpha).any() and not np.isnan(beta).any(), "sums that are no numbers")
    try:
        engine.max_marginal(chain)
    except NoPathError:
        return


_QUESTIONS = (_partition, _marginals, _best, _k_best, _samples, _entropy, _spans, _gradients, _counts, _sums)

DOORS = (Chains,)
