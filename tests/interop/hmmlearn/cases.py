"""Models of both libraries with the same parameters, and sentences that one of them drew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tagline.interop.hmmlearn import hmm as our_hmm

their_hmm = pytest.importorskip("hmmlearn.hmm")

K, D, M, V = 3, 2, 2, 4
LENGTHS = [7, 1, 12, 30]
TYPES = ("spherical", "diag", "full", "tied")
EMITTED = {
    "CategoricalHMM": ("emissionprob_",),
    "MultinomialHMM": ("emissionprob_",),
    "PoissonHMM": ("lambdas_",),
    "GaussianHMM": ("means_", "covars_"),
    "GMMHMM": ("weights_", "means_", "covars_"),
}


@dataclass(frozen=True)
class Case:
    """One class with its settings, the letters of its emissions, and parameters by name."""

    name: str
    settings: dict[str, Any]
    letters: str
    parameters: dict[str, NDArray[Any]]
    seed: int

    def __str__(self) -> str:
        return "-".join([self.name, *(str(value) for value in self.settings.values())])

    def model(self, module: Any, **settings: Any) -> Any:
        """The class of this module, with the parameters set."""
        model = getattr(module, self.name)(K, **{**self.settings, "init_params": "", **settings})
        for name, value in self.parameters.items():
            setattr(model, name, value.copy())
        return model

    def pair(self, **settings: Any) -> tuple[Any, Any]:
        """Ours and theirs."""
        return self.model(our_hmm, **settings), self.model(their_hmm, **settings)

    def sentences(self) -> NDArray[Any]:
        """Observations that the model of other parameters might have drawn, for `LENGTHS`."""
        other = make(self.name, self.settings, self.letters, self.seed + 100)
        return np.asarray(other.model(our_hmm).sample(sum(LENGTHS), random_state=self.seed)[0])


def make(name: str, settings: dict[str, Any], letters: str, seed: int) -> Case:
    rng = np.random.default_rng(seed)
    parameters = {"startprob_": rng.dirichlet(np.ones(K)), "transmat_": rng.dirichlet(np.ones(K), K)}
    kind = settings.get("covariance_type")
    if name in ("CategoricalHMM", "MultinomialHMM"):
        parameters["emissionprob_"] = rng.dirichlet(np.ones(V), K)
    elif name == "PoissonHMM":
        parameters["lambdas_"] = rng.uniform(1, 6, (K, D))
    else:
        states = (K,) if name == "GaussianHMM" else (K, M)
        parameters["means_"] = rng.normal(0, 2, (*states, D))
        parameters["covars_"] = covariances(kind, states, rng)
    if name == "GMMHMM":
        parameters["weights_"] = rng.dirichlet(np.ones(M), K)
    return Case(name, settings, letters, parameters, seed)


def covariances(kind: Any, states: tuple[int, ...], rng: np.random.Generator) -> NDArray[Any]:
    """Draw some, in the shape that both libraries have for this type."""
    if kind in ("spherical", "diag"):
        return rng.uniform(0.5, 2, states if kind == "spherical" else (*states, D))
    if kind == "tied":
        states = states[:-1]
    roots = rng.normal(size=(*states, D, D))
    return roots @ np.swapaxes(roots, -1, -2) + 0.5 * np.eye(D)


CASES = [
    make("CategoricalHMM", {"n_features": V}, "e", 1),
    make("MultinomialHMM", {"n_trials": 5}, "e", 2),
    make("PoissonHMM", {}, "l", 3),
    *(make("GaussianHMM", {"covariance_type": kind}, "mc", 4 + n) for n, kind in enumerate(TYPES)),
    *(make("GMMHMM", {"n_mix": M, "covariance_type": kind}, "mcw", 8 + n) for n, kind in enumerate(TYPES)),
]
MIXTURES = [case for case in CASES if case.name == "GMMHMM"]
OTHERS = [case for case in CASES if case.name != "GMMHMM"]


def assert_same_parameters(ours: Any, theirs: Any, names: tuple[str, ...], rtol: float = 1e-9) -> None:
    """Compare these attributes, covariances as they are stored: theirs has no right matrices of spherical ones."""
    for name in ("startprob_", "transmat_", *names):
        stored = f"_{name}" if hasattr(theirs, f"_{name}") else name
        mine, other = np.asarray(getattr(ours, stored)), np.asarray(getattr(theirs, stored))
        if name == "covars_" and mine.ndim < other.ndim:  # spherical: theirs is repeated for each dimension
            mine = np.repeat(mine[:, None], other.shape[1], axis=1)
        np.testing.assert_allclose(mine, other, rtol=rtol, atol=1e-12, err_msg=name)
