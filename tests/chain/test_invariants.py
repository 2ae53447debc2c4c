"""What must hold for any chain: sums, bounds, shifts, symmetry, time reversal, counting."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline.chain import constrain
from tagline.types import Chain

from .cases import (
    MILD,
    Case,
    assert_close,
    cases,
    log_z_tolerance,
    path_gap,
    probability_tolerance,
    random_chain,
    rounding,
)


@given(case=cases())
def test_marginals_sum_to_one_and_edges_marginalise(engine: ModuleType, case: Case) -> None:
    chain = case.chain
    found = engine.marginals(chain, edges=True)
    tolerance = 4 * probability_tolerance(engine, chain)
    assert_close(found.nodes.sum(axis=1), np.ones(chain.num_tokens), tolerance)
    assert found.nodes.min(initial=0.0) >= 0
    assert found.nodes.max(initial=0.0) <= 1 + tolerance
    for nodes, edges in zip(chain.split(found.nodes), chain.split(found.edges), strict=True):
        assert not edges[:1].any()
        assert_close(edges[1:].sum(axis=1), nodes[1:], tolerance, "over the previous label")
        assert_close(edges[1:].sum(axis=2), nodes[:-1], tolerance, "over the next label")


@given(case=cases())
def test_forbidden_scores_have_probability_zero(engine: ModuleType, case: Case) -> None:
    chain = case.chain
    found = engine.marginals(chain, edges=True)
    counts = engine.expected_counts(chain)
    assert not found.nodes[np.isneginf(chain.emissions)].any()
    if chain.per_position:
        assert not found.edges[np.isneginf(chain.transitions)].any()
    else:
        assert not found.edges[:, np.isneginf(chain.transitions)].any()
    assert not counts.transitions[np.isneginf(chain.transitions)].any()
    assert not counts.start[np.isneginf(chain.start)].any()
    assert not counts.end[np.isneginf(chain.end)].any()


@given(case=cases())
def test_expected_counts_add_up(engine: ModuleType, case: Case) -> None:
    chain = case.chain
    counts, gradients = engine.expected_counts(chain), engine.gradients(chain, case.labels)
    tolerance = 4 * max(1, chain.num_tokens) * probability_tolerance(engine, chain)
    nonempty = chain.lengths[chain.lengths > 0]
    assert_close(counts.emissions.sum(), chain.num_tokens, tolerance)
    assert_close(counts.transitions.sum(), (nonempty - 1).sum(), tolerance, "a sentence has T - 1 transitions")
    assert_close([counts.start.sum(), counts.end.sum()], [len(nonempty)] * 2, tolerance)
    assert_close(gradients.emissions.sum(axis=1), np.zeros(chain.num_tokens), tolerance)
    for part in (gradients.transitions, gradients.start, gradients.end):
        assert_close(part.sum(), 0.0, tolerance)


@given(case=cases(kinds=MILD, dtypes=["float64"]), seed=st.integers(0, 2**32 - 1))
def test_constants_shift_log_z_and_nothing_else(engine: ModuleType, case: Case, seed: int) -> None:
    chain = case.chain
    rng = np.random.default_rng(seed)
    rows, (move, first, last) = rng.normal(0, 3, (chain.num_tokens, 1)), rng.normal(0, 3, 3)
    shifted = Chain(
        chain.emissions + rows, chain.transitions + move, chain.start + first, chain.end + last, chain.offsets
    )
    tolerance = 4 * rounding(shifted)
    extra = [part.sum() + (len(part) > 0) * (move * (len(part) - 1) + first + last) for part in chain.split(rows[:, 0])]
    assert_close(engine.log_partition(shifted), engine.log_partition(chain) + extra, tolerance)
    before, after = engine.marginals(chain, edges=True), engine.marginals(shifted, edges=True)
    assert_close(after.nodes, before.nodes, tolerance)
    assert_close(after.edges, before.edges, tolerance)
    assert_close(engine.entropy(shifted), engine.entropy(chain), 8 * tolerance)
    assert_close(engine.viterbi(shifted).scores, engine.viterbi(chain).scores + extra, tolerance)


@given(case=cases())
def test_log_z_lies_between_the_best_score_and_all_paths_as_good(engine: ModuleType, case: Case) -> None:
    chain = case.chain
    best, log_z = engine.viterbi(chain).scores, engine.log_partition(chain)
    tolerance = log_z_tolerance(engine, chain, log_z) + path_gap(engine, chain)
    assert (log_z >= best - tolerance).all()
    assert (log_z <= best + chain.lengths * np.log(chain.num_labels) + tolerance).all()


@given(case=cases())
def test_entropy_lies_between_certainty_and_ignorance(engine: ModuleType, case: Case) -> None:
    chain = case.chain
    found = engine.entropy(chain)
    tolerance = 8 * max(1, chain.num_tokens) * rounding(chain)
    assert (found >= -tolerance).all()
    assert (found <= chain.lengths * np.log(chain.num_labels) + tolerance).all()


@given(case=cases(), data=st.data())
def test_more_freedom_never_lowers_log_z(engine: ModuleType, case: Case, data: st.DataObject) -> None:
    chain = case.chain
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    wide = rng.random(chain.emissions.shape) < 0.7
    narrow = wide & (rng.random(chain.emissions.shape) < 0.7)
    totals = [
        engine.log_partition(constrain(chain, allowed=mask), allow_no_path=True)
        for mask in (narrow, wide, np.ones_like(wide))
    ]
    assert not np.isnan(totals).any()
    tolerance = 2 * log_z_tolerance(engine, chain, totals[2])
    assert (totals[0] <= totals[1] + tolerance).all()
    assert (totals[1] <= totals[2] + tolerance).all()


@given(case=cases(), seed=st.integers(0, 2**32 - 1))
def test_renaming_the_labels_renames_the_answers(engine: ModuleType, case: Case, seed: int) -> None:
    chain = case.chain
    new = np.random.default_rng(seed).permutation(chain.num_labels)  # position of each renamed label's old name
    renamed = Chain(
        chain.emissions[:, new],
        chain.transitions[..., new[:, None], new[None, :]],
        chain.start[new],
        chain.end[new],
        chain.offsets,
    )
    tolerance, logs = 2 * probability_tolerance(engine, chain), 2 * rounding(chain)
    before, after = engine.marginals(chain, edges=True), engine.marginals(renamed, edges=True)
    assert_close(after.nodes, before.nodes[:, new], tolerance)
    assert_close(after.edges, before.edges[:, new[:, None], new[None, :]], tolerance)
    assert_close(after.log_z, before.log_z, 2 * log_z_tolerance(engine, chain, before.log_z))
    assert_close(engine.forward(renamed), engine.forward(chain)[:, new], logs)
    assert_close(engine.backward(renamed), engine.backward(chain)[:, new], logs)
    assert_close(engine.viterbi(renamed).scores, engine.viterbi(chain).scores, 2 * path_gap(engine, chain) + logs)


def reversed_in_time(chain: Chain) -> Chain:
    """Each sentence backwards: transitions transposed, start and end swapped."""
    order = np.concatenate([np.arange(0), *(part[::-1] for part in chain.split(np.arange(chain.num_tokens)))])
    transitions = chain.transitions.T
    if chain.per_position:
        transitions = np.full_like(chain.transitions, np.nan)
        for first, last in zip(chain.offsets[:-1], chain.offsets[1:], strict=True):
            if last > first:
                transitions[first + 1 : last] = chain.transitions[first + 1 : last][::-1].swapaxes(1, 2)
    return Chain(chain.emissions[order], transitions, chain.end, chain.start, chain.offsets)


@given(case=cases())
def test_time_reversal(engine: ModuleType, case: Case) -> None:
    chain, back = case.chain, reversed_in_time(case.chain)
    tolerance, logs = 2 * probability_tolerance(engine, chain), 2 * rounding(chain)
    there, here = engine.marginals(back, edges=True), engine.marginals(chain, edges=True)
    assert_close(there.log_z, here.log_z, 2 * log_z_tolerance(engine, chain, here.log_z))
    assert_close(engine.viterbi(back).scores, engine.viterbi(chain).scores, 2 * path_gap(engine, chain) + logs)
    assert_close(engine.entropy(back), engine.entropy(chain), 16 * max(1, chain.num_tokens) * logs)
    split = chain.split
    for nodes, mirrored in zip(split(here.nodes), split(there.nodes), strict=True):
        assert_close(mirrored, nodes[::-1], tolerance)
    for edges, mirrored in zip(split(here.edges), split(there.edges), strict=True):
        assert_close(mirrored[1:], edges[1:][::-1].swapaxes(1, 2), tolerance)
    beta = engine.backward(chain) + chain.emissions
    for seen, mirrored in zip(split(beta), split(engine.forward(back)), strict=True):
        assert_close(mirrored, seen[::-1], logs)


@pytest.mark.parametrize(("num_labels", "length"), [(1, 6), (2, 10), (3, 6), (5, 4), (7, 300)])
def test_scores_of_zero_count_the_paths(engine: ModuleType, dtype: str, num_labels: int, length: int) -> None:
    chain = Chain(np.zeros((length, num_labels), dtype), np.zeros((num_labels, num_labels), dtype))
    log_count = length * np.log(num_labels)
    assert_close(engine.log_partition(chain), [log_count], 1e-12 * max(1, log_count) if dtype == "float64" else 1e-6)
    np.testing.assert_allclose(engine.entropy(chain), [log_count], rtol=1e-11, atol=1e-12)
    assert not engine.viterbi(chain).labels.any()
    assert not engine.max_marginal(chain).any()
    if num_labels**length <= 2000:
        every = engine.k_best(chain, 2000)[0]
        assert len(every.labels) == num_labels**length
        np.testing.assert_allclose(every.probabilities, float(num_labels) ** -length, rtol=1e-12)


def test_a_forbidden_transition_removes_exactly_its_paths(engine: ModuleType, dtype: str) -> None:
    """Words over {0, 1} without two ones in a row are counted by the Fibonacci numbers."""
    transitions = np.array([[0.0, 0.0], [0.0, -np.inf]], dtype)
    chain = Chain.from_sentences([np.zeros((length, 2), dtype) for length in range(1, 12)], transitions)
    count = [2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233]
    assert_close(np.exp(engine.log_partition(chain)), count, 1e-10 if dtype == "float64" else 1e-4)
    assert [len(ranked.labels) for ranked in engine.k_best(chain, 500)] == count


def test_a_sure_chain_has_no_entropy(engine: ModuleType, dtype: str) -> None:
    case = random_chain(np.random.default_rng(1), 4, [5, 1, 3], dtype=dtype)
    sure = constrain(case.chain, known=case.labels)
    assert_close(engine.entropy(sure), np.zeros(3), 1e-12)
    scores = engine.score(case.chain, case.labels)
    assert_close(engine.log_partition(sure), scores, log_z_tolerance(engine, case.chain, scores))
    assert engine.max_marginal(sure).tolist() == case.labels.tolist()
