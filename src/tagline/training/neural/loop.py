"""The training loop: epochs of steps over batches, until it is time to stop; the best weights stay in the network.

After each epoch the dev score decides which weights are kept. A checkpoint at the end of each epoch (and, if wanted,
every few seconds) lets a run that was killed go on to exactly the same numbers. Ctrl-C ends it after the current step.
Under torchrun the processes share the work of each step. The other files do the parts; this one puts them in order.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from tagline.errors import InputError, StorageError
from tagline.storage import Path
from tagline.training.neural import checkpoints, randomness
from tagline.training.neural.batching import bucketed, loaded
from tagline.training.neural.checkpoints import Best, Standing
from tagline.training.neural.interrupts import Interrupts
from tagline.training.neural.journal import Epoch, TrainedNetwork
from tagline.training.neural.optimisers import optimiser_of
from tagline.training.neural.processes import joined
from tagline.training.neural.schedules import rate_of
from tagline.training.neural.settings import Descent
from tagline.training.neural.steps import Part, Steps, Totals
from tagline.training.neural.task import Progress, Task, dev_score_of
from tagline.training.neural.waiting import let_threads_sleep
from tagline.training.neural.watch import Watch
from tagline.training.running.callbacks import Callback
from tagline.training.running.checkpoints import check_place
from tagline.training.running.journal import Journal
from tagline.types import IntArray

logger = logging.getLogger("tagline.training")

__all__ = ["Epoch", "Task", "TrainedNetwork", "train"]

LOOKS = 8  # times an epoch that its losses are searched for numbers that are not finite


def train(
    task: Task,
    descent: Descent,
    *,
    callbacks: Sequence[Callback] = (),
    checkpoint: Path | None = None,
    save_every: float | None = None,
    resume: bool = False,
    facts: Mapping[str, Any] | None = None,
    log: Path | None = None,
    tensorboard: Path | None = None,
    progress: Progress | None = None,
) -> TrainedNetwork:
    """Train a network; it holds the best weights when this returns.

    Arguments:
        task: network and sentences.
        descent: how to train.
        callbacks: called with a `TrainingState` after each epoch; True stops.
        checkpoint: a file to write at the start, after each epoch and when the run is stopped; seen by all processes.
        save_every: seconds after which it is written within an epoch, too; 0 for after each step.
        resume: go on from the checkpoint; from the start where there is none yet.
        facts: what else must be the same for a run to be resumed, of JSON's types.
        log: a file of JSON lines to add to.
        tensorboard: a folder for TensorBoard.
        progress: called as ``progress(batches done, batches, mean loss)`` within epochs, a few times a second.

    A run that is stopped within an epoch returns to the weights of the best epoch before, if one was scored.
    """
    if checkpoint is None and (resume or save_every is not None):
        raise InputError("checkpoint: expected a file to resume from or to save to, got none; pass checkpoint=")
    if save_every is not None and not save_every >= 0:
        raise InputError(f"save_every: expected 0 seconds or more, got {save_every}")
    if not len(task.lengths):
        raise InputError("lengths: expected at least one sentence to learn from, got none")
    if (first := next(task.module.parameters(), None)) is None:
        raise InputError("module: expected parameters to train, got none")
    device, mode = first.device, task.module.training
    if device.type == "cpu":
        let_threads_sleep()
    with (
        joined(device) as world,
        randomness.seeded(descent.seed, world.rank, device),
        Interrupts() as interrupts,
        Journal(log, tensorboard) if world.first else Journal() as journal,
    ):
        steps = Steps(task.module, optimiser_of(task.groups(), descent), descent, world, device)
        watch = Watch(descent, world, interrupts, journal, callbacks, progress)
        all_facts = {**checkpoints.facts_of(task.lengths, descent, steps), **(facts or {})}
        try:
            return _Run(task, descent, steps, watch, all_facts, checkpoint, save_every).run(resume)
        finally:
            task.module.train(mode)


@dataclass(eq=False)
class _Run:
    """A run under way; `saved` and `epoch_begun` are times."""

    task: Task
    descent: Descent
    steps: Steps
    watch: Watch
    facts: Mapping[str, Any]
    checkpoint: Path | None
    save_every: float | None
    standing: Standing = field(default_factory=Standing)
    saved: float = field(default_factory=time.perf_counter)
    epoch_begun: float = 0.0

    def run(self, resume: bool) -> TrainedNetwork:
        """Train from where the run stands until it is time to stop."""
        world, journal = self.watch.world, self.watch.journal
        if resume and self.checkpoint is not None and os.path.exists(self.checkpoint):
            self.standing = checkpoints.load(self.checkpoint, self.facts, self.steps)
            self.watch.begun -= self.standing.seconds
        else:
            if self.checkpoint is not None:
                check_place(self.checkpoint)
            world.share_weights(self.task.module)
            self.save()
        journal.write("start", {**self.facts, "epoch": self.standing.epoch, "step": self.standing.step})
        reason = self.watch.between(self.standing) if self.standing.history else None
        while reason is None:
            reason = self.epoch()
        best, history = self.standing.best, tuple(self.standing.history)
        if best is None:
            self.steps.average.settle()
        else:
            checkpoints.put(self.task.module, best.weights)
        done = TrainedNetwork(history, reason, best.epoch if best else len(history))
        journal.write("end", {"reason": reason, "best_epoch": done.best_epoch, "seconds": self.watch.seconds()})
        return done

    def epoch(self) -> str | None:
        """Train one epoch, or the rest of it; return a reason where the run is to stop."""
        now, descent = self.standing, self.descent
        self.epoch_begun = time.perf_counter() - now.training
        plan = bucketed(
            self.task.lengths,
            batch_size=descent.batch_size,
            max_tokens=descent.max_tokens,
            rng=randomness.order_of(descent.seed, now.epoch),
            parts=descent.accumulate * self.watch.world.count,
        )
        self.task.module.train()
        left = loaded(self.loader(), plan[now.step :], threaded=self.steps.device.type != "cpu")
        with contextlib.closing(left) as batches:
            for count, parts in batches:
                self.steps.take(parts, count, rate_of(descent, now.epoch, now.step, len(plan)), now.step + 1)
                now.step += 1
                if now.step < len(plan) and (reason := self.look(plan)):
                    return reason
        return self.close(plan)

    def loader(self) -> Callable[[IntArray], tuple[int, list[Part]]]:
        """Return a function that makes this process's inputs of a step, in any thread, for the current stream."""
        on_gpu = self.steps.device.type == "cuda"
        stream = torch.cuda.current_stream(self.steps.device) if on_gpu else None

        def load(batch: IntArray) -> tuple[int, list[Part]]:
            shares = self.watch.world.shares(batch, self.descent.accumulate)
            with torch.cuda.stream(stream):  # does nothing where there is none
                return len(batch), [(len(share), self.task.inputs(share)) for share in shares]

        return load

    def look(self, plan: list[IntArray]) -> str | None:
        """Show, save and decide between two steps; return a reason where the run is to stop."""
        step = self.standing.step
        if step % math.ceil(len(plan) / LOOKS) == 0:
            self.steps.check(self.standing.epoch)
        self.watch.show(self.steps, step, plan)
        due = self.save_every is not None and time.perf_counter() - self.saved >= self.save_every
        reason, due = self.watch.within(step, due)
        if due:
            self.save()
        return reason

    def close(self, plan: list[IntArray]) -> str | None:
        """End an epoch: score it, keep the best weights, tell everybody, save; return a reason to stop, if any."""
        now, lengths = self.standing, self.task.lengths
        totals = self.steps.check(now.epoch)
        self.watch.world.share_weights(self.task.module)
        speed = float(np.sum(lengths)) / (time.perf_counter() - self.epoch_begun)
        self.watch.show(self.steps, now.step, plan)
        rate = rate_of(self.descent, now.epoch, now.step - 1, len(plan))
        with self.steps.average.in_place():
            score = dev_score_of(self.task, self.watch.world)
            # Of two epochs with equal scores the later is kept: it has learned more.
            if score is not None and math.isfinite(score) and (now.best is None or score >= now.best.score):
                now.best = Best(now.epoch, score, checkpoints.copy_of(self.task.module))
        loss, seconds = totals.loss / len(lengths), self.watch.seconds()
        done = Epoch(now.epoch, loss, score, rate, totals.gradient_norm, seconds, speed)
        now.history.append(done)
        now.epoch, now.step, now.training = now.epoch + 1, 0, 0.0
        self.steps.reset(Totals())
        stop = self.watch.tell(done, self.weights)
        self.save()
        return "callback" if stop else self.watch.between(now)

    def weights(self) -> dict[str, torch.Tensor]:
        """Copy the weights as they would be scored."""
        with self.steps.average.in_place():
            return checkpoints.copy_of(self.task.module)

    def save(self) -> None:
        """Write a checkpoint if one is wanted."""
        now, world = self.standing, self.watch.world
        if self.checkpoint is None:
            return
        self.steps.check(now.epoch)
        now.seconds = self.watch.seconds()
        now.training = time.perf_counter() - self.epoch_begun if now.step else 0.0
        generators = world.gathered(randomness.state(self.steps.device))
        if world.first:
            try:
                checkpoints.save(self.checkpoint, self.facts, now, self.steps, generators)
            except StorageError as error:
                if not now.history and not now.step:
                    raise  # nothing is lost yet
                logger.warning("%s; training goes on without it", error)
        self.saved = time.perf_counter()
