"""One model file: settings and arrays, in and out. A safetensors file, so that other tools can read it; runs no code.

    8 bytes      length n of the header, little-endian
    n bytes      header: JSON, padded with blanks so that the data begin at a multiple of 64 bytes
    the rest     the arrays, little-endian, in C order, each at a multiple of 64 bytes

The header gives name, dtype, shape and place of every array. Its ``__metadata__`` holds ``format`` (``tagline``),
``version``, ``tagline`` (our settings: JSON in a string) and ``checksum``, the CRC-32 of the whole file taken with
``00000000`` in the checksum's own place. Safetensors allows no holes, so what fills up to 64 bytes is an array too,
``_pad1``, ``_pad2``, …; readers do not see them. Files are mapped, not copied: 256 MB open in 0.04 ms, in 38 ms with
the checksum; safetensors' own NumPy reader copies and takes 115 ms (`benchmarks/own_parts.py`). Files are hostile:
every number of a header is checked before it is used. The guide is ``docs/model-file.md``.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import re
import stat
import struct
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tagline.checks import shown_value
from tagline.errors import InputError, StorageError
from tagline.messages import in_english, message
from tagline.writing import REMEDIES, open_new

VERSION = 1
ALIGNMENT = 64
LARGEST_HEADER = 16_000_000  # bytes; safetensors allows 100 MB, but ours are settings, and tables lie in arrays
MOST_LISTS = 200_000  # and objects in a header; each takes thirty times its bytes in memory
MOST_TENSORS = 10_000

Path: TypeAlias = str | os.PathLike[str]
Tensors: TypeAlias = Mapping[str, NDArray[Any]]
Piece: TypeAlias = bytes | memoryview
Value = TypeVar("Value")

_DTYPES = {
    **{"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1"},
    **{"U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1"},
}
_NAMES = {np.dtype(code): name for name, code in _DTYPES.items()}
_METADATA, _PAD = "__metadata__", "_pad"
_UNKNOWN = "0" * 8  # in the place of a checksum while it is computed
_BLANK = f'"checksum":"{_UNKNOWN}"'.encode()
_MOST_AXES = 32  # of an array, in every NumPy
DAMAGED = message("the file is damaged or was not written by Tagline; copy it again or save the model anew")
_NAME = message("name a file that was written by save")
_COPY = message("copy it again from where it was made")

_CONVERT = message("make it one of ours: tagline convert-model OLD NEW")

# How other files begin, for messages.
_STRANGERS = (
    (rb"lCRF", message("a CRFsuite model"), _CONVERT),
    (rb"\x64\0\0\0|version: 100", message("a CRF++ model"), _CONVERT),
    (rb"#mdl#", message("a Wapiti model"), _CONVERT),
    (
        rb"\x80[\x02-\x05]",
        message("a pickle"),
        message(
            "Tagline loads no pickles, for they can run code; tagline convert-model reads those of sklearn-crfsuite"
        ),
    ),
    (
        rb"\x1f\x8b|BZh|\xfd7zXZ|PK\x03\x04",
        message("a packed file (gzip, bzip2, xz or zip)"),
        message("unpack it first"),
    ),
)


@dataclass(frozen=True, eq=False)
class ModelFile:
    """What a model file holds.

    Attributes:
        config: the settings, as JSON gives them back (tuples have become lists).
        tensors: read-only arrays by name, in the order in which they were written; mapped where they come from a file.
        version: of the format.
        source: where it was read, for messages.
        size: of the file in bytes.
    """

    config: dict[str, Any]
    tensors: dict[str, NDArray[Any]]
    version: int = VERSION
    source: str = "<bytes>"
    size: int = 0

    def setting(self, name: str, kind: type[Value]) -> Value:
        """Return a setting that must be there and of this type."""
        value = self.config.get(name)
        if type(value) is not kind:
            got = message("none") if name not in self.config else f"{type(value).__name__}"
            raise _bad(self.source, message("the setting {!r} of type {}", name, kind.__name__), got)
        return value

    def tensor(self, name: str, dtype: DTypeLike, *shape: int | None) -> NDArray[Any]:
        """Return an array that must be there, with this dtype and shape (None: any length)."""
        array, wanted = self.tensors.get(name), np.dtype(dtype)
        sizes = ", ".join("any" if size is None else str(size) for size in shape)
        if array is None:
            raise _bad(
                self.source,
                message("an array {!r} of {} [{}]", name, wanted, sizes),
                message("none of that name"),
            )
        fits = array.ndim == len(shape) and all(b in (None, a) for a, b in zip(array.shape, shape, strict=True))
        if array.dtype != wanted or not fits:
            raise _bad(
                self.source,
                message("{!r} as {} [{}]", name, wanted, sizes),
                f"{array.dtype} {list(array.shape)}",
            )
        return array


def write(path: Path, config: dict[str, Any], tensors: Tensors) -> None:
    """Write a model file; it appears whole at the end, or not at all.

    Arguments:
        path: of the file. An existing file keeps its permissions; a new one gets the usual ones.
        config: settings of JSON's types, with strings as keys and finite numbers.
        tensors: arrays by name, of floats, integers or booleans. Names that begin with ``_pad`` are taken.

    The same settings and arrays make the same bytes.
    """
    name = _name_of(path)
    pieces = _pack(config, tensors)
    try:
        with open_new(name) as stream:
            stream.writelines(pieces)
    except OSError as error:
        remedy = REMEDIES.get(error.errno or 0, message("make its folder or choose another"))
        raise StorageError(
            "{:.400}: expected a place to write to, got: {}; {}", name, error.strerror, remedy
        ) from error


def read(path: Path, *, verify: bool = True, mapped: bool = True) -> ModelFile:
    """Open a model file; its arrays are mapped, so that what is not used is not read.

    Arguments:
        path: of the file. While it is mapped it must not be cut short or written over in place, as cp does; `write`
            never does that.
        mapped: False reads the file into memory, and nobody can take it away from there.
        verify: compare the checksum, which reads the whole file once (3 to 7 ms for 12 MB that are in memory).
            A file without a checksum, written by another tool, is taken as it is.
    """
    name = _name_of(path)
    try:
        status = os.stat(name)
        if not stat.S_ISREG(status.st_mode):
            got = message("a folder") if stat.S_ISDIR(status.st_mode) else message("something else")
            raise _bad(name, message("a model file"), got, _NAME)
        if not status.st_size:
            raise _bad(
                name, message("a model file"), message("an empty file"), message("copy it again or save the model anew")
            )
        with open(name, "rb") as stream:
            data = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) if mapped else stream.read()
    except FileNotFoundError:
        raise _bad(name, message("a model file"), message("none of that name"), message("check the path")) from None
    except OSError as error:
        raise _bad(
            name,
            message("a readable model file"),
            message("the answer {}", error.strerror),
            message("see who may read it"),
        ) from error
    return _unpack(data, name, verify)


def dumps(config: dict[str, Any], tensors: Tensors) -> bytes:
    """Return the bytes that `write` would write.

    >>> loads(dumps({"labels": ["O"]}, {"weights": np.zeros(3)})).config
    {'labels': ['O']}
    """
    return b"".join(_pack(config, tensors))


def loads(data: bytes | bytearray | memoryview, *, source: str = "<bytes>", verify: bool = True) -> ModelFile:
    """Read what `dumps` made; the arrays are views of the bytes."""
    return _unpack(data, source, verify)


def _name_of(path: Path) -> str:
    if not isinstance(path, str | os.PathLike) or not isinstance(name := os.fspath(path), str) or "\0" in name:
        raise StorageError("path: expected the name of a file, got {}", type(path).__name__)
    return name


def _bad(source: str, expected: str, got: str, remedy: str = DAMAGED) -> StorageError:
    return StorageError("{}: expected {}, got {}; {}", source, expected, got, remedy)


# Out: settings and arrays → pieces of bytes.


def _pack(config: dict[str, Any], tensors: Tensors) -> list[Piece]:
    entries: dict[str, Any] = {
        _METADATA: {"checksum": _UNKNOWN, "format": "tagline", "version": str(VERSION), "tagline": _config_text(config)}
    }
    pieces: list[Piece] = []
    end = 0
    for name, value in tensors.items():
        array = _plain(name, value)
        entries[name] = _entry(_NAMES[array.dtype], array.shape, end, array.nbytes)
        pieces.append(array.reshape(-1).view(np.uint8).data)  # in C order
        end += array.nbytes
        if end % ALIGNMENT:
            pad = -end % ALIGNMENT
            entries[f"{_PAD}{len(pieces)}"] = _entry("U8", (pad,), end, pad)
            pieces.append(bytes(pad))
            end += pad
    if len(entries) > MOST_TENSORS:
        raise InputError("tensors: expected up to {} with their padding, got {}", MOST_TENSORS, len(entries) - 1)
    front = _front(entries)
    return [front.replace(_BLANK, f'"checksum":"{_checksum(front, *pieces)}"'.encode(), 1), *pieces]


def _entry(dtype: str, shape: tuple[int, ...], begin: int, size: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, begin + size]}


def _front(entries: dict[str, Any]) -> bytes:
    """Return the length and the header, padded."""
    try:
        header = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError as error:
        raise InputError("config and names: expected text that is UTF-8, got {!r}", error.object[error.start]) from None
    header += b" " * (-(8 + len(header)) % ALIGNMENT)
    if len(header) > LARGEST_HEADER:
        raise InputError("config: expected up to {} bytes, got {}; put tables into arrays", LARGEST_HEADER, len(header))
    if (count := header.count(b"[") + header.count(b"{")) > MOST_LISTS:
        raise InputError(
            "config: expected up to {} lists and objects, got {}; put tables into arrays", MOST_LISTS, count
        )
    return struct.pack("<Q", len(header)) + header


def _config_text(config: dict[str, Any]) -> str:
    try:
        text = json.dumps(in_english(config), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError("config: expected values of JSON's types, got: {}", error) from None
    _check_keys(config)
    return text


def _check_keys(value: object) -> None:
    """Raise where JSON would silently turn keys into strings."""
    if isinstance(value, dict):
        if odd := [key for key in value if not isinstance(key, str)]:
            raise InputError("config: expected strings as keys, got {!r}", odd[0])
        value = list(value.values())
    if isinstance(value, list | tuple):
        for part in value:
            _check_keys(part)


def _plain(name: str, value: NDArray[Any]) -> NDArray[Any]:
    """Return the array as it is stored, little-endian."""
    if not isinstance(name, str) or name == _METADATA or name.startswith(_PAD):
        raise InputError("tensors: expected names other than {} and {}…, got {!r}", _METADATA, _PAD, name)
    array = np.asarray(value)
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if array.dtype not in _NAMES:
        raise InputError("tensor {!r}: expected one of {}, got {}", name, ", ".join(_DTYPES), array.dtype)
    return array


def _checksum(*pieces: Piece) -> str:
    total = 0
    for piece in pieces:
        total = zlib.crc32(piece, total)
    return f"{total:08x}"


# In: bytes → settings and arrays. Nothing in the header is trusted.


def _unpack(data: bytes | bytearray | memoryview | mmap.mmap, source: str, verify: bool) -> ModelFile:
    view = memoryview(data).cast("B")
    header = _header(view, source)
    fields = _json(header, f"{source}: header")
    metadata: Any = fields.pop(_METADATA, None)
    config, version = _metadata(metadata, source)
    begin = 8 + len(header)
    entries = {name: _checked(name, entry, source) for name, entry in fields.items()}
    _check_cover([place for _, _, place in entries.values()], len(view) - begin, source)
    if verify and (stated := metadata.get("checksum", ...)) is not ...:
        blank = header.replace(f'"checksum":"{stated}"'.encode(), _BLANK, 1)
        if (computed := _checksum(view[:8], blank, view[begin:])) != stated:
            raise _bad(source, message("the checksum {}", shown_value(stated)), repr(computed))
    tensors = {
        name: _array(name, view[begin + first : begin + last], dtype, shape, source)
        for name, (dtype, shape, (first, last)) in entries.items()
        if not name.startswith(_PAD)
    }
    return ModelFile(config, tensors, version, source, len(view))


def _header(view: memoryview, source: str) -> bytes:
    start = bytes(view[:16])
    if start[8:9] != b"{":
        got, remedy = message("{} bytes of something else", len(view)), _NAME
        if len(view) > 8:
            matches = ((kind, advice) for magic, kind, advice in _STRANGERS if re.match(magic, start))
            got, remedy = next(matches, (got, remedy))
        raise _bad(source, message("a Tagline model file"), got, remedy)
    length, rest = int.from_bytes(start[:8], "little"), len(view) - 8
    if length > LARGEST_HEADER:
        raise _bad(source, message("a header of up to {} bytes", LARGEST_HEADER), str(length))
    if length > rest:
        raise _bad(
            source,
            message("a header of {} bytes", length),
            message("{}: the file is cut short", rest),
            _COPY,
        )
    header = bytes(view[8 : 8 + length])
    # Counted before anything is built. In settings the quotes are escaped, so that they do not count.
    if (count := header.count(b'"data_offsets"')) > MOST_TENSORS:
        raise _bad(source, message("up to {} tensors", MOST_TENSORS), str(count))
    if (count := header.count(b"[") + header.count(b"{")) > MOST_LISTS:
        raise _bad(source, message("up to {} lists and objects in the header", MOST_LISTS), str(count))
    return header


def _json(text: bytes | str, source: str) -> dict[str, Any]:
    """Parse an object strictly: no key twice, no NaN, no number beyond float64."""
    try:
        plain = text if isinstance(text, str) else text.decode()
        value = json.loads(plain, object_pairs_hook=_unique, parse_float=_finite, parse_constant=_finite)
        if "\\ud" in plain.lower():  # half a surrogate pair, which is no character
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeDecodeError as error:
        raise _bad(
            source,
            "UTF-8",
            message("byte {:#04x} at {}", error.object[error.start], error.start),
        ) from None
    except RecursionError:  # each Python words it differently
        raise _bad(source, "JSON", message("lists or objects too deep in one another")) from None
    except ValueError as error:
        raise _bad(source, "JSON", str(error)) from None
    if not isinstance(value, dict):
        raise _bad(source, message("a JSON object"), type(value).__name__)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError(
            message("{} twice as a key", shown_value(Counter((key for key, _ in pairs)).most_common(1)[0][0]))
        )
    return fields


def _finite(digits: str) -> float:
    if not math.isfinite(float(digits)):
        raise ValueError(message("the number {}", shown_value(digits)))
    return float(digits)


def _metadata(metadata: object, source: str) -> tuple[dict[str, Any], int]:
    """Return settings and version, which are read first: a newer format may differ in all of the rest."""
    if not isinstance(metadata, dict) or metadata.get("format") != "tagline":
        raise _bad(source, message("a Tagline model file"), message("a safetensors file of something else"), _NAME)
    version, text = metadata.get("version"), metadata.get("tagline")
    if not isinstance(version, str) or not re.fullmatch("[0-9]{1,9}", version):
        raise _bad(source, message("a version number"), shown_value(version))
    if int(version) > VERSION:
        got = message("format {}, written by a newer Tagline", int(version))
        raise _bad(
            source,
            message("a model file of format {} or older", VERSION),
            got,
            message("upgrade Tagline to read it"),
        )
    if not isinstance(text, str):
        raise _bad(source, message("settings in the metadata under 'tagline'"), shown_value(text))
    return _json(text, f"{source}: settings"), int(version)


Place: TypeAlias = tuple[int, int]
"""The bytes of an array, counted from the end of the header."""


def _checked(name: str, entry: Any, source: str) -> tuple[np.dtype[Any], tuple[int, ...], Place]:
    where = message("{}: tensor {}", source, shown_value(name))
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise _bad(where, message("dtype, shape and data_offsets"), shown_value(entry))
    if not isinstance(entry["dtype"], str) or entry["dtype"] not in _DTYPES:
        raise _bad(where, message("a dtype of {}", ", ".join(_DTYPES)), shown_value(entry["dtype"]))
    shape, place = _naturals(entry["shape"]), _naturals(entry["data_offsets"])
    if shape is None or len(shape) > _MOST_AXES:
        raise _bad(where, message("a shape of up to {} whole numbers", _MOST_AXES), shown_value(entry["shape"]))
    if place is None or len(place) != 2 or place[0] > place[1]:
        raise _bad(where, message("two data_offsets, rising"), shown_value(entry["data_offsets"]))
    dtype = np.dtype(_DTYPES[entry["dtype"]])
    # Integers of Python do not wrap. NumPy wants the product without its zeros to fit too.
    if math.prod(size for size in shape if size) * dtype.itemsize >= 2**63:
        raise _bad(where, message("a shape of fewer than 2^63 bytes"), shown_value(entry["shape"]))
    size = math.prod(shape) * dtype.itemsize
    if size != place[1] - place[0]:
        raise _bad(
            where,
            message("data_offsets that are {} bytes apart, as dtype and shape say", size),
            str(list(place)),
        )
    return dtype, shape, (place[0], place[1])


def _naturals(value: object) -> tuple[int, ...] | None:
    """Return a list of whole numbers from 0 to 2^63 − 1 as a tuple; None for anything else (True is no number)."""
    if not isinstance(value, list) or not all(type(number) is int and 0 <= number < 2**63 for number in value):
        return None
    return tuple(value)


def _check_cover(places: list[Place], size: int, source: str) -> None:
    """Raise unless the arrays follow one another without gap or overlap and end where the file ends."""
    end = 0
    for first, last in sorted(places):
        if first != end:
            raise _bad(source, message("a tensor that begins at byte {} of the data", end), f"{first}")
        end = last
    if size < end:
        raise _bad(source, message("{} bytes of data", end), message("{}: the file is cut short", size), _COPY)
    if size > end:
        raise _bad(
            source,
            message("{} bytes of data", end),
            message("{}: something was added to the file", size),
            _COPY,
        )


def _array(name: str, view: memoryview, dtype: np.dtype[Any], shape: tuple[int, ...], source: str) -> NDArray[Any]:
    raw = np.frombuffer(view, np.uint8)
    if dtype == np.bool_ and raw.size and raw.max() > 1:
        raise _bad(source, message("0 and 1 in tensor {}", shown_value(name)), str(raw.max()))
    array: NDArray[Any] = np.ndarray(shape, dtype, raw)
    if not array.flags.aligned:  # in a file of another tool
        array = array.copy()
    array.flags.writeable = False
    return array
