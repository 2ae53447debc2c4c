"""A run in one file, from which it goes on as if it had never stopped: our model file's format, written atomically.

Every algorithm has a `State`: plain values and arrays between two passes. `Checkpoint` writes it every few seconds and
reads it back. The facts beside it (settings, sizes, checksums of the data) must be the same for a run to go on.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tagline.errors import InputError, StorageError
from tagline.messages import message
from tagline.storage import ModelFile, Path, read, write
from tagline.writing import check_writable

logger = logging.getLogger("tagline.training")

KIND = "training checkpoint"
FORM = 2  # of the file; 0.1.0 wrote form 1, which has no number
SECONDS = 30.0  # between two checkpoints
MOST_NAMED = 6  # differences, in a message
DAMAGED = message("the file is damaged; start anew without resume")
# What a fact of the algorithm `auto` is called where its own name is not that of the setting that decides it.
_AUTO = {"passes": message("the number of stochastic passes (at most half of max_iterations)")}
_CHECKSUMS = {
    "lengths": message("other sentences"),
    "words": message("other words"),
    "observations": message("other observations"),
    "tags": message("other tags or weights"),
    "dev": message("another dev set"),
    "shapes": message("a network of other sizes"),
    "layout": message("other features or labels"),
    "start": message("another start"),
}
"""What a message says where a checksum differs."""


@dataclass(frozen=True, eq=False)
class State:
    """Where something stands: values of JSON's types, and arrays, by name.

    Attributes:
        source: the file it was read from, for messages.
    """

    values: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    source: str = "<state>"

    def value(self, name: str, kind: type[Any]) -> Any:
        """Return a value that must be there and of this type; a float that is not finite stands there as a string."""
        value = self.values.get(name)
        if kind is float and value in ("nan", "inf", "-inf"):
            return float(value)
        value = ModelFile(self.values, {}, source=self.source).setting(name, kind)
        if not is_sized(value):
            raise StorageError("{}: {} is out of range: {!r:.60}; {}", self.source, name, value, DAMAGED)
        return value

    def array(self, name: str, dtype: DTypeLike, *shape: int | None, finite: bool = False) -> NDArray[Any]:
        """Return a copy of an array that must be there, with this dtype and shape (None: any length).

        Arguments:
            finite: whether all its numbers must be finite.
        """
        array = ModelFile({}, self.arrays, source=self.source).tensor(name, dtype, *shape).copy()
        if finite and not np.isfinite(array).all():
            raise StorageError("{}: {} has numbers that are not finite; {}", self.source, name, DAMAGED)
        return array

    def part(self, name: str) -> State:
        """Return the state that `joined` put in under a name."""
        values = self.value(name, dict)
        arrays = {
            key.removeprefix(f"{name}/"): array for key, array in self.arrays.items() if key.startswith(f"{name}/")
        }
        return State(values, arrays, self.source)

    def joined(self, name: str, other: State) -> State:
        """Return this state with another in it, under a name."""
        arrays = {f"{name}/{key}": array for key, array in other.arrays.items()}
        return State({**self.values, name: other.values}, {**self.arrays, **arrays}, self.source)


class Checkpoint:
    """The file of a run.

    Arguments:
        path: of the file; None writes nothing.
        facts: what must be the same for a run to be resumed, of JSON's types.
        resume: go on from the file; from the start where there is none yet.
        clock: seconds, for tests.

    A file that is no checkpoint, or is one of other facts, and a place that cannot be written, are errors at once: no
    pass is lost to them. A write that fails later only warns, for a full disk must not cost what was learned.

    Attributes:
        state: what to go on from; None where a run begins.
        beside: what earlier steps of the run have reached, by name: a part of every state that is written.
        is_new: whether it has written nothing yet.
    """

    def __init__(
        self,
        path: Path | None,
        facts: Mapping[str, Any],
        *,
        resume: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path, self.facts, self.clock = path, dict(facts), clock
        self.state: State | None = None
        self.beside: dict[str, State] = {}
        self._written: float | None = None
        if path is None:
            return
        if resume and os.path.exists(path):
            check_writable(path)
            self.state = _load(path, self.facts)
        else:
            check_place(path)

    @property
    def is_new(self) -> bool:
        """Whether nothing was written yet."""
        return self._written is None

    def is_due(self, save_every: float | None) -> bool:
        """Say whether it is time to write: for the first time, or so many seconds after the last."""
        return self._written is None or (save_every is not None and self.clock() - self._written >= save_every)

    def save(self, state: State, *, must: bool = False) -> None:
        """Write a state; it replaces an older one only when it is complete.

        Arguments:
            must: raise where that fails, as long as nothing is lost.
        """
        if self.path is None:
            return
        for name, part in self.beside.items():
            state = state.joined(name, part)
        config = {"model": KIND, "form": FORM, "facts": self.facts, "state": written(state.values)}
        try:
            write(self.path, config, state.arrays)
        except StorageError as error:
            if must:
                raise
            logger.warning(message("{}; training goes on without it", error))

    def note(self) -> None:
        """Count the seconds to the next write from now."""
        self._written = self.clock()


def check_place(path: Path) -> None:
    """Raise where nothing can be written, or a file that is no checkpoint would be overwritten."""
    check_writable(path)
    with contextlib.suppress(StorageError):
        if not os.path.exists(path) or read(path, verify=False).config.get("model") == KIND:
            return
    raise InputError("{}: expected a new file or an older checkpoint, got another file; name another", os.fspath(path))


def _load(path: Path, facts: Mapping[str, Any]) -> State:
    file = read(path)
    if (kind := file.setting("model", str)) != KIND:
        raise StorageError(
            "{}: expected a {}, got a model of kind {!r:.60}; name another file", file.source, KIND, kind
        )
    if (form := file.config.get("form", 1)) != FORM:
        raise StorageError(
            "{}: expected a {} of this version (form {}), got one of form {!r:.20}; finish the "
            "run with the version of Tagline that wrote it, or start anew without resume, which overwrites it",
            file.source,
            KIND,
            FORM,
            form,
        )
    check_facts(file.source, file.setting("facts", dict), facts)
    return State(file.setting("state", dict), dict(file.tensors), file.source)


def check_facts(source: str, saved: dict[str, Any], facts: Mapping[str, Any]) -> None:
    """Raise where a checkpoint is of other settings or data, and say what differs."""
    now = json.loads(json.dumps(facts))
    differ = [name for name in {**saved, **now} if saved.get(name) != now.get(name)]
    if differ:
        if "model" in differ:  # everything else differs, too
            differ = ["model"]
        names = _AUTO if now.get("algorithm") == "auto" else {}
        texts = [
            message("{} was {!r:.200} and is {!r:.200}", names.get(name, name), saved.get(name), now.get(name))
            for name in differ
        ]
        texts = [_CHECKSUMS.get(name, text) for name, text in zip(differ, texts, strict=True)]
        more = [message("{} more", len(texts) - MOST_NAMED)] if len(texts) > MOST_NAMED else []
        what = ", ".join([*texts[:MOST_NAMED], *more])
        raise InputError(
            "{}: expected a checkpoint of the same settings and data, got one that differs: {}; resume "
            "with those, or start anew without resume, which overwrites it",
            source,
            what,
        )


def checksum(*parts: NDArray[Any] | None) -> str:
    """Return a checksum of arrays; None counts nothing."""
    total = 0
    for part in parts:
        if part is not None:
            total = zlib.crc32(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data, total)
    return f"{total:08x}"


def written(value: Any) -> Any:
    """Return a value as JSON has it: numbers of NumPy as Python's own, those that are not finite as strings."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): written(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [written(part) for part in value]
    return value


def is_sized(value: Any) -> bool:
    """Whether an integer is one that arrays and the core can hold."""
    return not isinstance(value, int) or abs(value) < 2**62


def restored_generator(random: np.random.Generator, state: State, name: str) -> None:
    """Put a generator of random numbers back to where it was."""
    try:
        random.bit_generator.state = state.value(name, dict)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise StorageError(
            "{}: expected the state of a generator, got: {!r:.100}; {}", state.source, error, DAMAGED
        ) from None
