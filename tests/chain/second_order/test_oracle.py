"""Second-order chains against the enumeration of all labellings, on NumPy and on every instruction set of the core."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagline import Chain, InputError, NoPathError, chain, compiled
from tagline.chain import second_order
from tagline.chain.second_order import PairChain, SecondOrderChain, Triples

from .cases import AllLabellings, draw

ENGINES = ["naive", *(["native"] if compiled.core is not None else [])]
CLOSE = {"rtol": 1e-11, "atol": 1e-11}


@pytest.fixture(params=ENGINES, autouse=True)
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    with chain.using_engine(request.param):
        yield request.param


shapes = st.tuples(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 5), max_size=3), st.integers(1, 3))
kinds = st.fixed_dictionaries(
    {
        "per_position": st.booleans(),
        "forbidden": st.sampled_from([0.0, 0.2]),
        "scale": st.sampled_from([2.0, 40.0, 400.0]),
        "observed": st.sampled_from([0.0, 0.5, 1.0]),
    }
)


@settings(max_examples=40)
@given(shape=shapes, kind=kinds)
def test_sums_over_all_labellings(shape: tuple[int, list[int], int], kind: dict[str, float]) -> None:
    scored = draw(*shape, **kind)
    oracles = [AllLabellings(scored, b) for b in range(scored.num_sentences)]
    log_z = second_order.log_partition(scored, allow_no_path=True)
    np.testing.assert_allclose(log_z, [oracle.log_z for oracle in oracles], **CLOSE)
    if any(oracle.log_z == -math.inf for oracle in oracles):
        dead = next(b for b, oracle in enumerate(oracles) if oracle.log_z == -math.inf)
        for question in (second_order.log_partition, second_order.viterbi, second_order.expected_counts):
            with pytest.raises(NoPathError, match=f"sentence {dead}: "):
                question(scored)
        return
    counts = second_order.expected_counts(scored)
    np.testing.assert_allclose(counts.log_z, log_z, **CLOSE)
    np.testing.assert_array_equal(second_order.marginals(scored).nodes, counts.emissions)
    np.testing.assert_allclose(second_order.entropy(scored), [o.entropy() for o in oracles], rtol=1e-9, atol=1e-9)
    if oracles:
        nodes, pairs, triples = zip(*(oracle.counts() for oracle in oracles), strict=True)
        np.testing.assert_allclose(counts.emissions, np.concatenate(nodes), **CLOSE)
        np.testing.assert_allclose(counts.transitions, sum(pairs), **CLOSE)
        np.testing.assert_allclose(counts.start, sum(row[0] for row in nodes if len(row)), **CLOSE)
        np.testing.assert_allclose(counts.end, sum(row[-1] for row in nodes if len(row)), **CLOSE)
        rows = scored.triples.rows
        np.testing.assert_allclose(counts.triples[rows[rows >= 0]], sum(triples)[rows >= 0], **CLOSE)


@settings(max_examples=40)
@given(shape=shapes, integers=st.booleans(), per_position=st.booleans())
def test_the_best_labellings(shape: tuple[int, list[int], int], integers: bool, per_position: bool) -> None:
    scored = draw(*shape, integers=integers, per_position=per_position, forbidden=0.1)
    ranked = [AllLabellings(scored, b).ranked() for b in range(scored.num_sentences)]
    if not all(ranked):
        return
    best = second_order.viterbi(scored)
    assert [tuple(row.tolist()) for row in scored.split(best.labels)] == [rows[0][1] for rows in ranked]
    np.testing.assert_allclose(best.scores, [rows[0][0] for rows in ranked], **CLOSE)
    np.testing.assert_allclose(second_order.score(scored, best.labels), best.scores, **CLOSE)
    for rows, ours in zip(ranked, second_order.k_best(scored, 7), strict=True):
        np.testing.assert_allclose(ours.scores, [score for score, _ in rows[:7]], **CLOSE)
        if not integers:
            assert [tuple(row) for row in ours.labels.tolist()] == [labels for _, labels in rows[:7]]
        total = np.logaddexp.reduce([score for score, _ in rows])
        np.testing.assert_allclose(ours.probabilities, np.exp(ours.scores - total), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 300.0])
def test_samples_have_the_probabilities_of_labellings(scale: float) -> None:
    scored = draw(3, [4, 1, 2], 3, scale=scale, forbidden=0.1)
    drawn = second_order.sample(scored, 4000, seed=1)
    for b, labels in enumerate(np.split(drawn, scored.offsets[1:-1], axis=1)):
        oracle = AllLabellings(scored, b)
        seen = Counter(map(tuple, labels.tolist()))
        shares = np.array([seen[y] for y in oracle.labellings]) / 4000
        np.testing.assert_allclose(shares, oracle.probabilities, rtol=0, atol=0.035)
        assert all(p > 0 for y, p in zip(oracle.labellings, oracle.probabilities, strict=True) if seen[y])


def test_a_chain_over_pairs_has_the_same_distribution() -> None:
    scored = draw(5, [5], 3, forbidden=0.1)
    pairs, oracle = PairChain(scored, 0), AllLabellings(scored, 0)
    np.testing.assert_allclose(chain.log_partition(pairs), [oracle.log_z], **CLOSE)
    for ranked, (score, labels) in zip(chain.k_best(pairs, 5)[0].labels, oracle.ranked()[:5], strict=True):
        assert tuple(pairs.labels[ranked].tolist()) == labels
        np.testing.assert_allclose(chain.score(pairs, ranked), [score], **CLOSE)


def test_labels_that_are_known_hold() -> None:
    scored = draw(6, [4, 3], 3)
    known = np.array([-1, 2, -1, 0, 1, -1, -1])
    bound = second_order.constrain(scored, known=known)
    for b, oracle in enumerate(AllLabellings(scored, b) for b in range(2)):
        held = known[scored.offsets[b] : scored.offsets[b + 1]]
        fit = [
            score
            for score, y in zip(oracle.scores, oracle.labellings, strict=True)
            if all(label in (-1, mine) for label, mine in zip(held, y, strict=True))
        ]
        np.testing.assert_allclose(second_order.log_partition(bound)[b], np.logaddexp.reduce(fit), **CLOSE)


@pytest.mark.parametrize("cpu", compiled.supported_cpus())
@pytest.mark.parametrize("L", [7, 8, 19])
def test_every_instruction_set_has_the_sums_of_the_definition(L: int, cpu: str, engine: str) -> None:
    if engine == "naive":
        return
    scored = draw(L, [6, 1, 3], L, scale=1.0, forbidden=0.05)
    with chain.using_engine("naive"):
        expected, best = second_order.expected_counts(scored), second_order.viterbi(scored)
    before = str(compiled.cpu())
    compiled.use_cpu(cpu)
    try:
        ours, path = second_order.expected_counts(scored), second_order.viterbi(scored)
    finally:
        compiled.use_cpu(before)
    for name in ("log_z", "emissions", "transitions", "start", "end", "triples"):
        np.testing.assert_allclose(getattr(ours, name), getattr(expected, name), rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(path.labels, best.labels)


@pytest.mark.parametrize("cpu", compiled.supported_cpus() or [""])
@pytest.mark.parametrize("far", [1e14, 1e16, -1e30])
def test_tokens_far_from_0(far: float, cpu: str, engine: str) -> None:
    """All labels of a token have the same score, far from 0, and the other scores decide."""
    near = draw(2, [4, 0, 3], 3, forbidden=0.1)
    c, before = near.chain, compiled.cpu()
    chains = [
        Chain(np.where(np.isneginf(c.emissions), c.emissions, score), c.transitions, c.start, c.end, c.offsets)
        for score in (0.0, far)
    ]
    near, away = (SecondOrderChain(chain, near.triples) for chain in chains)
    oracles = [AllLabellings(near, b) for b in range(3)]
    if cpu:
        compiled.use_cpu(cpu)
    try:
        counts, best = second_order.expected_counts(away), second_order.viterbi(away)
        ranked, entropy = second_order.k_best(away, 3), second_order.entropy(away)
        same = second_order.sample(away, 20, seed=0) == second_order.sample(near, 20, seed=0)
    finally:
        if cpu:
            compiled.use_cpu(str(before))
    np.testing.assert_allclose(counts.emissions, np.concatenate([o.counts()[0] for o in oracles]), **CLOSE)
    np.testing.assert_allclose(entropy, [oracle.entropy() for oracle in oracles], **CLOSE)
    assert same.all()
    for b, (oracle, paths) in enumerate(zip(oracles, ranked, strict=True)):
        first = oracle.ranked()[:3]
        assert [tuple(row) for row in paths.labels.tolist()] == [labels for _, labels in first]
        np.testing.assert_allclose(paths.probabilities, [np.exp(score - oracle.log_z) for score, _ in first], **CLOSE)
        assert tuple(away.split(best.labels)[b].tolist()) == first[0][1]
        assert best.scores[b] == paths.scores[0]


def test_scores_that_never_mix_keep_their_digits() -> None:
    """Two groups of labels that never meet drift apart by e^4000: a number of exp space holds no more than e^709."""
    T, never = 400, -np.inf
    transitions = np.array([[0.0, never], [never, 0.0]])
    emissions = np.tile([0.0, -10.0], (T, 1))
    emissions[-1] = [-4000.0, 0.0]
    scored = SecondOrderChain(Chain(emissions, transitions), Triples.of(2, [[0, 0, 0], [1, 1, 1]], [0.0, 0.01]))
    a, b = -4000.0, -10.0 * (T - 1) + 0.01 * (T - 2)
    counts = second_order.expected_counts(scored)
    np.testing.assert_allclose(counts.log_z, [np.logaddexp(a, b)], rtol=1e-12)
    share = 1 / (1 + math.exp(b - a))
    np.testing.assert_allclose(counts.emissions[:, 0], share, rtol=1e-9)


def test_what_is_no_triple_is_refused() -> None:
    with pytest.raises(InputError, match=r"^triples: "):
        Triples.of(2, [[0, 1, 2]], [1.0])
    with pytest.raises(InputError, match=r"^scores: "):
        Triples.of(2, [[0, 1, 1]], [math.nan])
    with pytest.raises(InputError, match=r"^triples: "):
        SecondOrderChain(Chain(np.zeros((1, 3)), np.zeros((3, 3))), Triples.of(2, [], []))
