"""Covariances by their type: shapes at the door, where EM begins, and the floor that keeps them invertible."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagline.checks import as_array, check_choice
from tagline.errors import InputError
from tagline.models.hmm.emissions.gaussian import COVARIANCES
from tagline.types import Float64Array

COVARIANCE_TYPES = frozenset(COVARIANCES)
_FLOOR = 1e-9  # of the variance of the observations in each dimension
_LEAST = 1e-7  # where they are all the same


def check_type(covariance_type: object) -> None:
    """Raise unless this is a type of covariances."""
    check_choice("covariance_type", covariance_type, COVARIANCES)


def stored_covars(covars: ArrayLike, covariance_type: str, n_components: int) -> Float64Array:
    """Return a copy of covariances in the shape of their type: ``[K]``, ``[K, D]``, ``[K, D, D]`` or ``[D, D]``."""
    check_type(covariance_type)
    values = np.array(as_array("covars_", covars), np.float64)
    if covariance_type == "spherical":
        values = _one_each(values, n_components)
    axes = {"spherical": 1, "diag": 2, "full": 3, "tied": 2}[covariance_type]
    if values.ndim != axes or (covariance_type != "tied" and len(values) != n_components):
        shape = {"spherical": "[K]", "diag": "[K, D]", "full": "[K, D, D]", "tied": "[D, D]"}[covariance_type]
        raise InputError(
            "covars_: expected {} for {!r} and K = {}, got {}", shape, covariance_type, n_components, list(values.shape)
        )
    if covariance_type in ("spherical", "diag"):
        if not (values > 0).all():
            raise InputError("covars_: expected positive variances, got {:g}", values.min())
    elif not np.allclose(values, np.swapaxes(values, -1, -2)) or not (np.linalg.eigvalsh(values) > 0).all():
        raise InputError("covars_: expected symmetric matrices with positive eigenvalues, got others")
    return values


def _one_each(values: Float64Array, n_components: int) -> Float64Array:
    """Return one variance for each state, from an array of any shape that has no more than that in it."""
    rows = values.reshape(n_components, -1) if values.size and values.size % n_components == 0 else values[None]
    if len(rows) != n_components or not (rows == rows[:, :1]).all():
        raise InputError("covars_: expected one variance for each of {} states, got {}", n_components, values.shape)
    return rows[:, 0].copy()


def spread(X: Float64Array, min_covar: float) -> Float64Array:
    """Return the covariance matrix of all observations ``[D, D]``, its diagonal raised by `min_covar`."""
    D = X.shape[1]
    matrix = np.atleast_2d(np.cov(X.T)) if len(X) > 1 else np.zeros((D, D))
    return np.asarray(matrix + min_covar * np.eye(D))


def spread_as(matrix: Float64Array, covariance_type: str, *states: int) -> Float64Array:
    """Return the covariances that EM begins with: this matrix, in the shape of its type, for each of the states."""
    check_type(covariance_type)
    if covariance_type == "spherical":
        mean = matrix.mean() if matrix.mean() > 0 else np.diag(matrix).mean()
        return np.full(states, mean)
    one = np.diag(matrix) if covariance_type == "diag" else matrix
    return np.array(np.broadcast_to(one, (*states, *one.shape)))


def floor_of(X: NDArray[Any]) -> Float64Array:
    """Return the least variance of each dimension ``[D]`` that EM may come to."""
    variances = X.var(axis=0)
    return np.where(variances > 0, _FLOOR * variances, _LEAST)
