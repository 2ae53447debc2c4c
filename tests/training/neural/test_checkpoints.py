"""Runs that go on from a file: to the same bits, and not from a file that does not fit."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import tagline
from tagline import storage
from tagline.errors import InputError, StorageError
from tagline.training.neural.loop import train
from tagline.training.neural.settings import Descent
from tagline.training.running.checkpoints import KIND

from .toys import ToyTask, same, weights

DESCENT = Descent(epochs=4, batch_size=8, learning_rate=0.05, weight_decay=0.1, seed=5)
STATE = len(torch.get_rng_state())
SCORES = (1.0, 3.0, 2.0, 2.5)


class PowerError(Exception):
    """Has gone."""


def broken_off(path: Path, descent: Descent, *, at: int, **options: Any) -> None:
    """Train with a checkpoint after each step until the power goes, in the middle of making a batch."""

    class Doomed(ToyTask):
        def inputs(self, sentences: Any) -> tuple[Any, ...]:
            if len(self.seen) == at:
                raise PowerError
            return super().inputs(sentences)

    with pytest.raises(PowerError):
        train(Doomed(scores=SCORES, **options), descent, checkpoint=path, save_every=0.0)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"optimizer": "sgd"},
        {"accumulate": 2, "batch_size": 4},
        {"precision": "float16"},
        {"precision": "bfloat16"},
        {"average": 0.9},
    ],
    ids=["adamw", "sgd", "accumulate", "float16", "bfloat16", "average"],
)
@pytest.mark.parametrize("at", [0, 4, 14, 26])
def test_goes_on_to_the_same_bits(changes: dict[str, Any], at: int, tmp_path: Path) -> None:
    descent, path = replace(DESCENT, **changes), tmp_path / "run"
    whole = ToyTask(scores=SCORES)
    expected = train(whole, descent)
    broken_off(path, descent, at=at)
    epochs = storage.read(path).config["state"]["algorithm"]["epoch"]
    task = ToyTask(scores=SCORES[epochs - 1 :], seed=1)
    with torch.no_grad():
        task.module.linear.weight.fill_(9.0)  # read from the file
    done = train(task, descent, checkpoint=path, resume=True)
    assert same(weights(task), weights(whole))
    assert (done.reason, done.best) == (expected.reason, expected.best) == ("epochs", 2)
    for name in ("epoch", "loss", "dev_score", "rate", "gradient_norm"):
        assert [getattr(x, name) for x in done.history] == [getattr(x, name) for x in expected.history]


def test_weights_of_half_precision_go_through_a_file(tmp_path: Path) -> None:
    whole = ToyTask(dtype=torch.bfloat16, scores=SCORES)
    train(whole, DESCENT)
    broken_off(tmp_path / "run", DESCENT, at=11, dtype=torch.bfloat16)
    task = ToyTask(dtype=torch.bfloat16, scores=SCORES[1:])
    train(task, DESCENT, checkpoint=tmp_path / "run", resume=True)
    for mine, other in zip(task.module.parameters(), whole.module.parameters(), strict=True):
        assert torch.equal(mine, other)


def test_frozen_parameters_and_scores_that_are_not_finite_go_through_a_file(tmp_path: Path) -> None:
    scores = (math.nan, 1.0, -math.inf, 0.5)
    tasks = [ToyTask(scores=scores), ToyTask(scores=scores), ToyTask(scores=scores[3:])]
    for task in tasks:
        task.module.words.weight.requires_grad = False
    train(tasks[0], replace(DESCENT, patience=3))
    path = tmp_path / "run"
    train(tasks[1], replace(DESCENT, patience=3), checkpoint=path, callbacks=[lambda epoch: epoch.epoch == 3])
    done = train(tasks[2], replace(DESCENT, patience=3), checkpoint=path, resume=True)
    assert same(weights(tasks[0]), weights(tasks[2]))
    assert (done.reason, done.best) == ("epochs", 2)
    assert np.array_equal([epoch.dev_score for epoch in done.history], scores, equal_nan=True)


def test_a_finished_run_is_not_trained_again(tmp_path: Path) -> None:
    first, second = ToyTask(scores=SCORES), ToyTask(scores=())
    done = train(first, DESCENT, checkpoint=tmp_path / "run")
    again = train(second, DESCENT, checkpoint=tmp_path / "run", resume=True)
    assert (again.reason, again.history, again.best) == (done.reason, done.history, done.best)
    assert not second.seen
    assert same(weights(first), weights(second))


def test_a_run_that_was_patient_stays_so_or_goes_on_with_more(tmp_path: Path) -> None:
    path, scores = tmp_path / "run", (1.0, 0.5, 2.0, 0.1)
    assert train(ToyTask(scores=scores), replace(DESCENT, patience=1), checkpoint=path).reason == "patience"
    same_again = train(ToyTask(scores=()), replace(DESCENT, patience=1), checkpoint=path, resume=True)
    assert (same_again.reason, len(same_again.history)) == ("patience", 2)
    more = train(ToyTask(scores=scores[2:]), replace(DESCENT, patience=3), checkpoint=path, resume=True)
    assert (more.reason, more.best) == ("epochs", 3)


def test_time_before_counts(tmp_path: Path) -> None:
    path = tmp_path / "run"
    first = train(ToyTask(pause=0.01), replace(DESCENT, max_seconds=0.05), checkpoint=path)
    task = ToyTask()
    again = train(task, replace(DESCENT, max_seconds=0.05), checkpoint=path, resume=True)
    assert (first.reason, again.reason) == ("time budget", "time budget")
    assert len(task.seen) == 1
    assert train(ToyTask(), replace(DESCENT, max_seconds=60.0), checkpoint=path, resume=True).reason == "epochs"


def test_without_a_checkpoint_resuming_is_starting(tmp_path: Path) -> None:
    first, second = ToyTask(), ToyTask()
    train(first, DESCENT)
    train(second, DESCENT, checkpoint=tmp_path / "run", resume=True)
    assert same(weights(first), weights(second))


@pytest.mark.parametrize(
    ("changes", "options", "facts", "place"),
    [
        (
            {"learning_rate": 0.01, "batch_size": 9},
            {},
            {},
            r"run: .*batch_size",
        ),
        ({}, {"count": 61}, {}, r"run: .*sentences"),
        ({}, {"seed": 2}, {}, r"run: .*sentences"),
        ({}, {"dtype": torch.float64}, {}, r"run: .*\bnetwork\b"),
        ({"precision": "bfloat16"}, {}, {}, r"run: .*\bprecision .*'float32' .*'bfloat16'"),
        ({}, {}, {"labels": ["O"]}, r"run: .*\blabels\b"),
    ],
)
def test_other_settings_data_or_networks_are_named(
    changes: dict[str, Any], options: dict[str, Any], facts: dict[str, Any], place: str, tmp_path: Path
) -> None:
    path = tmp_path / "run"
    train(ToyTask(), DESCENT, checkpoint=path, callbacks=[lambda epoch: True])
    task = ToyTask(**options)
    before = weights(task)
    with pytest.raises(InputError, match=place) as error:
        train(task, replace(DESCENT, **changes), checkpoint=path, resume=True, facts=facts)
    assert str(error.value).startswith(f"{path}: ")
    assert "resume" in str(error.value)
    assert same(weights(task), before)


def test_facts_are_kept(tmp_path: Path) -> None:
    facts = {"labels": ("O", "B-PER")}
    train(ToyTask(), DESCENT, checkpoint=tmp_path / "run", facts=facts, callbacks=[lambda epoch: True])
    assert train(ToyTask(), DESCENT, checkpoint=tmp_path / "run", facts=facts, resume=True).reason == "epochs"


# Damage.


@pytest.fixture
def path(tmp_path: Path) -> Path:
    train(ToyTask(), DESCENT, checkpoint=tmp_path / "run", callbacks=[lambda epoch: True])
    return tmp_path / "run"


def refused(path: Path, message: str) -> None:
    task = ToyTask()
    before = weights(task)
    with pytest.raises(StorageError, match=message):
        train(task, DESCENT, checkpoint=path, resume=True)
    assert same(weights(task), before)


def test_a_damaged_file_is_an_error(path: Path) -> None:
    whole = path.read_bytes()
    for place in np.random.default_rng(0).integers(16, len(whole), 20):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        refused(path, str(path))
    path.write_bytes(whole[:-100])
    refused(path, r"run: .*\bbytes\b")
    path.write_bytes(b"")
    refused(path, "run: ")


@pytest.mark.parametrize(
    ("config", "tensors", "message"),
    [
        ({"algorithm": {"epoch": "2"}}, {}, "the setting 'epoch' of type int, got str"),
        ({"history": [{"epoch": 1}]}, {}, "in the history, got.*; the file is damaged"),
        ({"history": [3]}, {}, "in the history, got.*; the file is damaged"),
        ({"history": []}, {}, "expected 1 passes in the history, got 0"),
        ({"best": {"epoch": 1}}, {}, "the setting 'number' of type int, got none"),
        ({"best": {"number": 2}}, {}, "expected the best of 1 passes, got 2"),
        ({}, {"algorithm/weights/linear.weight": np.zeros((3, 3), np.float32)}, "'weights/linear.weight' as float32"),
        ({}, {"algorithm/optimiser/9/exp_avg": np.zeros(3)}, "expected 3 parameters, got 'optimiser/9/exp_avg'"),
        ({}, {"algorithm/optimiser/x/exp_avg": np.zeros(3)}, "expected 3 parameters, got 'optimiser/x/exp_avg'"),
        ({}, {"algorithm/optimiser/0/exp_avg": np.zeros(3, np.float32)}, "'optimiser/0/exp_avg' as float32"),
        ({}, {"algorithm/generators": np.zeros((2, 9), np.uint8)}, "'generators' as uint8"),
        (
            {},
            {"algorithm/generators": np.full((1, STATE), 255, np.uint8)},
            "expected states of generators, got: .*; the file is dam",
        ),
    ],
)
def test_a_file_that_was_made_up_is_an_error(
    config: dict[str, Any], tensors: dict[str, Any], message: str, path: Path
) -> None:
    file = storage.read(path)
    state = {**file.config["state"], **config}
    if config.get("history") == []:
        del state["best"]
    if "algorithm" in config:
        state["algorithm"] = {**file.config["state"]["algorithm"], **config["algorithm"]}
    storage.write(path, {**file.config, "state": state}, {**file.tensors, **tensors})
    refused(path, message)


def test_a_checkpoint_of_an_older_form_is_refused(path: Path) -> None:
    file = storage.read(path)
    for config in ({"epoch": 2}, {"form": 1}, {"form": "2"}):
        storage.write(path, {"model": KIND, "facts": file.config["facts"], **config}, file.tensors)
        refused(path, "expected a training checkpoint of this version .* start anew without resume")


def test_checkpoints_and_models_are_not_mistaken_for_one_another(path: Path) -> None:
    with pytest.raises(StorageError, match=r"run: .*resume=True"):
        tagline.load(path)
    storage.write(path, {"model": "crf"}, {})
    refused(path, r"run: .*'crf'")
