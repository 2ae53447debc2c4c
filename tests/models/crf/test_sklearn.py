"""CRF among scikit-learn's tools: its own estimator checks, clone, pipelines, cross validation, grid search, joblib."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import check_is_fitted, validate_data

from tagline import CRF, Corpus
from tagline.errors import InputError
from tagline.features import Template
from tagline.training import LBFGS

from ..corpora import TEMPLATE, features, items, tagged


class Unchecked(CRF):
    """CRF with the tag set without which scikit-learn generates no checks at all."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags


class Rows(Unchecked):
    """CRF for matrices: a row is a sentence of one token, whose attributes are the columns; y is one label a row.

    What scikit-learn checks by fitting matrices is checked on this one, for nothing of CRF is replaced but the input.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> CRF:  # type: ignore[override]
        return super().fit(*self._sentences(X, y), sample_weight=sample_weight)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> CRF:  # type: ignore[override]
        sentences = self._sentences(X, y, reset=not hasattr(self, "n_features_in_"))
        return super().partial_fit(*sentences, sample_weight=sample_weight)

    def predict(self, X: Any) -> Any:  # type: ignore[override]
        check_is_fitted(self)
        rows = super().predict(self._items(validate_data(self, X, reset=False)))
        return np.array([self.kinds_[row[0]] for row in rows])

    def score(self, X: Any, y: Any) -> float:  # type: ignore[override]
        return float((self.predict(X) == y).mean())

    def _sentences(self, X: Any, y: Any, reset: bool = True) -> tuple[Any, Any]:
        X, y = validate_data(self, X, y, reset=reset)
        self.kinds_ = {str(kind): kind for kind in y}
        return self._items(X), [[str(kind)] for kind in y]

    @staticmethod
    def _items(X: Any) -> list[list[dict[str, float]]]:
        return [[{"bias": 1.0, **{f"x{j}": float(value) for j, value in enumerate(row)}}] for row in X]


MATRIX = "fits a matrix of numbers, and sentences are lists of tokens of any length; Rows runs it"
NUMBERS = "expects the message of scikit-learn's own validation of matrices; Rows runs it"
RULED_OUT = {
    "check_fit_score_takes_y": MATRIX,
    "check_estimators_overwrite_params": MATRIX,
    "check_dont_overwrite_parameters": MATRIX,
    "check_estimators_fit_returns_self": MATRIX,
    "check_readonly_memmap_input": MATRIX,
    "check_n_features_in_after_fitting": MATRIX,
    "check_positive_only_tag_during_fit": MATRIX,
    "check_estimators_dtypes": MATRIX,
    "check_sample_weights_not_an_array": MATRIX,
    "check_sample_weights_list": MATRIX,
    "check_sample_weights_shape": MATRIX,
    "check_sample_weights_not_overwritten": MATRIX,
    "check_sample_weight_equivalence_on_dense_data": MATRIX,
    "check_dtype_object": MATRIX,
    "check_pipeline_consistency": MATRIX,
    "check_estimators_pickle": MATRIX,
    "check_f_contiguous_array_estimator": MATRIX,
    "check_methods_sample_order_invariance": MATRIX,
    "check_methods_subset_invariance": MATRIX,
    "check_dict_unchanged": MATRIX,
    "check_fit_idempotent": MATRIX,
    "check_fit_check_is_fitted": MATRIX,
    "check_n_features_in": MATRIX,
    "check_fit2d_predict1d": MATRIX,
    "check_all_zero_sample_weights_error": NUMBERS,
    "check_complex_data": NUMBERS,
    "check_estimators_empty_data_messages": NUMBERS,
    "check_estimators_nan_inf": NUMBERS,
    "check_estimator_sparse_tag": NUMBERS,
    "check_estimator_sparse_array": NUMBERS,
    "check_estimator_sparse_matrix": NUMBERS,
    "check_fit2d_1sample": NUMBERS,
    "check_fit2d_1feature": NUMBERS,
}
ELSEWHERE = {  # what the machine that runs the tests may lack
    "check_sample_weights_pandas_series": "needs pandas",
    "check_array_api_input": "needs SCIPY_ARRAY_API",
}


def checks(estimator: CRF, without: Iterable[str]) -> list[Any]:
    """scikit-learn's checks of an estimator."""
    with warnings.catch_warnings(action="ignore"):
        found = [pytest.param(*pair, id=name_of(pair[1])) for pair in estimator_checks_generator(estimator)]
    return [one for one in found if one.id not in without]


def name_of(check: Any) -> str:
    return str(getattr(check, "func", check).__name__)


@pytest.mark.parametrize(("estimator", "check"), checks(Unchecked(), {*RULED_OUT, *ELSEWHERE}))
def test_checks_on_the_estimator_as_it_is(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize(("estimator", "check"), checks(Rows(), ELSEWHERE))
def test_checks_on_rows_of_a_matrix(estimator: Any, check: Any) -> None:
    check(estimator)


def test_every_check_that_is_ruled_out_is_run_on_rows() -> None:
    assert set(RULED_OUT) <= {one.id for one in checks(Rows(), ())}
    assert len(checks(Unchecked(), {*RULED_OUT, *ELSEWHERE})) >= 10


def test_tags_say_what_the_estimator_takes() -> None:
    tags = CRF().__sklearn_tags__()
    assert not tags.input_tags.two_d_array
    assert tags.input_tags.string
    assert not tags.target_tags.required


def test_clone_and_repr_and_params() -> None:
    template = Template.parse(TEMPLATE)
    model = CRF(template, c1=0.25, callbacks=(print,), label_weights={"N": 2.0}, algorithm=LBFGS(memory=5))
    twin = clone(model)
    assert twin is not model
    assert twin.get_params() == model.get_params()
    assert repr(CRF(c1=0.5)) == "CRF(c1=0.5)"
    assert CRF().set_params(c2=3.0, algorithm="lbfgs").get_params()["c2"] == 3.0
    with pytest.raises(ValueError, match="Invalid parameter 'c3'"):
        CRF().set_params(c3=1)
    X, y = tagged()
    fitted = model.fit(X, y)
    assert fitted is model
    assert not hasattr(clone(model), "parameters_")
    assert repr(model).startswith("CRF(algorithm=LBFGS(memory=5), c1=0.25")
    assert "CRF" in model._repr_html_()


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: model.predict([[{"a": 1}]]),
        lambda model: model.predict_marginals([[{"a": 1}]]),
        lambda model: model.predict_k_best([[{"a": 1}]], 2),
        lambda model: model.log_likelihood([[{"a": 1}]]),
        lambda model: model.score([[{"a": 1}]], [["X"]]),
        lambda model: model.evaluate([[{"a": 1}]], [["X"]]),
        lambda model: model.explain([{"a": 1}]),
        lambda model: model.top_features(),
        lambda model: model.weights_table(),
        lambda model: model.summary(),
        lambda model: model.save("never"),
        lambda model: model.labels_,
        lambda model: model.objective_,
        lambda model: model.stop_reason_,
        lambda model: model.notes_,
        lambda model: model.size_,
        lambda model: model.predict_samples([[{"a": 1}]]),
        lambda model: model.entropy([[{"a": 1}]]),
    ],
)
def test_not_fitted(ask: Any) -> None:
    with pytest.raises(NotFittedError):
        ask(CRF())


def test_pipeline() -> None:
    X, y = tagged()
    pipe = Pipeline(
        [("features", FunctionTransformer(lambda X: [features(words) for words in X])), ("crf", CRF(c2=0.1))]
    )
    pipe.fit(X, y)
    assert pipe.predict(X) == CRF(features, c2=0.1).fit(X, y).predict(X)
    assert 0.8 < pipe.score(X, y) <= 1.0
    pipe.set_params(crf__c2=0.5).fit(X, y)
    assert pipe.named_steps["crf"].c2 == 0.5


@pytest.mark.parametrize("jobs", [None, 2])
def test_cross_val_predict(jobs: int | None) -> None:
    X, y = tagged(0, 24)
    predicted = cross_val_predict(CRF(TEMPLATE, c2=0.1, max_iterations=20), X, y, cv=4, n_jobs=jobs)
    assert [len(row) for row in predicted] == [len(row) for row in y]
    for fold, (train, test) in enumerate(KFold(4).split(X)):
        model = CRF(TEMPLATE, c2=0.1, max_iterations=20).fit([X[b] for b in train], [y[b] for b in train])
        assert model.predict([X[b] for b in test]) == predicted[test].tolist(), fold


def test_cross_val_predict_of_equal_lengths() -> None:
    """Sentences of one length would make a matrix of strings; they stay rows of lists."""
    X, y = [["the", "cat"], ["a", "dog"]] * 4, [["D", "N"]] * 8
    predicted = cross_val_predict(CRF(TEMPLATE, c2=0.1), X, y, cv=2)
    assert predicted.shape == (8,)
    assert predicted.tolist() == y


def test_grid_search() -> None:
    X, y = tagged(0, 24)
    search = GridSearchCV(CRF(TEMPLATE, max_iterations=20), {"c2": np.array([0.1, 100.0])}, cv=3, n_jobs=1).fit(X, y)
    scores = cross_val_score(CRF(TEMPLATE, max_iterations=20, c2=0.1), X, y, cv=3)
    assert search.best_params_ == {"c2": 0.1}
    assert search.best_score_ == pytest.approx(scores.mean())
    assert search.predict(X) == CRF(TEMPLATE, max_iterations=20, c2=0.1).fit(X, y).predict(X)
    custom = GridSearchCV(
        CRF(TEMPLATE, max_iterations=20),
        {"c2": [0.1, 100.0]},
        scoring=lambda model, X, y: model.evaluate(X, y).tokens.accuracy,
        cv=3,
    ).fit(X, y)
    assert custom.best_score_ == pytest.approx(search.best_score_)


def test_a_corpus_in_cross_validation() -> None:
    X, y = tagged(0, 24)
    corpus = Corpus.from_sentences(list(zip(X, y, strict=True)))
    lists = cross_val_score(CRF(TEMPLATE, max_iterations=20), X, y, cv=3)
    assert cross_val_score(CRF(TEMPLATE, max_iterations=20), corpus, cv=3).tolist() == lists.tolist()


def test_sample_weight_through_a_search() -> None:
    X, y = tagged(0, 12)
    weights = np.linspace(0.5, 2.0, 12)
    search = GridSearchCV(CRF(TEMPLATE, max_iterations=10), {"c2": [1.0]}, cv=2).fit(X, y, sample_weight=weights)
    direct = CRF(TEMPLATE, max_iterations=10).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(search.best_estimator_.parameters_.weights, direct.parameters_.weights)


def test_joblib_workers_share_a_model() -> None:
    X, y = tagged()
    model = CRF(TEMPLATE, c2=0.1).fit(X, y)
    expected = model.predict(X)
    for backend in ("loky", "threading"):
        answers = joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(model.predict)([x]) for x in X[:6])
        assert [answer[0] for answer in answers] == expected[:6]


def test_generators() -> None:
    X, y = items()

    def sentences() -> Iterator[Iterator[dict[str, Any]]]:
        return (iter(sentence) for sentence in X)

    model = CRF(c2=0.1, warm_start=True).fit(sentences(), (iter(labels) for labels in y))
    direct = CRF(c2=0.1).fit(X, y)
    np.testing.assert_array_equal(model.parameters_.weights, direct.parameters_.weights)
    assert model.predict(sentences()) == direct.predict(X)
    assert model.score(sentences(), iter(y)) == direct.score(X, y)
    assert model.fit(sentences(), iter(y)).predict(sentences()) == direct.predict(X)  # reads them twice


def test_answers_are_lists_and_arrays() -> None:
    X, y = tagged()
    answer = CRF(TEMPLATE).fit(X, y).predict(X)
    assert isinstance(answer, list)
    assert np.asarray(answer).shape == (len(X),)
    assert np.concatenate([answer, answer]).shape == (2 * len(X),)
    even = CRF(TEMPLATE).fit([["a", "b"]] * 3, [["A", "B"]] * 3).predict([["a", "b"]] * 3)
    assert np.asarray(even).shape == (3,)
    assert pickle.loads(pickle.dumps(answer)) == answer
    assert np.asarray(answer[:0]).size == 0


WRONG = {
    "flat y": ([[{"a": 1}]], ["N"], r"^y\[0\]: "),
    "flat X and y": ([{"a": 1}, {"b": 1}], ["N", "V"], r"^y\[0\]: "),
    "flat X": ([{"a": 1}], [["N"]], r"^sentence 0: "),
    "a string as X": ("the cat", [["N"]], r"^X: .*'the cat'"),
    "None as X": (None, [["N"]], r"^X: "),
    "integer labels": ([[{"a": 1}]], [[1]], r"^y\[0\]\[0\]: "),
    "float labels": ([[{"a": 1}]], [[1.5]], r"^y\[0\]\[0\]: "),
    "true as a label": ([[{"a": 1}]], [[True]], r"^y\[0\]\[0\]: "),
    "fewer labels": ([[{"a": 1}, {"b": 1}]], [["N"]], r"^y\[0\]: "),
    "more sentences": ([[{"a": 1}]], [["N"], ["N"]], r"^y: "),
    "no labels": ([[{"a": 1}]], None, r"^y: "),
    "labels as a number": ([[{"a": 1}]], 3, r"^y: "),
    "an empty set": ([[{"a": 1}]], [[set()]], r"^y\[0\]\[0\]: "),
    "a set of numbers": ([[{"a": 1}]], [[{1}]], r"^y\[0\]\[0\]: "),
    "nothing": ([], [], r"^y: "),
    "only unknown": ([[{"a": 1}]], [[None]], r"^y: "),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_input_is_named(wrong: str) -> None:
    X, y, place = WRONG[wrong]
    with pytest.raises(InputError, match=place):
        CRF().fit(X, y)


def test_wrong_tokens_for_a_template() -> None:
    for X, place in (
        (["the", "cat"], r"^X\[0\]: "),
        (
            [[{"word": "the"}]],
            r"^X\[0\]: ",
        ),
        ([["the", ("cat", "N")]], r"^X\[0\]: "),
        (7, r"^X: "),
    ):
        with pytest.raises(InputError, match=place):
            CRF(TEMPLATE).fit(X, [["D"]])
    with pytest.raises(InputError, match=r"^features: "):
        CRF().fit(Corpus.from_sentences([(["the"], ["D"])]))


def test_wrong_settings_are_named() -> None:
    X, y = items(0, 3)
    for settings, place in (
        ({"algorithm": "adam"}, "algorithm: "),
        ({"c2": -1.0}, "c2: "),
        ({"c1": float("nan")}, "c1: expected"),
        ({"on_illegal": "ignore", "scheme": "IOB2"}, "on_illegal|IOB2"),
        ({"algorithm": "lbfgs:memory=0"}, "algorithm.memory: expected"),
        ({"algorithm": "lbfgs:passes=3"}, "algorithm: "),
        ({"scheme": "IOBX"}, "scheme"),
        ({"hash_bits": 99}, "hash_bits: "),
        ({"label_weights": {"Q": 1.0}}, "label_weights: "),
        ({"label_weights": "heavy"}, "label_weights: "),
        ({"label_weights": {"N": -1.0}}, r"label_weights\['N'\]: "),
        ({"features": "no such file"}, "features: "),
        ({"features": 3}, "features: "),
        ({"max_iterations": -1}, "max_iterations: expected"),
    ):
        with pytest.raises(InputError, match=place):
            CRF(**settings).fit(X, y)
    for weights in ([1.0], [1.0, 2.0, -1.0], [1.0, 2.0, np.nan], [1.0, 2.0, 3.0, 4.0], 1.0):
        with pytest.raises(InputError, match=r"^sample_weight: "):
            CRF().fit(X, y, sample_weight=weights)
    with pytest.raises(InputError, match=r"^sample_weight: "):
        CRF().fit(X, y, sample_weight=[0, 0, 0])
    for half in ({"X_dev": X}, {"y_dev": y}):
        with pytest.raises(InputError, match=r"^X_dev, y_dev: "):
            CRF().fit(X, y, **half)
