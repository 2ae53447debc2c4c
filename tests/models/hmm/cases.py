"""Small HMMs and observations of every family that the tests share; everything is drawn from a seed."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from tagline import HMM

FAMILIES = {
    "categorical": {},
    "multinomial": {},
    "bernoulli": {},
    "poisson": {},
    "gaussian spherical": {"covariance": "spherical"},
    "gaussian diag": {"covariance": "diag"},
    "gaussian full": {"covariance": "full"},
    "gaussian tied": {"covariance": "tied"},
    "mixture diag": {"covariance": "diag", "n_components": 2},
    "mixture full": {"covariance": "full", "n_components": 2},
}

PRIORS: dict[str, dict[str, Any]] = {
    "categorical": {"emission_prior": 1.5},
    "multinomial": {"emission_prior": 1.5},
    "bernoulli": {"emission_prior": 2.0},
    "poisson": {"emission_options": {"rates_prior": 2.0, "rates_weight": 1.5}},
    "gaussian": {
        "emission_options": {"means_prior": 0.5, "means_weight": 2.0, "covars_prior": 0.3, "covars_weight": 3.0}
    },
    "mixture": {
        "emission_options": {"means_prior": 0.5, "means_weight": 2.0, "covars_prior": 0.3, "covars_weight": 3.0}
    },
}

LENGTHS = (40, 1, 25, 60, 7)


def settings(case: str) -> dict[str, Any]:
    return {"emission": case.split()[0], **FAMILIES[case]}


def observations(case: str, seed: int = 0, lengths: tuple[int, ...] = LENGTHS) -> np.ndarray:
    """All sequences joined, ``[N, D]``: three regimes that take turns."""
    random = np.random.default_rng(seed)
    N = sum(lengths)
    regime = (np.arange(N) // 5 + random.integers(0, 2, N)) % 3
    family = case.split()[0]
    if family == "categorical":
        return np.array([random.choice(4, p=np.roll([0.6, 0.2, 0.15, 0.05], r)) for r in regime])[:, None]
    if family == "multinomial":
        return np.stack([random.multinomial(6, np.roll([0.7, 0.2, 0.1], r)) for r in regime])
    if family == "bernoulli":
        return (random.random((N, 3)) < np.array([[0.9, 0.2, 0.5], [0.1, 0.8, 0.5], [0.5, 0.5, 0.9]])[regime]).astype(
            float
        )
    if family == "poisson":
        return random.poisson(np.array([[1.0, 8.0], [5.0, 2.0], [10.0, 10.0]])[regime]).astype(float)
    return (
        random.normal(size=(N, 2)) @ [[1.0, 0.3], [0.0, 0.8]] + np.array([[0.0, 0.0], [3.0, -2.0], [-2.0, 4.0]])[regime]
    )


def sequences(X: np.ndarray, lengths: tuple[int, ...] = LENGTHS) -> list[np.ndarray]:
    return np.split(X, np.cumsum(lengths)[:-1])


def joint(hmm: HMM, x: Any, path: tuple[int, ...]) -> float:
    """log P(O, I) by the definition."""
    rows = hmm.emission_.log_likelihood(hmm._observe([x], None).values)
    with np.errstate(divide="ignore"):
        start, moves = np.log(hmm.start_), np.log(hmm.transitions_)
    total = start[path[0]] + rows[0, path[0]]
    for t in range(1, len(path)):
        total += moves[path[t - 1], path[t]] + rows[t, path[t]]
    return float(total)


def paths(K: int, T: int) -> list[tuple[int, ...]]:
    return list(product(range(K), repeat=T))
