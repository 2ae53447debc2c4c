"""What an HMM asks of its emissions: p(observation | state) for K states, as frozen values with pure functions.

A family stands between observations and the chain: `log_likelihood` gives the emission scores ``[N, K]`` of a chain,
`fitted` is the M step of EM. With responsibilities γ ``[N, K]`` it returns the parameters θ that maximise

    Σ_n Σ_k γ[n, k] log p(x_n | θ_k) + log_prior(θ),

so that log-likelihood + `log_prior` rises at every step of EM. Rules that hold for every family:

- a missing observation has log-likelihood 0 in every state, and nothing is learned from it;
- parameters whose observations weigh less than `EMPTY` stay as they were, above all those of an empty state;
- parameters named in `frozen` stay as they are;
- states with the same number in `tied` share their parameters: they learn from the data of all of them, and the prior
  counts once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from inspect import signature
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagline.checks import as_array, finite_numbers, shown_value
from tagline.errors import InputError, StorageError
from tagline.models.hmm.emissions.starting import drawn_rows
from tagline.types import BoolArray, Float64Array, IntArray

EMPTY = 1e-8  # observations: a state with less keeps its parameters


@dataclass(frozen=True, eq=False, kw_only=True)
class Emission(ABC):
    """One family of distributions with the parameters of K states.

    Arguments:
        frozen: names of parameters that `fitted` leaves alone.
        tied: the group of each state, ``[K]``, numbers from 0; states of a group share their parameters. None: each
            state has its own.
    """

    family: ClassVar[str]
    parameters: ClassVar[tuple[str, ...]]  # arrays that `fitted` learns
    numbers: ClassVar[tuple[str, ...]] = ()  # arrays that are given: priors and floors
    options: ClassVar[tuple[str, ...]] = ()  # given values of JSON's types
    starts_from_sample: ClassVar[bool] = True  # whether `_started` sees a sample of the observations

    frozen: tuple[str, ...] = ()
    tied: tuple[int, ...] | None = None

    # What a family says of itself.

    @property
    def num_states(self) -> int:
        """K; the first parameter of every family has a row for each state."""
        return len(getattr(self, self.parameters[0]))

    @abstractmethod
    def _log_likelihood(self, observations: NDArray[Any]) -> Float64Array:
        """Return `log_likelihood` of states that are not tied."""

    @abstractmethod
    def _fitted(self, observations: NDArray[Any], posteriors: Float64Array) -> Self:
        """Return `fitted` for states that are not tied."""

    @abstractmethod
    def _log_prior(self) -> float:
        """Return `log_prior` of states that are not tied."""

    @abstractmethod
    def _num_parameters(self) -> dict[str, int]:
        """Return how many free numbers each parameter has, where states are not tied."""

    @abstractmethod
    def _chosen(self, keep: IntArray) -> dict[str, Any]:
        """Return the fields that differ by state, for these states."""

    @abstractmethod
    def sample(self, states: IntArray, random: np.random.Generator) -> NDArray[Any]:
        """Draw one observation for each of these states ``[T]``."""

    @classmethod
    @abstractmethod
    def _started(
        cls, observations: NDArray[Any], num_states: int, random: np.random.Generator, **settings: Any
    ) -> Self:
        """Return `started` for states that are not tied."""

    # What an HMM asks.

    def log_likelihood(self, observations: NDArray[Any]) -> Float64Array:
        """Return log p(x_n | state k), ``[N, K]``; a missing observation has 0 in every state."""
        if self.tied is None:
            return self._log_likelihood(observations)
        return np.take(self._groups()._log_likelihood(observations), self.tied, axis=1)

    def fitted(self, observations: NDArray[Any], posteriors: Float64Array) -> Self:
        """Return the M step: the best parameters for observations weighted by ``posteriors [N, K]``, and the prior.

        With posteriors of 0 and 1 this is supervised training.
        """
        if set(self.parameters) <= set(self.frozen):
            return self
        if self.tied is None:
            return self._fitted(observations, posteriors)
        group = list(self.tied)
        groups = self._groups()
        pooled = posteriors @ np.eye(groups.num_states)[group]  # [N, groups]
        return replace(groups._fitted(observations, pooled).states(group), tied=self.tied)

    def log_prior(self) -> float:
        """Return the log density of the parameters under the prior, up to a constant; 0 without a prior."""
        return self._log_prior() if self.tied is None else self._groups()._log_prior()

    def num_parameters(self) -> int:
        """Return how many numbers are free to be learned, as AIC and BIC count them."""
        counts = (self if self.tied is None else self._groups())._num_parameters()
        return sum(count for name, count in counts.items() if name not in self.frozen)

    def states(self, keep: ArrayLike) -> Self:
        """Return the family with these states, in this order; a state may be named more than once or not at all."""
        order = np.asarray(keep, np.int64)
        tied = None
        if self.tied is not None:
            tied = _numbered([self.tied[k] for k in order.tolist()])
        return replace(self, **self._chosen(order), tied=tied)

    def _groups(self) -> Self:
        """Return the family with one state for each group of tied states."""
        assert self.tied is not None
        firsts = [self.tied.index(group) for group in range(max(self.tied) + 1)]
        return replace(self, **self._chosen(np.array(firsts)), tied=None)

    @classmethod
    def present(cls, observations: NDArray[Any]) -> BoolArray:
        """Say which observations are not missing altogether."""
        return np.asarray(~np.isnan(observations).all(axis=1))

    @classmethod
    def started(
        cls,
        observations: NDArray[Any],
        num_states: int,
        random: np.random.Generator,
        *,
        tied: Sequence[int] | None = None,
        **settings: Any,
    ) -> Self:
        """Return a family with which EM can begin: its states differ, and each is possible.

        Arguments:
            observations: those that EM will see; families of numbers look at a sample of them.
            num_states: K.
            random: draws the start.
            tied, settings: the family's other arguments.
        """
        asked = set(signature(cls._started).parameters)
        known = {entry.name for entry in fields(cls) if entry.init} | asked
        known -= {*cls.parameters, "observations", "num_states", "random", "settings"}
        if odd := sorted(set(settings) - known):
            raise InputError(
                "{}: expected a setting among {} for {} emissions, got another",
                odd[0],
                ", ".join(sorted(known)),
                cls.family,
            )
        if cls.starts_from_sample:
            rows = np.flatnonzero(cls.present(observations))
            observations = observations[rows[drawn_rows(len(rows), random)]]
        group = tuple(range(num_states)) if tied is None else check_tied(tied, num_states)
        priors = {name: settings.pop(name) for name in cls.numbers if name in settings and name not in asked}
        start = cls._started(observations, max(group) + 1, random, **settings)
        return replace(start.states(list(group)), **priors, tied=None if tied is None else group)

    # For the model file.

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return parameters and priors by name."""
        return {name: value for name in (*self.parameters, *self.numbers) if (value := getattr(self, name)) is not None}

    def config(self) -> dict[str, Any]:
        """Return everything else as plain data; `from_arrays` takes both."""
        tied = None if self.tied is None else list(self.tied)
        options = {name: getattr(self, name) for name in self.options}
        return {"family": self.family, **options, "frozen": list(self.frozen), "tied": tied}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], config: Mapping[str, Any]) -> Self:
        """Return the family that `arrays` and `config` described; whatever is wrong with them is a `StorageError`."""
        settings = {name: value for name, value in config.items() if name != "family"}
        if config.get("family") != cls.family:
            raise StorageError("emissions: expected the family {!r}, got {!r:.60}", cls.family, config.get("family"))
        optional = {entry.name for entry in fields(cls) if entry.name in cls.numbers and entry.default is None}
        for what, names, wanted in (
            ("arrays", set(arrays), {*cls.parameters, *cls.numbers}),
            ("settings", set(settings), {*cls.options, "frozen", "tied"}),
        ):
            if names - wanted or wanted - names - optional:
                raise StorageError(
                    "emissions: expected the {} {}, got {}", what, sorted(wanted), sorted(map(str, names))
                )
        for name, array in arrays.items():
            if array.dtype != np.float64:
                raise StorageError("emissions: expected float64 numbers as {!r}, got {}", name, array.dtype)
        values: dict[str, Any] = {**arrays, **settings}
        try:
            return cls(**values)
        except InputError as error:
            raise StorageError("emissions: {}", error) from None

    # For the families' own checks; a frozen dataclass is written by `object.__setattr__`.

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _check_shared(self) -> None:
        """Check `frozen` and `tied`, which every family has."""
        frozen = (self.frozen,) if isinstance(self.frozen, str) else self.frozen
        try:
            names = tuple(sorted(frozen))
        except TypeError:
            raise InputError("frozen: expected names of parameters, got {}", shown_value(frozen)) from None
        if odd := [name for name in names if name not in self.parameters]:
            raise InputError("frozen: expected names among {}, got {!r:.60}", ", ".join(self.parameters), odd[0])
        self._set(frozen=names, tied=None if self.tied is None else check_tied(self.tied, self.num_states))
        if self.tied is not None:
            self._check_equal_when_tied(self.tied)

    def _check_equal_when_tied(self, tied: tuple[int, ...]) -> None:
        firsts = [tied.index(group) for group in tied]
        own, of_first = self._chosen(np.arange(len(tied))), self._chosen(np.array(firsts))
        for name in self.parameters:
            if name in own and not np.array_equal(own[name], of_first[name]):
                raise InputError("{}: expected equal parameters in states that are tied, got different ones", name)


def check_tied(tied: Any, num_states: int) -> tuple[int, ...]:
    """Return the group of each state, groups numbered from 0 in the order of their first state."""
    groups = as_array("tied", tied)
    if groups.dtype.kind not in "iu" or groups.shape != (num_states,):
        raise InputError(
            "tied: expected the number of a group for each of {} states, got {}", num_states, shown_value(tied)
        )
    return _numbered(groups.tolist())


def _numbered(groups: list[int]) -> tuple[int, ...]:
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(group, len(numbers)) for group in groups)


def parameter(name: str, value: ArrayLike, *shape: int | None) -> Float64Array:
    """Return a copy of finite float64 numbers of this shape (None: any length but 0) that cannot be changed."""
    array = number(name, value)
    sizes = ", ".join("any" if size is None else str(size) for size in shape)
    fits = array.ndim == len(shape) and all(b in (None, a) for a, b in zip(array.shape, shape, strict=True))
    if not fits or not array.size:
        raise InputError("{}: expected numbers of shape [{}], got {}", name, sizes, list(array.shape))
    return array


def number(name: str, value: ArrayLike) -> Float64Array:
    """Return a copy of finite float64 numbers of any shape that cannot be changed."""
    array = finite_numbers(name, value)
    array.flags.writeable = False
    return array


def prior(name: str, value: ArrayLike, least: float, shape: tuple[int, ...]) -> Float64Array:
    """Return numbers of at least `least` that broadcast to this shape."""
    array = number(name, value)
    try:
        fits = np.broadcast_shapes(array.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise InputError(
            "{}: expected a number, or an array that fits shape {}, got {}", name, list(shape), list(array.shape)
        )
    if array.size and array.min() < least:
        raise InputError(
            "{0}: expected numbers of at least {1:g} ({1:g}: no prior), got {2:g}", name, least, array.min()
        )
    return array


def by_state(array: Float64Array, keep: IntArray, axes: int) -> Float64Array:
    """Choose states of an array that broadcasts to ``[K, …]`` with this many axes."""
    return array[keep] if array.ndim == axes and len(array) > 1 else array
