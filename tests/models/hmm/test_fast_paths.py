"""What the HMM does without arrays of ``[N, K]`` against what it does with them: moments, and chains of symbols."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tagline import HMM
from tagline.chain import using_engine
from tagline.errors import NoPathError
from tagline.models.hmm.baum_welch import Problem
from tagline.models.hmm.emissions import Gaussian
from tagline.models.hmm.parameters import HMMParameters
from tagline.models.hmm.topologies import as_topology
from tagline.training.expectations import expectations


def gaussian_problem(**settings: Any) -> tuple[Problem, HMMParameters]:
    rng = np.random.default_rng(0)
    K, D = 3, 2
    X = rng.normal(0, 2, (120, D))
    offsets = np.array([0, 50, 51, 120])
    spherical = settings.get("covariance") == "spherical"
    covars = rng.uniform(0.5, 2, K) if spherical else rng.uniform(0.5, 2, (K, D))
    emission = Gaussian(rng.normal(0, 2, (K, D)), covars, **settings)
    start, moves = rng.dirichlet(np.ones(K)), rng.dirichlet(np.ones(K), K)
    p = HMMParameters(("0", "1", "2"), True, None, start, moves, emission)
    return Problem(X, offsets, None, as_topology("full", K)), p


SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "spherical": {"covariance": "spherical"},
    "priors": {"means_prior": 1.0, "means_weight": 2.0, "covars_prior": 0.3, "covars_weight": 4.0},
    "frozen means": {"frozen": ("means",)},
    "frozen covars": {"frozen": ("covars",)},
    "all frozen": {"frozen": ("means", "covars")},
    "floor": {"min_variance": 1.5},
}


@pytest.mark.parametrize("settings", SETTINGS)
def test_moments_give_the_same_m_step(settings):
    problem, p = gaussian_problem(**SETTINGS[settings])
    found = problem.expect(p)
    assert found.moments is not None
    rows = p.emission.log_likelihood(problem.observations)
    plain = expectations(rows, problem.offsets, p.log_start, p.log_transitions)
    wanted = p.emission.fitted(problem.observations, plain.nodes)
    got = problem.maximise(p, found).emission
    np.testing.assert_allclose(got.means, wanted.means, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(got.covars, wanted.covars, rtol=1e-10, atol=1e-12)


def test_means_that_move_far_lose_no_digits():
    """The means are 1e8 away at first: sums of squares around them could not tell the variances."""
    problem, p = gaussian_problem()
    far = replace(p, emission=replace(p.emission, means=p.emission.means + 1e8, covars=np.full((3, 2), 1e18)))
    found = problem.expect(far)
    asked = []
    far.emission.from_moments(
        found.moments.mass, found.moments.first, found.moments.second, lambda means: asked.append(means) or means**2
    )
    assert len(asked) == 1
    covars = problem.maximise(far, found).emission.covars
    nodes = expectations(
        far.emission.log_likelihood(problem.observations), problem.offsets, far.log_start, far.log_transitions
    ).nodes
    means = (nodes.T @ problem.observations) / nodes.sum(axis=0)[:, None]
    away = (problem.observations[:, None] - means) ** 2
    np.testing.assert_allclose(covars, np.einsum("nk,nkd->kd", nodes, away) / nodes.sum(axis=0)[:, None], rtol=1e-9)


def test_empty_states_keep_their_parameters():
    problem, p = gaussian_problem()
    lonely = p.emission.means.copy()
    lonely[2] = 1e6
    p = replace(p, emission=replace(p.emission, means=lonely))
    learned = problem.step(p)[1].emission
    np.testing.assert_array_equal(learned.means[2], lonely[2])
    np.testing.assert_array_equal(learned.covars[2], p.emission.covars[2])


@pytest.mark.parametrize("settings", [{"covariance": "full"}, {"tied": (0, 0, 1)}])
def test_what_moments_cannot_do_is_done_with_nodes(settings):
    problem, p = gaussian_problem()
    means, covars = p.emission.means, np.repeat(np.eye(2)[None], 3, axis=0)
    if "tied" in settings:
        means, covars = means[[0, 0, 1]], p.emission.covars[[0, 0, 1]]
    p = replace(p, emission=Gaussian(means, covars, **settings))
    assert problem.expect(p).nodes is not None
    holes = problem.observations.copy()
    holes[3, 1] = np.nan
    assert replace(problem, observations=holes).expect(gaussian_problem()[1]).nodes is not None


def words_model(**settings: Any) -> tuple[HMM, list[list[str]]]:
    X = [["the", "cat", "sings"], ["a", "dog", "sees", "the", "cat"], ["a", "cat"]]
    y = [["D", "N", "V"], ["D", "N", "V", "D", "N"], ["D", "N"]]
    return HMM(k=0.1, **settings).fit(X, y), X


@pytest.mark.parametrize("unknown", ["smooth", "error"])
def test_symbols_answer_as_rows_do(unknown):
    model, X = words_model(unknown=unknown)
    asked = [*X, [], [None, "cat"], *([["the", "unicorn"]] if unknown == "smooth" else [])]
    states, logs, total = model.predict(asked), model.log_likelihood(asked), model.score(asked)
    with using_engine("naive"):
        assert model.predict(asked) == states
        np.testing.assert_allclose(model.log_likelihood(asked), logs, rtol=1e-12)
        assert model.score(asked) == pytest.approx(total, rel=1e-12)


def test_rules_of_a_scheme_hold_for_symbols():
    X, y = [list("abc"), list("ab")], [["B", "M", "E"], ["B", "E"]]
    model = HMM(scheme="BMES-words", k=1.0).fit(X, y)
    assert model.predict([list("aba")]) == [["B", "M", "E"]]  # though B, E, B is as likely without the rule of ends
    with using_engine("naive"):
        assert model.predict([list("aba")]) == [["B", "M", "E"]]


def test_impossible_symbols_are_named():
    model = HMM.from_parameters([0.5, 0.5], np.full((2, 2), 0.5), [[1.0, 0.0], [1.0, 0.0]])
    with pytest.raises(NoPathError):
        model.score(np.array([[0], [1]]), lengths=[1, 1])
    with pytest.raises(NoPathError, match=r"^sentence 1: "):
        model.predict(np.array([[0], [1]]), [1, 1])
