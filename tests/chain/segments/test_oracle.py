"""Segment chains against the enumeration of all segmentations, on both engines."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagline import Chain, InputError, NoPathError, compiled
from tagline import chain as tokens_chain
from tagline.chain import segments
from tagline.chain.segments import SegmentChain
from tagline.chain.segments.types import listed

from .cases import draw
from .enumeration import AllSegmentations, segmentations

ENGINES = ["naive", *(["native"] if compiled.core is not None else [])]
CLOSE = {"rtol": 1e-11, "atol": 1e-11}


@pytest.fixture(params=ENGINES, autouse=True)
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    with tokens_chain.using_engine(request.param):
        yield request.param


shapes = st.tuples(
    st.integers(0, 2**32 - 1), st.lists(st.integers(0, 5), max_size=3), st.integers(1, 4), st.integers(1, 3)
)


@given(shape=shapes, forbidden=st.sampled_from([0.0, 0.2]))
def test_sums_over_all_segmentations(shape: tuple[int, list[int], int, int], forbidden: float) -> None:
    chain = draw(*shape, forbidden=forbidden)
    oracles = [AllSegmentations(chain, b) for b in range(chain.num_sentences)]
    log_z = segments.log_partition(chain, allow_no_path=True)
    np.testing.assert_allclose(log_z, [oracle.log_z for oracle in oracles], **CLOSE)
    if any(oracle.log_z == -math.inf for oracle in oracles):
        dead = next(b for b, oracle in enumerate(oracles) if oracle.log_z == -math.inf)
        for question in (segments.log_partition, segments.viterbi, segments.expected_counts, segments.entropy):
            with pytest.raises(NoPathError, match=f"sentence {dead}: "):
                question(chain)
        return
    counts, marginals = segments.expected_counts(chain), segments.marginals(chain)
    expected = [oracle.counts() for oracle in oracles]
    if expected:
        np.testing.assert_allclose(counts.segments, np.concatenate([row[0] for row in expected]), **CLOSE)
        for ours, place in ((counts.transitions, 1), (counts.start, 2), (counts.end, 3)):
            np.testing.assert_allclose(ours, sum(row[place] for row in expected), **CLOSE)
        np.testing.assert_allclose(marginals.tokens, np.concatenate([oracle.tokens() for oracle in oracles]), **CLOSE)
    np.testing.assert_allclose(counts.log_z, log_z, **CLOSE)
    np.testing.assert_allclose(segments.entropy(chain), [oracle.entropy() for oracle in oracles], **CLOSE)


@given(shape=shapes, longer=st.integers(0, 6), scale=st.sampled_from([1e6, 1e18, 1e200]), forbidden=st.booleans())
def test_huge_scores_have_probabilities(
    shape: tuple[int, list[int], int, int], longer: int, scale: float, forbidden: bool
) -> None:
    seed, lengths, D, L = shape
    chain = draw(seed, lengths, D + longer, L, forbidden=0.2 * forbidden, scale=scale)
    oracles = [AllSegmentations(chain, b) for b in range(chain.num_sentences)]
    if any(not oracle.ways for oracle in oracles):
        return
    counts = segments.expected_counts(chain)
    if oracles:
        np.testing.assert_allclose(
            counts.segments, np.concatenate([oracle.counts()[0] for oracle in oracles]), atol=1e-6
        )
        np.testing.assert_allclose(counts.transitions, sum(oracle.counts()[1] for oracle in oracles), atol=1e-6)
    np.testing.assert_allclose(counts.start.sum(), np.count_nonzero(chain.lengths), rtol=1e-12)
    np.testing.assert_allclose(segments.entropy(chain), [oracle.entropy() for oracle in oracles], atol=1e-6)


@given(shape=shapes, forbidden=st.sampled_from([0.0, 0.1]), whole=st.booleans())
def test_the_best_come_first(shape: tuple[int, list[int], int, int], forbidden: float, whole: bool) -> None:
    chain = draw(*shape, forbidden=forbidden, whole=whole)
    oracles = [AllSegmentations(chain, b) for b in range(chain.num_sentences)]
    if any(not oracle.ways for oracle in oracles):
        return
    best = segments.viterbi(chain)
    ranked = segments.k_best(chain, 7)
    for b, (oracle, ways) in enumerate(zip(oracles, best.segments(chain.offsets), strict=True)):
        first = oracle.ranked()[:7]
        assert tuple(ways) == first[0][0]
        assert best.scores[b] == pytest.approx(first[0][1], abs=1e-11)
        np.testing.assert_allclose(ranked[b].scores, [score for _, score in first], **CLOSE)
        np.testing.assert_allclose(ranked[b].probabilities.sum(), sum(sorted(oracle.probabilities)[::-1][:7]), **CLOSE)
        rows = [tuple(listed(*row)) for row in zip(ranked[b].labels, ranked[b].begins, strict=True)]
        assert len(set(rows)) == len(rows)
        if whole:
            assert rows == [way for way, _ in first]


def test_all_ones_count_the_segmentations() -> None:
    for T, D, L in itertools.product(range(6), (1, 2, 5), (1, 2)):
        chain = SegmentChain(np.zeros((T, D, L)), np.zeros((L, L)))
        assert np.exp(segments.log_partition(chain)[0]) == pytest.approx(len(list(segmentations(T, D, L))), rel=1e-12)


def test_segments_of_one_token_are_a_chain() -> None:
    rng = np.random.default_rng(3)
    emissions, transitions = rng.normal(size=(9, 4)), rng.normal(size=(4, 4))
    start, end, offsets = rng.normal(size=4), rng.normal(size=4), [0, 4, 4, 9]
    plain = Chain(emissions, transitions, start, end, offsets)
    chain = SegmentChain(emissions[:, None], transitions, start, end, offsets)
    np.testing.assert_allclose(segments.log_partition(chain), tokens_chain.log_partition(plain), **CLOSE)
    np.testing.assert_allclose(segments.marginals(chain).tokens, tokens_chain.marginals(plain).nodes, **CLOSE)
    np.testing.assert_allclose(segments.entropy(chain), tokens_chain.entropy(plain), **CLOSE)
    np.testing.assert_array_equal(segments.viterbi(chain).labels, tokens_chain.viterbi(plain).labels)


def test_gradients_are_slopes() -> None:
    chain = draw(5, [4, 0, 3], 3, 2, forbidden=0.1)
    labels, begins = segments.viterbi(chain).labels, segments.viterbi(chain).begins
    gradients, step = segments.gradients(chain, labels, begins), 1e-5
    arrays = {
        name: np.where(np.isnan(getattr(chain, name)), 0.0, getattr(chain, name))
        for name in ("scores", "transitions", "start", "end")
    }

    def log_likelihood(name: str, place: tuple[int, ...], change: float) -> float:
        moved = {key: array.copy() for key, array in arrays.items()}
        moved[name][place] += change
        other = SegmentChain(**moved, offsets=chain.offsets)
        return float((segments.score(other, labels, begins) - segments.log_partition(other)).sum())

    for name, ours in (
        ("scores", gradients.segments),
        ("transitions", gradients.transitions),
        ("start", gradients.start),
        ("end", gradients.end),
    ):
        for place in np.ndindex(ours.shape):
            slope = (log_likelihood(name, place, step) - log_likelihood(name, place, -step)) / (2 * step)
            expected = 0.0 if np.isneginf(arrays[name][place]) else slope
            assert ours[place] == pytest.approx(expected, abs=1e-9)
    np.testing.assert_allclose(
        gradients.log_likelihood, segments.score(chain, labels, begins) - segments.log_partition(chain), **CLOSE
    )


def test_samples_have_the_probabilities() -> None:
    chain = draw(1, [3, 2], 2, 2, scale=0.7, forbidden=0.1)
    draws = 4000
    drawn = [draw.segments(chain.offsets) for draw in segments.sample(chain, draws, seed=2)]
    for b in range(2):
        oracle = AllSegmentations(chain, b)
        counted = Counter(tuple(ways[b]) for ways in drawn)
        assert set(counted) <= {way for way, _ in oracle.ways}
        square = sum(
            (counted[way] - draws * p) ** 2 / (draws * p)
            for (way, _), p in zip(oracle.ways, oracle.probabilities, strict=True)
        )
        assert square < len(oracle.ways) + 5 * math.sqrt(2 * len(oracle.ways))


def test_spans_and_constraints() -> None:
    chain = draw(8, [4, 3], 3, 2)
    oracle = AllSegmentations(chain, 1)
    spans = [(1, 0, 2, 1), (1, 2, 3, 0), (1, 0, 3, 0)]
    expected = [
        sum(p for (way, _), p in zip(oracle.ways, oracle.probabilities, strict=True) if span[1:] in way)
        for span in spans
    ]
    np.testing.assert_allclose(segments.span_probability(chain, spans), expected, **CLOSE)

    def holds(bound: SegmentChain, rule: object) -> None:
        ways = {way for way, _ in AllSegmentations(bound, 0).ways}
        assert ways == {way for way, _ in AllSegmentations(chain, 0).ways if rule(way)}  # type: ignore[operator]

    def label_at(way: object, t: int) -> int:
        return next(label for first, last, label in way if first <= t < last)  # type: ignore[attr-defined]

    holds(segments.constrain(chain, known=[-1, 1, -1, -1, 0, -1, -1]), lambda way: label_at(way, 1) == 1)
    holds(segments.constrain(chain, allowed={2: [0]}), lambda way: label_at(way, 2) == 0)
    holds(
        segments.constrain(chain, longest=[1, 2]),
        lambda way: all(last - first <= label + 1 for first, last, label in way),
    )
    holds(
        segments.constrain(chain, boundaries=[-1, 1, 0, -1, -1, 1, -1]),
        lambda way: {first for first, _, _ in way} & {1, 2} == {1},
    )
    holds(
        segments.constrain(chain, transitions=[[True, False], [True, True]]),
        lambda way: (0, 1) not in itertools.pairwise(label for _, _, label in way),
    )
    holds(segments.constrain(chain, start=[True, False], end=[False, True]), lambda w: (w[0][2], w[-1][2]) == (0, 1))


@settings(max_examples=30)
@given(shape=shapes, far=st.sampled_from([0.0, 2.0**47, 2.0**54, -(2.0**54), 2.0**100]), tables=st.booleans())
def test_every_answer_where_scores_are_far_from_0(
    shape: tuple[int, list[int], int, int], far: float, tables: bool
) -> None:
    """Segments score so much a token, whatever their label, and transitions decide; or the other way round."""
    drawn = draw(*shape, forbidden=0.1)
    if any(not AllSegmentations(drawn, b).ways for b in range(drawn.num_sentences)):
        return
    sizes = np.arange(1, drawn.max_length + 1)[:, None]
    flat = np.where(np.isneginf(drawn.scores), drawn.scores, 0.0)
    rest = (drawn.transitions, drawn.start, drawn.end)
    if tables:  # each start has the score far, and the segments decide
        near = SegmentChain(drawn.scores, drawn.transitions, np.zeros(drawn.num_labels), drawn.end, drawn.offsets)
        away = SegmentChain(drawn.scores, drawn.transitions, np.full(drawn.num_labels, far), drawn.end, drawn.offsets)
    else:
        near = SegmentChain(flat, *rest, drawn.offsets)
        away = SegmentChain(flat + far * sizes, *rest, drawn.offsets)
    oracles = [AllSegmentations(near, b) for b in range(near.num_sentences)]
    assert segments.viterbi(away).labels.tolist() == segments.viterbi(near).labels.tolist()
    counts, entropy = segments.expected_counts(away), segments.entropy(away)
    if oracles:
        np.testing.assert_allclose(counts.segments, np.concatenate([o.counts()[0] for o in oracles]), atol=1e-9)
        np.testing.assert_allclose(counts.transitions, sum(o.counts()[1] for o in oracles), atol=1e-9)
    np.testing.assert_allclose(entropy, [oracle.entropy() for oracle in oracles], atol=1e-9)
    for oracle, ways, best in zip(oracles, segments.k_best(away, 3), segments.viterbi(away).scores, strict=True):
        assert [tuple(listed(*way)) for way in zip(ways.labels, ways.begins, strict=True)] == [
            way for way, _ in oracle.ranked()[:3]
        ]
        np.testing.assert_allclose(ways.probabilities, np.exp([s - oracle.log_z for _, s in oracle.ranked()[:3]]))
        assert ways.scores[0] == best
    gold = segments.viterbi(near)
    slopes = segments.gradients(away, gold.labels, gold.begins)
    np.testing.assert_allclose(slopes.log_likelihood, [o.ranked()[0][1] - o.log_z for o in oracles], atol=1e-9)
    drawn_near, drawn_away = (segments.sample(chain, 5, seed=1) for chain in (near, away))
    for one, other in zip(drawn_near, drawn_away, strict=True):
        assert one.labels.tolist() == other.labels.tolist()


@settings(max_examples=30)
@given(shape=shapes)
def test_boundaries_hold_in_their_own_sentence(shape: tuple[int, list[int], int, int]) -> None:
    chain = draw(*shape, whole=True)
    boundaries = np.random.default_rng(shape[0]).integers(-1, 2, chain.num_tokens)
    bound = segments.constrain(chain, boundaries=boundaries)
    expected = []
    for b, rule in enumerate(chain.split(boundaries)):
        held = [
            score
            for way, score in AllSegmentations(chain, b).ways
            if all(must == (t in {first for first, _, _ in way}) for t, must in enumerate(rule.tolist()) if must >= 0)
        ]
        expected.append(np.logaddexp.reduce([-np.inf, *held]))
    np.testing.assert_allclose(segments.log_partition(bound, allow_no_path=True), expected, **CLOSE)


def test_large_scores_and_long_sentences_stay_exact() -> None:
    """Scores far apart: nothing is lost to underflow, and probabilities still add up."""
    chain = draw(4, [300], 6, 3, scale=300.0)
    counts = segments.expected_counts(chain)
    np.testing.assert_allclose(segments.marginals(chain).tokens.sum(axis=1), 1.0, rtol=0, atol=1e-9)
    with tokens_chain.using_engine("naive"):
        np.testing.assert_allclose(counts.log_z, segments.log_partition(chain), rtol=1e-12)
        np.testing.assert_allclose(counts.segments, segments.expected_counts(chain).segments, rtol=0, atol=1e-9)


@pytest.mark.skipif(compiled.core is None, reason="needs the compiled core")
def test_threads_do_not_change_a_byte() -> None:
    chain = draw(9, [40] * 60, 5, 3)
    before, answers = compiled.threads(), []
    with tokens_chain.using_engine("native"):
        for count in (1, 3):
            compiled.set_threads(count)
            counts = segments.expected_counts(chain)
            answers.append([array.tobytes() for array in vars(counts).values()])
    compiled.set_threads(before)
    assert answers[0] == answers[1]


def test_errors_say_what_was_expected() -> None:
    chain = draw(0, [3], 2, 2)
    cases = [
        (lambda: SegmentChain(np.zeros((3, 2)), [[0.0]]), r"^scores: "),
        (
            lambda: SegmentChain(np.full((1, 1, 1), np.nan), [[0.0]]),
            r"^scores\[0, 0, 0\]: ",
        ),
        (lambda: SegmentChain(np.zeros((1, 1, 2)), [[0.0]]), r"^transitions: "),
        (lambda: SegmentChain(np.array([[["a"]]]), [[0.0]]), r"^scores: "),
        (lambda: segments.score(chain, [0, 0, 0], [False, True, True]), r"^begins\[0\]: "),
        (lambda: segments.score(chain, [0, 1, 1], [True, False, True]), r"^labels\[1\]: "),
        (lambda: segments.score(chain, [0, 0, 0], [True, False, False]), r"^begins\[0\]: "),
        (lambda: segments.score(chain, [0, 0, 0], [1, 0, 0]), r"^begins: "),
        (lambda: segments.span_probability(chain, [(1, 0, 1, 0)]), r"^spans\[0\]: "),
        (lambda: segments.span_probability(chain, [(0, 0, 3, 0)]), r"^spans\[0\]: "),
        (lambda: segments.span_probability(chain, [(0, 0, 1, 2)]), r"^spans\[0\]: "),
        (lambda: segments.span_probability(chain, [3]), r"^spans\[0\]: "),
        (lambda: segments.k_best(chain, 0), r"^k: "),
        (lambda: segments.constrain(chain, longest=[1]), r"^longest: "),
    ]
    for ask, place in cases:
        with pytest.raises(InputError, match=place):
            ask()


def test_many_ways_and_long_sentences() -> None:
    chain = draw(3, [20], 4, 2)
    ranked = segments.k_best(chain, 3000)[0]
    assert len(ranked.scores) == 3000
    assert (np.diff(ranked.scores) <= 0).all()
    assert (
        len({(*labels, *begins) for labels, begins in zip(ranked.labels.tolist(), ranked.begins.tolist(), strict=True)})
        == 3000
    )
    for row in (0, 1500, 2999):
        assert segments.score(chain, ranked.labels[row], ranked.begins[row])[0] == pytest.approx(ranked.scores[row])
    long = SegmentChain(np.zeros((20_000, 2, 1)), [[-1.0]])  # two tokens each, but for one at either end, or two
    assert segments.k_best(long, 3)[0].scores.tolist() == [-9999.0, -10000.0, -10000.0]


def test_more_than_memory_holds() -> None:
    chain = draw(3, [20], 4, 2)
    for count in (10**14, 2**70):
        with pytest.raises(InputError, match=r"^count: .* GiB"):
            segments.sample(chain, count)
