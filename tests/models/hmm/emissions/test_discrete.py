"""Symbols, bags, switches and counts against SciPy and plain counting; zeros, unseen symbols, errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from tagline.errors import InputError
from tagline.models.hmm.emissions import UNKNOWN, Bernoulli, Categorical, Multinomial, Poisson
from tagline.models.hmm.emissions.discrete import log_factorial
from tests.models.hmm.emissions.cases import D, K, V, bags, events, responsibilities, rows, switches, symbols


def test_categorical_looks_up() -> None:
    random = np.random.default_rng(0)
    ids, emission = symbols(random, 30), Categorical(rows(random, K, V))
    logs = emission.log_likelihood(ids)
    for n, v in enumerate(ids):
        np.testing.assert_array_equal(logs[n], np.log(emission.probabilities[:, v]) if v >= 0 else np.zeros(K))
    np.testing.assert_array_equal(emission.log_table(), np.log(emission.probabilities).T)
    assert emission.log_table().flags.c_contiguous


def test_categorical_counts() -> None:
    random = np.random.default_rng(1)
    ids, posteriors = symbols(random, 50), responsibilities(random, 50)
    prior = random.uniform(1, 2, (K, V))
    expected = prior - 1
    for n, v in enumerate(ids):
        if v >= 0:
            expected[:, v] += posteriors[n]
    expected /= expected.sum(axis=1, keepdims=True)
    emission = Categorical(rows(random, K, V), prior=prior)
    np.testing.assert_allclose(emission.fitted(ids, posteriors).probabilities, expected, rtol=1e-12)
    counts, unknown = emission.counts(ids, posteriors)
    assert counts.shape == (V, K)
    assert not unknown.any()
    np.testing.assert_allclose(emission.counted(counts).probabilities, expected, rtol=1e-12)


def test_add_k_by_a_prior() -> None:
    """A prior of 1 + k adds k to every count, that of unseen symbols too."""
    counts = np.array([[3.0, 0.0], [1.0, 0.0], [0.0, 2.0]])  # [V, K]
    found = Categorical.uniform(3, 2, unseen=True, prior=1.5, unseen_prior=1.5).counted(counts)
    np.testing.assert_allclose(found.probabilities, [[3.5 / 6, 1.5 / 6, 0.5 / 6], [0.5 / 4, 0.5 / 4, 2.5 / 4]])
    np.testing.assert_allclose(found.unseen, [0.5 / 6, 0.5 / 4])
    tied = Categorical.uniform(3, 2, tied=[0, 0]).counted(counts)
    np.testing.assert_allclose(tied.probabilities, np.full((2, 3), [3 / 6, 1 / 6, 2 / 6]))
    frozen = Categorical.uniform(3, 2, frozen="probabilities")
    assert frozen.counted(counts) is frozen


def test_tied_states_count_unseen_symbols_together() -> None:
    start = Categorical.uniform(1, 3, unseen=True, tied=[0, 1, 0])
    found = start.counted([[2.0, 1.0, 3.0]], [1.0, 1.0, 4.0])
    np.testing.assert_allclose(found.unseen, [0.5, 0.5, 0.5])
    np.testing.assert_allclose(start.counted([[2.0, 3.0, 3.0]], [1.0, 1.0, 2.0]).unseen, [3 / 8, 1 / 4, 3 / 8])


def test_priors_of_some_symbols_and_for_all_states() -> None:
    """No prior where probability is 0 is no contradiction; a first axis of 1 stands for all states."""
    table = [[0.0, 0.25, 0.75], [0.5, 0.5, 0.0]]
    assert Categorical(table, prior=[[1.0, 2.0, 1.0]]).log_prior() == pytest.approx(math.log(0.25) + math.log(0.5))
    emission = Categorical(table, prior=[[1.0, 2.0, 1.0]], unseen=[0.0, 0.0], unseen_prior=[1.0])
    assert emission.states([1]).log_prior() == pytest.approx(math.log(0.5))
    assert emission.states([1, 1, 0]).num_states == 3


def test_the_lowest_draw_is_a_symbol_that_can_be() -> None:
    class Lowest:
        def random(self, size: int) -> Any:
            return np.zeros(size)

    emission = Categorical([[0.0, 0.5, 0.5]])
    assert emission.sample(np.zeros(2, np.int64), Lowest()).tolist() == [1, 1]  # type: ignore[arg-type]


def test_unseen_symbols_have_their_mass() -> None:
    emission = Categorical([[0.6, 0.3], [0.5, 0.5]], unseen=[0.1, 0.0])
    np.testing.assert_array_equal(emission.log_likelihood(np.array([UNKNOWN])), [[math.log(0.1), -math.inf]])
    fitted = emission.fitted(np.array([0, UNKNOWN, UNKNOWN, 1]), np.ones((4, 2)))
    np.testing.assert_allclose(fitted.unseen, [0.5, 0.5])
    assert emission.num_parameters() == 4
    drawn = emission.sample(np.zeros(1000, np.int64), np.random.default_rng(0))
    assert set(drawn.tolist()) == {UNKNOWN, 0, 1}
    assert (drawn == UNKNOWN).mean() == pytest.approx(0.1, abs=0.03)
    with pytest.raises(InputError, match=r"^observation 1: "):
        Categorical([[0.5, 0.5]]).log_likelihood(np.array([0, UNKNOWN]))
    with pytest.raises(InputError, match=r"^observation 0: "):
        Categorical([[0.5, 0.5]]).fitted(np.array([UNKNOWN]), np.ones((1, 1)))


def test_impossible_symbols_are_impossible_and_never_drawn() -> None:
    emission = Categorical([[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]])
    states = np.repeat([0, 1], 500)
    drawn = emission.sample(states, np.random.default_rng(1))
    assert set(drawn[:500].tolist()) == {1}
    assert set(drawn[500:].tolist()) == {0, 2}
    assert emission.log_likelihood(np.array([0]))[0, 0] == -np.inf
    assert emission.log_prior() == 0.0
    assert Categorical(emission.probabilities, prior=2.0).log_prior() == -np.inf


def test_multinomial_is_scipys() -> None:
    random = np.random.default_rng(2)
    counts, emission = bags(random, 30), Multinomial(rows(random, K, V))
    logs = emission.log_likelihood(counts)
    for n, row in enumerate(counts):
        for k in range(K):
            expected = 0.0 if row[0] < 0 else stats.multinomial.logpmf(row, row.sum(), emission.probabilities[k])
            assert logs[n, k] == pytest.approx(expected, rel=1e-11, abs=1e-12)


def test_bernoulli_is_scipys() -> None:
    random = np.random.default_rng(3)
    X, emission = switches(random, 30), Bernoulli(random.random((K, D)))
    logs = emission.log_likelihood(X)
    for k in range(K):
        terms = stats.bernoulli.logpmf(np.nan_to_num(X), emission.probabilities[k])
        np.testing.assert_allclose(logs[:, k], np.where(np.isnan(X), 0, terms).sum(axis=1), rtol=1e-12)


def test_poisson_is_scipys() -> None:
    random = np.random.default_rng(4)
    X, emission = events(random, 30), Poisson(random.uniform(0.1, 80, (K, D)))
    X[5] = [200, 1e6]
    logs = emission.log_likelihood(X)
    for k in range(K):
        terms = stats.poisson.logpmf(np.nan_to_num(X), emission.rates[k])
        np.testing.assert_allclose(logs[:, k], np.where(np.isnan(X), 0, terms).sum(axis=1), rtol=1e-10)


@given(st.integers(0, 2**53 - 1))
def test_log_factorial(x: int) -> None:
    assert log_factorial(np.array([x]))[0] == pytest.approx(float(special.gammaln(x + 1.0)), rel=1e-14, abs=1e-14)


def test_log_factorials_around_the_end_of_the_table() -> None:
    x = np.arange(200)
    np.testing.assert_allclose(log_factorial(x), [math.lgamma(n + 1) for n in x], rtol=3e-16 * 8, atol=1e-15)


def test_zeros_are_exact() -> None:
    assert Poisson([[0.0]]).log_likelihood(np.array([[0.0], [1.0]])).tolist() == [[0.0], [-math.inf]]
    assert Bernoulli([[1.0], [0.0]]).log_likelihood(np.array([[1.0]])).tolist() == [[0.0, -math.inf]]
    both = Multinomial([[1.0, 0.0]]).log_likelihood(np.array([[2, 0], [1, 1]]))
    assert both.tolist() == [[0.0], [-math.inf]]


def test_m_steps_in_numbers() -> None:
    on = np.array([[1.0], [0.0], [1.0], [np.nan]])
    half = np.full((4, 1), 0.5)
    assert Bernoulli([[0.5]]).fitted(on, half).probabilities[0, 0] == pytest.approx(2 / 3)
    assert Bernoulli([[0.5]], prior=[1.5, 3.0]).fitted(on, half).probabilities[0, 0] == pytest.approx(3 / 4)
    assert Poisson([[1.0]]).fitted(4 * on, half).rates[0, 0] == pytest.approx(8 / 3)
    assert Poisson([[1.0]], 1.0, 2.0).fitted(4 * on, half).rates[0, 0] == pytest.approx(5 / 3.5)
    rates = Poisson(np.ones((1, 2))).fitted(np.array([[3.0, np.nan]]), np.ones((1, 1))).rates
    assert rates.tolist() == [[3.0, 1.0]]  # of the second nothing was seen


def test_samples_have_the_moments() -> None:
    random = np.random.default_rng(5)
    states = np.repeat(np.arange(K), 20_000)
    poisson, bernoulli = Poisson(random.uniform(1, 9, (K, D))), Bernoulli(random.random((K, D)))
    bag, symbol = Multinomial(rows(random, K, V), trials=6), Categorical(rows(random, K, V))
    counted = np.eye(V)[symbol.sample(states, random)]
    for k in range(K):
        here = states == k
        np.testing.assert_allclose(poisson.sample(states, random)[here].mean(axis=0), poisson.rates[k], atol=0.1)
        np.testing.assert_allclose(poisson.sample(states, random)[here].var(axis=0), poisson.rates[k], atol=0.4)
        means = bernoulli.sample(states, random)[here].mean(axis=0)
        np.testing.assert_allclose(means, bernoulli.probabilities[k], atol=0.02)
        np.testing.assert_allclose(bag.sample(states, random)[here].mean(axis=0), 6 * bag.probabilities[k], atol=0.06)
        np.testing.assert_allclose(counted[here].mean(axis=0), symbol.probabilities[k], atol=0.02)
    assert (bag.sample(states, random).sum(axis=1) == 6).all()
    assert Multinomial.started(np.array([[2, 3], [1, 4], [9, 9], [-1, -1]]), 2, random).trials == 5


@pytest.mark.parametrize(
    ("make", "place"),
    [
        (
            lambda: Categorical([[0.5, 0.6]]),
            r"^probabilities\[0\]: ",
        ),
        (lambda: Categorical([[0.5, 0.4], [0.3, 0.7]]), r"^probabilities\[0\]: "),
        (lambda: Categorical([[1.2, -0.2]]), r"^probabilities\[0, 0\]: "),
        (lambda: Categorical([[0.5, -0.5]]), r"^probabilities\[0, 1\]: "),
        (lambda: Categorical([[0.5, np.nan]]), r"^probabilities\[0, 1\]: "),
        (lambda: Categorical([0.5, 0.5]), r"^probabilities: "),
        (lambda: Categorical(np.zeros((0, 3))), r"^probabilities: "),
        (
            lambda: Categorical([[0.5, 0.5]], prior=0.5),
            r"^prior: ",
        ),
        (lambda: Categorical([[0.5, 0.5]], prior=[1, 2, 3]), r"^prior: "),
        (lambda: Categorical([[0.5, 0.5]], unseen=[0.2]), r"^probabilities\[0\]: "),
        (lambda: Categorical([[0.5, 0.4]], unseen=[0.1, 0.1]), r"^unseen: "),
        (lambda: Categorical.uniform(2, 1).counted([[1.0], [-1.0]]), r"^counts: "),
        (
            lambda: Categorical.uniform(2, 1).counted([[1.0]]),
            r"^counts: ",
        ),
        (lambda: Bernoulli([[1.5]]), r"^probabilities\[0, 0\]: "),
        (lambda: Bernoulli([[0.5]], prior=[1, 2, 3]), r"^prior: "),
        (lambda: Poisson([[-1.0]]), r"^rates: "),
        (lambda: Poisson([[1.0]], rates_weight=-1), r"^rates_weight: "),
        (lambda: Multinomial([[0.5, 0.5]], trials=-1), r"^trials: "),
        (lambda: Multinomial([[0.5, 0.5]], trials=True), r"^trials: "),
    ],
)
def test_bad_arguments(make: Any, place: str) -> None:
    with pytest.raises(InputError, match=place):
        make()
