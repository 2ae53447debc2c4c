"""The same parameters give the same answers as hmmlearn's: scores, posteriors, states, draws, criteria."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from interop.hmmlearn.cases import CASES, LENGTHS, K, M, our_hmm, their_hmm

BOTH = pytest.mark.parametrize("implementation", ["log", "scaling"])
EACH = pytest.mark.parametrize("case", CASES, ids=str)


@EACH
@BOTH
def test_scores_posteriors_and_states(case: Any, implementation: str) -> None:
    ours, theirs = case.pair(implementation=implementation)
    X = case.sentences()
    for lengths in (None, LENGTHS):
        np.testing.assert_allclose(ours.score(X, lengths), theirs.score(X, lengths), rtol=1e-11)
        for mine, other in zip(ours.score_samples(X, lengths), theirs.score_samples(X, lengths), strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(ours.predict_proba(X, lengths), theirs.predict_proba(X, lengths), atol=1e-11)
        for algorithm in ("viterbi", "map"):
            (score, states), (their_score, their_states) = (
                model.decode(X, lengths, algorithm=algorithm) for model in (ours, theirs)
            )
            np.testing.assert_allclose(score, their_score, rtol=1e-11)
            np.testing.assert_array_equal(states, their_states)
        np.testing.assert_array_equal(ours.predict(X, lengths), theirs.predict(X, lengths))


def test_the_algorithm_of_the_model_is_that_of_predict() -> None:
    case = CASES[0]
    X = case.sentences()
    best, apart = (case.model(our_hmm, algorithm=algorithm).predict(X) for algorithm in ("viterbi", "map"))
    np.testing.assert_array_equal(best, case.model(our_hmm).decode(X, algorithm="viterbi")[1])
    np.testing.assert_array_equal(apart, case.model(our_hmm).decode(X, algorithm="map")[1])
    assert (best != apart).any()


@EACH
def test_the_same_seed_draws_the_same_sentence(case: Any) -> None:
    ours, theirs = case.pair()
    for seed, first in ((5, None), (6, None), (7, 2)):
        X, states = ours.sample(20, random_state=seed, currstate=first)
        their_X, their_states = theirs.sample(20, np.random.RandomState(seed), first)
        np.testing.assert_array_equal(states, their_states)
        np.testing.assert_allclose(X, their_X, rtol=1e-12, atol=1e-14)
        assert X.shape == their_X.shape
    assert ours.sample(3, currstate=1)[1][0] == 1


@EACH
def test_draws_have_the_distribution_of_the_model(case: Any) -> None:
    """Means and shares of a long sentence, against those of the stationary distribution, within five deviations."""
    model = case.model(our_hmm)
    X, states = model.sample(2000, random_state=0)
    stationary = model.get_stationary_distribution()
    np.testing.assert_allclose(np.bincount(states, minlength=K) / len(states), stationary, atol=0.1)
    for k in range(K):
        here = X[states == k].astype(float)
        one_hot = np.eye(4)[X[states == k, 0]] if case.name == "CategoricalHMM" else here
        expected = {
            "CategoricalHMM": lambda k=k: model.emissionprob_[k],
            "MultinomialHMM": lambda k=k: 5 * model.emissionprob_[k],
            "PoissonHMM": lambda k=k: model.lambdas_[k],
            "GaussianHMM": lambda k=k: model.means_[k],
            "GMMHMM": lambda k=k: model.weights_[k] @ model.means_[k],
        }[case.name]()
        error = one_hot.std(axis=0) / np.sqrt(len(here)) + 1e-12
        assert (np.abs(one_hot.mean(axis=0) - expected) < 5 * error).all()


@EACH
def test_criteria_count_the_free_parameters(case: Any) -> None:
    """As in hmmlearn, but for mixtures, where it counts the weights of one state for those of all."""
    ours, theirs = case.pair()
    theirs._check()  # counts them
    X = case.sentences()
    more = (K - 1) * (M - 1) if case.name == "GMMHMM" else 0
    np.testing.assert_allclose(ours.aic(X, LENGTHS), theirs.aic(X, LENGTHS) + 2 * more, rtol=1e-11)
    np.testing.assert_allclose(ours.bic(X, LENGTHS), theirs.bic(X, LENGTHS) + np.log(len(X)) * more, rtol=1e-11)


def test_the_stationary_distribution_stays() -> None:
    ours, theirs = CASES[0].pair()
    found = ours.get_stationary_distribution()
    np.testing.assert_allclose(found @ ours.transmat_, found, rtol=1e-12)
    np.testing.assert_allclose(found, theirs.get_stationary_distribution(), rtol=1e-10)
    round_trip = our_hmm.PoissonHMM(2)  # eigenvalues 1 and −1
    round_trip.transmat_ = np.array([[0.0, 1.0], [1.0, 0.0]])
    np.testing.assert_allclose(round_trip.get_stationary_distribution(), [0.5, 0.5], rtol=1e-12)


def test_rows_of_several_symbols_are_read_from_left_to_right() -> None:
    ours, theirs = CASES[0].pair()
    X = CASES[0].sentences()[:12].reshape(1, 12)
    with pytest.warns(DeprecationWarning, match=r"^X: .*n_samples"):
        posteriors = ours.predict_proba(X)
    with pytest.warns(DeprecationWarning, match="n_samples, 1"):
        np.testing.assert_allclose(posteriors, theirs.predict_proba(X), rtol=1e-9)


def test_data_frames_and_lists_are_arrays() -> None:
    pandas = pytest.importorskip("pandas")
    case = next(case for case in CASES if case.name == "GaussianHMM")
    X, model = case.sentences(), case.model(our_hmm)
    frame = pandas.DataFrame(X, columns=["a", "b"])
    learned = case.model(our_hmm, n_iter=2).fit(X, LENGTHS)
    for same in (frame, X.tolist()):
        assert model.score(same, LENGTHS) == model.score(X, LENGTHS)
        again = case.model(our_hmm, n_iter=2).fit(same, LENGTHS)
        np.testing.assert_array_equal(again.means_, learned.means_)


def test_impossible_observations_score_minus_infinity() -> None:
    model, theirs = CASES[0].pair()
    for each in (model, theirs):
        each.emissionprob_ = np.array([[0.5, 0.5, 0, 0]] * K)
    assert model.score([[0], [3]]) == -np.inf
    with np.errstate(divide="ignore"):
        assert theirs.score([[0], [3]]) == -np.inf
    with pytest.raises(ValueError, match=r"^sentence 0: "):
        model.predict([[0], [3]])


def test_their_classes_are_not_ours() -> None:
    assert our_hmm.GaussianHMM is not their_hmm.GaussianHMM
    assert type(CASES[0].model(our_hmm)).__module__.startswith("tagline.")
