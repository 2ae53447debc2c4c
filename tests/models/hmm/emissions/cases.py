"""Families with random parameters, and observations for them, in every variant that the tests run through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline.models.hmm.emissions import (
    COVARIANCES,
    Bernoulli,
    Categorical,
    Emission,
    Gaussian,
    Mixture,
    Multinomial,
    Poisson,
)

Random = np.random.Generator
K, V, D, M = 3, 4, 2, 2


@dataclass(frozen=True)
class Case:
    """How to make a family of K states, and observations of it."""

    name: str
    make: Callable[[Random], Emission]
    observe: Callable[[Random, int], NDArray[Any]]
    missing: Any  # a missing observation
    prior: bool

    def __str__(self) -> str:
        return self.name


def rows(random: Random, *shape: int) -> NDArray[np.float64]:
    return random.dirichlet(np.full(shape[-1], 3.0), shape[:-1])


def matrices(random: Random, *shape: int) -> NDArray[np.float64]:
    roots = random.normal(size=(*shape, D, D))
    return roots @ np.swapaxes(roots, -1, -2) + 0.5 * np.eye(D)


def covars(random: Random, kind: str, *shape: int) -> NDArray[np.float64]:
    if kind == "tied":
        return matrices(random, *shape[:-1])
    if kind == "full":
        return matrices(random, *shape)
    return random.uniform(0.3, 2.0, shape if kind == "spherical" else (*shape, D))


def vectors(random: Random, N: int) -> NDArray[np.float64]:
    X = random.normal(size=(N, D)) + random.choice([-3.0, 0.0, 4.0], (N, 1))
    X[1] = np.nan
    return X


def holes(random: Random, N: int) -> NDArray[np.float64]:
    X = vectors(random, N)
    X[2:][random.random((N - 2, D)) < 0.3] = np.nan
    return X


def symbols(random: Random, N: int) -> NDArray[np.int64]:
    ids = random.integers(0, V, N)
    ids[1] = -1
    return ids


def some_unknown(random: Random, N: int) -> NDArray[np.int64]:
    ids = symbols(random, N)
    ids[5:10] = -2
    return ids


def bags(random: Random, N: int) -> NDArray[np.int64]:
    counts = random.poisson(2.0, (N, V))
    counts[1], counts[2] = -1, 0
    return counts


def switches(random: Random, N: int) -> NDArray[np.float64]:
    on = (random.random((N, D)) < 0.4).astype(float)
    on[1], on[2, 0] = np.nan, np.nan
    return on


def events(random: Random, N: int) -> NDArray[np.float64]:
    counts = random.poisson(3.0, (N, D)).astype(float)
    counts[1], counts[2, 0] = np.nan, np.nan
    return counts


def gaussian(kind: str, prior: bool) -> Callable[[Random], Emission]:
    weights = {"means_prior": 0.7, "means_weight": 1.5, "covars_prior": 0.4, "covars_weight": 4.0} if prior else {}
    return lambda random: Gaussian(random.normal(size=(K, D)), covars(random, kind, K), kind, **weights)


def mixture(kind: str, prior: bool) -> Callable[[Random], Emission]:
    more = {"weights_prior": 1.8, "means_prior": -0.2, "means_weight": 0.5, "covars_prior": 0.3, "covars_weight": 3.5}
    return lambda random: Mixture(
        rows(random, K, M), random.normal(size=(K, M, D)), covars(random, kind, K, M), kind, **(more if prior else {})
    )


def with_unseen(random: Random) -> Emission:
    table = rows(random, K, V + 1)
    return Categorical(table[:, :V], prior=[[1.0], [2.0], [1.5]], unseen=table[:, V], unseen_prior=1.3)


def _cases() -> list[Case]:
    found = [Case("categorical-unseen", with_unseen, some_unknown, -1, True)]
    for prior in (False, True):
        mark, dirichlet = "-prior" if prior else "", {"prior": 1.7} if prior else {}
        gamma = {"rates_prior": 0.6, "rates_weight": 0.4} if prior else {}
        beta = {"prior": [1.5, 2.5]} if prior else {}
        found += [
            Case(f"categorical{mark}", lambda r, d=dirichlet: Categorical(rows(r, K, V), **d), symbols, -1, prior),
            Case(f"multinomial{mark}", lambda r, d=dirichlet: Multinomial(rows(r, K, V), **d), bags, -1, prior),
            Case(f"bernoulli{mark}", lambda r, b=beta: Bernoulli(r.random((K, D)), **b), switches, np.nan, prior),
            Case(f"poisson{mark}", lambda r, g=gamma: Poisson(r.uniform(1, 5, (K, D)), **g), events, np.nan, prior),
        ]
        for kind in COVARIANCES:
            for some, observe in (("", vectors), ("-holes", holes)):
                found.append(Case(f"{kind}{mark}{some}", gaussian(kind, prior), observe, np.nan, prior))
                if (kind == "diag" and not some) or (prior and some):
                    found.append(Case(f"mixture-{kind}{mark}{some}", mixture(kind, prior), observe, np.nan, prior))
    return found


CASES = _cases()


def responsibilities(random: Random, N: int, num_states: int = K) -> NDArray[np.float64]:
    """Posteriors with exact zeros in them."""
    drawn = random.dirichlet(np.full(num_states, 0.7), N)
    drawn[drawn < 0.05] = 0.0
    return drawn / drawn.sum(axis=1, keepdims=True)


def responsible(emission: Emission, X: NDArray[Any], log_weights: NDArray[np.float64]) -> tuple[Any, Any]:
    """The E step of a mixture of the family's states: log-likelihood and posteriors."""
    joint = emission.log_likelihood(X) + log_weights
    top = joint.max(axis=1, keepdims=True)
    total = np.log(np.exp(joint - top).sum(axis=1, keepdims=True)) + top
    return float(total.sum()), np.exp(joint - total)
