"""Names, signatures, module paths, hooks and errors: what programs that know hmmlearn rely on."""

from __future__ import annotations

import inspect
import logging
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from interop.hmmlearn.cases import CASES, LENGTHS, OTHERS, K, our_hmm, their_hmm
from tagline.errors import InputError
from tagline.interop.hmmlearn import _hmmc, _kl_divergence, base, stats, utils, vhmm

theirs = pytest.importorskip("hmmlearn")
import hmmlearn._hmmc  # noqa: E402
import hmmlearn._kl_divergence  # noqa: E402
import hmmlearn.base  # noqa: E402
import hmmlearn.stats  # noqa: E402
import hmmlearn.utils  # noqa: E402
import hmmlearn.vhmm  # noqa: E402

METHODS = ("fit", "score", "score_samples", "decode", "predict", "predict_proba", "sample")


@pytest.mark.parametrize("name", [*their_hmm.__all__, "VariationalCategoricalHMM", "VariationalGaussianHMM"])
def test_signatures_are_theirs(name: str) -> None:
    module, their_module = (vhmm, hmmlearn.vhmm) if name.startswith("Var") else (our_hmm, their_hmm)
    ours, other = getattr(module, name), getattr(their_module, name)
    methods = METHODS if name.startswith("Var") else (*METHODS, "aic", "bic", "get_stationary_distribution")
    for method in ("__init__", *methods):
        mine, reference = (inspect.signature(getattr(each, method)).parameters for each in (ours, other))
        facts = [[(p.name, p.kind, p.default) for p in parameters.values()] for parameters in (mine, reference)]
        if method == "__init__" or name != "CategoricalHMM":
            assert facts[0] == facts[1], method
    assert ours(2).get_params() == other(2).get_params()
    assert set(vars(ours(2))) == set(vars(other(2)))


def test_a_class_is_one_class_under_both_names() -> None:
    program = """
import sys
import tagline.interop.hmmlearn
sys.modules["hmmlearn"] = tagline.interop.hmmlearn
import hmmlearn.base, hmmlearn.utils, hmmlearn.stats, hmmlearn.vhmm
from hmmlearn import hmm, _hmmc
from hmmlearn.hmm import GaussianHMM
from hmmlearn.base import BaseHMM, ConvergenceMonitor, _BaseHMM, _AbstractHMM
from tagline.interop.hmmlearn import base
assert GaussianHMM is hmm.GaussianHMM and BaseHMM is base.BaseHMM is _BaseHMM
assert isinstance(GaussianHMM(), BaseHMM) and isinstance(GaussianHMM().monitor_, ConvergenceMonitor)
assert issubclass(hmmlearn.vhmm.VariationalGaussianHMM, _AbstractHMM)
assert not any(name.startswith("hmmlearn") and "site-packages/hmmlearn" in str(module) for name, module in
               sys.modules.items())
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("case", OTHERS, ids=str)
def test_models_are_cloned_and_pickled(case: Any) -> None:
    model = case.model(our_hmm, n_iter=2).fit(case.sentences(), LENGTHS)
    again = pickle.loads(pickle.dumps(model))
    assert again.score(case.sentences(), LENGTHS) == model.score(case.sentences(), LENGTHS)
    fresh = clone(case.model(our_hmm, n_iter=2))
    assert not hasattr(fresh, "startprob_")
    assert fresh.n_iter == 2


def test_learned_arrays_can_be_changed_and_parameters_are_copies() -> None:
    for case in CASES:
        X = case.sentences()
        given = {name: value.copy() for name, value in case.parameters.items()}
        model = case.model(our_hmm, n_iter=1)
        for name, value in case.parameters.items():
            setattr(model, name, value)
        kept = X.copy()
        model.fit(X, LENGTHS)
        for name, value in case.parameters.items():
            np.testing.assert_array_equal(value, given[name])
            getattr(model, name)[0] *= 1
        np.testing.assert_array_equal(X, kept)


# The monitor.


def test_the_monitor_is_asked_when_to_stop(capsys: pytest.CaptureFixture[str]) -> None:
    class Third(base.ConvergenceMonitor):
        @property
        def converged(self) -> bool:
            return self.iter == 3

    case = CASES[0]
    model = case.model(our_hmm, n_iter=50, verbose=True)
    model.monitor_ = Third(model.monitor_.tol, model.monitor_.n_iter, model.monitor_.verbose)
    model.fit(case.sentences(), LENGTHS)
    assert len(model.monitor_.history) == model.monitor_.iter == 3
    assert len(capsys.readouterr().err.splitlines()) == 3
    assert repr(model.monitor_).startswith("Third(\n    history=[")


def test_em_stops_as_theirs_does() -> None:
    for case in OTHERS:
        ours, other = case.pair(n_iter=200, tol=0.05)
        for model in (ours, other):
            model.fit(case.sentences(), LENGTHS)
        assert ours.monitor_.iter == other.monitor_.iter < 200
        assert ours.monitor_.converged


def test_a_falling_log_probability_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    monitor = base.ConvergenceMonitor(1e-2, 10, False)
    for value in (-5.0, -4.0, -6.0):
        monitor.report(value)
    assert [(record.name, "not converging" in record.getMessage()) for record in caplog.records] == [
        ("hmmlearn.base", True)
    ]


def test_what_init_params_overwrites_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    case = CASES[0]
    with caplog.at_level(logging.WARNING, "hmmlearn"):
        case.model(our_hmm, init_params="t", n_iter=1).fit(case.sentences())
    assert [record.getMessage().split()[0] for record in caplog.records] == ["transmat_"]


# Classes of users.


def waiting_times(module: Any) -> type:
    """A class with emissions of its own, by the hooks: exponential waiting times."""

    class WaitingHMM(module.BaseHMM):  # type: ignore[misc]
        def _check(self) -> None:
            super()._check()
            self.rates_ = np.asarray(self.rates_)

        def _get_n_fit_scalars_per_param(self) -> dict[str, int]:
            return {"s": 1, "t": 2, "r": 2}

        def _compute_log_likelihood(self, X: Any) -> Any:
            return np.log(self.rates_) - X * self.rates_

        def _generate_sample_from_state(self, state: int, random_state: Any) -> Any:
            return [random_state.exponential(1 / self.rates_[state])]

        def _initialize_sufficient_statistics(self) -> dict[str, Any]:
            return {**super()._initialize_sufficient_statistics(), "post": np.zeros(2), "sum": np.zeros(2)}

        def _accumulate_sufficient_statistics(self, stats, X, lattice, posteriors, fwdlattice, bwdlattice) -> None:  # type: ignore[no-untyped-def]
            super()._accumulate_sufficient_statistics(stats, X, lattice, posteriors, fwdlattice, bwdlattice)
            assert fwdlattice.shape == bwdlattice.shape == lattice.shape == posteriors.shape
            stats["post"] += posteriors.sum(axis=0)
            stats["sum"] += posteriors.T @ X[:, 0]

        def _do_mstep(self, stats: dict[str, Any]) -> None:
            super()._do_mstep(stats)
            if "r" in self.params:
                self.rates_ = stats["post"] / stats["sum"]

    return WaitingHMM


@pytest.mark.parametrize("implementation", ["log", "scaling"])
def test_classes_of_users_learn_through_the_hooks(implementation: str) -> None:
    models = []
    for module in (base, hmmlearn.base):
        settings = {"n_iter": 4, "tol": -np.inf, "init_params": "", "params": "str"}
        model = waiting_times(module)(2, **settings, implementation=implementation)
        model.startprob_, model.transmat_, model.rates_ = [0.5, 0.5], [[0.8, 0.2], [0.3, 0.7]], [1.0, 0.2]
        X, _ = model.sample(50, random_state=1)
        models.append((model.fit(X, [10, 1, 39]), X))
    (ours, X), (other, their_X) = models
    np.testing.assert_array_equal(X, their_X)
    for name in ("startprob_", "transmat_", "rates_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(other, name), rtol=1e-10)
    np.testing.assert_allclose(ours.bic(X), other.bic(X), rtol=1e-11)


def test_classes_of_users_may_change_a_step_or_a_score_of_ours() -> None:
    class Held(our_hmm.GaussianHMM):
        def _do_mstep(self, stats: Any) -> None:
            super()._do_mstep(stats)
            self.means_[0] = 7.0

    class Flat(our_hmm.GaussianHMM):
        def _compute_log_likelihood(self, X: Any) -> Any:
            return np.zeros((len(X), self.n_components))

    class Counting(our_hmm.GaussianHMM):
        def _accumulate_sufficient_statistics(self, *args: Any) -> None:
            raise AssertionError

    X = np.random.default_rng(0).normal(size=(30, 2))
    assert (Held(2, random_state=0).fit(X).means_[0] == 7).all()
    flat = Flat(2, random_state=0, n_iter=1).fit(X)
    assert flat.score(X) == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(flat.monitor_.history, [0], atol=1e-12)
    with pytest.raises(NotImplementedError, match=r"\bBaseHMM\b"):
        Counting(2).fit(X)


def test_a_base_without_emissions_draws_states() -> None:
    model = base.BaseHMM(2)
    model.startprob_, model.transmat_ = [1.0, 0.0], [[0.0, 1.0], [1.0, 0.0]]
    X, states = model.sample(4)
    assert states.tolist() == [0, 1, 0, 1]
    assert X.shape == (4, 0)
    for ask in (model.score, model.aic):
        with pytest.raises(NotImplementedError, match="_compute_log_likelihood"):
            ask([[0.0]])


# Functions.


def test_recursions_are_theirs() -> None:
    rng = np.random.default_rng(3)
    start, transitions, frames = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4), 4), rng.random((9, 4))
    log_frames, scaling = np.log(frames), hmmlearn._hmmc.forward_scaling(start, transitions, frames)[2]
    for name, arguments in (
        ("forward_log", (log_frames,)),
        ("backward_log", (log_frames,)),
        ("viterbi", (log_frames,)),
        ("forward_scaling", (frames,)),
        ("backward_scaling", (frames, scaling)),
    ):
        mine, other = (getattr(module, name)(start, transitions, *arguments) for module in (_hmmc, hmmlearn._hmmc))
        assert isinstance(mine, tuple) == isinstance(other, tuple)
        for a, b in zip(mine, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11)
    with pytest.raises(ValueError, match="probability 0"):
        _hmmc.forward_scaling(start, transitions, np.zeros((2, 4)))


def test_normalising() -> None:
    for axis in (None, 0, 1):
        values = np.random.default_rng(0).random((4, 3))
        values[2] = 0.0 if axis == 1 else values[2]
        mine, other = values.copy(), values.copy()
        utils.normalize(mine, axis)
        hmmlearn.utils.normalize(other, axis)
        np.testing.assert_allclose(mine, other, rtol=1e-14)
        mine, other = values - 5, values - 5
        utils.log_normalize(mine, axis)
        hmmlearn.utils.log_normalize(other, axis)
        np.testing.assert_allclose(mine, other, rtol=1e-12)


@pytest.mark.parametrize("case", [case for case in OTHERS if case.name == "GaussianHMM"], ids=str)
def test_densities_and_matrices(case: Any) -> None:
    kind, covars, means = case.settings["covariance_type"], case.parameters["covars_"], case.parameters["means_"]
    X = case.sentences()
    mine, other = (each.log_multivariate_normal_density(X, means, covars, kind) for each in (stats, hmmlearn.stats))
    np.testing.assert_allclose(mine, other, rtol=1e-10)
    filled = utils.fill_covars(covars, kind, K, 2)
    np.testing.assert_array_equal(filled, hmmlearn.utils.fill_covars(covars, kind, K, 2))
    model = case.model(our_hmm, n_iter=2).fit(X, LENGTHS)
    assert model.covars_.shape == (K, 2, 2)  # spherical ones, too


def test_divergences() -> None:
    rng, ours, other = np.random.default_rng(1), _kl_divergence, hmmlearn._kl_divergence
    q, p = rng.random((2, 4)) + 0.5
    a, b = (root @ root.T + np.eye(3) for root in rng.normal(size=(2, 3, 3)))
    for name, arguments in (
        ("kl_dirichlet", (q, p)),
        ("kl_normal_distribution", (0.3, 1.2, -0.1, 0.7)),
        ("kl_multivariate_normal_distribution", (q[:3], a, p[:3], b)),
        ("kl_gamma_distribution", (1.5, 0.2, 2.5, 0.4)),
        ("kl_wishart_distribution", (5.5, a, 4.0, b)),
    ):
        assert getattr(ours, name)(*arguments) == pytest.approx(getattr(other, name)(*arguments), rel=1e-10), name
        half = len(arguments) // 2
        assert getattr(ours, name)(*arguments[:half], *arguments[:half]) == pytest.approx(0, abs=1e-12)


# Errors.


def gaussian(**settings: Any) -> Any:
    return our_hmm.GaussianHMM(2, **settings)


REALS = np.random.default_rng(0).normal(size=(20, 2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: gaussian(covariance_type="round").fit(REALS), r"^covariance_type: "),
        (lambda: gaussian(implementation="fast").fit(REALS), r"^implementation: .*'fast'"),
        (lambda: gaussian().fit(REALS, [3, 4]), r"^lengths: "),
        (lambda: gaussian().fit(np.where(REALS > 1, np.nan, REALS)), "NaN"),
        (
            lambda: gaussian().fit(REALS).predict(REALS[:, :1]),
            r"^X: .*\b1\b",
        ),
        (lambda: gaussian().fit(REALS).decode(REALS, algorithm="best"), r"^algorithm: "),
        (lambda: setattr(gaussian(), "covars_", [[1.0, -1.0]] * 2), r"^covars_: .*-1"),
        (lambda: setattr(gaussian(), "covars_", [1.0, 1.0]), r"^covars_: .*'diag'"),
        (
            lambda: setattr(gaussian(covariance_type="tied"), "covars_", [[1.0, 2.0], [2.0, 1.0]]),
            r"^covars_: ",
        ),
        (lambda: setattr(gaussian(covariance_type="spherical"), "covars_", [[1.0, 2.0]] * 2), r"^covars_: .*\(2, 2\)"),
        (lambda: our_hmm.CategoricalHMM(2).fit([[0.5]]), r"^X: .*float64"),
        (lambda: our_hmm.CategoricalHMM(2).fit([[-1]]), r"^X: .*-1"),
        (lambda: our_hmm.CategoricalHMM(2, n_features=2).fit([[2]]), r"^X: .*n_features"),
        (lambda: our_hmm.CategoricalHMM(2).fit([[0], [1]]).predict([[2]]), r"^X: .*\b2\b"),
        (lambda: our_hmm.PoissonHMM(2).fit([[0.5], [1.0]]), r"^X\[0, 0\]: "),
        (lambda: our_hmm.MultinomialHMM(2, n_trials=3).fit([[1, 1]]), r"^X: .*n_trials="),
        (lambda: our_hmm.GMMHMM(2, 2, covars_prior=[1.0, 2.0]).fit(REALS), r"^covars_prior: "),
    ],
)
def test_errors_say_what_is_wrong(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_wrong_parameters_are_named() -> None:
    model = CASES[0].model(our_hmm)
    for name, value, place in (
        ("startprob_", [0.5, 0.6, 0.1], r"^startprob_: "),
        ("transmat_", np.eye(2), r"^transmat_: "),
        ("emissionprob_", np.full((3, 4), 0.2), r"^emissionprob_: "),
    ):
        kept = getattr(model, name)
        setattr(model, name, value)
        with pytest.raises(InputError, match=place):
            model.predict([[0]])
        setattr(model, name, kept)
    with pytest.raises(NotFittedError):
        our_hmm.GaussianHMM(2).predict([[0.0]])


def test_scaling_keeps_its_error_and_log_needs_none() -> None:
    X = np.array([[0.0], [1.0], [1e5], [0.5]])
    for implementation in ("scaling", "log"):
        model = our_hmm.GaussianHMM(2, implementation=implementation, init_params="", n_iter=1)
        model.startprob_, model.transmat_ = [0.5, 0.5], [[0.5, 0.5], [0.5, 0.5]]
        model.means_, model.covars_ = [[0.0], [1.0]], [[1.0], [1.0]]
        if implementation == "scaling":
            for ask in (model.fit, model.score):
                with pytest.raises(ValueError, match=r"^X\[2\]: .*implementation="):
                    ask(X)
        else:
            assert np.isfinite(model.score(X))
            assert np.isfinite(model.fit(X).means_).all()
