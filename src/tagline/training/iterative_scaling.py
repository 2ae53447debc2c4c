"""Improved iterative scaling, for teaching (Della Pietra et al. 1997; Lafferty et al. 2001): each weight on its own.

With f#(x, y) = Σ_k f_k(x, y), the number of features that a labelling has in all, the change δ_k of weight k solves

    Σ_b Σ_y P(y | x_b) · f_k(x_b, y) · exp(δ_k · f#(x_b, y)) + 2·c2·(w_k + δ_k) = Σ_b f_k(x_b, y_b)

which is one polynomial in exp(δ_k) where there is no penalty; `scaling_sums` has its coefficients, and Newton's method
solves it. A bound in the place of f# makes smaller changes. The penalty is that of Chen & Rosenfeld (1999). The
objective falls in every pass, slowly: `lbfgs` is the method to use.
"""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
from numpy.typing import ArrayLike

from tagline.checks import check_number
from tagline.errors import InputError
from tagline.messages import message
from tagline.training.iteration import Algorithm, Convergence, Step
from tagline.training.likelihood import Likelihood
from tagline.training.objective import as_weights
from tagline.training.run import Run, Trained, norm
from tagline.training.running.checkpoints import State
from tagline.training.scaling_sums import FeatureSums, KnownFeatures, LabellingSums, SentenceSums
from tagline.types import Float64Array


def iis(
    likelihood: KnownFeatures | Likelihood,
    start: ArrayLike | None = None,
    *,
    c1: float = 0.0,
    c2: float = 0.0,
    convergence: Convergence | None = None,
    run: Run | None = None,
) -> Trained:
    """Minimise Σ_b −log p(y_b | x_b) + c2·|w|².

    Arguments:
        likelihood: the labelled sentences; no feature is ever negative, and all labels are known.
        start: ``[K]``, zeros when left out.
        c1: 0; the equation of a weight has no L1 penalty.
        c2: one number, 0 or more.
        convergence: when it has arrived.
        run: when to stop all the same, and whom to tell.
    """
    if c1:
        raise InputError("c1: expected 0 for improved iterative scaling, got {:g}; use owlqn", c1)
    check_number("c2", c2, least=0, wanted=message("a number of 0 or more"))
    sums = SentenceSums(likelihood) if isinstance(likelihood, Likelihood) else LabellingSums(likelihood)
    K = len(sums.observed)
    weights = np.zeros(K) if start is None else as_weights("start", start)
    if weights.shape != (K,):
        raise InputError("start: expected {} weights, one a feature, got {}", K, len(weights))
    return (run or Run()).finish(ScalingPasses(sums, weights, c2, convergence or Convergence()))


class ScalingPasses(Algorithm):
    """The weights of now, and how often the sums were computed; `told` says whether this place is known already."""

    def __init__(
        self, sums: LabellingSums | SentenceSums, weights: Float64Array, c2: float, convergence: Convergence
    ) -> None:
        self.sums, self.weights, self.c2, self.convergence = sums, weights, c2, convergence
        self.evaluations, self.told = 0, False

    def __iter__(self) -> Generator[Step, None, None]:
        sums, c2 = self.sums, self.c2
        while self.reason is None:
            weights = self.weights
            expected = sums.at(weights)
            if not self.told:
                if not self.evaluations and not c2:
                    _check_observed(expected, sums.observed)
                objective = expected.log_z - float(weights @ sums.observed) + c2 * float(weights @ weights)
                gradient = expected.features.sum(axis=0) - sums.observed + 2 * c2 * weights
                self.evaluations += 1
                metrics = {"active": int(np.count_nonzero(weights)), "evaluations": self.evaluations, "step": None}
                length = norm(gradient)
                gap = length * length / (4 * c2) if c2 else None  # all labels are known: the objective is convex
                step = Step(self.evaluations - 1, objective, length, gap, metrics=metrics, weights=weights)
                self.reason = self.convergence.after(step, norm(weights))
                yield step
            self.told = False
            self.weights = weights + solve(expected.totals, expected.features, sums.observed, weights, c2)

    def state(self) -> State:
        state = State({"evaluations": self.evaluations}, {"weights": self.weights})
        return state.joined("convergence", self.convergence.state())

    def load_state(self, state: State) -> None:
        self.weights = state.array("weights", np.float64, len(self.weights), finite=True)
        self.evaluations, self.told = state.value("evaluations", int), True
        self.reason = self.convergence.load_state(state.part("convergence"))


def _check_observed(expected: FeatureSums, observed: Float64Array) -> None:
    never = np.flatnonzero((expected.features > 0).any(axis=0) & (observed <= 0))
    if len(never):
        raise InputError(
            "feature {}: expected to occur in the labelled sentences, got never; without a penalty its best "
            "weight is −∞: remove it, or use c2",
            never[0],
        )


def solve(
    totals: Float64Array,
    features: Float64Array,
    observed: Float64Array,
    weights: Float64Array | float = 0.0,
    c2: float = 0.0,
) -> Float64Array:
    """Find δ ``[K]`` with Σ_m features[m, k]·exp(δ_k·totals[m]) = wanted_k = observed[k] − 2·c2·(weights[k] + δ_k).

    log(left side) − log(wanted_k) is convex and increasing in δ_k: from its first step on, Newton's method comes from
    above and cannot miss. With a penalty, wanted_k is 0 at a limit that δ_k stays below; a step that would pass it goes
    half the way. A feature that never occurs goes to its limit; without a penalty it keeps its weight.
    """
    limits: Float64Array = observed / (2 * c2) - weights if c2 else np.full(len(observed), np.inf)
    occurs = (features > 0).any(axis=0)
    delta = np.where(occurs | np.isinf(limits), 0.0, limits)
    live = np.flatnonzero(occurs & (observed > 0) if c2 == 0 else occurs)
    if not len(live):
        return delta
    limit = limits[live]
    now = np.minimum(0.0, limit - 1)
    with np.errstate(divide="ignore"):
        logs = np.log(features[:, live])
    for _ in range(100):
        room = limit - now
        wanted = np.log(2 * c2 * room) if c2 else np.log(observed[live])
        change = _newton_step(logs + totals[:, None] * now, totals, wanted, room)
        now = now - change
        if (np.abs(change) <= 1e-13 * (1 + np.abs(now))).all():
            break
    delta[live] = now
    return delta


def _newton_step(terms: Float64Array, totals: Float64Array, wanted: Float64Array, room: Float64Array) -> Float64Array:
    """Return what to subtract from each δ: the logarithms of the terms ``[M, K]`` are to sum up to `wanted` ``[K]``."""
    top = terms.max(axis=0)
    shares = np.exp(terms - top)
    mass = shares.sum(axis=0)
    excess = np.log(mass) + top - wanted
    change: Float64Array = np.maximum(excess / (totals @ shares / mass + 1 / room), -room / 2)
    return change
