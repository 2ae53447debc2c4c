"""CRFsuite's model file, bytes in and out; what a model means is the business of `tagline.interop.crfsuite.conversion`.

All numbers are little-endian, all offsets but those inside a string table count from the beginning of the file:

    48 bytes   "lCRF", size of the file, "FOMC", version 100, features (CRFsuite itself writes 0), labels, attributes,
               offsets of the five chunks
    FEAT       size, count; 20 bytes a feature: type (0 state, 1 transition), source, label, weight as float64
    CQDB       the labels, then the attributes: string tables, see `tagline.interop.crfsuite.strings`
    LFRF AFRF  size, count, an offset for each label (two more that are empty) or attribute; there: count, feature ids

Attribute ids, label ids and feature ids are positions. Files are hostile: every number is checked before it is used.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline.errors import InputError, StorageError
from tagline.interop.crfsuite.strings import read_strings, write_strings
from tagline.messages import message
from tagline.ragged import offsets_of
from tagline.types import Float64Array, IntArray

MAGIC, TYPE, VERSION = b"lCRF", b"FOMC", 100
HEADER = struct.Struct("<4sI4s9I")
CHUNK = struct.Struct("<4s2I")  # name, size, count
FEATURE = np.dtype([("type", "<u4"), ("source", "<u4"), ("label", "<u4"), ("weight", "<f8")])
STATE, TRANSITION = 0, 1

_DAMAGED = message("the file is damaged; copy it again or train the model anew")


@dataclass(frozen=True, eq=False)
class CRFsuiteModel:
    """What a model file of CRFsuite holds.

    Attributes:
        labels, attributes: their names; a position is an id.
        state_attributes, state_labels, state_weights: ``[S]``, one entry for each (attribute, label) with a weight.
        transitions: ``[R, 2]``, label ids from and to.
        transition_weights: ``[R]``.
    """

    labels: tuple[str, ...]
    attributes: tuple[str, ...]
    state_attributes: IntArray
    state_labels: IntArray
    state_weights: Float64Array
    transitions: IntArray
    transition_weights: Float64Array


def read_model(data: bytes | bytearray | memoryview, source: str = "<bytes>") -> CRFsuiteModel:
    """Read a model file, or say what is wrong with it.

    Arguments:
        data: the whole file.
        source: its name, for messages.
    """
    file = bytes(data)
    num_labels, num_attributes, places = _header(file, source)
    features = _features(file, places[0], source)
    labels = read_strings(file, places[1], num_labels, f"{source}: labels")
    attributes = read_strings(file, places[2], num_attributes, f"{source}: attributes")
    is_state = features["type"] == STATE
    states, moves = features[is_state], features[~is_state]
    _check_ids(states, num_attributes, num_labels, f"{source}: state features")
    _check_ids(moves, num_labels, num_labels, f"{source}: transitions")
    for place, name, count, kind in (
        (places[3], b"LFRF", num_labels, ~is_state),
        (places[4], b"AFRF", num_attributes, is_state),
    ):
        _check_references(file, place, name, count, np.flatnonzero(kind), features["source"][kind], source)
    return CRFsuiteModel(
        labels,
        attributes,
        states["source"].astype(np.int64),
        states["label"].astype(np.int64),
        states["weight"].astype(np.float64),
        np.stack([moves["source"], moves["label"]], axis=1).astype(np.int64),
        moves["weight"].astype(np.float64),
    )


def write_model(model: CRFsuiteModel) -> bytes:
    """Return the file of a model, features in CRFsuite's order: states by attribute, then transitions."""
    states, moves = _sorted_rows(model)
    features = np.concatenate([states, moves])
    begins = [HEADER.size]
    chunks = [CHUNK.pack(b"FEAT", CHUNK.size + features.nbytes, len(features)) + features.tobytes()]
    for kind, names in (("labels", model.labels), ("attributes", model.attributes)):
        begins.append(begins[-1] + len(chunks[-1]))
        chunks.append(write_strings(names, kind))
    end = begins[-1] + len(chunks[-1])
    chunks[-1] += bytes(-end % 4)
    for name, rows, first, count, spare in (
        (b"LFRF", moves["source"], len(states), len(model.labels), 2),
        (b"AFRF", states["source"], 0, len(model.attributes), 0),
    ):
        begins.append(begins[-1] + len(chunks[-1]))
        chunks.append(_references(name, begins[-1], rows, first, count, spare))
    size = begins[-1] + len(chunks[-1])
    if size >= 2**32:
        raise InputError("model: expected a file of less than 4 GiB, as CRFsuite counts, got {} bytes", size)
    counts = 0, len(model.labels), len(model.attributes)
    return b"".join([HEADER.pack(MAGIC, size, TYPE, VERSION, *counts, *begins), *chunks])


def bad_model(source: str, expected: str, got: object) -> StorageError:
    """Make the error for a file that is not as it should be."""
    return StorageError("{}: expected {}, got {}; {}", source, expected, got, _DAMAGED)


# Reading.


def _header(file: bytes, source: str) -> tuple[int, int, tuple[int, ...]]:
    if len(file) < HEADER.size:
        raise bad_model(source, message("a CRFsuite model of {} bytes or more", HEADER.size), f"{len(file)}")
    magic, size, kind, version, _, num_labels, num_attributes, *places = HEADER.unpack_from(file)
    if magic != MAGIC or kind != TYPE:
        raise bad_model(source, message("a CRFsuite model (lCRF, FOMC)"), f"{magic + kind!r}")
    if version != VERSION:
        raise bad_model(source, message("version {} of CRFsuite's format", VERSION), version)
    if size != len(file):
        raise bad_model(source, message("{} bytes, as the header says", size), len(file))
    return num_labels, num_attributes, tuple(places)


def _chunk(file: bytes, place: int, name: bytes, source: str) -> int:
    """Check the head of a chunk at a place and return its count."""
    if place + CHUNK.size > len(file):
        raise bad_model(
            source,
            message("the chunk {} within {} bytes", name.decode(), len(file)),
            message("its place {}", place),
        )
    found, _, count = CHUNK.unpack_from(file, place)
    if found != name:
        raise bad_model(source, message("the chunk {} at byte {}", name.decode(), place), f"{found!r}")
    return int(count)


def _features(file: bytes, place: int, source: str) -> NDArray[Any]:
    count = _chunk(file, place, b"FEAT", source)
    first = place + CHUNK.size
    if first + count * FEATURE.itemsize > len(file):
        raise bad_model(
            source,
            message("{} features within {} bytes", count, len(file)),
            message("fewer bytes"),
        )
    features = np.frombuffer(file, FEATURE, count, first)
    if features["type"].max(initial=0) > TRANSITION:
        raise bad_model(source, message("features of type 0 and 1"), features["type"].max())
    if not np.isfinite(features["weight"]).all():
        raise bad_model(source, message("finite weights"), message("others"))
    return features


def _check_ids(features: NDArray[Any], num_sources: int, num_labels: int, place: str) -> None:
    for field, count in (("source", num_sources), ("label", num_labels)):
        if len(features) and features[field].max() >= count:
            raise bad_model(place, message("ids below {}", count), features[field].max())
    keys = features["source"].astype(np.int64) * num_labels + features["label"]
    if not (keys[1:] > keys[:-1]).all() and len(np.unique(keys)) != len(keys):  # CRFsuite writes them in order
        raise bad_model(place, message("each pair once"), message("one twice"))


def _check_references(
    file: bytes, place: int, name: bytes, count: int, ids: IntArray, sources: NDArray[Any], source: str
) -> None:
    """Raise unless each label or attribute refers to the features that begin with it, and to no others."""
    stated = _chunk(file, place, name, source)
    where, first = f"{source}: {name.decode()}", place + CHUNK.size
    if stated < count or first + 4 * count > len(file):
        raise bad_model(where, message("{} references", count), message("{} within {} bytes", stated, len(file)))
    begins = np.frombuffer(file, "<u4", count, first).astype(np.int64)
    if (begins % 4).any() or begins.max(initial=0) + 4 > len(file):
        raise bad_model(where, message("multiples of 4 below {}", len(file)), message("other offsets"))
    numbers, rows = np.frombuffer(file, "<u4", len(file) // 4), begins // 4
    sizes = numbers[rows].astype(np.int64)
    if sizes.sum() != len(ids) or (rows + 1 + sizes > len(numbers)).any():
        raise bad_model(where, message("references to {} features", len(ids)), int(sizes.sum()))
    edges = offsets_of(sizes)
    entries = np.arange(len(ids)) - np.repeat(edges[:-1] - rows - 1, sizes)
    referred = numbers[entries].astype(np.int64)
    order = np.argsort(referred, kind="stable")
    owners = np.repeat(np.arange(count), sizes)
    if not (np.array_equal(referred[order], ids) and np.array_equal(owners[order], sources)):
        raise bad_model(where, message("references to the features of each name"), message("others"))


# Writing.


def _sorted_rows(model: CRFsuiteModel) -> tuple[NDArray[Any], NDArray[Any]]:
    L, A = len(model.labels), len(model.attributes)
    moves = np.asarray(model.transitions, np.int64).reshape(-1, 2)
    out = []
    for kind, sources, labels, weights, count in (
        (STATE, model.state_attributes, model.state_labels, model.state_weights, A),
        (TRANSITION, moves[:, 0], moves[:, 1], model.transition_weights, L),
    ):
        rows = np.zeros(len(sources), FEATURE)
        if not len(sources) == len(labels) == len(weights):
            raise InputError("model: expected features as arrays of one length, got others")
        if len(rows) and not (np.min(sources) >= 0 and np.max(sources) < count):
            raise InputError("model: expected ids from 0 to {}, got others", count - 1)
        if len(rows) and not (np.min(labels) >= 0 and np.max(labels) < L):
            raise InputError("model: expected label ids from 0 to {}, got others", L - 1)
        if not np.isfinite(weights).all():
            raise InputError("model: expected finite weights, for CRFsuite knows no others, got -inf or NaN")
        rows["type"], rows["source"], rows["label"], rows["weight"] = kind, sources, labels, weights
        out.append(rows[np.lexsort((rows["label"], rows["source"]))])
    return out[0], out[1]


def _references(name: bytes, place: int, sources: NDArray[Any], first: int, count: int, spare: int) -> bytes:
    """Return the chunk in which each source refers to its features, which are sorted and begin with id `first`."""
    sizes = np.bincount(sources.astype(np.int64), minlength=count)[:count]
    edges = offsets_of(sizes)
    begins = place + CHUNK.size + 4 * (count + spare) + 4 * (edges[:-1] + np.arange(count))
    body = np.empty(count + len(sources), "<u4")
    heads = edges[:-1] + np.arange(count)
    body[heads] = sizes
    body[np.delete(np.arange(len(body)), heads)] = first + np.arange(len(sources))
    offsets = np.concatenate([begins, np.zeros(spare, np.int64)])
    if offsets.max(initial=0) >= 2**32:
        raise InputError("model: expected a file of less than 4 GiB, as CRFsuite counts, got more")
    size = CHUNK.size + 4 * len(offsets) + body.nbytes
    return CHUNK.pack(name, size, len(offsets)) + offsets.astype("<u4").tobytes() + body.tobytes()
