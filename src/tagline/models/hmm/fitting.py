"""From sentences, and what is known of their states, to the parameters of an HMM: counting or EM.

All states known: counts (`counting`). None known: EM from random starts (`baum_welch`), the best of `n_init`.
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
from tagline.models.files import TrainingFacts
from tagline.models.hmm.baum_welch import Problem, learn, random_chain
from tagline.models.hmm.counting import counted_chain, counted_emission
from tagline.models.hmm.lessons import ObservedLesson, observed_lesson
from tagline.models.hmm.observations import observe_new
from tagline.models.hmm.parameters import HMMParameters, checked
from tagline.models.hmm.settings import Fitting, check_priors
from tagline.models.hmm.states import read_states
from tagline.models.sizes import warn_of_cost
from tagline.training.expectation_maximisation import Climbed
from tagline.training.monitor import Pass

Callback: TypeAlias = Callable[[Pass, HMMParameters], bool | None]

LEAST = 0.5  # pseudo-counts where EM starts from counts: nothing may be impossible at the start


@dataclass(frozen=True, eq=False)
class FittedHMM:
    """What was learned, how, and one `Pass` for each step of EM."""

    parameters: HMMParameters
    training: TrainingFacts
    history: tuple[Pass, ...] = ()


def fit_hmm(
    how: Fitting, X: Any, y: Any, lengths: ArrayLike | None, before: HMMParameters | None, tell: Callback
) -> FittedHMM:
    """Learn from sentences; see `HMM.fit`.

    Arguments:
        before: where EM begins; None for a random start.
        tell: called after each step of EM.
    """
    given = how.emission if before is None else before.emission
    observed, symbols = observe_new(how.family, given, X, lengths, None if before is None else before.symbols)
    if not observed.offsets[-1]:
        raise InputError("X: expected observations to learn from, got none")
    states = read_states(X, y, observed.offsets)
    lesson = observed_lesson(how, observed, symbols, states, before)
    check_priors(how.smoothing, len(lesson.labels))
    return _count(how, lesson) if lesson.complete else _climb(how, lesson, before, tell)


def _count(how: Fitting, lesson: ObservedLesson) -> FittedHMM:
    assert lesson.states is not None
    random = np.random.default_rng(how.random_state)
    begun = _begun(how, lesson, random, counted=True)
    start, transitions = counted_chain(lesson.states, lesson.observed.offsets, lesson.topology, how.smoothing)
    emission = counted_emission(begun, lesson.observed.values, lesson.states, how.smoothing)
    parameters = checked(lesson.parameters(start, transitions, emission))
    joint = engine.score(parameters.chain(lesson.observed.values, lesson.observed.offsets), lesson.states)
    B = len(lesson.observed.offsets) - 1
    return FittedHMM(parameters, TrainingFacts(B, 1, float(joint.sum()), "counted", lesson.notes))


def _begun(how: Fitting, lesson: ObservedLesson, random: np.random.Generator, counted: bool = False) -> Any:
    size = None if lesson.symbols is None else len(lesson.symbols)
    return how.begun(lesson.observed.values, size, len(lesson.labels), random, counted)


def _climb(how: Fitting, lesson: ObservedLesson, before: HMMParameters | None, tell: Callback) -> FittedHMM:
    random = np.random.default_rng(how.random_state)
    warn_of_cost(len(lesson.observed.values), len(lesson.labels))
    problem = Problem(
        lesson.observed.values,
        lesson.observed.offsets,
        lesson.allowed,
        lesson.topology,
        how.smoothing.start_prior,
        how.smoothing.transition_prior,
        how.frozen,
        how.algorithm,
    )
    best: Climbed[HMMParameters] | None = None
    for _ in range(1 if before is not None else how.n_init):
        start = checked(_start(how, lesson, random)) if before is None else _continued(how, before)
        climbed = learn(problem, start, how.limits, random, tell)
        if best is None or climbed.objective > best.objective:
            best = climbed
        if climbed.reason == "interrupted":
            break
    assert best is not None
    B = len(lesson.observed.offsets) - 1
    facts = TrainingFacts(B, len(best.history), best.objective, best.reason, lesson.notes)
    return FittedHMM(best.parameters, facts, best.history)


def _continued(how: Fitting, before: HMMParameters) -> HMMParameters:
    return before.with_emission(how.held(before.emission))


def _start(how: Fitting, lesson: ObservedLesson, random: np.random.Generator) -> HMMParameters:
    """A random start, or what the known states show."""
    start, transitions = random_chain(lesson.topology, random)
    emission = _begun(how, lesson, random)
    if lesson.states is not None and (lesson.states >= 0).any():
        seen = replace(how.smoothing, name="add-k", k=max(how.smoothing.k, LEAST))
        start, transitions = counted_chain(lesson.states, lesson.observed.offsets, lesson.topology, seen)
        emission = counted_emission(emission, lesson.observed.values, lesson.states, seen)
    return lesson.parameters(start, transitions, emission)
