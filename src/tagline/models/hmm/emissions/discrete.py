"""What the families of counts share: rows of probabilities, 0 · log 0 = 0, log factorials, Dirichlet priors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagline.errors import InputError
from tagline.models.hmm.emissions.base import EMPTY, parameter
from tagline.models.hmm.emissions.products import product
from tagline.types import Float64Array

_TOLERANCE = 1e-6  # of the sum of probabilities
_TABLE = np.array([math.lgamma(x + 1.0) for x in range(32)])


def probabilities(name: str, value: ArrayLike, *shape: int | None) -> Float64Array:
    """Return numbers from 0 to 1 of this shape, or say which are not."""
    array = parameter(name, value, *shape)
    if array.min() < 0 or array.max() > 1 + _TOLERANCE:
        where = tuple(int(axis[0]) for axis in np.nonzero((array < 0) | (array > 1 + _TOLERANCE)))
        raise InputError(
            "{}[{}]: expected a probability from 0 to 1, got {:.10g}", name, ", ".join(map(str, where)), array[where]
        )
    return array


def check_rows(name: str, rows: Float64Array, rest: Float64Array | float = 0.0) -> None:
    """Check that probabilities ``[K, V]``, with what else a state can emit, sum to one."""
    totals = rows.sum(axis=1) + rest
    off = np.abs(totals - 1)
    if off.max() > _TOLERANCE:
        k = int(off.argmax())
        raise InputError(
            "{}[{}]: expected probabilities that sum to 1, got {:.10g} (off by {:+.3g}); divide each row by its sum",
            name,
            k,
            totals[k],
            totals[k] - 1,
        )


def log(values: Float64Array) -> Float64Array:
    """Return logarithms, −∞ at 0."""
    with np.errstate(divide="ignore"):
        return np.log(values)


def weighted_logs(counts: NDArray[Any], values: Float64Array) -> Float64Array:
    """Return Σ_v counts[n, v] · log values[k, v], ``[N, K]``, where 0 · log 0 = 0."""
    zero = values == 0
    sums = product(counts, np.log(np.where(zero, 1.0, values)).T)
    if zero.any():
        sums[product(counts, zero.T.astype(np.float64)) > 0] = -np.inf
    return sums


def log_density(weights: Float64Array, values: Float64Array) -> float:
    """Return Σ weights · log values, where 0 · log 0 = 0; `weights` broadcast."""
    if not weights.any():
        return 0.0
    terms = np.broadcast_to(weights, values.shape)
    used = terms != 0
    return float(terms[used] @ log(values[used]))


def shares(counts: Float64Array, before: Float64Array, prior: Float64Array | float = 1.0) -> Float64Array:
    """Return (counts + prior − 1) divided by their sum over the last axis; rows of less than `EMPTY` counts stay."""
    weights = counts + (prior - 1.0)
    full = counts.sum(axis=-1, keepdims=True) > EMPTY
    return np.where(full, weights / np.where(full, weights.sum(axis=-1, keepdims=True), 1.0), before)


def log_factorial(counts: NDArray[Any]) -> Float64Array:
    """Return log x! of whole numbers: a table, and above it Stirling's series, exact to rounding from 32 on."""
    x = np.asarray(counts, np.float64)
    small = x < len(_TABLE)
    if small.all():
        return _TABLE[x.astype(np.int64)]
    z = np.where(small, float(len(_TABLE)), x) + 1.0
    square = 1.0 / (z * z)
    series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680))) / z
    stirling = (z - 0.5) * np.log(z) - z + 0.5 * math.log(2 * math.pi) + series
    return np.where(small, _TABLE[np.where(small, x, 0).astype(np.int64)], stirling)
