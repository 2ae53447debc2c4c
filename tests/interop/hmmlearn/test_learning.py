"""EM: a step from the same parameters, and a fit from the same seed, come to the same place as hmmlearn's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from interop.hmmlearn.cases import (
    CASES,
    EMITTED,
    LENGTHS,
    MIXTURES,
    OTHERS,
    TYPES,
    D,
    K,
    M,
    assert_same_parameters,
    covariances,
    our_hmm,
    their_hmm,
)


@pytest.mark.parametrize("case", OTHERS, ids=str)
@pytest.mark.parametrize("implementation", ["log", "scaling"])
def test_three_steps_of_em(case: Any, implementation: str) -> None:
    ours, theirs = case.pair(n_iter=3, tol=-np.inf, implementation=implementation)
    X = case.sentences()
    ours.fit(X, LENGTHS)
    theirs.fit(X, LENGTHS)
    np.testing.assert_allclose(ours.monitor_.history, theirs.monitor_.history, rtol=1e-11)
    assert_same_parameters(ours, theirs, EMITTED[case.name])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_only_the_parameters_in_params_are_learned(case: Any) -> None:
    names = {"s": "startprob_", "t": "transmat_", "e": "emissionprob_", "l": "lambdas_", "m": "means_", "c": "covars_"}
    names["w"] = "weights_"
    X = case.sentences()
    for letter in "st" + case.letters:
        before = case.model(our_hmm)
        after = case.model(our_hmm, params=letter, n_iter=1).fit(X, LENGTHS)
        before.n_features = after.n_features
        for other in "st" + case.letters:
            same = np.allclose(getattr(before, names[other]), getattr(after, names[other]), rtol=1e-12, atol=0)
            assert same == (other != letter), (letter, other)


@pytest.mark.parametrize("case", OTHERS, ids=str)
def test_the_same_seed_comes_to_the_same_model(case: Any) -> None:
    X = case.sentences()
    settings = {**case.settings, "random_state": 3, "n_iter": 4, "tol": -np.inf}
    ours, theirs = (getattr(module, case.name)(K, **settings).fit(X, LENGTHS) for module in (our_hmm, their_hmm))
    np.testing.assert_allclose(ours.monitor_.history, theirs.monitor_.history, rtol=1e-8)
    assert_same_parameters(ours, theirs, EMITTED[case.name], rtol=1e-6)


@pytest.mark.parametrize("case", MIXTURES, ids=str)
def test_mixtures_begin_at_the_same_place(case: Any) -> None:
    X = case.sentences()
    settings = {**case.settings, "random_state": 3, "n_iter": 0}
    ours, theirs = (getattr(module, case.name)(K, **settings).fit(X, LENGTHS) for module in (our_hmm, their_hmm))
    assert_same_parameters(ours, theirs, EMITTED[case.name])


@pytest.mark.parametrize("case", MIXTURES, ids=str)
def test_a_step_of_mixtures_is_theirs_where_means_stay(case: Any) -> None:
    """Around means that do not move both are right; of spherical ones their default prior is none only if n_mix = D."""
    assert M == D
    ours, theirs = case.pair(n_iter=2, tol=-np.inf, params="stcw")
    X = case.sentences()
    ours.fit(X, LENGTHS)
    theirs.fit(X, LENGTHS)
    assert_same_parameters(ours, theirs, EMITTED[case.name])


@pytest.mark.parametrize("case", MIXTURES, ids=str)
def test_a_step_of_mixtures_takes_covariances_around_the_new_means(case: Any) -> None:
    ours, theirs = case.pair(n_iter=1)
    X = case.sentences()
    nodes = shared_out(case.model(our_hmm), X)  # [N, K, M]
    ours.fit(X, LENGTHS)
    theirs.fit(X, LENGTHS)
    assert_same_parameters(ours, theirs, ("weights_", "means_"))
    mass = nodes.sum(axis=0)
    away = X[:, None, None] - np.einsum("nkm,nd->kmd", nodes, X)[None] / mass[..., None]
    scatter = np.einsum("nkm,nkmd,nkme->kmde", nodes, away, away)
    expected = {
        "full": lambda: scatter / mass[..., None, None],
        "diag": lambda: np.diagonal(scatter, axis1=2, axis2=3) / mass[..., None],
        "spherical": lambda: np.trace(scatter, axis1=2, axis2=3) / (D * mass),
        "tied": lambda: scatter.sum(axis=1) / mass.sum(axis=1)[:, None, None],
    }[case.settings["covariance_type"]]()
    np.testing.assert_allclose(ours.covars_, expected, rtol=1e-9)
    assert not np.allclose(theirs.covars_, expected, rtol=1e-3)
    assert ours.score(X, LENGTHS) > theirs.score(X, LENGTHS)  # of one step; EM need not keep the lead


def shared_out(model: Any, X: Any) -> Any:
    """P(state, component | X) by definition, with scipy's densities."""
    stats = pytest.importorskip("scipy.stats")
    kind = model.covariance_type
    parts = np.zeros((len(X), K, M))
    for k in range(K):
        for m in range(M):
            covar = model.covars_[k] if kind == "tied" else model.covars_[k, m]
            matrix = covar * np.eye(D) if np.ndim(covar) < 2 else covar
            parts[:, k, m] = model.weights_[k, m] * stats.multivariate_normal(model.means_[k, m], matrix).pdf(X)
    posteriors = model.predict_proba(X, LENGTHS)
    return posteriors[:, :, None] * parts / parts.sum(axis=2, keepdims=True)


@pytest.mark.parametrize("kind", TYPES)
def test_mixtures_rise_at_every_step(kind: str) -> None:
    case = next(case for case in MIXTURES if case.settings["covariance_type"] == kind)
    history = np.array(case.model(our_hmm, n_iter=40, tol=-np.inf).fit(case.sentences(), LENGTHS).monitor_.history)
    assert (np.diff(history) > -1e-9).all()


# Priors.


@pytest.mark.parametrize("prior", [0.6, 1.0, 2.5])
def test_dirichlet_priors(prior: float) -> None:
    settings = {
        "startprob_prior": prior,
        "transmat_prior": prior,
        "emissionprob_prior": prior,
        "n_iter": 3,
        "tol": -9e9,
    }
    ours, theirs = CASES[0].pair(**settings)
    X = CASES[0].sentences()
    ours.fit(X, LENGTHS)
    theirs.fit(X, LENGTHS)
    assert_same_parameters(ours, theirs, ("emissionprob_",))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("scalar", [True, False])
def test_priors_of_gaussians(kind: str, scalar: bool) -> None:
    case = next(case for case in OTHERS if case.settings.get("covariance_type") == kind)
    rng = np.random.default_rng(0)
    settings: dict[str, Any] = {"means_prior": 1.5, "means_weight": 2.0, "covars_prior": 0.3, "covars_weight": 5.0}
    if not scalar:
        settings["means_prior"] = rng.normal(size=(K, D))
        settings["covars_prior"] = covariances("diag" if kind == "spherical" else kind, (K,), rng)
    ours, theirs = case.pair(n_iter=2, tol=-np.inf, **settings)
    X = case.sentences()
    ours.fit(X, LENGTHS)
    theirs.fit(X, LENGTHS)
    assert_same_parameters(ours, theirs, ("means_", "covars_"))


@pytest.mark.parametrize("case", MIXTURES, ids=str)
def test_priors_of_mixtures(case: Any) -> None:
    """Means stay where they are, so that both take covariances around the same."""
    kind, rng = case.settings["covariance_type"], np.random.default_rng(0)
    settings: dict[str, Any] = {"means_prior": 1.0, "means_weight": 2.0, "weights_prior": 1.5, "params": "stcw"}
    if kind in ("full", "tied"):
        settings |= {"covars_prior": covariances(kind, (K, M), rng), "covars_weight": 4.0}
    else:
        settings |= {"covars_prior": 2.0, "covars_weight": 0.7}
    ours, theirs = case.pair(n_iter=2, tol=-np.inf, **settings)
    X = case.sentences()
    ours.fit(X, LENGTHS)
    theirs.fit(X, LENGTHS)
    assert_same_parameters(ours, theirs, EMITTED["GMMHMM"])


def test_the_prior_of_rates_counts_against_the_observations_of_the_state() -> None:
    case = next(case for case in CASES if case.name == "PoissonHMM")
    X = case.sentences()
    posteriors = case.model(our_hmm).predict_proba(X, LENGTHS)
    model = case.model(our_hmm, n_iter=1, lambdas_prior=[6.0, 0.0, 3.0], lambdas_weight=2.0).fit(X, LENGTHS)
    events, mass = posteriors.T @ X, posteriors.sum(axis=0)
    expected = (np.array([[6.0], [0.0], [3.0]]) + events) / (2.0 + mass)[:, None]
    np.testing.assert_allclose(model.lambdas_, expected, rtol=1e-10)


# Where hmmlearn's numbers are not to be followed.


def test_covariances_without_means_are_those_around_the_means() -> None:
    case = next(case for case in OTHERS if case.settings.get("covariance_type") == "diag")
    X = case.sentences()
    posteriors = case.model(our_hmm).predict_proba(X, LENGTHS)
    model = case.model(our_hmm, n_iter=1, params="stc", covars_prior=0.0).fit(X, LENGTHS)
    away = (X[:, None] - model.means_) ** 2
    expected = np.einsum("nk,nkd->kd", posteriors, away) / posteriors.sum(axis=0)[:, None]
    np.testing.assert_allclose(model._covars_, expected, rtol=1e-9)


def test_a_state_without_observations_keeps_its_parameters() -> None:
    case = next(case for case in OTHERS if case.settings.get("covariance_type") == "full")
    model = case.model(our_hmm, n_iter=5)
    model.means_[2] = 1e6
    before = model.means_[2].copy()
    model.fit(case.sentences(), LENGTHS)
    np.testing.assert_array_equal(model.means_[2], before)
    for values in (model.means_, model.covars_, model.transmat_, model.startprob_):
        assert np.isfinite(values).all()
    np.testing.assert_allclose(model.transmat_.sum(axis=1), 1, rtol=1e-12)


def test_forbidden_transitions_stay_forbidden() -> None:
    case = CASES[0]
    for prior in (1.0, 3.0):
        ours, theirs = case.pair(n_iter=3, tol=-np.inf, transmat_prior=prior)
        for model in (ours, theirs):
            model.transmat_ = np.array([[0.5, 0.5, 0], [0, 0.5, 0.5], [0, 0, 1.0]])
            model.startprob_ = np.array([1.0, 0, 0])
            model.fit(case.sentences(), LENGTHS)
        assert (ours.transmat_[np.tril_indices(3, -1)] == 0).all()
        assert_same_parameters(ours, theirs, ("emissionprob_",))
