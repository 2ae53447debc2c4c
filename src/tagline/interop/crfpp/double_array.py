"""Darts' double array, CRF++'s dictionary of feature strings: a trie in one array; the core builds and lists it.

The layout and the rule that places nodes are in ``core/features/names/double_array.h``; the same keys give the same
bytes as CRF++ writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagline import compiled
from tagline.errors import InputError
from tagline.ragged import offsets_of

UNIT = 8
"""Bytes of a unit: base as int32, check as uint32, both little-endian."""

BYTES_A_UNIT, LEAST_BYTES = 64, 1 << 26  # of all keys, at most: strings that share prefixes are longer than the array


def build(keys: Sequence[bytes], values: ArrayLike) -> bytes:
    """Return the array of ascending, distinct keys.

    >>> read(build([b"B", b"U00:cat"], [0, 4]))
    ([b'B', b'U00:cat'], array([0, 4], dtype=int32))
    """
    offsets = offsets_of(np.fromiter(map(len, keys), np.int64, len(keys)))
    try:
        units = compiled.require().build_double_array(b"".join(keys), offsets, np.ascontiguousarray(values, np.int32))
    except ValueError as error:
        raise InputError("double array: {}", error) from None
    return np.asarray(units).astype("<i4", copy=False).tobytes()


def read(data: bytes) -> tuple[list[bytes], NDArray[np.int32]] | None:
    """List the keys and values of an array; None where it is none."""
    if len(data) % UNIT or not data:
        return None
    units = np.frombuffer(data, "<i4").reshape(-1, 2).astype(np.int32, copy=False)
    found = compiled.require().read_double_array(units, max(LEAST_BYTES, BYTES_A_UNIT * len(units)))
    if found is None:
        return None
    held, offsets, values = found
    return [held[first:last] for first, last in pairwise(offsets.tolist())], np.asarray(values)
