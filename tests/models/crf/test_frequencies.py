"""Features that are rare, and features whose weight is 0: which of them a fitted CRF has."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tagline
from tagline import CRF, InputError
from tagline.models.crf import frequencies
from tagline.models.crf.compilation import compile_corpus
from tagline.readers.corpus import Corpus

from ..corpora import TEMPLATE, items, tagged

X, Y = items(sentences=60)


def counted(weights: list[float]) -> Counter[tuple[str, str, str]]:
    """How often the sentences show each feature, by the definition."""
    total: Counter[tuple[str, str, str]] = Counter()
    for row, labels, weight in zip(X, Y, weights, strict=True):
        for item, label in zip(row, labels, strict=True):
            for name, value in item.items():
                key, times = (f"{name}:{value}", 1.0) if isinstance(value, str) else (name, float(value))
                total["state", key, label] += weight * times  # type: ignore[assignment]
        for before, label in pairwise(labels):
            total["transition", before, label] += weight  # type: ignore[assignment]
    return total


def features_of(model: CRF) -> set[tuple[str, str, str]]:
    states = {("state", *key) for key in model.state_features_}
    return states | {("transition", *key) for key in model.transition_features_}


@pytest.mark.parametrize("least", [0.5, 1, 2, 3.5])
@pytest.mark.parametrize("weighted", [False, True])
def test_features_that_are_rarer_are_left_out(least: float, weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frequencies, "MOST_TOKENS", 7)  # several blocks
    weights = [0.25 * (1 + b % 6) if weighted else 1.0 for b in range(len(X))]
    model = CRF(min_feature_frequency=least, max_iterations=3).fit(X, Y, sample_weight=weights if weighted else None)
    expected = {feature for feature, times in counted(weights).items() if times >= least}
    assert features_of(model) == expected
    assert 0 < len(expected) < len(counted(weights)) or least <= 1


def test_the_cut_is_that_of_crfsuite() -> None:
    theirs = pytest.importorskip("sklearn_crfsuite").CRF(min_freq=2, c2=0.3, max_iterations=500).fit(X, Y)
    ours = CRF(min_feature_frequency=2, c2=0.3, algorithm="auto:epsilon=1e-9,delta=0").fit(X, Y)
    assert set(ours.state_features_) == set(theirs.state_features_)
    assert set(ours.transition_features_) == set(theirs.transition_features_)
    for key, weight in theirs.state_features_.items():
        assert ours.state_features_[key] == pytest.approx(weight, abs=2e-3)
    attributes = CRF(min_frequency=2, c2=0.3).fit(X, Y)  # the other cut keeps what these leave out
    assert set(attributes.state_features_) > set(ours.state_features_)


def test_templates_hashes_and_compiled_corpora_are_cut_too(tmp_path: Path) -> None:
    words, y = tagged()
    corpus = Corpus.from_sentences(list(zip(words, y, strict=True)))
    plain = CRF(TEMPLATE, min_feature_frequency=3, max_iterations=5).fit(corpus)
    compiled = compile_corpus([corpus], tmp_path / "corpus", TEMPLATE)
    again = CRF(TEMPLATE, min_feature_frequency=3, max_iterations=5).fit(compiled)
    assert features_of(plain) == features_of(again) < features_of(CRF(TEMPLATE, max_iterations=5).fit(corpus))
    hashed = CRF(TEMPLATE, min_feature_frequency=3, hash_bits=20, max_iterations=5).fit(corpus)
    assert len(hashed.state_features_) == len(plain.state_features_)


def test_edges_are_cut() -> None:
    edges = [[["e"] for _ in row] for row in X]
    seen = Counter(pair for row in Y for pair in pairwise(row))
    model = CRF(min_feature_frequency=4, max_iterations=5).fit(X, Y, edges=edges)
    pairs = [(row.previous, row.label) for row in model.weights_table() if row.kind == "edge"]
    assert set(pairs) == {pair for pair, times in seen.items() if times >= 4} != set(seen)


def test_warm_starts_keep_what_they_have() -> None:
    model = CRF(max_iterations=5).fit(X[:30], Y[:30])
    before = features_of(model)
    model.set_params(warm_start=True, min_feature_frequency=3).fit(X, Y)
    frequent = {feature for feature, times in counted([1.0] * len(X)).items() if times >= 3}
    assert features_of(model) == before | frequent


@pytest.mark.parametrize("setting", ["all_possible_states", "all_possible_transitions"])
def test_what_was_never_seen_has_no_frequency(setting: str) -> None:
    with pytest.raises(InputError, match=f"min_feature_frequency: expected 0 beside {setting}=True, got 2"):
        CRF(min_feature_frequency=2, **{setting: True}).fit(X, Y)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^min_feature_frequency: "):
        CRF(min_feature_frequency=2).fit(X, [[None, *Y[0][1:]], *Y[1:]])
    with pytest.raises(InputError, match="min_feature_frequency: expected a number of 0 or more, got -1"):
        CRF(min_feature_frequency=-1).fit(X, Y)


# Weights of 0.


def sparse(**settings: Any) -> CRF:
    return CRF(algorithm="owlqn", c1=1.0, c2=0.01, **settings)


def test_weights_of_0_are_no_features(tmp_path: Path) -> None:
    model = sparse().fit(X, Y)
    assert 0 < len(model.state_features_) < len(CRF(max_iterations=3).fit(X, Y).state_features_)
    assert all([*model.state_features_.values(), *model.transition_features_.values()])
    assert set(model.attributes_) == {name for name, _ in model.state_features_}
    assert model.num_attributes_ == len(model.attributes_) == model.summary().attributes
    model.save(tmp_path / "m.tagline", date=False)
    loaded = tagline.load(tmp_path / "m.tagline")
    assert loaded.attributes_ == model.attributes_
    assert loaded.state_features_.keys() == model.state_features_.keys()
    assert loaded.predict(X) == model.predict(X)


def test_files_and_answers_are_those_of_all_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = sparse().fit(X, Y)
    from tagline.models.crf.parameters import Parameters

    with monkeypatch.context() as patch:
        patch.setattr(Parameters, "pruned", lambda parameters: parameters)
        whole = sparse().fit(X, Y)
    assert (np.asarray(whole.parameters_.weights) == 0).any()
    for name, each in (("pruned", model), ("whole", whole)):
        each.save(tmp_path / name, date=False)
    assert (tmp_path / "pruned").read_bytes() == (tmp_path / "whole").read_bytes()
    for ours, theirs in zip(model.predict_marginals(X), whole.predict_marginals(X), strict=True):
        assert ours == theirs


def test_training_goes_on_from_a_pruned_model() -> None:
    model = sparse(warm_start=True).fit(X[:40], Y[:40])
    known = set(model.state_features_)
    model.fit(X, Y)
    fresh = sparse().fit(X, Y)
    assert model.objective_ == pytest.approx(fresh.objective_, rel=1e-4)
    assert len(known) < len(model.state_features_)
    model.partial_fit(X[:5], Y[:5])
    assert model.score(X[:5], Y[:5]) > 0.8


def test_a_run_that_was_stopped_is_resumed_to_the_same_features(tmp_path: Path) -> None:
    straight = sparse(max_iterations=12).fit(X, Y)
    path = tmp_path / "state"
    sparse(max_iterations=5).fit(X, Y, checkpoint=path, save_every=0)
    resumed = sparse(max_iterations=12).fit(X, Y, checkpoint=path, resume=True)
    assert resumed.state_features_ == straight.state_features_
    assert resumed.attributes_ == straight.attributes_


# Series of pandas.


@pytest.mark.parametrize("index", [None, range(100, 160), range(59, -1, -1)])
def test_a_series_is_its_values(index: Any) -> None:
    def series(values: list[Any]) -> Any:
        return pd.Series(values, index=index)

    model = CRF(max_iterations=10).fit(X[:60], Y[:60])
    of_series = CRF(max_iterations=10, patience=None)
    of_series.fit(series(X[:60]), series(Y[:60]), X_dev=series(X[:60]), y_dev=series(Y[:60]))
    assert of_series.state_features_ == model.state_features_
    assert of_series.predict(series(X[:60])) == model.predict(X[:60])
    assert of_series.score(series(X[:60]), series(Y[:60])) == model.score(X[:60], Y[:60])
    strings = [[[f"{name}={value}" for name, value in item.items()] for item in row] for row in X[:60]]
    assert CRF(max_iterations=3).fit(series(strings), series(Y[:60])).num_attributes_ > 0
    rows = CRF(max_iterations=10).fit([pd.Series(row) for row in X[:60]], [pd.Series(row) for row in Y[:60]])
    assert rows.state_features_ == model.state_features_
