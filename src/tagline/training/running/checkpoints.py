"""A run in one file, from which it goes on as if it had never stopped: our model file's format, written atomically.

Every algorithm has a `State`: plain values and arrays between two passes. `Checkpoint` writes it every few seconds and
reads it back. The facts beside it (settings, sizes, checksums of the data) must be the same for a run to go on;
`tagline.training.neural.checkpoints` keeps networks in the same way.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, get_type_hints

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tagline.checks import check_number
from tagline.errors import InputError, StorageError
from tagline.storage import ModelFile, Path, read, write
from tagline.training.running.callbacks import Progress
from tagline.writing import check_writable

logger = logging.getLogger("tagline.training")

KIND = "training checkpoint"
SECONDS = 30.0  # between two checkpoints
MOST_NAMED = 6  # differences, in a message
DAMAGED = "the file is damaged; start anew without resume"
# What a fact of the algorithm `auto` is called where its own name is not that of the setting that decides it.
_AUTO = {"passes": "the number of stochastic passes (at most half of max_iterations)"}
_CHECKSUMS = {
    "lengths": "other sentences",
    "words": "other words",
    "observations": "other observations",
    "tags": "other tags or weights",
    "dev": "another dev set",
    "shapes": "a network of other sizes",
    "layout": "other features or labels",
    "start": "another start",
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
        if not _is_sized(value):
            raise StorageError(f"{self.source}: {name} is out of range: {value!r:.60}; {DAMAGED}")
        return value

    def array(self, name: str, dtype: DTypeLike, *shape: int | None, finite: bool = False) -> NDArray[Any]:
        """Return a copy of an array that must be there, with this dtype and shape (None: any length).

        Arguments:
            finite: whether all its numbers must be finite.
        """
        array = ModelFile({}, self.arrays, source=self.source).tensor(name, dtype, *shape).copy()
        if finite and not np.isfinite(array).all():
            raise StorageError(f"{self.source}: {name} has numbers that are not finite; {DAMAGED}")
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


Entry = TypeVar("Entry", bound=Progress)


class Stateful(Protocol):
    """An algorithm that can be put down between two passes, and taken up again."""

    def keep(self) -> State:
        """Return all that the next pass depends on, besides the weights of the last point."""

    def restore(self, state: State, weights: NDArray[np.float64]) -> None:
        """Go back to where `keep` was called, at these weights."""


class Checkpoint:
    """The file of a run.

    Arguments:
        path: of the file; None writes nothing.
        facts: what must be the same for a run to be resumed, of JSON's types.
        save_every: seconds between two writes; 0 for after each pass.
        resume: go on from the file; from the start where there is none yet.
        clock: seconds, for tests.

    A file that is no checkpoint, or is one of other facts, and a place that cannot be written, are errors at once: no
    pass is lost to them. A write that fails later only warns, for a full disk must not cost what was learned.

    Attributes:
        state: what to go on from; None where a run begins.
        beside: what earlier steps of the run have reached, by name: a part of every state that is written.
    """

    def __init__(
        self,
        path: Path | None,
        facts: Mapping[str, Any],
        *,
        save_every: float = SECONDS,
        resume: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        check_run(path, resume, save_every)
        self.path, self.facts, self.save_every, self.clock = path, dict(facts), save_every, clock
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

    def due(self) -> bool:
        """Say whether it is time to write."""
        if self.path is None:
            return False
        return self._written is None or self.clock() - self._written >= self.save_every

    def save(self, state: State) -> None:
        """Write a state; it replaces an older one only when it is complete."""
        if self.path is None:
            return
        for name, part in self.beside.items():
            state = state.joined(name, part)
        try:
            write(self.path, {"model": KIND, "facts": self.facts, "state": written(state.values)}, state.arrays)
        except StorageError as error:
            logger.warning("%s; training goes on without it", error)
        self._written = self.clock()


def check_run(checkpoint: Path | None, resume: bool, save_every: float = SECONDS) -> None:
    """Raise where these arguments of `fit` cannot be meant."""
    if checkpoint is None and resume:
        raise InputError("checkpoint: expected a file to resume from or to save to, got none; pass checkpoint=")
    check_number("save_every", save_every, least=0, wanted="0 seconds or more")


def check_place(path: Path) -> None:
    """Raise where nothing can be written, or a file that is no checkpoint would be overwritten."""
    check_writable(path)
    with contextlib.suppress(StorageError):
        if not os.path.exists(path) or read(path, verify=False).config.get("model") == KIND:
            return
    raise InputError(f"{os.fspath(path)}: expected a new file or an older checkpoint, got another file; name another")


def opened(path: Path) -> ModelFile:
    """Read a checkpoint; a file of another kind is an error."""
    file = read(path)
    if (kind := file.setting("model", str)) != KIND:
        raise StorageError(f"{file.source}: expected a {KIND}, got a model of kind {kind!r:.60}; name another file")
    return file


def _load(path: Path, facts: Mapping[str, Any]) -> State:
    file = opened(path)
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
            f"{names.get(name, name)} was {saved.get(name)!r:.200} and is {now.get(name)!r:.200}" for name in differ
        ]
        texts = [_CHECKSUMS.get(name, text) for name, text in zip(differ, texts, strict=True)]
        more = [f"{len(texts) - MOST_NAMED} more"] if len(texts) > MOST_NAMED else []
        what = ", ".join([*texts[:MOST_NAMED], *more])
        raise InputError(
            f"{source}: expected a checkpoint of the same settings and data, got one that differs: {what}; resume with "
            "those, or start anew without resume, which overwrites it"
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


def _is_sized(value: Any) -> bool:
    """Whether an integer is one that arrays and the core can hold."""
    return not isinstance(value, int) or abs(value) < 2**62


def read_number(value: Any) -> Any:
    """Return a value that `written` wrote: a string is a number that is not finite."""
    return float(value) if isinstance(value, str) else value


def entries_of(kind: type[Entry], rows: Iterable[Mapping[str, Any]], source: str) -> tuple[Entry, ...]:
    """Return the entries of a history; a value that is not of its field's type is an error.

    Arguments:
        kind: of an entry, a dataclass that is a `Progress`.
        rows: the values of its fields by name, as `written` wrote them.
        source: the file they come from, for messages.
    """
    types = get_type_hints(kind)
    entries: list[Entry] = []
    try:
        for row in rows:
            values = {name: read_number(value) for name, value in row.items()}
            for name, value in values.items():
                if isinstance(value, bool) or not isinstance(value, types[name]) or not _is_sized(value):
                    raise TypeError(f"{name} {value!r:.60}")
            entries.append(kind(**values))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise StorageError(f"{source}: expected numbers in the history, got: {error!s:.200}; {DAMAGED}") from None
    if [entry.number for entry in entries] != list(range(1, len(entries) + 1)):
        raise StorageError(f"{source}: expected {kind.plural} numbered 1, 2, … in the history, got others; {DAMAGED}")
    return tuple(entries)


def restored_generator(random: np.random.Generator, state: State, name: str) -> None:
    """Put a generator of random numbers back to where it was."""
    try:
        random.bit_generator.state = state.value(name, dict)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise StorageError(
            f"{state.source}: expected the state of a generator, got: {error!r:.100}; {DAMAGED}"
        ) from None
