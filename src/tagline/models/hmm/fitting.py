"""From sentences, and what is known of their states, to the parameters of an HMM: counting or EM.

All states known: counts (`counting`). None known: EM from random starts (`baum_welch`), the best of `n_init`.
Some known: EM from what the known ones show, with the known ones held.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning  # type: ignore[import-untyped]

from tagline import chain as engine
from tagline.errors import InputError
from tagline.messages import message
from tagline.models.files import TrainingFacts
from tagline.models.hmm.baum_welch import Problem, learn, random_chain
from tagline.models.hmm.counting import StateCounts, counted_chain, counted_emission
from tagline.models.hmm.emissions import Categorical
from tagline.models.hmm.lessons import ObservedLesson, observed_lesson
from tagline.models.hmm.observations import observe_new
from tagline.models.hmm.parameters import HMMParameters, checked
from tagline.models.hmm.readings import refuse_lengths, warn_of_pairs, warn_of_single_numbers
from tagline.models.hmm.resuming import SEARCH, Search, arrays_of, facts_of, restored
from tagline.models.hmm.specification import Fitting, check_priors
from tagline.models.hmm.states import read_states
from tagline.models.sizes import warn_of_cost
from tagline.models.views import reason_in_words
from tagline.training.iteration import Step
from tagline.training.run import Run, Trained

if TYPE_CHECKING:
    from tagline.models.hmm.estimator import HMM

LEAST = 0.5  # pseudo-counts where EM starts from counts: nothing may be impossible at the start


@dataclass(frozen=True, eq=False)
class FittedHMM:
    """What was learned, how, and one `Step` for each step of EM."""

    parameters: HMMParameters
    training: TrainingFacts
    history: tuple[Step, ...] = ()


def run_of(hmm: HMM, **files: Any) -> Run:
    """Return what happens around EM; arguments as of `Run`."""
    limits: dict[str, Any] = {"max_iterations": hmm.max_iterations, "max_seconds": hmm.max_seconds}
    return Run(**limits, callbacks=hmm.callbacks, verbose=hmm.verbose, **files)


def fit_hmm(
    hmm: HMM, how: Fitting, X: Any, y: Any, lengths: ArrayLike | None, before: HMMParameters | None, run: Run
) -> FittedHMM:
    """Learn from sentences; see `HMM.fit`.

    Arguments:
        before: where EM begins; None for a random start.
        run: what happens around EM; where states are counted, there is no state to keep.
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
    lesson = observed_lesson(how, observed, symbols, read_states(X, y, observed.offsets), before)
    check_priors(how.smoothing, len(lesson.labels))
    B = len(observed.offsets) - 1
    if lesson.complete:
        run.path, run.resume = None, False
        with run.opened(lambda: facts_of(hmm, how, lesson, before)):
            parameters = _counted(how, lesson, run)
        seed = how.seed if hmm.random_state is None else 0
        return FittedHMM(parameters, TrainingFacts(B, 1, run.last.objective, run.reason, lesson.notes, seed=seed))

    def begin(random: np.random.Generator) -> HMMParameters:
        if before is not None:
            return before.with_emission(how.held(before.emission))
        return checked(_start(how, lesson, random))

    problem = Problem(
        observed.values,
        observed.offsets,
        lesson.allowed,
        lesson.topology,
        how.smoothing.start_prior,
        how.smoothing.transition_prior,
        how.frozen,
        how.algorithm,
    )
    with run.opened(lambda: facts_of(hmm, how, lesson, before)):
        best = searched(how, problem, begin, 1 if before is not None else how.n_init, run)
    seed = how.seed if hmm.random_state is None and not run.is_resumed else 0
    facts = TrainingFacts(B, len(best.history), best.objective, best.reason, lesson.notes, seed=seed)
    return FittedHMM(best.weights, facts, best.history)


def warn_unconverged(hmm: HMM, fitted: FittedHMM) -> None:
    """Warn the caller of `fit` where EM ended without having converged; a tolerance below 0 asks for so many steps."""
    setting = {"max_iterations": "max_iterations", "time budget": "max_seconds"}.get(fitted.training.reason)
    if fitted.training.reason.startswith("fell"):
        text = message(
            "min_variance: EM of {} states had not converged after {} steps, when it {}; the "
            "parameters before are kept: lower floors such as min_variance, or begin elsewhere with another "
            "random_state",
            fitted.parameters.num_states,
            len(fitted.history),
            reason_in_words(fitted.training.reason),
        )
        warnings.warn(text, ConvergenceWarning, stacklevel=3)
        return
    if setting is None or not fitted.history or hmm.tolerance < 0:
        return
    rose = ""
    if len(fitted.history) > 1:
        rose = message(
            "; its last step raised the objective by {:.4g}, and tolerance is {:g}",
            fitted.history[-1].objective - fitted.history[-2].objective,
            hmm.tolerance,
        )
    text = message(
        "{0}: EM of {1} states had not converged after {2} steps, when {0}={3} ended it{4}; raise {0} or tolerance",
        setting,
        fitted.parameters.num_states,
        len(fitted.history),
        getattr(hmm, setting),
        rose,
    )
    warnings.warn(text, ConvergenceWarning, stacklevel=3)


def _counted(how: Fitting, lesson: ObservedLesson, run: Run) -> HMMParameters:
    """Count states, which are all known."""
    assert lesson.states is not None
    size = None if lesson.symbols is None else len(lesson.symbols)
    random = np.random.default_rng(how.seed)
    begun = how.begun(lesson.observed.values, size, len(lesson.labels), random, True)
    counts = StateCounts.of(lesson.states, lesson.observed.offsets, len(lesson.labels))
    start, transitions = counted_chain(counts, lesson.topology, how.smoothing)
    emission = counted_emission(begun, lesson.observed.values, lesson.states, how.smoothing)
    parameters = checked(lesson.parameters(start, transitions, emission))
    joint = engine.score(parameters.chain(lesson.observed.values, lesson.observed.offsets), lesson.states)
    note_counts(run, parameters, float(joint.sum()))
    return parameters


def note_counts(run: Run, parameters: HMMParameters, objective: float) -> None:
    """Tell a run of the one pass that counting is."""
    metrics = {"active": parameters.num_parameters(), "evaluations": 1, "step": None}
    asked = run.record(Step(1, objective, metrics=metrics), lambda: arrays_of(parameters))
    run.reason = "callback" if asked else "counted"


def searched(
    how: Fitting, problem: Problem, begin: Callable[[np.random.Generator], HMMParameters], starts: int, run: Run
) -> Trained:
    """Climb from several starts, and return the best.

    Arguments:
        begin: draws a start.
        starts: how many.
    """
    random, search, start = np.random.default_rng(how.seed), Search(), None
    if (state := run.checkpoint.state) is not None:
        start = begin(np.random.default_rng(0))  # of the right shapes; the run puts where it was in its place
        search = restored(state.part(SEARCH), start, starts, random)
    best = search.best
    for number in range(search.number, starts):
        if start is None:
            search, start = Search(number, best=best), begin(random)
            if number == 0:
                warn_of_cost(problem.num_tokens, start.num_states)
        climbed, start = learn(problem, start, how.tolerance, random, run, search), None
        if best is None or climbed.objective > best.objective:
            best = climbed
        if run.reason in ("interrupted", "callback"):
            break
    assert best is not None
    if run.reason == "callback":
        best = replace(best, reason=run.reason)
    run.conclude(best)
    return best


def _start(how: Fitting, lesson: ObservedLesson, random: np.random.Generator) -> HMMParameters:
    """A random start, or what the known states show."""
    start, transitions = random_chain(lesson.topology, random)
    size = None if lesson.symbols is None else len(lesson.symbols)
    emission = how.begun(lesson.observed.values, size, len(lesson.labels), random)
    if lesson.states is not None and (lesson.states >= 0).any():
        seen = replace(how.smoothing, name="add-k", k=max(how.smoothing.k, LEAST))
        counts = StateCounts.of(lesson.states, lesson.observed.offsets, len(lesson.labels))
        start, transitions = counted_chain(counts, lesson.topology, seen)
        emission = counted_emission(emission, lesson.observed.values, lesson.states, seen)
    return lesson.parameters(start, transitions, emission)
