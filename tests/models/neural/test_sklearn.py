"""Neural taggers among scikit-learn's tools: its own estimator checks, clone, cross validation, grid search, joblib."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import joblib
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score  # noqa: E402
from sklearn.utils.estimator_checks import estimator_checks_generator  # noqa: E402
from sklearn.utils.validation import check_is_fitted, validate_data  # noqa: E402

from tagline import BiLSTMCRF, Corpus, TransformerCRF  # noqa: E402
from tagline.features.lexicons.embeddings import Embeddings  # noqa: E402

from ..crf.test_sklearn import ELSEWHERE, RULED_OUT, name_of  # noqa: E402
from .cases import (  # noqa: E402
    SMALL,
    TINY,
    bilstm,
    encoder_folder,
    people,
    same_weights,
    transformer,
)

pytestmark = pytest.mark.usefixtures("one_thread")

QUICK = {**SMALL, "epochs": 4, "learning_rate": 0.05}


class Checked:
    """The tag set without which scikit-learn generates no checks at all."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.two_d_array = True
        return tags


class Unchecked(Checked, BiLSTMCRF):
    """BiLSTMCRF with it."""


class UncheckedTransformer(Checked, TransformerCRF):
    """TransformerCRF with it."""


class Rows(Unchecked):
    """BiLSTMCRF for matrices: a row is a sentence of one token, written as its numbers rounded; y is one label a row.

    What scikit-learn checks by fitting matrices is checked on this one, for nothing is replaced but the input.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:  # type: ignore[override]
        X, y = validate_data(self, X, y)
        self.kinds_ = {str(kind): kind for kind in y}
        return super().fit(self._words(X), [[str(kind)] for kind in y], sample_weight=sample_weight)

    def predict(self, X: Any) -> Any:  # type: ignore[override]
        check_is_fitted(self)
        rows = super().predict(self._words(validate_data(self, X, reset=False)))
        return np.array([self.kinds_[row[0]] for row in rows])

    def score(self, X: Any, y: Any) -> float:  # type: ignore[override]
        return float((self.predict(X) == y).mean())

    @staticmethod
    def _words(X: Any) -> list[list[str]]:
        return [["".join("+" if value > 0 else "-" for value in row)] for row in X]


TINIEST = {"hidden": 2, "word_dim": 2, "char_dim": 2, "char_size": 2, "epochs": 2, "dropout": 0.0, "device": "cpu"}


def checks(estimator: Any, without: Iterable[str]) -> list[Any]:
    """scikit-learn's checks of an estimator."""
    with warnings.catch_warnings(action="ignore"):
        found = [pytest.param(*pair, id=name_of(pair[1])) for pair in estimator_checks_generator(estimator)]
    return [one for one in found if one.id not in without]


@pytest.mark.parametrize(
    ("estimator", "check"),
    checks(Unchecked(), {*RULED_OUT, *ELSEWHERE}) + checks(UncheckedTransformer(), {*RULED_OUT, *ELSEWHERE}),
)
def test_checks_on_the_estimators_as_they_are(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize(("estimator", "check"), checks(Rows(**TINIEST), ELSEWHERE))
def test_checks_on_rows_of_a_matrix(estimator: Any, check: Any) -> None:
    check(estimator)


def test_there_are_checks() -> None:
    assert set(RULED_OUT) <= {one.id for one in checks(Rows(), ())}
    assert len(checks(Unchecked(), {*RULED_OUT, *ELSEWHERE})) >= 10


@pytest.mark.parametrize("kind", [BiLSTMCRF, TransformerCRF])
def test_tags_clone_repr_and_params(kind: Any) -> None:
    tags = kind().__sklearn_tags__()
    assert not tags.input_tags.two_d_array
    assert tags.input_tags.string
    assert not tags.target_tags.required
    model = kind(dropout=0.25, callbacks=(print,), label_weights={"N": 2.0})
    twin = clone(model)
    assert twin is not model
    assert twin.get_params() == model.get_params()
    assert repr(kind(dropout=0.25)) == f"{kind.__name__}(dropout=0.25)"
    with pytest.raises(ValueError, match="Invalid parameter 'c2'"):
        kind().set_params(c2=1)


def test_a_fitted_model_is_cloned() -> None:
    for model in (bilstm(), transformer("bert") if has_transformers() else bilstm()):
        twin = clone(model)
        assert not hasattr(twin, "network_")
        assert twin.get_params() == model.get_params()
        assert type(model).__name__ in model._repr_html_()
    vectors = Embeddings(("anna",), np.ones((1, 3), np.float32))
    given = BiLSTMCRF(vectors, **{**SMALL, "epochs": 1}).fit(*people(0, 4))
    assert given.embeddings is vectors
    assert clone(given).embeddings.words == vectors.words


def has_transformers() -> bool:
    try:
        import transformers  # noqa: F401
    except ImportError:
        return False
    return True


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: model.predict([["a"]]),
        lambda model: model.predict_marginals([["a"]]),
        lambda model: model.predict_k_best([["a"]], 2),
        lambda model: model.predict_spans([["a"]]),
        lambda model: model.predict_samples([["a"]]),
        lambda model: model.log_likelihood([["a"]]),
        lambda model: model.entropy([["a"]]),
        lambda model: model.score([["a"]], [["X"]]),
        lambda model: model.evaluate([["a"]], [["X"]]),
        lambda model: model.explain(["a"]),
        lambda model: model.summary(),
        lambda model: model.save("never"),
        lambda model: model.labels_,
        lambda model: model.classes_,
        lambda model: model.scheme_name,
        lambda model: model.stop_reason_,
        lambda model: model.notes_,
        lambda model: model.size_,
    ],
)
@pytest.mark.parametrize("kind", [BiLSTMCRF, TransformerCRF])
def test_not_fitted(kind: Any, ask: Any) -> None:
    with pytest.raises(NotFittedError):
        ask(kind())


def test_cross_val_predict() -> None:
    X, y = people(0, 12)
    predicted = cross_val_predict(BiLSTMCRF(**QUICK), X, y, cv=3)
    assert [len(row) for row in predicted] == [len(row) for row in y]
    for fold, (train, test) in enumerate(KFold(3).split(X)):
        model = BiLSTMCRF(**QUICK).fit([X[b] for b in train], [y[b] for b in train])
        assert model.predict([X[b] for b in test]) == predicted[test].tolist(), fold


def test_grid_search() -> None:
    X, y = people(0, 18)
    search = GridSearchCV(BiLSTMCRF(**QUICK), {"learning_rate": [1e-9, 0.05], "hidden": np.array([6])}, cv=3).fit(X, y)
    assert search.best_params_ == {"learning_rate": 0.05, "hidden": 6}
    scores = cross_val_score(BiLSTMCRF(**{**QUICK, "hidden": 6}), X, y, cv=3)
    assert search.best_score_ == pytest.approx(scores.mean())
    assert same_weights(search.best_estimator_, BiLSTMCRF(**{**QUICK, "hidden": 6}).fit(X, y))
    corpus = Corpus.from_sentences(list(zip(X, y, strict=True)))
    assert cross_val_score(BiLSTMCRF(**{**QUICK, "hidden": 6}), corpus, cv=3).tolist() == scores.tolist()


def test_grid_search_of_a_transformer() -> None:
    pytest.importorskip("transformers")
    X, y = people(0, 12)
    model = TransformerCRF(encoder_folder("bert"), **{**TINY, "epochs": 4})
    search = GridSearchCV(model, {"learning_rate": [1e-9, 0.01]}, cv=2).fit(X, y)
    assert search.best_params_ == {"learning_rate": 0.01}


def test_sample_weight_through_a_search() -> None:
    X, y = people(0, 8)
    weights = np.linspace(0.5, 2.0, 8)
    search = GridSearchCV(BiLSTMCRF(**QUICK), {"hidden": [4]}, cv=2).fit(X, y, sample_weight=weights)
    direct = BiLSTMCRF(**{**QUICK, "hidden": 4}).fit(X, y, sample_weight=weights)
    assert same_weights(search.best_estimator_, direct)


def test_threads_of_joblib_share_a_model() -> None:
    model, X = bilstm(), people(3, 4)[0]
    expected = model.predict(X)
    answers = joblib.Parallel(n_jobs=2, backend="threading")(joblib.delayed(model.predict)([x]) for x in X)
    assert [answer[0] for answer in answers] == expected


def test_generators_are_read() -> None:
    X, y = people()

    def sentences() -> Iterator[Iterator[str]]:
        return (iter(words) for words in X)

    model = BiLSTMCRF(**SMALL).fit(sentences(), (iter(row) for row in y))
    assert same_weights(model, bilstm())
    assert model.predict(sentences()) == bilstm().predict(X)
    assert model.score(sentences(), iter(y)) == 1.0
    assert np.asarray(model.predict(X)).shape == (len(X),)
