"""CRFsuite's online algorithms: averaged perceptron, passive-aggressive, AROW, to the last bit.

Sentences come in the order in which CRFsuite shuffles them, by the C library's random numbers: one sequence for the
whole process, begun at 1 and carried on from one training to the next. `seed` begins it anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tagline import compiled
from tagline.interop.pycrfsuite.training_task import Stopwatch, TrainingTask
from tagline.messages import message
from tagline.training.run import norm
from tagline.types import Float64Array, IntArray

NAMES = {"averaged-perceptron": "ap", "passive-aggressive": "pa", "arow": "arow"}
TITLES = {
    "averaged-perceptron": message("Averaged perceptron"),
    "passive-aggressive": message("Passive Aggressive"),
    "arow": message("Adaptive Regularization of Weights (AROW)"),
}


class _Shuffles:
    """The random numbers of the process."""

    def __init__(self) -> None:
        self.begin(1)

    def begin(self, number: int) -> None:
        self._random = compiled.require().LibraryRandom(number)

    def shuffled(self, order: IntArray) -> IntArray:
        """Return the sentences in their next order."""
        out: IntArray = self._random.shuffled(order)
        return out


shuffles = _Shuffles()


def seed(number: int = 1) -> None:
    """Begin the random order of sentences anew, so that a training can be repeated within a process.

    CRFsuite has no such function: there, the state of the C library's ``rand()`` goes on from training to training.

    >>> from tagline.interop import pycrfsuite
    >>> pycrfsuite.seed(7)
    """
    shuffles.begin(number)


def learn_online(task: TrainingTask) -> Float64Array:
    """Return the weights that ``ap``, ``pa`` or ``arow`` ends with."""
    parameters, algorithm = task.parameters, task.parameters.algorithm
    settings = [name for name in parameters.names() if not name.startswith("feature.")]
    task.tell_parameters(TITLES[algorithm], {name: name for name in settings})
    watch, learner, weights = Stopwatch(), _learner(task), task.no_weights()
    averaged = algorithm != "arow" and bool(parameters.values.get("averaging", 1))
    order = np.arange(task.num_sentences, dtype=np.int64)
    for iteration in range(1, parameters["max_iterations"] + 1):
        watch.lap()
        order = shuffles.shuffled(order)
        loss = learner.run(order) if learner is not None else 0.0
        weights = learner.get(averaged) if learner is not None else weights
        # The log has the norm of the average only where the perceptron's is taken.
        shown = learner.get(False) if learner is not None and algorithm == "passive-aggressive" else weights
        task.tell(f"***** Iteration #{iteration} *****\n")
        task.tell(f"Loss: {loss:f}\n")
        task.tell(f"Feature norm: {norm(shown):f}\n")
        task.tell(f"Seconds required for this iteration: {watch.lap():.3f}\n")
        task.evaluate(weights)
        task.tell("\n")
        if task.num_sentences and _is_enough(loss / task.num_sentences, parameters["epsilon"], algorithm):
            task.tell("Terminated with the stopping criterion\n")
            task.tell("\n")
            break
    task.tell(f"Total seconds required for training: {watch.total():.3f}\n")
    task.tell("\n")
    return weights


def _is_enough(loss: float, epsilon: float, algorithm: str) -> bool:
    return loss <= epsilon if algorithm == "arow" else loss < epsilon


def _learner(task: TrainingTask) -> Any:
    """Return the core's learner; None where there is nothing to learn from."""
    if not task.num_sentences:
        return None
    part, structure, values = task.part, task.structure, task.parameters.values
    settings: dict[str, Any] = {name: float(values[name]) for name in ("c", "variance", "gamma") if name in values}
    if "type" in values:
        # CRFsuite takes every other number for 0.
        kind = values["type"] if values["type"] in (1, 2) else 0
        settings |= {"type": kind, "error_sensitive": bool(values["error_sensitive"])}
    return compiled.require().FlatOnline(
        structure.num_labels,
        structure.state_offsets,
        structure.state_labels,
        structure.transitions,
        part.features.offsets,
        part.features.states.offsets,
        part.features.states.ids,
        part.values,
        part.labels,
        part.weights,
        NAMES[task.parameters.algorithm],
        **settings,
    )
