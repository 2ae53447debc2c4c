"""Batches: every sentence once, budgets kept, little padding; making them ahead in a thread."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline.errors import InputError
from tagline.training.neural.batching import bucketed, loaded

LENGTHS = st.lists(st.integers(0, 200), max_size=80)
BUDGETS = st.none() | st.integers(1, 300)


@given(LENGTHS, st.integers(1, 9), BUDGETS, st.none() | st.integers(0, 5), st.integers(1, 5))
def test_every_sentence_once_within_budgets(
    lengths: list[int], batch_size: int, max_tokens: int | None, seed: int | None, parts: int
) -> None:
    rng = None if seed is None else np.random.default_rng(seed)
    batches = bucketed(lengths, batch_size=batch_size, max_tokens=max_tokens, rng=rng, parts=parts)
    assert sorted(number for batch in batches for number in batch) == list(range(len(lengths)))
    for batch in batches:
        assert batch.dtype == np.int64
        assert len(batch)
        for part in range(parts):
            share = batch[part::parts]
            assert len(share) <= batch_size
            if max_tokens is not None and len(share) > 1:
                assert len(share) * max(lengths[number] for number in share) <= max_tokens


@given(st.lists(st.integers(0, 12), max_size=40), st.integers(1, 9), st.none() | st.integers(1, 40))
def test_batches_are_as_full_as_they_can_be(lengths: list[int], batch_size: int, max_tokens: int | None) -> None:
    batches = bucketed(lengths, batch_size=batch_size, max_tokens=max_tokens)
    flat = [lengths[number] for batch in batches for number in batch]
    assert flat == sorted(lengths)
    for batch, following in itertools.pairwise(batches):
        cost = (len(batch) + 1) * lengths[following[0]]
        assert len(batch) == batch_size or (max_tokens is not None and cost > max_tokens)


def test_epochs_differ_and_seeds_repeat() -> None:
    lengths = np.random.default_rng(0).integers(1, 50, 200)

    def drawn(seed: int) -> list[list[int]]:
        return [batch.tolist() for batch in bucketed(lengths, batch_size=8, rng=np.random.default_rng(seed))]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    common = {frozenset(batch) for batch in drawn(1)} & {frozenset(batch) for batch in drawn(2)}
    assert len(common) <= 0.1 * len(drawn(1))
    longest = [lengths[batch].max() for batch in drawn(1)]
    assert longest != sorted(longest)


def test_little_is_padding_and_nothing_of_the_caller_is_changed() -> None:
    lengths = np.clip(np.random.default_rng(0).lognormal(2.4, 0.75, 14_000), 1, 113).astype(np.int64)
    before = lengths.copy()
    batches = bucketed(lengths, batch_size=32, rng=np.random.default_rng(0))
    cells = sum(len(batch) * int(lengths[batch].max()) for batch in batches)
    assert np.array_equal(lengths, before)
    assert 1 - lengths.sum() / cells < 0.06


@pytest.mark.parametrize(
    ("lengths", "options", "place"),
    [
        ([[1]], {}, r"^lengths: "),
        ([1.5], {}, r"^lengths: "),
        ([-1], {}, r"^lengths: "),
        ([1], {"batch_size": 0}, r"^batch_size: "),
        ([1], {"max_tokens": 0}, r"^max_tokens: "),
        ([1], {"parts": 0}, r"^parts: "),
    ],
)
def test_bad_arguments(lengths: Sequence[float], options: dict[str, int], place: str) -> None:
    with pytest.raises(InputError, match=place):
        bucketed(lengths, **options)


@pytest.mark.parametrize("threaded", [False, True])
def test_loaded_keeps_the_order(threaded: bool) -> None:
    names: set[str] = set()

    def load(item: int) -> int:
        names.add(threading.current_thread().name)
        time.sleep(0.001 * (item % 3))
        return item * item

    assert list(loaded(load, range(20), threaded=threaded)) == [item * item for item in range(20)]
    assert any(name.startswith("tagline-batches") for name in names) is threaded


@pytest.mark.parametrize("threaded", [False, True])
def test_loaded_raises_where_the_result_would_come_and_leaves_no_thread(threaded: bool) -> None:
    before = threading.active_count()
    batches = loaded(lambda item: 6 // (item - 3), range(9), threaded=threaded)
    assert [next(batches) for _ in range(3)] == [-2, -3, -6]
    with pytest.raises(ZeroDivisionError):
        next(batches)
    assert threading.active_count() == before
    abandoned = loaded(lambda item: item, range(9), threaded=threaded)
    assert next(abandoned) == 0
    abandoned.close()
    assert threading.active_count() == before


def test_any_batch_size_costs_what_there_is() -> None:
    assert [batch.tolist() for batch in bucketed([2, 1], batch_size=10**15, parts=3)] == [[1, 0]]
