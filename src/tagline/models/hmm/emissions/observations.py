"""Observations at the door: what users have → one float64 or int64 array of all sentences, and where each begins.

A sentence is a run of observations. Accepted are one array ``[N, D]`` (``[N]`` for D = 1) with `lengths`, as hmmlearn
has it, or without them for one sentence; an array ``[B, T, D]``; a list with an array or list ``[T, D]`` or ``[T]`` for
each sentence. NaN, None and masked entries are missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagline.checks import as_array, shown_value
from tagline.errors import InputError
from tagline.messages import message
from tagline.ragged import offsets_of, row_of
from tagline.types import BoolArray, Float64Array, IntArray

Observations: TypeAlias = tuple[NDArray[Any], IntArray]
"""(all sentences joined ``[N, …]``, offsets ``[B + 1]``)."""

LARGEST = 1e100  # its square, divided by a small variance, is still a number


def check_observations(
    family: str, X: Any, lengths: ArrayLike | None = None, *, num_dimensions: int | None = None
) -> Observations:
    """Return observations as a family of numbers takes them, or say what is wrong and where.

    Arguments:
        family: "gaussian", "mixture", "poisson", "bernoulli" or "multinomial"; symbols are read by `Symbols`.
        X: observations, see above.
        lengths: how many belong to each sentence, ``[B]``, where X is one array.
        num_dimensions: how many numbers each has, where that is known.
    """
    values, offsets, listed = _joined(X, lengths, num_dimensions)
    holes = np.isnan(values)
    if family in ("gaussian", "mixture"):
        _refuse(
            np.abs(values) > LARGEST,
            values,
            offsets,
            listed,
            message("a number up to 1e100, or NaN where it is missing"),
        )
    elif family == "bernoulli":
        _refuse(
            (values != 0) & (values != 1) & ~holes, values, offsets, listed, message("0, 1, or NaN where it is missing")
        )
    else:
        return _counts(family, values, offsets, listed)
    return values, offsets


def _counts(family: str, values: Float64Array, offsets: IntArray, listed: bool) -> Observations:
    if family == "multinomial":
        values = np.where((values == -1).all(axis=1, keepdims=True), np.nan, values)
    holes = np.isnan(values)
    with np.errstate(invalid="ignore"):
        whole = (values >= 0) & (values == np.floor(values)) & (values < 2**53)
    _refuse(
        ~(whole | holes), values, offsets, listed, message("a whole number of 0 or more, or NaN where it is missing")
    )
    if family != "multinomial":
        return values, offsets
    partly = holes & ~holes.all(axis=1, keepdims=True)
    _refuse(
        partly,
        values,
        offsets,
        listed,
        message("a number, for others of this observation are there: count 0 or miss all"),
    )
    return np.where(holes, -1, values).astype(np.int64), offsets


def _refuse(bad: BoolArray, values: Float64Array, offsets: IntArray, listed: bool, expected: str) -> None:
    if not bad.any():
        return
    n, d = (int(axis[0]) for axis in np.nonzero(bad))
    raise InputError("X{}[{}]: expected {}, got {:g}", _place(n, offsets, listed), d, expected, values[n, d])


def _place(n: int, offsets: IntArray, listed: bool) -> str:
    """Return where observation n stands in what the user passed."""
    if not listed:
        return f"[{n}]"
    b = row_of(offsets, n)
    return f"[{b}][{n - offsets[b]}]"


def _joined(X: Any, lengths: ArrayLike | None, width: int | None) -> tuple[Float64Array, IntArray, bool]:
    """Return all numbers ``[N, D]``, the offsets, and whether X was a list of sentences."""
    if not is_list(X) or lengths is not None:
        values = _numbers("X", X)
        if values.ndim == 3 and lengths is None:
            B, T = values.shape[:2]
            return _two_axes("X", values.reshape(B * T, -1), width), np.arange(B + 1) * T, True
        values = _two_axes("X", values, width)
        return values, read_lengths(lengths, len(values)), False
    parts = [_numbers(f"X[{b}]", x) for b, x in enumerate(X)]
    if any(part.ndim == 0 for part in parts):
        raise InputError(
            "X: expected a list of sentences, got a list of numbers; for one sentence pass a NumPy array, or lengths"
        )
    known = width or next((part.shape[1] for part in parts if part.ndim == 2 and part.size), 1)
    parts = [part if part.size else np.empty((0, known)) for part in parts]
    rows = [_two_axes(f"X[{b}]", part, known) for b, part in enumerate(parts)]
    return np.concatenate(rows) if rows else np.empty((0, known)), offsets_of([len(row) for row in rows]), True


def _numbers(name: str, value: Any) -> Float64Array:
    if isinstance(value, np.ma.MaskedArray):
        value = np.ma.filled(value.astype(np.float64), np.nan)
    array = as_array(name, value)
    try:
        if array.dtype.kind in "Ofiub" or not array.size:
            return np.asarray(array, np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError("{}: expected numbers, got {}", name, shown_value(value))


def _two_axes(name: str, values: Float64Array, width: int | None) -> Float64Array:
    rows = values[:, None] if values.ndim == 1 else values
    if rows.ndim != 2 or rows.shape[1] < 1 or (width is not None and rows.shape[1] != width):
        sizes = message("[observations, {}]", "numbers" if width is None else width)
        raise InputError("{}: expected shape {}, got {}", name, sizes, list(values.shape))
    return rows


def read_lengths(lengths: ArrayLike | None, N: int) -> IntArray:
    """Return the offsets ``[B + 1]`` of N observations; one sentence where no lengths are given."""
    if lengths is None:
        return np.array([0, N], np.int64)
    sizes = as_array("lengths", lengths)
    if sizes.ndim != 1 or (sizes.size and sizes.dtype.kind not in "iu"):
        raise InputError("lengths: expected whole numbers [sentences], got {}", shown_value(lengths))
    if sizes.size and sizes.min() < 0:
        raise InputError("lengths[{}]: expected a number of 0 or more, got {}", int(sizes.argmin()), sizes.min())
    offsets = offsets_of(sizes)
    if offsets[-1] != N:
        raise InputError("lengths: expected to add up to {}, the observations, got {}", N, offsets[-1])
    return offsets


def is_list(X: Any) -> bool:
    """Say whether X is a list of sentences rather than one array."""
    return isinstance(X, Sequence | Iterator) and not isinstance(X, str | bytes) and not hasattr(X, "__array__")
