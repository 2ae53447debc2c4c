"""BiLSTMCRF goes on: from the checkpoint of a run that was stopped, and with warm_start; what it refuses."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import tagline  # noqa: E402
from tagline import BiLSTMCRF  # noqa: E402
from tagline.errors import InputError  # noqa: E402

from .cases import (  # noqa: E402
    LABELS,
    SMALL,
    VECTORS,
    bilstm,
    people,
    same_answers,
    same_weights,
    weights_of,
)

pytestmark = pytest.mark.usefixtures("one_thread")

# Checkpoints.


class StopError(Exception):
    """Ends a run from a callback, as a crash would."""


def crash(epoch: int) -> Any:
    def callback(done: Any) -> None:
        if done.epoch == epoch:
            raise StopError

    return callback


NOISY = {**SMALL, "dropout": 0.3, "epochs": 6}


@pytest.mark.parametrize("dev", [False, True])
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(dev: bool, tmp_path: Path) -> None:
    path, (X, y) = tmp_path / "run", people()
    held = {"X_dev": X[:5], "y_dev": y[:5]} if dev else {}
    whole = BiLSTMCRF(**NOISY).fit(X, y, **held)
    broken = BiLSTMCRF(**NOISY, callbacks=(crash(4),))
    with pytest.raises(StopError):
        broken.fit(X, y, checkpoint=path, **held)
    assert not hasattr(broken, "network_")
    resumed = BiLSTMCRF(**NOISY).fit(X, y, checkpoint=path, resume=True, **held)
    assert same_weights(resumed, whole)
    assert [done.loss for done in resumed.training_log_] == [done.loss for done in whole.training_log_]
    again = BiLSTMCRF(**NOISY).fit(X, y, checkpoint=path, resume=True, **held)  # nothing is left to do
    assert same_weights(again, whole)
    assert again.stop_reason_ == "epochs"
    fresh = BiLSTMCRF(**NOISY).fit(X, y, checkpoint=tmp_path / "new", resume=True, **held)
    assert same_weights(fresh, whole)


OTHERS: dict[str, Any] = {
    "words": lambda X, y: (
        ([["Ann" if word == "Anna" else word for word in words] for words in X], y),
        {},
        r"\bwords\b",
    ),
    "tags": lambda X, y: ((X, [["O"] * len(y[0]), *y[1:]]), {}, r"\btags\b"),
    "labels": lambda X, y: (
        (X, [[tag.replace("PER", "MAN") for tag in row] for row in y]),
        {},
        r"\blabels .*'B-PER'.* .*'B-MAN'",
    ),
    "sentences": lambda X, y: ((X[:-1], y[:-1]), {}, r"\bsentences .*24.* 23"),
    "weights": lambda X, y: ((X, y, [2.0, *[1.0] * 23]), {}, r"\bweights\b"),
    "dropout": lambda X, y: ((X, y), {"dropout": 0.1}, r"\bdropout .*0\.3.* 0\.1"),
    "hidden": lambda X, y: ((X, y), {"hidden": 9}, r"\bhidden .*8.* 9"),
    "seed": lambda X, y: ((X, y), {"random_state": 3}, r"\bseed .*0.* 3"),
    "scheme": lambda X, y: ((X, y), {"scheme": None}, r"\bscheme .*'IOB2'.* None"),
    "rate": lambda X, y: ((X, y), {"learning_rate": 0.1}, r"\blearning_rate .*0\.03.* 0\.1"),
}


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoint of a run that was stopped after an epoch."""
    path = tmp_path_factory.mktemp("run") / "checkpoint"
    with pytest.raises(StopError):
        BiLSTMCRF(**NOISY, callbacks=(crash(1),)).fit(*people(), checkpoint=path)
    return path


@pytest.mark.parametrize("other", OTHERS)
def test_a_run_does_not_go_on_with_something_else(other: str, stopped: Path) -> None:
    (X, y, *weights), settings, message = OTHERS[other](*people())
    before = stopped.read_bytes()
    with pytest.raises(InputError, match=f"checkpoint: .*{message}"):
        BiLSTMCRF(**{**NOISY, **settings}).fit(
            X, y, checkpoint=stopped, resume=True, sample_weight=weights[0] if weights else None
        )
    assert stopped.read_bytes() == before


def test_checkpoints_that_are_none(stopped: Path, tmp_path: Path) -> None:
    X, y = people()
    with pytest.raises(InputError, match="checkpoint: "):
        BiLSTMCRF(**NOISY).fit(X, y, X_dev=X, y_dev=y, checkpoint=stopped, resume=True)
    with pytest.raises(InputError, match=r"^checkpoint: "):
        BiLSTMCRF(**NOISY).fit(X, y, resume=True)
    bilstm().save(tmp_path / "model")
    with pytest.raises(tagline.StorageError, match=r"model: .*'bilstm'"):
        BiLSTMCRF(**NOISY).fit(X, y, checkpoint=tmp_path / "model", resume=True)
    with pytest.raises(tagline.StorageError, match="checkpoint: "):
        tagline.load(stopped)


# Warm start.


def test_warm_start_goes_on() -> None:
    X, y = people()
    model = BiLSTMCRF(**{**SMALL, "epochs": 3}, warm_start=True).fit(X, y)
    first, old = weights_of(model), model.network_
    loss = model.training_log_[-1].loss
    model.fit(X, y)
    assert model.training_log_[0].loss < loss
    assert same_weights(first, {name: value.numpy() for name, value in old.tagger.state_dict().items()})
    assert not same_weights(model, first)
    assert same_weights(BiLSTMCRF(**{**SMALL, "epochs": 3}).fit(X, y), first)  # the first time is like any other
    model.set_params(dropout=0.2, smoothing=0.05, freeze_words=True, epochs=1)
    words = weights_of(model)["encoder.words.weight"]
    model.fit(X[:4], y[:4])
    np.testing.assert_array_equal(weights_of(model)["encoder.words.weight"], words)
    assert model.labels_ == LABELS
    assert model.network_.plan["dropout"] == 0.2


def test_warm_start_keeps_the_scheme_and_takes_another() -> None:
    X, y = people()
    model = BiLSTMCRF(**{**SMALL, "epochs": 3}, warm_start=True).fit(X, y)
    model.fit(X, [[None if tag == "O" else tag for tag in row] for row in y])
    assert model.scheme_name == "IOB2"
    model.set_params(scheme=None).fit(X, y)
    assert model.scheme_name is None
    assert np.isfinite(model.log_likelihood([["Anna"]], [["I-PER"]])).all()


def test_warm_start_from_a_file(tmp_path: Path) -> None:
    X, y = people()
    model = BiLSTMCRF(**{**SMALL, "epochs": 3, "dropout": 0.3}, warm_start=True, freeze_words=True).fit(X, y)
    model.save(tmp_path / "model")
    loaded = tagline.load(tmp_path / "model", device="cpu")
    assert same_weights(loaded.fit(X, y), model.fit(X, y))


def test_a_run_that_fails_leaves_the_model_as_it_was() -> None:
    X, y = people()
    model = BiLSTMCRF(**{**SMALL, "epochs": 2}, warm_start=True).fit(X, y)
    before, answers = weights_of(model), model.predict(X)
    model.set_params(callbacks=(crash(1),))
    with pytest.raises(StopError):
        model.fit(X, y)
    assert same_weights(model, before)
    model.set_params(callbacks=(), learning_rate=1e30, clip=1e30)
    with pytest.raises(InputError, match=r"^emissions: "):
        model.fit(X, y)
    assert model.predict(X) == answers


WARM: dict[str, Any] = {
    "hidden": ({"hidden": 9}, r"^hidden: "),
    "layers": ({"layers": 2}, r"^layers: "),
    "head": ({"head": "softmax"}, r"^head: .*'crf'"),
    "characters": ({"characters": None}, r"^characters: .*'cnn'"),
    "word_dim": ({"word_dim": 9}, r"^word_dim: "),
    "embeddings": ({"embeddings": VECTORS}, r"^embeddings: "),
}


@pytest.mark.parametrize("wrong", WARM)
def test_warm_start_of_another_network_is_refused(wrong: str) -> None:
    settings, place = WARM[wrong]
    model = copy.deepcopy(bilstm()).set_params(warm_start=True, **settings)
    with pytest.raises(InputError, match=place):
        model.fit(*people())
    model.set_params(**{name: getattr(bilstm(), name) for name in settings})
    same_answers(model, bilstm(), people(3, 5)[0])


def test_warm_start_of_other_labels_is_refused() -> None:
    model = copy.deepcopy(bilstm()).set_params(warm_start=True)
    with pytest.raises(InputError, match=r"^y: .*warm_start"):
        model.fit([["Anna"]], [["B-ORG"]])
