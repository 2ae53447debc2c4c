"""Reliability against bins filled one answer at a time; temperatures against a scan."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagline.errors import InputError
from tagline.evaluation.calibration import brier_score, reliability, token_reliability
from tagline.evaluation.temperature import HIGHEST, LOWEST, fit_temperature

ANSWERS = st.lists(st.tuples(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.25, 0.5, 1.0])), st.booleans()))


def binned(answers: list[tuple[float, bool]], bins: int, binning: str) -> list[list[tuple[float, bool]]]:
    """The answers of each bin."""
    if binning == "mass":
        answers = sorted(answers, key=lambda answer: answer[0])
        return [answers[k * len(answers) // bins : (k + 1) * len(answers) // bins] for k in range(bins)]
    edges = np.linspace(0, 1, bins + 1)
    filled: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
    for p, right in answers:
        filled[max(k for k in range(bins) if p >= edges[k])].append((p, right))
    return filled


@pytest.mark.parametrize("binning", ["width", "mass"])
@given(answers=ANSWERS, bins=st.integers(1, 12))
def test_bins_are_filled_one_by_one(binning: str, answers: list[tuple[float, bool]], bins: int) -> None:
    confidence, correct = [p for p, _ in answers], [right for _, right in answers]
    found = reliability(confidence, correct, bins=bins, binning=binning)
    filled = [members for members in binned(answers, bins, binning) if members]
    assert found.count.tolist() == list(map(len, filled))
    means = [(np.mean([p for p, _ in members]), np.mean([right for _, right in members])) for members in filled]
    np.testing.assert_allclose(found.confidence, [p for p, _ in means], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.accuracy, [right for _, right in means], rtol=0, atol=1e-12)
    gaps = [abs(p - right) for p, right in means]
    expected = sum(gap * len(members) for gap, members in zip(gaps, filled, strict=True)) / max(len(answers), 1)
    assert found.ece == pytest.approx(expected, abs=1e-12)
    assert found.mce == pytest.approx(max(gaps, default=0), abs=1e-12)
    assert found.brier == pytest.approx(np.mean([(p - right) ** 2 for p, right in answers] or [0]), abs=1e-12)
    for low, high, members in zip(found.low, found.high, filled, strict=True):
        assert all(low <= p <= high for p, _ in members)


def test_honest_probabilities_have_small_errors() -> None:
    rng = np.random.default_rng(3)
    p = rng.random(200_000)
    honest, proud = rng.random(len(p)) < p, rng.random(len(p)) < p**2
    assert reliability(p, honest).ece < 0.005
    assert reliability(p, proud).ece == pytest.approx(1 / 6, abs=0.005)  # E[p − p²]


def test_tokens() -> None:
    p, gold = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.3, 0.4, 0.3]]), np.array([0, 1, 1])
    found = token_reliability(p, gold, bins=5)
    assert found.count.tolist() == [1, 1, 1]
    np.testing.assert_allclose(found.confidence, [0.4, 0.7, 0.8], rtol=1e-15)
    np.testing.assert_array_equal(found.accuracy, [1, 1, 0])
    assert brier_score(p, gold) == pytest.approx(((p - np.eye(3)[gold]) ** 2).sum() / 3, abs=1e-15)
    assert token_reliability(np.empty((0, 3)), []).ece == brier_score(np.empty((0, 3)), []) == 0
    assert found.text().splitlines()[0] == "3 answers; ECE: 0.5667; MCE: 0.8000; Brier: 0.3633 (bins of equal width)"


@pytest.mark.parametrize("true", [0.3, 1.0, 4.0])
def test_temperature_is_found_again(true: float) -> None:
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(40_000, 5)) * 3
    p = np.exp(scores / true)
    p /= p.sum(axis=1, keepdims=True)
    gold = (rng.random((len(p), 1)) > p.cumsum(axis=1)).sum(axis=1)
    found = fit_temperature(scores, gold)
    assert found.value == pytest.approx(true, rel=0.03)
    assert found.nll_after <= found.nll_before
    np.testing.assert_allclose(found.apply(scores).sum(axis=1), 1, rtol=1e-12)


@given(st.integers(0, 10_000))
def test_temperature_is_the_best_of_a_scan(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(8, 3)) * rng.choice([0.1, 1, 10])
    gold = rng.integers(0, 3, 8)
    scores[rng.random(scores.shape) < 0.2] = -np.inf
    scores[np.arange(8), gold] = rng.normal(size=8)
    found = fit_temperature(scores, gold)

    def nll(temperature: float) -> float:
        scaled = scores / temperature
        return float(np.mean(np.logaddexp.reduce(scaled, axis=1) - scaled[np.arange(8), gold]))

    assert LOWEST <= found.value <= HIGHEST
    assert found.nll_before == pytest.approx(nll(1), rel=1e-12, abs=1e-12)
    assert found.nll_after == pytest.approx(nll(found.value), rel=1e-9, abs=1e-12)
    assert found.nll_after <= min(nll(t) for t in np.geomspace(LOWEST * 1.01, HIGHEST / 1.01, 60)) + 1e-12


def test_extreme_temperatures_stay_in_bounds() -> None:
    perfect = fit_temperature([[5.0, 0.0]] * 3, [0, 0, 0])
    assert LOWEST <= perfect.value < 0.15  # lower ones change nothing: 1 + exp(−5 / 0.13) is 1 in float64
    assert perfect.nll_after < 1e-15
    assert fit_temperature([[0.5, 0.0]], [0]).value < 0.02
    assert fit_temperature([[1e-9, 0.0]], [0]).value == pytest.approx(LOWEST, rel=0.01)
    assert fit_temperature([[5.0, 0.0]] * 3, [1, 1, 1]).value == pytest.approx(HIGHEST, rel=0.01)
    assert fit_temperature([[1.0, 1.0]], [0]).value == 1
    assert fit_temperature(np.empty((0, 2)), []).value == 1


@pytest.mark.parametrize(
    ("call", "place"),
    [
        (lambda: reliability([0.5, 1.5], [1, 0]), r"^confidence\[1\]: "),
        (lambda: reliability([np.nan], [1]), r"^confidence\[0\]: "),
        (lambda: reliability([0.5], [1, 0]), r"^correct: "),
        (lambda: reliability([0.5], [1], bins=0), r"^bins: "),
        (lambda: reliability([0.5], [1], binning="size"), r"^binning: .*'size'"),
        (lambda: brier_score([[0.5, 0.1]], [0]), r"^probabilities\[0\]: "),
        (lambda: brier_score([[0.5, 0.5]], [2]), r"^gold\[0\]: "),
        (lambda: brier_score([0.5], [0]), r"^probabilities: "),
        (lambda: fit_temperature([[0, np.nan]], [0]), r"^scores\[0, 1\]: "),
        (lambda: fit_temperature([[0, -np.inf]], [1]), r"^scores\[0, 1\]: "),
        (lambda: fit_temperature([[-np.inf] * 2], [1]), r"^scores\[0\]: "),
        (lambda: fit_temperature([[0.0, 1.0]], [0, 1]), r"^gold: "),
    ],
)
def test_wrong_input_is_named(call, place: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=place):
        call()
