"""The training loop of networks: epochs of steps over batches.

`Epochs` is what a run (`tagline.training.run`) follows: between two steps of an epoch it may stop or save, after an
epoch it scores the dev set and keeps the best weights. A run that was killed goes on to exactly the same numbers;
Ctrl-C ends it after the current step. Under torchrun the processes share the work of each step and decide as one.
"""

from __future__ import annotations

import contextlib
import math
import operator
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from tagline.errors import InputError
from tagline.training.iteration import Algorithm, Step
from tagline.training.neural import checkpoints, randomness
from tagline.training.neural.batching import bucketed, loaded
from tagline.training.neural.optimisers import optimiser_of
from tagline.training.neural.processes import joined
from tagline.training.neural.schedules import rate_of
from tagline.training.neural.settings import Descent
from tagline.training.neural.steps import Part, Steps, Totals
from tagline.training.neural.task import Progress, Task, dev_score_of
from tagline.training.neural.waiting import let_threads_sleep
from tagline.training.run import Run, Trained
from tagline.training.running.checkpoints import State
from tagline.training.running.interrupts import Interrupts
from tagline.types import IntArray

LOOKS = 8  # times an epoch that its losses are searched for numbers that are not finite
STRIDE = 8  # steps after which several processes agree on whether to stop; one process looks after each step
SECONDS = 0.25  # between two calls of progress


def train(
    task: Task,
    descent: Descent,
    *,
    facts: Mapping[str, Any] | None = None,
    save_every: float | None = None,
    **settings: Any,
) -> Trained:
    """Train a network; it holds the best weights when this returns.

    Arguments:
        task: network and sentences.
        descent: how to train.
        facts: what else must be the same for a run to be resumed, of JSON's types.
        save_every: seconds after which the checkpoint is written within an epoch, too; 0 for after each step.
        settings: of the `Run` around it: callbacks, verbose, progress, checkpoint, resume, log, tensorboard;
            who is told hears of batches a few times a second, too.

    A run that is stopped within an epoch returns to the weights of the best epoch before, if one was scored.
    """
    if not len(task.lengths):
        raise InputError("lengths: expected at least one sentence to learn from, got none")
    if (first := next(task.module.parameters(), None)) is None:
        raise InputError("module: expected parameters to train, got none")
    if save_every is not None and settings.get("checkpoint") is None:
        raise InputError("checkpoint: expected a file to resume from or to save to, got none; pass checkpoint=")
    run = Run(
        max_iterations=descent.epochs,
        max_seconds=descent.max_seconds,
        patience=descent.patience,
        save_every=save_every,
        **settings,
    )
    device, mode = first.device, task.module.training
    if device.type == "cpu":
        let_threads_sleep()
    with joined(device) as world, randomness.seeded(descent.seed, world.rank, device), Interrupts() as interrupts:
        steps = Steps(task.module, optimiser_of(task.groups(), descent), descent, world, device)
        epochs = Epochs(task, descent, steps)
        run.keeps = operator.ge  # of two epochs with equal scores the later is kept: it has learned more
        run.dev = lambda _: epochs.dev_score()
        run.is_main, run.agree, run.interrupts = world.first, world.any, interrupts
        try:
            with run.opened(lambda: {**checkpoints.facts_of(task.lengths, descent, steps), **(facts or {})}):
                if world.first and (run.verbose or run.progress is not None):
                    epochs.progress = run.tell.stepped
                world.share_weights(task.module)
                trained = run.finish(epochs)
                if run.best is None:
                    steps.average.settle()
                else:
                    checkpoints.put(task.module, trained.weights)
            return trained
        finally:
            task.module.train(mode)


class Epochs(Algorithm):
    """Epochs of a network.

    Attributes:
        epoch, step: so many steps of this epoch are done; epochs count from 1.
        training: seconds of this epoch before it was resumed.
    """

    limit = "epochs"
    is_slow = True

    weights = None  # they are in the network

    def __init__(self, task: Task, descent: Descent, steps: Steps) -> None:
        self.task, self.descent, self.steps = task, descent, steps
        self.progress: Progress | None = None
        self.epoch, self.step, self.training = 1, 0, 0.0
        self._begun = self._shown = time.perf_counter()

    def __iter__(self) -> Generator[Step, None, None]:
        while True:
            yield from self._epoch()

    def _epoch(self) -> Generator[Step, None, None]:
        """Train one epoch, or the rest of it."""
        self._begun = time.perf_counter() - self.training
        descent, steps, world, lengths = self.descent, self.steps, self.steps.world, self.task.lengths
        plan = bucketed(
            lengths,
            batch_size=descent.batch_size,
            max_tokens=descent.max_tokens,
            rng=randomness.order_of(descent.seed, self.epoch),
            parts=descent.accumulate * world.count,
        )
        self.task.module.train()
        left = loaded(self._loader(), plan[self.step :], threaded=steps.device.type != "cpu")
        with contextlib.closing(left) as batches:
            for count, parts in batches:
                steps.take(parts, count, rate_of(descent, self.epoch, self.step, len(plan)), self.step + 1)
                self.step += 1
                if self.step == len(plan):
                    break
                if self.step % math.ceil(len(plan) / LOOKS) == 0:
                    steps.check(self.epoch)
                self._show(plan)
                if world.count == 1 or self.step % STRIDE == 0:
                    yield Step(self.epoch - 1, math.nan)
        totals = steps.check(self.epoch)
        world.share_weights(self.task.module)
        speed = float(np.sum(lengths)) / (time.perf_counter() - self._begun)
        self._show(plan)
        metrics = {"rate": rate_of(descent, self.epoch, self.step - 1, len(plan)), "tokens_per_second": speed}
        loss = totals.loss / len(lengths)
        self.epoch, self.step, self.training = self.epoch + 1, 0, 0.0
        steps.reset(Totals())
        yield Step(self.epoch - 1, loss, totals.gradient_norm, metrics=metrics, noun="epoch")

    def _loader(self) -> Callable[[IntArray], tuple[int, list[Part]]]:
        """Return a function that makes this process's inputs of a step, in any thread, for the current stream."""
        on_gpu = self.steps.device.type == "cuda"
        stream = torch.cuda.current_stream(self.steps.device) if on_gpu else None

        def load(batch: IntArray) -> tuple[int, list[Part]]:
            shares = self.steps.world.shares(batch, self.descent.accumulate)
            with torch.cuda.stream(stream):  # does nothing where there is none
                return len(batch), [(len(share), self.task.inputs(share)) for share in shares]

        return load

    def _show(self, plan: Sequence[IntArray]) -> None:
        """Call progress if it is time for that; only then wait for the device."""
        due = self.step == len(plan) or time.perf_counter() - self._shown >= SECONDS
        if self.progress is not None and due:
            self.progress(self.step, len(plan), self.steps.totals().loss / sum(map(len, plan[: self.step])))
            self._shown = time.perf_counter()

    def dev_score(self) -> float | None:
        """Score the network with the weights that are kept."""
        with self.steps.average.in_place():
            return dev_score_of(self.task, self.steps.world)

    def copied(self, weights: Any) -> dict[str, torch.Tensor]:
        with self.steps.average.in_place():
            return checkpoints.copy_of(self.task.module)

    def packed(self, copy: dict[str, torch.Tensor]) -> State:
        return State({}, {name: checkpoints.stored(value) for name, value in copy.items()})

    def unpacked(self, state: State) -> dict[str, torch.Tensor]:
        return checkpoints.restored_weights(state, "", self.task.module)

    def state(self) -> State:
        self.steps.check(self.epoch)
        training = time.perf_counter() - self._begun if self.step else 0.0
        state = checkpoints.network_state(self.steps)
        return State({**state.values, "epoch": self.epoch, "step": self.step, "training": training}, state.arrays)

    def passes_in(self, state: State) -> int:
        return checkpoints.counted(state, "epoch", 1, self.descent.epochs + 1) - 1

    def load_state(self, state: State) -> None:
        epoch = self.passes_in(state) + 1
        step = checkpoints.counted(state, "step", 0, len(self.task.lengths))
        training = max(state.value("training", float), 0.0)
        checkpoints.restore_network(state, self.steps)
        self.epoch, self.step, self.training = epoch, step, training
