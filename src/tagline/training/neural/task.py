"""What a run is given: network and sentences as a `Task`, and those who want to hear of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import torch

from tagline.training.neural.journal import Epoch
from tagline.training.neural.processes import Processes
from tagline.types import IntArray

Callback: TypeAlias = Callable[[Epoch], bool | None]
"""Called after each epoch; True stops the run."""

Progress: TypeAlias = Callable[[int, int, float], None]
"""Called within epochs: batches done, batches of the epoch, mean loss so far."""


class Task(Protocol):
    """What is to be learned.

    Attributes:
        module: called as ``module(*inputs)``; returns the loss, a mean over the sentences of the batch.
        lengths: ``[B]``, tokens of the training sentences.
    """

    module: torch.nn.Module
    lengths: IntArray

    def inputs(self, sentences: IntArray) -> tuple[Any, ...]:
        """Return a batch on the device; draws no random numbers, for it may be called ahead in a thread."""

    def groups(self) -> list[dict[str, Any]]:
        """Return parameter groups, with ``rate`` (a multiplier) and ``weight_decay`` where they have their own."""

    def dev_score(self) -> float | None:
        """Score the network as it is, in eval mode and without gradients; the higher the better."""


def scored(task: Task, world: Processes) -> float | None:
    """Return the dev score, for which the first process is asked; None where there is none."""
    task.module.eval()
    with torch.no_grad():
        score = task.dev_score() if world.first else None
    value, found = world.from_first(math.nan if score is None else float(score), score is not None)
    return value if found else None
