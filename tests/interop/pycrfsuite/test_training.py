"""What `Trainer` learns, against python-crfsuite: online algorithms to the byte, the others to the same labels."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import pycrfsuite as theirs
import pytest

from tagline import compiled
from tagline.interop import pycrfsuite as ours
from tests.interop.crfsuite.models import sentences
from tests.interop.pycrfsuite.libraries import BOTH, chunks, in_fresh_order, tagger_of, train, without_seconds

FEATURES: list[dict[str, Any]] = [
    {},
    {"feature.minfreq": 2},
    {"feature.minfreq": 0.7},
    {"feature.possible_states": True},
    {"feature.possible_transitions": True},
    {"feature.minfreq": 1, "feature.possible_states": 1, "feature.possible_transitions": 1},
]
ONLINE: list[tuple[str, dict[str, Any]]] = [
    ("ap", {}),
    ("ap", {"epsilon": 0.3}),
    ("pa", {}),
    ("pa", {"type": 0}),
    ("pa", {"type": 2, "c": 0.1}),
    ("pa", {"error_sensitive": 0, "averaging": 0, "epsilon": 0.2}),
    ("arow", {}),
    ("arow", {"variance": 0.5, "gamma": 2, "epsilon": 0.5}),
]


def files(tmp_path: Path, *data: Any, holdout: int = -1) -> list[tuple[bytes, Any]]:
    """The files of both libraries, and their trainers."""
    in_fresh_order()
    trained = [train(library, tmp_path / library.__name__, *data, holdout) for library in BOTH]
    return [
        ((tmp_path / library.__name__).read_bytes(), trainer) for library, trainer in zip(BOTH, trained, strict=True)
    ]


def test_random_numbers_are_those_of_the_c_library() -> None:
    assert compiled.core is not None
    library = ctypes.CDLL(None)
    for seed in (1, 2, 12345, 2**31 - 1):
        library.srand(seed)
        random = compiled.core.LibraryRandom(seed)
        assert [random.next() for _ in range(500)] == [library.rand() for _ in range(500)]
    library.srand(1)


@pytest.mark.parametrize("values", [True, False])
@pytest.mark.parametrize(("algorithm", "params"), ONLINE)
def test_online_models_are_those_of_crfsuite_to_the_byte(
    tmp_path: Path, algorithm: str, params: dict[str, Any], values: bool
) -> None:
    X, y = sentences(11, count=60, values=values)
    (expected, their_trainer), (file, our_trainer) = files(
        tmp_path, X, y, algorithm, {"max_iterations": 12, **params}, holdout=2
    )
    assert file == expected
    assert without_seconds(our_trainer.logparser.log) == without_seconds(their_trainer.logparser.log)


@pytest.mark.parametrize("params", FEATURES)
def test_features_are_cut_and_added_as_there(tmp_path: Path, params: dict[str, Any]) -> None:
    for values in (True, False):
        X, y = sentences(12, values=values)
        (expected, _), (file, _) = files(tmp_path, X, y, "ap", {"max_iterations": 3, **params}, holdout=1)
        assert file == expected


def test_several_trainings_in_a_row_go_on_with_the_random_order(tmp_path: Path) -> None:
    X, y = chunks(13, 40)
    in_fresh_order()
    out = []
    for library in BOTH:
        out.append([])
        for _ in range(2):
            train(library, tmp_path / "m", X, y, "pa", {"max_iterations": 3})
            out[-1].append((tmp_path / "m").read_bytes())
    assert out[0] == out[1]
    assert out[1][0] != out[1][1]
    ours.seed()
    train(ours, tmp_path / "m", X, y, "pa", {"max_iterations": 3})
    assert (tmp_path / "m").read_bytes() == out[1][0]


@pytest.mark.parametrize(
    ("algorithm", "params"),
    [
        ("lbfgs", {}),
        ("lbfgs", {"c1": 0.5, "c2": 0.01}),
        ("lbfgs", {"c2": 0.1, "feature.minfreq": 2}),
        ("lbfgs", {"feature.possible_states": 1, "feature.possible_transitions": 1}),
        ("l2sgd", {"max_iterations": 40}),
        ("l2sgd", {"c2": 0.1, "max_iterations": 30, "period": 5, "delta": 1e-3}),
    ],
)
def test_the_other_algorithms_reach_the_same_optimum(tmp_path: Path, algorithm: str, params: dict[str, Any]) -> None:
    X, y = chunks(14, 120)
    (expected, their_trainer), (file, our_trainer) = files(tmp_path, X, y, algorithm, params, holdout=3)
    their_log, our_log = their_trainer.logparser, our_trainer.logparser
    assert our_log.featgen_num_features == their_log.featgen_num_features
    assert our_log.last_iteration["loss"] == pytest.approx(their_log.last_iteration["loss"], rel=1e-4)
    X_new, _ = chunks(15, 200)
    reference, real, tagger = tagger_of(theirs, expected), tagger_of(theirs, file), tagger_of(ours, file)
    expected_labels = [reference.tag(items) for items in X_new]
    assert [real.tag(items) for items in X_new] == expected_labels
    assert tagger.tag_many(X_new) == expected_labels


def test_descent_follows_the_same_way(tmp_path: Path) -> None:
    X, y = chunks(16, 50)
    (_, their_trainer), (_, our_trainer) = files(tmp_path, X, y, "l2sgd", {"max_iterations": 6}, holdout=0)
    their_losses = [iteration["loss"] for iteration in their_trainer.logparser.iterations]
    assert [iteration["loss"] for iteration in our_trainer.logparser.iterations] == pytest.approx(
        their_losses, rel=1e-9
    )


def test_weights_count_sentences_several_times(tmp_path: Path) -> None:
    X, y = chunks(17, 30)
    models = []
    for weight, times in ((2.0, 1), (1.0, 2)):
        trainer = ours.Trainer("lbfgs", {"epsilon": 1e-9, "delta": 0}, verbose=False)
        for items, labels in zip(X, y, strict=True):
            for _ in range(times):
                trainer.append(items, labels, weight=weight)
        trainer.train(tmp_path / "m")
        models.append(ours.Tagger().open(tmp_path / "m").thing.info().state_features)
    assert models[0] == pytest.approx(models[1], abs=1e-5)
