"""The loop against a loop written out by hand, when it stops, which weights it keeps, whom it tells."""

from __future__ import annotations

import json
import math
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tagline.errors import InputError
from tagline.training.neural import loop
from tagline.training.neural.batching import bucketed
from tagline.training.neural.loop import train
from tagline.training.neural.randomness import order_of, seeded
from tagline.training.neural.schedules import rate_of
from tagline.training.neural.settings import Descent
from tagline.training.running.progress import Silent

from .toys import Spoiled, Tagger, ToyTask, close, same, weights

DESCENT = Descent(epochs=3, batch_size=8, learning_rate=0.05, weight_decay=0.1, clip=1.0, seed=5)
EXACT: dict[str, Any] = {"dropout": 0.0, "dtype": torch.float64}


def by_hand(task: ToyTask, descent: Descent) -> None:
    """The textbook's loop, with updates written out."""
    parameters = dict(task.module.named_parameters())
    first = {name: torch.zeros_like(value) for name, value in parameters.items()}
    second = {name: torch.zeros_like(value) for name, value in parameters.items()}
    mean = {name: value.detach().clone() for name, value in parameters.items()}
    count = 0
    for epoch in range(1, descent.epochs + 1):
        plan = bucketed(task.lengths, batch_size=descent.batch_size, rng=order_of(descent.seed, epoch))
        for step, batch in enumerate(plan):
            rate, count = rate_of(descent, epoch, step, len(plan)), count + 1
            task.module.zero_grad()
            task.module(*task.inputs(batch)).backward()
            norm = math.sqrt(sum(float((value.grad**2).sum()) for value in parameters.values()))
            shorter = 1.0 if descent.clip is None else min(1.0, descent.clip / (norm + 1e-6))
            for name, value in parameters.items():
                lr, decay = (rate, descent.weight_decay) if name == "words.weight" else (2 * rate, 0.0)
                gradient = value.grad * shorter
                with torch.no_grad():
                    if descent.optimizer == "sgd":
                        first[name] = descent.momentum * first[name] + gradient + decay * value
                        value -= lr * first[name]
                    else:
                        value *= 1 - lr * decay
                        first[name] = 0.9 * first[name] + 0.1 * gradient
                        second[name] = 0.999 * second[name] + 0.001 * gradient**2
                        root = (second[name] / (1 - 0.999**count)).sqrt() + 1e-8
                        value -= lr * first[name] / (1 - 0.9**count) / root
            for name, value in parameters.items():
                decay = min(descent.average, (count - 1) / (count + 8))
                mean[name] = decay * mean[name] + (1 - decay) * value.detach()
    if descent.average:
        task.module.load_state_dict(mean, strict=False)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"optimizer": "sgd"},
        {"optimizer": "sgd", "momentum": 0.0, "clip": None},
        {"clip": None, "schedule": "cosine", "warmup": 0.3},
        {"average": 0.7},
    ],
)
def test_equals_the_loop_by_hand(changes: dict[str, Any]) -> None:
    descent = replace(DESCENT, **changes)
    expected, task = ToyTask(**EXACT), ToyTask(**EXACT, scores=[None] * 3)
    by_hand(expected, descent)
    done = train(task, descent)
    assert close(weights(task), weights(expected))
    assert (done.reason, done.best, len(done.history)) == ("epochs", 3, 3)


@pytest.mark.parametrize("parts", [2, 3])
def test_accumulated_gradients_are_those_of_the_larger_batch(parts: int) -> None:
    """Also where the last batch has fewer sentences than parts."""
    whole, split = ToyTask(61, **EXACT), ToyTask(61, **EXACT)
    first = train(whole, replace(DESCENT, batch_size=6))
    second = train(split, replace(DESCENT, batch_size=6 // parts, accumulate=parts))
    assert close(weights(whole), weights(split))
    assert [x.loss for x in first.history] == pytest.approx([x.loss for x in second.history], rel=1e-12)
    assert [x.gradient_norm for x in first.history] == pytest.approx(
        [x.gradient_norm for x in second.history], rel=1e-9
    )
    assert {len(batch) for batch in split.seen} <= {*range(1, 6 // parts + 1), 61}  # 61: those of the dev score


def test_the_history_says_what_happened() -> None:
    task = ToyTask(**EXACT)
    still = replace(DESCENT, learning_rate=1e-300, epochs=2, schedule="constant")
    before = weights(task)
    losses = [task.module(*task.inputs(np.array([number]))).item() for number in range(len(task.lengths))]
    done = train(task, still)
    assert close(weights(task), before)
    assert [epoch.loss for epoch in done.history] == pytest.approx([np.mean(losses)] * 2, rel=1e-12)
    assert [epoch.rate for epoch in done.history] == [1e-300, 1e-300]
    assert [epoch.epoch for epoch in done.history] == [1, 2]
    assert 0 < done.history[0].seconds < done.history[1].seconds
    assert done.history[0].tokens_per_second > task.lengths.sum() / done.history[0].seconds / 2


def test_the_same_seed_gives_the_same_weights_and_another_one_others() -> None:
    results = []
    for seed in (1, 1, 2):
        task = ToyTask()
        train(task, replace(DESCENT, seed=seed))
        results.append(weights(task))
    assert same(results[0], results[1])
    assert not close(results[0], results[2], atol=1e-4)


def test_processes_draw_other_random_numbers() -> None:
    drawn = []
    for seed, rank in ((1, 0), (1, 0), (1, 1), (2, 0)):
        with seeded(seed, rank, torch.device("cpu")):
            drawn.append(torch.rand(3).tolist())
    assert drawn[0] == drawn[1]
    assert len({tuple(order) for order in drawn}) == 3


def test_each_epoch_has_an_order_of_its_own() -> None:
    train(task := ToyTask(scores=(1, 1, 1)), DESCENT)
    orders = [np.concatenate(task.seen[first : first + 8]).tolist() for first in (0, 8, 16)]
    assert all(sorted(order) == list(range(60)) for order in orders)
    assert orders[0] != orders[1] != orders[2] != orders[0]


def test_the_caller_s_random_numbers_mode_and_handler_are_left_alone() -> None:
    task = ToyTask()
    train(task, DESCENT)
    assert task.module.training
    task.module.eval()
    torch.manual_seed(9)
    before, state, handler = torch.rand(3), torch.get_rng_state(), signal.getsignal(signal.SIGINT)
    train(task, DESCENT)
    assert torch.equal(torch.get_rng_state(), state)
    assert len(before) == 3
    assert not task.module.training
    assert signal.getsignal(signal.SIGINT) is handler


# Who is told.


def test_the_log_has_a_line_for_the_start_each_epoch_and_the_end(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    done = train(ToyTask(scores=(0.5, math.nan, 0.1)), DESCENT, log=log)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["event"] for line in lines] == ["start", "epoch", "epoch", "epoch", "end"]
    assert (lines[0]["learning_rate"], lines[0]["sentences"], lines[0]["resumed"]) == (0.05, 60, None)
    assert [line["loss"] for line in lines[1:4]] == [epoch.loss for epoch in done.history]
    assert [line["dev_score"] for line in lines[1:4]] == [0.5, None, 0.1]
    assert (lines[4]["reason"], lines[4]["best_epoch"]) == ("epochs", 1)
    with pytest.raises(InputError):
        train(Spoiled(1, math.nan), DESCENT, log=log)
    assert json.loads(log.read_text().splitlines()[-1])["message"].startswith("InputError: epoch 1, step 1: ")


def test_tensorboard_where_it_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[Any, ...]] = []

    class Writer:
        def __init__(self, folder: str) -> None:
            calls.append((folder,))

        def add_scalar(self, *values: Any) -> None:
            calls.append(values)

        def flush(self) -> None:
            pass

        def close(self) -> None:
            calls.append(("closed",))

    class Boards:
        SummaryWriter = Writer

    monkeypatch.setattr("tagline.training.running.journal.import_module", lambda name: Boards)
    done = train(ToyTask(), DESCENT, tensorboard=tmp_path / "board")
    assert calls[0] == (str(tmp_path / "board"),)
    assert ("loss", done.history[1].loss, 2) in calls
    assert calls[-1] == ("closed",)

    def missing(name: str) -> Any:
        raise ImportError("No module named 'tensorboard'")

    monkeypatch.setattr("tagline.training.running.journal.import_module", missing)
    with pytest.raises(InputError, match=r"^tensorboard: "):
        train(ToyTask(), DESCENT, tensorboard=tmp_path / "board")


def test_progress_comes_a_few_times_a_second_and_at_the_end_of_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[int, int, float]] = []

    class Told(Silent):
        def stepped(self, done: int, total: int, loss: float) -> None:
            calls.append((done, total, loss))

    done = train(ToyTask(), DESCENT, progress=Told())
    assert [(step, steps) for step, steps, _ in calls if step == steps] == [(8, 8)] * 3
    assert [loss for step, steps, loss in calls if step == steps] == pytest.approx(
        [epoch.loss for epoch in done.history]
    )
    monkeypatch.setattr(loop, "SECONDS", 0.0)
    calls.clear()
    train(ToyTask(), DESCENT, progress=Told())
    assert [step for step, _, _ in calls] == [*range(1, 9)] * 3


def test_a_thread_makes_batches_ahead_without_changing_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, ahead = ToyTask(scores=(1, 2, 3)), ToyTask(scores=(1, 2, 3))
    train(plain, DESCENT)
    real = loop.loaded
    monkeypatch.setattr(loop, "loaded", lambda load, items, *, threaded: real(load, items, threaded=True))
    train(ahead, DESCENT)
    assert same(weights(plain), weights(ahead))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
def test_compiled() -> None:
    plain, compiled = ToyTask(**EXACT), ToyTask(**EXACT)
    train(plain, DESCENT)
    train(compiled, replace(DESCENT, compile=True))
    assert close(weights(plain), weights(compiled), atol=1e-9)


def test_compile_gets_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def fake(module: Any, *, dynamic: bool) -> Any:
        asked.append((module, dynamic))
        return module

    monkeypatch.setattr(torch, "compile", fake)
    task = ToyTask()
    train(task, replace(DESCENT, epochs=1, compile=True))
    assert isinstance(asked[0][0], Tagger)
    assert asked == [(task.module, True)]
