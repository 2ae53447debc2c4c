"""Parameters that are set on a fitted model: those that need training are an error until `fit`, and never ignored."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import tagline
from tagline import CRF, HMM, MEMM, InputError, MaxEnt, SemiCRF, TrigramTagger
from tagline.features.lexicons.dictionaries import Dictionary

X = [["Anna", "saw", "Rome"], ["Rome", "saw", "Anna"]] * 3
Y = [["B-PER", "O", "B-LOC"], ["B-LOC", "O", "B-PER"]] * 3
WORDS = "U00:%x[0,0]\n"

CHANGES: list[tuple[Any, str, Any]] = [
    (CRF(WORDS, scheme="IOB2"), "dictionary", Dictionary({"Bonn": "LOC"}, priority="over")),
    (CRF(WORDS), "features", "U00:%x[0,0]\nU01:%x[-1,0]\n"),
    (CRF(WORDS), "c2", 0.1),
    (MEMM(WORDS), "scheme", "IOB2"),
    (MaxEnt(WORDS), "clusters", {"Bonn": "1"}),
    (SemiCRF(WORDS), "max_length", 2),
    (HMM(), "scheme", "IOB2"),
    (HMM(topology=np.ones((3, 3), bool)), "topology", ~np.eye(3, dtype=bool)),
    (TrigramTagger(), "capitals", False),
]


@pytest.mark.parametrize(("estimator", "name", "value"), CHANGES)
def test_a_parameter_that_needs_training_is_refused_until_fit(
    estimator: Any, name: str, value: Any, tmp_path: Path
) -> None:
    model = clone(estimator).fit(X, Y)
    before, answers = getattr(model, name), model.predict(X)
    setattr(model, name, value)
    for question in (
        lambda: model.predict(X),
        lambda: model.predict_marginals(X),
        lambda: model.score(X, Y),
        lambda: model.save(tmp_path / "m"),
        lambda: pickle.dumps(model),
    ):
        with pytest.raises(InputError, match=f"^{name}: "):
            question()
    assert model.set_params(**{name: before}).predict(X) == answers
    model.set_params(**{name: value}).fit(X, Y).predict(X)


def test_values_that_are_equal_and_limits_of_a_run_are_no_change(tmp_path: Path) -> None:
    model = CRF(WORDS, clusters={"Anna": "1"}, scheme="IOB2").fit(X, Y)
    model.set_params(clusters={"Anna": "1"}, max_iterations=3, verbose=False, warm_start=True, random_state=1)
    answers = model.predict(X)
    model.save(tmp_path / "m")
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), tagline.load(tmp_path / "m")):
        assert again.predict(X) == answers
        with pytest.raises(InputError, match=r"^order: "):
            again.set_params(order=2).predict(X)


def test_a_grid_of_parameters_is_searched_as_before() -> None:
    model = CRF(WORDS, scheme="IOB2").fit(X, Y)
    grid = {"dictionary": [None, Dictionary({"Bonn": "LOC"}, priority="over")]}
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(X, Y)
    assert search.best_score_ == 1.0
    assert clone(model).set_params(order=2).fit(X, Y).predict(X) == Y
