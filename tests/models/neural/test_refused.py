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
    "hidden": ({"hidden": 0}, "hidden: expected a whole number from 1 to 1048576, got 0"),
    "hidden: a word": ({"hidden": "many"}, "hidden: expected a whole number.*, got 'many'"),
    "layers": ({"layers": 0}, "layers: expected a whole number from 1 to"),
    "word_dim": ({"word_dim": -1}, "word_dim: expected a whole number from 1 to"),
    "char_dim": ({"char_dim": 0}, "char_dim: expected"),
    "char_size: odd": ({"char_size": 7, "characters": "lstm"}, "char_size: expected an even number"),
    "case_dim": ({"case_dim": -1}, "case_dim: expected a whole number from 0 to"),
    "bigram_dim": ({"bigram_dim": -1}, "bigram_dim: expected a whole number from 0 to"),
    "word_dropout": ({"word_dropout": 1.0}, "word_dropout: expected a probability"),
    "hidden: huge": ({"hidden": 10**12}, "hidden: expected a whole number from 1 to 1048576, got 1000000000000"),
    "hidden: beyond int64": ({"hidden": 2**64 + 1}, "hidden: expected a whole number from 1 to 1048576, got"),
    "layers: huge": ({"layers": 10**6}, "layers: expected a whole number from 1 to 1000, got 1000000"),
    "min_frequency": ({"min_frequency": 0}, "min_frequency: expected a whole number of 1 or more"),
    "characters": ({"characters": "rnn"}, "characters: expected one of 'cnn', 'lstm', None, got 'rnn'"),
    "dropout": ({"dropout": 1.5}, "dropout: expected a probability from 0 to below 1, got 1.5"),
    "dropout: 1": ({"dropout": 1}, "dropout: expected a probability"),
    "smoothing": ({"smoothing": -0.1}, "smoothing: expected a probability"),
    "head": ({"head": "x"}, "head: expected one of crf, softmax, got 'x'"),
    "device": ({"device": "cuda:77"}, r"device: expected \"auto\", \"cpu\" or a GPU of this machine, got 'cuda:77'"),
    "device: odd": ({"device": "abacus"}, "device: expected"),
    "device: meta": ({"device": "meta"}, "device: expected"),
    "device: None": ({"device": None}, "device: expected"),
    "embeddings: missing": ({"embeddings": "no/such/file.txt"}, "no/such/file.txt: expected a file, got none"),
    "embeddings: a number": ({"embeddings": 3}, "embeddings: expected a file of word vectors, a folder"),
    "embeddings: empty": (
        {"embeddings": Embeddings((), np.zeros((0, 5), np.float32))},
        "embeddings: expected word vectors, got none",
    ),
    "epochs": ({"epochs": 0}, "epochs: expected a whole number of 1 or more"),
    "batch_size": ({"batch_size": 0}, "batch_size: expected"),
    "max_tokens": ({"max_tokens": 0}, "max_tokens: expected"),
    "optimizer": ({"optimizer": "adam"}, "optimizer: expected one of adamw, sgd"),
    "schedule": ({"schedule": "steep"}, "schedule: expected one of"),
    "precision": ({"precision": "float8"}, "precision: expected one of"),
    "learning_rate": ({"learning_rate": 0.0}, "learning_rate: expected"),
    "learning_rate: NaN": ({"learning_rate": float("nan")}, "learning_rate: expected"),
    "clip": ({"clip": 0}, "clip: expected"),
    "accumulate": ({"accumulate": 0}, "accumulate: expected"),
    "warmup": ({"warmup": 2}, "warmup: expected"),
    "compile": ({"compile": 1}, "compile: expected True or False"),
    "random_state": ({"random_state": -1}, "random_state: expected a whole number of 0 or more, or None, got -1"),
    "random_state: a generator": (
        {"random_state": np.random.default_rng(0)},
        "got a Generator of NumPy; a model keeps",
    ),
    "scheme": ({"scheme": "IOBX"}, "scheme: expected"),
    "scheme: of others": ({"scheme": "BIOES", "on_illegal": "error"}, "BIOES"),
    "hidden: True": ({"hidden": True}, "hidden: expected a whole number.*, got True"),
    "freeze_words": ({"freeze_words": 1}, "freeze_words: expected True or False, got 1"),
    "warm_start": ({"warm_start": "yes"}, "warm_start: expected True or False, got 'yes'"),
    "callbacks": ({"callbacks": 3}, "callbacks: expected a list of functions, got 3"),
    "callbacks: [3]": ({"callbacks": [3]}, "callbacks: expected a list of functions"),
    "label_weights: text": (
        {"label_weights": {"O": "x"}},
        r"label_weights\['O'\]: expected a number of 0 or more, got 'x'",
    ),
    "on_illegal": ({"on_illegal": "ignore"}, "on_illegal: expected one of error, repair, drop"),
    "label_weights": ({"label_weights": {"Q": 1.0}}, "label_weights: expected labels among"),
    "patience": ({"patience": 0}, "patience: expected"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_settings_are_named_before_training(wrong: str, tmp_path: Path) -> None:
    settings, message = WRONG[wrong]
    model = BiLSTMCRF(**{**SMALL, **settings})
    with pytest.raises(InputError, match=message):
        model.fit(*people(), checkpoint=tmp_path / "run")
    assert os.listdir(tmp_path) == []
    assert not hasattr(model, "network_")
    if wrong.partition(":")[0] not in ("scheme", "on_illegal", "label_weights", "embeddings", "patience"):
        with pytest.raises(InputError, match=message):
            model.check()  # no data are needed


DATA: dict[str, Any] = {
    "flat y": ([["a"]], ["N"], r"y\[0\]: expected a list of labels, got 'N'"),
    "flat X": (["the", "cat"], [["N"], ["N"]], r"X\[0\]: expected a sentence, a list of tokens, got 'the'"),
    "a string": ("the cat", [["N"]], "X: expected a Corpus or a list of sentences, got str"),
    "None": (None, [["N"]], "X: expected a Corpus or a list of sentences, got NoneType"),
    "features": ([[{"word": "a"}]], [["N"]], r"X\[0\]: expected tokens, all strings"),
    "numbers": ([["a"]], [[1]], r"y\[0\]\[0\]: expected a label as a string"),
    "fewer labels": ([["a", "b"]], [["N"]], r"y\[0\]: expected 2 labels"),
    "more sentences": ([["a"]], [["N"], ["N"]], "y: expected labels of 1 sentences"),
    "no labels": ([["a"]], None, "y: expected a list of labels for each sentence, got None"),
    "nothing": ([], [], "y: expected at least one sentence with a known label, got none"),
    "empty sentences": ([[]], [[]], "y: expected at least one sentence"),
    "only unknown": ([["a"]], [[None]], "y: expected at least one sentence with a known label"),
    "an empty set": ([["a"]], [[set()]], r"y\[0\]\[0\]: expected at least one label in a set"),
}


@pytest.mark.parametrize("wrong", DATA)
def test_wrong_input_is_named(wrong: str) -> None:
    X, y, message = DATA[wrong]
    with pytest.raises(InputError, match=message):
        BiLSTMCRF(**SMALL).fit(X, y)


def test_wrong_weights() -> None:
    X, y = SHORT
    for weights in ([1.0], [1.0, 2.0, -1.0], [1.0, 2.0, np.nan], 1.0):
        with pytest.raises(InputError, match="sample_weight: expected 3 numbers of 0 or more"):
            BiLSTMCRF(**SMALL).fit(X, y, sample_weight=weights)
    with pytest.raises(InputError, match="sample_weight: expected a weight above zero, got only zeros"):
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
