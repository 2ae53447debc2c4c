"""log N(x_n; μ_k, Σ_k) of all observations in all states, by matrix products and without ``[N, K, D]`` arrays.

For diagonal Σ the square is multiplied out, Σ_d (x − μ)²/σ² = x²·(1/σ²) − 2x·(μ/σ²) + μ²·(1/σ²), which is one product
of ``[N, 2D + 1]`` and ``[2D + 1, K]``. Where a state is narrow and far from the middle of the states the three terms
cancel; there, and only there, the square is computed as it is written, so that the result agrees with the definition to
1e-10. The compiled core, which takes rows without missing numbers, always computes it so. NaN is a missing number: it
is integrated out.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from tagline import compiled
from tagline.models.hmm.emissions.products import ROWS, blocks
from tagline.types import BoolArray, Float64Array, IntArray

LIMIT = 1e4  # how much larger than the result a term may be: float64 keeps 11 digits
_LOG_2PI = math.log(2 * math.pi)

Pattern: TypeAlias = tuple[IntArray, IntArray]
"""(rows, the dimensions that are seen in them)."""


def diagonal(X: Float64Array, means: Float64Array, variances: Float64Array) -> Float64Array:
    """Return log densities ``[N, K]`` of states with variances ``[K, D]``."""
    if not np.isnan(X).any():
        return _whole(X, means, variances)
    holes = np.isnan(X).any(axis=1)
    out = np.empty((len(X), len(means)))
    out[~holes] = _whole(X[~holes], means, variances)
    out[holes] = _products(X[holes], means, variances, True)
    return out


def _whole(X: Float64Array, means: Float64Array, variances: Float64Array) -> Float64Array:
    """Return the densities of rows without missing numbers, by the compiled core where there is one."""
    if compiled.core is None:
        return _products(X, means, variances, False)
    arrays = [np.ascontiguousarray(part, np.float64) for part in (X, means, variances)]
    return np.asarray(compiled.core.log_densities(*arrays))


def _products(X: Float64Array, means: Float64Array, variances: Float64Array, holes: bool) -> Float64Array:
    out = np.empty((len(X), len(means)))
    centre = means.mean(axis=0)  # of the states, not of the data: a row's result does not depend on the others
    near = means - centre
    constants = near**2 / variances + np.log(variances) + _LOG_2PI  # [K, D]
    if not holes:
        constants = constants.sum(axis=1, keepdims=True)  # [K, 1]
    factors = np.ascontiguousarray(-0.5 * np.concatenate([1 / variances, -2 * near / variances, constants], axis=1).T)
    steepest, middle = (1 / variances).max(axis=0), (near**2 / variances).sum(axis=1)
    for rows, part in blocks(X):
        seen = ~np.isnan(part) if holes else np.ones((ROWS, 1), bool)
        moved = np.where(seen, part - centre, 0.0) if holes else part - centre
        squares = moved * moved
        logs = np.concatenate([squares, moved, seen], axis=1) @ factors
        if (squares @ steepest).max() + middle.max() > LIMIT:
            sizes = squares @ (1 / variances).T + middle  # [ROWS, K]
            n, k = np.nonzero(sizes > LIMIT * np.maximum(1.0, np.abs(logs)))
            terms = (part[n] - means[k]) ** 2 / variances[k] + np.log(variances[k]) + _LOG_2PI
            logs[n, k] = -0.5 * np.where(seen[n], terms, 0.0).sum(axis=1)
        out[rows] = logs[: rows.stop - rows.start]
    return out


def full(X: Float64Array, means: Float64Array, matrices: Float64Array) -> Float64Array:
    """Return log densities ``[N, K]`` of states with covariance matrices ``[K, D, D]``, or one ``[D, D]`` for all."""
    out = np.zeros((len(X), len(means)))
    for rows, dims in patterns(X):
        part, middle, block = X[rows][:, dims], means[:, dims], matrices[..., dims[:, None], dims]
        out[rows] = _one_matrix(part, middle, block) if block.ndim == 2 else _matrices(part, middle, block)
    return out


def _matrices(X: Float64Array, means: Float64Array, matrices: Float64Array) -> Float64Array:
    whiten, log_determinants = whitening(matrices)
    out = np.empty((len(X), len(means)))
    for rows, part in blocks(X):
        z = (part - means[:, None]) @ whiten  # [K, ROWS, D]
        out[rows] = np.einsum("knd,knd->nk", z, z)[: rows.stop - rows.start]
    out += log_determinants + X.shape[1] * _LOG_2PI
    out *= -0.5
    return out


def _one_matrix(X: Float64Array, means: Float64Array, matrix: Float64Array) -> Float64Array:
    whiten, log_determinant = whitening(matrix)
    middle = means.mean(axis=0)
    z, centres = np.empty_like(X), (means - middle) @ whiten
    for rows, part in blocks(X):
        z[rows] = ((part - middle) @ whiten)[: rows.stop - rows.start]
    out = diagonal(z, centres, np.ones_like(centres)) - 0.5 * log_determinant
    far = (z * z).sum(axis=1) + (centres * centres).sum(axis=1).max() > LIMIT
    if far.any():  # moving the origin has cost digits
        out[far] = _matrices(X[far], means, np.broadcast_to(matrix, (len(means), *matrix.shape)))
    return out


def whitening(matrices: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Return W ``[…, D, D]`` with W Wᵀ = Σ⁻¹, so that x W has covariance 1, and log det Σ."""
    roots = np.linalg.cholesky(matrices)
    logs = np.log(np.diagonal(roots, axis1=-2, axis2=-1)).sum(axis=-1)
    return np.swapaxes(np.linalg.inv(roots), -1, -2), 2 * logs


def patterns(X: Float64Array) -> list[Pattern]:
    """Group rows by which of their numbers are seen; rows without any are left out."""
    missing: BoolArray = np.isnan(X)
    every = np.arange(X.shape[1])
    if not missing.any():
        return [(np.arange(len(X)), every)] if len(X) else []
    kinds, kind = np.unique(missing, axis=0, return_inverse=True)
    groups = [(np.flatnonzero(kind.ravel() == number), every[~row]) for number, row in enumerate(kinds)]
    return [(rows, dims) for rows, dims in groups if len(dims)]
