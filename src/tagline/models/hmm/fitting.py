"""From sentences, and what is known of their states, to the parameters of an HMM: counting or EM.

All states known: counts (`counting`). None known: EM from random starts (`baum_welch`), the best of `n_init`.
Some known: EM from what the known ones show, with the known ones held.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning  # type: ignore[import-untyped]

from tagline import chain as engine
from tagline.errors import InputError
from tagline.models.files import TrainingFacts
from tagline.models.hmm.baum_welch import Limits, Place, Problem, learn, random_chain
from tagline.models.hmm.counting import StateCounts, counted_chain, counted_emission
from tagline.models.hmm.emissions import Categorical
from tagline.models.hmm.lessons import ObservedLesson, observed_lesson
from tagline.models.hmm.observations import observe_new
from tagline.models.hmm.parameters import HMMParameters, checked
from tagline.models.hmm.readings import refuse_lengths, warn_of_pairs, warn_of_single_numbers
from tagline.models.hmm.resuming import Search, arrays_of, facts_of, keeper, restored
from tagline.models.hmm.specification import Fitting, check_priors
from tagline.models.hmm.states import read_states
from tagline.models.sizes import warn_of_cost
from tagline.training.expectation_maximisation import Climbed
from tagline.training.monitor import Pass
from tagline.training.running.callbacks import TrainingState, told
from tagline.training.running.checkpoints import Checkpoint
from tagline.training.running.progress import Reporter
from tagline.training.running.runs import RunFiles

if TYPE_CHECKING:
    from tagline.models.hmm.estimator import HMM

Callback: TypeAlias = Callable[[Pass, HMMParameters], bool | None]

LEAST = 0.5  # pseudo-counts where EM starts from counts: nothing may be impossible at the start


@dataclass(frozen=True, eq=False)
class FittedHMM:
    """What was learned, how, and one `Pass` for each step of EM."""

    parameters: HMMParameters
    training: TrainingFacts
    history: tuple[Pass, ...] = ()


def fit_hmm(
    hmm: HMM,
    how: Fitting,
    X: Any,
    y: Any,
    lengths: ArrayLike | None,
    before: HMMParameters | None,
    tell: Reporter,
    files: RunFiles,
) -> FittedHMM:
    """Learn from sentences; see `HMM.fit`.

    Arguments:
        hmm: the estimator, whose callbacks are told.
        before: where EM begins; None for a random start.
        tell: hears of each step of EM.
        files: where the state of the run and its log are kept; where states are counted, there is no state to keep.
    """
    if y is None:
        warn_of_single_numbers(X, lengths)
        if how.family is Categorical:
            warn_of_pairs(X)
    given = how.emission if before is None else before.emission
    observed, symbols = observe_new(how.family, given, X, lengths, None if before is None else before.symbols)
    if not observed.offsets[-1]:
        raise InputError("X: expected observations to learn from, got none")
    refuse_lengths(y, observed.offsets)
    states = read_states(X, y, observed.offsets)
    lesson = observed_lesson(how, observed, symbols, states, before)
    check_priors(how.smoothing, len(lesson.labels))
    facts = facts_of(hmm, how, lesson, before) if files != RunFiles() else {}
    if lesson.complete:
        files = replace(files, checkpoint=None, resume=False)

    def run(passed: Callback, checkpoint: Checkpoint) -> FittedHMM:
        return _count(how, lesson, passed) if lesson.complete else _climb(how, lesson, before, passed, checkpoint)

    return watched(hmm, how, tell, files, facts, run)


def warn_unconverged(fitted: FittedHMM, limits: Limits) -> None:
    """Warn the caller of `fit` where EM was ended by a limit; a tolerance below 0 asks for just so many steps."""
    setting = {"max_iterations": "max_iterations", "time budget": "max_seconds"}.get(fitted.training.reason)
    if setting is None or not fitted.history or limits.tolerance < 0:
        return
    rose = ""
    if len(fitted.history) > 1:
        gain = fitted.history[-1].objective - fitted.history[-2].objective
        rose = f"; its last step raised the objective by {gain:.4g}, and tolerance is {limits.tolerance:g}"
    warnings.warn(
        f"{setting}: EM of {fitted.parameters.num_states} states had not converged after "
        f"{len(fitted.history)} steps, when {setting}={getattr(limits, setting)} ended it{rose}; raise {setting} or "
        "tolerance",
        ConvergenceWarning,
        stacklevel=3,
    )


def watched(
    hmm: HMM,
    how: Fitting,
    tell: Reporter,
    files: RunFiles,
    facts: dict[str, Any],
    run: Callable[[Callback, Checkpoint], FittedHMM],
) -> FittedHMM:
    """Run with everybody told of each step: reporter, log, callbacks; any of these may stop it."""
    with files.opened(facts) as (checkpoint, journal):
        stopped = False

        def passed(done: Pass, parameters: HMMParameters) -> bool:
            nonlocal stopped
            tell.passed(done)
            journal.passed(done)
            stopped = told(hmm.callbacks, TrainingState.of(done, lambda: arrays_of(parameters))) or stopped
            return stopped

        fitted = run(passed, checkpoint)
        if hmm.random_state is None and checkpoint.state is None:  # a run that goes on has the dice of its beginning
            fitted = replace(fitted, training=replace(fitted.training, seed=how.seed))
        if stopped:
            fitted = replace(fitted, training=replace(fitted.training, reason="callback"))
        journal.write("end", {"reason": fitted.training.reason, "objective": fitted.training.objective})
    return fitted


def _count(how: Fitting, lesson: ObservedLesson, tell: Callback) -> FittedHMM:
    assert lesson.states is not None
    begun_at = time.perf_counter()
    random = np.random.default_rng(how.seed)
    begun = _begun(how, lesson, random, counted=True)
    counts = StateCounts.of(lesson.states, lesson.observed.offsets, len(lesson.labels))
    start, transitions = counted_chain(counts, lesson.topology, how.smoothing)
    emission = counted_emission(begun, lesson.observed.values, lesson.states, how.smoothing)
    parameters = checked(lesson.parameters(start, transitions, emission))
    joint = engine.score(parameters.chain(lesson.observed.values, lesson.observed.offsets), lesson.states)
    B, objective = len(lesson.observed.offsets) - 1, float(joint.sum())
    tell(Pass(1, objective, math.nan, parameters.num_parameters(), time.perf_counter() - begun_at, 1), parameters)
    return FittedHMM(parameters, TrainingFacts(B, 1, objective, "counted", lesson.notes))


def _begun(how: Fitting, lesson: ObservedLesson, random: np.random.Generator, counted: bool = False) -> Any:
    size = None if lesson.symbols is None else len(lesson.symbols)
    return how.begun(lesson.observed.values, size, len(lesson.labels), random, counted)


def _climb(
    how: Fitting, lesson: ObservedLesson, before: HMMParameters | None, tell: Callback, checkpoint: Checkpoint
) -> FittedHMM:
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

    def begin(random: np.random.Generator) -> HMMParameters:
        if before is not None:
            return before.with_emission(how.held(before.emission))
        return checked(_start(how, lesson, random))

    best = searched(how, problem, begin, 1 if before is not None else how.n_init, tell, checkpoint)
    B = len(lesson.observed.offsets) - 1
    facts = TrainingFacts(B, len(best.history), best.objective, best.reason, lesson.notes)
    return FittedHMM(best.parameters, facts, best.history)


def searched(
    how: Fitting,
    problem: Problem,
    begin: Callable[[np.random.Generator], HMMParameters],
    starts: int,
    tell: Callback,
    checkpoint: Checkpoint,
) -> Climbed[HMMParameters]:
    """Climb from several starts, and return the best.

    Arguments:
        begin: draws a start.
        starts: how many.
    """
    random, search = np.random.default_rng(how.seed), Search()
    if checkpoint.state is not None:
        search = restored(checkpoint.state, begin(np.random.default_rng(0)), starts, random)
    best = search.best
    for number in range(search.number, starts):
        start: HMMParameters | Place
        if search.place is not None and number == search.number:
            start = search.place
        else:
            start = begin(random)
            if number == 0:
                warn_of_cost(problem.num_tokens, start.num_states)
        keep = keeper(checkpoint, Search(number, None, best), random)
        climbed = learn(problem, start, how.limits, random, tell, keep)
        if best is None or climbed.objective > best.objective:
            best = climbed
        if climbed.reason in ("interrupted", "callback"):
            break
    assert best is not None
    return best


def _start(how: Fitting, lesson: ObservedLesson, random: np.random.Generator) -> HMMParameters:
    """A random start, or what the known states show."""
    start, transitions = random_chain(lesson.topology, random)
    emission = _begun(how, lesson, random)
    if lesson.states is not None and (lesson.states >= 0).any():
        seen = replace(how.smoothing, name="add-k", k=max(how.smoothing.k, LEAST))
        counts = StateCounts.of(lesson.states, lesson.observed.offsets, len(lesson.labels))
        start, transitions = counted_chain(counts, lesson.topology, seen)
        emission = counted_emission(emission, lesson.observed.values, lesson.states, seen)
    return lesson.parameters(start, transitions, emission)
