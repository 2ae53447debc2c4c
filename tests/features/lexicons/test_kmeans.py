"""k-means: groups that are plain to see, against trying all assignments of a few words; what cannot be meant."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tagline.errors import InputError
from tagline.features.lexicons.embeddings import Embeddings
from tagline.features.lexicons.kmeans import cluster_vectors


def points(groups: int, each: int, seed: int = 0) -> Embeddings:
    rng = np.random.default_rng(seed)
    centres = np.linalg.qr(rng.normal(size=(groups, groups)))[0]
    vectors = np.repeat(centres, each, 0) * rng.uniform(1, 9, (groups * each, 1)) + rng.normal(
        0, 0.05, (groups * each, groups)
    )
    return Embeddings(tuple(f"w{n}" for n in range(groups * each)), vectors.astype(np.float32))


def test_groups_are_found() -> None:
    table = cluster_vectors(points(3, 40), 3, seed=2)
    found = [{table.of(f"w{n}") for n in range(40 * g, 40 * g + 40)} for g in range(3)]
    assert [len(names) for names in found] == [1, 1, 1]
    assert set().union(*found) == {"0", "1", "2"}


def test_no_assignment_of_a_few_words_is_better() -> None:
    embeddings = points(2, 4)
    unit = embeddings.vectors / np.linalg.norm(embeddings.vectors, axis=1, keepdims=True)

    def nearness(labels: tuple[int, ...]) -> float:
        return float(sum(np.linalg.norm(unit[np.array(labels) == k].sum(0)) for k in (0, 1)))

    table = cluster_vectors(embeddings, 2, seed=1)
    mine = tuple(int(table.of(word) or 0) for word in embeddings.words)
    assert nearness(mine) >= max(map(nearness, itertools.product((0, 1), repeat=8))) - 1e-5


def test_every_cluster_has_words_and_seeds_repeat() -> None:
    embeddings = points(4, 25)
    table = cluster_vectors(embeddings, 30, passes=50)
    assert len(table.names) == 30
    assert cluster_vectors(embeddings, 30, passes=50) == table
    passes: list[tuple[int, int]] = []
    cluster_vectors(embeddings, 4, passes=3, progress=lambda *at: passes.append(at))
    assert passes[-1][1] == 3
    assert len(cluster_vectors(Embeddings(("a", "b"), np.zeros((2, 3), np.float32)), 1).names) == 1


def test_errors() -> None:
    with pytest.raises(InputError, match=r"^count: "):
        cluster_vectors(points(2, 2), 5)
    with pytest.raises(InputError, match=r"^passes: "):
        cluster_vectors(points(2, 2), 2, passes=0)


def test_a_seed_below_zero_is_refused() -> None:
    with pytest.raises(InputError, match=r"^seed: "):
        cluster_vectors(Embeddings(("a", "b"), np.eye(2, dtype=np.float32)), 1, seed=-1)
