"""Families whose M step needs nothing but sums over observations: what several processes add up is as good as all."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tagline.models.hmm.emissions.base import Emission
from tagline.types import Float64Array


@dataclass(frozen=True, eq=False, kw_only=True)
class SummedEmission(Emission):
    """A family that learns from sums: `fitted` is `learned` from `statistics`."""

    @abstractmethod
    def _statistics(self, observations: NDArray[Any], posteriors: Float64Array) -> Float64Array:
        """Return `statistics` of states that are not tied."""

    @abstractmethod
    def _learned(self, sums: Float64Array) -> Self:
        """Return `learned` for states that are not tied."""

    def statistics(self, observations: NDArray[Any], posteriors: Float64Array) -> Float64Array:
        """Return sums over observations that are weighted by ``posteriors [N, K]``."""
        if self.tied is None:
            return self._statistics(observations, posteriors)
        groups = self._groups()
        return groups._statistics(observations, posteriors @ np.eye(groups.num_states)[list(self.tied)])

    def learned(self, sums: Float64Array) -> Self:
        """Return the M step from the statistics of all observations."""
        if set(self.parameters) <= set(self.frozen):
            return self
        if self.tied is None:
            return self._learned(sums)
        return replace(self._groups()._learned(sums).states(list(self.tied)), tied=self.tied)

    def fitted(self, observations: NDArray[Any], posteriors: Float64Array) -> Self:
        """Return the M step, as `Emission.fitted` does."""
        return self.learned(self.statistics(observations, posteriors))

    def _fitted(self, observations: NDArray[Any], posteriors: Float64Array) -> Self:
        return self._learned(self._statistics(observations, posteriors))
