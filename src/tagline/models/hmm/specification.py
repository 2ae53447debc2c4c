"""What `HMM` was told about fitting, checked before anything is learned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline.checks import (
    check_choice,
    check_number,
    is_listing,
    seed_of,
    shown_value,
)
from tagline.errors import InputError
from tagline.models.hmm.counting import Smoothing
from tagline.models.hmm.emissions import FAMILIES, Categorical, Emission
from tagline.models.hmm.emissions.base import number
from tagline.settings import check_settings
from tagline.types import IntArray

CHAIN = ("start", "transitions")  # parameters that are not the emission family's
PRIORS = {"start_prior": 1, "transition_prior": 2}  # and their axes


@dataclass(frozen=True, eq=False)
class Fitting:
    """The parameters of an `HMM`, checked.

    Attributes:
        options: arguments of the emission family.
        frozen: of "start" and "transitions"; those of the family are in `options`.
        rest: as `HMM` has them.
    """

    n_states: int | None
    emission: str | Emission
    options: Mapping[str, Any]
    algorithm: str
    smoothing: Smoothing
    topology: Any
    scheme: str | None
    on_illegal: str
    frozen: frozenset[str]
    n_init: int
    tolerance: float
    unknown: str
    seed: int

    @classmethod
    def of(cls, hmm: Any) -> Fitting:
        """Check the parameters of an estimator."""
        check_settings(hmm)
        family = hmm.emission.family if isinstance(hmm.emission, Emission) else hmm.emission
        return cls(
            None if hmm.n_states is None else int(hmm.n_states),
            hmm.emission,
            _options(hmm, family),
            hmm.algorithm,
            Smoothing(hmm.smoothing, float(hmm.k), hmm.start_prior, hmm.transition_prior),
            hmm.topology,
            hmm.scheme,
            hmm.on_illegal,
            _frozen_chain(hmm.frozen, FAMILIES[family]),
            int(hmm.n_init),
            hmm.tolerance,
            hmm.unknown,
            seed_of(hmm.random_state),
        )

    @property
    def family(self) -> type[Emission]:
        """The class of the emissions."""
        return type(self.emission) if isinstance(self.emission, Emission) else FAMILIES[self.emission]

    def begun(
        self,
        values: NDArray[Any],
        num_symbols: int | None,
        K: int,
        random: np.random.Generator,
        counted: bool = False,
        counts: IntArray | None = None,
    ) -> Emission:
        """Return emissions to start from: those that were given, or random ones.

        Arguments:
            values: the observations.
            num_symbols: V, of categorical emissions.
            counted: whether symbols are going to be counted, and smoothed for those that are never seen.
            counts: how often each symbol occurs, where the observations lie elsewhere.
        """
        if isinstance(self.emission, Emission):
            if self.emission.num_states != K:
                raise InputError("emission: expected {} states, got {}", K, self.emission.num_states)
            return self.held(self.emission)
        more = dict(self.options)
        if self.family is Categorical:
            more |= {"num_symbols": num_symbols, "counts": counts}
            if counted and self.unknown == "smooth":
                more["unseen"] = True
        return self.family.started(values, K, random, **more)

    def held(self, emission: Emission) -> Emission:
        """Return given emissions, with what the estimator says is frozen frozen, too."""
        return replace(emission, frozen=tuple({*emission.frozen, *self.options["frozen"]}))


def check_emission(place: str, emission: object) -> None:
    """Raise unless a value is an emission family or its name."""
    check_choice(place, emission.family if isinstance(emission, Emission) else emission, FAMILIES)


def check_vector_prior(place: str, prior: object) -> None:
    """Raise unless a value has the parameters of a Dirichlet prior, one number or K."""
    _check_prior(place, prior, 1)


def check_matrix_prior(place: str, prior: object) -> None:
    """Raise unless a value has the parameters of K Dirichlet priors, one number or K × K."""
    _check_prior(place, prior, 2)


def check_gain(place: str, gain: object) -> None:
    """Raise unless a value is a number; ±∞ are."""
    check_number(place, gain, finite=False)


def _check_prior(name: str, prior: Any, axes: int) -> None:
    try:
        values = np.asarray(prior, np.float64)
    except (TypeError, ValueError, OverflowError):
        values = np.array(np.nan)
    if values.ndim > axes or not (np.isfinite(values) & (values >= 1)).all():
        raise InputError(
            "{}: expected Dirichlet parameters of 1 (no prior) or more, one or {}, got {}",
            name,
            ["K", "K × K"][axes - 1],
            shown_value(prior),
        )


def check_priors(smoothing: Smoothing, K: int) -> None:
    """Raise where priors are not of K states, whose number may be known from the data only."""
    for name, axes in PRIORS.items():
        shape = np.shape(getattr(smoothing, name))
        if any(size not in (1, K) for size in shape):
            raise InputError(
                "{}: expected one number or shape {}, for {} states, got {}", name, [K] * axes, K, list(shape)
            )


def _options(hmm: Any, family: str) -> dict[str, Any]:
    """The arguments of the emission family that the estimator has names for, and the further ones."""
    frozen = tuple(name for name in _names(hmm.frozen) if name not in CHAIN)
    options: dict[str, Any] = {"tied": hmm.tied, "frozen": frozen}
    prior = number("emission_prior", hmm.emission_prior)
    if family in ("categorical", "multinomial", "bernoulli"):
        options["prior"] = hmm.emission_prior
    elif (prior != 1).any():
        raise InputError(
            "emission_prior: expected 1, for {} emissions have priors of other kinds, got {}; "
            "pass theirs in emission_options=",
            family,
            shown_value(hmm.emission_prior),
        )
    if family in ("gaussian", "mixture"):
        options |= {"covariance": hmm.covariance, "min_variance": hmm.min_variance}
    if family == "mixture":
        options["n_components"] = hmm.n_components
    if family == "categorical" and hmm.unknown == "smooth" and prior.ndim == 0 and prior > 1:
        options |= {"unseen": True, "unseen_prior": hmm.emission_prior}
    return {**options, **(hmm.emission_options or {})}


def _names(frozen: Any) -> list[str]:
    names = [frozen] if isinstance(frozen, str) else frozen
    if not is_listing(names) or not all(isinstance(name, str) for name in names):
        raise InputError("frozen: expected names of parameters, got {}", shown_value(frozen))
    return list(names)


def _frozen_chain(given: Any, family: type[Emission]) -> frozenset[str]:
    known = (*CHAIN, *family.parameters)
    for name in _names(given):
        if name not in known:
            raise InputError("frozen: expected names among {}, got {}", ", ".join(known), shown_value(name))
    return frozenset(name for name in _names(given) if name in CHAIN)
