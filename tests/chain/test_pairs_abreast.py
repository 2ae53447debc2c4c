"""Sentences side by side over lists of legal pairs: the bits of a sentence alone, and the definition's answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tagline import compiled
from tagline.chain import naive
from tagline.types import Chain
from tests.chain.cases import sentence_alone

native = pytest.importorskip("tagline.chain.native")

KINDS = ("few", "a hub", "few at the ends", "a cycle", "wide", "some forbidden emissions", "long")


@pytest.fixture(params=compiled.supported_cpus())
def variant(request: pytest.FixtureRequest) -> Iterator[str]:
    before = compiled.cpu()
    assert before is not None
    compiled.use_cpu(request.param)
    yield request.param
    compiled.use_cpu(before)


def chain_of(kind: str, dtype: Any) -> Chain:
    """21 sentences, a vector of them and some that are left over, with about three legal pairs a label."""
    rng, L = np.random.default_rng(len(kind)), 83 if kind == "a hub" else 70
    lengths = rng.integers(5, 18, 21) if kind != "long" else rng.integers(130, 150, 17)
    allowed = rng.random((L, L)) < (0.0 if kind == "a cycle" else 0.03)
    allowed[np.arange(L), np.roll(np.arange(L), 1)] = True
    if kind == "a hub":  # most labels lead to one label and away from it: sums of many pairs
        allowed[:, 11] |= rng.random(L) < 0.9
        allowed[11] |= rng.random(L) < 0.9
    emissions = rng.normal(0, 25 if kind == "wide" else 2, (lengths.sum(), L))
    if kind == "some forbidden emissions":
        emissions[3, 4:9] = emissions[40, 0] = -np.inf
    start, end = rng.normal(0, 1, (2, L))
    if kind in ("few at the ends", "a cycle"):
        start[rng.random(L) < 0.9], end[rng.random(L) < 0.9] = -np.inf, -np.inf
        start[0] = end[:17] = 0  # so that a cycle is closed after any number of tokens
    transitions = np.where(allowed, rng.normal(0, 1, (L, L)), -np.inf)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return Chain(*(scores.astype(dtype) for scores in (emissions, transitions, start, end)), offsets)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_answers_have_the_bits_of_a_sentence_alone(variant: str, kind: str, dtype: Any) -> None:
    chain = chain_of(kind, dtype)
    log_z = native.log_partition(chain, allow_no_path=True)
    alone = [sentence_alone(chain, b) for b in range(chain.num_sentences)]
    np.testing.assert_array_equal(log_z, [native.log_partition(s, allow_no_path=True)[0] for s in alone])
    if np.isneginf(log_z).any():
        chain = Chain(chain.emissions, chain.transitions, offsets=chain.offsets)
        alone = [sentence_alone(chain, b) for b in range(chain.num_sentences)]
    nodes, labels = native.marginals(chain).nodes, native.viterbi(chain).labels
    np.testing.assert_array_equal(nodes, np.concatenate([native.marginals(s).nodes for s in alone]))
    np.testing.assert_array_equal(labels, np.concatenate([native.viterbi(s).labels for s in alone]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_those_of_the_definition(variant: str, kind: str, dtype: Any) -> None:
    chain, bar = chain_of(kind, dtype), 2e-6 if dtype == np.float32 else 1e-11
    log_z = naive.log_partition(chain, allow_no_path=True)
    np.testing.assert_allclose(native.log_partition(chain, allow_no_path=True), log_z, rtol=bar, atol=bar)
    if np.isneginf(log_z).any():
        chain = Chain(chain.emissions, chain.transitions, offsets=chain.offsets)
    expected, found = naive.expected_counts(chain), native.expected_counts(chain)
    np.testing.assert_allclose(found.emissions, expected.emissions, rtol=0, atol=bar)
    for part in ("transitions", "start", "end"):
        sums = getattr(found, part), getattr(expected, part)
        np.testing.assert_allclose(*sums, rtol=4 * bar, atol=4 * bar, err_msg=part)
    assert native.viterbi(chain).labels.tolist() == naive.viterbi(chain).labels.tolist()
