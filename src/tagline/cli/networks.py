"""Training a network for `tagline train`: what is checked first, the run, and which of several processes speaks."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tagline.cli.kinds import kind_of
from tagline.cli.progress import Reporter
from tagline.errors import InputError
from tagline.readers.corpus import Corpus


@dataclass(frozen=True)
class Run:
    """What a run of a network leaves on the way.

    Attributes:
        config: the configuration to save beside the model, as TOML.
        checkpoint: a file for the state of training.
        resume: go on from it.
        log: a file to add a line of JSON to after each epoch.
        tensorboard: a folder for TensorBoard.
    """

    config: str = ""
    checkpoint: str | None = None
    resume: bool = False
    log: str | None = None
    tensorboard: str | None = None

    def check(self) -> None:
        """Raise where a file cannot be meant, before anything is read."""
        if self.resume and self.checkpoint is None:
            raise InputError("--resume: expected --checkpoint FILE to go on from, got none")
        for option, path in (("--checkpoint", self.checkpoint), ("--log", self.log)):
            if path is not None and (Path(path).is_dir() or not Path(path).parent.is_dir()):
                raise InputError(f"{option}: expected a file in an existing folder, got {path}; make its folder first")


def network_of(model: str, settings: Mapping[str, Any], tell: Reporter) -> Any:
    """Make the estimator, and let it check its parameters."""
    made = kind_of(model).estimator(**settings, callbacks=(tell.passed,))
    made.check()
    return made


def fit_network(model: Any, data: Corpus, dev: Corpus | None, run: Run, tell: Reporter) -> None:
    """Train a network; Ctrl-C before the first epoch is done is a `KeyboardInterrupt`."""
    if run.resume:
        found = os.path.exists(run.checkpoint or "")
        tell.say(f"going on from {run.checkpoint}" if found else f"{run.checkpoint} is not there yet: beginning anew")
    tell.stage("making the network")
    model.fit(
        data,
        X_dev=dev,
        checkpoint=run.checkpoint,
        resume=run.resume,
        log=run.log,
        tensorboard=run.tensorboard,
        progress=tell.stepped,
    )
    model.callbacks = ()
    if not model.training_log_ and model.stop_reason_ == "interrupted":
        raise KeyboardInterrupt
    if not model.training_log_ and model.stop_reason_ == "time budget" and run.checkpoint is None:
        raise InputError(f"--max-seconds: expected time for one epoch at least, got {model.max_seconds}")


def speaks() -> bool:
    """Say whether this process tells and writes: of several that torchrun starts, the first."""
    return os.environ.get("WORLD_SIZE", "1") == "1" or os.environ.get("RANK", "0") == "0"
