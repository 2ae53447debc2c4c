"""The file room: how a model of any kind is written, checked and read.

    save: the model's `_packed` (its kind's `file.pack`) → settings and arrays → `tagline.storage`
    load: `tagline.storage` → the kind that the file names, by the registry → its `from_file` (`file.unpack`)

A kind's own module `file` holds the layout of its settings and arrays; what every layout has (labels, version, how the
model was trained, the estimator's settings) is packed and checked here. No code of a file is run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tagline import __version__, storage
from tagline.errors import InputError, StorageError
from tagline.models.contract import Model
from tagline.models.registry import kind_of_file
from tagline.models.sizes import MOST_LABELS, affordable_labels
from tagline.readers.rules import scheme
from tagline.readers.sources import checked_path
from tagline.storage import ModelFile

Packed = tuple[dict[str, Any], dict[str, NDArray[Any]]]
"""The settings and the arrays of a file."""

MOST_NESTED = 16  # lists and dicts of settings in one another

CHECKPOINT = "training checkpoint"  # what `tagline.training.neural.checkpoints` writes; that needs PyTorch

_DAMAGED = "the file is damaged or was not written by Tagline; copy it again or save the model anew"


def load(path: storage.Path, *, verify: bool = True, mapped: bool = True, **options: Any) -> Model:
    """Return the model that `save` wrote; its arrays are mapped, and no code of the file is run.

    Arguments:
        path: of the file. `save` may replace it at any time: a model that is loaded keeps the old one. Other tools (cp,
            rsync --inplace) cut the file short while they write over it, which ends the process that has it mapped.
        mapped: False reads the file into memory instead, which is safe from that.
        verify: compare the checksum, which reads the whole file once.
        options: what a kind of model cannot keep in a file. For a CRF: ``features``, the function that it was trained
            with. For neural taggers: ``device``.

    >>> import os, tempfile
    >>> from tagline import CRF, load
    >>> model = CRF(c2=0.1).fit([[{"word": "Anna"}, {"word": "sings"}]], [["N", "V"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "tiny.tagline"))
    ...     load(os.path.join(folder, "tiny.tagline")).predict([[{"word": "sings"}]])
    [['V']]
    """
    file = storage.read(checked_path(path), verify=verify, mapped=mapped)
    name = file.setting("model", str)
    if name == CHECKPOINT:
        raise StorageError(
            f"{file.source}: expected a model, got a {CHECKPOINT}; go on with it (resume=True, or tagline train "
            "--checkpoint FILE --resume) to get one"
        )
    model: Model = kind_of_file(name, file.source).estimator.from_file(file, **options)
    return model


@dataclass(frozen=True)
class Exported:
    """What `export` has written.

    Attributes:
        folder: its place.
        files: names and sizes in bytes.
        needs: the packages that its program needs.
        checked: whether that program has run and given the labels of the model.
    """

    folder: str
    files: dict[str, int]
    needs: tuple[str, ...]
    checked: bool


class StoredModel:
    """The methods that keep a model: `save`, `size_`, pickle and copy."""

    _LEARNED: ClassVar[tuple[str, ...]]
    """Attributes that a file stands for; a fitted model has the first of them."""

    def save(self, path: storage.Path) -> None:
        """Write the model to one file, whole or not at all; `tagline.load` reads it."""
        config, arrays = self._packed()
        _refuse_infinite(arrays)
        _refuse_empty(config, arrays)
        storage.write(path, config, arrays)

    @property
    def size_(self) -> int:
        """The size of the model file in bytes."""
        return len(storage.dumps(*self._packed()))

    def export(self, folder: storage.Path, *, opset: int | None = None, force: bool = False) -> Exported:
        """Write a network as ONNX with a program that runs it (`tagline.models.neural.export`); others are refused."""
        raise InputError(
            f"export: expected a network (BiLSTMCRF or TransformerCRF), got a {type(self).__name__}, which is no graph "
            "of ONNX's operators; its own file is small and needs no PyTorch: tagline.load(path).predict(X), or "
            "tagline tag -m"
        )

    def _packed(self) -> Packed:
        """Return what lies in the file of this model."""
        raise NotImplementedError

    def _take(self, file: ModelFile) -> None:
        """Take over what a file says was learned; settings stay as they are."""
        raise NotImplementedError

    def _settings(self) -> dict[str, Any]:
        """The estimator's settings that may be plain data."""
        settings: dict[str, Any] = self.get_params(deep=False)  # type: ignore[attr-defined]
        return settings

    def _set(self, settings: Mapping[str, Any]) -> None:
        """Take over the settings of a file, as far as this version knows them."""
        known = self._settings()
        for name, value in settings.items():
            if name in known:
                setattr(self, name, value)

    def __getstate__(self) -> dict[str, Any]:
        """What pickle and copy keep: of a fitted model the bytes of its file, everything else as it is."""
        state = dict(vars(self))
        if self._LEARNED[0] in state:
            state["_file"] = storage.dumps(*self._packed())
            for name in self._LEARNED:
                del state[name]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        rest = dict(state)
        data = rest.pop("_file", None)
        self.__dict__.update(rest)
        if data is not None:
            self._take(storage.loads(data, source="<pickle>"))


def _refuse_infinite(arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise where a number is not finite, before a file is touched that could not be loaded."""
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            first = array[~np.isfinite(array)].flat[0]
            raise InputError(
                f"save: expected finite numbers, got {first} in {name}; training has diverged: train anew with smaller "
                "steps or scaled values"
            )


def _refuse_empty(config: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise where there are so many labels and so little about them that the file could not be loaded."""
    size = sum(array.nbytes for array in arrays.values())
    if len(config["labels"]) > affordable_labels(size):
        raise InputError(
            f"save: expected weights of {len(config['labels'])} labels, got {size} bytes; nearly all weights are 0: "
            "train with a smaller penalty"
        )


@dataclass(frozen=True)
class TrainingFacts:
    """How a model was trained.

    Attributes:
        sentences: how many it has learned from.
        passes: over them.
        objective: at the end, with the penalties; NaN where it is not known.
        reason: why training stopped.
        notes: what was repaired or dropped.
        version: of Tagline.
    """

    sentences: int = 0
    passes: int = 0
    objective: float = math.nan
    reason: str = ""
    notes: tuple[str, ...] = ()
    version: str = __version__

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data; an unknown objective is None."""
        known = math.isfinite(self.objective)
        return {**vars(self), "objective": self.objective if known else None, "notes": list(self.notes)}


# What every layout has, on the way into a file.


def config_of(
    kind: str,
    version: int,
    labels: tuple[str, ...],
    own: Mapping[str, Any],
    settings: Mapping[str, Any],
    training: TrainingFacts,
) -> dict[str, Any]:
    """Return the settings of a file: those of every kind, and the kind's own."""
    return {
        "model": kind,
        "version": version,
        "labels": list(labels),
        **own,
        "settings": plain_settings(settings),
        "training": training.as_dict(),
    }


_NO_DATA = object()


def plain_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that JSON can hold; the others are code."""
    return {name: plain for name, value in settings.items() if (plain := _plain(value)) is not _NO_DATA}


def _plain(value: Any) -> Any:
    """The value as JSON holds it, or `_NO_DATA`."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else _NO_DATA
    if isinstance(value, list | tuple):
        parts = [_plain(part) for part in value]
        return _NO_DATA if any(part is _NO_DATA for part in parts) else parts
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        plain = {key: _plain(part) for key, part in value.items()}
        return _NO_DATA if any(part is _NO_DATA for part in plain.values()) else plain
    return _NO_DATA


# What every layout has, on the way out of a file: checked before it is used.


@contextmanager
def reading(file: ModelFile) -> Iterator[None]:
    """Turn an error about the contents of a file into one that names the file."""
    try:
        yield
    except InputError as error:
        raise StorageError(f"{file.source}: {error}; {_DAMAGED}") from None


def bad_file(file: ModelFile, expected: str, got: object) -> StorageError:
    """Return the error for something that a file must not say."""
    return StorageError(f"{file.source}: expected {expected}, got {got!r:.60}; {_DAMAGED}")


def check_version(file: ModelFile, newest: int, what: str) -> None:
    """Refuse a layout that is newer than this version of Tagline; `what` names the kind, with its article."""
    version = file.setting("version", int)
    if version > newest:
        raise StorageError(
            f"{file.source}: expected {what} of layout {newest} or older, got {version}, written by a newer Tagline; "
            "upgrade Tagline to read it"
        )


def labels_of(file: ModelFile, most: int = MOST_LABELS) -> tuple[str, ...]:
    """Return the labels of a file: 1 to `most` strings, each once."""
    labels = file.setting("labels", list)
    if not 1 <= len(labels) <= most or not all(isinstance(label, str) for label in labels):
        raise bad_file(file, f"1 to {most} labels that are strings", labels)
    if len(labels) > affordable_labels(file.size):
        raise bad_file(
            file, f"up to {affordable_labels(file.size)} labels in {file.size} bytes", f"{len(labels)} labels"
        )
    if len(set(labels)) != len(labels):
        raise bad_file(file, "labels, each once", labels)
    return tuple(labels)


def scheme_of(file: ModelFile) -> str | None:
    """Return the name of the tag scheme whose rules hold; None for no rules."""
    name: str | None = optional(file, "scheme", str)
    return None if name is None else scheme(name).name


def optional(file: ModelFile, name: str, kind: type[Any]) -> Any:
    """Return a setting that may be null."""
    return None if file.config.get(name, ...) is None else file.setting(name, kind)


def facts_of(file: ModelFile) -> TrainingFacts:
    """Return how the model was trained, as far as the file says it."""
    stated = {name: value for name, value in file.setting("training", dict).items() if value is not None}
    types: dict[str, type[Any]] = {field.name: type(field.default) for field in fields(TrainingFacts)}
    facts = {name: value for name, value in stated.items() if name in types}
    if isinstance(notes := facts.get("notes"), list):
        facts["notes"] = tuple(map(str, notes))
    for name, value in facts.items():
        if type(value) is not types[name]:
            raise bad_file(file, f"{types[name].__name__} as {name} of the training", value)
    return TrainingFacts(**facts)


def settings_of(file: ModelFile) -> dict[str, Any]:
    """Return the estimator's settings, which may be nested `MOST_NESTED` deep: more is no setting, and breaks repr."""
    settings: dict[str, Any] = file.setting("settings", dict)
    inside: list[Any] = [settings]
    for _ in range(MOST_NESTED):
        lists = [value.values() if isinstance(value, dict) else value for value in inside]
        inside = [part for values in lists for part in values if isinstance(part, dict | list)]
        if not inside:
            return settings
    raise bad_file(file, f"settings nested up to {MOST_NESTED} deep", "more")


def group_of(file: ModelFile, prefix: str) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names begin with a prefix, by the rest of their names."""
    return {key.removeprefix(prefix): array for key, array in file.tensors.items() if key.startswith(prefix)}
