"""k-means++: clusters that are there are found, the same seed finds the same, and hopeless data do no harm."""

from __future__ import annotations

import numpy as np
import pytest

from tagline.models.hmm.emissions import Gaussian, Mixture, Poisson
from tagline.models.hmm.emissions.starting import MOST_ROWS, find_clusters


def blobs(random: np.random.Generator, centres: np.ndarray, each: int) -> np.ndarray:
    return np.repeat(centres, each, axis=0) + 0.1 * random.normal(size=(each * len(centres), centres.shape[1]))


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e9])
def test_clusters_are_found_at_any_scale(scale: float) -> None:
    random = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [0.0, 9.0], [9.0, 0.0], [9.0, 9.0]])
    X = blobs(random, centres, 100) * [scale, 1.0]
    clusters = find_clusters(X, 4, random)
    found = clusters.centres / [scale, 1.0]
    for centre in centres:
        assert np.abs(found - centre).sum(axis=1).min() < 0.1
    np.testing.assert_allclose(clusters.within / [scale**2, 1.0], 0.01, rtol=0.3)
    np.testing.assert_allclose(clusters.means, X.mean(axis=0))
    np.testing.assert_allclose(clusters.variances, X.var(axis=0))
    nearest = clusters.nearest(X).reshape(4, 100)
    assert (nearest == nearest[:, :1]).all()


def test_the_seed_decides() -> None:
    X = np.random.default_rng(1).normal(size=(300, 2))
    one, two, three = (find_clusters(X, 5, np.random.default_rng(seed)).centres for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, three)


def test_missing_numbers_and_large_data() -> None:
    random = np.random.default_rng(2)
    X = blobs(random, np.array([[0.0, 5.0], [8.0, 5.0]]), MOST_ROWS)
    X[random.random(X.shape) < 0.1] = np.nan
    X[7] = np.nan
    clusters = find_clusters(X, 2, random)
    np.testing.assert_allclose(np.sort(clusters.centres[:, 0]), [0.0, 8.0], atol=0.5)
    np.testing.assert_allclose(clusters.means, np.nanmean(X, axis=0), rtol=0.05)
    assert np.isfinite(clusters.within).all()


@pytest.mark.parametrize("X", [np.zeros((0, 2)), np.full((3, 2), np.nan), np.ones((5, 2)), np.ones((1, 2))])
def test_more_clusters_than_points(X: np.ndarray) -> None:
    clusters = find_clusters(X, 4, np.random.default_rng(3))
    assert clusters.centres.shape == (4, 2)
    assert np.isfinite(clusters.centres).all()
    assert len(np.unique(clusters.centres, axis=0)) == 4


def test_starts_are_broad() -> None:
    """No state begins so narrow that others can never win its observations."""
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    emission = Gaussian.started(X, 2, np.random.default_rng(4))
    assert emission.covars.min() >= 1e-3 * X.var()
    mixed = Mixture.started(X, 2, np.random.default_rng(4), n_components=3)
    assert mixed.weights.shape == (2, 3)
    assert mixed.covars.min() >= 1e-3 * X.var()
    assert Poisson.started(X, 2, np.random.default_rng(5)).rates.min() > 0
