"""Families whose densities and M step are those of `tagline.models.hmm.emissions`: what they share.

A family says how its attributes become an `Emission` and how they are read from one; the E step and the M step between
are `tagline.models.hmm.baum_welch`'s, which sums moments inside the recursion where it can.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline.interop.hmmlearn.estimator import AbstractHMM
from tagline.interop.hmmlearn.markov import BaseHMM
from tagline.messages import message
from tagline.models.hmm.baum_welch import Problem
from tagline.models.hmm.emissions import Emission
from tagline.models.hmm.parameters import HMMParameters
from tagline.models.hmm.topologies import as_topology
from tagline.training.expectations import expectations
from tagline.types import Float64Array, IntArray


class EmittingHMM(BaseHMM):
    """A `BaseHMM` over an `Emission`."""

    def _emission(self) -> Emission:
        """The parameters of now."""
        raise NotImplementedError

    def _learner(self, X: NDArray[Any]) -> Emission:
        """The same with priors, and with what `params` leaves out frozen; its M step is the family's."""
        raise NotImplementedError

    def _take(self, emission: Emission) -> None:
        """Set the attributes to parameters that were learned."""
        raise NotImplementedError

    def _values(self, X: NDArray[Any]) -> NDArray[Any]:
        """Observations as the family takes them, or an error that says what is wrong with them."""
        AbstractHMM._check_and_set_n_features(self, X)
        return np.ascontiguousarray(X, np.float64)

    def _frozen(self, **letters: str) -> tuple[str, ...]:
        """The parameters whose letters are not among `params`."""
        return tuple(name for name, letter in letters.items() if letter not in self.params)

    def _compute_log_likelihood(self, X: Any) -> Float64Array:
        return self._emission().log_likelihood(self._values(np.asarray(X)))

    def _rows(self, X: NDArray[Any], offsets: IntArray) -> Float64Array:
        if self._scores_as(EmittingHMM):
            return self._scalable(self._compute_log_likelihood(X))
        return super()._rows(X, offsets)

    def _do_estep(self, X: Any, lengths: Any) -> tuple[dict[str, Any], float]:
        if type(self)._accumulate_sufficient_statistics is not BaseHMM._accumulate_sufficient_statistics:
            raise NotImplementedError(
                message(
                    "{} defines _accumulate_sufficient_statistics, but the sums of built-in emissions are the "
                    "engine's; define _do_mstep, or derive the class from BaseHMM",
                    type(self).__name__,
                )
            )
        offsets = self._offsets(X, lengths)
        problem = self._problem(self._values(X), offsets)
        now = self._parameters(self._learner(X))
        if self._scores_as(EmittingHMM) and self.implementation == "log":
            expected = problem.expect(now)
        else:
            expected = expectations(self._rows(X, offsets), offsets, now.log_start, now.log_transitions)
        stats = self._initialize_sufficient_statistics()
        stats |= {"nobs": len(offsets) - 1, "start": expected.start, "trans": expected.transitions}
        stats |= {"problem": problem, "parameters": now, "expected": expected}
        return stats, float(expected.log_likelihood.sum())

    def _do_mstep(self, stats: dict[str, Any]) -> None:
        super()._do_mstep(stats)
        self._take(stats["problem"].maximise(stats["parameters"], stats["expected"]).emission)

    def _problem(self, values: NDArray[Any], offsets: IntArray) -> Problem:
        """EM on these observations; π and A are `BaseHMM`'s to learn."""
        topology = as_topology("full", self.n_components)
        return Problem(values, offsets, None, topology, frozen=frozenset(("start", "transitions")))

    def _parameters(self, emission: Emission) -> HMMParameters:
        names = tuple(str(state) for state in range(self.n_components))
        start, transitions = (np.asarray(values, np.float64) for values in (self.startprob_, self.transmat_))
        return HMMParameters(names, True, None, start, transitions, emission)
