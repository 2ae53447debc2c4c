"""Rows of different lengths in one array: `data [N, …]` and `offsets [B + 1]`, row b is ``offsets[b]:offsets[b + 1]``.

Sentences of tokens, tokens of attributes, attributes of weights: all of them travel like this, and what is done to
rows is done here.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagline.types import BoolArray, IntArray


def offsets_of(lengths: ArrayLike) -> IntArray:
    """Return where rows of these lengths begin, ``[B + 1]``.

    >>> offsets_of([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    sizes = np.asarray(lengths, np.int64)
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def row_offsets(rows: IntArray, count: int) -> IntArray:
    """Return where each of `count` rows begins, ``[count + 1]``, given the row of every entry, ascending.

    >>> row_offsets(np.array([0, 0, 2]), 4).tolist()
    [0, 2, 2, 3, 3]
    """
    return offsets_of(np.bincount(rows, minlength=count))


def entries_of(offsets: IntArray, rows: NDArray[np.integer[Any]]) -> IntArray:
    """Return the places of the entries of these rows, one row after the other.

    >>> entries_of(np.array([0, 2, 3, 6]), np.array([2, 0])).tolist()
    [3, 4, 5, 0, 1]
    """
    lengths = offsets[rows + 1] - offsets[rows]
    begins = np.repeat(offsets[rows] - np.cumsum(lengths) + lengths, lengths)
    return np.asarray(begins + np.arange(int(lengths.sum())))


def take_rows(offsets: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Return the offsets of these rows alone, and the places of their entries.

    >>> offsets, entries = take_rows(np.array([0, 2, 3, 6]), np.array([2, 0]))
    >>> offsets.tolist(), entries.tolist()
    ([0, 3, 5], [3, 4, 5, 0, 1])
    """
    return offsets_of(offsets[rows + 1] - offsets[rows]), entries_of(offsets, rows)


def row_of(offsets: IntArray, entry: int) -> int:
    """Return the row that an entry lies in.

    >>> row_of(np.array([0, 2, 2, 5]), 2)
    2
    """
    return int(np.searchsorted(offsets, entry, side="right")) - 1


def first_entries(offsets: IntArray) -> BoolArray:
    """Say of each entry whether it is the first of its row, ``[N]``.

    >>> first_entries(np.array([0, 2, 2, 3])).tolist()
    [True, False, True]
    """
    first = np.zeros(int(offsets[-1]) + 1, np.bool_)
    first[offsets[:-1]] = True
    return first[:-1]


def padded(values: NDArray[Any], offsets: IntArray, rows: IntArray) -> NDArray[Any]:
    """Return these rows side by side, ``[B, T, …]``, with zeros (False) behind the shorter ones.

    >>> padded(np.array([5, 6, 7]), np.array([0, 2, 3]), np.array([1, 0])).tolist()
    [[7, 0], [5, 6]]
    """
    lengths = offsets[rows + 1] - offsets[rows]
    out = np.zeros((len(rows), int(lengths.max(initial=0)), *values.shape[1:]), values.dtype)
    out[np.arange(out.shape[1]) < lengths[:, None]] = values[entries_of(offsets, rows)]
    return out


def blocks_of(offsets: IntArray, most: int) -> list[tuple[int, int]]:
    """Cut rows into blocks of up to `most` entries, a longer row by itself: (first row, the one behind the last) each.

    >>> blocks_of(np.array([0, 2, 3, 9, 10]), 4)
    [(0, 2), (2, 3), (3, 4)]
    """
    cuts, B = [0], len(offsets) - 1
    while cuts[-1] < B:
        reach = int(np.searchsorted(offsets, offsets[cuts[-1]] + most, side="right")) - 1
        cuts.append(min(B, max(reach, cuts[-1] + 1)))
    return list(pairwise(cuts))
