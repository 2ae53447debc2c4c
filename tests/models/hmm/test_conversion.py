"""An HMM as a CRF: the same posterior, path by path, for every family that is log-linear; what cannot be is said."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tagline
from tagline import CRF, HMM, InputError
from tagline.models.hmm.emissions import Bernoulli, Poisson

from ..corpora import tagged
from .cases import FAMILIES, LENGTHS, observations, paths, sequences, settings


def assert_same_posterior(hmm: HMM, crf: CRF, X: list[Any], bar: float = 1e-5) -> None:
    for mine, theirs in zip(hmm.marginal_arrays(X), crf.marginal_arrays(X), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=bar)
    np.testing.assert_allclose(hmm.entropy(X), crf.entropy(X), atol=100 * bar)
    assert [[str(state) for state in row] for row in hmm.predict(X)] == crf.predict(X)


@pytest.mark.parametrize("case", [case for case in FAMILIES if not case.startswith("mixture")])
def test_the_posterior_is_the_same(case: str) -> None:
    X = sequences(observations(case))
    hmm = HMM(3, max_iterations=5, **settings(case)).fit(X)
    crf = hmm.to_crf()
    assert_same_posterior(hmm, crf, X)
    x = X[0][:3]
    for path in paths(3, 3):
        mine = hmm.log_likelihood([x], [list(path)])[0]
        assert crf.log_likelihood([x], [[str(state) for state in path]])[0] == pytest.approx(mine, abs=1e-4)


def test_words_travel_as_a_template(tmp_path: Path) -> None:
    """Unknown words too, and the CRF is one like any other: saved, explained, trained on."""
    X, y = tagged()
    hmm = HMM(k=0.3).fit(X, y)
    crf = hmm.to_crf()
    fresh = [["the", "zebra", "sings"], ["Zoe"], []]
    assert_same_posterior(hmm, crf, [*X, *fresh])
    np.testing.assert_allclose(crf.log_likelihood(X), hmm.log_likelihood(X), rtol=1e-5)  # Z = P(O)
    crf.save(tmp_path / "crf")
    assert_same_posterior(hmm, tagline.load(tmp_path / "crf"), [*X, *fresh])  # type: ignore[arg-type]
    assert crf.explain(X[0]).labels == hmm.predict(X)[0]
    better = crf.set_params(warm_start=True, c2=0.1, max_iterations=20).fit(X, y)
    assert better.log_likelihood(X, y).sum() > hmm.log_likelihood(X, y).sum()  # what it is trained for


def test_other_symbols_than_words() -> None:
    X, y = [[3, 5, 3], [5, 7]], [[0, 1, 0], [1, 1]]
    hmm = HMM(k=0.5).fit(X, y)
    crf = hmm.to_crf()
    assert_same_posterior(hmm, crf, [*X, [99, 3, None, 7]])
    assert_same_posterior(hmm, pickle.loads(pickle.dumps(crf)), X)


def test_what_is_impossible_stays_so() -> None:
    hmm = HMM(3, topology="left-to-right", max_iterations=5).fit(sequences(observations("categorical")))
    crf = hmm.to_crf()
    X = sequences(observations("categorical"))
    assert_same_posterior(hmm, crf, X)
    with pytest.raises(InputError, match=r"^weights: "):
        crf.save("nowhere")


def test_zeros_of_other_families() -> None:
    moves = [[0.5, 0.5], [0.5, 0.5]]
    for emission, X in (
        (Bernoulli([[0.0, 0.5], [0.5, 1.0]]), [np.array([[0.0, 1.0], [1.0, 1.0], [0.0, np.nan]])]),
        (Poisson([[0.0], [2.0]]), [np.array([[0.0], [3.0], [np.nan]])]),
    ):
        hmm = HMM.from_parameters([0.5, 0.5], moves, emission)
        assert_same_posterior(hmm, hmm.to_crf(), X)


def test_a_tag_scheme_travels() -> None:
    X, y = [list("今天天气好"), list("我们去")], [list("BEBES"), list("BES")]
    hmm = HMM(scheme="auto", k=0.5).fit(X, y)
    crf = hmm.to_crf()
    assert crf.parameters_.scheme == "BMES-words"
    assert np.isfinite(crf.parameters_.weights).all()  # the rules forbid, not the weights: it can be saved and trained
    assert_same_posterior(hmm, crf, [*X, list("天天天"), list("去")])


def test_mixtures_have_no_crf() -> None:
    hmm = HMM(2, emission="mixture", n_components=2, max_iterations=2).fit(
        observations("mixture diag"), lengths=LENGTHS
    )
    with pytest.raises(InputError, match=r"^to_crf: "):
        hmm.to_crf()


def test_full_covariances_need_whole_observations() -> None:
    X = observations("gaussian full")
    hmm = HMM(2, emission="gaussian", covariance="full", max_iterations=2).fit(X)
    x = X[:4].copy()
    x[1] = np.nan
    assert_same_posterior(hmm, hmm.to_crf(), [x])
    x[2, 0] = np.nan
    with pytest.raises(InputError, match=r"^X: "):
        hmm.to_crf().predict([x])
