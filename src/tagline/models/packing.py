"""A feature CRF as a model file: settings and arrays of `tagline.storage`, in and out.

Weights are float32, those that are 0 left out; counts and label numbers take the smallest type that does, and names lie
there as `Vocabulary` uses them, so that a file of 10 MB is ready in milliseconds. Functions are not data: of a feature
function the file keeps the name. Whatever a file says is checked before it is used. The settings:

    model, version      "crf", and the number of this layout; older ones are read, newer ones refused
    labels, scheme      strings, and the tag scheme whose rules hold
    start, end          whether there are weights for the first and the last label
    features            {"template": text, "source": name}, {"function": name}, or null
    hash_bits           of hashed attributes, which have no names
    dictionary          its priority and fold_case; its phrases are the array ``dictionary``, JSON
    settings, training  the estimator's parameters as far as they are plain data; `Facts`

and the arrays ``weights [size]`` (states, transitions, edges, start, end), ``states.counts [A]`` and ``states.labels``,
``transitions [., 2]``, ``edges.counts [E]`` and ``edges.pairs [., 2]``, and for names ``states.names.bytes`` and so on.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline import __version__
from tagline.errors import InputError, StorageError
from tagline.features.dictionaries import Dictionary
from tagline.features.expansion import MOST_HASH_BITS
from tagline.features.templates import Template
from tagline.features.vocabulary import Vocabulary
from tagline.features.weights import Structure
from tagline.models.extraction import Way
from tagline.models.parameters import Parameters
from tagline.readers.rules import scheme
from tagline.storage import ModelFile
from tagline.types import IntArray

MODEL, VERSION = "crf", 1

MOST_LABELS = 2**14  # their transitions take a gigabyte

_UNSIGNED: tuple[type[np.unsignedinteger[Any]], ...] = (np.uint8, np.uint16, np.uint32)
_NAMES = ("bytes", "lengths", "slots", "marks")  # of a vocabulary
_DAMAGED = "the file is damaged or was not written by Tagline; copy it again or save the model anew"


class MissingFunction:
    """Stands where a loaded model needs the function that it was trained with; calling it says so."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, sentence: Any) -> Any:
        """Ask for the function."""
        raise InputError(
            f"features: expected the function {self.name} that the model was trained with, got none, for files hold no "
            "code; pass it: tagline.load(path, features=function)"
        )

    def __repr__(self) -> str:
        return f"MissingFunction({self.name!r})"


@dataclass(frozen=True)
class Facts:
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


@dataclass(frozen=True, eq=False)
class SavedCRF:
    """What a file holds of a feature CRF.

    Attributes:
        parameters: labels, names and weights.
        way: a template, a function, or None where sentences are features already.
        hash_bits, dictionary: as the model was trained with.
        settings: the estimator's parameters, by name.
        training: how it was trained.
    """

    parameters: Parameters
    way: Way
    hash_bits: int | None = None
    dictionary: Dictionary | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    training: Facts = field(default_factory=Facts)


def pack(saved: SavedCRF) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Turn a model into what `tagline.storage` writes: settings and arrays. The same model makes the same bytes."""
    p = saved.parameters.pruned()
    s = p.structure
    if np.isneginf(p.weights).any():
        raise InputError(
            "weights: expected finite numbers to save, got -inf, the logarithm of 0; fit the HMM that it was made of "
            "with smoothing or priors"
        )
    config = {
        "model": MODEL,
        "version": VERSION,
        "labels": list(p.labels),
        "scheme": p.scheme,
        "start": s.start,
        "end": s.end,
        "features": _described(saved.way),
        "hash_bits": saved.hash_bits,
        "dictionary": None,
        "settings": plain_settings(saved.settings),
        "training": saved.training.as_dict(),
    }
    arrays: dict[str, NDArray[Any]] = {
        "weights": p.weights.astype(np.float32),
        "states.counts": _smallest(np.diff(s.state_offsets)),
        "states.labels": _smallest(s.state_labels),
        "transitions": _smallest(s.transitions),
        "edges.counts": _smallest(np.diff(s.edge_offsets)),
        "edges.pairs": _smallest(s.edge_pairs),
    }
    for part, names in (("states", p.states), ("edges", p.edges)):
        for name, array in ({} if names is None else names.arrays()).items():
            arrays[f"{part}.names.{name}"] = array
    if saved.dictionary is not None:
        config["dictionary"] = {"priority": saved.dictionary.priority, "fold_case": saved.dictionary.fold_case}
        phrases = [[list(tokens), kind] for tokens, kind in saved.dictionary.entries().items()]
        arrays["dictionary"] = np.frombuffer(json.dumps(phrases, ensure_ascii=False).encode(), np.uint8)
    return config, arrays


def unpack(file: ModelFile) -> SavedCRF:
    """Turn settings and arrays into a model, or say what is wrong with them."""
    with reading(file):
        version = file.setting("version", int)
        if version > VERSION:
            raise StorageError(
                f"{file.source}: expected a CRF of layout {VERSION} or older, got {version}, written by a newer "
                "Tagline; upgrade Tagline to read it"
            )
        hash_bits = _optional(file, "hash_bits", int)
        parameters = _parameters(file, hash_bits)
        return SavedCRF(
            parameters,
            _way(file),
            hash_bits,
            _dictionary(file),
            file.setting("settings", dict),
            facts_of(file),
        )


@contextmanager
def reading(file: ModelFile) -> Iterator[None]:
    """Whatever a part of the package finds wrong is wrong with this file."""
    try:
        yield
    except InputError as error:
        raise StorageError(f"{file.source}: {error}; {_DAMAGED}") from None


def bad_file(file: ModelFile, expected: str, got: object) -> StorageError:
    """The error for what a file must not say."""
    return StorageError(f"{file.source}: expected {expected}, got {got!r:.60}; {_DAMAGED}")


# Weights.


def _parameters(file: ModelFile, hash_bits: int | None) -> Parameters:
    labels = file.setting("labels", list)
    if not 1 <= len(labels) <= MOST_LABELS or len(set(map(str, labels))) != len(labels):
        raise bad_file(file, f"1 to {MOST_LABELS} labels, each once", labels)
    if not all(isinstance(label, str) for label in labels):
        raise bad_file(file, "labels that are strings", labels)
    name = _optional(file, "scheme", str)
    structure = _structure(file, len(labels))
    weights = file.tensor("weights", np.float32, structure.size)
    if not np.isfinite(weights).all():
        raise bad_file(file, "weights that are finite numbers", float(weights[~np.isfinite(weights)][0]))
    sizes = {"states": structure.num_attributes, "edges": len(structure.edge_offsets) - 1}
    names = {part: _names(file, part, size, hash_bits) for part, size in sizes.items()}
    found = Parameters(
        tuple(labels), None if name is None else scheme(name).name, structure, weights, names["states"], names["edges"]
    )
    _ = found.rules  # labels that are not of the scheme
    return found


def _structure(file: ModelFile, L: int) -> Structure:
    counts = _numbers(file, "states.counts", None)
    labels = _numbers(file, "states.labels", None).astype(np.int32)
    transitions = _pairs(file, "transitions", L)
    edge_counts = _numbers(file, "edges.counts", None)
    pairs = _pairs(file, "edges.pairs", L)
    if labels.max(initial=0) >= L:
        raise bad_file(file, f"label numbers below {L}", int(labels.max()))
    offsets, edge_offsets = (
        _offsets(file, "states", counts, len(labels)),
        _offsets(file, "edges", edge_counts, len(pairs)),
    )
    whole = np.array([0, len(transitions)])
    for part, bounds, keys in (
        ("states.labels", offsets, labels),
        ("transitions", whole, _keys(transitions, L)),
        ("edges.pairs", edge_offsets, _keys(pairs, L)),
    ):
        if not _ascending(bounds, keys):
            raise bad_file(file, f"{part} that ascend", "others")
    ends = file.setting("start", bool), file.setting("end", bool)
    return Structure(L, offsets, labels, transitions, edge_offsets, pairs, *ends)


def _numbers(file: ModelFile, name: str, *shape: int | None) -> NDArray[Any]:
    """An array of whole numbers of one of the types that `_smallest` chooses."""
    array = file.tensors.get(name)
    kind = array.dtype if array is not None and array.dtype in _UNSIGNED else np.uint32
    return file.tensor(name, kind, *shape)


def _pairs(file: ModelFile, name: str, L: int) -> NDArray[np.int32]:
    pairs = _numbers(file, name, None, 2)
    if pairs.max(initial=0) >= L:
        raise bad_file(file, f"label numbers below {L} in {name}", int(pairs.max()))
    return pairs.astype(np.int32)


def _offsets(file: ModelFile, part: str, counts: NDArray[Any], total: int) -> IntArray:
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, dtype=np.int64, out=offsets[1:])
    if offsets[-1] != total:
        raise bad_file(file, f"{part}.counts that add up to {total}", int(offsets[-1]))
    return offsets


def _keys(pairs: NDArray[np.int32], L: int) -> IntArray:
    return pairs[:, 0].astype(np.int64) * L + pairs[:, 1]


def _ascending(offsets: IntArray, keys: NDArray[Any]) -> bool:
    """Whether numbers ascend within each row."""
    rising = keys[1:] > keys[:-1]
    begins = offsets[1:-1]
    rising[begins[(begins > 0) & (begins < len(keys))] - 1] = True
    return bool(rising.all())


def _names(file: ModelFile, part: str, size: int, hash_bits: int | None) -> Vocabulary | None:
    """The names of attributes; None where they were hashed away, or where there are no attributes of this kind."""
    stored = {name: file.tensors[key] for name in _NAMES if (key := f"{part}.names.{name}") in file.tensors}
    nameless = {0} if hash_bits is None else {0, 1 << hash_bits}
    if not stored and size in nameless and (part == "edges" or hash_bits is not None):
        return None
    names = Vocabulary.from_arrays(stored)
    if hash_bits is not None or len(names) != size:
        raise bad_file(file, f"names of {size if hash_bits is None else 'no'} {part}", len(names))
    return names


def _smallest(numbers: NDArray[Any]) -> NDArray[Any]:
    kind = next(kind for kind in _UNSIGNED if numbers.max(initial=0) <= np.iinfo(kind).max)
    return numbers.astype(kind)


# Where features come from.


def _described(way: Way) -> dict[str, str] | None:
    if way is None:
        return None
    if isinstance(way, Template):
        return {"template": way.text, "source": os.path.basename(way.source)}
    if isinstance(way, MissingFunction):
        return {"function": way.name}
    kind = way if hasattr(way, "__qualname__") else type(way)
    return {"function": f"{kind.__module__}.{kind.__qualname__}"}


def _way(file: ModelFile) -> Way:
    described = _optional(file, "features", dict)
    if described is None:
        return None
    if not all(isinstance(value, str) for value in described.values()):
        raise bad_file(file, "features that are described by strings", described)
    if set(described) == {"template", "source"}:
        return Template.parse(described["template"], described["source"])
    if set(described) == {"function"}:
        return MissingFunction(described["function"])
    raise bad_file(file, "features by a template or a function", described)


def _dictionary(file: ModelFile) -> Dictionary | None:
    described = _optional(file, "dictionary", dict)
    if described is None:
        return None
    if set(described) != {"priority", "fold_case"} or type(described["fold_case"]) is not bool:
        raise bad_file(file, "priority and fold_case of the dictionary", described)
    text = file.tensor("dictionary", np.uint8, None).tobytes()
    try:
        entries = {tuple(tokens): kind for tokens, kind in json.loads(text)}
    except (ValueError, TypeError, RecursionError) as error:
        raise bad_file(file, "phrases and types in the array 'dictionary'", str(error)) from None
    return Dictionary(entries, priority=described["priority"], fold_case=described["fold_case"])


def facts_of(file: ModelFile) -> Facts:
    """How the model was trained, as far as the file says it."""
    told = {name: value for name, value in file.setting("training", dict).items() if value is not None}
    kinds: dict[str, type[Any]] = {one.name: type(one.default) for one in fields(Facts)}
    found = {name: value for name, value in told.items() if name in kinds}
    if isinstance(notes := found.get("notes"), list):
        found["notes"] = tuple(map(str, notes))
    for name, value in found.items():
        if type(value) is not kinds[name]:
            raise bad_file(file, f"{kinds[name].__name__} as {name} of the training", value)
    return Facts(**found)


# Plain data.

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
        fields = {key: _plain(part) for key, part in value.items()}
        return _NO_DATA if any(part is _NO_DATA for part in fields.values()) else fields
    return _NO_DATA


def _optional(file: ModelFile, name: str, kind: type[Any]) -> Any:
    if name in file.config and file.config[name] is None:
        return None
    value = file.setting(name, kind)
    if name == "hash_bits" and not 1 <= value <= MOST_HASH_BITS:
        raise bad_file(file, f"hash_bits from 1 to {MOST_HASH_BITS}", value)
    return value
