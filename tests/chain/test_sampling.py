"""Samples: the labelling that given random numbers must yield, their frequencies, and what they never contain."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from tagline.chain import constrain, sample, sample_paths, using_engine
from tagline.errors import InputError
from tagline.types import Chain, Float64Array, IntArray

from .cases import Case, cases, random_chain, rounding
from .enumeration import AllPaths, enumerate_chain

LAST_BELOW_ONE = np.nextafter(1.0, 0.0)


def invert(sentence: AllPaths, uniforms: Float64Array, margin: float) -> tuple[IntArray, int]:
    """The labels that the uniforms of one sentence choose, last token first, and the first that is certain.

    A number within ``margin`` of a boundary may fall on either side; from there on the draw is anybody's.
    """
    labels = np.zeros(sentence.length, np.int64)
    kept = np.ones(len(sentence.paths), np.bool_)
    for t in range(sentence.length - 1, -1, -1):
        weights = np.bincount(
            sentence.paths[kept, t], weights=sentence.probabilities[kept], minlength=sentence.num_labels
        )
        cumulative = np.cumsum(weights) / weights.sum()
        gaps = np.abs(cumulative[:-1] - uniforms[t])
        if (gaps < margin).any() or weights.sum() < 1e-9:
            return labels, t + 1
        labels[t] = np.searchsorted(cumulative, uniforms[t], side="right")
        kept &= sentence.paths[:, t] == labels[t]
    return labels, 0


@given(case=cases(kinds=["integers", "reals", "zeros"]), seed=st.integers(0, 2**32 - 1))
def test_each_label_inverts_its_own_distribution(engine: ModuleType, case: Case, seed: int) -> None:
    chain = case.chain
    uniforms = np.random.default_rng(seed).random((5, chain.num_tokens))
    found = engine.sample(chain, uniforms)
    margin = 100 * rounding(chain)
    assert found.shape == uniforms.shape
    for labels, numbers in zip(found, uniforms, strict=True):
        for sentence, y, u in zip(enumerate_chain(chain), chain.split(labels), chain.split(numbers), strict=True):
            expected, certain = invert(sentence, u, margin)
            assert y[certain:].tolist() == expected[certain:].tolist()


@given(case=cases(), number=st.sampled_from([0.0, 0.5, float(LAST_BELOW_ONE)]))
def test_no_number_draws_a_forbidden_label(engine: ModuleType, case: Case, number: float) -> None:
    labels = engine.sample(case.chain, np.full((1, case.chain.num_tokens), number))[0]
    for sentence, y in zip(enumerate_chain(case.chain), case.chain.split(labels), strict=True):
        assert sentence.score(y) > -np.inf


@pytest.mark.parametrize("gone", [0, 1, 2])
def test_the_ends_of_the_unit_interval_skip_forbidden_labels(engine: ModuleType, dtype: str, gone: int) -> None:
    allowed = np.ones((2, 3), np.bool_)
    allowed[:, gone] = False
    chain = constrain(Chain(np.zeros((2, 3), dtype), np.zeros((3, 3), dtype)), allowed=allowed)
    left = [label for label in range(3) if label != gone]
    assert engine.sample(chain, [[0.0, 0.0], [LAST_BELOW_ONE] * 2]).tolist() == [[left[0]] * 2, [left[1]] * 2]


def test_frequencies_are_the_probabilities(engine: ModuleType, dtype: str) -> None:
    steep = random_chain(np.random.default_rng(5), 3, [3], dtype=dtype).chain
    mild = Chain(steep.emissions * 0.25, steep.transitions * 0.25, steep.start * 0.25, steep.end * 0.25)
    chain = constrain(mild, allowed={1: {0, 2}}, end=[True, True, False])
    sentence = enumerate_chain(chain)[0]
    draws = 8000
    found = engine.sample(chain, np.random.default_rng(6).random((draws, 3)))
    counts = np.bincount(found @ [9, 3, 1], minlength=27)
    expected = draws * sentence.probabilities
    assert counts[expected == 0].sum() == 0
    likely = expected >= 5
    statistic = ((counts - expected)[likely] ** 2 / expected[likely]).sum()
    assert likely.sum() >= 8
    assert statistic < chi2.isf(1e-6, likely.sum() - 1)


def test_samples_of_a_sentence_do_not_depend_on_its_batch(engine: ModuleType, dtype: str) -> None:
    rng = np.random.default_rng(7)
    chain = random_chain(rng, 5, [4, 0, 7, 1], dtype=dtype, forbidden=0.2).chain
    uniforms = rng.random((6, chain.num_tokens))
    found = engine.sample(chain, uniforms)
    for b in range(chain.num_sentences):
        part = slice(chain.offsets[b], chain.offsets[b + 1])
        alone = Chain(chain.emissions[part], chain.transitions, chain.start, chain.end)
        assert found[:, part].tolist() == engine.sample(alone, uniforms[:, part]).tolist()


def test_no_samples_asked_for(engine: ModuleType) -> None:
    chain = random_chain(np.random.default_rng(8), 2, [3, 1]).chain
    assert engine.sample(chain, np.empty((0, 4))).shape == (0, 4)


def test_seeded_convenience() -> None:
    chain = random_chain(np.random.default_rng(9), 3, [4, 2]).chain
    with using_engine("naive"):
        drawn = sample_paths(chain, 3, seed=1)
        assert drawn.tolist() == sample_paths(chain, 3, seed=1).tolist()
        assert drawn.tolist() == sample_paths(chain, 3, seed=np.random.default_rng(1)).tolist()
        assert drawn.tolist() == sample(chain, np.random.default_rng(1).random((3, 6))).tolist()
        assert drawn.tolist() != sample_paths(chain, 3, seed=2).tolist()
        assert sample_paths(chain, 0).shape == (0, 6)
        with pytest.raises(InputError, match=r"^count: "):
            sample_paths(chain, -1)
