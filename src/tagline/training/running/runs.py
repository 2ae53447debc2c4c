"""The files of a run that `fit` is given: where its state is kept, and where its log goes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tagline.storage import Path
from tagline.training.running.checkpoints import SECONDS, Checkpoint, check_run, written
from tagline.training.running.journal import Journal


@dataclass(frozen=True)
class RunFiles:
    """Files that training writes on the way.

    Attributes:
        checkpoint: the state of training; None for none.
        resume: go on from the checkpoint where it is there.
        save_every: seconds between two checkpoints; 0 for after each pass.
        log: a file of JSON lines to add to.
        tensorboard: a folder for TensorBoard.
    """

    checkpoint: Path | None = None
    resume: bool = False
    save_every: float = SECONDS
    log: Path | None = None
    tensorboard: Path | None = None

    def __post_init__(self) -> None:
        check_run(self.checkpoint, self.resume, self.save_every)

    @contextmanager
    def opened(self, facts: Mapping[str, Any]) -> Iterator[tuple[Checkpoint, Journal]]:
        """Open them for a run of these facts; the log says where it starts."""
        plain = written(facts)
        checkpoint = Checkpoint(self.checkpoint, plain, save_every=self.save_every, resume=self.resume)
        with Journal(self.log, self.tensorboard) as journal:
            going_on = None if checkpoint.state is None or self.checkpoint is None else os.fspath(self.checkpoint)
            journal.write("start", {**plain, "resumed": going_on})
            yield checkpoint, journal
