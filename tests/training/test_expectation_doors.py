"""Expected counts of batches, on threads, of input that is refused."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tagline
from tagline.chain import symbols
from tagline.chain.symbols import SymbolChain
from tagline.errors import InputError, NoPathError
from tagline.training.expectations import (
    best_symbol_expectations,
    expectations,
    gaussian_expectations,
    symbol_expectations,
)

from .expectation_cases import NEGATIVE, Model, check, log, make_model, naive_counts

# Batches, threads, doors.


def test_more_symbols_than_tokens(variant):
    model = make_model(np.random.default_rng(7), 3, 4000, [30] * 20)
    check(model.in_every_way()[1], naive_counts(model.rows, *model.moves), model.ids, 4000)


@pytest.mark.parametrize("lengths", [[], [0], [0, 0, 0]])
def test_nothing_at_all(variant, lengths):
    model = make_model(np.random.default_rng(0), 3, 2, lengths)
    for counts in [*model.in_every_way(), gaussian_expectations(np.zeros((0, 2)), *np.ones((2, 3, 2)), *model.moves)]:
        np.testing.assert_array_equal(counts.log_likelihood, np.zeros(len(lengths)))
        assert not counts.start.any()
        assert not counts.transitions.any()


def everything(model: Model) -> list[Any]:
    several = model.in_every_way()
    X = np.stack([np.sin(np.arange(len(model.ids))), np.cos(np.arange(len(model.ids)))], axis=1)
    K = len(model.start)
    means = np.linspace(-1, 1, 2 * K).reshape(K, 2)
    by_moments = gaussian_expectations(X, means, np.ones((K, 2)), *model.moves)
    best = symbols.viterbi(model.chained)
    parts = [part for counts in [*several, by_moments] for part in vars(counts).values()]
    return [*[part for part in parts if isinstance(part, np.ndarray)], *vars(by_moments.moments).values(), best.labels]


def test_the_same_bytes_for_any_number_of_threads():
    rng = np.random.default_rng(8)
    model = make_model(rng, 10, 12, rng.integers(0, 60, 300))
    before = tagline.threads()
    results = []
    for count in (1, 2, 3, 7):
        tagline.set_threads(count)
        results.append([part.tobytes() for part in everything(model)])
    tagline.set_threads(before)
    assert all(result == results[0] for result in results)


@pytest.mark.parametrize("zeros", [0.0, 0.5])
def test_a_sequence_does_not_depend_on_its_company(zeros):
    rng = np.random.default_rng(9)
    model = make_model(rng, 11, 5, rng.integers(0, 30, 40), zeros=zeros)
    together = expectations(model.rows, *model.moves)
    for b, (first, last) in enumerate(itertools.pairwise(model.offsets)):
        alone = expectations(model.rows[first:last], np.array([0, last - first]), model.start, model.transitions)
        assert alone.log_likelihood[0] == together.log_likelihood[b]
        assert alone.nodes.tobytes() == together.nodes[first:last].tobytes()


def test_the_arrays_of_the_caller_stay_as_they_are(variant):
    model = make_model(np.random.default_rng(10), 3, 4, [5, 6])
    allowed = np.ones((11, 3), bool)
    X, means, variances = np.ones((11, 2)), np.zeros((3, 2)), np.ones((3, 2))
    given_arrays = [model.table, model.ids, *model.moves, allowed, X, means, variances]
    before = [array.copy() for array in given_arrays]
    for array in given_arrays:
        array.flags.writeable = False
    model.in_every_way(allowed)
    best_symbol_expectations(model.chained, allowed)
    gaussian_expectations(X, means, variances, *model.moves)
    for array, copy in zip(given_arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_strided_arrays_are_taken():
    model = make_model(np.random.default_rng(11), 4, 6, [7, 8])
    wanted = expectations(model.rows, *model.moves)
    counts = expectations(
        np.asfortranarray(model.rows), model.offsets, model.start, np.asfortranarray(model.transitions)
    )
    np.testing.assert_array_equal(counts.nodes, wanted.nodes)
    spread = np.repeat(model.table, 2, axis=0)[::2]
    other = symbol_expectations(replace(model, table=spread).chained)
    np.testing.assert_allclose(other.transitions, wanted.transitions, rtol=1e-12)


def test_impossible_observations_are_named(variant):
    table = log(np.array([[1.0, 1.0], [0.0, 0.0]]))
    ids, offsets = np.array([0, 0, 1, 0]), np.array([0, 1, 3, 4])
    model = Model(table, ids, offsets, np.log([0.5, 0.5]), np.log([[0.5, 0.5], [0.5, 0.5]]))
    with pytest.raises(NoPathError, match="1: "):
        expectations(model.rows, *model.moves)
    with pytest.raises(NoPathError, match="1: "):
        symbol_expectations(model.chained)
    with pytest.raises(NoPathError, match="1: "):
        best_symbol_expectations(model.chained)


def test_the_message_about_impossible_observations():
    rows = np.full((2, 2), NEGATIVE)
    with pytest.raises(NoPathError) as caught:
        expectations(rows, np.array([0, 0, 2]), np.zeros(2), np.zeros((2, 2)))
    assert str(caught.value).startswith("sentence 1: ")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("K", [2, 9])
def test_what_is_no_score_is_refused(K, bad):
    rows = np.zeros((40, K))
    rows[33, K - 1] = bad
    offsets, start, moves = np.array([0, 30, 40]), np.zeros(K), np.zeros((K, K))
    with pytest.raises(InputError, match=r"^emissions: "):
        expectations(rows, offsets, start, moves)
    with pytest.raises(InputError, match=r"^log_start: "):
        expectations(np.zeros((40, K)), offsets, np.full(K, bad), moves)
    with pytest.raises(InputError, match=r"^log_transitions: "):
        expectations(np.zeros((40, K)), offsets, start, np.full((K, K), bad))
    with pytest.raises(InputError, match=r"^table: "):
        symbol_expectations(SymbolChain(rows, np.zeros(40, np.int64), moves, start, None, offsets))
    with pytest.raises(InputError, match=r"(sequence|sentence) 1\b"):
        gaussian_expectations(rows, np.zeros((2, K)), np.ones((2, K)), offsets, np.zeros(2), np.zeros((2, 2)))


@pytest.mark.parametrize("bad", [-2, 4, 2**40])
def test_symbols_beyond_the_table_are_refused(bad):
    ids = np.array([0, 3, bad])
    with pytest.raises(InputError, match=r"^ids\[2\]: "):
        symbol_expectations(SymbolChain(np.zeros((4, 2)), ids, np.zeros((2, 2)), np.zeros(2), None, np.array([0, 3])))


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"offsets": np.array([0, 4])}, r"^offsets: "),
        ({"offsets": np.array([0, 2, 1, 3])}, r"^offsets\[2\]: "),
        ({"start": np.zeros(3)}, r"^start: "),
        ({"transitions": np.zeros((2, 3))}, r"^transitions: "),
        ({"allowed": np.ones((3, 3), bool)}, r"^allowed: "),
    ],
)
def test_shapes_are_checked(change, place):
    arrays = {
        "table": np.zeros((4, 2)),
        "ids": np.zeros(3, np.int64),
        "transitions": np.zeros((2, 2)),
        "start": np.zeros(2),
        "end": None,
        "offsets": np.array([0, 3]),
        "allowed": None,
        **change,
    }
    allowed = arrays.pop("allowed")
    with pytest.raises(InputError, match=place):
        symbol_expectations(SymbolChain(**arrays), allowed)
