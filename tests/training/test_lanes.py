"""Sums over lanes: any branch of the tree may be added up anywhere, and the whole has the same bits."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline import compiled
from tagline.features.attributes import Attributes, Features
from tagline.training.lanes import Branch, Tree, branches, lane_count, lane_offsets
from tagline.training.likelihood import Likelihood, Part, Targets

from .problems import make_problem


def cut(problem: Any, first: int, last: int) -> tuple[Features, Targets]:
    """Sentences first to last − 1 of a problem."""
    f, t = problem.features, problem.targets
    begin, end = f.offsets[first], f.offsets[last]

    def rows(attributes: Attributes | None) -> Attributes | None:
        if attributes is None:
            return None
        low, high = attributes.offsets[begin], attributes.offsets[end]
        values = None if attributes.values is None else np.ascontiguousarray(attributes.values[low:high])
        return Attributes(attributes.offsets[begin : end + 1] - low, attributes.ids[low:high], values)

    states = rows(f.states)
    assert states is not None
    features = Features(f.offsets[first : last + 1] - begin, states, rows(f.edges))
    return features, Targets(t.labels[begin:end], None, None if t.weights is None else t.weights[first:last])


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("values", [False, True], ids=["", "values"])
@pytest.mark.parametrize("lanes", [1, 4, 32])  # 32 are more than are held at once
@pytest.mark.parametrize("cuts", [(0, 1), (0, 1 / 4, 1), (0, 3 / 8, 5 / 8, 1)], ids=["one", "two", "three"])
def test_parts_have_the_bits_of_the_whole(precision: str, values: bool, lanes: int, cuts: tuple[float, ...]) -> None:
    rng = np.random.default_rng(lanes)
    lengths = tuple(rng.integers(1, 30, 700).tolist())
    problem = make_problem(3, L=5, A=9, lengths=lengths, values=values, ends=True, edges=lanes == 4)
    s, f = problem.structure, problem.features
    offsets = lane_offsets(f.offsets, lanes)
    whole = Likelihood(s, f, problem.targets, None, precision, part=Part(offsets))
    weights = rng.normal(size=whole.size)
    counts = np.bincount(f.states.ids, minlength=s.num_attributes).astype(np.int64)
    assert counts.max() >= 2000  # rows that are summed in float64 by their count in the whole corpus
    tree, observed = Tree(lanes), Tree(lanes)
    places = [round(lanes * share) for share in cuts]
    for first, last in itertools.pairwise(places):
        if first == last:
            continue
        features, targets = cut(problem, offsets[first], offsets[last])
        part = Part(offsets[first : last + 1] - offsets[first], counts, f.num_tokens)
        likelihood = Likelihood(s, features, targets, None, precision, part=part)
        for branch in branches(first, last):
            own = branch.first - first, branch.count
            tree.add(branch, likelihood.core.expected(weights, False, *own))
            observed.add(branch, (likelihood.core.observed_by(*own),))
        with pytest.raises(ValueError, match=r"^likelihood: "):
            likelihood(weights)
    value, gradient = tree.total
    expected = whole(weights)
    assert value == expected[0]
    assert (gradient - observed.total[0]).tobytes() == expected[1].tobytes()


@given(st.integers(0, 100), st.integers(1, 100))
def test_branches_cover_lanes_once(first: int, count: int) -> None:
    parts = list(branches(first, first + count))
    covered = [lane for part in parts for lane in range(part.first, part.first + part.count)]
    assert covered == list(range(first, first + count))
    assert all(part.first % part.count == 0 and part.count & (part.count - 1) == 0 for part in parts)


@given(st.permutations(range(8)))
def test_the_order_of_answers_does_not_matter(order: list[int]) -> None:
    numbers = np.random.default_rng(0).normal(size=(8, 3)) * 10.0 ** np.arange(8)[:, None]
    tree = Tree(8)
    for lane in order:
        tree.add(Branch(lane), (numbers[lane].copy(),))
    pairs = numbers[::2] + numbers[1::2]
    fours = pairs[::2] + pairs[1::2]
    assert tree.total[0].tobytes() == (fours[0] + fours[1]).tobytes()


@given(st.lists(st.integers(0, 50), min_size=1, max_size=60), st.sampled_from([1, 2, 8, 16]))
def test_lanes_cover_all_sentences(lengths: list[int], count: int) -> None:
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    lanes = lane_offsets(offsets, count)
    assert (lanes[0], lanes[-1], len(lanes)) == (0, len(lengths), count + 1)
    assert (np.diff(lanes) >= 0).all()


def test_the_number_of_lanes() -> None:
    counts = [lane_count(tokens) for tokens in range(0, 10_000_000, 10_000)]
    assert counts == sorted(counts)
    assert all(count & (count - 1) == 0 for count in counts)
    assert lane_count(0) == 1


def test_bad_lanes_are_refused() -> None:
    problem = make_problem(1, lengths=(4, 3, 2))
    assert compiled.core is not None
    for lanes in ([0], [0, 1, 2, 3], [0, 2], [0, 4, 3]):
        with pytest.raises(ValueError, match=r"^lanes: "):
            Likelihood(problem.structure, problem.features, problem.targets, part=Part(np.array(lanes)))
    likelihood = Likelihood(problem.structure, problem.features, problem.targets, part=Part(np.array([0, 2, 3])))
    for branch in ((0, 3), (1, 2), (-1, 1), (0, 0), (2, 1)):
        with pytest.raises(ValueError, match=r"^lanes: "):
            likelihood.core.expected(np.zeros(likelihood.size), False, *branch)
