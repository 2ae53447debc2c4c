"""Damage to model files that gets past the checksum: lengths, places and the checksum itself are put right again.

    8 bytes n, little-endian | header: JSON, n bytes | arrays

as `tagline.storage` describes it, written here once more without its checks, so that a file may say anything.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from random import Random
from typing import Any

import numpy as np

from tagline import storage
from tests.fuzz.mutation import VALUES, mutated, mutated_json

_CODES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1"}
_CODES |= {"U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1"}
_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-320, 1e-30, 1e30, 1e300, -1e300, np.inf, -np.inf, np.nan, 1 + 1e-9, 2.0**63)
_INTEGERS = (0, 1, 2, 3, 7, -1, -2, 127, 128, 255, 256, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1)
_CHECKSUM = re.compile(rb'"checksum":"[0-9a-f]{8}"')

Arrays = dict[str, tuple[str, list[int], bytes]]
"""Of each array its dtype, its shape, its bytes."""


def parts_of(data: bytes) -> tuple[dict[str, Any], Arrays]:
    """Take a valid file apart: settings and arrays."""
    file = storage.loads(data)
    names = {np.dtype(code): name for name, code in _CODES.items()}
    arrays = {name: (names[a.dtype], list(a.shape), a.tobytes()) for name, a in file.tensors.items()}
    return file.config, arrays


def file_of(settings: str, arrays: Arrays, header: dict[str, Any] | None = None) -> bytes:
    """Put a file together.

    Arguments:
        settings: the text of the settings.
        arrays: in order.
        header: entries that replace those which would describe the arrays.
    """
    entries: dict[str, Any] = {
        "__metadata__": {"checksum": "0" * 8, "format": "tagline", "version": "1", "tagline": settings}
    }
    data = bytearray()
    for name, (dtype, shape, values) in arrays.items():
        entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
        if pad := -len(data) % 64:
            entries[f"_pad{len(entries)}"] = {
                "dtype": "U8",
                "shape": [pad],
                "data_offsets": [len(data), len(data) + pad],
            }
            data += bytes(pad)
    entries |= header or {}
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-(8 + len(text)) % 64)
    return sealed(struct.pack("<Q", len(text)) + text + bytes(data))


def sealed(data: bytes) -> bytes:
    """Put the checksum of a file right, where it has one."""
    match = _CHECKSUM.search(data)
    if match is None:
        return data
    blank = b'"checksum":"00000000"'
    total = zlib.crc32(data[: match.start()] + blank + data[match.end() :])
    return data[: match.start()] + f'"checksum":"{total:08x}"'.encode() + data[match.end() :]


class Packed:
    """Valid model files, and what can be made of them."""

    def __init__(self, files: list[bytes]) -> None:
        self.files = files
        self.parts = [parts_of(data) for data in files]
        self.settings = [json.dumps(config) for config, _ in self.parts]

    def damaged(self, random: Random) -> bytes:
        """Return a file with something wrong in its settings, its arrays, its header or its bytes."""
        number = random.randrange(len(self.files))
        way = random.random()
        if way < 0.05:
            return mutated(random, self.files)
        if way < 0.25:
            return sealed(self._with_other_bytes(random, number))
        text, arrays = self.settings[number], dict(self.parts[number][1])
        header: dict[str, Any] = {}
        for _ in range(random.choice((1, 1, 1, 2, 3))):
            way = random.random()
            if way < 0.45:
                text = _other_settings(random, text)
            elif way < 0.9 and arrays:
                self._change_array(random, arrays)
            elif arrays:
                name = random.choice(list(arrays))
                dtype, shape, values = arrays[name]
                entry = {"dtype": dtype, "shape": shape, "data_offsets": [0, len(values)]}
                header[name] = mutated_json(random, json.loads(json.dumps(entry)))
        return file_of(text, arrays, header)

    def _with_other_bytes(self, random: Random, number: int) -> bytes:
        data = bytearray(self.files[number])
        begin = 8 + int.from_bytes(data[:8], "little") if random.random() < 0.5 else 0
        for _ in range(random.choice((1, 1, 2, 4))):
            if begin < len(data):
                data[random.randrange(begin, len(data))] = random.choice(
                    (0, 1, 0x7F, 0x80, 0xFF, random.randrange(256))
                )
        return bytes(data)

    def _change_array(self, random: Random, arrays: Arrays) -> None:
        name = random.choice(list(arrays))
        dtype, shape, values = arrays[name]
        way = random.randrange(12)
        if way == 0:
            del arrays[name]
        elif way == 1:
            arrays[random.choice((*arrays, "x"))] = arrays.pop(name)
        elif way == 2:
            arrays[name] = arrays[random.choice(list(arrays))]
        elif way == 3:
            others = random.choice(self.parts)[1]
            arrays[name] = others.get(name) or random.choice(list(others.values()))
        elif way == 4:
            arrays[name] = _cast(random, dtype, shape, values)
        elif way == 5:
            arrays[name] = _reshaped(random, dtype, shape, values)
        else:
            arrays[name] = (dtype, shape, _with_other_values(random, dtype, values))


def _other_settings(random: Random, text: str) -> str:
    if random.random() < 0.1:
        return mutated(random, [text.encode()]).decode(errors="replace")
    try:
        return json.dumps(mutated_json(random, json.loads(text)))
    except ValueError:
        return text


def _cast(random: Random, dtype: str, shape: list[int], values: bytes) -> tuple[str, list[int], bytes]:
    """The same numbers in another type, or the same bytes read as another type."""
    other = random.choice(list(_CODES))
    if random.random() < 0.5:
        with np.errstate(all="ignore"):
            return other, shape, np.frombuffer(values, _CODES[dtype]).astype(_CODES[other]).tobytes()
    size = np.dtype(_CODES[other]).itemsize
    return other, [len(values) // size], values[: len(values) // size * size]


def _reshaped(random: Random, dtype: str, shape: list[int], values: bytes) -> tuple[str, list[int], bytes]:
    """Fewer or more rows, or other axes."""
    size, way = np.dtype(_CODES[dtype]).itemsize, random.randrange(4)
    count = len(values) // size
    if way == 0:
        kept = random.randrange(count + 1)
        return dtype, [kept], values[: kept * size]
    if way == 1:
        return dtype, random.choice(([count], [1, count], [count, 1], [*shape, 1], shape[::-1])), values
    rows = shape[0] if shape else 0
    width = len(values) // rows if rows else 0
    if way == 2 and rows:
        kept = random.randrange(rows + 1)
        return dtype, [kept, *shape[1:]], values[: kept * width]
    if rows:
        more = random.choice((1, 1, 2, 50))
        return dtype, [rows + more, *shape[1:]], values + values[:width] * more
    return dtype, [3], bytes(3 * size)


def _with_other_values(random: Random, dtype: str, values: bytes) -> bytes:
    array = np.frombuffer(values, _CODES[dtype]).copy()
    if not array.size:
        return values
    with np.errstate(all="ignore"):
        for _ in range(random.choice((1, 1, 2, 5))):
            place, way = random.randrange(array.size), random.randrange(8)
            if way == 0:
                array[:] = array[place]
            elif way == 1:
                array[place] = array[random.randrange(array.size)]
            elif way == 2:
                array = array[::-1].copy()
            elif way == 3 and array.dtype.kind != "b":
                array[place : place + 1] += np.array(random.choice((1, -1))).astype(array.dtype)
            elif array.dtype.kind == "f":
                array[place] = random.choice(_FLOATS)
            else:
                number = random.choice((*_INTEGERS, array.size, array.size - 1, array.size + 1))
                array[place] = np.array(number, np.int64).astype(array.dtype)
    return array.tobytes()


def other_value(random: Random) -> Any:
    """Some value of JSON."""
    return random.choice(VALUES)
