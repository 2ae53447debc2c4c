"""The E step over some of the sentences, as sums that can be added up: in this process, or where others hold them.

Observations are cut into lanes (`training.lanes`). A lane answers with log P(O) and one vector: expected counts of
first states and of transitions, then what the emission family learns from. The sum over all lanes is a tree, so its
bits do not depend on who holds which lane.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline.chain.symbols import SymbolChain
from tagline.errors import NoPathError
from tagline.models.hmm.emissions import Categorical, Emission, Gaussian
from tagline.models.hmm.emissions.sums import SummedEmission
from tagline.models.hmm.parameters import HMMParameters
from tagline.training.expectations import (
    Expectations,
    ShiftedMoments,
    best_expectations,
    best_symbol_expectations,
    expectations,
    gaussian_expectations,
    symbol_expectations,
)
from tagline.training.lanes import lane_count, lane_offsets
from tagline.types import BoolArray, Float64Array, IntArray

Sum = tuple[float, Float64Array]


def learns_from_sums(emission: Emission, algorithm: str, whole: bool) -> bool:
    """Say whether sums are all that EM needs.

    Arguments:
        whole: whether no number is missing and every state is allowed everywhere.
    """
    if isinstance(emission, Gaussian):
        return whole and algorithm == "em" and emission.learns_from_moments
    return isinstance(emission, Categorical | SummedEmission)


@dataclass(frozen=True, eq=False)
class Lane:
    """Some sentences.

    Attributes:
        observations, offsets: as the emission family takes them.
        allowed: ``[N, K]``, the states that each observation may have; None for all.
        algorithm: "em" or "viterbi".
        first: the number of its first sentence, for messages.
    """

    observations: NDArray[Any]
    offsets: IntArray
    allowed: BoolArray | None = None
    algorithm: str = "em"
    first: int = 0

    def sums(self, p: HMMParameters) -> Sum:
        """Return log P(O), and all that the M step needs as one vector; `unpacked` takes it apart."""
        expected = self._expect(p)
        emitted: Any = expected.emissions
        if expected.moments is not None:
            moments = expected.moments
            emitted = np.concatenate([moments.mass[:, None], moments.first, moments.second], axis=1)
        elif expected.nodes is not None:
            assert isinstance(p.emission, SummedEmission)
            emitted = p.emission.statistics(self.observations, expected.nodes)
        vector = np.concatenate([expected.start, expected.transitions.ravel(), emitted.ravel()])
        return math.fsum(expected.log_likelihood), vector

    def scatter(self, p: HMMParameters, means: Float64Array) -> Sum:
        """Return Σ_n P(y_n = k) (x_n − means_k)², ``[K · D]``."""
        nodes = self.expect_nodes(p).nodes
        assert nodes is not None
        rows = [nodes[:, k] @ (self.observations - mean) ** 2 for k, mean in enumerate(means)]
        return 0.0, np.concatenate(rows)

    def expect_nodes(self, p: HMMParameters) -> Expectations:
        """Return expected counts with an array of ``[N, K]``."""
        rows = p.emission.log_likelihood(self.observations)
        if self.allowed is not None:
            rows = np.where(self.allowed, rows, -np.inf)
        count = expectations if self.algorithm == "em" else best_expectations
        return count(rows, self.offsets, p.log_start, p.log_transitions)

    def _expect(self, p: HMMParameters) -> Expectations:
        try:
            if isinstance(p.emission, Categorical):
                count = symbol_expectations if self.algorithm == "em" else best_symbol_expectations
                table = p.emission.log_table()
                chained = SymbolChain(table, self.observations, p.log_transitions, p.log_start, None, self.offsets)
                return count(chained, self.allowed)
            if isinstance(p.emission, Gaussian):
                transitions = self.offsets, p.log_start, p.log_transitions
                return gaussian_expectations(self.observations, p.emission.means, p.emission.variances(), *transitions)
            return self.expect_nodes(p)
        except NoPathError as error:
            raise NoPathError(self._renumbered(str(error))) from None

    def _renumbered(self, text: str) -> str:
        return re.sub(r"^(sentence |第 )(\d+)", lambda found: f"{found[1]}{int(found[2]) + self.first}", text)


def unpacked(summed: Sum, p: HMMParameters) -> Expectations:
    """Return what `Lane.sums` of all lanes add up to; log P(O) is that of all sentences, ``[1]``."""
    value, vector = summed
    K = p.num_states
    start, transitions, emitted = np.split(vector, [K, K + K * K])
    counts = np.array([value]), start, transitions.reshape(K, K)
    if isinstance(p.emission, Categorical):
        return Expectations(*counts, emissions=emitted.reshape(-1, K))
    if isinstance(p.emission, Gaussian):
        table = emitted.reshape(K, -1)
        D = p.emission.num_dimensions
        return Expectations(*counts, moments=ShiftedMoments(table[:, 0], table[:, 1 : 1 + D], table[:, 1 + D :]))
    return Expectations(*counts, statistics=emitted)


def cut(observations: NDArray[Any], offsets: IntArray, allowed: BoolArray | None, algorithm: str) -> list[Lane]:
    """Cut observations into lanes; how many depends on their number alone."""
    lanes = []
    for first, last in pairwise(lane_offsets(offsets, lane_count(int(offsets[-1]))).tolist()):
        tokens = slice(int(offsets[first]), int(offsets[last]))
        own = None if allowed is None else allowed[tokens]
        lanes.append(Lane(observations[tokens], offsets[first : last + 1] - offsets[first], own, algorithm, first))
    return lanes
