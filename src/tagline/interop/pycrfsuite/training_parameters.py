"""The parameters of CRFsuite's algorithms: names, kinds, defaults, and what they do, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tagline.errors import InputError
from tagline.messages import message

MOST = 2**31 - 1

ALIASES = {"ap": "averaged-perceptron", "pa": "passive-aggressive"}


@dataclass(frozen=True)
class Parameter:
    """One parameter: how its value is kept (int, float or str), its default, and its description."""

    kind: type
    default: Any
    help: str

    def parse(self, name: str, text: str) -> Any:
        """Read a value; whole numbers may be written with a point."""
        try:
            if self.kind is int:
                number = float(text)
                if number != int(number) or not -MOST <= number <= MOST:
                    raise ValueError
                return int(number)
            return self.kind(text)
        except (ValueError, OverflowError):
            wanted = message("a whole number") if self.kind is int else message("a number")
            raise InputError("{}: expected {}, got {!r}", name, wanted, text) from None


def _whole(default: int, text: str) -> Parameter:
    return Parameter(int, default, text)


def _real(default: float, text: str) -> Parameter:
    return Parameter(float, default, text)


_FEATURES = {
    "feature.minfreq": _real(0.0, "Features that occur less often, by their values, are left out."),
    "feature.possible_states": _whole(0, "1: weights for every attribute with every label, seen together or not."),
    "feature.possible_transitions": _whole(0, "1: weights for every pair of labels, seen one after the other or not."),
}
_C2 = _real(1.0, "Strength of the L2 penalty, c2 * |w|^2.")
_PERIOD = _whole(10, "Over how many iterations the stopping criterion compares.")
_ONLINE = "How many iterations there are at most."

ALGORITHMS: Mapping[str, Mapping[str, Parameter]] = {
    "lbfgs": {
        **_FEATURES,
        "c1": _real(0.0, "Strength of the L1 penalty, c1 * |w|; above 0, most weights end at 0."),
        "c2": _C2,
        "max_iterations": _whole(MOST, _ONLINE),
        "num_memories": _whole(6, "How many steps L-BFGS remembers to guess the inverse Hessian from."),
        "epsilon": _real(1e-5, "Training has converged when the norm of the gradient is below this share of |w|."),
        "period": _PERIOD,
        "delta": _real(1e-5, "Training stops when the objective improved by less than this share over the period."),
        "linesearch": Parameter(
            str,
            "MoreThuente",
            "MoreThuente, Backtracking or StrongBacktracking. Tagline has a line search of its own and uses that.",
        ),
        "max_linesearch": _whole(20, "How often the line search tries at most."),
    },
    "l2sgd": {
        **_FEATURES,
        "c2": _C2,
        "max_iterations": _whole(1000, "How many passes over the sentences there are at most."),
        "period": _PERIOD,
        "delta": _real(1e-6, "Training stops when the objective improved by less than this share over the period."),
        "calibration.eta": _real(0.1, "The first learning rate that is tried."),
        "calibration.rate": _real(2.0, "By what the learning rate is multiplied or divided for the next trial."),
        "calibration.samples": _whole(1000, "How many sentences a trial takes."),
        "calibration.candidates": _whole(10, "How many learning rates are tried that lower the loss."),
        "calibration.max_trials": _whole(20, "How many learning rates are tried at most."),
    },
    "averaged-perceptron": {
        **_FEATURES,
        "max_iterations": _whole(100, _ONLINE),
        "epsilon": _real(0.0, "Training stops when the mean share of wrong labels is below."),
    },
    "passive-aggressive": {
        **_FEATURES,
        "type": _whole(1, "How large a change may be: 0 without slack, 1 PA-I, 2 PA-II."),
        "c": _real(1.0, "Aggressiveness, of PA-I and PA-II."),
        "error_sensitive": _whole(1, "1: the margin grows with the root of the number of wrong labels."),
        "averaging": _whole(1, "1: the weights are averaged over all sentences seen."),
        "max_iterations": _whole(100, _ONLINE),
        "epsilon": _real(0.0, "Training stops when the mean loss is below."),
    },
    "arow": {
        **_FEATURES,
        "variance": _real(1.0, "The variance of every weight at first."),
        "gamma": _real(1.0, "The larger, the smaller the changes."),
        "max_iterations": _whole(100, _ONLINE),
        "epsilon": _real(0.0, "Training stops when the mean loss is not above."),
    },
}


def _switch(value: Any) -> bool:
    return bool(int(value))


# How `Trainer.get` gives values; the others are given as they are kept.
GIVEN: Mapping[str, Callable[[Any], Any]] = {
    "feature.possible_states": _switch,
    "feature.possible_transitions": _switch,
    "error_sensitive": _switch,
    "averaging": _switch,
    "calibration.samples": float,
}


class TrainingParameters:
    """The values for one algorithm."""

    def __init__(self, algorithm: str) -> None:
        self.algorithm = algorithm
        self._table = ALGORITHMS[algorithm]
        self.values = {name: parameter.default for name, parameter in self._table.items()}

    def names(self) -> list[str]:
        """Return the names, those of features first."""
        return list(self._table)

    def find(self, name: str, value: object = "") -> Parameter:
        """Return a parameter, or raise."""
        if name not in self._table:
            raise InputError(
                "Parameter not found: {} = {}; those of {} are {}", name, value, self.algorithm, ", ".join(self._table)
            )
        return self._table[name]

    def set(self, name: str, value: Any) -> None:
        """Set a value, as text or as a number."""
        text = str(int(value)) if isinstance(value, bool) else str(value)
        self.values[name] = self.find(name, text).parse(name, text)

    def __getitem__(self, name: str) -> Any:
        return self.values[name]
