"""Where EM begins: k-means++ centres (Arthur and Vassilvitskii 2007) and some steps of Lloyd's algorithm.

Every dimension is scaled to variance 1 first, and a missing number counts as its dimension's mean. Of large data
`drawn_rows` are looked at, `MOST_ROWS` of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tagline.types import Float64Array, IntArray

MOST_ROWS = 20_000
_STEPS = 20  # of Lloyd's algorithm


@dataclass(frozen=True, eq=False)
class Clusters:
    """Groups of observations that lie close together.

    Attributes:
        centres: ``[K, D]``.
        within: ``[D]``, the variance around the centres; 0 where a dimension is constant.
        means, variances: ``[D]``, of all observations; 0 without any.
    """

    centres: Float64Array
    within: Float64Array
    means: Float64Array
    variances: Float64Array

    def nearest(self, X: Float64Array) -> IntArray:
        """Return the cluster that each row ``[N, D]`` is nearest to; a missing number counts as the mean."""
        scale = np.sqrt(np.where(self.variances > 0, self.variances, 1.0))
        points = np.where(np.isnan(X), self.means, X) - self.means
        return _nearest(points / scale, (self.centres - self.means) / scale)


def drawn_rows(count: int, random: np.random.Generator) -> IntArray:
    """Choose the rows that a start looks at: all of them, or `MOST_ROWS`, ascending."""
    if count <= MOST_ROWS:
        return np.arange(count)
    return np.sort(random.choice(count, MOST_ROWS, replace=False))


def find_clusters(X: Float64Array, num_clusters: int, random: np.random.Generator) -> Clusters:
    """Return K clusters of the rows ``[N, D]``; NaN is missing. Centres that would coincide are moved apart."""
    rows = X[~np.isnan(X).all(axis=1)]
    if not len(rows):
        rows = np.zeros((1, X.shape[1]))
    seen = ~np.isnan(rows)
    counts = np.maximum(seen.sum(axis=0), 1)
    means = np.where(seen, rows, 0.0).sum(axis=0) / counts
    away = np.where(seen, rows - means, 0.0)
    variances = (away**2).sum(axis=0) / counts
    spread = np.sqrt(np.where(variances > 0, variances, 1.0))
    points = away / spread
    centres, nearest = _lloyd(points, _seeds(points, num_clusters, random))
    within = (np.where(seen, points - centres[nearest], 0.0) ** 2).sum(axis=0) / counts
    return Clusters(means + spread * centres, spread**2 * within, means, variances)


def _seeds(points: Float64Array, num_clusters: int, random: np.random.Generator) -> Float64Array:
    """Draw centres one by one, each with probability proportional to its squared distance from those before it."""
    centres = [points[random.integers(len(points))]]
    distances = ((points - centres[0]) ** 2).sum(axis=1)
    while len(centres) < num_clusters:
        total = distances.sum()
        if total > 0:
            cumulative = np.cumsum(distances)
            drawn = np.searchsorted(cumulative, random.random() * cumulative[-1], side="right")
            place = min(int(drawn), len(points) - 1)
            centre = points[place]
        else:  # fewer different points than clusters
            centre = points[random.integers(len(points))] + 0.5 * random.standard_normal(points.shape[1])
        centres.append(centre)
        distances = np.minimum(distances, ((points - centre) ** 2).sum(axis=1))
    return np.stack(centres)


def _lloyd(points: Float64Array, centres: Float64Array) -> tuple[Float64Array, IntArray]:
    nearest = _nearest(points, centres)
    for _ in range(_STEPS):
        counts = np.bincount(nearest, minlength=len(centres))[:, None]
        sums = np.stack([np.bincount(nearest, column, len(centres)) for column in points.T], axis=1)
        centres = np.where(counts > 0, sums / np.maximum(counts, 1), centres)
        before, nearest = nearest, _nearest(points, centres)
        if np.array_equal(before, nearest):
            break
    return centres, nearest


def _nearest(points: Float64Array, centres: Float64Array) -> IntArray:
    distances = (centres**2).sum(axis=1) - 2 * (points @ centres.T)
    return np.asarray(distances.argmin(axis=1))
