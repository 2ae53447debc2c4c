"""CRFsuite's ``l2sgd``: stochastic descent whose first step size is tried out on a sample, one sentence a step.

After k of B sentences η_k = η_0 / (1 + η_0·λ·k) with λ = 2·c2 / B; weights are multiplied by 1 − η_k·λ before each
step. The weights of the epoch with the lowest loss are returned. The core makes the steps.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tagline import compiled
from tagline.interop.pycrfsuite.errors import OVERFLOW, CRFSuiteError
from tagline.interop.pycrfsuite.online import shuffles
from tagline.interop.pycrfsuite.training_task import Stopwatch, TrainingTask
from tagline.training.likelihood import Likelihood, Targets
from tagline.types import Float64Array, IntArray


class _Descent:
    """The core's descent from 0 on."""

    def __init__(self, task: TrainingTask) -> None:
        part, self._zeros = task.part, task.no_weights()
        targets = Targets(part.labels, None, part.weights)
        likelihood = Likelihood(task.structure, part.features, targets, None, "float64")
        self._core: Any = compiled.require().Descent64(likelihood.core, 0.0, task.parameters["c2"])
        self.decay = 2 * task.parameters["c2"] / task.num_sentences
        self.weights = self._zeros
        self._B = task.num_sentences

    def begin(self) -> None:
        """Go back to 0."""
        self._core.set(self._zeros)
        self._core.seen = 0

    def run(self, order: IntArray, eta: float, learn: bool = True) -> float:
        """Go through sentences; return the summed loss with the penalty."""
        loss = self._core.run(order, 1, eta, self.decay, learn, True)
        self.weights = self._core.get()
        with np.errstate(all="ignore"):  # a step size that is too large
            return float(loss + 0.5 * self.decay * (self.weights @ self.weights) * self._B)

    @property
    def seen(self) -> int:
        """How many steps were made."""
        return int(self._core.seen)

    def rate(self, eta: float) -> float:
        """Return the step size of the last step."""
        return float(eta / (1 + eta * self.decay * (self.seen - 1)))


def learn_by_descent(task: TrainingTask) -> Float64Array:
    """Return the weights of the best epoch."""
    names = ("c2", "max_iterations", "period", "delta")
    task.tell_parameters("Stochastic Gradient Descent (SGD)", {name: name for name in names})
    watch, weights, loss = Stopwatch(), task.no_weights(), 0.0
    if task.num_sentences:
        descent, order = _Descent(task), np.arange(task.num_sentences, dtype=np.int64)
        order = shuffles.shuffled(order)
        eta = _calibrated(task, descent, order)
        weights, loss = _descend(task, descent, order, eta)
    task.tell(f"Loss: {loss:f}\n")
    task.tell(f"Total seconds required for training: {watch.total():.3f}\n")
    task.tell("\n")
    return weights


def _calibrated(task: TrainingTask, descent: _Descent, order: IntArray) -> float:
    """Try step sizes on a sample, larger ones while the loss falls, then smaller ones; return the best."""
    parameters, tell, watch = task.parameters, task.tell, Stopwatch()
    first, factor = parameters["calibration.eta"], parameters["calibration.rate"]
    wanted, most = parameters["calibration.candidates"], parameters["calibration.max_trials"]
    sample = order[: min(len(order), parameters["calibration.samples"])]
    tell("Calibrating the learning rate (eta)\n")
    tell(f"calibration.eta: {first:f}\n")
    tell(f"calibration.rate: {factor:f}\n")
    tell(f"calibration.samples: {len(sample)}\n")
    tell(f"calibration.candidates: {wanted}\n")
    tell(f"calibration.max_trials: {most}\n")
    descent.begin()
    initial = descent.run(sample, first, learn=False)
    tell(f"Initial loss: {initial:f}\n")
    eta, best, lowest, smaller, left = first, first, math.inf, False, wanted
    for trial in range(1, max(2, most)):
        if left <= 0 and smaller:
            break
        tell(f"Trial #{trial} (eta = {eta:f}): ")
        descent.begin()
        loss = descent.run(sample, eta)
        falls = math.isfinite(loss) and loss < initial
        tell(f"{loss:f}\n" if falls else f"{loss:f} (worse)\n")
        left -= falls
        if math.isfinite(loss) and loss < lowest:
            lowest, best = loss, eta
        if smaller:
            eta /= factor
        elif falls and left > 0:
            eta *= factor
        else:
            smaller, left, eta = True, wanted, first / factor
    tell(f"Best learning rate (eta): {best:f}\n")
    tell(f"Seconds required: {watch.total():.3f}\n")
    tell("\n")
    return float(best)


def _descend(task: TrainingTask, descent: _Descent, order: IntArray, eta: float) -> tuple[Float64Array, float]:
    parameters, tell, watch = task.parameters, task.tell, Stopwatch()
    epochs, period, delta = parameters["max_iterations"], parameters["period"], parameters["delta"]
    best, lowest, losses = task.no_weights(), math.inf, list[float]()
    descent.begin()
    stopped = False
    while len(losses) < epochs and not stopped:
        watch.lap()
        tell(f"***** Epoch #{len(losses) + 1} *****\n")
        order = shuffles.shuffled(order)
        loss = descent.run(order, eta)
        if not math.isfinite(loss):
            tell("ERROR: overflow loss\n")
            raise CRFSuiteError(OVERFLOW)
        losses.append(loss)
        if loss < lowest:
            lowest, best = loss, descent.weights
        tell(f"Loss: {loss:f}\n")
        if len(losses) > period:
            improvement = (losses[-1 - period] - loss) / loss
            stopped = improvement < delta
            tell(f"Improvement ratio: {improvement:f}\n")
        tell(f"Feature L2-norm: {math.sqrt(descent.weights @ descent.weights):f}\n")
        tell(f"Learning rate (eta): {descent.rate(eta):f}\n")
        tell(f"Total number of feature updates: {descent.seen}\n")
        tell(f"Seconds required for this iteration: {watch.lap():.3f}\n")
        task.evaluate(descent.weights)
        tell("\n")
    ended = "stopping criteria" if stopped and len(losses) < epochs else "maximum number of iterations"
    tell(f"SGD terminated with the {ended}\n")
    return best, lowest
