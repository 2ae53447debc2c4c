"""Intervals and tests against enumeration of every resample and every swap."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tagline.errors import InputError
from tagline.evaluation import significance
from tagline.evaluation.significance import METRICS, bootstrap_interval, compare, sentence_counts
from tagline.evaluation.span_scores import evaluate_spans

from .cases import random_pair

ONE = np.array([[1, 2, 3], [0, 1, 1], [2, 2, 2], [0, 0, 2], [1, 3, 2], [1, 1, 1]])
TWO = np.array([[2, 3, 3], [1, 1, 1], [1, 2, 2], [0, 1, 2], [2, 2, 2], [1, 1, 1]])
# Sentences that repeat: the draws must weigh equal rows by how many sentences they stand for.
ONE_AGAIN = np.array([[1, 2, 3]] * 4 + [[0, 1, 1], [2, 2, 2]])
TWO_AGAIN = np.array([[2, 3, 3]] * 3 + [[1, 3, 3], [0, 2, 1], [1, 2, 2]])
CASES = pytest.mark.parametrize(("one", "two"), [(ONE, TWO), (ONE_AGAIN, TWO_AGAIN)], ids=["distinct", "repeated"])
DRAWS = 40_000


def metric_of(counts: np.ndarray, metric: str) -> float:
    correct, found, gold = counts.tolist()
    p, r = correct / found if found else 0.0, correct / gold if gold else 0.0
    return {"precision": p, "recall": r, "f1": 2 * correct / (found + gold) if found + gold else 0.0}[metric]


def noise(p: float) -> float:
    """Four standard deviations of a share of DRAWS draws."""
    return 4 * (p * (1 - p) / DRAWS) ** 0.5 + 2 / DRAWS


def test_counts_of_sentences_sum_to_the_scores() -> None:
    pair = random_pair(seed=5, sentences=200, letters="BIE")
    counts = sentence_counts(*pair)
    overall = evaluate_spans(*pair).overall
    assert counts.shape == (200, 3)
    assert counts.sum(axis=0).tolist() == [overall.correct, overall.found, overall.gold]
    for b in (0, 57, 199):
        alone = evaluate_spans(pair[0][b : b + 1], pair[1][b : b + 1]).overall
        assert counts[b].tolist() == [alone.correct, alone.found, alone.gold]


@CASES
@pytest.mark.parametrize("metric", METRICS)
def test_interval_is_that_of_all_resamples(metric: str, one: np.ndarray, two: np.ndarray) -> None:
    rows = one[:5]
    everything = np.sort([metric_of(rows[list(chosen)].sum(axis=0), metric) for chosen in product(range(5), repeat=5)])
    found = bootstrap_interval(rows, metric=metric, level=0.8, resamples=DRAWS, seed=7)
    assert found.value == metric_of(rows.sum(axis=0), metric)
    for edge, share in ((found.low, 0.1), (found.high, 0.9)):
        # An end of the interval is a quantile: at most `share` of all resamples lie below it, at least that many to it.
        assert np.mean(everything < edge - 1e-12) <= share + noise(share)
        assert np.mean(everything <= edge + 1e-12) >= share - noise(share)


@CASES
@pytest.mark.parametrize("metric", METRICS)
def test_randomisation_is_that_of_all_swaps(metric: str, one: np.ndarray, two: np.ndarray) -> None:
    observed = metric_of(two.sum(axis=0), metric) - metric_of(one.sum(axis=0), metric)
    extreme = 0
    for swaps in product((False, True), repeat=len(one)):
        swapped = np.array(swaps)[:, None]
        a, b = np.where(swapped, two, one).sum(axis=0), np.where(swapped, one, two).sum(axis=0)
        extreme += abs(metric_of(b, metric) - metric_of(a, metric)) >= abs(observed) - 1e-12
    exact = extreme / 2 ** len(one)
    found = compare(one, two, metric=metric, resamples=DRAWS, seed=11)
    assert found.p_value == pytest.approx(exact, abs=noise(exact))
    assert found.difference == pytest.approx(observed, abs=1e-15)
    assert 0.05 < exact < 0.95  # the case tells something


@CASES
@pytest.mark.parametrize("metric", METRICS)
def test_paired_bootstrap_is_that_of_all_resamples(metric: str, one: np.ndarray, two: np.ndarray) -> None:
    one, two = one[:5], two[:5]
    observed = metric_of(two.sum(axis=0), metric) - metric_of(one.sum(axis=0), metric)
    moved = []
    for chosen in map(list, product(range(5), repeat=5)):
        moved.append(metric_of(two[chosen].sum(axis=0), metric) - metric_of(one[chosen].sum(axis=0), metric) - observed)
    exact = float(np.mean(np.abs(moved) >= abs(observed) - 1e-12))
    found = compare(one, two, metric=metric, method="bootstrap", resamples=DRAWS, seed=13)
    assert found.p_value == pytest.approx(exact, abs=noise(exact))


@pytest.mark.parametrize("method", significance.METHODS)
def test_equal_outputs_do_not_differ_and_p_is_never_zero(method: str) -> None:
    assert compare(ONE, ONE, method=method, resamples=99).p_value == 1
    worse, better = np.tile([0, 2, 2], (200, 1)), np.tile([2, 2, 2], (200, 1))
    assert compare(worse, better, method=method, resamples=99).p_value == 0.01


def test_small_p_values_are_as_frequent_as_they_say() -> None:
    rng = np.random.default_rng(17)
    p_values = []
    for _ in range(400):  # two outputs of the same quality
        gold = rng.integers(0, 4, 60)
        sides = []
        for _ in range(2):
            correct = rng.binomial(gold, 0.7)
            sides.append(np.stack([correct, correct + rng.poisson(0.5, 60), gold], axis=1))
        p_values.append(compare(*sides, resamples=400).p_value)
    for level in (0.05, 0.2, 0.5):
        share = np.mean(np.array(p_values) <= level)
        assert abs(share - level) <= 4 * (level * (1 - level) / 400) ** 0.5


def test_seeds_and_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert bootstrap_interval(ONE, seed=1) == bootstrap_interval(ONE, seed=1)
    assert compare(ONE, TWO, seed=1) != compare(ONE, TWO, seed=2)
    wide = significance._bootstrap(ONE, 500, 3)
    monkeypatch.setattr(significance, "BLOCK", 100)
    assert significance._blocks(500, 6)[-1] == 500 % (100 // 6)
    np.testing.assert_array_equal(significance._bootstrap(ONE, 500, 3), wide)


def test_nothing_to_draw_from() -> None:
    assert bootstrap_interval([]).high == 0
    assert compare([], []).p_value == 1


def test_texts() -> None:
    assert bootstrap_interval([[3, 4, 4]] * 5, resamples=10).text() == (
        "f1: 75.00, 95% interval 75.00 to 75.00 (10 resamples of the sentences)\n"
    )
    assert compare(ONE, ONE, resamples=10).text() == (
        "f1: 50.00 and 50.00, difference +0.00, p = 1 (two-sided, randomisation, 10 draws)\n"
    )


@pytest.mark.parametrize(
    ("call", "place"),
    [
        (lambda: compare(ONE, TWO[:5]), r"^second: "),
        (
            lambda: compare(ONE, TWO + np.array([0, 0, 1])),
            r"^second, sentence 0: ",
        ),
        (lambda: compare(ONE, TWO, method="t"), r"^method: .*'t'"),
        (lambda: compare(ONE, TWO, metric="f2"), r"^metric: .*'f2'"),
        (lambda: bootstrap_interval(ONE, level=95), r"^level: "),
        (lambda: bootstrap_interval(ONE, resamples=0), r"^resamples: "),
        (lambda: bootstrap_interval([[2, 1, 3]]), r"^counts, sentence 0: "),
        (lambda: bootstrap_interval([[0.5, 1, 3]]), r"^counts: "),
    ],
)
def test_wrong_input_is_named(call, place: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=place):
        call()
