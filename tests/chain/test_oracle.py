"""Every function of every engine against the enumeration of all labellings."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline.types import Chain

from .cases import (
    EXACT,
    Case,
    assert_close,
    cases,
    log_z_tolerance,
    longest,
    path_gap,
    probability_tolerance,
    random_chain,
    rounding,
)
from .enumeration import enumerate_chain, join


@given(case=cases(), seed=st.integers(0, 2**32 - 1))
def test_score(engine: ModuleType, case: Case, seed: int) -> None:
    chain = case.chain
    anything = np.random.default_rng(seed).integers(0, chain.num_labels, chain.num_tokens)
    for labels in (case.labels, anything):
        expected = [s.score(y) for s, y in zip(enumerate_chain(chain), chain.split(labels), strict=True)]
        assert_close(engine.score(chain, labels), expected, 0.0 if case.exact else rounding(chain))


@given(case=cases())
def test_log_partition(engine: ModuleType, case: Case) -> None:
    expected = [s.log_z for s in enumerate_chain(case.chain)]
    assert_close(engine.log_partition(case.chain), expected, log_z_tolerance(engine, case.chain, expected))


@given(case=cases())
def test_forward(engine: ModuleType, case: Case) -> None:
    expected = join(case.chain, [s.log_alpha for s in enumerate_chain(case.chain)])
    assert_close(engine.forward(case.chain), expected, rounding(case.chain))


@given(case=cases())
def test_backward(engine: ModuleType, case: Case) -> None:
    expected = join(case.chain, [s.log_beta for s in enumerate_chain(case.chain)])
    assert_close(engine.backward(case.chain), expected, rounding(case.chain))


@given(case=cases())
def test_marginals(engine: ModuleType, case: Case) -> None:
    chain, sentences = case.chain, enumerate_chain(case.chain)
    tolerance = probability_tolerance(engine, chain)
    full, nodes_only = engine.marginals(chain, edges=True), engine.marginals(chain)
    assert_close(full.nodes, join(chain, [s.nodes for s in sentences]), tolerance, "nodes")
    assert_close(full.edges, join(chain, [s.edges for s in sentences], chain.num_labels), tolerance, "edges")
    log_z = [s.log_z for s in sentences]
    assert_close(full.log_z, log_z, log_z_tolerance(engine, chain, log_z), "log Z")
    assert nodes_only.edges is None
    assert nodes_only.nodes.tobytes() == full.nodes.tobytes()
    assert nodes_only.log_z.tobytes() == full.log_z.tobytes()


@given(case=cases(kinds=EXACT))
def test_best_path_of_exact_scores_is_the_smallest_from_its_end(engine: ModuleType, case: Case) -> None:
    found = engine.viterbi(case.chain)
    for b, (sentence, labels) in enumerate(
        zip(enumerate_chain(case.chain), case.chain.split(found.labels), strict=True)
    ):
        first = sentence.ranking[0]
        assert labels.tolist() == sentence.paths[first].tolist()
        assert found.scores[b] == sentence.scores[first]


@given(case=cases(kinds=["reals", "wide", "huge reals"]))
def test_best_path_of_real_scores(engine: ModuleType, case: Case) -> None:
    found = engine.viterbi(case.chain)
    gap = path_gap(engine, case.chain)
    for b, (sentence, labels) in enumerate(
        zip(enumerate_chain(case.chain), case.chain.split(found.labels), strict=True)
    ):
        assert sentence.score(labels) >= sentence.scores.max() - gap
        assert_close(found.scores[b], sentence.score(labels), rounding(case.chain))


@given(case=cases(kinds=EXACT), k=st.sampled_from([1, 2, 3, 7, 1000]))
def test_k_best_of_exact_scores(engine: ModuleType, case: Case, k: int) -> None:
    ranked = engine.k_best(case.chain, k)
    for found, sentence in zip(ranked, enumerate_chain(case.chain), strict=True):
        best = sentence.ranking[:k]
        assert found.labels.tolist() == sentence.paths[best].tolist()
        assert found.scores.tolist() == sentence.scores[best].tolist()
        assert_close(found.probabilities, sentence.probabilities[best], rounding(case.chain))


@given(case=cases(kinds=["reals", "wide", "huge reals"]), k=st.sampled_from([1, 2, 3, 7, 1000]))
def test_k_best_of_real_scores(engine: ModuleType, case: Case, k: int) -> None:
    tolerance = rounding(case.chain)
    for found, sentence in zip(engine.k_best(case.chain, k), enumerate_chain(case.chain), strict=True):
        best = sentence.ranking[:k]
        own = np.array([sentence.score(labels) for labels in found.labels])
        assert_close(np.sort(own)[::-1], sentence.scores[best], tolerance, "each rank has the score it should have")
        assert_close(found.scores, own, tolerance)
        assert_close(found.probabilities, np.exp(own - sentence.log_z), tolerance)
        assert len({tuple(labels) for labels in found.labels.tolist()}) == len(best)


@given(case=cases())
def test_entropy(engine: ModuleType, case: Case) -> None:
    expected = [s.entropy for s in enumerate_chain(case.chain)]
    assert_close(engine.entropy(case.chain), expected, 8 * max(1, longest(case.chain)) * rounding(case.chain))


@given(case=cases())
def test_max_marginal(engine: ModuleType, case: Case) -> None:
    nodes = join(case.chain, [s.nodes for s in enumerate_chain(case.chain)])
    chosen = engine.max_marginal(case.chain)
    assert chosen.shape == (case.chain.num_tokens,)
    best = nodes.max(axis=1, initial=0.0)
    assert (nodes[np.arange(len(chosen)), chosen] >= best - 2 * probability_tolerance(engine, case.chain)).all()


@given(case=cases(), data=st.data())
def test_span_probability(engine: ModuleType, case: Case, data: st.DataObject) -> None:
    chain, sentences = case.chain, enumerate_chain(case.chain)
    label_sets = st.sets(st.integers(0, chain.num_labels - 1), min_size=1)
    spans, expected = [], []
    for b, sentence in enumerate(sentences):
        for first in range(sentence.length):
            size = data.draw(st.integers(1, sentence.length - first))
            sets = data.draw(st.lists(label_sets, min_size=size, max_size=size))
            spans.append((b, first, [next(iter(one)) if len(one) == 1 else one for one in sets]))
            expected.append(sentence.probability(first, sets))
    assert_close(engine.span_probability(chain, spans), expected, 2 * rounding(chain))


@given(case=cases())
def test_expected_counts(engine: ModuleType, case: Case) -> None:
    chain, sentences = case.chain, enumerate_chain(case.chain)
    found = engine.expected_counts(chain)
    tolerance = max(1, chain.num_tokens) * probability_tolerance(engine, chain)
    uses = [s.expected_uses() for s in sentences]
    assert_close(found.emissions, join(chain, [u[0] for u in uses]), tolerance, "emissions")
    assert_close(found.transitions, _transitions(chain, [u[1] for u in uses]), tolerance, "transitions")
    assert_close(found.start, sum((u[2] for u in uses), np.zeros(chain.num_labels)), tolerance, "start")
    assert_close(found.end, sum((u[3] for u in uses), np.zeros(chain.num_labels)), tolerance, "end")
    log_z = [s.log_z for s in sentences]
    assert_close(found.log_z, log_z, log_z_tolerance(engine, chain, log_z), "log Z")


@given(case=cases())
def test_gradients(engine: ModuleType, case: Case) -> None:
    chain, sentences = case.chain, enumerate_chain(case.chain)
    found = engine.gradients(chain, case.labels)
    tolerance = max(1, chain.num_tokens) * probability_tolerance(engine, chain)
    steps = []
    for sentence, labels in zip(sentences, chain.split(case.labels), strict=True):
        seen, mean = sentence.uses(labels), sentence.expected_uses()
        steps.append([a - b for a, b in zip(seen, mean, strict=True)])
    assert_close(found.emissions, join(chain, [s[0] for s in steps]), tolerance, "emissions")
    assert_close(found.transitions, _transitions(chain, [s[1] for s in steps]), tolerance, "transitions")
    assert_close(found.start, sum((s[2] for s in steps), np.zeros(chain.num_labels)), tolerance, "start")
    assert_close(found.end, sum((s[3] for s in steps), np.zeros(chain.num_labels)), tolerance, "end")
    log_z = np.array([s.log_z for s in sentences])
    own = [s.score(y) for s, y in zip(sentences, chain.split(case.labels), strict=True)] - log_z
    assert_close(found.log_likelihood, own, 2 * log_z_tolerance(engine, chain, log_z), "log p")


def _transitions(chain: Chain, parts: list[np.ndarray]) -> np.ndarray:
    by_position = join(chain, parts, chain.num_labels)
    return by_position if chain.per_position else by_position.sum(axis=0)


@pytest.mark.parametrize("lengths", [[], [0], [0, 0], [1], [0, 1, 0], [2, 0, 1], [5]], ids=str)
@pytest.mark.parametrize("num_labels", [1, 2])
@pytest.mark.parametrize("each", [False, True], ids=["shared", "per position"])
def test_corner_sizes(engine: ModuleType, dtype: str, each: bool, num_labels: int, lengths: list[int]) -> None:
    rng = np.random.default_rng(len(lengths))
    case = random_chain(rng, num_labels, lengths, dtype=dtype, per_position=each)
    chain, sentences = case.chain, enumerate_chain(case.chain)
    log_z = [s.log_z for s in sentences]
    assert_close(engine.log_partition(chain), log_z, log_z_tolerance(engine, chain, log_z))
    posterior = engine.marginals(chain, edges=True)
    assert posterior.nodes.shape == (sum(lengths), num_labels)
    assert posterior.edges.shape == (sum(lengths), num_labels, num_labels)
    for b, (one, sentence) in enumerate(zip(engine.k_best(chain, 2), sentences, strict=True)):
        assert one.labels.shape == (min(2, num_labels ** lengths[b]), lengths[b])
        assert_close(one.scores, sentence.scores[sentence.ranking[:2]], rounding(chain))
    assert engine.viterbi(chain).labels.shape == engine.max_marginal(chain).shape == (sum(lengths),)
    assert engine.sample(chain, np.zeros((3, sum(lengths)))).shape == (3, sum(lengths))
    assert engine.entropy(chain).shape == engine.viterbi(chain).scores.shape == (len(lengths),)
    assert engine.expected_counts(chain).transitions.shape == chain.transitions.shape
    assert engine.gradients(chain, case.labels).emissions.shape == chain.emissions.shape
