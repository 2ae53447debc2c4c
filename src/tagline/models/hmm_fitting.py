"""From sequences, and what is known of their states, to the parameters of an HMM: counting or EM.

All states known: counts (`hmm_counting`). None known: EM from random starts (`hmm_learning`), the best of `n_init`.
Some known: EM from what the known ones show, with the known ones held.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from tagline import chain as engine
from tagline.errors import InputError
from tagline.models.hmm_counting import counted_chain, counted_emission
from tagline.models.hmm_learning import Problem, learn, random_chain
from tagline.models.hmm_observations import observe_new
from tagline.models.hmm_parameters import HMMParameters, checked
from tagline.models.hmm_settings import Fitting
from tagline.models.hmm_targets import read_states
from tagline.models.hmm_tasks import Task, task_of
from tagline.models.packing import Facts
from tagline.training.expectation_maximisation import Climbed
from tagline.training.monitor import Pass

Callback: TypeAlias = Callable[[Pass, HMMParameters], bool | None]

LEAST = 0.5  # pseudo-counts where EM starts from counts: nothing may be impossible at the start


@dataclass(frozen=True, eq=False)
class Fitted:
    """What was learned, how, and one `Pass` for each step of EM."""

    parameters: HMMParameters
    training: Facts
    history: tuple[Pass, ...] = ()


def fit_hmm(
    how: Fitting, X: Any, y: Any, lengths: ArrayLike | None, before: HMMParameters | None, tell: Callback
) -> Fitted:
    """Learn from sequences; see `HMM.fit`.

    Arguments:
        before: where EM begins; None for a random start.
        tell: called after each step of EM.
    """
    given = how.emission if before is None else before.emission
    observed, symbols = observe_new(how.family, given, X, lengths, None if before is None else before.symbols)
    if not observed.offsets[-1]:
        raise InputError("X: expected observations to learn from, got none")
    states = read_states(X, y, observed.offsets)
    task = task_of(how, observed, symbols, states, before)
    return _count(how, task) if task.complete else _climb(how, task, before, tell)


def _count(how: Fitting, task: Task) -> Fitted:
    assert task.states is not None
    random = np.random.default_rng(how.random_state)
    begun = _begun(how, task, random, counted=True)
    start, moves = counted_chain(task.states, task.observed.offsets, task.topology, how.smoothing)
    emission = counted_emission(begun, task.observed.values, task.states, how.smoothing)
    found = checked(task.parameters(start, moves, emission))
    joint = engine.score(found.chain(task.observed.values, task.observed.offsets), task.states)
    B = len(task.observed.offsets) - 1
    return Fitted(found, Facts(B, 1, float(joint.sum()), "counted", task.notes))


def _begun(how: Fitting, task: Task, random: np.random.Generator, counted: bool = False) -> Any:
    size = None if task.symbols is None else len(task.symbols)
    return how.begun(task.observed.values, size, len(task.labels), random, counted)


def _climb(how: Fitting, task: Task, before: HMMParameters | None, tell: Callback) -> Fitted:
    random = np.random.default_rng(how.random_state)
    problem = Problem(
        task.observed.values,
        task.observed.offsets,
        task.allowed,
        task.topology,
        how.smoothing.start_prior,
        how.smoothing.transition_prior,
        how.frozen,
        how.algorithm,
    )
    best: Climbed[HMMParameters] | None = None
    for _ in range(1 if before is not None else how.n_init):
        start = checked(_start(how, task, random)) if before is None else _continued(how, before)
        found = learn(problem, start, how.limits, random, tell)
        if best is None or found.objective > best.objective:
            best = found
        if found.reason == "interrupted":
            break
    assert best is not None
    B = len(task.observed.offsets) - 1
    facts = Facts(B, len(best.history), best.objective, best.reason, task.notes)
    return Fitted(best.parameters, facts, best.history)


def _continued(how: Fitting, before: HMMParameters) -> HMMParameters:
    return before.with_emission(how.held(before.emission))


def _start(how: Fitting, task: Task, random: np.random.Generator) -> HMMParameters:
    """A random start, or what the known states show."""
    start, moves = random_chain(task.topology, random)
    emission = _begun(how, task, random)
    if task.states is not None and (task.states >= 0).any():
        seen = replace(how.smoothing, name="add-k", k=max(how.smoothing.k, LEAST))
        start, moves = counted_chain(task.states, task.observed.offsets, task.topology, seen)
        emission = counted_emission(emission, task.observed.values, task.states, seen)
    return task.parameters(start, moves, emission)
