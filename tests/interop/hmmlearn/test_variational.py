"""Variational Bayes: the same seed gives the same posteriors and lower bounds as hmmlearn's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from interop.hmmlearn.cases import CASES, LENGTHS, TYPES, K
from tagline.interop.hmmlearn import vhmm

theirs = pytest.importorskip("hmmlearn.vhmm")

POSTERIORS = {
    "VariationalCategoricalHMM": ("emissionprob_posterior_", "emissionprob_"),
    "VariationalGaussianHMM": ("means_posterior_", "beta_posterior_", "dof_posterior_", "scale_posterior_", "_covars_"),
}
CHAIN = ("startprob_posterior_", "transmat_posterior_", "startprob_", "transmat_")


def assert_same_fit(name: str, X: Any, **settings: Any) -> None:
    ours, other = (
        getattr(module, name)(K, random_state=2, n_iter=6, tol=-np.inf, **settings).fit(X, LENGTHS)
        for module in (vhmm, theirs)
    )
    np.testing.assert_allclose(ours.monitor_.history, other.monitor_.history, rtol=1e-9)
    assert (np.diff(ours.monitor_.history) > -1e-8).all()
    for attribute in (*CHAIN, *POSTERIORS[name]):
        mine, reference = getattr(ours, attribute), getattr(other, attribute)
        np.testing.assert_allclose(mine, reference, rtol=1e-7, atol=1e-10, err_msg=attribute)
    np.testing.assert_allclose(ours.score(X, LENGTHS), other.score(X, LENGTHS), rtol=1e-9)
    np.testing.assert_allclose(ours.decode(X, LENGTHS)[0], other.decode(X, LENGTHS)[0], rtol=1e-9)  # states may tie
    np.testing.assert_allclose(ours.predict_proba(X, LENGTHS), other.predict_proba(X, LENGTHS), atol=1e-7)
    np.testing.assert_allclose(ours.sample(5, random_state=1)[0], other.sample(5, random_state=1)[0], rtol=1e-6)


@pytest.mark.parametrize("implementation", ["log", "scaling"])
def test_symbols(implementation: str) -> None:
    assert_same_fit("VariationalCategoricalHMM", CASES[0].sentences(), implementation=implementation)


def test_priors_of_symbols() -> None:
    priors = {"startprob_prior": 2.0, "transmat_prior": 0.5, "emissionprob_prior": 3.0}
    assert_same_fit("VariationalCategoricalHMM", CASES[0].sentences(), **priors)


@pytest.mark.parametrize("kind", TYPES)
def test_vectors(kind: str) -> None:
    X = next(case for case in CASES if case.settings.get("covariance_type") == kind).sentences()
    assert_same_fit("VariationalGaussianHMM", X, covariance_type=kind)


def test_priors_of_vectors() -> None:
    X = next(case for case in CASES if case.settings.get("covariance_type") == "full").sentences()
    priors = {"means_prior": np.ones((K, 2)), "beta_prior": np.full(K, 2.0), "dof_prior": np.full(K, 4.0)}
    assert_same_fit("VariationalGaussianHMM", X, **priors, scale_prior=np.broadcast_to(np.eye(2), (K, 2, 2)))


def test_a_state_too_many_falls_back_to_the_prior() -> None:
    X = np.tile([[0], [1]], (60, 1))
    model = vhmm.VariationalCategoricalHMM(5, random_state=0, n_iter=200).fit(X)
    mass = model.emissionprob_posterior_.sum(axis=1) - model.emissionprob_prior_.sum(axis=1)
    assert (mass < 1e-3).sum() >= 1
    assert mass.sum() == pytest.approx(120)


def test_learning_covariances_alone_raises_the_bound() -> None:
    X = next(case for case in CASES if case.settings.get("covariance_type") == "diag").sentences()
    model = vhmm.VariationalGaussianHMM(K, "diag", random_state=2, n_iter=5, tol=-np.inf, params="c").fit(X, LENGTHS)
    assert (np.diff(model.monitor_.history) > -1e-9).all()
