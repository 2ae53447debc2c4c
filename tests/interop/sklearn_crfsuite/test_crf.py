"""The names of sklearn-crfsuite on our engine, beside the real ones."""

from __future__ import annotations

import ctypes
import inspect
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pycrfsuite
import pytest
import sklearn_crfsuite as theirs
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from tagline import InputError
from tagline.interop import sklearn_crfsuite as ours
from tagline.interop.sklearn_crfsuite import scorers
from tagline.interop.sklearn_crfsuite.trainer import LinePerIterationTrainer
from tests.models.corpora import items

X, Y = items(1, 60)
MORE_X, MORE_Y = items(2, 60)


def test_the_constructor_is_theirs() -> None:
    real, own = (inspect.signature(module.CRF.__init__).parameters for module in (theirs, ours))
    assert [(name, parameter.default, parameter.kind) for name, parameter in own.items()] == [
        (name, parameter.default, parameter.kind) for name, parameter in real.items()
    ]
    assert set(vars(ours.CRF())) == set(vars(theirs.CRF()))
    for name in ("fit", "predict", "predict_single", "predict_marginals", "predict_marginals_single", "score"):
        real_names, own_names = (list(inspect.signature(getattr(m.CRF, name)).parameters) for m in (theirs, ours))
        assert own_names == real_names


def test_nothing_is_known_before_fitting() -> None:
    crf = ours.CRF()
    for name in ("tagger_", "classes_", "size_", "num_attributes_", "attributes_", "state_features_"):
        assert getattr(crf, name) is None
    assert crf.transition_features_ is None
    assert crf.training_log_ is None
    assert crf.modelfile.name is None
    with pytest.raises(NotFittedError, match=r"^CRF: "):
        crf.predict(X)


@pytest.mark.parametrize(
    "settings",
    [
        {"c1": 0.2, "c2": 0.1},
        {"c2": 0.5, "min_freq": 2},
        {"c2": 0.5, "all_possible_states": True, "all_possible_transitions": True},
    ],
    ids=lambda settings: " ".join(map(str, settings.values())),
)
def test_models_are_theirs(settings: dict[str, Any]) -> None:
    own, real = ours.CRF(**settings).fit(X, Y), theirs.CRF(**settings).fit(X, Y)
    assert own.classes_ == real.classes_
    assert own.predict(MORE_X).tolist() == real.predict(MORE_X).tolist()
    assert own.score(MORE_X, MORE_Y) == real.score(MORE_X, MORE_Y)
    assert set(own.transition_features_) == set(real.transition_features_)
    if "c1" not in settings:  # how far the last digits are from 0 is another matter
        assert set(own.state_features_) == set(real.state_features_)
        assert own.num_attributes_ == real.num_attributes_
        assert own.attributes_ == real.attributes_
    for features in (own.state_features_, own.transition_features_):
        assert all(isinstance(weight, float) and weight for weight in features.values())
    for row, expected in zip(own.predict_marginals(MORE_X), real.predict_marginals(MORE_X), strict=True):
        for token, wanted in zip(row, expected, strict=True):
            assert list(token) == list(wanted)
            # Two searches for one optimum stop at different distances from it.
            np.testing.assert_allclose(list(token.values()), list(wanted.values()), rtol=0, atol=5e-3)


@pytest.mark.parametrize(
    "settings",
    [
        {"algorithm": "l2sgd", "max_iterations": 30, "calibration_eta": 0.2, "calibration_samples": 20},
        {"algorithm": "ap", "max_iterations": 20},
        {"algorithm": "pa", "max_iterations": 20, "pa_type": 2, "c": 0.5, "error_sensitive": False},
        {"algorithm": "arow", "max_iterations": 20, "variance": 0.5, "gamma": 2},
    ],
    ids=lambda settings: str(settings["algorithm"]),
)
def test_algorithms_that_draw_random_numbers_learn_as_much(settings: dict[str, Any]) -> None:
    own = ours.CRF(**settings).fit(X, Y)
    # There, each run of a process goes on with the C library's random numbers of the run before.
    ctypes.CDLL(None).srand(1)
    real = theirs.CRF(**settings).fit(X, Y)
    assert own.classes_ == real.classes_
    assert set(own.transition_features_) <= {(before, label) for before in own.classes_ for label in own.classes_}
    assert own.score(MORE_X, MORE_Y) == pytest.approx(real.score(MORE_X, MORE_Y), abs=0.06)


def test_the_file_is_one_of_crfsuite(tmp_path: Path) -> None:
    path = str(tmp_path / "model.crfsuite")
    crf = ours.CRF(model_filename=path, max_iterations=20).fit(X, Y)
    assert crf.size_ == os.path.getsize(path)
    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    assert [tagger.tag(row) for row in MORE_X] == [crf.predict_single(row) for row in MORE_X]
    again = ours.CRF(model_filename=path)  # what is there already needs no fit
    assert again.score(MORE_X, MORE_Y) == crf.score(MORE_X, MORE_Y)
    assert theirs.CRF(model_filename=path).predict(X).tolist() == crf.predict(X).tolist()


def test_temporary_files_come_and_go() -> None:
    crf = ours.CRF(max_iterations=3).fit(X, Y)
    first = crf.modelfile.name
    assert first.endswith(".crfsuite")
    crf.fit(X, Y)
    assert not os.path.exists(first)
    second = crf.modelfile.name
    del crf
    assert not os.path.exists(second)
    crf = ours.CRF(max_iterations=3, keep_tempfiles=True).fit(X, Y)
    kept = crf.modelfile.name
    del crf
    assert os.path.exists(kept)
    os.unlink(kept)


def test_pickles_and_clones() -> None:
    crf = ours.CRF("lbfgs", c2=0.3, max_iterations=20).fit(X, Y, MORE_X, MORE_Y)
    other = pickle.loads(pickle.dumps(crf))
    assert other.modelfile.name != crf.modelfile.name
    assert other.predict(X).tolist() == crf.predict(X).tolist()
    assert other.training_log_.last_iteration["num"] == crf.training_log_.last_iteration["num"]
    copy = clone(crf)
    assert copy.get_params() == crf.get_params()
    assert copy.tagger_ is None


def test_searches() -> None:
    search = GridSearchCV(ours.CRF(max_iterations=20), {"c2": [0.1, 100.0]}, cv=2, scoring=scorers.flat_accuracy)
    search.fit(X, Y)
    assert search.best_params_["c2"] in (0.1, 100.0)
    assert 0 <= scorers.sequence_accuracy(search.best_estimator_, X, Y) <= 1


def test_generators_and_series() -> None:
    crf = ours.CRF(max_iterations=10).fit(X, Y)
    lazy = ours.CRF(max_iterations=10).fit(iter(X), iter(Y))
    series = ours.CRF(max_iterations=10).fit(pd.Series(X, index=range(5, 5 + len(X))), pd.Series(Y))
    for other in (lazy, series):
        assert other.state_features_ == crf.state_features_
    assert crf.predict(iter(X)).tolist() == crf.predict(pd.Series(X)).tolist() == crf.predict(X).tolist()


def test_a_log_of_the_dev_set() -> None:
    own, real = (module.CRF(c2=0.3, max_iterations=7).fit(X, Y, MORE_X, MORE_Y) for module in (ours, theirs))
    last, wanted = own.training_log_.last_iteration, real.training_log_.last_iteration
    assert set(last) == set(wanted)
    assert last["num"] == wanted["num"] == 7
    assert set(last["scores"]) == set(wanted["scores"])


def test_what_verbose_prints(capsys: pytest.CaptureFixture[str]) -> None:
    ours.CRF(max_iterations=3, verbose=True).fit(X, Y, MORE_X, MORE_Y)
    printed = capsys.readouterr().out.splitlines()
    passes = [line for line in printed if line.startswith("Iter ")]
    assert len(passes) == 3
    assert all("loss=" in line and "precision=" in line for line in passes)
    assert any(line.split() == ["Label", "Precision", "Recall", "F1", "Support"] for line in printed)


def test_the_table_is_that_of_tabulate() -> None:
    tabulate = pytest.importorskip("tabulate").tabulate
    from tagline.interop.sklearn_crfsuite.trainer import HEADERS, table_of

    rows = [("B-ORGANISATION", 0.5, 1.0, 2 / 3, 1_234_567), ("O", 0.0, 0.0, 0.0, 3)]
    assert table_of(rows) == tabulate(rows, headers=HEADERS, floatfmt="0.3f")


def test_another_trainer() -> None:
    class Quiet(LinePerIterationTrainer):
        passes = 0

        def on_iteration(self, log: str, info: dict[str, Any]) -> None:
            Quiet.passes += 1

    ours.CRF(max_iterations=4, verbose=True, trainer_cls=Quiet).fit(X, Y)
    assert Quiet.passes == 4


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="both X_dev and y_dev"):
        ours.CRF().fit(X, Y, X)
    with pytest.raises(InputError, match=rf"^y: .*\b{len(Y) - 1}\b"):
        ours.CRF().fit(X, Y[:-1])
    with pytest.raises(InputError, match=r"^X_dev: .*y_dev"):
        ours.CRF().fit(X, Y, X[:3], Y[:4])
    with pytest.raises(ValueError, match=r"^Parameter not found: "):  # not of this algorithm
        ours.CRF("ap", c1=1.0).fit(X, Y)


def test_a_model_outlives_a_fit_that_fails() -> None:
    crf = ours.CRF(max_iterations=5).fit(X, Y)
    before = crf.predict(X).tolist()
    with pytest.raises(InputError):
        crf.fit(X, Y[:-1])
    assert crf.predict(X).tolist() == before


ALIAS = """
import pickle, sys
import tagline.interop.sklearn_crfsuite
sys.modules["sklearn_crfsuite"] = tagline.interop.sklearn_crfsuite
import sklearn_crfsuite.metrics
from sklearn_crfsuite import CRF, scorers
from sklearn_crfsuite.compat import BaseEstimator
from sklearn_crfsuite.estimator import CRF as same
from sklearn_crfsuite.trainer import LinePerIterationTrainer
from sklearn_crfsuite.utils import flatten
assert CRF is same is tagline.interop.sklearn_crfsuite.CRF
assert "pycrfsuite" not in sys.modules
crf = pickle.load(sys.stdin.buffer)  # a pickle of the real one
assert type(crf) is CRF
print(crf.predict([[["w=Anna"], ["w=sings"]]]).tolist())
"""


def test_in_the_place_of_the_real_one() -> None:
    real = theirs.CRF().fit([[["w=Anna"], ["w=sings"]]], [["N", "V"]])
    done = subprocess.run(
        [sys.executable, "-c", ALIAS],
        input=pickle.dumps(real),
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().strip() == "[['N', 'V']]"
