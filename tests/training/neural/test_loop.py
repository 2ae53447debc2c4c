"""The loop against a loop written out by hand, when it stops, which weights it keeps, whom it tells."""

from __future__ import annotations

import json
import math
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tagline import storage
from tagline.errors import InputError
from tagline.training.callbacks import TrainingState
from tagline.training.neural import checkpoints, loop, steps, watch
from tagline.training.neural.batching import bucketed
from tagline.training.neural.interrupts import SOON, Interrupts
from tagline.training.neural.loop import Epoch, train
from tagline.training.neural.optimisers import optimiser_of
from tagline.training.neural.processes import Processes
from tagline.training.neural.randomness import order_of, seeded
from tagline.training.neural.schedules import rate_of
from tagline.training.neural.settings import Descent

from .toys import Tagger, ToyTask, close, same, weights

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
    assert (done.reason, done.best_epoch, len(done.history)) == ("epochs", 3, 3)


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


# Which weights are kept, and when it stops.


def test_best_weights_are_kept_and_patience_ends_the_run() -> None:
    scores = (0.1, 0.5, 0.4, 0.45, 0.9)
    task, at_best = ToyTask(scores=scores), ToyTask(scores=scores)
    done = train(task, replace(DESCENT, epochs=9, patience=2))
    assert (done.reason, done.best_epoch, len(done.history)) == ("patience", 2, 4)
    train(at_best, replace(DESCENT, epochs=9), callbacks=[lambda epoch: epoch.epoch == 2])
    assert same(weights(task), weights(at_best))


def test_without_scores_the_last_weights_stay() -> None:
    task, longer = ToyTask(scores=[None] * 9), ToyTask(scores=[None] * 9)
    descent = replace(DESCENT, schedule="constant")
    train(task, replace(descent, epochs=2))
    done = train(longer, replace(descent, epochs=2))
    assert done.best_epoch == 2
    assert same(weights(task), weights(longer))


def test_scores_that_are_not_finite_are_never_the_best() -> None:
    done = train(ToyTask(scores=(math.nan, 0.3, math.inf)), DESCENT)
    assert done.best_epoch == 2
    assert math.isnan(done.history[0].dev_score or 0)
    done = train(ToyTask(scores=(math.nan, math.nan, 1.0)), replace(DESCENT, patience=2))
    assert (done.reason, done.best_epoch) == ("patience", 2)


def test_patience_needs_scores() -> None:
    with pytest.raises(InputError, match="patience: expected a dev score"):
        train(ToyTask(scores=[None]), replace(DESCENT, patience=3))


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
    assert (done.reason, done.best_epoch, done.history, len(task.seen)) == ("time budget", 0, (), 1)


def test_ctrl_c_ends_the_run_after_the_step_and_keeps_the_weights(tmp_path: Path) -> None:
    class Interrupted(ToyTask):
        def inputs(self, sentences: Any) -> tuple[Any, ...]:
            if len(self.seen) == 3:
                os.kill(os.getpid(), signal.SIGINT)
            return super().inputs(sentences)

    task, whole = Interrupted(scores=(1, 2, 3)), ToyTask(scores=(1, 2, 3))
    before = weights(task)
    done = train(task, DESCENT, checkpoint=tmp_path / "c")
    assert (done.reason, done.best_epoch, len(task.seen)) == ("interrupted", 0, 4)
    assert storage.read(tmp_path / "c").config["step"] == 4
    assert not close(weights(task), before, atol=1e-3)
    done = train(again := ToyTask(scores=(1, 2, 3)), DESCENT, checkpoint=tmp_path / "c", resume=True)
    assert (done.reason, done.best_epoch) == ("epochs", 3)
    train(whole, DESCENT)
    assert same(weights(again), weights(whole))


def test_ctrl_c_while_scoring_is_honoured_afterwards_and_the_best_weights_return() -> None:
    task, best = ToyTask(), ToyTask(scores=(1,))
    epochs: list[Epoch] = []
    scores = iter((2.0, 1.0))

    def dev_score() -> float:
        if epochs:
            os.kill(os.getpid(), signal.SIGINT)
        return next(scores)

    task.dev_score = dev_score  # type: ignore[method-assign]
    done = train(task, DESCENT, callbacks=[epochs.append])
    assert (done.reason, done.best_epoch, len(epochs)) == ("interrupted", 1, 2)
    train(best, DESCENT, callbacks=[lambda epoch: True])
    assert same(weights(task), weights(best))


def test_of_equal_scores_the_last_is_kept_and_patience_goes_on() -> None:
    done = train(ToyTask(scores=(0, 0, 0)), DESCENT)
    assert (done.reason, done.best_epoch) == ("epochs", 3)
    done = train(ToyTask(scores=(1, 1, 1)), replace(DESCENT, patience=2))
    assert (done.reason, done.best_epoch, len(done.history)) == ("patience", 3, 3)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a disk that is always full")
def test_a_log_on_a_full_disk_costs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    task = ToyTask()
    assert train(task, DESCENT, log="/dev/full").reason == "epochs"
    assert caplog.text.count("/dev/full: expected room for a line of the log, got:") == 1


def test_a_checkpoint_that_cannot_be_written_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    whole, count = checkpoints.save, iter(range(100))

    def save(*parts: Any) -> None:
        if next(count):
            raise storage.StorageError("c: no room")
        whole(*parts)

    monkeypatch.setattr(checkpoints, "save", save)
    assert train(ToyTask(), DESCENT, checkpoint=tmp_path / "c").reason == "epochs"
    assert "c: no room; training goes on without it" in caplog.text
    with pytest.raises(storage.StorageError, match="no room"):  # at once, when nothing is lost
        train(ToyTask(), DESCENT, checkpoint=tmp_path / "c")


def test_a_checkpoint_takes_the_place_of_a_checkpoint_only(tmp_path: Path) -> None:
    place = tmp_path / "precious.txt"
    place.write_text("mine")
    with pytest.raises(
        InputError, match=r"precious\.txt: expected a new file or an older checkpoint, got another file"
    ):
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


# Numbers that are not finite, precision, odd networks.


class Spoiled(ToyTask):
    """Batches that give NaN, or an infinite loss with a fine gradient, from one step on."""

    def __init__(self, at: int, value: float, **options: Any) -> None:
        super().__init__(**options)
        calls = 0

        def spoil(_module: Any, _inputs: Any, loss: Tensor) -> Tensor:
            nonlocal calls
            calls += 1
            if calls < at:
                return loss
            return loss * value if math.isnan(value) else loss + value

        self.module.register_forward_hook(spoil)


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_a_loss_that_is_not_finite_is_named_and_never_reaches_the_weights(value: float, optimizer: str) -> None:
    task = Spoiled(11, value)  # 8 steps an epoch: the third of the second
    with pytest.raises(
        InputError, match=r"^epoch 2, step 3: expected a finite loss and gradient, got NaN or infinity; "
    ):
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
    with pytest.raises(InputError, match="groups: expected parameters that want a gradient"):
        train(task, DESCENT)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (lambda weight: [{"params": [weight]}, {"params": [weight]}], "groups: expected each parameter in one group"),
        (
            lambda weight: [{"params": [weight], "rate": -1.0, "name": "x"}],
            "expected a rate of 0 or more, got -1.0 for .* 'x'",
        ),
    ],
)
def test_bad_groups(groups: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
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
    ("options", "message"),
    [
        ({"resume": True}, "checkpoint: expected a file to resume from"),
        ({"save_every": 1.0}, "checkpoint: expected a file to resume from"),
        ({"save_every": -1.0, "checkpoint": "x"}, "save_every: expected 0 seconds or more, got -1.0"),
        (
            {"log": "nowhere/log.jsonl"},
            r"nowhere/log.jsonl: expected a log to add to, got: No such file or directory; make",
        ),
        ({"checkpoint": "nowhere/c"}, r"nowhere/c: expected a place to write to, got: No such file"),
    ],
)
def test_bad_arguments(options: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    task = ToyTask()
    with pytest.raises(ValueError, match=message):
        train(task, DESCENT, **options)
    assert not task.seen


def test_nothing_to_learn() -> None:
    with pytest.raises(InputError, match="lengths: expected at least one sentence"):
        train(ToyTask(0), DESCENT)
    task = ToyTask()
    task.module = torch.nn.Dropout()
    with pytest.raises(InputError, match="module: expected parameters to train, got none"):
        train(task, DESCENT)


# Who is told.


def test_the_log_has_a_line_for_the_start_each_epoch_and_the_end(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    done = train(ToyTask(scores=(0.5, math.nan, 0.1)), DESCENT, log=log)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["event"] for line in lines] == ["start", "epoch", "epoch", "epoch", "end"]
    assert (lines[0]["learning_rate"], lines[0]["sentences"], lines[0]["epoch"]) == (0.05, 60, 1)
    assert [line["loss"] for line in lines[1:4]] == [epoch.loss for epoch in done.history]
    assert [line["dev_score"] for line in lines[1:4]] == [0.5, None, 0.1]
    assert (lines[4]["reason"], lines[4]["best_epoch"]) == ("epochs", 1)
    with pytest.raises(InputError):
        train(Spoiled(1, math.nan), DESCENT, log=log)
    assert json.loads(log.read_text().splitlines()[-1])["message"].startswith("InputError: epoch 1, step 1: expected")


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

    monkeypatch.setattr("tagline.training.journal.import_module", lambda name: Boards)
    done = train(ToyTask(), DESCENT, tensorboard=tmp_path / "board")
    assert calls[0] == (str(tmp_path / "board"),)
    assert ("loss", done.history[1].loss, 2) in calls
    assert calls[-1] == ("closed",)

    def missing(name: str) -> Any:
        raise ImportError("No module named 'tensorboard'")

    monkeypatch.setattr("tagline.training.journal.import_module", missing)
    with pytest.raises(
        InputError, match=r"tensorboard: expected TensorBoard to be installed, .*; pip install tensorboard"
    ):
        train(ToyTask(), DESCENT, tensorboard=tmp_path / "board")


def test_progress_comes_a_few_times_a_second_and_at_the_end_of_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[int, int, float]] = []
    done = train(ToyTask(), DESCENT, progress=lambda *values: calls.append(values))
    assert [(step, steps) for step, steps, _ in calls if step == steps] == [(8, 8)] * 3
    assert [loss for step, steps, loss in calls if step == steps] == pytest.approx(
        [epoch.loss for epoch in done.history]
    )
    monkeypatch.setattr(watch, "SECONDS", 0.0)
    calls.clear()
    train(ToyTask(), DESCENT, progress=lambda *values: calls.append(values))
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
