"""What runs in processes of its own: toys that are trained, and their weights written down.

python -m training.neural.worker alone FOLDER
torchrun … -m training.neural.worker together FOLDER
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tagline import storage
from tagline.training.neural.loop import train
from tagline.training.neural.settings import Descent
from training.neural.toys import ToyTask, weights

DESCENT = Descent(epochs=4, batch_size=4, learning_rate=0.05, weight_decay=0.01, seed=3)
KILLS = 6
COUNT = 41  # of sentences; the last batches have an odd number of them


def disturbed(folder: Path) -> None:
    """Start runs with a checkpoint after every step, and end them: by kill −9 over and over, by Ctrl-C once.

    The runs are forks of this process, which has loaded everything; loading would take longer than the runs.
    """
    import_module("torch._dynamo")  # as the first optimiser does
    draw, path = random.Random(7), folder / "killed"
    for number in range(KILLS):
        before, child = changed(path), forked(path)
        while number % 2 == 0 and changed(path) == before:  # until it has made a step
            time.sleep(0.001)
        time.sleep(draw.uniform(0.0, 0.06))
        end(child, signal.SIGKILL)
        if path.exists():
            saved = storage.read(path).config["state"]["algorithm"]
            print(saved["epoch"], saved["step"], flush=True)
    os.waitpid(forked(path), 0)
    path, child = folder / "interrupted", forked(folder / "interrupted", pause=0.03)
    while not changed(path):
        time.sleep(0.001)
    time.sleep(0.3)
    end(child, signal.SIGINT)


def changed(path: Path) -> int:
    """When a file was written; 0 where there is none."""
    return path.stat().st_mtime_ns if path.exists() else 0


def forked(path: Path, pause: float = 0.01) -> int:
    """A process that trains, going on from a checkpoint, and writes its weights beside it."""
    if child := os.fork():
        return child
    task = ToyTask(COUNT, pause=pause)
    done = train(task, DESCENT, checkpoint=path, save_every=0.0, resume=True)
    facts = {"losses": [epoch.loss for epoch in done.history], "reason": done.reason, "best_epoch": done.best}
    np.savez(path.with_suffix(".npz"), **facts, **weights(task))
    os._exit(0)


def end(child: int, number: int) -> None:
    os.kill(child, number)
    os.waitpid(child, 0)


def together(folder: Path) -> None:
    """Train in several processes: without dropout, with it, and with it in two halves."""
    rank, arrays = int(os.environ["RANK"]), {}

    def keep(name: str, task: ToyTask) -> None:
        arrays.update({f"{name}/{key}": value for key, value in weights(task).items()})

    plain = ToyTask(COUNT, dropout=0.0, dtype=torch.float64)
    if rank:  # the weights of the first process count
        torch.nn.init.zeros_(plain.module.linear.weight)
    done = train(plain, DESCENT, log=folder / "log")
    keep("plain", plain)
    lines: dict[str, Any] = {
        name: [getattr(epoch, name) for epoch in done.history] for name in ("loss", "gradient_norm")
    }

    whole = ToyTask(COUNT, scores=(1, 3, 2, 4))
    train(whole, DESCENT)
    keep("whole", whole)
    halves = ToyTask(COUNT, scores=(1, 3)), ToyTask(COUNT, scores=(2, 4))
    stop = [lambda epoch: epoch.epoch == 2]
    reasons = [
        train(halves[0], DESCENT, checkpoint=folder / "run", callbacks=stop).reason,
        train(halves[1], DESCENT, checkpoint=folder / "run", resume=True).reason,
    ]
    keep("halves", halves[1])
    np.savez(folder / f"weights{rank}.npz", reasons=reasons, seen=len(plain.seen), **lines, **arrays)


if __name__ == "__main__":
    torch.set_num_threads(1)
    {"disturbed": disturbed, "together": together}[sys.argv[1]](Path(sys.argv[2]))
