"""Which weights the loop keeps, and when it stops."""

from __future__ import annotations

import math
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tagline import storage
from tagline.errors import InputError
from tagline.training.iteration import Step
from tagline.training.neural.loop import train
from tagline.training.neural.settings import Descent
from tagline.training.running import checkpoints
from tagline.training.running.callbacks import TrainingState
from tagline.training.running.interrupts import SOON, Interrupts

from .toys import ToyTask, close, same, weights

DESCENT = Descent(epochs=3, batch_size=8, learning_rate=0.05, weight_decay=0.1, clip=1.0, seed=5)
EXACT: dict[str, Any] = {"dropout": 0.0, "dtype": torch.float64}


# Which weights are kept, and when it stops.


def test_best_weights_are_kept_and_patience_ends_the_run() -> None:
    scores = (0.1, 0.5, 0.4, 0.45, 0.9)
    task, at_best = ToyTask(scores=scores), ToyTask(scores=scores)
    done = train(task, replace(DESCENT, epochs=9, patience=2))
    assert (done.reason, done.best, len(done.history)) == ("patience", 2, 4)
    train(at_best, replace(DESCENT, epochs=9), callbacks=[lambda epoch: epoch.epoch == 2])
    assert same(weights(task), weights(at_best))


def test_without_scores_the_last_weights_stay() -> None:
    task, longer = ToyTask(scores=[None] * 9), ToyTask(scores=[None] * 9)
    descent = replace(DESCENT, schedule="constant")
    train(task, replace(descent, epochs=2))
    done = train(longer, replace(descent, epochs=2))
    assert done.best == 2
    assert same(weights(task), weights(longer))


def test_scores_that_are_not_finite_are_never_the_best() -> None:
    done = train(ToyTask(scores=(math.nan, 0.3, math.inf)), DESCENT)
    assert done.best == 2
    assert math.isnan(done.history[0].dev_score or 0)
    done = train(ToyTask(scores=(math.nan, math.nan, 1.0)), replace(DESCENT, patience=2))
    assert (done.reason, done.best) == ("patience", 2)


def test_patience_has_nothing_to_wait_for_without_scores() -> None:
    done = train(ToyTask(scores=[None] * 9), replace(DESCENT, patience=1))
    assert done.reason == "epochs"


def test_callbacks_see_each_epoch_and_stop() -> None:
    seen: list[TrainingState] = []
    done = train(ToyTask(), DESCENT, callbacks=[seen.append, lambda epoch: epoch.epoch == 2, seen.append])
    assert done.reason == "callback"
    assert [epoch.epoch for epoch in seen] == [1, 1, 2, 2]
    assert tuple(state.progress for state in seen[::2]) == done.history
    assert [(state.objective, state.gap) for state in seen[::2]] == [(epoch.loss, None) for epoch in done.history]


@pytest.mark.parametrize("average", [0.0, 0.9])
def test_callbacks_copy_the_weights_that_are_scored(average: float) -> None:
    """The last copy is what the network holds at the end; what the callback does with its copy changes nothing."""
    copies: list[dict[str, torch.Tensor]] = []

    def keep(state: TrainingState) -> None:
        copies.append(state.weights())
        for tensor in state.weights().values():
            tensor.zero_()

    task = ToyTask()
    task.dev_score = lambda: None  # type: ignore[method-assign]
    train(task, replace(DESCENT, average=average, epochs=2), callbacks=[keep])
    final = task.module.state_dict()
    assert copies[1].keys() == final.keys()
    assert all(torch.equal(copies[1][name], final[name]) for name in final)
    assert not all(torch.equal(copies[0][name], final[name]) for name in final)


def test_the_time_budget_ends_an_epoch_between_two_steps() -> None:
    task = ToyTask(scores=[None], pause=0.01)
    done = train(task, replace(DESCENT, epochs=100, max_seconds=0.05))
    assert done.reason == "time budget"
    assert 0 < len(task.seen) < 60
    task = ToyTask()
    done = train(task, replace(DESCENT, max_seconds=0))
    assert (done.reason, done.best, done.history, len(task.seen)) == ("time budget", 0, (), 1)


def test_ctrl_c_ends_the_run_after_the_step_and_keeps_the_weights(tmp_path: Path) -> None:
    class Interrupted(ToyTask):
        def inputs(self, sentences: Any) -> tuple[Any, ...]:
            if len(self.seen) == 3:
                os.kill(os.getpid(), signal.SIGINT)
            return super().inputs(sentences)

    task, whole = Interrupted(scores=(1, 2, 3)), ToyTask(scores=(1, 2, 3))
    before = weights(task)
    done = train(task, DESCENT, checkpoint=tmp_path / "c")
    assert (done.reason, done.best, len(task.seen)) == ("interrupted", 0, 4)
    assert storage.read(tmp_path / "c").config["state"]["algorithm"]["step"] == 4
    assert not close(weights(task), before, atol=1e-3)
    done = train(again := ToyTask(scores=(1, 2, 3)), DESCENT, checkpoint=tmp_path / "c", resume=True)
    assert (done.reason, done.best) == ("epochs", 3)
    train(whole, DESCENT)
    assert same(weights(again), weights(whole))


def test_ctrl_c_while_scoring_is_honoured_afterwards_and_the_best_weights_return() -> None:
    task, best = ToyTask(), ToyTask(scores=(1,))
    epochs: list[Step] = []
    scores = iter((2.0, 1.0))

    def dev_score() -> float:
        if epochs:
            os.kill(os.getpid(), signal.SIGINT)
        return next(scores)

    task.dev_score = dev_score  # type: ignore[method-assign]
    done = train(task, DESCENT, callbacks=[epochs.append])
    assert (done.reason, done.best, len(epochs)) == ("interrupted", 1, 2)
    train(best, DESCENT, callbacks=[lambda epoch: True])
    assert same(weights(task), weights(best))


def test_of_equal_scores_the_last_is_kept_and_patience_goes_on() -> None:
    done = train(ToyTask(scores=(0, 0, 0)), DESCENT)
    assert (done.reason, done.best) == ("epochs", 3)
    done = train(ToyTask(scores=(1, 1, 1)), replace(DESCENT, patience=2))
    assert (done.reason, done.best, len(done.history)) == ("patience", 3, 3)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a disk that is always full")
def test_a_log_on_a_full_disk_costs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    task = ToyTask()
    assert train(task, DESCENT, log="/dev/full").reason == "epochs"
    assert caplog.text.count("/dev/full: expected room for a line of the log, got:") == 1


def test_a_checkpoint_that_cannot_be_written_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    whole, count = checkpoints.write, iter(range(100))

    def write(*parts: Any) -> None:
        if next(count):
            raise storage.StorageError("c: no room")
        whole(*parts)

    monkeypatch.setattr(checkpoints, "write", write)
    assert train(ToyTask(), DESCENT, checkpoint=tmp_path / "c").reason == "epochs"
    assert "c: no room; training goes on without it" in caplog.text
    with pytest.raises(storage.StorageError, match="no room"):  # at once, when nothing is lost
        train(ToyTask(), DESCENT, checkpoint=tmp_path / "c")


def test_a_checkpoint_takes_the_place_of_a_checkpoint_only(tmp_path: Path) -> None:
    place = tmp_path / "precious.txt"
    place.write_text("mine")
    with pytest.raises(InputError, match=r"precious\.txt: "):
        train(ToyTask(), DESCENT, checkpoint=place)
    assert place.read_text() == "mine"
    for _ in range(2):
        train(ToyTask(), DESCENT, checkpoint=tmp_path / "c")


def test_the_second_ctrl_c_is_one() -> None:
    with Interrupts() as interrupts:
        os.kill(os.getpid(), signal.SIGINT)
        assert interrupts.noted
        os.kill(os.getpid(), signal.SIGINT)  # so soon, it is the same
        interrupts._when -= SOON
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_handlers_and_threads_are_left_alone() -> None:
    handler: Callable[..., None] = lambda *_: None  # noqa: E731
    before = signal.signal(signal.SIGINT, handler)
    try:
        with Interrupts():
            assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)
    reasons: list[str] = []
    thread = threading.Thread(target=lambda: reasons.append(train(ToyTask(), DESCENT).reason))
    thread.start()
    thread.join()
    assert reasons == ["epochs"]
