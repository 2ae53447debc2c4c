"""Answers of the estimator: they agree with each other, on any thread, for any input."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
import pytest

from tagline import CRF
from tagline.errors import InputError

from ..corpora import TEMPLATE, edge_features, everything, features, items, tagged

# Answers.


def test_eight_threads_get_the_same_answers() -> None:
    X, y = tagged(0, 200)
    model = CRF(TEMPLATE, c2=0.1).fit(X, y)
    expected = model.predict(X)
    rows = model.marginal_arrays(X)
    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(model.predict, X) for _ in range(24)]
        others = [pool.submit(model.marginal_arrays, X) for _ in range(8)]
        assert all(one.result() == expected for one in answers)
        for one in others:
            np.testing.assert_equal(one.result(), rows)


def test_long_input_is_answered_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    from tagline.models.crf import chains

    words, y = tagged(0, 60)
    model, _ = everything()
    X, edges = [features(one) for one in words], [edge_features(one) for one in words]
    whole = model.predict(X, edges=edges)
    monkeypatch.setattr(chains, "MOST_TOKENS", 7)
    assert model.predict(X, edges=edges) == whole
    assert len(model.log_likelihood(X, y, edges=edges)) == 60


def test_the_answers_agree_with_each_other() -> None:
    X, y = items()
    model = CRF(c2=0.1).fit(X, y)
    x = next(x for x in X if len(x) == 3)
    paths = [list(path) for path in product(model.labels_, repeat=3)]
    p = np.exp(model.log_likelihood([x] * 64, paths))
    assert p.sum() == pytest.approx(1.0, abs=1e-5)
    ranked = model.predict_k_best([x], 4)[0]
    order = np.argsort(-p)[:4]
    assert [one.labels for one in ranked] == [paths[k] for k in order]
    assert [one.probability for one in ranked] == pytest.approx(p[order], abs=1e-5)
    assert model.predict_single(x) == ranked[0].labels
    assert model.entropy([x])[0] == pytest.approx(-(p * np.log(p)).sum(), abs=1e-4)
    drawn = model.predict_samples([x], 2000, seed=1)[0]
    assert drawn.count(ranked[0].labels) / 2000 == pytest.approx(ranked[0].probability, abs=0.05)
    rows = model.predict_marginals_single(x)
    assert rows[0]["N"] == pytest.approx(sum(q for q, path in zip(p, paths, strict=True) if path[0] == "N"), abs=1e-5)
    assert model.log_likelihood([x])[0] == pytest.approx(
        float(np.log(np.exp(ranked[0].score) / ranked[0].probability)), abs=1e-4
    )


def test_score_and_evaluate() -> None:
    X, y = tagged()
    model = CRF(TEMPLATE, c2=0.1).fit(X, y)
    pairs = [(a, b) for row, found in zip(y, model.predict(X), strict=True) for a, b in zip(row, found, strict=True)]
    right = sum(a == b for a, b in pairs) / len(pairs)
    assert model.score(X, y) == pytest.approx(right)
    report = model.evaluate(X, y)
    assert report.tokens.accuracy == pytest.approx(right)
    assert report.spans is None
    weights = np.arange(len(X)) % 2
    odd = model.score(X[1::2], y[1::2])
    assert model.score(X, y, sample_weight=weights) == pytest.approx(odd)
    assert model.score(X[:2], [[None] * len(row) for row in y[:2]]) == 0.0
    people = CRF(TEMPLATE, c2=0.01).fit([["Anna", "sings"], ["in", "Rome"]], [["B-PER", "O"], ["O", "B-LOC"]])
    found = people.evaluate([["Anna", "sings"], ["in", "Rome"]], [["B-PER", "O"], ["O", "B-PER"]], resamples=50)
    assert found.spans.rule.startswith("conlleval:")
    assert found.spans.f1 == 0.5
    assert found.interval is not None
    assert people.evaluate([["Anna"]], [["B-PER"]], rule=None).spans is None
    with pytest.raises(InputError, match=r"^y\[0\]\[1\]: "):
        people.evaluate([["Anna", "sings"]], [["B-PER", None]])
    with pytest.raises(InputError, match=r"^y\[0\]: "):
        people.score([["Anna", "sings"]], [["B-PER"]])


def test_nothing_and_empty_sentences() -> None:
    model = CRF("U00:%x[0,0]\nU01:%x[0,1]\nB\n").fit([[("the", "DT"), ("cat", "NN")], []], [["D", "N"], []])
    assert model.predict([]) == []
    assert model.predict([[]]) == [[]]
    assert model.predict([[], [("the", "DT")], []]) == [[], ["D"], []]
    assert model.predict_marginals([[]]) == [[]]
    assert model.log_likelihood([], []).shape == (0,)
    assert model.log_likelihood([[]], [[]]).tolist() == [0.0]
    assert model.predict_k_best([[]], 2)[0][0].labels == []


def test_labels_of_numpy_become_strings() -> None:
    model = CRF().fit([[{"a": 1}]], [np.array(["N"])])
    assert type(model.labels_[0]) is str
    assert repr(model.predict([[{"a": 1}]])) == "[['N']]"


def test_unknown_attributes_cost_nothing() -> None:
    X, y = items()
    model = CRF().fit(X, y)
    with_more = [[{**item, "new": "thing", "other": 3.0} for item in row] for row in X]
    np.testing.assert_equal(model.marginal_arrays(with_more), model.marginal_arrays(X))
