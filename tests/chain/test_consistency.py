"""Functions that must agree with each other, and a sentence's answers that must not depend on its batch."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline.chain import constrain, naive
from tagline.types import Chain

from .cases import (
    EXACT,
    MILD,
    Case,
    assert_close,
    cases,
    finite_sum,
    in_float32,
    largest_total,
    log_z_tolerance,
    longest,
    path_gap,
    probability_tolerance,
    random_chain,
    rounding,
    sentence_alone,
)

PER_TOKEN: dict[str, Callable[[ModuleType, Chain], Any]] = {
    "forward": lambda engine, chain: engine.forward(chain),
    "backward": lambda engine, chain: engine.backward(chain),
    "nodes": lambda engine, chain: engine.marginals(chain).nodes,
    "edges": lambda engine, chain: engine.marginals(chain, edges=True).edges,
    "best path": lambda engine, chain: engine.viterbi(chain).labels,
    "max marginal": lambda engine, chain: engine.max_marginal(chain),
    "expected emissions": lambda engine, chain: engine.expected_counts(chain).emissions,
    "gradient": lambda engine, chain: engine.gradients(chain, engine.viterbi(chain).labels).emissions,
}
PER_SENTENCE: dict[str, Callable[[ModuleType, Chain], Any]] = {
    "score": lambda engine, chain: engine.score(chain, naive.viterbi(chain).labels),
    "log partition": lambda engine, chain: engine.log_partition(chain),
    "log Z": lambda engine, chain: engine.marginals(chain).log_z,
    "best score": lambda engine, chain: engine.viterbi(chain).scores,
    "entropy": lambda engine, chain: engine.entropy(chain),
    "log p": lambda engine, chain: engine.gradients(chain, engine.viterbi(chain).labels).log_likelihood,
    "best scores": lambda engine, chain: [ranked.scores for ranked in engine.k_best(chain, 3)],
    "best probabilities": lambda engine, chain: [ranked.probabilities for ranked in engine.k_best(chain, 3)],
    "best labels": lambda engine, chain: [ranked.labels for ranked in engine.k_best(chain, 3)],
}


@pytest.fixture(scope="module", params=["free", "forbidden", "per position", "one that does not mix", "huge"])
def ragged(request: pytest.FixtureRequest) -> Callable[[str], Chain]:
    """A batch of 12 sentences over 6 labels, of one kind."""
    lengths = [3, 0, 17, 1, 8, 2, 33, 5, 16, 0, 9, 1]

    def make(dtype: str) -> Chain:
        rng = np.random.default_rng(11)
        if request.param == "huge":
            return random_chain(rng, 6, lengths, kind="huge reals", dtype=dtype).chain
        if request.param == "one that does not mix":
            chain = random_chain(rng, 6, lengths, dtype=dtype).chain
            apart = np.kron(np.eye(2, dtype=np.bool_), np.ones((3, 3), np.bool_))
            steep = chain.emissions.copy()
            steep[chain.offsets[6] : chain.offsets[7], :3] += 8 * np.sign(np.arange(33) - 15)[:, None]
            return constrain(Chain(steep, chain.transitions, offsets=chain.offsets), transitions=apart)
        forbidden = 0.2 if request.param == "forbidden" else 0.0
        each = request.param == "per position"
        return random_chain(rng, 6, lengths, dtype=dtype, forbidden=forbidden, per_position=each).chain

    return make


@pytest.mark.parametrize("name", PER_TOKEN)
def test_a_batch_does_not_change_a_token(engine: ModuleType, dtype: str, ragged: Any, name: str) -> None:
    chain = ragged(dtype)
    for b, part in enumerate(chain.split(PER_TOKEN[name](engine, chain))):
        assert part.tobytes() == PER_TOKEN[name](engine, sentence_alone(chain, b)).tobytes(), f"sentence {b}"


@pytest.mark.parametrize("name", PER_SENTENCE)
def test_a_batch_does_not_change_a_sentence(engine: ModuleType, dtype: str, ragged: Any, name: str) -> None:
    chain = ragged(dtype)
    for b, part in enumerate(PER_SENTENCE[name](engine, chain)):
        alone = PER_SENTENCE[name](engine, sentence_alone(chain, b))[0]
        assert part.tobytes() == alone.tobytes(), f"sentence {b}"


@given(case=cases())
def test_tables_meet_at_every_token(engine: ModuleType, case: Case) -> None:
    """Σ_j exp(log α + log β) is Z wherever a sentence is cut."""
    chain = case.chain
    meeting = engine.forward(chain) + engine.backward(chain)
    for rows, log_z in zip(chain.split(meeting), engine.log_partition(chain), strict=True):
        assert_close(np.logaddexp.reduce(rows, axis=1), [log_z] * len(rows), 2 * log_z_tolerance(engine, chain, log_z))


@given(case=cases(), k=st.integers(1, 12))
def test_k_best_is_sorted_unique_and_a_prefix_of_more(engine: ModuleType, case: Case, k: int) -> None:
    more, all_paths = engine.k_best(case.chain, k + 5), engine.k_best(case.chain, 100_000)
    best = engine.viterbi(case.chain)
    labels = case.chain.split(best.labels)
    for b, few in enumerate(engine.k_best(case.chain, k)):
        assert (np.diff(few.scores) <= 0).all()
        assert len(np.unique(few.labels, axis=0)) == len(few.labels) <= k
        assert few.labels.tolist() == more[b].labels[:k].tolist()
        assert few.scores.tolist() == more[b].scores[:k].tolist()
        if case.exact or not in_float32(engine, case.chain):
            assert few.labels[0].tolist() == labels[b].tolist()
        assert_close(few.scores[0], best.scores[b], path_gap(engine, case.chain))
        assert_close(all_paths[b].probabilities.sum(), 1.0, 4 * rounding(case.chain))


@given(case=cases(kinds=EXACT))
def test_both_forms_of_viterbi_agree(case: Case) -> None:
    stored, recomputed = naive.viterbi(case.chain), naive.viterbi_recomputed(case.chain)
    assert stored.labels.tolist() == recomputed.labels.tolist()
    assert stored.scores.tolist() == recomputed.scores.tolist()


@given(case=cases(kinds=MILD))
def test_entropy_by_three_formulas(engine: ModuleType, case: Case) -> None:
    chain = case.chain
    found, counts = engine.entropy(chain), engine.expected_counts(chain)
    tolerance = 16 * max(1, longest(chain)) * rounding(chain)
    every = [ranked.probabilities for ranked in engine.k_best(chain, 100_000)]
    assert_close(found, [-(p * np.log(np.where(p > 0, p, 1.0))).sum() for p in every], tolerance)
    mean_score = (
        finite_sum(counts.emissions, chain.emissions)
        + finite_sum(counts.transitions, chain.transitions)
        + finite_sum(counts.start, chain.start)
        + finite_sum(counts.end, chain.end)
    )
    loose = largest_total(chain) * chain.num_tokens * probability_tolerance(engine, chain)
    assert_close(found.sum(), counts.log_z.sum() - mean_score, 4 * max(tolerance, loose))


def test_entropy_of_a_long_sentence(engine: ModuleType, dtype: str) -> None:
    chain = random_chain(np.random.default_rng(3), 7, [400], dtype=dtype, forbidden=0.1).chain
    counts = engine.expected_counts(chain)
    pairs = ((counts.emissions, chain.emissions), (counts.transitions, chain.transitions))
    edges = ((counts.start, chain.start), (counts.end, chain.end))
    mean_score = sum(finite_sum(uses, scores) for uses, scores in (*pairs, *edges))
    rtol = 1e-6 if dtype == "float32" else 1e-11
    np.testing.assert_allclose(engine.entropy(chain)[0], counts.log_z[0] - mean_score, rtol=rtol)


@given(case=cases(), data=st.data())
def test_a_span_and_its_complement_are_certain_together(engine: ModuleType, case: Case, data: st.DataObject) -> None:
    """The ways to miss a span, by the first token that misses it, make up the rest."""
    chain, L = case.chain, case.chain.num_labels
    spans, owners = [], []
    for b, T in enumerate(chain.lengths.tolist()):
        if T == 0 or L == 1:
            continue
        first = data.draw(st.integers(0, T - 1))
        size = data.draw(st.integers(1, T - first))
        sets = [data.draw(st.sets(st.integers(0, L - 1), min_size=1, max_size=L - 1)) for _ in range(size)]
        spans.append((b, first, sets))
        misses = [[*sets[:i], set(range(L)) - sets[i]] for i in range(size)]
        spans.extend((b, first, miss) for miss in misses)
        owners.append(1 + size)
    found = engine.span_probability(chain, spans)
    tolerance = 8 * rounding(chain)
    for part in np.split(found, np.cumsum(owners)[:-1] if owners else []):
        if len(part):
            assert_close(part.sum(), 1.0, len(part) * tolerance)


@given(case=cases(), data=st.data())
def test_a_span_is_the_ratio_of_two_sums(engine: ModuleType, case: Case, data: st.DataObject) -> None:
    chain = case.chain
    for b, T in enumerate(chain.lengths.tolist()):
        if T:
            n = data.draw(st.integers(0, T - 1))
            labels = data.draw(st.sets(st.integers(0, chain.num_labels - 1), min_size=1))
            inside = constrain(chain, allowed={int(chain.offsets[b]) + n: labels})
            share = engine.log_partition(inside, allow_no_path=True)[b] - engine.log_partition(chain)[b]
            found = engine.span_probability(chain, [(b, n, [labels])])[0]
            assert_close(found, np.exp(share), 4 * log_z_tolerance(engine, chain, engine.log_partition(chain)[b]))


@given(case=cases())
def test_the_gradient_is_the_gold_path_less_the_expected_one(engine: ModuleType, case: Case) -> None:
    chain = case.chain
    gradients, counts = engine.gradients(chain, case.labels), engine.expected_counts(chain)
    tolerance = 4 * max(1, chain.num_tokens) * probability_tolerance(engine, chain)
    gold = engine.expected_counts(constrain(chain, known=case.labels))
    for name in ("emissions", "transitions", "start", "end"):
        difference = getattr(gold, name) - getattr(counts, name)
        assert_close(getattr(gradients, name), difference, tolerance, name)
    log_z = engine.log_partition(chain)
    expected = engine.score(chain, case.labels) - log_z
    assert_close(gradients.log_likelihood, expected, 2 * log_z_tolerance(engine, chain, log_z))
