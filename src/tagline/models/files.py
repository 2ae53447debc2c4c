"""The file room: how a model of any kind is written, checked and read.

    save: the model's `_packed` (its kind's `file.pack`) → settings and arrays → `tagline.storage`
    load: `tagline.storage` → the kind that the file names, by the registry → its `from_file` (`file.unpack`)

A kind's own module `file` holds the layout of its settings and arrays; what every layout has (labels, version, how the
model was trained, the estimator's settings) is packed and checked here. No code of a file is run.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from inspect import signature
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tagline import __version__, storage
from tagline.errors import InputError, MissingPackageError, StorageError
from tagline.messages import message
from tagline.models.contract import Model
from tagline.models.provenance import check_notes, compact_log, count_tokens, fingerprint, now
from tagline.models.registry import kinds
from tagline.models.retraining import NeedsTraining
from tagline.models.sizes import MOST_LABELS, affordable_labels
from tagline.ragged import offsets_of
from tagline.readers.rules import scheme
from tagline.readers.sources import checked_path
from tagline.storage import ModelFile
from tagline.training.choices import AlgorithmSettings
from tagline.training.running.checkpoints import KIND as CHECKPOINT
from tagline.types import IntArray

_UNSIGNED: tuple[type[np.unsignedinteger[Any]], ...] = (np.uint8, np.uint16, np.uint32)

Packed = tuple[dict[str, Any], dict[str, NDArray[Any]]]
"""The settings and the arrays of a file."""

FOLDER_FILE = "tagline.safetensors"
"""Our file in a folder that another library reads, too (`tagline.models.neural.folders`)."""

FOLDER_PART = "part of a folder"  # what that file says it is: by itself no model

MOST_NESTED = 16  # lists and dicts of settings in one another


def load(path: storage.Path, *, verify: bool = True, mapped: bool = True, **options: Any) -> Model:
    """Return the model that `save` wrote; its arrays are mapped, and no code of the file is run.

    Arguments:
        path: of the file, or of a folder that `save_pretrained` wrote. `save` may replace a file at any time: a model
            that is loaded keeps the old one. Other tools (cp, rsync --inplace) cut the file short while they write over
            it, which ends the process that has it mapped.
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
    place = checked_path(path)
    if os.path.isfile(part := os.path.join(place, FOLDER_FILE)):
        owner: Any = _class_of(storage.read(part, verify=verify, mapped=mapped), "kind")
        whole: Model = owner.from_pretrained(place, **options)
        return whole
    return _model_of(storage.read(place, verify=verify, mapped=mapped), options)


def load_tagger(path: storage.Path) -> Model:
    """Return what answers for the model of a file, for those who only ask: for a CRF it loads in a third of the time.

    It has all of `Model` that is said of sentences and their labels; it cannot be fitted, saved or looked into.
    """
    place = checked_path(path)
    return load(path) if os.path.isdir(place) else _model_of(storage.read(place), {}, "tagger_class")


def loads(data: bytes, *, source: str = "<bytes>", **options: Any) -> Model:
    """Return the model of `to_bytes`.

    Arguments:
        source: where the bytes come from, for messages.
        options: as for `load`.
    """
    return _model_of(storage.loads(data, source=source), options)


def _model_of(file: ModelFile, options: Mapping[str, Any], role: str = "estimator") -> Model:
    """The model that a file holds, if it holds one."""
    name = file.setting("model", str)
    if name == FOLDER_PART:
        raise StorageError("{}: expected a model, got a {}; load the folder that it is in", file.source, name)
    if name == CHECKPOINT:
        raise StorageError(
            "{}: expected a model, got a {}; go on with it (resume=True, or tagline train "
            "--checkpoint FILE --resume) to get one",
            file.source,
            CHECKPOINT,
        )
    owner = _class_of(file, "model", role)
    taken = [option for option in signature(owner.from_file).parameters if option != "file"]
    for option in options:
        if option not in taken:
            instead = message("; it takes {}", ", ".join(taken)) if taken else ""
            raise InputError(
                "{0}: {1}, a {2} model, brings its own settings and takes no such option{3}. "
                "To change one, train anew: tagline.load(path).set_params({0}=...).fit(X, y)",
                option,
                file.source,
                name,
                instead,
            )
    model: Model = owner.from_file(file, **options)
    return model


def _class_of(file: ModelFile, setting: str, role: str = "estimator") -> Any:
    """The class that has this role in the kind that a setting of a file names."""
    name = file.setting(setting, str)
    kind = kinds().get(name)
    if kind is None:
        raise StorageError(
            "{}: expected a model of kind {}, got {!r:.60}; upgrade Tagline, or name another file",
            file.source,
            message(" or ").join(kinds()),
            name,
        )
    try:
        return getattr(kind, role)
    except MissingPackageError as error:
        raise error.at(message("{}, a {} model", file.source, name)) from None


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


class StoredModel(NeedsTraining):
    """The methods that keep a model: `save`, `size_`, pickle and copy."""

    _LEARNED: ClassVar[tuple[str, ...]]
    """Attributes that a file stands for; a fitted model has the first of them."""

    training_: TrainingFacts

    def save(self, path: storage.Path, *, notes: Mapping[str, Any] | None = None, date: bool = True) -> None:
        """Write the model to one file, whole or not at all; `tagline.load` reads it.

        Arguments:
            notes: texts by name to keep in the file, with those that are there (`user_notes_`).
            date: whether the file says when the model was trained; without it two runs make the same bytes, as they do
                where the environment has SOURCE_DATE_EPOCH.
        """
        if notes is not None:
            _ = self._packed()  # a model that was not fitted says so
            self.training_ = replace(self.training_, user={**self.training_.user, **check_notes(notes)})
        config, arrays = self._checked()
        if not date:
            _remove_dates(config)
        storage.write(path, config, arrays)

    def to_bytes(self) -> bytes:
        """Return the bytes of the file that `save` writes; `tagline.models.files.loads` reads them."""
        return storage.dumps(*self._checked())

    def _checked(self) -> Packed:
        """What lies in the file, which can be loaded again."""
        config, arrays = self._packed()
        _refuse_infinite(arrays)
        _refuse_empty(config, arrays)
        return config, arrays

    @property
    def size_(self) -> int:
        """The size of the model file in bytes."""
        return len(storage.dumps(*self._packed()))

    @property
    def user_notes_(self) -> dict[str, str]:
        """What `save(notes=…)` or ``tagline train --note`` put into the file."""
        return dict(self.training_.user)

    def _record(self, X: Any, y: Any = None, lengths: Any = None, *, more: bool = False) -> None:
        """Add to the facts when and on what the model was trained, and how that went.

        Arguments:
            X, y, lengths: what it has learned from, in a form that can be read again.
            more: whether that came on top of what it had learned from before, of which the facts are kept.
        """
        facts = self.training_
        log = compact_log(getattr(self, "training_log_", ()))
        best = getattr(self, "best_pass_", None)
        self.training_ = replace(
            facts,
            tokens=count_tokens(X) + (facts.tokens if more else 0),
            fingerprint=fingerprint(X, y, lengths, facts.fingerprint if more else ""),
            date=now(),
            dev={} if best is None else {"score": float(best.dev_score), "pass": best.number},
            log=log,
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
        return {name: value for name, value in settings.items() if name != "callbacks"}  # these are code

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
            state.pop("_trained_with", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        rest = dict(state)
        data = rest.pop("_file", None)
        self.__dict__.update(rest)
        if data is not None:
            self._take(storage.loads(data, source="<pickle>"))


def _remove_dates(config: dict[str, Any]) -> None:
    """Remove the date of training of a model, and of models inside it, such as the first of two stages."""
    config["training"].pop("date", None)
    for part in config.values():
        if isinstance(part, dict) and isinstance(part.get("training"), dict):
            _remove_dates(part)


def _refuse_infinite(arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise where a number is not finite, before a file is touched that could not be loaded."""
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            first = array[~np.isfinite(array)].flat[0]
            raise InputError(
                "save: expected finite numbers, got {} in {}; training has diverged: train anew with "
                "smaller steps or scaled values",
                first,
                name,
            )


def _refuse_empty(config: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise where there are so many labels and so little about them that the file could not be loaded."""
    size = sum(array.nbytes for array in arrays.values())
    if len(config["labels"]) > affordable_labels(size):
        raise InputError(
            "save: expected weights of {} labels, got {} bytes; nearly all weights are 0: train with a smaller penalty",
            len(config["labels"]),
            size,
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
        tokens: of the sentences.
        fingerprint: of sentences and labels, see `tagline.models.provenance`.
        date: when training ended, in UTC.
        dev: scores on the dev set, by name; the best pass by it.
        log: (number, objective, dev score) of passes.
        user: notes of whoever trained it, by name.
        gap: how far the objective is from its optimum at most; None where that is not known.
        seed: that was drawn where random_state is None: with it as random_state, the run can be repeated; 0 for none.
    """

    sentences: int = 0
    passes: int = 0
    objective: float = math.nan
    reason: str = ""
    notes: tuple[str, ...] = ()
    version: str = __version__
    tokens: int = 0
    fingerprint: str = ""
    date: str = ""
    dev: Mapping[str, Any] = field(default_factory=dict)
    log: tuple[tuple[Any, ...], ...] = ()
    user: Mapping[str, str] = field(default_factory=dict)
    gap: float | None = None
    seed: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data; an unknown objective is None, and what files of 0.1.0 lack is left out."""
        known = math.isfinite(self.objective)
        plain = {**vars(self), "objective": self.objective if known else None, "notes": list(self.notes)}
        plain |= {"dev": dict(self.dev), "log": [list(row) for row in self.log], "user": dict(self.user)}
        proven = self.gap is not None and math.isfinite(self.gap)
        later = _LATER if proven else (*_LATER, "gap")
        return {name: value for name, value in plain.items() if name not in later or (value and name != "gap")}


_LATER = ("tokens", "fingerprint", "date", "dev", "log", "user", "seed")


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


def smallest(numbers: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers in the smallest type that holds them; `whole_numbers` reads them."""
    kind = next(kind for kind in _UNSIGNED if numbers.max(initial=0) <= np.iinfo(kind).max)
    return numbers.astype(kind)


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
    if isinstance(value, AlgorithmSettings):
        return str(value)
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
def reading(file: ModelFile, newest: int | None = None, what: str = "") -> Iterator[None]:
    """Turn an error about the contents of a file into one that names the file.

    Arguments:
        newest: refuse a layout that is newer than this one; `what` names the kind, with its article.
    """
    if newest is not None and (version := file.setting("version", int)) > newest:
        raise StorageError(
            "{}: expected {} of layout {} or older, got {}, written by a newer Tagline; upgrade Tagline to read it",
            file.source,
            what,
            newest,
            version,
        )
    try:
        yield
    except InputError as error:
        raise StorageError("{}: {}; {}", file.source, error, storage.DAMAGED) from None


def bad_file(file: ModelFile, expected: str, got: object) -> StorageError:
    """Return the error for something that a file must not say."""
    return StorageError("{}: expected {}, got {!r:.60}; {}", file.source, expected, got, storage.DAMAGED)


def labels_of(file: ModelFile, most: int = MOST_LABELS) -> tuple[str, ...]:
    """Return the labels of a file: 1 to `most` strings, each once."""
    labels = file.setting("labels", list)
    if not 1 <= len(labels) <= most or not all(isinstance(label, str) for label in labels):
        raise bad_file(file, message("1 to {} labels that are strings", most), labels)
    if len(labels) > affordable_labels(file.size):
        raise bad_file(
            file,
            message("up to {} labels in {} bytes", affordable_labels(file.size), file.size),
            message("{} labels", len(labels)),
        )
    if len(set(labels)) != len(labels):
        raise bad_file(file, message("labels, each once"), labels)
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
    types: dict[str, type[Any]] = {entry.name: type(entry.default) for entry in fields(TrainingFacts)}
    types |= {"dev": dict, "user": dict, "gap": float}
    facts = {name: value for name, value in stated.items() if name in types}
    if isinstance(notes := facts.get("notes"), list):
        facts["notes"] = tuple(map(str, notes))
    if isinstance(log := facts.get("log"), list):
        for row in log:  # a number, and two that may be unknown
            numbers = isinstance(row, list) and all(value is None or type(value) in (int, float) for value in row)
            if not numbers or len(row) != 3 or type(row[0]) is not int:
                raise bad_file(file, message("passes of the training as [number, objective, dev score]"), row)
        facts["log"] = tuple(map(tuple, log))
    if isinstance(user := facts.get("user"), dict):
        facts["user"] = {key: str(value) for key, value in user.items()}
    if isinstance(dev := facts.get("dev"), dict) and not _are_scores({"types": {}, **dev}):
        raise bad_file(file, message("numbers as scores on the dev set"), dev)
    for name, value in facts.items():
        if type(value) is not types[name]:
            raise bad_file(file, message("{} as {} of the training", types[name].__name__, name), value)
    return TrainingFacts(**facts)


def _are_scores(dev: dict[str, Any]) -> bool:
    """Say whether scores are numbers by name, those of types a level deeper."""
    types = dev["types"]
    rows = [{name: value for name, value in dev.items() if name != "types"}]
    rows += types.values() if isinstance(types, dict) else [types]
    return all(isinstance(row, dict) and all(type(value) in (int, float) for value in row.values()) for row in rows)


def settings_of(file: ModelFile) -> dict[str, Any]:
    """Return the estimator's settings, which may be nested `MOST_NESTED` deep: more is no setting, and breaks repr."""
    settings: dict[str, Any] = file.setting("settings", dict)
    inside: list[Any] = [settings]
    for _ in range(MOST_NESTED):
        lists = [value.values() if isinstance(value, dict) else value for value in inside]
        inside = [part for values in lists for part in values if isinstance(part, dict | list)]
        if not inside:
            return settings
    raise bad_file(file, message("settings nested up to {} deep", MOST_NESTED), message("more"))


def group_of(file: ModelFile, prefix: str) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names begin with a prefix, by the rest of their names."""
    return {key.removeprefix(prefix): array for key, array in file.tensors.items() if key.startswith(prefix)}


def whole_numbers(file: ModelFile, name: str, *shape: int | None) -> NDArray[Any]:
    """Return an array of whole numbers of one of the types that `smallest` chooses."""
    array = file.tensors.get(name)
    kind = array.dtype if array is not None and array.dtype in _UNSIGNED else np.uint32
    return file.tensor(name, kind, *shape)


def finite(file: ModelFile, name: str, dtype: DTypeLike, *shape: int | None) -> NDArray[Any]:
    """Return an array of numbers, all of them finite."""
    numbers = file.tensor(name, dtype, *shape)
    if not (known := np.isfinite(numbers)).all():
        raise bad_file(file, message("finite numbers in {}", name), float(numbers[~known][0]))
    return numbers


def label_rows(
    file: ModelFile, name: str, L: int, width: int = 1, *, counts: str = "", rows: int | None = None
) -> tuple[IntArray, NDArray[np.int32]]:
    """Return the offsets of rows, and what they hold: labels below L, pairs or triples of them, ascending in a row.

    Arguments:
        width: how many labels one entry has.
        counts: the array that says how many entries each row has; one row without it.
        rows: how many there must be.
    """
    stored = whole_numbers(file, name, None, *([width] if width > 1 else []))
    if stored.max(initial=0) >= L:
        raise bad_file(file, message("label numbers below {} in {}", L, name), int(stored.max()))
    offsets = offsets_of(whole_numbers(file, counts, rows) if counts else [len(stored)])
    if offsets[-1] != len(stored):
        raise bad_file(file, message("{} that add up to {}", counts, len(stored)), int(offsets[-1]))
    labels = stored.astype(np.int32)
    keys = labels if width == 1 else labels.astype(np.int64) @ L ** np.arange(width, dtype=np.int64)[::-1]
    rising, begins = keys[1:] > keys[:-1], offsets[1:-1]
    rising[begins[(begins > 0) & (begins < len(keys))] - 1] = True
    if not rising.all():
        raise bad_file(file, message("{} that ascend", name), message("others"))
    return offsets, labels
