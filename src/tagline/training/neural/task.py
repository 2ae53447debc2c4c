"""What is trained: network and sentences as a `Task`; and the functions that are called on the way."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import torch

from tagline.training.neural.processes import Processes
from tagline.types import IntArray

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
        """Return a batch on the device; draws no random numbers, since a thread may call it ahead of time."""

    def groups(self) -> list[dict[str, Any]]:
        """Return parameter groups, with ``rate`` (a multiplier) and ``weight_decay`` where they have their own."""

    def dev_score(self) -> float | None:
        """Score the network as it is, in eval mode and without gradients; the higher the better."""


def dev_score_of(task: Task, world: Processes) -> float | None:
    """Return the dev score, which the first process computes for all; None where there is none."""
    task.module.eval()
    with torch.no_grad():
        score = task.dev_score() if world.first else None
    value, is_scored = world.from_first(math.nan if score is None else float(score), score is not None)
    return value if is_scored else None
