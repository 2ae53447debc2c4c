"""CRFsuite's ``lbfgs``: the same objective and stopping rules, found by Tagline's L-BFGS and OWL-QN.

Σ −log p(y | x) + c1·|w|₁ + c2·|w|², until ‖g‖ / max(1, ‖w‖) is below epsilon, or the objective improved by less than
delta of it over the period.
"""

from __future__ import annotations

from tagline.interop.pycrfsuite.training_task import Stopwatch, TrainingTask
from tagline.training.algorithms import Settings, train
from tagline.training.choices import LBFGS
from tagline.training.iteration import Convergence
from tagline.training.likelihood import Targets
from tagline.training.run import Run, Trained, norm
from tagline.training.running.callbacks import TrainingState
from tagline.types import Float64Array

# The names that parameters have in the log.
SHOWN = {
    "c1": "c1",
    "c2": "c2",
    "num_memories": "num_memories",
    "max_iterations": "max_iterations",
    "epsilon": "epsilon",
    "period": "stop",
    "delta": "delta",
    "linesearch": "linesearch",
    "max_linesearch": "linesearch.max_iterations",
}
NO_WEIGHTS, AT_OPTIMUM, NO_STEP = -1020, 2, -1001  # how libLBFGS numbers these ends


def learn_batch(task: TrainingTask) -> Float64Array:
    """Return the weights at which the objective is lowest."""
    watch = Stopwatch()
    task.tell_parameters("L-BFGS optimization", SHOWN)
    weights = task.no_weights()
    if len(weights):
        trained = _train(task)
        if trained.reason == "interrupted":
            raise KeyboardInterrupt
        weights = trained.weights
        task.tell(f"L-BFGS {_end(trained)}\n")
    else:
        task.tell(f"L-BFGS terminated with error code ({NO_WEIGHTS})\n")
    task.tell(f"Total seconds required for training: {watch.total():.3f}\n")
    task.tell("\n")
    return weights


def _train(task: TrainingTask) -> Trained:
    parameters, part = task.parameters, task.part
    convergence = Convergence(parameters["epsilon"], max(0, parameters["period"]), parameters["delta"])
    limit = parameters["max_iterations"] or None  # 0 is no limit there
    run = Run(max_iterations=limit, callbacks=[_Report(task)])
    algorithm = LBFGS(memory=parameters["num_memories"], max_linesearch=parameters["max_linesearch"])
    settings = Settings(algorithm, parameters["c1"], parameters["c2"])
    targets = Targets(part.labels, None, part.weights)
    start = task.no_weights()
    return train(task.structure, part.features, targets, None, start, settings, run, convergence)


class _Report:
    """Writes what each iteration reached."""

    def __init__(self, task: TrainingTask) -> None:
        self._task, self._watch, self._evaluations = task, Stopwatch(), 1

    def __call__(self, state: TrainingState) -> None:
        tell, weights = self._task.tell, state.weights()
        trials, self._evaluations = state.evaluations - self._evaluations, state.evaluations
        tell(f"***** Iteration #{state.pass_} *****\n")
        tell(f"Loss: {state.objective:f}\n")
        tell(f"Feature norm: {norm(weights):f}\n")
        tell(f"Error norm: {state.gradient_norm:f}\n")
        tell(f"Active features: {state.active}\n")
        tell(f"Line search trials: {trials}\n")
        tell(f"Line search step: {state.step or 0.0:f}\n")
        tell(f"Seconds required for this iteration: {self._watch.lap():.3f}\n")
        self._task.evaluate(weights)
        tell("\n")


def _end(trained: Trained) -> str:
    if trained.converged and not trained.history:
        return f"terminated with error code ({AT_OPTIMUM})"
    if trained.converged:
        by_gradient = "gradient" in trained.reason
        return "resulted in convergence" if by_gradient else "terminated with the stopping criteria"
    if trained.reason == "max_iterations":
        return "terminated with the maximum number of iterations"
    return f"terminated with error code ({NO_STEP})"
