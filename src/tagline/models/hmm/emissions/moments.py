"""Weighted means and scatter of observations: the statistics of a Gaussian M step, accurate far from the origin.

With responsibilities γ these are the mass Σ_n γ[n, k], the sum Σ_n γ[n, k] x_n, and around means m the scatter
Σ_n γ[n, k] (x_n − m_k)(x_n − m_k)ᵀ; where covariances are diagonal, only its diagonal. Diagonal moments leave missing
numbers out. Full moments put their expectations, given the numbers that are seen, in their place, and their conditional
covariance adds to the scatter (Little and Rubin 2002, chapter 11). Rows without any number are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tagline.models.hmm.emissions.densities import LIMIT, patterns
from tagline.models.hmm.emissions.products import ROWS, sums_by_state
from tagline.types import Float64Array, IntArray

Middle = Callable[[Float64Array, Float64Array], Float64Array]
"""(mass, sum) → the means to take the scatter around."""


@dataclass(frozen=True, eq=False)
class GaussianStatistics:
    """Weighted observations as a Gaussian M step takes them.

    Attributes:
        mass: ``[K, D]``, the weight that each mean rests on.
        means: ``[K, D]``, as `Middle` returned them.
        scatter: around them, ``[K, D]`` or ``[K, D, D]``.
    """

    mass: Float64Array
    means: Float64Array
    scatter: Float64Array


def diagonal_moments(
    X: Float64Array, weights: Float64Array, centre: Float64Array, middle: Middle
) -> GaussianStatistics:
    """Return moments with scatter ``[K, D]``, by one matrix product; `centre` ``[D]`` is a point amid the states."""
    D = X.shape[1]
    moved = X - centre
    seen = ~np.isnan(moved)
    whole = bool(seen.all())
    if not whole:
        moved = np.where(seen, moved, 0.0)
    parts = [moved, moved * moved, np.ones((len(X), 1)) if whole else seen]
    sums = sums_by_state(weights, np.concatenate(parts, axis=1))  # [K, 3D] or [K, 2D + 1]
    first, second = sums[:, :D], sums[:, D : 2 * D]
    mass = np.broadcast_to(sums[:, 2 * D :], first.shape)
    means = middle(mass, first + mass * centre)
    near = means - centre
    scatter = second - near * (2 * first - near * mass)
    for k in np.flatnonzero(
        (second > LIMIT * scatter).any(axis=1)
    ):  # digits were lost: compute the squares as they are written
        away = np.where(seen, X - means[k], 0.0)
        scatter[k] = weights[:, k] @ (away * away)
    return GaussianStatistics(mass, means, scatter)


def full_moments(
    X: Float64Array, weights: Float64Array, means: Float64Array, matrices: Float64Array, middle: Middle
) -> GaussianStatistics:
    """Return moments with scatter ``[K, D, D]``; missing numbers are filled under these means and covariances."""
    K, D = means.shape
    mass, sums, scatter = np.zeros(K), np.zeros((K, D)), np.zeros((K, D, D))
    filling = [_Filling.of(rows, dims, means, matrices) for rows, dims in patterns(X)]
    for part in filling:
        here = weights[part.rows].sum(axis=0)
        mass += here
        scatter[:, part.holes[:, None], part.holes] += here[:, None, None] * part.rest
        for shares, values in part.blocks(X, weights):
            sums += (shares[:, None] @ values)[:, 0]
    wide = np.repeat(mass[:, None], D, axis=1)
    around = middle(wide, sums)
    for part in filling:  # a second pass, around the new means: nothing cancels
        for shares, values in part.blocks(X, weights):
            away = values - around[:, None]  # [K, ROWS, D]
            scatter += np.swapaxes(away * shares[:, :, None], 1, 2) @ away
    return GaussianStatistics(wide, around, (scatter + np.swapaxes(scatter, 1, 2)) / 2)


@dataclass(frozen=True, eq=False)
class _Filling:
    """How rows with the same numbers missing are completed.

    Attributes:
        rows: which they are.
        seen, holes: dimensions that are there and that are missing, ``[o]`` and ``[m]``.
        means: ``[K, D]``.
        slopes: ``[K, o, m]``, Σ_oo⁻¹ Σ_om of each state.
        rest: ``[K, m, m]``, the covariance of what is missing given what is seen.
    """

    rows: IntArray
    seen: IntArray
    holes: IntArray
    means: Float64Array
    slopes: Float64Array
    rest: Float64Array

    @classmethod
    def of(cls, rows: IntArray, seen: IntArray, means: Float64Array, matrices: Float64Array) -> _Filling:
        holes = np.setdiff1d(np.arange(means.shape[1]), seen)
        cross = matrices[:, seen[:, None], holes]
        slopes = np.linalg.solve(matrices[:, seen[:, None], seen], cross).astype(np.float64, copy=False)
        rest = matrices[:, holes[:, None], holes] - np.swapaxes(cross, 1, 2) @ slopes
        return cls(rows, seen, holes, means, slopes, rest)

    def blocks(self, X: Float64Array, weights: Float64Array) -> Iterator[tuple[Float64Array, Float64Array]]:
        """Yield weights ``[K, n]`` and completed rows ``[K, n, D]`` (``[1, n, D]`` where nothing is missing)."""
        for first in range(0, len(self.rows), ROWS):
            rows = self.rows[first : first + ROWS]
            values = X[rows][None]
            if len(self.holes):
                away = values[..., self.seen] - self.means[:, None, self.seen]
                values = np.repeat(values, len(self.means), axis=0)
                values[..., self.holes] = self.means[:, None, self.holes] + away @ self.slopes
            yield np.ascontiguousarray(weights[rows].T), values
