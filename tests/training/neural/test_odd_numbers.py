"""The loop with numbers that are not finite, other precisions, odd networks and arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tagline.errors import InputError
from tagline.training.neural import steps
from tagline.training.neural.loop import train
from tagline.training.neural.optimisers import optimiser_of
from tagline.training.neural.processes import Processes
from tagline.training.neural.settings import Descent

from .toys import Spoiled, ToyTask, close, same, weights

DESCENT = Descent(epochs=3, batch_size=8, learning_rate=0.05, weight_decay=0.1, clip=1.0, seed=5)
EXACT: dict[str, Any] = {"dropout": 0.0, "dtype": torch.float64}


# Numbers that are not finite, precision, odd networks.


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_a_loss_that_is_not_finite_is_named_and_never_reaches_the_weights(value: float, optimizer: str) -> None:
    task = Spoiled(11, value)  # 8 steps an epoch: the third of the second
    with pytest.raises(InputError, match=r"^epoch 2, step 3: "):
        train(task, replace(DESCENT, optimizer=optimizer))
    assert all(np.isfinite(value).all() for value in weights(task).values())


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_such_a_step_changes_nothing_and_the_first_of_many_is_named(value: float) -> None:
    """Of 60 steps every eighth looks at what was reached."""
    task = Spoiled(1, value)
    before = weights(task)
    with pytest.raises(InputError, match=r"^epoch 1, step 1: "):
        train(task, replace(DESCENT, batch_size=1))
    assert len(task.seen) == 8
    assert close(weights(task), before, atol=0.0)


def test_float16_leaves_out_steps_whose_gradient_overflows() -> None:
    """The first scale of 2^16 is too large here; it is halved until it fits."""
    task = ToyTask(dropout=0.0)
    with torch.no_grad():
        task.module.linear.weight *= 100
    before = weights(task)
    done = train(task, replace(DESCENT, precision="float16", epochs=2, optimizer="sgd"))
    assert all(np.isfinite(value).all() for value in weights(task).values())
    assert not close(weights(task), before, atol=1e-4)
    assert all(math.isfinite(epoch.loss) and math.isfinite(epoch.gradient_norm) for epoch in done.history)


class Others(Processes):
    """Their gradients are 0."""

    def add_up(self, parameters: Any, loss: Tensor) -> Tensor:
        for parameter in parameters:
            parameter.grad = torch.zeros_like(parameter)
        return loss


@pytest.mark.parametrize("precision", ["float32", "float16"])
def test_a_step_in_which_other_processes_have_all_sentences(precision: str) -> None:
    task, descent = ToyTask(8), replace(DESCENT, precision=precision, optimizer="sgd", weight_decay=0.0)
    optimiser = optimiser_of([{"params": list(task.module.parameters())}], descent)
    before = weights(task)
    step = steps.Steps(task.module, optimiser, descent, Others(), torch.device("cpu"))
    step.take([], 4, 0.1, 1)
    assert step.check(1).loss == 0.0
    assert same(weights(task), before)


def test_bfloat16_is_near_float32() -> None:
    losses = []
    for precision in ("bfloat16", "float32"):
        task = ToyTask(dropout=0.0)
        losses.append(train(task, replace(DESCENT, precision=precision)).history[-1].loss)
        assert task.module.linear.weight.dtype == torch.float32
    assert losses[0] != losses[1]
    assert losses[0] == pytest.approx(losses[1], rel=0.02)


def test_auto_is_float32_on_the_cpu() -> None:
    assert steps.precision_of("auto", torch.device("cpu")) == "float32"
    assert steps.precision_of("float16", torch.device("cpu")) == "float16"


def test_frozen_parameters_stay_and_a_whole_frozen_network_is_an_error() -> None:
    task = ToyTask()
    task.module.words.weight.requires_grad = False
    before = weights(task)
    train(task, DESCENT)
    assert np.array_equal(weights(task)["words.weight"], before["words.weight"])
    assert not np.array_equal(weights(task)["linear.weight"], before["linear.weight"])
    task.module.requires_grad_(False)
    with pytest.raises(InputError, match=r"^groups: "):
        train(task, DESCENT)


@pytest.mark.parametrize(
    ("groups", "place"),
    [
        (lambda weight: [{"params": [weight]}, {"params": [weight]}], r"^groups: "),
        (
            lambda weight: [{"params": [weight], "rate": -1.0, "name": "x"}],
            r"^groups: .*'x'",
        ),
    ],
)
def test_bad_groups(groups: Callable[[Any], Any], place: str) -> None:
    with pytest.raises(InputError, match=place):
        optimiser_of(groups(torch.nn.Parameter(torch.zeros(2))), DESCENT)


def test_an_update_that_is_called_off_leaves_no_trace() -> None:
    """Not even in a momentum that was never written."""
    value = torch.nn.Parameter(torch.ones(3))
    optimiser = optimiser_of([{"params": [value]}], replace(DESCENT, optimizer="sgd", weight_decay=0.0))
    for called_off in (1.0, 0.0):
        value.grad = torch.full((3,), 2.0)
        optimiser.found_inf = torch.tensor(called_off)  # type: ignore[attr-defined]
        optimiser.step()
        assert value.tolist() == pytest.approx([1.0 if called_off else 1.0 - DESCENT.learning_rate * 2.0] * 3)


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"resume": True}, r"^checkpoint: "),
        ({"save_every": 1.0}, r"^checkpoint: "),
        ({"save_every": -1.0, "checkpoint": "x"}, r"^save_every: "),
        (
            {"log": "nowhere/log.jsonl"},
            r"^nowhere/log\.jsonl: ",
        ),
        ({"checkpoint": "nowhere/c"}, r"^nowhere/c: "),
    ],
)
def test_bad_arguments(options: dict[str, Any], place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    task = ToyTask()
    with pytest.raises(ValueError, match=place):
        train(task, DESCENT, **options)
    assert not task.seen


def test_nothing_to_learn() -> None:
    with pytest.raises(InputError, match=r"^lengths: "):
        train(ToyTask(0), DESCENT)
    task = ToyTask()
    task.module = torch.nn.Dropout()
    with pytest.raises(InputError, match=r"^module: "):
        train(task, DESCENT)
