"""Training goes on and stops: warm starts, streams, dev sets, budgets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tagline
from tagline import CRF, Corpus
from tagline.errors import InputError

from ..corpora import TEMPLATE, edge_features, everything, features, items, tagged

# Training goes on, and stops.


def test_warm_start_goes_on_where_it_ended() -> None:
    X, y = items(0, 40)
    for algorithm in ("auto", "lbfgs"):
        model = CRF(c2=0.1, warm_start=True, algorithm=algorithm).fit(X, y)
        first, objective = len(model.training_log_), model.objective_
        model.fit(X, y)
        assert len(model.training_log_) <= 10 < first  # as many as the tolerance looks back on
        assert model.objective_ <= objective * (1 + 1e-6)
        again = CRF(c2=0.1, algorithm=algorithm).fit(X, y)
        assert model.objective_ == pytest.approx(again.objective_, rel=1e-3)


def test_warm_start_takes_in_new_labels_and_features() -> None:
    X, y = items(0, 20)
    more, labels = [[{"word": "hark", "bias": 1.0}]] * 3, [["X"]] * 3
    model = CRF(c2=0.1, warm_start=True, algorithm="auto:epsilon=1e-7,delta=0").fit(X, y)
    old = dict(model.state_features_)
    model.fit(X + more, y + labels)
    assert model.labels_ == ["D", "N", "P", "V", "X"]
    assert "word:hark" in model.attributes_
    assert old.keys() <= model.state_features_.keys()
    assert model.predict(more) == labels
    direct = CRF(c2=0.1, algorithm="auto:epsilon=1e-7,delta=0").fit(X + more, y + labels)
    assert model.objective_ == pytest.approx(direct.objective_, rel=1e-8)
    for key, weight in direct.state_features_.items():
        assert model.state_features_[key] == pytest.approx(weight, abs=1e-4)


def test_warm_start_moves_the_weights_of_ends_with_their_labels() -> None:
    X, y = [[{}]] * 8, [["M"]] * 6 + [["N"]] * 2
    model = CRF(c2=0.01, start_end=True, warm_start=True).fit(X, y)
    before = {(row.kind, row.label): row.weight for row in model.weights_table()}
    model.set_params(max_iterations=0).fit([*X, [{}]], [*y, ["A"]])  # a label that comes first; nothing is learned
    assert model.labels_ == ["A", "M", "N"]
    assert {(row.kind, row.label): row.weight for row in model.weights_table()} == before


def test_warm_start_from_a_file(tmp_path: Path) -> None:
    words, y = tagged(3, 20)
    X, edges = [features(one) for one in words], [edge_features(one) for one in words]
    model, _ = everything()
    model.set_params(max_iterations=None).fit(X, y, edges=edges)
    model.save(tmp_path / "model")
    loaded = tagline.load(tmp_path / "model").set_params(warm_start=True)
    loaded.fit(X, y, edges=edges)
    assert loaded.objective_ == pytest.approx(model.objective_, rel=1e-4)
    assert len(loaded.training_log_) <= 10


def test_warm_start_of_hashed_models() -> None:
    X, y = items(0, 20)
    model = CRF(hash_bits=10, warm_start=True, c2=0.1).fit(X, y)
    model.fit([*X, [{"word": "hark"}]], [*y, ["X"]])
    assert model.labels_ == ["D", "N", "P", "V", "X"]
    assert model.score(X, y) > 0.8
    for bits in (None, 11):
        with pytest.raises(InputError, match=r"^hash_bits: "):
            model.set_params(hash_bits=bits).fit(X, y)
    with pytest.raises(InputError, match=r"^hash_bits: "):
        CRF(warm_start=True).fit(X, y).set_params(hash_bits=5).fit(X, y)


def test_partial_fit_learns_a_stream_and_does_not_forget() -> None:
    X, y = items(0, 200)
    model = CRF(c2=0.1)
    for first in range(0, 200, 20):
        model.partial_fit(X[first : first + 20], y[first : first + 20])
    assert model.training_.sentences == 200
    test_X, test_y = items(77, 100)
    best = CRF(c2=0.1).fit(X, y)
    assert model.score(test_X, test_y) > best.score(test_X, test_y) - 0.03
    before = model.score(X, y)
    model.partial_fit([[{"word": "hark"}]] * 3, [["X"]] * 3)
    assert model.labels_ == ["D", "N", "P", "V", "X"]
    assert model.predict([[{"word": "hark"}]]) == [["X"]]
    assert model.score(X, y) > before - 0.03
    strict = CRF(c2=20.0).fit(X, y)  # one sentence neither pays the penalty of two hundred nor is fitted alone
    norm, score = np.linalg.norm(strict.parameters_.weights), strict.score(X, y)
    for b in range(5):
        strict.partial_fit(X[b : b + 1], y[b : b + 1])
    assert np.linalg.norm(strict.parameters_.weights) == pytest.approx(norm, rel=0.1)
    assert strict.score(X, y) > score - 0.02


def test_a_dev_set_and_patience_keep_the_best() -> None:
    X, y = tagged(0, 20, noise=0.3)
    dev = tagged(50, 40)
    seen: list[tuple[float, Any]] = []
    model = CRF(
        TEMPLATE, c2=0.0, algorithm="lbfgs", patience=5, callbacks=(lambda done, w: seen.append((done.dev_score, w)),)
    ).fit(X, y, X_dev=dev[0], y_dev=dev[1])
    assert model.stop_reason_ == "patience"
    scores = [score for score, _ in seen]
    best = int(np.argmax(scores))
    assert best == len(seen) - 6
    np.testing.assert_array_equal(model.parameters_.weights, seen[best][1])
    assert model.score(*dev) == pytest.approx(scores[best])
    assert [done.dev_score for done in model.training_log_] == scores
    corpus = Corpus.from_sentences(list(zip(*dev, strict=True)))
    again = CRF(TEMPLATE, c2=0.0, algorithm="lbfgs", patience=5).fit(X, y, X_dev=corpus)
    np.testing.assert_array_equal(again.parameters_.weights, model.parameters_.weights)
    spans = CRF(TEMPLATE).fit([["Anna", "sings"]], [["B-PER", "O"]], X_dev=[["Anna"]], y_dev=[["B-PER"]])
    assert spans.training_log_[-1].dev_score == 1.0


def test_a_dev_set_with_edges() -> None:
    words, y = tagged()
    X, edges = [features(one) for one in words], [edge_features(one) for one in words]
    model = CRF(max_iterations=5).fit(X, y, edges=edges, X_dev=X, y_dev=y, edges_dev=edges)
    assert model.training_log_[-1].dev_score == pytest.approx(model.score(X, y, edges=edges))


def test_time_budget_callbacks_and_interrupts() -> None:
    X, y = items()
    assert CRF(max_seconds=0).fit(X, y).stop_reason_ == "time budget"
    assert CRF(max_iterations=3, algorithm="lbfgs").fit(X, y).stop_reason_ == "max_iterations"
    stopped = CRF(callbacks=(lambda done, weights: done.iteration == 4,)).fit(X, y)
    assert stopped.stop_reason_ == "callback"
    assert len(stopped.training_log_) == 4

    def interrupt(done: Any, weights: Any) -> None:
        if done.iteration == 4:
            raise KeyboardInterrupt

    for algorithm in ("auto", "lbfgs"):
        model = CRF(algorithm=algorithm, callbacks=(interrupt,)).fit(X, y)
        assert model.stop_reason_ == "interrupted"
        assert np.isfinite(model.parameters_.weights).all()
        assert model.parameters_.weights.any()
        assert model.score(X, y) > 0.5


def test_verbose_prints_a_line_a_pass(capfd: pytest.CaptureFixture[str]) -> None:
    X, y = items()
    model = CRF(verbose=True, algorithm="lbfgs", max_iterations=4).fit(X, y)
    out, err = capfd.readouterr()
    assert out == ""
    assert err.splitlines() == [done.line() for done in model.training_log_]
    assert len(err.splitlines()) == 4
    CRF(max_iterations=2).fit(X, y)
    assert capfd.readouterr() == ("", "")
