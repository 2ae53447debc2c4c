"""What BiLSTMCRF refuses by name, settings and data, and what it leaves alone."""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tagline import BiLSTMCRF  # noqa: E402
from tagline.errors import InputError  # noqa: E402
from tagline.features.lexicons.embeddings import Embeddings  # noqa: E402

from .cases import (  # noqa: E402
    SHORT,
    SMALL,
    VECTORS,
    bilstm,
    people,
    same_weights,
)

pytestmark = pytest.mark.usefixtures("one_thread")

WRONG: dict[str, Any] = {
    "hidden": ({"hidden": 0}, r"^hidden: "),
    "hidden: a word": ({"hidden": "many"}, r"^hidden: .*'many'"),
    "layers": ({"layers": 0}, r"^layers: "),
    "word_dim": ({"word_dim": -1}, r"^word_dim: "),
    "char_dim": ({"char_dim": 0}, r"^char_dim: "),
    "char_size: odd": ({"char_size": 7, "characters": "lstm"}, r"^char_size: "),
    "case_dim": ({"case_dim": -1}, r"^case_dim: "),
    "bigram_dim": ({"bigram_dim": -1}, r"^bigram_dim: "),
    "word_dropout": ({"word_dropout": 1.0}, r"^word_dropout: "),
    "hidden: huge": ({"hidden": 10**12}, r"^hidden: "),
    "hidden: beyond int64": ({"hidden": 2**64 + 1}, r"^hidden: "),
    "layers: huge": ({"layers": 10**6}, r"^layers: "),
    "min_frequency": ({"min_frequency": 0}, r"^min_frequency: "),
    "characters": ({"characters": "rnn"}, r"^characters: .*'cnn'"),
    "dropout": ({"dropout": 1.5}, r"^dropout: "),
    "dropout: 1": ({"dropout": 1}, r"^dropout: "),
    "smoothing": ({"smoothing": -0.1}, r"^smoothing: "),
    "head": ({"head": "x"}, r"^head: .*'x'"),
    "device": ({"device": "cuda:77"}, r"^device: .*'cuda:77'"),
    "device: odd": ({"device": "abacus"}, r"^device: "),
    "device: meta": ({"device": "meta"}, r"^device: "),
    "device: None": ({"device": None}, r"^device: "),
    "embeddings: missing": ({"embeddings": "no/such/file.txt"}, r"^no/such/file\.txt: "),
    "embeddings: a number": ({"embeddings": 3}, r"^embeddings: "),
    "embeddings: empty": (
        {"embeddings": Embeddings((), np.zeros((0, 5), np.float32))},
        r"^embeddings: ",
    ),
    "epochs": ({"epochs": 0}, r"^epochs: "),
    "batch_size": ({"batch_size": 0}, r"^batch_size: "),
    "max_tokens": ({"max_tokens": 0}, r"^max_tokens: "),
    "optimizer": ({"optimizer": "adam"}, r"^optimizer: "),
    "schedule": ({"schedule": "steep"}, r"^schedule: "),
    "precision": ({"precision": "float8"}, r"^precision: "),
    "learning_rate": ({"learning_rate": 0.0}, r"^learning_rate: "),
    "learning_rate: NaN": ({"learning_rate": float("nan")}, r"^learning_rate: "),
    "clip": ({"clip": 0}, r"^clip: "),
    "accumulate": ({"accumulate": 0}, r"^accumulate: "),
    "warmup": ({"warmup": 2}, r"^warmup: "),
    "compile": ({"compile": 1}, r"^compile: "),
    "random_state": ({"random_state": -1}, r"^random_state: "),
    "random_state: a generator": (
        {"random_state": np.random.default_rng(0)},
        r"^random_state: ",
    ),
    "scheme": ({"scheme": "IOBX"}, r"^scheme: "),
    "scheme: of others": ({"scheme": "BIOES", "on_illegal": "error"}, r"^y\[0\]: "),
    "hidden: True": ({"hidden": True}, r"^hidden: "),
    "freeze_words": ({"freeze_words": 1}, r"^freeze_words: "),
    "warm_start": ({"warm_start": "yes"}, r"^warm_start: .*'yes'"),
    "callbacks": ({"callbacks": 3}, r"^callbacks: "),
    "callbacks: [3]": ({"callbacks": [3]}, r"^callbacks: "),
    "label_weights: text": (
        {"label_weights": {"O": "x"}},
        r"^label_weights\['O'\]: .*'x'",
    ),
    "on_illegal": ({"on_illegal": "ignore"}, r"^on_illegal: "),
    "label_weights": ({"label_weights": {"Q": 1.0}}, r"^label_weights: "),
    "patience": ({"patience": 0}, r"^patience: "),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_settings_are_named_before_training(wrong: str, tmp_path: Path) -> None:
    settings, place = WRONG[wrong]
    model = BiLSTMCRF(**{**SMALL, **settings})
    with pytest.raises(InputError, match=place):
        model.fit(*people(), checkpoint=tmp_path / "run")
    assert os.listdir(tmp_path) == []
    assert not hasattr(model, "network_")
    if wrong.partition(":")[0] not in ("scheme", "on_illegal", "label_weights", "embeddings", "patience"):
        with pytest.raises(InputError, match=place):
            model.check()  # no data are needed


DATA: dict[str, Any] = {
    "flat y": ([["a"]], ["N"], r"^y\[0\]: "),
    "flat X": (["the", "cat"], [["N"], ["N"]], r"^X\[0\]: "),
    "a string": ("the cat", [["N"]], r"^X: "),
    "None": (None, [["N"]], r"^X: "),
    "features": ([[{"word": "a"}]], [["N"]], r"^X\[0\]: "),
    "numbers": ([["a"]], [[1]], r"^y\[0\]\[0\]: "),
    "fewer labels": ([["a", "b"]], [["N"]], r"^y\[0\]: "),
    "more sentences": ([["a"]], [["N"], ["N"]], r"^y: "),
    "no labels": ([["a"]], None, r"^y: "),
    "nothing": ([], [], r"^y: "),
    "empty sentences": ([[]], [[]], r"^y: "),
    "only unknown": ([["a"]], [[None]], r"^y: "),
    "an empty set": ([["a"]], [[set()]], r"^y\[0\]\[0\]: "),
}


@pytest.mark.parametrize("wrong", DATA)
def test_wrong_input_is_named(wrong: str) -> None:
    X, y, place = DATA[wrong]
    with pytest.raises(InputError, match=place):
        BiLSTMCRF(**SMALL).fit(X, y)


def test_wrong_weights() -> None:
    X, y = SHORT
    for weights in ([1.0], [1.0, 2.0, -1.0], [1.0, 2.0, np.nan], 1.0):
        with pytest.raises(InputError, match=r"^sample_weight: "):
            BiLSTMCRF(**SMALL).fit(X, y, sample_weight=weights)
    with pytest.raises(InputError, match=r"^sample_weight: "):
        BiLSTMCRF(**SMALL).fit(X, y, sample_weight=[0, 0, 0])


def test_numbers_of_numpy_are_numbers() -> None:
    odd = {
        "epochs": np.int64(12),
        "hidden": np.int32(8),
        "dropout": np.float32(0.0),
        "learning_rate": np.float64(0.03),
        "random_state": np.int64(0),
        "batch_size": np.uint8(8),
    }
    model = BiLSTMCRF(**{**SMALL, **odd}).fit(*people())
    assert same_weights(model, bilstm())
    assert copy.deepcopy(model).predict(people()[0]) == bilstm().predict(people()[0])


def test_what_is_given_is_not_changed() -> None:
    X, y = people(0, 6)
    vectors = Embeddings(VECTORS.words, VECTORS.vectors.copy())
    label_weights, weights = {"B-PER": 2.0}, np.linspace(0.5, 1.5, 6)
    known = [[None] * len(row) for row in y]
    model = BiLSTMCRF(vectors, **{**SMALL, "epochs": 2}, label_weights=label_weights, callbacks=())
    before, parameters = copy.deepcopy((X, y, weights, label_weights, known)), model.get_params()
    model.fit(X, y, sample_weight=weights, X_dev=X, y_dev=y)
    model.predict(X, known=known)
    np.testing.assert_equal((X, y, weights, label_weights, known), before)
    np.testing.assert_array_equal(vectors.vectors, VECTORS.vectors)
    after = model.get_params()
    assert after.keys() == parameters.keys()
    assert all(after[name] is parameters[name] for name in after)
