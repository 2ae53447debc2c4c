"""Segments and tags: every scheme writes a segmentation as one labelling and reads it back; sums run over tokens."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline import InputError
from tagline.chain.segments.types import listed
from tagline.models.semicrf.tags import SegmentTags
from tagline.ragged import offsets_of
from tagline.readers.rules import legal
from tests.chain.segments.enumeration import segmentations

SCHEMES = {
    "IOB2": ["B-X", "I-X", "B-Y", "I-Y", "O"],
    "IOE2": ["E-X", "I-X", "E-Y", "I-Y", "O"],
    "BIOES": ["B-X", "O", "S-Y"],
    "BMES-words": ["B", "M", "E", "S"],
}


def legal_ways(tags: SegmentTags, T: int, D: int) -> list[tuple[tuple[int, int, int], ...]]:
    outside = tags.num_types - 1 if tags.outside else -1
    return [
        way
        for way in segmentations(T, D, tags.num_types)
        if all(last - first == 1 or label != outside for first, last, label in way)
    ]


def arrays(way: tuple[tuple[int, int, int], ...], T: int) -> tuple[np.ndarray, np.ndarray]:
    labels, begins = np.zeros(T, np.int64), np.zeros(T, bool)
    for first, last, label in way:
        labels[first:last], begins[first] = label, True
    return labels, begins


@pytest.mark.parametrize("name", SCHEMES)
def test_every_labelling_is_one_segmentation(name: str) -> None:
    tags = SegmentTags.of(SCHEMES[name], name)
    rules, T = legal(tags.labels, name), 4
    labellings = {
        row
        for row in itertools.product(range(len(tags.labels)), repeat=T)
        if rules.start[row[0]] and rules.end[row[-1]] and all(rules.transitions[p] for p in itertools.pairwise(row))
    }
    written = set()
    for way in legal_ways(tags, T, T):
        row = tags.tags(*arrays(way, T), offsets_of([T]))
        labels, begins = tags.segmentation(row, offsets_of([T]))
        assert tuple(listed(labels, begins)) == way
        written.add(tuple(row.tolist()))
    assert written == labellings
    assert tags.labels == tuple(sorted(tags.labels))


def test_several_sentences_are_read_one_by_one() -> None:
    tags = SegmentTags.of(SCHEMES["IOE2"], "IOE2")
    names = ["I-X", "E-X", "O", "E-X", "I-Y", "E-Y"]
    row = np.array([tags.labels.index(name) for name in names])
    labels, begins = tags.segmentation(row, np.array([0, 3, 6]))
    assert begins.tolist() == [True, False, True, True, True, False]
    assert [tags.types[label] for label in labels] == ["X", "X", "O", "X", "Y", "Y"]
    np.testing.assert_array_equal(tags.tags(labels, begins, np.array([0, 3, 6])), row)


@given(seed=st.integers(0, 2**32 - 1), name=st.sampled_from(list(SCHEMES)), T=st.integers(1, 5), D=st.integers(1, 4))
def test_scores_of_tags_are_scores_of_segments(seed: int, name: str, T: int, D: int) -> None:
    tags = SegmentTags.of(SCHEMES[name], name)
    rng = np.random.default_rng(seed)
    emissions, amounts = rng.normal(size=(T, len(tags.labels))), rng.random((T, D, tags.num_types))
    allowed = rng.random(emissions.shape) < 0.7
    scores, legal_ones = tags.segment_scores(emissions, D), tags.legal_segments(allowed, D)
    sums = np.zeros(emissions.shape)
    for n, d, label in itertools.product(range(T), range(D), range(tags.num_types)):
        if d > n:
            amounts[n, d] = 0.0
            continue
        if tags.outside and label == tags.num_types - 1 and d:
            assert scores[n, d, label] == -np.inf
            assert not legal_ones[n, d, label]
            amounts[n, d, label] = 0.0
            continue
        way = (*((t, t + 1, label) for t in range(n - d)), (n - d, n + 1, label))
        row = tags.tags(*arrays(way, n + 1), offsets_of([n + 1]))
        inside = np.arange(n - d, n + 1)
        assert scores[n, d, label] == pytest.approx(emissions[inside, row[inside]].sum(), abs=1e-12)
        assert legal_ones[n, d, label] == allowed[inside, row[inside]].all()
        np.add.at(sums, (inside, row[inside]), amounts[n, d, label])
    np.testing.assert_allclose(tags.tag_sums(amounts), sums, rtol=0, atol=1e-12)


def test_schemes_that_need_neighbours_are_refused() -> None:
    for name in ("IO", "IOB1", "IOE1"):
        with pytest.raises(InputError, match=r"^scheme: "):
            SegmentTags.of(["O", "I-X"], name)
