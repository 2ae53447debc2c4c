"""The log of a run: its start, each pass and its end, as JSON lines and for TensorBoard."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from tagline.errors import InputError
from tagline.messages import message
from tagline.storage import Path

if TYPE_CHECKING:
    from tagline.training.iteration import Step

logger = logging.getLogger("tagline.training")


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
                got = message("{}; make its folder or choose another", error.strerror)
                raise InputError("{}: expected a log to add to, got: {}", os.fspath(log), got) from None

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
                logger.warning(
                    message("{}: expected room for a line of the log, got: {}; no more is logged", self._log, error)
                )
                with contextlib.suppress(OSError):
                    self._stream.close()
                self._stream = None

    def passed(self, done: Step) -> None:
        """Write a pass or an epoch down."""
        if self._stream is None and self._writer is None:
            return
        values = done.numbers()
        self.write(done.noun, values)
        if self._writer is not None:
            for name, value in values.items():
                if name not in ("epoch", "iteration") and value is not None and math.isfinite(value):
                    self._writer.add_scalar(name, value, done.number)
            self._writer.flush()


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: None for numbers that are not finite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _summary_writer(folder: Path) -> Any:
    try:
        boards = import_module("torch.utils.tensorboard")
    except ImportError as error:
        packages = "tensorboard" if find_spec("torch") else "torch tensorboard"  # the writer is PyTorch's
        raise InputError(
            "tensorboard: expected TensorBoard to be installed, got: {}; pip install {}", error, packages
        ) from None
    return boards.SummaryWriter(os.fspath(folder))
