"""The functions of ``hmmlearn.utils``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagline.types import Float64Array


def normalize(a: Float64Array, axis: int | None = None) -> None:
    """Divide an array by its sum over an axis, in place; where that is 0, nothing changes."""
    total = np.asarray(a.sum(axis, keepdims=True))
    a /= np.where(total == 0, 1.0, total)


def log_normalize(a: Float64Array, axis: int | None = None) -> None:
    """Subtract log Σ exp over an axis, in place; where all is −∞, nothing changes."""
    top = a.max(axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore", under="ignore"):
        total = np.log(np.exp(a - top).sum(axis, keepdims=True)) + top
    a -= np.where(np.isfinite(total), total, 0.0)


def fill_covars(
    covars: ArrayLike, covariance_type: str = "full", n_components: int = 1, n_features: int = 1
) -> NDArray[Any]:
    """Return one covariance matrix for each state, ``[n_components, n_features, n_features]``."""
    values = np.asarray(covars)
    if covariance_type == "full":
        return values
    if covariance_type == "tied":
        return np.tile(values, (n_components, 1, 1))
    eye = np.eye(n_features, dtype=values.dtype)
    if covariance_type == "diag":
        return np.asarray(values[:, :, None] * eye)
    return np.asarray(values.reshape(-1, 1, 1) * eye)
