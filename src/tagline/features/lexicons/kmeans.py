"""Clusters out of word vectors: k-means by the angle between vectors.

Every vector has length 1. The centres begin at words among the first ones of the file, which are the frequent ones,
each drawn in proportion to its squared distance from those drawn before (k-means++). Then each word goes to the centre
with the largest inner product, and each centre to the mean of its words, scaled to length 1, until nothing changes. A
centre that has lost its words goes to the word that is farthest from its own.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tagline.checks import check_whole
from tagline.errors import InputError
from tagline.features.lexicons.clusters import Clusters
from tagline.features.lexicons.embeddings import Embeddings, Vectors
from tagline.messages import message

BLOCK = 4096  # words
FIRST = 20  # times the number of clusters: as many words may be the first centres

Progress = Callable[[int, int], None]
"""Told how many steps are done, and how many there are at most."""


def cluster_vectors(
    embeddings: Embeddings, count: int, *, passes: int = 20, seed: int = 0, progress: Progress | None = None
) -> Clusters:
    """Make so many clusters of words by their vectors; clusters are numbered from 0.

    Arguments:
        count: of clusters, at most one a word.
        passes: over the words, at most.
        seed: of the first centres.
        progress: called after each pass.

    >>> vectors = np.array([[1, 0], [9, 1], [0, 1], [1, 8]], np.float32)
    >>> clusters = cluster_vectors(Embeddings(("Rome", "Oslo", "sings", "runs"), vectors), 2)
    >>> clusters.of("Rome") == clusters.of("Oslo"), clusters.of("Rome") == clusters.of("runs")
    (True, False)
    """
    check_whole("count", count, 1, wanted=message("1 or more"))
    check_whole("passes", passes, 1, wanted=message("1 or more"))
    check_whole("seed", seed, 0, wanted=message("0 or more"))
    words = len(embeddings.words)
    if count > words:
        raise InputError("count: expected at most {} clusters, one a word, got {}", words, count)
    vectors = _scaled(embeddings.vectors)
    centres, labels = _first_centres(vectors[: FIRST * count], count, seed), np.full(words, -1)
    for done in range(passes):
        before, (labels, nearness) = labels, _nearest(vectors, centres)
        if progress is not None:
            progress(done + 1, passes)
        if (labels == before).all():
            break
        centres = _means(vectors, labels, centres, nearness)
    return Clusters({word: int(number) for word, number in zip(embeddings.words, labels, strict=True)})


def _scaled(vectors: Vectors) -> Vectors:
    """Vectors of length 1; those that are 0 stay."""
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)


def _first_centres(vectors: Vectors, count: int, seed: int) -> Vectors:
    """Draw words that are far from one another."""
    rng = np.random.default_rng(seed)
    drawn = [int(rng.integers(len(vectors)))]
    distances = np.full(len(vectors), np.inf)
    for _ in range(count - 1):
        distances = np.minimum(distances, np.maximum(0.0, 1.0 - vectors @ vectors[drawn[-1]]))  # half the square
        distances[drawn[-1]] = 0.0
        total = np.cumsum(distances)
        place = int(np.searchsorted(total, rng.random() * total[-1], "right"))
        drawn.append(min(place, len(vectors) - 1))
    return vectors[drawn]


def _nearest(vectors: Vectors, centres: Vectors) -> tuple[NDArray[np.int64], Vectors]:
    """Return the centre of each word, and their inner product."""
    labels, nearness = np.empty(len(vectors), np.int64), np.empty(len(vectors), np.float32)
    for first in range(0, len(vectors), BLOCK):
        products = vectors[first : first + BLOCK] @ centres.T  # [words, clusters]
        best = labels[first : first + BLOCK] = products.argmax(1)
        nearness[first : first + BLOCK] = products[np.arange(len(best)), best]
    return labels, nearness


def _means(vectors: Vectors, labels: NDArray[np.int64], centres: Vectors, nearness: Vectors) -> Vectors:
    """Return the centres of words that are sorted into clusters."""
    order = np.argsort(labels, kind="stable")
    present, begins = np.unique(labels[order], return_index=True)
    means = np.empty_like(centres)
    means[present] = _scaled(np.add.reduceat(vectors[order].astype(np.float64), begins).astype(np.float32))
    missing = np.setdiff1d(np.arange(len(centres)), present)
    means[missing] = vectors[np.argsort(nearness, kind="stable")[: len(missing)]]
    return means
