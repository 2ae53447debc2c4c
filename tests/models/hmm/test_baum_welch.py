"""EM through the estimator: it rises at every step, whatever the states emit, and keeps what it must not change."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tagline import HMM, InputError
from tagline.models.hmm.emissions import Categorical, Gaussian

from .cases import FAMILIES, LENGTHS, PRIORS, joint, observations, paths, sequences, settings


def objectives(hmm: HMM) -> np.ndarray:
    return np.array([done.objective for done in hmm.training_log_])


def assert_rises(values: np.ndarray) -> None:
    """Each step to 1e-10 of the objective."""
    assert len(values) > 3
    assert (np.diff(values) >= -1e-10 * np.abs(values[:-1])).all(), np.diff(values).min()


@pytest.mark.parametrize("algorithm", ["em", "viterbi"])
@pytest.mark.parametrize("priors", [False, True], ids=["no priors", "priors"])
@pytest.mark.parametrize("case", FAMILIES)
def test_every_step_rises(case: str, priors: bool, algorithm: str) -> None:
    X = observations(case)
    more: dict[str, Any] = PRIORS[case.split()[0]] if priors else {}
    chain = {"start_prior": 1.5, "transition_prior": 2.0} if priors else {}
    hmm = HMM(3, algorithm=algorithm, max_iterations=40, tolerance=-np.inf, **settings(case), **more, **chain)
    hmm.fit(X, lengths=LENGTHS)
    values = objectives(hmm)
    assert len(values) == 40
    assert_rises(values)
    assert values[-1] > values[0]


@pytest.mark.parametrize("case", FAMILIES)
def test_the_objective_is_the_log_likelihood(case: str) -> None:
    X = observations(case)
    hmm = HMM(3, max_iterations=3, tolerance=-np.inf, **settings(case)).fit(X, lengths=LENGTHS)
    again = HMM(3, max_iterations=4, tolerance=-np.inf, **settings(case)).fit(X, lengths=LENGTHS)
    assert hmm.score(X, lengths=LENGTHS) == pytest.approx(objectives(again)[3], rel=1e-12)
    assert hmm.score(sequences(X)) == pytest.approx(hmm.score(X, lengths=LENGTHS), rel=1e-13)


def test_the_objective_with_priors() -> None:
    X = observations("categorical")
    hmm = HMM(2, start_prior=2.0, transition_prior=[[3.0, 1.0], [1.0, 2.0]], emission_prior=1.5, unknown="error")
    hmm.set_params(max_iterations=2, tolerance=-np.inf).fit(X, lengths=LENGTHS)
    again = HMM(**{**hmm.get_params(), "max_iterations": 3}).fit(X, lengths=LENGTHS)
    prior = np.log(hmm.start_).sum() + (np.log(hmm.transitions_) * [[2.0, 0.0], [0.0, 1.0]]).sum()
    prior += 0.5 * np.log(hmm.emission_.probabilities).sum()  # type: ignore[attr-defined]
    assert objectives(again)[2] == pytest.approx(hmm.score(X, lengths=LENGTHS) + prior, rel=1e-12)


@pytest.mark.parametrize("case", ["categorical", "gaussian diag"])
def test_one_step_is_the_definition(case: str) -> None:
    """Expected counts by enumeration of all paths."""
    X = [observations(case, seed=3)[:4], observations(case, seed=4)[:3]]
    hmm = HMM(2, max_iterations=2, tolerance=-np.inf, **settings(case)).fit(observations(case), lengths=LENGTHS)
    start, moves, nodes = np.zeros(2), np.zeros((2, 2)), []
    for x in X:
        every = paths(2, len(x))
        weights = np.exp([joint(hmm, x, path) for path in every])
        weights /= weights.sum()
        node = np.zeros((len(x), 2))
        for path, weight in zip(every, weights, strict=True):
            start[path[0]] += weight
            for t, state in enumerate(path):
                node[t, state] += weight
                if t:
                    moves[path[t - 1], state] += weight
        nodes.append(node)
    hmm.set_params(warm_start=True, max_iterations=1)
    emission = hmm.emission_
    hmm.fit(X)
    np.testing.assert_allclose(hmm.start_, start / start.sum(), rtol=1e-10)
    np.testing.assert_allclose(hmm.transitions_, moves / moves.sum(axis=1, keepdims=True), rtol=1e-10)
    node = np.concatenate(nodes)
    if isinstance(emission, Gaussian):
        means = node.T @ np.concatenate(X) / node.sum(axis=0)[:, None]
        np.testing.assert_allclose(hmm.emission_.means, means, rtol=1e-9)  # type: ignore[attr-defined]
    else:
        table = np.stack([node[np.concatenate(X)[:, 0] == v].sum(axis=0) for v in range(4)], axis=1)
        found = hmm.emission_.probabilities  # type: ignore[attr-defined]
        np.testing.assert_allclose(found, table / table.sum(axis=1, keepdims=True), rtol=1e-10)


TOPOLOGIES = {
    "left-to-right": [[1, 1, 1], [0, 1, 1], [0, 0, 1]],
    "cyclic": [[1, 1, 0], [0, 1, 1], [1, 0, 1]],
    "own": [[1, 0, 1], [1, 1, 0], [1, 1, 1]],
}


@pytest.mark.parametrize("prior", [1.0, 3.0])
@pytest.mark.parametrize("name", TOPOLOGIES)
def test_forbidden_transitions_stay_exactly_zero(name: str, prior: float) -> None:
    X = observations("gaussian diag")
    can = np.array(TOPOLOGIES[name], bool)
    topology: Any = can if name == "own" else name
    for algorithm in ("em", "viterbi"):
        hmm = HMM(3, emission="gaussian", topology=topology, transition_prior=prior, start_prior=prior, n_init=2)
        hmm.set_params(algorithm=algorithm).fit(X, lengths=LENGTHS)
        assert (hmm.transitions_[~can] == 0).all()
        np.testing.assert_allclose(hmm.transitions_.sum(axis=1), 1, rtol=1e-12)
        if name == "left-to-right":
            assert hmm.start_.tolist() == [1, 0, 0]
            for states in hmm.predict(sequences(X)):
                assert states == sorted(states)
                assert states[0] == 0
        else:
            steps = [pair for states in hmm.predict(sequences(X)) for pair in pairwise(states)]
            assert all(can[pair] for pair in steps)


def test_supervised_topologies() -> None:
    X, y = [["a", "b", "b"]], [[0, 1, 2]]
    hmm = HMM(topology="left-to-right", k=1.0).fit(X, y)
    assert hmm.transitions_.tolist() == [[0.25, 0.5, 0.25], [0.0, 1 / 3, 2 / 3], [0.0, 0.0, 1.0]]
    assert hmm.start_.tolist() == [1.0, 0.0, 0.0]
    with pytest.raises(InputError, match=r"^y\[0\]: "):
        HMM(topology="left-to-right").fit(X, [[0, 1, 1]]).set_params(topology="cyclic").fit(X, [[2, 1, 1]])
    with pytest.raises(InputError, match=r"^y\[0\]: "):
        HMM(topology="left-to-right").fit(X, [[1, 1, 1]])


def numbers(hmm: HMM) -> dict[str, np.ndarray]:
    assert isinstance(hmm.emission_, Gaussian)
    own = {"means": hmm.emission_.means, "covars": hmm.emission_.covars}
    return {"start": hmm.start_, "transitions": hmm.transitions_, **own}


def test_frozen_parameters() -> None:
    X = observations("gaussian diag")
    begin = HMM(3, emission="gaussian", max_iterations=2).fit(X, lengths=LENGTHS)
    for frozen in ("start", "transitions", "means", "covars"):
        hmm = HMM.from_parameters(begin.start_, begin.transitions_, begin.emission_, warm_start=True)
        hmm.set_params(frozen=[frozen], max_iterations=5, tolerance=-np.inf)
        hmm.fit(X, lengths=LENGTHS)
        now, before = numbers(hmm), numbers(begin)
        for name, value in now.items():
            assert np.array_equal(value, before[name]) == (name == frozen), (frozen, name)
        assert_rises(objectives(hmm))


def test_frozen_names_reach_the_family() -> None:
    X = observations("gaussian diag")
    hmm = HMM(2, emission="gaussian", frozen=("means", "start"), max_iterations=3).fit(X, lengths=LENGTHS)
    assert hmm.emission_.frozen == ("means",)
    with pytest.raises(InputError, match=r"^frozen: .*'rates'"):
        HMM(2, emission="gaussian", frozen=("rates",)).fit(X)


def test_tied_states_share_what_they_emit() -> None:
    X = observations("gaussian diag")
    hmm = HMM(3, emission="gaussian", tied=[0, 0, 1], max_iterations=30, tolerance=-np.inf).fit(X, lengths=LENGTHS)
    means = hmm.emission_.means  # type: ignore[attr-defined]
    assert np.array_equal(means[0], means[1])
    assert not np.array_equal(means[0], means[2])
    assert not np.array_equal(hmm.transitions_[0], hmm.transitions_[1])
    assert_rises(objectives(hmm))
    counted = HMM(tied=[0, 0, 1], k=0.5).fit([["a", "b", "c", "a"]], [[0, 1, 2, 0]])
    table = counted.emission_.probabilities  # type: ignore[attr-defined]
    np.testing.assert_allclose(table[0], np.array([2.5, 1.5, 0.5]) / 5.0, rtol=1e-14)  # a a b, and one unseen
    assert np.array_equal(table[0], table[1])


def test_what_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    hmm = HMM(2, max_iterations=3, tolerance=-np.inf, verbose=True).fit(observations("categorical"))
    assert capsys.readouterr().err.splitlines() == [done.line() for done in hmm.training_log_]
    assert (hmm.stop_reason_, hmm.objective_) == ("max_iterations", hmm.training_log_[-1].objective)
    none = HMM(2, max_iterations=0).fit(observations("categorical"))
    assert none.training_log_ == []
    assert np.isfinite(none.score(observations("categorical")))


def test_restarts_keep_the_best() -> None:
    X = observations("categorical", seed=5)
    one = [HMM(4, random_state=seed).fit(X, lengths=LENGTHS).objective_ for seed in range(4)]
    assert len({round(value, 6) for value in one}) > 1
    many = HMM(4, n_init=6, random_state=0).fit(X, lengths=LENGTHS)
    assert many.objective_ >= one[0]
    again = HMM(4, n_init=6, random_state=0).fit(X, lengths=LENGTHS)
    assert np.array_equal(many.transitions_, again.transitions_)


def test_dead_states_are_revived() -> None:
    """A start in which a state explains nothing: it is given what the others explain worst."""
    random = np.random.default_rng(0)
    X = np.concatenate([random.normal(0, 1, 200), random.normal(30, 1, 60), random.normal(0, 1, 200)])[:, None]
    bad = Gaussian([[0.0], [1000.0]], [[100.0], [1.0]])
    hmm = HMM.from_parameters([0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]], bad, warm_start=True).fit(X)
    assert sorted(hmm.emission_.means.ravel().round().tolist()) == [0, 30]  # type: ignore[attr-defined]
    assert hmm.stop_reason_.startswith("converged")


def test_an_empty_state_keeps_its_parameters() -> None:
    """What no sequence can reach stays as it was, finite."""
    X = [["a", "b"] * 3]
    can = np.array([[True, True, False], [True, True, False], [True, True, True]])
    hmm = HMM(3, topology=can, max_iterations=20, tolerance=-np.inf).fit(X)
    assert np.isfinite(hmm.transitions_).all()
    np.testing.assert_allclose(hmm.transitions_.sum(axis=1), 1)
    np.testing.assert_allclose(hmm.emission_.probabilities.sum(axis=1), 1)  # type: ignore[attr-defined]


@pytest.mark.parametrize("case", ["categorical", "gaussian diag", "poisson", "bernoulli", "multinomial"])
def test_missing_observations_say_nothing(case: str) -> None:
    X = observations(case)
    hmm = HMM(2, max_iterations=5, **settings(case)).fit(X, lengths=LENGTHS)
    holes: list[Any] = [list(x) for x in sequences(X)]
    gap = {"categorical": None, "multinomial": [-1, -1, -1]}.get(case, [np.nan] * X.shape[1])
    if case == "categorical":
        holes = [[int(one[0]) for one in x] for x in holes]
    holes[0][3] = holes[0][4] = gap
    (chain,) = hmm.chains(holes[:1])
    assert (chain.emissions[3:5] == 0).all()
    assert (chain.emissions[2] != 0).any()
    refit = HMM(2, max_iterations=30, tolerance=-np.inf, **settings(case)).fit(holes)
    assert_rises(objectives(refit))
    assert len(refit.predict(holes)[0]) == LENGTHS[0]
    # Integrated out: P(x with a hole) = Σ over what could stand there.
    if case == "categorical":
        short = [[0, None, 2]]
        filled = [hmm.log_likelihood([[0, v, 2]])[0] for v in range(4)]
        assert hmm.log_likelihood(short)[0] == pytest.approx(np.logaddexp.reduce(filled), rel=1e-12)


def test_ragged_batches() -> None:
    """Empty sequences and those of one observation; a batch is as its sequences one by one."""
    X: list[Any] = [x[:, 0].tolist() for x in sequences(observations("categorical"))]
    X.insert(2, [])
    hmm = HMM(2, max_iterations=5).fit(X)
    assert hmm.predict(X)[2] == []
    assert hmm.log_likelihood(X)[2] == 0.0
    alone = [hmm.log_likelihood([x])[0] for x in X]
    assert hmm.log_likelihood(X).tolist() == alone
    assert [hmm.predict([x])[0] for x in X] == list(hmm.predict(X))
    assert hmm.predict([]) == []
    assert hmm.score([]) == 0.0


def test_one_state_and_length_one() -> None:
    hmm = HMM(1).fit([["a", "b", "a"]])
    assert hmm.transitions_.tolist() == [[1.0]]
    assert hmm.predict([["a"]]) == [[0]]
    assert np.exp(hmm.score([["a", "b"]])) == pytest.approx(2 / 3 * 1 / 3)
    ones = HMM(2, max_iterations=20, tolerance=-np.inf).fit([["a"], ["b"], ["a"]])
    assert np.isfinite(ones.transitions_).all()
    assert ones.score([["a"], ["b"], ["a"]]) == pytest.approx(2 * np.log(2 / 3) + np.log(1 / 3))
    gauss = HMM(1, emission="gaussian").fit(np.arange(5.0))
    assert gauss.emission_.means.tolist() == [[2.0]]  # type: ignore[attr-defined]
    assert isinstance(hmm.emission_, Categorical)
