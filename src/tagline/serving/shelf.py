"""The models of a service, by name. A file that is replaced is loaded beside the old one, and then takes its place.

Requests that run keep the model that they began with. A file that cannot be loaded leaves the old model where it is.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from typing import Any

from tagline.errors import InputError, TaglineError
from tagline.interop.formats import read_model
from tagline.messages import message
from tagline.models.contract import Input, Model
from tagline.models.cutting import cut_for
from tagline.models.entities import Reading, reading_of
from tagline.readers.raw_text import Cut
from tagline.serving.problems import ProblemError

LOG = logging.getLogger("tagline.serving")

SHOWN = 50  # labels that the log names
FEW = 100  # tokens; the time of fewer is that of the call

Version = tuple[int, int, int]
"""What tells two states of a file apart: when it was written, its size, its number on the disk."""


class Pace:
    """How fast a model answers: the seconds of a call and of a token, going by calls of the past."""

    def __init__(self) -> None:
        self._call, self._token = 0.0, math.inf

    def seconds(self, tokens: int) -> float:
        """How long so many tokens will take; endless before the first call."""
        return max(self._call, self._token * tokens)

    def note(self, tokens: int, seconds: float) -> None:
        """Take note of a call: small ones tell what a call costs, all of them what a token does at most."""
        # A large one tells what a call costs at most: else a slow first call holds until small ones come.
        self._call = _mean(self._call, seconds) if tokens < FEW else min(self._call, seconds)
        self._token = _mean(self._token, seconds / max(tokens, FEW))


def _mean(old: float, new: float) -> float:
    """A running mean that begins with the first value."""
    return new if old in (0.0, math.inf) else 0.9 * old + 0.1 * new


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A model as the service uses it.

    Attributes:
        name: under which it is asked.
        model: any kind.
        path: its file; empty where it was given as an object.
        version: of the file when it was read.
        fingerprint: of the file's bytes.
        loaded: when, as ISO 8601.
    """

    name: str
    model: Model
    path: str = ""
    version: Version = (0, 0, 0)
    fingerprint: str = ""
    loaded: str = ""
    pace: Pace = field(default_factory=Pace)

    @cached_property
    def labels(self) -> list[str]:
        """The names of the labels."""
        return [str(label) for label in self.model.labels_]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each label."""
        return {label: number for number, label in enumerate(self.labels)}

    @cached_property
    def reading(self) -> Reading | None:
        """How the labels make spans; None where they make none, or the model does not know their chances."""
        return reading_of(self.model)

    @cached_property
    def needs(self) -> Input:
        """What it reads."""
        return self.model.input_

    @property
    def reads_documents(self) -> bool:
        """Whether what it says of a sentence depends on the others of its document."""
        return self.needs.documents

    @property
    def reads_words(self) -> bool:
        """Whether sentences of words can be given to it."""
        return self.needs.refusal is None

    @cached_property
    def _cuts(self) -> Any:
        return lru_cache(maxsize=None)(lambda name: cut_for(self.model, name))

    def cut(self, tokenizer: str) -> Cut:
        """Return what cuts texts for it."""
        cut: Cut = self._cuts(tokenizer)
        return cut

    def refuse_text(self) -> None:
        """Refuse texts where the model reads something else."""
        needs = self.needs
        if needs.refusal is not None:
            raise ProblemError(422, message("text: {}; send tokens with their features", needs.refusal), field="text")
        if needs.columns > 1:
            raise ProblemError(
                422,
                message(
                    "text: expected a model that looks at words alone, got one that looks at {} columns, "
                    "as {} names them; send tokens, each a list of its columns",
                    needs.columns,
                    needs.source,
                ),
                field="text",
            )

    def refuse_numbers(self) -> None:
        """Refuse a model that no request can ask: requests have words, or attributes of tokens."""
        if self.reads_words:
            return
        try:
            for _ in self.model.chains([[["x"]]]):
                pass
        except TaglineError:
            source = self.path or self.name
            detail = message("it reads numbers, and requests have words or attributes of tokens")
            raise InputError("{}: this {} model cannot be served: {}", source, self.model.kind, detail) from None

    def check_labels(self, labels: str | list[str], field: str) -> str | list[str]:
        """Return labels that the model has."""
        for label in [labels] if isinstance(labels, str) else labels:
            if label not in self.numbers:
                detail = message("{}: expected a label among {}, got {!r}", field, ", ".join(self.labels[:50]), label)
                raise ProblemError(422, detail, field=field)
        return labels


class Shelf:
    """The models of a service.

    Arguments:
        paths: the file of each model by its name; or the models themselves.
    """

    def __init__(self, paths: Mapping[str, str | Model]) -> None:
        if not paths:
            raise InputError("models: expected at least one, got none; give -m model.tagline")
        self._models: dict[str, ServedModel] = {}
        self._failed: dict[str, Version] = {}
        for name, source in paths.items():
            if isinstance(source, str):
                self._models[name] = read_served(name, source)
            else:
                self._models[name] = served = ServedModel(name, source, loaded=_now())
                served.refuse_numbers()

    def __getitem__(self, name: str | None) -> ServedModel:
        """Return a model by name; the first one for None."""
        if name is None:
            return next(iter(self._models.values()))
        if name not in self._models:
            detail = message("model: expected one of {}, got {!r}", ", ".join(self._models), name)
            raise ProblemError(404, detail, field="model")
        return self._models[name]

    def __iter__(self) -> Any:
        return iter(self._models.values())

    async def watch(self, seconds: float) -> None:
        """Look at the files from time to time, and take over what is new."""
        while True:
            await asyncio.sleep(seconds)
            for served in list(self._models.values()):
                if served.path:
                    await self.renew(served)

    async def renew(self, served: ServedModel) -> bool:
        """Load a model anew where its file is another one than before; say whether it was."""
        version = version_of(served.path)
        if version is None or version == served.version or version == self._failed.get(served.name):
            return False
        try:
            fresh = await asyncio.to_thread(read_served, served.name, served.path)
        except (TaglineError, OSError) as error:
            self._failed[served.name] = version
            LOG.warning("model kept", extra={"facts": {"model": served.name, "reason": str(error)}})
            return False
        self._models[served.name] = fresh
        self._failed.pop(served.name, None)
        facts: dict[str, Any] = {"model": served.name, "fingerprint": fresh.fingerprint}
        if served.labels == fresh.labels:
            LOG.info("model replaced", extra={"facts": facts})
        else:  # callers may rely on them
            new, old = set(fresh.labels), set(served.labels)
            more = {"labels_added": sorted(new - old)[:SHOWN], "labels_removed": sorted(old - new)[:SHOWN]}
            facts = {**facts, **more}
            LOG.warning("model replaced by one with other labels", extra={"facts": facts})
        return True


def read_served(name: str, path: str) -> ServedModel:
    """Load a model; its file may be written over later, so it is read and not mapped."""
    version = version_of(path)
    model = read_model(path, mapped=False)
    with open(path, "rb") as file:
        fingerprint = hashlib.file_digest(file, "sha256").hexdigest()[:16]
    served = ServedModel(name, model, path, version or (0, 0, 0), fingerprint, _now())
    served.refuse_numbers()
    return served


def version_of(path: str) -> Version | None:
    """Return what tells this state of a file from others; None where there is no file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def named_models(options: Sequence[str]) -> dict[str, str]:
    """Read ``-m`` options: paths, or ``name=path``; a path alone is named for its file.

    >>> named_models(["news=a.tagline", "models/b.tagline"])
    {'news': 'a.tagline', 'b': 'models/b.tagline'}
    """
    out: dict[str, str] = {}
    for option in options:
        name, separator, path = option.partition("=")
        if not separator or not name or "/" in name:
            name, path = os.path.basename(option).partition(".")[0] or "model", option
        if name in out:
            raise InputError("-m: expected each name once, got {!r} twice; write -m other=path", name)
        out[name] = path
    return out


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
