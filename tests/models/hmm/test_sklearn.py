"""HMM among scikit-learn's tools: its own estimator checks, clone, cross validation, grid search, joblib, repr."""

from __future__ import annotations

import warnings
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.utils.estimator_checks import estimator_checks_generator

from tagline import HMM, Corpus

from ..corpora import tagged
from .cases import observations, sequences


class Matrix(HMM):
    """HMM with the tags that make scikit-learn check it on matrices: one sequence of numbers."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.input_tags.string = False
        return tags


ORDER = "shuffles observations, whose order is what an HMM is about"
NUMBERS = "expects the message of scikit-learn's own validation of matrices"
WIDTH = "asks for n_features_in_, which words do not have"
RULED_OUT = {
    "check_methods_sample_order_invariance": ORDER,
    "check_methods_subset_invariance": ORDER,
    "check_complex_data": NUMBERS,
    "check_dtype_object": NUMBERS,
    "check_estimators_empty_data_messages": NUMBERS,
    "check_fit2d_predict1d": NUMBERS,
    "check_fit1d": "refuses one axis, which is a sequence of single numbers here",
    "check_n_features_in": WIDTH,
    "check_n_features_in_after_fitting": WIDTH,
    "check_array_api_input": "needs SCIPY_ARRAY_API",
}


def checks() -> list[Any]:
    with warnings.catch_warnings(action="ignore"):
        made = estimator_checks_generator(Matrix(4, emission="gaussian", max_iterations=5))
        found = [pytest.param(*pair, id=str(getattr(pair[1], "func", pair[1]).__name__)) for pair in made]
    return [one for one in found if one.id not in RULED_OUT]


@pytest.mark.parametrize(("estimator", "check"), checks())
def test_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def test_there_are_checks() -> None:
    assert len(checks()) >= 25


def test_tags_say_what_the_estimator_takes() -> None:
    tags = HMM().__sklearn_tags__()
    assert not tags.input_tags.two_d_array
    assert tags.input_tags.string
    assert tags.input_tags.allow_nan
    assert not tags.target_tags.required


def test_clone_and_repr_and_params() -> None:
    model = HMM(3, topology=np.eye(3, dtype=bool), k=0.5, frozen=("start",), emission_options={"prior": 2.0})
    twin = clone(model)
    assert twin is not model
    assert {
        name for name, value in twin.get_params().items() if not np.array_equal(value, model.get_params()[name])
    } == set()
    assert repr(HMM(k=0.5)) == "HMM(k=0.5)"
    assert repr(HMM(3, emission="poisson")) == "HMM(emission='poisson', n_states=3)"
    with pytest.raises(ValueError, match="Invalid parameter 'c2'"):
        HMM().set_params(c2=1)
    X, y = tagged()
    fitted = HMM().fit(X, y)
    assert not hasattr(clone(fitted), "parameters_")
    assert "HMM" in fitted._repr_html_()


@pytest.mark.parametrize(
    "ask",
    [
        lambda hmm: hmm.predict([["a"]]),
        lambda hmm: hmm.decode([["a"]]),
        lambda hmm: hmm.predict_proba([["a"]]),
        lambda hmm: hmm.predict_marginals([["a"]]),
        lambda hmm: hmm.predict_spans([["a"]]),
        lambda hmm: hmm.score([["a"]]),
        lambda hmm: hmm.aic([["a"]]),
        lambda hmm: hmm.bic([["a"]]),
        lambda hmm: hmm.sample(3),
        lambda hmm: hmm.to_crf(),
        lambda hmm: hmm.explain(["a"]),
        lambda hmm: hmm.top_features(),
        lambda hmm: hmm.summary(),
        lambda hmm: hmm.save("never"),
        lambda hmm: hmm.labels_,
        lambda hmm: hmm.start_,
        lambda hmm: hmm.transitions_,
        lambda hmm: hmm.emission_,
        lambda hmm: hmm.objective_,
        lambda hmm: hmm.stop_reason_,
        lambda hmm: hmm.notes_,
        lambda hmm: hmm.scheme_name,
        lambda hmm: hmm.size_,
    ],
)
def test_not_fitted(ask: Any) -> None:
    with pytest.raises(NotFittedError):
        ask(HMM())


@pytest.mark.parametrize("jobs", [None, 2])
def test_cross_val_predict(jobs: int | None) -> None:
    X, y = tagged(0, 24)
    predicted = cross_val_predict(HMM(), X, y, cv=4, n_jobs=jobs)
    for fold, (train, test) in enumerate(KFold(4).split(X)):
        model = HMM().fit([X[b] for b in train], [y[b] for b in train])
        assert model.predict([X[b] for b in test]) == predicted[test].tolist(), fold


def test_grid_search_by_accuracy_and_by_likelihood() -> None:
    X, y = tagged(0, 24)
    search = GridSearchCV(HMM(), {"k": np.array([0.01, 100.0]), "smoothing": ["add-k"]}, cv=3).fit(X, y)
    assert search.best_params_["k"] == 0.01
    assert search.best_score_ == pytest.approx(cross_val_score(HMM(k=0.01), X, y, cv=3).mean())
    series = sequences(observations("gaussian diag"), (40, 33, 30, 30))
    states = GridSearchCV(HMM(emission="gaussian", min_variance=0.1), {"n_states": [1, 3]}, cv=2).fit(series)
    assert states.best_params_ == {"n_states": 3}  # log P of what was held out
    corpus = Corpus.from_sentences(list(zip(X, y, strict=True)))
    assert cross_val_score(HMM(), corpus, cv=3).tolist() == cross_val_score(HMM(), X, y, cv=3).tolist()


def test_joblib_workers_share_a_model() -> None:
    X, y = tagged()
    model = HMM().fit(X, y)
    expected = model.predict(X)
    for backend in ("loky", "threading"):
        answers = joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(model.predict)([x]) for x in X[:6])
        assert [answer[0] for answer in answers] == expected[:6]


def test_generators_are_read() -> None:
    X, y = tagged()
    model = HMM().fit((iter(x) for x in X), (iter(row) for row in y))
    assert model.predict(iter(X)) == HMM().fit(X, y).predict(X)
    assert model.score(iter(X), iter(y)) == HMM().fit(X, y).score(X, y)
