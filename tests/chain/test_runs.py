"""Sentences that lie among rows, in the compiled core, against NumPy.

Only NumPy and the core are needed: the tests also run on the sanitized core.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tagline import compiled

if compiled.core is None:
    pytest.skip("needs the compiled core", allow_module_level=True)

core: Any = compiled.core


@st.composite
def runs(draw: st.DrawFn) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """First rows, lengths, and the number of rows; some sentences are empty, some rows are of no sentence."""
    first, lengths, row = [], [], 0
    for length in draw(st.lists(st.integers(0, 4), max_size=6)):
        row += draw(st.integers(0, 2))
        first.append(row)
        lengths.append(length)
        row += length
    order = draw(st.permutations(range(len(first))))
    rows = row + draw(st.integers(0, 2))
    return np.array(first, np.int64)[order], np.array(lengths, np.int64)[order], rows


def inside(first: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows of the tokens, sentence after sentence."""
    parts = [np.arange(at, at + length) for at, length in zip(first, lengths, strict=True)]
    return np.concatenate([np.zeros(0, np.int64), *parts])


@given(runs(), st.sampled_from([np.float32, np.float64, np.int64]), st.integers(0, 2))
def test_rows_together_and_back(case: Any, kind: Any, axes: int) -> None:
    first, lengths, rows = case
    found, places = core.Runs(first, lengths, rows), inside(first, lengths)
    values = np.arange(rows * 3**axes).reshape(rows, *[3] * axes).astype(kind)
    packed = found.pack(values)
    assert packed.dtype == kind
    np.testing.assert_array_equal(packed, values[places])
    np.testing.assert_array_equal(found.offsets, np.concatenate([[0], np.cumsum(lengths)]))
    assert found.dense == (places.tolist() == list(range(rows)))
    back = np.full_like(values, -7)
    back[places] = values[places]
    np.testing.assert_array_equal(found.put(packed, -7), back)


@given(runs(), st.sampled_from([np.float32, np.float64]), st.integers(0, 2**32))
def test_rows_times_the_factor_of_their_sentence(case: Any, kind: Any, seed: int) -> None:
    first, lengths, rows = case
    rng = np.random.default_rng(seed)
    values, factors = rng.normal(size=(lengths.sum(), 2)).astype(kind), rng.normal(size=len(first))
    wanted = np.zeros((rows, 2), kind)
    wanted[inside(first, lengths)] = values * np.repeat(factors.astype(kind), lengths)[:, None]
    np.testing.assert_array_equal(core.Runs(first, lengths, rows).spread(values, factors), wanted)


@given(runs())
def test_lists_of_labels(case: Any) -> None:
    first, lengths, rows = case
    labels = np.arange(rows) % 5
    labels[np.setdiff1d(np.arange(rows), inside(first, lengths))] = -1
    wanted = [labels[at : at + length].tolist() for at, length in zip(first, lengths, strict=True)]
    assert core.Runs(first, lengths, rows).lists(labels, 5) == wanted


def test_many_rows_are_shared_among_threads() -> None:
    lengths = np.full(64, 3000, np.int64)
    first = np.arange(64) * 3001
    values = np.random.default_rng(0).normal(size=(64 * 3001, 6)).astype(np.float32)
    found, places = core.Runs(first, lengths, len(values)), inside(first, lengths)
    np.testing.assert_array_equal(found.pack(values), values[places])
    assert (np.delete(found.put(found.pack(values), 9.0), places, axis=0) == 9).all()


@st.composite
def scored(draw: st.DrawFn) -> tuple[Any, dict[str, Any]]:
    """Where sentences lie; scores and labels, some of which are not as they should be."""
    first, lengths, rows = draw(runs())
    L = 3
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind, cubes = draw(st.sampled_from([np.float32, np.float64])), draw(st.booleans())
    arrays: dict[str, Any] = {
        "emissions": rng.normal(size=(rows, L)).astype(kind),
        "transitions": rng.normal(size=(rows, L, L) if cubes else (L, L)).astype(kind),
        "start": rng.normal(size=L).astype(kind),
        "end": rng.normal(size=L).astype(kind),
        "labels": rng.integers(0, L, rows) if draw(st.booleans()) else None,
    }
    for name in draw(st.lists(st.sampled_from(list(arrays)), max_size=2)):
        array = arrays[name]
        if array is None or not array.size:
            continue
        at = draw(st.integers(0, array.size - 1))
        array.reshape(-1)[at] = draw(st.sampled_from([-1, L, 2**40] if name == "labels" else [np.nan, np.inf, -np.inf]))
    return (first, lengths, rows), arrays


@given(scored())
def test_what_is_seen_of_scores_and_labels(case: Any) -> None:
    (first, lengths, rows), arrays = case
    places = inside(first, lengths)
    led = np.setdiff1d(places, first[lengths > 0])  # transitions into a first token are never read
    transitions, labels = arrays["transitions"], arrays["labels"]
    read = [
        arrays["emissions"][places],
        transitions if transitions.ndim == 2 else transitions[led],
        arrays["start"],
        arrays["end"],
    ]
    bad = any(np.isnan(part).any() or np.isposinf(part).any() for part in read)
    forbidden = any(np.isneginf(part).any() for part in read)
    wrong = labels is not None and ((labels[places] < 0) | (labels[places] >= 3)).any()
    assert core.Runs(first, lengths, rows).look(**arrays) == bad + 2 * forbidden + 4 * wrong


def test_rows_that_are_not_read_may_hold_anything() -> None:
    emissions, transitions, ends = np.zeros((5, 2)), np.zeros((5, 2, 2)), np.zeros(2)
    emissions[[0, 4]] = np.nan
    transitions[[0, 1, 4]] = np.nan  # that of row 1 leads into a first token
    found = core.Runs(np.array([1]), np.array([3]), 5)
    assert found.look(emissions, transitions, ends, ends, np.array([9, 0, 1, 0, -9])) == 0


@given(st.integers(0, 4), st.integers(0, 5), st.integers(0, 2**32), st.floats(0, 1))
def test_runs_of_a_mask(B: int, T: int, seed: int, share: float) -> None:
    kept = np.random.default_rng(seed).random((B, T)) < share
    found = core.runs_of(kept)
    steps = [np.flatnonzero(row) for row in kept]
    if any(len(row) and row[-1] - row[0] >= len(row) for row in steps):
        assert found is None
        return
    first, lengths = found
    assert lengths.tolist() == [len(row) for row in steps]
    assert all(at == b * T + row[0] for b, (at, row) in enumerate(zip(first, steps, strict=True)) if len(row))
    core.Runs(first, lengths, B * T)


@pytest.mark.parametrize(
    ("first", "lengths", "place"),
    [
        ([0, 3], [3, 3], r"^first, lengths: "),
        ([-1], [2], r"^first, lengths: "),
        ([0], [-1], r"^first, lengths: "),
        ([2**62], [2**62], r"^first, lengths: "),
        ([0, 1], [2], r"^lengths: "),
    ],
)
def test_rows_that_there_are_not(first: list[int], lengths: list[int], place: str) -> None:
    with pytest.raises(ValueError, match=place):
        core.Runs(np.array(first), np.array(lengths), 5)


def test_what_is_refused() -> None:
    found = core.Runs(np.array([1]), np.array([2]), 4)
    with pytest.raises(ValueError, match=r"^values: "):
        found.pack(np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"^values: "):
        found.put(np.zeros((3, 2)), 0.0)
    with pytest.raises(ValueError, match=r"^values: "):
        found.put(np.zeros((2, 2), np.int16), 0.0)
    with pytest.raises(ValueError, match=r"^values: "):
        found.spread(np.zeros(2, np.int64), np.ones(1))
    with pytest.raises(ValueError, match=r"^factors: "):
        found.spread(np.zeros(2), np.ones(2))
    with pytest.raises(ValueError, match=r"^labels: "):
        found.lists(np.array([0, 1, 2, 0]), 2)
    with pytest.raises(ValueError, match=r"^kept: "):
        core.runs_of(np.zeros((2, 2)))
    np.testing.assert_array_equal(found.pack(np.arange(8.0).reshape(2, 4).T), [[1, 5], [2, 6]])  # any strides
