r"""Wapiti's model file, bytes in and out; what a model means is the business of `tagline.interop.wapiti.conversion`.

All of it is text, with strings as ``length:bytes,`` and one on a line:

    #mdl#2#W               type (0 maxent, 1 MEMM, 2 CRF; older files have none, and are CRFs), number of weights
    #rdr#P/C/0             number of patterns, highest column that they ask for, whether each line is a sentence
    8:u%x[0,0],            the patterns
    #qrk#L                 labels, in the order that decides between equal scores
    #qrk#O                 observations, which begin with u, b or *
    7=0x1.8p-1             feature and weight, those that are not 0

Features are numbered observation by observation: L of a label (u), then L² of a pair, previous · L + next (b); those
that begin with * have both. Files are hostile: every number is checked before it is used.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from tagline import compiled
from tagline.errors import InputError, StorageError
from tagline.features.expressions.byte_text import bytes_of, text_of
from tagline.messages import message
from tagline.ragged import offsets_of
from tagline.types import BoolArray, Float64Array, IntArray

Keys: TypeAlias = tuple[IntArray, IntArray, BoolArray]
"""For each weight its observation, its label or pair (previous · L + next), and whether it is of a pair, ``[W]``."""

TYPES = ("maxent", "memm", "crf")  # a position is a type's number in a file
MOST_LABELS = 8192

_HEADER = re.compile(rb"#mdl#(?:([0-9]{1,9})#)?([0-9]{1,18})\n")
_READER = re.compile(rb"#rdr#([0-9]{1,9})/([0-9]{1,9})(?:/([0-9]{1,9}))?\n")
_QUARKS = re.compile(rb"#qrk#([0-9]{1,18})\n")
_LENGTH = re.compile(rb"([0-9]{1,10}):")
_DAMAGED = message("the file is damaged; copy it again or train the model anew")


@dataclass(frozen=True, eq=False)
class WapitiModel:
    """What a model file of Wapiti holds.

    Attributes:
        patterns: its patterns; without any, the words of a line are observations.
        labels, observations: their names; a position is a number.
        features: ``[W]``, ascending, the features that have a weight.
        weights: ``[W]``.
        type: "maxent", whose weights of pairs are not used, "memm" or "crf".
    """

    patterns: tuple[str, ...]
    labels: tuple[str, ...]
    observations: tuple[str, ...]
    features: IntArray
    weights: Float64Array
    type: str = "crf"

    @cached_property
    def has_states(self) -> BoolArray:
        """Whether an observation has weights of a label, ``[O]``."""
        return np.array([name[:1] in ("u", "*") for name in self.observations], bool)

    @cached_property
    def has_edges(self) -> BoolArray:
        """Whether an observation has weights of a pair of labels, ``[O]``."""
        return np.array([name[:1] in ("b", "*") for name in self.observations], bool)

    @cached_property
    def offsets(self) -> IntArray:
        """Where the features of each observation begin, ``[O + 1]``."""
        L = len(self.labels)
        return offsets_of(self.has_states * L + self.has_edges * (L * L))

    def numbers_of(self, keys: Keys) -> IntArray:
        """Return the features of keys."""
        observations, places, of_pair = keys
        return self.offsets[observations] + places + of_pair * self.has_states[observations] * len(self.labels)

    def keys(self) -> Keys:
        """Return the keys of the weights."""
        observations = np.searchsorted(self.offsets, self.features, "right") - 1
        places = self.features - self.offsets[observations]
        states = self.has_states[observations] * len(self.labels)
        of_pair = places >= states
        return observations, np.where(of_pair, places - states, places), of_pair


def make_model(
    patterns: Sequence[str],
    labels: Sequence[str],
    observations: Sequence[str],
    keys: Keys,
    weights: Float64Array,
    type: str,
) -> WapitiModel:
    """Return the model with these weights, by keys as `WapitiModel.keys` returns them; those of 0 are left out."""
    bare = WapitiModel(tuple(patterns), tuple(labels), tuple(observations), np.empty(0, np.int64), np.empty(0), type)
    features = bare.numbers_of(keys)
    order = np.argsort(features, kind="stable")
    order = order[weights[order] != 0]
    return replace(bare, features=features[order], weights=weights[order])


def compacted(model: WapitiModel) -> WapitiModel:
    """Leave out observations without a weight."""
    observations, places, of_pair = model.keys()
    used, numbers = np.unique(observations, return_inverse=True)
    names = [model.observations[k] for k in used.tolist()]
    return make_model(model.patterns, model.labels, names, (numbers, places, of_pair), model.weights, model.type)


def bad_model(source: str, expected: str, got: object) -> StorageError:
    """Make the error for a file that is not as it should be."""
    return StorageError("{}: expected {}, got {}; {}", source, expected, got, _DAMAGED)


# Reading.


def read_model(data: bytes, source: str = "<bytes>") -> WapitiModel:
    """Read a model file, or say what is wrong with it."""
    type, count, at = _header(data, source)
    reader = _READER.match(data, at)
    if reader is None:
        raise bad_model(source, message("the number of patterns (#rdr#)"), repr(data[at : at + 20]))
    if int(reader[3] or 0):
        raise StorageError(
            "{}: expected a model of sentences, got one of --me, in which each line is a sentence; such "
            "models are not read",
            source,
        )
    patterns, at = _strings(data, reader.end(), int(reader[1]), f"{source}: patterns")
    labels, at = _quarks(data, at, f"{source}: labels")
    if not 1 <= len(labels) <= MOST_LABELS:
        raise bad_model(source, message("1 to {} labels", MOST_LABELS), len(labels))
    observations, at = _quarks(data, at, f"{source}: observations")
    for name in observations:
        if name[:1] not in ("u", "b", "*"):
            raise bad_model(source, message("observations that begin with u, b or *"), repr(name[:40]))
    features, weights = _weights(data, at, count, source)
    model = WapitiModel(tuple(patterns), tuple(labels), tuple(observations), features, weights, type)
    if len(features) and features[-1] >= model.offsets[-1]:
        raise bad_model(source, message("features below {}", model.offsets[-1]), features[-1])
    return model


def _header(data: bytes, source: str) -> tuple[str, int, int]:
    header = _HEADER.match(data)
    if header is None:
        raise bad_model(source, message("a model of Wapiti (#mdl#)"), repr(data[:20]))
    number = TYPES.index("crf") if header[1] is None else int(header[1])
    if number >= len(TYPES):
        raise bad_model(source, message("maxent, memm or crf (type 0, 1 or 2)"), message("type {}", number))
    return TYPES[number], int(header[2]), header.end()


def _strings(data: bytes, at: int, count: int, place: str) -> tuple[list[str], int]:
    strings = []
    for number in range(count):
        length = _LENGTH.match(data, at)
        end = -1 if length is None else length.end() + int(length[1])
        if length is None or data[end : end + 2] != b",\n":
            raise bad_model(
                place,
                message("string {} of {} as length:string,", number + 1, count),
                repr(data[at : at + 20]),
            )
        strings.append(text_of(data[length.end() : end]))
        at = end + 2
    return strings, at


def _quarks(data: bytes, at: int, place: str) -> tuple[list[str], int]:
    head = _QUARKS.match(data, at)
    if head is None:
        raise bad_model(place, message("their number (#qrk#)"), repr(data[at : at + 20]))
    names, at = _strings(data, head.end(), int(head[1]), place)
    if len(set(names)) < len(names):
        raise bad_model(place, message("each once"), message("one twice"))
    if any("\0" in name or not name for name in names):
        raise bad_model(place, message("names without NUL"), message("others"))
    return names, at


def _weights(data: bytes, at: int, count: int, source: str) -> tuple[IntArray, Float64Array]:
    try:
        numbers, values = compiled.require().read_weight_lines(data, at)
    except ValueError:
        raise bad_model(source, message("weights as number=weight"), message("something else")) from None
    if len(numbers) != count:
        raise bad_model(source, message("{} weights, as the first line says", count), len(numbers))
    if not np.isfinite(values).all():
        raise bad_model(source, message("weights that are finite numbers"), message("others"))
    if len(numbers) and numbers.min() < 0:
        raise bad_model(source, message("features from 0 on"), numbers.min())
    if (np.diff(numbers) <= 0).any():
        order = np.argsort(numbers, kind="stable")
        numbers, values = numbers[order], values[order]
        if (np.diff(numbers) == 0).any():
            raise bad_model(source, message("one weight for each feature"), message("two"))
    return numbers, values


# Writing.


def write_model(model: WapitiModel, highest_column: int = 0) -> bytes:
    """Return the file of a model, as Wapiti itself writes it."""
    parts = [
        f"#mdl#{TYPES.index(model.type)}#{len(model.features)}\n#rdr#{len(model.patterns)}/{highest_column}/0\n".encode(),
        *map(_string, model.patterns),
        f"#qrk#{len(model.labels)}\n".encode(),
        *map(_string, model.labels),
        f"#qrk#{len(model.observations)}\n".encode(),
        *map(_string, model.observations),
    ]
    lines = compiled.require().write_weight_lines(
        np.ascontiguousarray(model.features, np.int64), np.ascontiguousarray(model.weights, np.float64)
    )
    return b"".join([*parts, lines])


def _string(text: str) -> bytes:
    data = bytes_of(text)
    if b"\n" in data or b"\0" in data:
        raise InputError("model: expected names without line breaks, as Wapiti's file has lines, got {!r:.60}", text)
    return b"%d:%b,\n" % (len(data), data)
