"""How a network is trained, in one frozen value that is checked when it is made; needs no PyTorch."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from tagline.checks import check_choice, check_number, check_whole
from tagline.errors import InputError

OPTIMIZERS = ("adamw", "sgd")
SCHEDULES = ("linear", "cosine", "constant", "inverse")
PRECISIONS = ("auto", "float32", "bfloat16", "float16")


@dataclass(frozen=True)
class Descent:
    """Settings of a training run.

    Attributes:
        epochs: passes over the sentences, at most.
        batch_size: sentences that one process takes at once.
        max_tokens: of such a batch, padding included; a longer sentence goes alone. None for any number.
        optimizer: "adamw" or "sgd".
        learning_rate: the highest of the schedule; parameter groups multiply it.
        momentum: of "sgd".
        weight_decay: of the parameter groups that name none themselves; decoupled with "adamw".
        warmup: the share of the run, from its beginning, over which the rate climbs from 0.
        schedule: what follows: "linear" or "cosine" down to 0, "constant", or "inverse", 1 / (1 + 0.05·epochs done).
        clip: the longest gradient; a longer one is shortened. None for any.
        accumulate: batches whose gradients make one step.
        average: the decay of a running mean of the weights, which is scored and kept in their place: 0.999 is the mean
            of about the last thousand steps. 0 for none.
        precision: of products inside the network: "float32", "bfloat16", "float16", or "auto", which is bfloat16 on a
            GPU that has it and float32 elsewhere. Weights and updates are in the network's own precision.
        compile: run the network through `torch.compile`.
        patience: stop after so many epochs without a better dev score; None for never.
        max_seconds: budget of the run, those before a resumption included, looked at after each step.
        seed: of the order of the sentences and of dropout.

    >>> Descent(epochs=3, learning_rate=0.01).batch_size
    32
    """

    epochs: int = 20
    batch_size: int = 32
    max_tokens: int | None = None
    optimizer: str = "adamw"
    learning_rate: float = 1e-3
    momentum: float = 0.9
    weight_decay: float = 0.0
    warmup: float = 0.0
    schedule: str = "linear"
    clip: float | None = 5.0
    accumulate: int = 1
    average: float = 0.0
    precision: str = "auto"
    compile: bool = False
    patience: int | None = None
    max_seconds: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for entry in fields(self):  # JSON, which checkpoints are written in, knows Python's own numbers only
            if isinstance(value := getattr(self, entry.name), np.generic):
                object.__setattr__(self, entry.name, value.item())
        for name in ("epochs", "batch_size", "max_tokens", "accumulate", "patience"):
            check_whole(name, getattr(self, name), 1, optional=name in ("max_tokens", "patience"))
        check_whole("seed", self.seed, 0, optional=False)
        for name, choices in (("optimizer", OPTIMIZERS), ("schedule", SCHEDULES), ("precision", PRECISIONS)):
            check_choice(name, getattr(self, name), choices)
        check_number("learning_rate", self.learning_rate, above=0.0)
        check_number("momentum", self.momentum, least=0.0, below=1.0)
        check_number("weight_decay", self.weight_decay, least=0.0)
        check_number("average", self.average, least=0.0, below=1.0)
        check_number("warmup", self.warmup, least=0.0, most=1.0)
        check_number("clip", self.clip, above=0.0, optional=True)
        check_number("max_seconds", self.max_seconds, least=0.0, optional=True)
        if not isinstance(self.compile, bool):
            raise InputError(f"compile: expected True or False, got {self.compile!r}")
