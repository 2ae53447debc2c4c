"""What an HMM has learned: λ = (π, A, B), the names of its states and of its symbols.

P(O, I) = π(i_1) b(o_1 | i_1) Π_t A(i_(t−1), i_t) b(o_t | i_t). The logarithms of these numbers are the scores of a
chain, whose log Z is log P(O): every question is the engine's to answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagline.chain.symbols import SymbolChain
from tagline.errors import InputError
from tagline.models.hmm.emissions import Categorical, Emission, Symbols
from tagline.models.hmm.emissions.discrete import check_rows, log, probabilities
from tagline.models.hmm.tables import NO_TABLE, Layout
from tagline.models.hmm.topologies import Topology
from tagline.readers.rules import Rules, legal
from tagline.types import Chain, Float64Array, IntArray, sealed


@dataclass(frozen=True, eq=False)
class HMMParameters:
    """The learned part of an HMM.

    Attributes:
        labels: K names, sorted; the digits 0 … K − 1 where states are numbers.
        numbers: whether they are.
        scheme: the tag scheme whose rules hold; None for no rules.
        start: π ``[K]``.
        transitions: A ``[K, K]`` as ``[previous, next]``.
        emission: B, a family with its parameters.
        symbols: the symbols by number, of categorical emissions.
        layout: what it reads of tables.
    """

    labels: tuple[str, ...]
    numbers: bool
    scheme: str | None
    start: Float64Array
    transitions: Float64Array
    emission: Emission
    symbols: Symbols | None = None
    layout: Layout = NO_TABLE

    @property
    def num_states(self) -> int:
        """K."""
        return len(self.labels)

    @cached_property
    def log_start(self) -> Float64Array:
        """log π."""
        return log(self.start)

    @cached_property
    def log_transitions(self) -> Float64Array:
        """log A."""
        return log(self.transitions)

    @cached_property
    def rules(self) -> Rules | None:
        """What the scheme forbids."""
        return None if self.scheme is None else legal(self.labels, self.scheme)

    @cached_property
    def log_end(self) -> Float64Array:
        """−∞ where the scheme lets no sentence end, else 0."""
        return np.zeros(self.num_states) if self.rules is None else np.where(self.rules.end, 0.0, -np.inf)

    def chain(self, observations: NDArray[Any], offsets: IntArray) -> Chain:
        """Score sentences: a float64 chain whose log Z is log P(O)."""
        emitted = self.emission.log_likelihood(observations)
        return Chain(sealed(emitted), self.log_transitions, self.log_start, self.log_end, offsets)

    def symbol_chain(self, observations: NDArray[Any], offsets: IntArray) -> SymbolChain | None:
        """The same without an array of a row for each observation; None where emissions have no table of symbols."""
        if not isinstance(self.emission, Categorical):
            return None
        table, ids = self.emission.with_unseen(observations)
        return SymbolChain(table, ids, self.log_transitions, self.log_start, self.log_end, offsets)

    def num_parameters(self, topology: Topology | None = None) -> int:
        """How many numbers are free.

        Arguments:
            topology: what may be more than 0; where left out, what is. EM drives probabilities to 0 that were free.
        """
        start, transitions = self.start > 0, self.transitions > 0
        if topology is not None:
            allowed = topology.within(self.rules)
            start, transitions = allowed.start, allowed.transitions
        rows = np.concatenate([start[None], transitions])
        return int((rows.sum(axis=1) - 1).sum()) + self.emission.num_parameters()

    def with_emission(self, emission: Emission) -> HMMParameters:
        """The same chain with other emissions."""
        return replace(self, emission=emission)


def checked(parameters: HMMParameters) -> HMMParameters:
    """Return parameters that fit together, with rows that sum to one; else say which do not, and by how much."""
    p, K = parameters, len(parameters.labels)
    if p.emission.num_states != K:
        raise InputError("emission: expected {} states, as start has, got {}", K, p.emission.num_states)
    start = distribution("start", p.start, K)
    return replace(p, start=start, transitions=distribution("transitions", p.transitions, K, K))


def distribution(name: str, given: ArrayLike, *shape: int | None) -> Float64Array:
    """Return probabilities whose last axis sums to 1.

    >>> distribution("start", [0.25, 0.75], 2).tolist()
    [0.25, 0.75]
    """
    table = probabilities(name, given, *shape)
    if table.ndim > 1:
        check_rows(name, table)
    elif abs(total := float(table.sum()) - 1) > 1e-6:
        raise InputError(
            "{}: expected probabilities that sum to 1, got {:.10g} (off by {:+.3g}); divide them by their sum",
            name,
            total + 1,
            total,
        )
    return table
