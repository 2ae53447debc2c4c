"""Baum–Welch for an HMM: where EM starts, one step of it, and what is done about states that die out.

The objective is log P(O) + log prior, with Dirichlet priors over π and the rows of A and the emission family's own;
every step raises it. With ``algorithm="viterbi"`` the best path alone is counted, and its log P(O, I) rises instead.
Partial labels forbid states at their tokens; forbidden transitions have expected counts of 0 and stay at 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagline.models.hmm.emissions import Categorical, Emission, Gaussian
from tagline.models.hmm.emissions.discrete import log_density, shares
from tagline.models.hmm.emissions.sums import SummedEmission
from tagline.models.hmm.lanes import Lane, Sum, cut, learns_from_sums, unpacked
from tagline.models.hmm.parameters import HMMParameters
from tagline.models.hmm.resuming import REVIVALS, SEARCH, Search, arrays_of, parameters_of, parameters_state
from tagline.models.hmm.topologies import Topology
from tagline.training.expectation_maximisation import EM
from tagline.training.expectations import Expectations
from tagline.training.lanes import Branch, Tree
from tagline.training.run import Run, Trained
from tagline.training.running.checkpoints import State
from tagline.types import BoolArray, Float64Array, IntArray

DEAD = 0.1  # tokens: a state that explains less of all data than this is given another chance
MOST_CELLS = 20_000_000  # of [N, K], up to which dead states are revived


@dataclass(frozen=True, eq=False)
class Problem:
    """What EM learns from, and what it must keep to.

    Attributes:
        observations, offsets: as the emission family takes them.
        allowed: ``[N, K]``, the states that each observation may have; None for all.
        topology: what may begin and follow.
        start_prior, transition_prior: Dirichlet parameters, numbers or arrays; 1 is no prior.
        frozen: of "start" and "transitions", those that stay as they are.
        algorithm: "em" or "viterbi".
    """

    observations: NDArray[Any]
    offsets: IntArray
    allowed: BoolArray | None
    topology: Topology
    start_prior: ArrayLike = 1.0
    transition_prior: ArrayLike = 1.0
    frozen: frozenset[str] = frozenset()
    algorithm: str = "em"

    def expect(self, p: HMMParameters) -> Expectations:
        """The E step."""
        if learns_from_sums(p.emission, self.algorithm, self._whole):
            return unpacked(self.summed("sums", p), p)
        return Lane(self.observations, self.offsets, self.allowed, self.algorithm).expect_nodes(p)

    def summed(self, question: str, *arguments: Any) -> Sum:
        """Ask every lane and add up the answers."""
        tree = Tree(len(self._lanes))
        for k, lane in enumerate(self._lanes):
            tree.add(Branch(k), getattr(lane, question)(*arguments))
        value, vector = tree.total
        return value, vector

    def everything(self) -> NDArray[Any]:
        """Return all observations."""
        return self.observations

    @property
    def num_tokens(self) -> int:
        """N."""
        return int(self.offsets[-1])

    @cached_property
    def _lanes(self) -> list[Lane]:
        return cut(self.observations, self.offsets, self.allowed, self.algorithm)

    @cached_property
    def _whole(self) -> bool:
        return self.allowed is None and not np.isnan(self.observations).any()

    def maximise(self, p: HMMParameters, expected: Expectations) -> HMMParameters:
        """The M step."""
        start, transitions = p.start, p.transitions
        if "start" not in self.frozen:
            start = shares(expected.start + self._added(self.start_prior, self.topology.start), start)
        if "transitions" not in self.frozen:
            transitions = shares(
                expected.transitions + self._added(self.transition_prior, self.topology.transitions), transitions
            )
        if isinstance(p.emission, Categorical):
            assert expected.emissions is not None
            return replace(p, start=start, transitions=transitions, emission=p.emission.counted(expected.emissions))
        return replace(p, start=start, transitions=transitions, emission=self._emission(p, expected))

    def _emission(self, p: HMMParameters, expected: Expectations) -> Emission:
        if expected.moments is not None and isinstance(p.emission, Gaussian):
            moments = expected.moments
            shape = moments.first.shape
            return p.emission.from_moments(
                *(moments.mass, moments.first, moments.second),
                lambda means: self.summed("scatter", p, means)[1].reshape(shape),
            )
        if expected.statistics is not None and isinstance(p.emission, SummedEmission):
            return p.emission.learned(expected.statistics)
        assert expected.nodes is not None
        return p.emission.fitted(self.observations, expected.nodes)

    def log_prior(self, p: HMMParameters) -> float:
        """Log density of the parameters, up to a constant."""
        total = log_density(self._added(self.start_prior, self.topology.start), p.start)
        total += log_density(self._added(self.transition_prior, self.topology.transitions), p.transitions)
        return total + p.emission.log_prior()

    def step(self, p: HMMParameters) -> tuple[float, HMMParameters]:
        """The objective at these parameters, and better ones."""
        expected = self.expect(p)
        return float(expected.log_likelihood.sum()) + self.log_prior(p), self.maximise(p, expected)

    @staticmethod
    def _added(prior: ArrayLike, possible: BoolArray) -> Float64Array:
        return np.where(possible, np.asarray(prior, np.float64) - 1.0, 0.0)


def random_chain(topology: Topology, random: np.random.Generator) -> tuple[Float64Array, Float64Array]:
    """Draw π and A around the uniform distributions over what is allowed."""
    rows = np.concatenate([topology.start[None], topology.transitions])
    drawn = rows * (0.5 + random.random(rows.shape))
    drawn /= drawn.sum(axis=1, keepdims=True)
    return drawn[0], drawn[1:]


class BaumWelch(EM[HMMParameters]):
    """EM for an HMM, whose parameters go through checkpoints."""

    def __init__(self, problem: Problem, start: HMMParameters, tolerance: float) -> None:
        super().__init__(problem.step, start, tolerance=tolerance, active=start.num_parameters())

    def copied(self, weights: HMMParameters) -> dict[str, NDArray[Any]]:
        return arrays_of(weights)

    def packed(self, copy: HMMParameters) -> State:
        return parameters_state(copy)

    def unpacked(self, state: State) -> HMMParameters:
        return parameters_of(state, self.weights)


def learn(
    problem: Problem,
    start: HMMParameters,
    tolerance: float,
    random: np.random.Generator,
    run: Run,
    search: Search | None = None,
) -> Trained:
    """Climb from a start; states that have died out are revived, and what explains the data better is kept.

    Arguments:
        search: what of learning from several starts is behind; it is in every checkpoint.
    """
    search = search or Search()
    while True:
        run.begin()
        run.checkpoint.beside = {SEARCH: search.state(random)}
        climbed, inner = run.finish(BaumWelch(problem, start, tolerance)), search.inner
        if inner is not None and not climbed.objective > inner.objective:
            return inner
        if search.revivals == REVIVALS or not climbed.converged or problem.allowed is not None:
            return climbed
        dead = _dead(problem, climbed.weights)
        if not dead.any():
            return climbed
        start = _revived(problem, climbed.weights, dead, random)
        search = replace(search, revivals=search.revivals + 1, inner=climbed)


def _dead(problem: Problem, p: HMMParameters) -> BoolArray:
    N, K = problem.num_tokens, p.num_states
    if K >= N or N * K > MOST_CELLS or set(p.emission.parameters) <= set(p.emission.frozen):
        return np.zeros(K, bool)
    expected = problem.expect(p)
    reachable = problem.topology.start | problem.topology.transitions.any(axis=0)
    return np.asarray((expected.start + expected.transitions.sum(axis=0) < DEAD) & reachable)


def _revived(problem: Problem, p: HMMParameters, dead: BoolArray, random: np.random.Generator) -> HMMParameters:
    """Give dead states the observations that the others explain worst, and a way in."""
    K = p.num_states
    observations = problem.everything()
    rows = p.emission.log_likelihood(observations)[:, ~dead]
    best = rows.max(axis=1)
    shared = np.zeros((len(rows), K))
    shared[:, ~dead] = np.exp(rows - np.where(np.isfinite(best), best, 0.0)[:, None])
    worst = np.argsort(best, kind="stable")[: max(1, len(rows) * int(dead.sum()) // K)]
    states = np.flatnonzero(dead)
    shared[worst] *= 0.1
    shared[worst, states[random.integers(len(states), size=len(worst))]] = 1.0
    shared /= shared.sum(axis=1, keepdims=True)
    start, transitions = random_chain(problem.topology, random)
    frozen = problem.frozen
    return replace(
        p,
        start=p.start if "start" in frozen else 0.9 * p.start + 0.1 * start,
        transitions=p.transitions if "transitions" in frozen else 0.9 * p.transitions + 0.1 * transitions,
        emission=p.emission.fitted(observations, shared),
    )
