"""Mistakes that are often made with these recursions; each test keeps one of them out."""

from __future__ import annotations

import json
from types import ModuleType

import numpy as np
import pytest

from tagline.chain import naive
from tagline.errors import InputError
from tagline.types import Chain

from .cases import assert_close, log_z_tolerance, path_gap, random_chain, rounding
from .enumeration import enumerate_chain
from .golden import GOLDEN
from .test_golden_001_to_003 import worked_chain


def test_paths_are_plain_integers(engine: ModuleType) -> None:
    best = engine.viterbi(random_chain(np.random.default_rng(1), 3, [4]).chain)
    assert json.loads(json.dumps(best.labels.tolist())) == best.labels.tolist()


@pytest.mark.parametrize("m", [340, 5000])
def test_long_input_does_not_overflow(engine: ModuleType, m: int) -> None:
    """The linear forms refuse what leaves float64; the log domain answers, gradient and best path included."""
    rng = np.random.default_rng(3)
    log_psi, labels = rng.random((m, 5, 5)), rng.integers(0, 5, m)
    psi = np.exp(log_psi)
    for refuse in (
        lambda: naive.forward_linear(psi),
        lambda: naive.backward_linear(psi),
        lambda: naive.probability_linear(labels, psi),
        lambda: naive.gradient_linear(labels, psi),
    ):
        with pytest.raises(InputError, match=r"^(Z|product of potentials): .*inf"):
            refuse()
    chain = naive.chain_from_log_potentials(log_psi)
    found = engine.gradients(chain, labels)
    assert np.isfinite(found.log_likelihood).all()
    assert found.log_likelihood[0] < -m
    assert np.isfinite(found.transitions[1:]).all()
    assert_close(found.transitions[1:].sum(axis=(1, 2)), np.zeros(m - 1), 1e-9)
    best = engine.viterbi(chain)
    assert_close(best.scores, engine.score(chain, best.labels), 1e-12 * m)
    assert best.scores[0] <= engine.log_partition(chain)[0]


def test_small_potentials_do_not_vanish(engine: ModuleType) -> None:
    log_psi = np.full((400, 2, 2), -5.0)
    with pytest.raises(InputError, match=r"^Z: .*0\.0"):
        naive.forward_linear(np.exp(log_psi))
    chain = naive.chain_from_log_potentials(log_psi)
    assert_close(engine.log_partition(chain), [400 * (np.log(2) - 5)], 1e-9)


def test_gradient_at_a_tiny_potential(engine: ModuleType, dtype: str) -> None:
    """log ψ = −1000 on the gold edge: 1 − p, with nothing infinite on the way."""
    log_psi = np.zeros((3, 2, 2), dtype)
    log_psi[1, 0, 1] = -1000.0
    found = engine.gradients(naive.chain_from_log_potentials(log_psi), [0, 1, 0])
    assert found.transitions[1, 0, 1] == 1.0
    assert np.isfinite(found.transitions).all()
    assert np.isfinite(found.start).all()
    W = [0.0, -1000.0]
    parameters = naive.parameter_gradients([1, 1], [1.0, 1.0], W, np.zeros((2, 2)), np.zeros(2))
    assert all(np.isfinite(gradient).all() for gradient in parameters)
    assert parameters[1].tolist() == [-2.0, 2.0]


def test_only_the_first_row_of_the_first_potentials_counts(engine: ModuleType) -> None:
    rng = np.random.default_rng(5)
    log_psi, labels = rng.random((4, 3, 3)), [0, 2, 1, 1]
    poisoned = log_psi.copy()
    poisoned[0, 1:] = np.nan
    clean, dirty = (naive.chain_from_log_potentials(given) for given in (log_psi, poisoned))
    assert engine.log_partition(clean).tolist() == engine.log_partition(dirty).tolist()
    assert engine.gradients(clean, labels).start.tolist() == engine.gradients(dirty, labels).start.tolist()
    loud = log_psi.copy()
    loud[0, 1:] = 50.0
    for form in (naive.forward_linear, naive.backward_linear):
        assert form(np.exp(log_psi)).tolist() == form(np.exp(loud)).tolist()
    assert not naive.gradient_linear(labels, np.exp(loud))[0, 1:].any()


def test_log_sum_of_infinities_and_of_small_numbers() -> None:
    inf = np.inf
    assert naive.logsumexp([inf, inf]) == inf
    assert naive.logsumexp([inf, -inf]) == inf
    assert naive.logsumexp([-inf, -inf]) == -inf
    assert naive.logsumexp([-inf, 3.0]) == 3.0
    assert naive.logsumexp([0.0, -40.0]) == np.log1p(np.exp(-40.0)) > 0
    assert naive.logsumexp([1000.0, 1000.0]) == 1000 + np.log(2)


def test_a_small_label_still_counts(engine: ModuleType) -> None:
    chain = Chain([[0.0, -30.0]], np.zeros((2, 2)))
    assert engine.log_partition(chain)[0] == pytest.approx(np.log1p(np.exp(-30.0)), rel=1e-2)
    assert engine.marginals(chain).nodes[0, 1] == pytest.approx(np.exp(-30.0), rel=1e-12)


def test_the_best_path_comes_from_maxima(engine: ModuleType, dtype: str) -> None:
    """Sums in place of maxima return log Z and often another path: 3 tags, 3 to 6 frames, 200 sentences."""
    rng = np.random.default_rng(21)
    chain = random_chain(rng, 3, rng.integers(3, 7, 200).tolist(), dtype=dtype).chain
    best, log_z = engine.viterbi(chain), engine.log_partition(chain)
    sums = naive.marginals(chain).nodes.argmax(axis=1)  # where the recursion with sums ends
    differs = 0
    for b, (sentence, labels) in enumerate(zip(enumerate_chain(chain), chain.split(best.labels), strict=True)):
        assert_close(best.scores[b], sentence.scores.max(), path_gap(engine, chain) + rounding(chain))
        assert best.scores[b] < log_z[b]
        differs += labels[-1] != chain.split(sums)[b][-1]
    assert differs > 5, "sentences on which the wrong recursion would show"


def test_an_empty_sentence_has_the_empty_labelling(engine: ModuleType, dtype: str) -> None:
    chain = Chain(np.empty((0, 3), dtype), np.zeros((3, 3), dtype), np.ones(3, dtype), np.ones(3, dtype))
    best = engine.viterbi(chain)
    assert best.labels.tolist() == []
    assert best.scores.tolist() == [0.0]
    assert engine.score(chain, np.empty(0, np.int64)).tolist() == [0.0]
    assert engine.log_partition(chain).tolist() == [0.0]
    assert engine.entropy(chain).tolist() == [0.0]
    only = engine.k_best(chain, 3)[0]
    assert only.labels.shape == (1, 0)
    assert only.scores.tolist() == [0.0]
    assert only.probabilities.tolist() == [1.0]
    counts = engine.expected_counts(chain)
    assert not counts.start.any()
    assert not counts.end.any()
    assert not counts.transitions.any()
    assert engine.gradients(chain, np.empty(0, np.int64)).log_likelihood.tolist() == [0.0]


def test_a_column_of_minus_infinity(engine: ModuleType, dtype: str) -> None:
    assert naive.logsumexp(np.full((3, 2), -np.inf), axis=0).tolist() == [-np.inf, -np.inf]
    transitions = np.zeros((2, 2), dtype)
    transitions[:, 1] = -np.inf  # nothing leads into label 1
    chain = Chain(np.zeros((3, 2), dtype), transitions)
    assert np.isneginf(engine.forward(chain)).tolist() == [[False, False], [False, True], [False, True]]
    assert not np.isnan(engine.backward(chain)).any()
    assert not np.isnan(engine.marginals(chain, edges=True).edges).any()
    assert_close(engine.log_partition(chain), [np.log(2)], log_z_tolerance(engine, chain, [1.0]))


def test_one_index_order_in_score_sum_and_search(engine: ModuleType, dtype: str) -> None:
    """transitions[previous, next] throughout: no negative loss, losses of all labellings sum to one distribution."""
    entry = GOLDEN["counterexample_003_convention"]
    transitions = np.array(entry["transitions"], dtype)
    assert (transitions != transitions.T).any(), "a symmetric matrix would hide the error"
    chain = Chain(np.array(entry["emissions"], dtype), transitions)
    losses = [-engine.gradients(chain, [a, b]).log_likelihood[0] for a in (0, 1) for b in (0, 1)]
    assert min(losses) >= 0
    assert_close(np.exp(np.negative(losses)).sum(), 1.0, 1e-6)
    assert int(np.argmin(losses)) == 1
    assert engine.viterbi(chain).labels.tolist() == [0, 1]
    assert engine.score(chain, [0, 1])[0] == transitions[0, 1]
    assert engine.score(chain, [1, 0])[0] == transitions[1, 0] + 6


def test_greedy_is_not_best(engine: ModuleType, dtype: str) -> None:
    """Item 84: the best label of each step given the last leads to 2, the best path scores 5."""
    chain = Chain(np.array([[1.0, 0.0], [0.0, 0.0]], dtype), np.array([[1.0, 0.0], [0.0, 5.0]], dtype))
    greedy = [int(chain.emissions[0].argmax())]
    greedy.append(int((chain.transitions[greedy[0]] + chain.emissions[1]).argmax()))
    assert greedy == [0, 0]
    assert engine.score(chain, greedy).tolist() == [2.0]
    best = engine.viterbi(chain)
    assert best.labels.tolist() == [1, 1]
    assert best.scores.tolist() == [5.0]


def test_max_marginal_is_not_the_best_path(engine: ModuleType, dtype: str) -> None:
    """Document 001: (1, 1, 1) label by label, (1, 2, 1) together; here counted from 0."""
    chain = worked_chain(dtype)
    assert engine.max_marginal(chain).tolist() == [0, 0, 0]
    assert engine.viterbi(chain).labels.tolist() == [0, 1, 0]


def test_max_marginal_may_be_forbidden_and_the_best_path_never_is(engine: ModuleType, dtype: str) -> None:
    transitions = np.array([[-np.inf, 0.0, 0.0], [0.0, -np.inf, -np.inf], [0.0, -np.inf, -np.inf]], dtype)
    chain = Chain(np.array([[0.5, 0.0, 0.0], [0.5, 0.0, 0.0]], dtype), transitions)
    together = engine.max_marginal(chain)
    assert together.tolist() == [0, 0]
    assert engine.score(chain, together).tolist() == [-np.inf]
    assert np.isfinite(engine.viterbi(chain).scores).all()
