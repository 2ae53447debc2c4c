"""Symbols: each state has a probability for each of V symbols, and may keep some for symbols that it never saw.

p(v | k) = probabilities[k, v]. The prior is a Dirichlet distribution, so that the M step is
``probabilities[k, v] ∝ counts[v, k] + prior − 1``: a prior of 1 is none, 1 + c adds c to every count.
Observations are numbers of symbols ``[N]``, `MISSING` where nothing was seen, `UNKNOWN` for a symbol without a number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagline.errors import InputError
from tagline.models.hmm.emissions.base import Emission, by_state, parameter, prior
from tagline.models.hmm.emissions.discrete import check_rows, log, log_density, probabilities, shares
from tagline.types import Float64Array, IntArray

MISSING, UNKNOWN = -1, -2


@dataclass(frozen=True, eq=False)
class Categorical(Emission):
    """Symbols with a probability in each state.

    Arguments:
        probabilities: ``[K, V]``, each row sums to one, together with `unseen` where that is given.
        prior: Dirichlet parameters, a number of at least 1 or an array that fits ``[K, V]``; 1 is no prior.
        unseen: ``[K]``, the probability of all symbols without a number together; None: such a symbol is an error.
        unseen_prior: the Dirichlet parameter that belongs to it.

    >>> coins = Categorical([[0.5, 0.5], [0.9, 0.1]])
    >>> coins.log_likelihood(np.array([0, -1])).round(3).tolist()
    [[-0.693, -0.105], [0.0, 0.0]]
    """

    family: ClassVar[str] = "categorical"
    parameters: ClassVar[tuple[str, ...]] = ("probabilities",)
    starts_from_sample: ClassVar[bool] = False
    numbers: ClassVar[tuple[str, ...]] = ("prior", "unseen", "unseen_prior")

    probabilities: Float64Array
    prior: Float64Array | float = 1.0
    unseen: Float64Array | None = None
    unseen_prior: Float64Array | float = 1.0

    def __post_init__(self) -> None:
        rows = probabilities("probabilities", self.probabilities, None, None)
        K = len(rows)
        unseen = None if self.unseen is None else probabilities("unseen", self.unseen, K)
        check_rows("probabilities", rows, 0.0 if unseen is None else unseen)
        self._set(
            probabilities=rows,
            unseen=unseen,
            prior=prior("prior", self.prior, 1.0, rows.shape),
            unseen_prior=prior("unseen_prior", self.unseen_prior, 1.0, (K,)),
        )
        self._check_shared()

    @classmethod
    def uniform(cls, num_symbols: int, num_states: int, *, unseen: bool = False, **settings: Any) -> Self:
        """Return states in which all symbols are equally likely, from which `counted` starts supervised training."""
        share = 1.0 / (num_symbols + unseen)
        rest = np.full(num_states, share) if unseen else None
        return cls(np.full((num_states, num_symbols), share), unseen=rest, **settings)

    @property
    def num_symbols(self) -> int:
        """V."""
        return int(self.probabilities.shape[1])

    def log_table(self) -> Float64Array:
        """Return log p of each symbol in each state, ``[V, K]``, C order: what the E step over symbols reads."""
        return np.ascontiguousarray(log(self.probabilities).T)

    def with_unseen(self, observations: IntArray) -> tuple[Float64Array, IntArray]:
        """Return `log_table`, and the observations by its rows, where unknown symbols have a row of their own."""
        if self.unseen is None:
            return self.log_table(), observations
        rows = np.concatenate([self.log_table(), log(self.unseen)[None]])
        return rows, np.where(observations == UNKNOWN, self.num_symbols, observations)

    def _log_likelihood(self, observations: NDArray[Any]) -> Float64Array:
        unseen = np.full(self.num_states, np.nan) if self.unseen is None else log(self.unseen)
        # Negative numbers count from the end: UNKNOWN is the last row but one, MISSING the last.
        table = np.concatenate([self.log_table(), unseen[None], np.zeros((1, self.num_states))])
        if self.unseen is None:
            self._refuse_unknown(observations)
        logs: Float64Array = table[observations]
        return logs

    def _refuse_unknown(self, observations: NDArray[Any]) -> None:
        strange = np.flatnonzero(observations == UNKNOWN)
        if len(strange):
            raise InputError(
                "observation {}: expected one of {} known symbols, got an unknown one; fit with "
                "unknown='smooth', or leave such observations out",
                strange[0],
                self.num_symbols,
            )

    def counts(self, observations: NDArray[Any], posteriors: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Return how often each state emitted each symbol, ``[V, K]``, and an unknown one, ``[K]``."""
        V = self.num_symbols
        places = np.where(observations < 0, V + observations - UNKNOWN, observations)  # V: unknown, V + 1: missing
        columns = [
            np.bincount(places, posteriors[:, k], V + 2).astype(np.float64, copy=False)
            for k in range(posteriors.shape[1])
        ]
        table: Float64Array = np.stack(columns, axis=1)
        return table[:V], table[V]

    def _fitted(self, observations: NDArray[Any], posteriors: Float64Array) -> Self:
        if self.unseen is None:
            self._refuse_unknown(observations)
        return self._counted(*self.counts(observations, posteriors))

    def counted(self, counts: ArrayLike, unseen: ArrayLike | None = None) -> Self:
        """Return the M step from counts.

        Arguments:
            counts: ``[V, K]``, how often (or how much) each state emitted each symbol.
            unseen: ``[K]``, how often an unknown one; zeros when left out.
        """
        K = self.num_states
        table = parameter("counts", counts, self.num_symbols, K)
        rest = np.zeros(K) if unseen is None else parameter("unseen", unseen, K)
        if min(table.min(), rest.min()) < 0:
            raise InputError("counts: expected numbers of at least 0, got {:g}", min(table.min(), rest.min()))
        if set(self.parameters) <= set(self.frozen):
            return self
        if self.tied is None:
            return self._counted(table, rest)
        groups = self._groups()
        member = np.eye(groups.num_states)[list(self.tied)]  # [K, groups]
        return replace(groups._counted(table @ member, rest @ member).states(list(self.tied)), tied=self.tied)

    def _counted(self, counts: Float64Array, unseen: Float64Array) -> Self:
        if self.unseen is None:
            return replace(self, probabilities=shares(counts.T, self.probabilities, self.prior))
        K, V = self.probabilities.shape
        weights = np.broadcast_to(self.prior, (K, V)), np.broadcast_to(self.unseen_prior, K)
        rows = shares(_beside(counts.T, unseen), _beside(self.probabilities, self.unseen), _beside(*weights))
        return replace(self, probabilities=rows[:, :-1], unseen=rows[:, -1])

    def _log_prior(self) -> float:
        total = log_density(np.asarray(self.prior - 1.0), self.probabilities)
        if self.unseen is not None:
            total += log_density(np.asarray(self.unseen_prior - 1.0), self.unseen)
        return total

    def _num_parameters(self) -> dict[str, int]:
        return {"probabilities": self.num_states * (self.num_symbols - 1 + (self.unseen is not None))}

    def _chosen(self, keep: IntArray) -> dict[str, Any]:
        return {
            "probabilities": self.probabilities[keep],
            "unseen": None if self.unseen is None else self.unseen[keep],
            "prior": by_state(np.asarray(self.prior), keep, 2),
            "unseen_prior": by_state(np.asarray(self.unseen_prior), keep, 1),
        }

    def sample(self, states: IntArray, random: np.random.Generator) -> IntArray:
        """Draw one symbol for each state, ``[T]``; `UNKNOWN` where a state emits an unseen one."""
        rest = np.zeros(self.num_states) if self.unseen is None else self.unseen
        cumulative = np.cumsum(np.concatenate([rest[:, None], self.probabilities], axis=1), axis=1)  # [K, 1 + V]
        drawn = random.random(len(states))
        symbols = np.empty(len(states), np.int64)
        for k in np.unique(states):
            here = states == k
            # Scaled to the exact total, so that rounding never draws beyond the last possible symbol.
            symbols[here] = np.searchsorted(cumulative[k], drawn[here] * cumulative[k, -1], side="right") - 1
        return np.where(symbols < 0, UNKNOWN, symbols)

    @classmethod
    def _started(
        cls,
        observations: NDArray[Any],
        num_states: int,
        random: np.random.Generator,
        *,
        num_symbols: int | None = None,
        counts: IntArray | None = None,
        unseen: bool = False,
        **settings: Any,
    ) -> Self:
        """Draw each state's probabilities around the frequencies of the symbols, which `counts` may give."""
        V = int(observations.max(initial=0)) + 1 if num_symbols is None else num_symbols
        if counts is None:
            counts = np.bincount(observations[observations >= 0], minlength=V)
        frequencies = np.concatenate([counts, np.zeros(int(unseen))]) + 1.0
        drawn = frequencies * (0.2 + random.standard_exponential((num_states, V + unseen)))
        rows = drawn / drawn.sum(axis=1, keepdims=True)
        return cls(rows[:, :V], unseen=rows[:, V] if unseen else None, **settings)


def _beside(rows: Float64Array, last: Float64Array) -> Float64Array:
    """Join ``[K, V]`` and ``[K]`` as one more column."""
    return np.concatenate([rows, last[:, None]], axis=1)
