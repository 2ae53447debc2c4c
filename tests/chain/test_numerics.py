"""How far the numbers may be off: long sentences, large scores, in float32 and float64.

The references do not come from the engine (see `scaled`).
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import numpy as np
import pytest

from tagline.chain import constrain
from tagline.types import Chain, IntArray

from .cases import assert_close, random_chain
from .scaled import Scaled, best_score, exact_score, solve_scaled

LONG, LABELS = 8192, 32
MARGINAL_BAR = 1e-6
LOG_Z_BAR = 1e-6  # times max(1, |log Z|)
NLL_BAR = 1e-4
PATH_BAR = 1e-5  # times T
FLOAT64_BAR = 1e-9


@dataclass(frozen=True)
class Reference:
    """A chain of one sentence, a labelling of it, and what is true of them."""

    chain: Chain
    gold: IntArray
    truth: Scaled
    best: float
    gold_score: float


def reference(chain: Chain, gold: IntArray) -> Reference:
    return Reference(chain, gold, solve_scaled(chain), best_score(chain), exact_score(chain, gold))


@pytest.fixture(scope="module")
def long_sentence() -> Reference:
    """8192 tokens, 32 labels, emissions N(0, 3²), in float32."""
    rng = np.random.default_rng(31)
    chain = Chain(
        rng.normal(0, 3, (LONG, LABELS)).astype(np.float32),
        rng.normal(0, 1, (LABELS, LABELS)).astype(np.float32),
        rng.normal(0, 1, LABELS).astype(np.float32),
        rng.normal(0, 1, LABELS).astype(np.float32),
    )
    return reference(chain, rng.integers(0, LABELS, LONG))


def in_float64(chain: Chain) -> Chain:
    parts = (chain.emissions, chain.transitions, chain.start, chain.end)
    return Chain(*(part.astype(np.float64) for part in parts), chain.offsets)


def test_marginals_of_a_long_sentence(engine: ModuleType, long_sentence: Reference) -> None:
    found = engine.marginals(long_sentence.chain)
    assert_close(found.nodes, long_sentence.truth.nodes, MARGINAL_BAR)
    assert_close(found.log_z, [long_sentence.truth.log_z], LOG_Z_BAR * abs(long_sentence.truth.log_z))
    exact = engine.marginals(in_float64(long_sentence.chain))
    assert_close(exact.nodes, long_sentence.truth.nodes, FLOAT64_BAR)
    assert_close(exact.log_z, [long_sentence.truth.log_z], 1e-12 * abs(long_sentence.truth.log_z))


def test_likelihood_and_gradient_of_a_long_sentence(engine: ModuleType, long_sentence: Reference) -> None:
    truth = long_sentence.gold_score - long_sentence.truth.log_z
    found = engine.gradients(long_sentence.chain, long_sentence.gold)
    assert_close(found.log_likelihood, [truth], NLL_BAR)
    loss = engine.log_partition(long_sentence.chain) - engine.score(long_sentence.chain, long_sentence.gold)
    assert_close(loss, [-truth], NLL_BAR)
    observed = np.zeros(long_sentence.truth.transitions.shape)
    np.add.at(observed, (long_sentence.gold[:-1], long_sentence.gold[1:]), 1)
    wanted = observed - long_sentence.truth.transitions
    np.testing.assert_allclose(found.transitions, wanted, rtol=0, atol=1e-6 * LONG)
    assert_close(found.transitions.sum(), 0.0, 1e-6 * LONG)
    seen = np.eye(LABELS)[long_sentence.gold]
    assert_close(found.emissions, seen - long_sentence.truth.nodes, MARGINAL_BAR)


def test_best_path_of_a_long_sentence(engine: ModuleType, long_sentence: Reference) -> None:
    found = engine.viterbi(long_sentence.chain)
    own = exact_score(long_sentence.chain, found.labels)
    assert long_sentence.best - own <= PATH_BAR * LONG
    assert_close(found.scores, [own], 1e-12 * own)
    exact = engine.viterbi(in_float64(long_sentence.chain))
    assert_close(exact.scores, [long_sentence.best], 1e-12 * long_sentence.best)
    assert_close(exact_score(long_sentence.chain, exact.labels), long_sentence.best, 1e-12 * long_sentence.best)


def test_tables_of_a_long_sentence_meet(engine: ModuleType, long_sentence: Reference) -> None:
    chain = long_sentence.chain
    posterior = engine.forward(chain) + engine.backward(chain) - long_sentence.truth.log_z
    assert_close(np.exp(posterior[::97]), long_sentence.truth.nodes[::97], 1e-4)


def test_entropy_of_a_long_sentence(engine: ModuleType, long_sentence: Reference) -> None:
    chain = long_sentence.chain
    mean_score = sum(
        float((uses * scores.astype(np.float64)).sum())
        for uses, scores in (
            (long_sentence.truth.nodes, chain.emissions),
            (long_sentence.truth.transitions, chain.transitions),
            (long_sentence.truth.nodes[0], chain.start),
            (long_sentence.truth.nodes[-1], chain.end),
        )
    )
    np.testing.assert_allclose(engine.entropy(chain)[0], long_sentence.truth.log_z - mean_score, rtol=1e-5)


@pytest.mark.parametrize("spread", [10, 30])
def test_wide_emissions(engine: ModuleType, dtype: str, spread: float) -> None:
    """Past the range where exp space is safe as well as inside it."""
    rng = np.random.default_rng(32)
    chain = Chain(rng.normal(0, spread, (500, 16)).astype(dtype), rng.normal(0, 1, (16, 16)).astype(dtype))
    truth = solve_scaled(chain)
    found = engine.marginals(chain)
    assert_close(found.nodes, truth.nodes, MARGINAL_BAR if dtype == "float32" else FLOAT64_BAR)
    rtol = LOG_Z_BAR if dtype == "float32" else 1e-12
    np.testing.assert_allclose(found.log_z, [truth.log_z], rtol=rtol)


def test_scores_of_ten_thousand(engine: ModuleType, dtype: str) -> None:
    """Differences of 1e4 leave one labelling: its score is log Z, its probability 1, and nothing is NaN."""
    rng = np.random.default_rng(33)
    labels = rng.integers(0, 5, 200)
    emissions = np.full((200, 5), -1e4)
    emissions[np.arange(200), labels] = 1e4
    chain = Chain(emissions.astype(dtype), rng.integers(-3, 4, (5, 5)).astype(dtype))
    truth = exact_score(chain, labels)
    found = engine.marginals(chain, edges=True)
    assert found.log_z.tolist() == engine.log_partition(chain).tolist() == [truth]
    assert found.nodes.tolist() == np.eye(5)[labels].tolist()
    assert engine.viterbi(chain).labels.tolist() == labels.tolist()
    assert engine.viterbi(chain).scores.tolist() == [truth]
    assert engine.entropy(chain).tolist() == [0.0]
    gradients = engine.gradients(chain, labels)
    assert not gradients.emissions.any()
    assert not gradients.transitions.any()
    assert gradients.log_likelihood[0] == 0.0


def test_large_scores_of_all_signs(engine: ModuleType, dtype: str) -> None:
    chain = random_chain(np.random.default_rng(34), 5, [60, 1, 17], kind="huge reals", dtype=dtype).chain
    found = engine.viterbi(chain)
    parts = [Chain(part, chain.transitions, chain.start, chain.end) for part in chain.split(chain.emissions)]
    log_z = engine.log_partition(chain)
    for b, (one, labels) in enumerate(zip(parts, chain.split(found.labels), strict=True)):
        best = best_score(one)
        assert_close(exact_score(one, labels), best, PATH_BAR * len(labels))
        assert best - 1e-9 <= log_z[b] <= best + len(labels) * np.log(5)
    nodes = engine.marginals(chain).nodes
    assert np.isfinite(nodes).all()
    assert_close(nodes.sum(axis=1), np.ones(78), MARGINAL_BAR)


def test_near_ties_in_float32(engine: ModuleType) -> None:
    """Two labellings whose scores differ in the eighth digit: the better one, or one as good to 1e-5 a token."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        emissions = rng.normal(0, 3, (100, 2)).astype(np.float32)
        totals = emissions.astype(np.float64).sum(axis=0)
        tie = np.array([totals[1] - totals[0], 0.0], np.float32)
        chain = constrain(
            Chain(emissions, np.zeros((2, 2), np.float32), end=tie), transitions=np.eye(2, dtype=np.bool_)
        )
        found = engine.viterbi(chain)
        own = exact_score(chain, found.labels)
        assert best_score(chain) - own <= PATH_BAR * 100
        assert_close(found.scores, [own], 1e-12 * max(1.0, abs(own)))
        assert len(set(found.labels.tolist())) == 1


def test_near_ties_after_a_deep_valley(engine: ModuleType) -> None:
    """Label 1 falls 20 000 behind and comes back to win by 3e-3: float32 has lost those digits on the way."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        lead = np.where(np.arange(100) < 50, 400.0, -400.0) + rng.normal(0, 1, 100)
        emissions = np.stack([lead, rng.normal(0, 1, 100)], axis=1).astype(np.float32)
        totals = emissions.astype(np.float64).sum(axis=0)
        tie = np.array([totals[1] - totals[0], 3e-3], np.float32)
        free = Chain(emissions, np.zeros((2, 2), np.float32), end=tie)
        chain = constrain(free, transitions=np.eye(2, dtype=np.bool_))
        assert best_score(chain) - exact_score(chain, engine.viterbi(chain).labels) <= PATH_BAR * 100


@pytest.mark.parametrize("scale", [1e-30, 1e30, 1e280])
def test_scores_at_the_edge_of_the_format(engine: ModuleType, scale: float) -> None:
    chain = Chain(scale * np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0]]), np.zeros((2, 2)))
    assert engine.viterbi(chain).labels.tolist() == [0, 1, 0]
    assert_close(engine.log_partition(chain) / max(1, 4 * scale), [3 * np.log(2) if scale < 1 else 1.0], 1e-12)
    assert_close(engine.marginals(chain).nodes.sum(axis=1), np.ones(3), 1e-12)
