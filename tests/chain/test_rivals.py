"""Rivals against their definition: Viterbi once a token, with the label of the best labelling forbidden there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tagline import Chain, chain
from tagline.chain import rivals as module
from tagline.chain import second_order, segments
from tagline.chain.rivals import LabelLattice, Stretch, rivals
from tagline.chain.second_order import SecondOrderChain, Triples
from tagline.chain.second_order.rivals import PairLattice, SecondOrderScores
from tagline.chain.segments import SegmentChain
from tagline.chain.segments.rivals import segment_rivals
from tagline.errors import NoPathError
from tagline.models.semicrf.questions import SegmentQuestions, TaggedSegments
from tagline.models.semicrf.tags import SegmentTags

KINDS = ("ties", "real", "forbidden")


def scores(random: np.random.Generator, kind: str, *shape: int) -> NDArray[np.float64]:
    """Small integers, which tie and add without rounding; with some forbidden; or real numbers."""
    if kind == "real":
        return random.normal(size=shape)
    values = random.integers(-1, 2, shape).astype(np.float64)
    return np.where(random.random(shape) < 0.25, -np.inf, values) if kind == "forbidden" else values


def drawn(random: np.random.Generator, kind: str, T: int, L: int, per_token: bool) -> Chain:
    transitions = scores(random, kind, *([T] if per_token else []), L, L)
    made = Chain(scores(random, kind, T, L), transitions, scores(random, kind, L), scores(random, kind, L))
    if random.random() < 0.3:  # labels that are known
        allowed = np.ones((T, L), np.bool_)
        allowed[random.integers(T)] = np.arange(L) == random.integers(L)
        made = chain.constrain(made, allowed=allowed)
    return made


def labelling(stretch: Stretch) -> list[int]:
    return [stretch.labels(n)[1] for n in range(len(stretch.best))]


def agree(found: list[Stretch | None], expected: list[list[int] | None], order: int) -> None:
    assert [None if one is None else labelling(one) for one in found] == expected
    for stretch in found:
        if stretch is not None:
            T = len(stretch.best)
            different = [n for n in range(T) if len(set(stretch.labels(n))) > 1]
            assert stretch.whole
            assert set(stretch.tokens) >= {n for d in different for n in range(d, min(d + order + 1, T))}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("per_token", [False, True])
def test_first_order(kind: str, per_token: bool) -> None:
    random, asked = np.random.default_rng(1), 0
    for _ in range(150):
        L, T = (int(n) for n in random.integers(1, (5, 9)))
        made = drawn(random, kind, T, L, per_token)
        groups = None if random.random() < 0.7 else random.integers(0, max(1, L - 1), L)
        try:
            best = chain.viterbi(made).labels
        except NoPathError:
            continue
        expected: list[list[int] | None] = []
        for t in range(T):
            allowed = np.ones((T, L), np.bool_)
            allowed[t, np.arange(L) == best[t] if groups is None else groups == groups[best[t]]] = False
            expected.append(best_of(lambda bound: chain.viterbi(bound).labels, chain.constrain(made, allowed=allowed)))
        agree(rivals(LabelLattice(made), best.tolist(), groups), expected, 1)
        asked += T
    assert asked > 200


def best_of(viterbi: Any, bound: Any) -> list[int] | None:
    try:
        return [int(label) for label in viterbi(bound)]
    except NoPathError:
        return None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("most", [1, 1 << 21])
def test_second_order(kind: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tagline.chain.second_order.rivals.MOST_TRIPLES", most)
    random, asked = np.random.default_rng(2), 0
    for _ in range(60):
        L, T = (int(n) for n in random.integers(1, (5, 8)))
        triples = random.integers(0, L, (int(random.integers(0, 2 * L)), 3))
        values = scores(random, "ties" if kind == "forbidden" else kind, len(triples))
        made = SecondOrderChain(drawn(random, kind, T, L, random.random() < 0.5), Triples.of(L, triples, values))
        try:
            best = second_order.viterbi(made).labels
        except NoPathError:
            continue
        expected = []
        for t in range(T):
            allowed = np.arange(L) != np.where(np.arange(T) == t, best, -1)[:, None]
            bound = second_order.constrain(made, allowed=allowed)
            expected.append(best_of(lambda bound: second_order.viterbi(bound).labels, bound))
        agree(rivals(PairLattice(SecondOrderScores(made)), best.tolist()), expected, 2)
        asked += T
    assert asked > 60


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scheme", ["IOB2", "IOE2", "BIOES"])
def test_segments(kind: str, scheme: str) -> None:
    random, ask, asked = np.random.default_rng(3), SegmentQuestions(), 0
    for _ in range(80):
        made = segmented(random, kind, scheme)
        T = made.chain.num_tokens
        try:
            best = segments.viterbi(made.chain)
        except NoPathError:
            continue
        tags = made.written(best.labels, best.begins)
        found = segment_rivals(made.chain, best, made.tags.roles, tags)
        for t, stretch in enumerate(found):
            allowed = np.arange(len(made.tags.labels)) != np.where(np.arange(T) == t, tags, -1)[:, None]
            try:
                rival = segments.viterbi(ask.constrain(made, allowed).chain)
            except NoPathError:
                assert stretch is None
                continue
            assert stretch is not None
            assert stretch.whole
            whole, own = rival.segments(made.offsets)[0], best.segments(made.offsets)[0]
            first, last = stretch.tokens.start, stretch.tokens.stop
            outside = [one for one in own if one[1] <= first or one[0] >= last]
            assert sorted([*outside, *stretch.rival]) == whole
            assert sorted([*outside, *stretch.best]) == own
            assert stretch.margin == pytest.approx(best.scores[0] - rival.scores[0], rel=0, abs=1e-9)
        asked += T
    assert asked > 100


def segmented(random: np.random.Generator, kind: str, scheme: str) -> TaggedSegments:
    tags = SegmentTags.of(
        ["O", "B-X", "B-Y"][: int(random.integers(2, 4))] if scheme != "IOE2" else ["O", "E-X"], scheme
    )
    L, T, D = tags.num_types, int(random.integers(1, 9)), int(random.integers(1, 6))
    start, end = scores(random, kind, L), scores(random, kind, L)
    values = scores(random, kind, T, D, L)
    values[:, 1:, -1] = -np.inf
    for n in range(min(D, T)):
        values[n, n + 1 :] = -np.inf
    return TaggedSegments(SegmentChain(values, scores(random, kind, L, L), start, end), tags)


def test_a_rival_that_never_meets_the_best_labelling_is_followed_a_stated_way() -> None:
    T, stay = 3_000, np.where(np.eye(2, dtype=np.bool_), 0.0, -np.inf)
    found = rivals(LabelLattice(Chain(np.tile([0.5, 0.25], (T, 1)), stay)), [0] * T)
    assert [len(one.tokens) for one in found if one is not None and 100 <= one.tokens.start < T - 100] == [
        2 * module.NEAR + 1
    ] * (T - 200)
    assert not any(one.whole for one in found if one is not None)
    assert {one.margin for one in found if one is not None} == {0.25 * T}
    short = rivals(LabelLattice(Chain(np.tile([0.5, 0.25], (141, 1)), stay)), [0] * 141)
    assert all(one is not None and one.whole and len(one.tokens) == 141 for one in short)
