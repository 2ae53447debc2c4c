"""What a run has reached: an `Epoch` for each pass, and a log of them as JSON lines and for TensorBoard."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from types import TracebackType
from typing import IO, Any, ClassVar

from tagline.errors import InputError
from tagline.storage import Path

logger = logging.getLogger("tagline.training")


@dataclass(frozen=True)
class Epoch:
    """One line of a training history.

    Attributes:
        epoch: from 1.
        loss: mean of its sentences, each before the step that learned from it.
        dev_score: the higher the better; None where there is none.
        rate: the learning rate of its last step, before groups multiply it.
        gradient_norm: mean over its steps, before clipping.
        seconds: since the start of the run.
        tokens_per_second: of training, without scoring.
    """

    epoch: int
    loss: float
    dev_score: float | None
    rate: float
    gradient_norm: float
    seconds: float
    tokens_per_second: float

    noun: ClassVar[str] = "epoch"
    plural: ClassVar[str] = "epochs"
    lasting: ClassVar[bool] = True  # epochs are few and long: each is worth a line

    @property
    def number(self) -> int:
        """Which epoch it is, from 1."""
        return self.epoch

    @property
    def objective(self) -> float:
        """The loss."""
        return self.loss

    @property
    def speed(self) -> str:
        """How fast it learned, in words."""
        return f"{self.tokens_per_second:,.0f} tokens/s"

    def headline(self) -> str:
        """Say in a few words what it reached."""
        return f"loss {self.loss:.4f}"

    def line(self) -> str:
        """Write it as one line of text.

        >>> Epoch(7, 1.25, 0.9356, 1e-3, 2.5, 4.2, 51234.0).line()
        '   7  loss 1.2500  gradient 2.50e+00  rate 1.0e-03  dev 0.9356  51,234 tokens/s  4.2 s'
        """
        dev = "" if self.dev_score is None else f"  dev {self.dev_score:.4f}"
        return (
            f"{self.epoch:4d}  loss {self.loss:.4f}  gradient {self.gradient_norm:.2e}  rate {self.rate:.1e}{dev}  "
            f"{self.tokens_per_second:,.0f} tokens/s  {self.seconds:.1f} s"
        )


@dataclass(frozen=True)
class TrainedNetwork:
    """How a run ended; the network holds the weights.

    Attributes:
        history: the epochs that were finished.
        reason: "epochs", "patience", "time budget", "interrupted" or "callback".
        best_epoch: the epoch whose weights the network holds: that of the best dev score, the last one where there is
            no score, 0 where no epoch was finished.
    """

    history: tuple[Epoch, ...]
    reason: str
    best_epoch: int


class Journal:
    """Writes down the start, each epoch and the end; every line reaches the file at once.

    Arguments:
        log: a file of JSON lines to add to; None for none.
        tensorboard: a folder for TensorBoard's events; None for none.
    """

    def __init__(self, log: Path | None = None, tensorboard: Path | None = None) -> None:
        self._log = log
        self._writer = None if tensorboard is None else _summary_writer(tensorboard)
        self._stream: IO[str] | None = None
        if log is not None:
            try:
                self._stream = open(log, "a", encoding="utf-8")  # noqa: SIM115 (closed by __exit__)
            except OSError as error:
                got = f"{error.strerror}; make its folder or choose another"
                raise InputError(f"{os.fspath(log)}: expected a log to add to, got: {got}") from None

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self.write("error", {"message": f"{type(error).__name__}: {error}"})
        if self._stream is not None:
            self._stream.close()
        if self._writer is not None:
            self._writer.close()

    def write(self, event: str, values: Mapping[str, Any]) -> None:
        """Add one line."""
        if self._stream is not None:
            line = {"event": event, **{name: _plain(value) for name, value in values.items()}}
            try:
                self._stream.write(json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n")
                self._stream.flush()
            except OSError as error:  # a full disk must not cost what was learned
                logger.warning("%s: expected room for a line of the log, got: %s; no more is logged", self._log, error)
                with contextlib.suppress(OSError):
                    self._stream.close()
                self._stream = None

    def passed(self, epoch: Epoch) -> None:
        """Write an epoch down."""
        values = asdict(epoch)
        self.write("epoch", values)
        if self._writer is not None:
            for name, value in values.items():
                if name != "epoch" and value is not None:
                    self._writer.add_scalar(name, value, epoch.epoch)
            self._writer.flush()


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: None for numbers that are not finite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _summary_writer(folder: Path) -> Any:
    try:
        boards = import_module("torch.utils.tensorboard")
    except ImportError as error:
        raise InputError(
            f"tensorboard: expected TensorBoard to be installed, got: {error}; pip install tensorboard"
        ) from None
    return boards.SummaryWriter(os.fspath(folder))
