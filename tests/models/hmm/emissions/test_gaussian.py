"""Normal distributions against SciPy and formulas written out: densities, M steps with priors, floors, holes."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from tagline.errors import InputError
from tagline.models.hmm.emissions import COVARIANCES, Gaussian, Mixture
from tagline.models.hmm.emissions.gaussian import floored
from tests.models.hmm.emissions.cases import D, K, M, covars, holes, responsibilities, rows, vectors

kinds = pytest.mark.parametrize("kind", COVARIANCES)


def plain_log_densities(X: NDArray[Any], emission: Gaussian) -> NDArray[Any]:
    """SciPy's, observation by observation, in the dimensions that are seen."""
    out = np.zeros((len(X), emission.num_states))
    matrices = emission.matrices()
    for n, k in product(range(len(X)), range(emission.num_states)):
        seen = np.flatnonzero(~np.isnan(X[n]))
        if len(seen):
            matrix = matrices[k][np.ix_(seen, seen)]
            out[n, k] = stats.multivariate_normal(emission.means[k, seen], matrix).logpdf(X[n, seen])
    return out


@kinds
@pytest.mark.parametrize("observe", [vectors, holes])
def test_log_densities_are_scipys(kind: str, observe: Any) -> None:
    random = np.random.default_rng(0)
    X, emission = observe(random, 60), Gaussian(random.normal(size=(K, D)), covars(random, kind, K), kind)
    np.testing.assert_allclose(emission.log_likelihood(X), plain_log_densities(X, emission), rtol=1e-11, atol=1e-12)


@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(["spherical", "diag", "tied"]),
    spread=st.sampled_from([1.0, 1e3, 1e6]),
    narrow=st.sampled_from([1.0, 1e-3, 1e-5]),
    shift=st.sampled_from([0.0, 1e5]),
    some=st.booleans(),
)
def test_narrow_states_far_apart_keep_their_digits(
    seed: int, kind: str, spread: float, narrow: float, shift: float, some: bool
) -> None:
    random = np.random.default_rng(seed)
    means = shift + spread * random.normal(size=(4, 3))
    deviations = narrow * random.uniform(0.5, 2.0, (4, 3))
    if kind == "spherical":
        deviations[:] = deviations[:, :1]
    elif kind == "tied":
        deviations[:] = deviations[:1]
    given_covars = {"diag": deviations**2, "spherical": deviations[:, 0] ** 2, "tied": np.diag(deviations[0] ** 2)}
    states = random.integers(0, 4, 50)
    X = means[states] + deviations[states] * random.normal(size=(50, 3))
    if some:
        X[random.random(X.shape) < 0.3] = np.nan
    terms = -0.5 * (((X[:, None] - means) / deviations) ** 2 + np.log(2 * np.pi * deviations**2))
    expected = np.nansum(terms, axis=2)
    found = Gaussian(means, given_covars[kind], kind).log_likelihood(X)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_variances_far_from_the_origin_keep_their_digits() -> None:
    random = np.random.default_rng(1)
    states = np.repeat([0, 1, 2], 200)
    X = np.array([-1e6, 3e5, 1e6])[states][:, None] + 1e-3 * random.normal(size=(600, 2))
    posteriors = np.eye(3)[states]
    floor = {"min_variance": 1e-12}
    for kind in ("diag", "full", "spherical"):
        start = {"diag": np.ones((3, 2)), "full": np.tile(np.eye(2), (3, 1, 1)), "spherical": np.ones(3)}[kind]
        fitted = Gaussian(np.zeros((3, 2)), start, kind, **floor).fitted(X, posteriors)
        expected = np.stack([X[states == k].var(axis=0) for k in range(3)])
        if kind == "spherical":
            expected[:] = expected.mean(axis=1, keepdims=True)
        np.testing.assert_allclose(fitted.variances(), expected, rtol=1e-7)  # X itself has 16 digits


# One M step against the formulas of hmmlearn's GaussianHMM, sums written out.

PRIORS = [
    {},
    {"means_prior": 0.3, "means_weight": 2.0},
    {"covars_prior": 0.2, "covars_weight": 1.0},
    {"means_prior": -1.0, "means_weight": 0.7, "covars_prior": 0.5, "covars_weight": 6.0},
]


@kinds
@pytest.mark.parametrize("prior", PRIORS, ids=range(len(PRIORS)))
def test_the_m_step_has_hmmlearns_formulas(kind: str, prior: dict[str, float]) -> None:
    random = np.random.default_rng(2)
    N = 40
    X, posteriors = random.normal(size=(N, D)) * [1.0, 2.0] + 3.0, responsibilities(random, N)
    start = Gaussian(random.normal(size=(K, D)), covars(random, kind, K), kind, **prior)
    fitted = start.fitted(X, posteriors)
    m, w = prior.get("means_prior", 0.0), prior.get("means_weight", 0.0)
    P, c = prior.get("covars_prior", 0.0), prior.get("covars_weight", 1.0)
    full, mass = np.zeros((K, D, D)), np.zeros(K)
    for k in range(K):
        mass[k] = sum(posteriors[n, k] for n in range(N))
        mean = (w * m + sum(posteriors[n, k] * X[n] for n in range(N))) / (w + mass[k])
        np.testing.assert_allclose(fitted.means[k], mean, rtol=1e-12)
        full[k] = w * np.outer(mean - m, mean - m)
        full[k] += sum(posteriors[n, k] * np.outer(X[n] - mean, X[n] - mean) for n in range(N))
    if kind == "tied":
        expected = (P * np.eye(D) + full.sum(axis=0)) / (max(c - D, 0) + mass.sum())
    elif kind == "full":
        expected = (P * np.eye(D) + full) / (max(c - D, 0) + mass)[:, None, None]
    else:
        expected = (P + np.diagonal(full, axis1=1, axis2=2)) / (max(c - 1, 0) + mass)[:, None]
    if kind == "spherical":
        expected = expected.mean(axis=1)
    np.testing.assert_allclose(fitted.covars, expected, rtol=1e-11)


def test_priors_that_differ_by_state() -> None:
    random = np.random.default_rng(3)
    X, posteriors = vectors(random, 40), responsibilities(random, 40)
    for kind in ("diag", "full"):
        shape = (K, D) if kind == "diag" else (K, D, D)
        scales = random.uniform(0.1, 1.0, K)
        prior = np.broadcast_to(scales[:, None], shape) if kind == "diag" else scales[:, None, None] * np.eye(D)
        given = {
            "means_prior": random.normal(size=(K, D)),
            "means_weight": random.uniform(0, 3, K),
            "covars_prior": prior,
            "covars_weight": random.uniform(3, 5, K),
        }
        start = Gaussian(random.normal(size=(K, D)), covars(random, kind, K), kind, **given)
        fitted = start.fitted(X, posteriors)
        for k in range(K):
            one = {name: value[k] for name, value in given.items()}
            alone = replace(start.states([k]), **one).fitted(X, posteriors[:, [k]])
            np.testing.assert_allclose(fitted.means[k], alone.means[0], rtol=1e-12)
            np.testing.assert_allclose(fitted.covars[k], alone.covars[0], rtol=1e-12)
        assert fitted.states([2, 1]).log_prior() == pytest.approx(
            fitted.states([2]).log_prior() + fitted.states([1]).log_prior(), rel=1e-12
        )


def test_holes_in_one_dimension_use_what_is_seen_in_it() -> None:
    X = np.array([[1.0, 5.0], [3.0, np.nan], [np.nan, 9.0], [np.nan, np.nan]])
    fitted = Gaussian([[0.0, 0.0]], [[1.0, 1.0]]).fitted(X, np.ones((4, 1)))
    np.testing.assert_allclose(fitted.means, [[2.0, 7.0]])
    np.testing.assert_allclose(fitted.covars, [[1.0, 4.0]])
    ball = Gaussian([[0.0, 0.0]], [1.0], "spherical").fitted(X, np.ones((4, 1)))
    np.testing.assert_allclose(ball.covars, [(1 + 1 + 4 + 4) / 4])


def test_holes_in_full_matrices_find_the_maximum_of_the_likelihood() -> None:
    """The classic pattern (the second number is sometimes missing) has the maximum in closed form: regression."""
    random = np.random.default_rng(4)
    X = random.multivariate_normal([1.0, -2.0], [[2.0, 1.2], [1.2, 1.5]], 80)
    X[50:, 1] = np.nan
    emission = Gaussian([[0.0, 0.0]], np.eye(2)[None], "full")
    for _ in range(500):
        emission = emission.fitted(X, np.ones((80, 1)))
    x, both = X[:, 0], X[:50]
    slope = np.cov(both.T, bias=True)[0, 1] / both[:, 0].var()
    rest = (both[:, 1] - both[:, 1].mean() - slope * (both[:, 0] - both[:, 0].mean())).var()
    mean = both[:, 1].mean() + slope * (x.mean() - both[:, 0].mean())
    np.testing.assert_allclose(emission.means, [[x.mean(), mean]], rtol=1e-9)
    expected = [[x.var(), slope * x.var()], [slope * x.var(), rest + slope**2 * x.var()]]
    np.testing.assert_allclose(emission.covars[0], expected, rtol=1e-9)


# Floors.


@kinds
def test_variances_stop_at_the_floor_and_em_still_rises(kind: str) -> None:
    random = np.random.default_rng(5)
    X = np.repeat(random.normal(size=(3, D)), 20, axis=0)
    X[:, 1] = X[:, 0] + 1e-9 * random.normal(size=60)
    floor = np.array([0.02, 0.05])
    start = Gaussian.started(X, K, random, covariance=kind, min_variance=floor)
    emission, values = start, []
    for _ in range(15):
        logs = emission.log_likelihood(X)
        top = logs.max(axis=1, keepdims=True)
        values.append(float((np.log(np.exp(logs - top).sum(axis=1)) + top[:, 0]).sum()))
        posteriors = np.exp(logs - top)
        emission = emission.fitted(X, posteriors / posteriors.sum(axis=1, keepdims=True))
    assert np.diff(values).min() >= -1e-10 * abs(values[-1])
    least = np.linalg.eigvalsh(emission.matrices() - np.diag(floor)).min()
    assert least >= -1e-12
    if kind != "tied":
        assert least <= 1e-9


def test_the_floor_of_a_matrix_is_the_best_one() -> None:
    random = np.random.default_rng(6)
    root = random.normal(size=(3, 2))
    S, floor = root @ root.T, np.array([0.1, 0.4, 0.2])

    def value(matrix: NDArray[Any]) -> float:
        return float(-np.linalg.slogdet(matrix)[1] - np.trace(np.linalg.solve(matrix, S)))

    best = floored(S, floor)
    assert np.linalg.eigvalsh(best - np.diag(floor)).min() > -1e-12
    for size, _ in product((1.0, 0.1, 0.01), range(50)):
        turn = size * random.normal(size=(3, 3))
        other = np.diag(floor) + (lambda a: a @ a.T)(
            np.linalg.cholesky(best - np.diag(floor) + 1e-12 * np.eye(3)) + turn
        )
        assert value(other) <= value(best) + 1e-9
    roomy = S + np.eye(3)
    assert floored(roomy, floor) is roomy


def test_without_a_floor_it_goes_by_the_data() -> None:
    random = np.random.default_rng(7)
    X = random.normal(size=(100, 3)) * [1e-6, 1.0, 0.0]
    emission = Gaussian.started(X, 2, random)
    np.testing.assert_allclose(emission.min_variance, [1e-6 * X[:, 0].var(), 1e-6 * X[:, 1].var(), 1e-6])


@kinds
def test_samples_have_mean_and_covariance(kind: str) -> None:
    random = np.random.default_rng(8)
    emission = Gaussian(random.normal(size=(K, D)), covars(random, kind, K), kind)
    states = np.repeat(np.arange(K), 20_000)
    X = emission.sample(states, random)
    for k in range(K):
        np.testing.assert_allclose(X[states == k].mean(axis=0), emission.means[k], atol=0.06)
        np.testing.assert_allclose(np.cov(X[states == k].T), emission.matrices()[k], atol=0.12)


@kinds
def test_numbers_of_parameters(kind: str) -> None:
    random = np.random.default_rng(9)
    counts = {"spherical": 3, "diag": 6, "full": 9, "tied": 3}
    emission = Gaussian(random.normal(size=(K, D)), covars(random, kind, K), kind)
    assert emission.num_parameters() == K * D + counts[kind]
    mixed = Mixture(rows(random, K, M), random.normal(size=(K, M, D)), covars(random, kind, K, M), kind)
    counts = {"spherical": 6, "diag": 12, "full": 18, "tied": 9}
    assert mixed.num_parameters() == K * (M - 1) + K * M * D + counts[kind]


# Mixtures.


@kinds
def test_mixtures_are_sums(kind: str) -> None:
    random = np.random.default_rng(10)
    X = holes(random, 30)
    emission = Mixture(rows(random, K, M), random.normal(size=(K, M, D)), covars(random, kind, K, M), kind)
    logs = emission.log_likelihood(X)
    for k in range(K):
        shape = emission.covars[k]
        parts = np.exp(plain_log_densities(X, Gaussian(emission.means[k], shape, kind)))
        np.testing.assert_allclose(np.exp(logs[:, k]), parts @ emission.weights[k], rtol=1e-11)


@kinds
def test_a_mixture_of_one_is_a_gaussian(kind: str) -> None:
    random = np.random.default_rng(11)
    X, posteriors = vectors(random, 50), responsibilities(random, 50)
    inner = kind if kind != "tied" else "full"
    means, shape = random.normal(size=(K, 1, D)), covars(random, kind, K, 1)
    prior = {"means_weight": 0.5, "covars_prior": 0.2, "covars_weight": 4.0}
    mixed = Mixture(np.ones((K, 1)), means, shape, kind, **prior)
    alone = Gaussian(means[:, 0], shape if kind == "tied" else shape[:, 0], inner, **prior)
    np.testing.assert_allclose(mixed.log_likelihood(X), alone.log_likelihood(X), rtol=1e-12, atol=1e-14)
    one, two = mixed.fitted(X, posteriors), alone.fitted(X, posteriors)
    np.testing.assert_allclose(one.means[:, 0], two.means, rtol=1e-12)
    np.testing.assert_allclose(one.covars.ravel(), two.covars.ravel(), rtol=1e-12)
    assert mixed.log_prior() == pytest.approx(alone.log_prior(), rel=1e-12)


def test_priors_of_a_mixture_that_differ_by_state() -> None:
    random = np.random.default_rng(13)
    X, posteriors = vectors(random, 40), responsibilities(random, 40)
    for kind in COVARIANCES:
        scale = random.uniform(0.1, 1.0, K)
        shape = {"spherical": (K, M, D), "diag": (K, M, D), "full": (K, M, D, D), "tied": (K, D, D)}[kind]
        prior = scale.reshape(-1, *[1] * (len(shape) - 1)) * (np.eye(D) if kind in ("full", "tied") else np.ones(shape))
        given = {
            "weights_prior": random.uniform(1, 2, (K, M)),
            "means_prior": random.normal(size=(K, M, D)),
            "means_weight": random.uniform(0, 3, (K, M)),
            "covars_prior": np.broadcast_to(prior, shape),
            "covars_weight": random.uniform(3, 5, K if kind == "tied" else (K, M)),
            "min_variance": random.uniform(1e-7, 1e-6, (K, D)),
        }
        start = Mixture(rows(random, K, M), random.normal(size=(K, M, D)), covars(random, kind, K, M), kind, **given)
        fitted = start.fitted(X, posteriors)
        for k in range(K):
            one = {name: value[k : k + 1] for name, value in given.items()}
            alone = Mixture(start.weights[[k]], start.means[[k]], start.covars[[k]], kind, **one)
            found = alone.fitted(X, posteriors[:, [k]])
            for name in start.parameters:
                np.testing.assert_allclose(getattr(fitted, name)[k], getattr(found, name)[0], rtol=1e-12)
            assert start.states([k]).log_prior() == pytest.approx(alone.log_prior(), rel=1e-12)


def test_a_component_without_weight_does_no_harm() -> None:
    X = np.random.default_rng(12).normal(size=(30, 2))
    emission = Mixture([[1.0, 0.0]], np.zeros((1, 2, 2)), np.ones((1, 2, 2)))
    assert np.isfinite(emission.log_likelihood(X)).all()
    fitted = emission.fitted(X, np.ones((30, 1)))
    np.testing.assert_array_equal(fitted.weights, [[1.0, 0.0]])
    assert np.isfinite(fitted.log_likelihood(X)).all()
    assert set(np.abs(emission.sample(np.zeros(50, np.int64), np.random.default_rng(0))).sum(axis=1) > 0) == {True}


# Errors.


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"means": [1.0, 2.0]}, r"^means: "),
        ({"means": [[np.inf, 0.0]]}, r"^means\[0, 0\]: "),
        ({"means": [["a", "b"]]}, r"^means: "),
        ({"covars": [[1.0, 2.0, 3.0]]}, r"^covars: "),
        ({"covars": [[1.0, 0.0]]}, r"^covars: "),
        ({"covariance": "round"}, r"^covariance: .*'round'"),
        (
            {"covariance": "full", "covars": [[[1.0, 2.0], [2.0, 1.0]]]},
            r"^covars\[0\]: ",
        ),
        ({"covariance": "tied", "covars": [[1.0, 2.0], [0.0, 1.0]]}, r"^covars: "),
        ({"min_variance": 0.0}, r"^min_variance: "),
        ({"means_weight": -1.0}, r"^means_weight: "),
        ({"means_prior": [1.0, 2.0, 3.0]}, r"^means_prior: "),
        ({"covars_prior": -0.5}, r"^covars_prior: "),
        (
            {"covariance": "full", "covars": [[[1.0, 0.0], [0.0, 1.0]]], "covars_prior": [[0.0, 1.0], [1.0, 0.0]]},
            r"^covars_prior: ",
        ),
    ],
)
def test_bad_arguments(change: dict[str, Any], place: str) -> None:
    with pytest.raises(InputError, match=place):
        Gaussian(**{"means": [[0.0, 1.0]], "covars": [[1.0, 1.0]], **change})


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"weights": [[0.5, 0.6]]}, r"^weights\[0\]: "),
        ({"weights": [[0.5, 0.2, 0.3]]}, r"^weights: "),
        ({"covars": [[[1.0], [-1.0]]]}, r"^state 0: covars: "),
        ({"weights_prior": 0.5}, r"^weights_prior: "),
        ({"means_weight": -1.0}, r"^state 0: means_weight: "),
        ({"means_weight": [[1.0, 1.0], [1.0, 1.0]]}, r"^means_weight: "),
        ({"covariance": None}, r"^covariance: "),
    ],
)
def test_bad_mixtures(change: dict[str, Any], place: str) -> None:
    good = {"weights": [[0.5, 0.5]], "means": [[[0.0], [1.0]]], "covars": [[[1.0], [1.0]]]}
    with pytest.raises(InputError, match=place):
        Mixture(**{**good, **change})


def test_a_mixture_needs_components() -> None:
    with pytest.raises(InputError, match=r"^n_components: "):
        Mixture.started(np.zeros((3, 1)), 2, np.random.default_rng(0), n_components=0)
