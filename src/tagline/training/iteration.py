"""What every algorithm is to a run: an iterator of steps, which can be put down between two of them and taken up again.

A `Step` says what a pass over the sentences, an epoch or a step of EM reached. `Convergence` decides, for algorithms
that know gradients or an objective that settles, when no further step is worth its time: as CRFsuite does (a relative
improvement over `period` passes below `delta`, or ‖g‖ / max(1, ‖w‖) below `epsilon`), or where the gap to the optimum
is proven to be small (`certificate`). Limits, patience and everything else about a training is the matter of `run`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tagline.checks import as_float, check_number, check_whole
from tagline.errors import StorageError
from tagline.messages import message
from tagline.training.certificate import relative_gap
from tagline.training.running.checkpoints import DAMAGED, State, is_sized

if TYPE_CHECKING:
    from tagline.training.run import Trained

_SHOWN: dict[str, Callable[[Any], str]] = {
    "gradient_norm": lambda x: message("gradient {:.2e}", x),
    "gap": lambda x: message("gap {:.2e}", x),
    "active": lambda x: message("active {}", x),
    "step": lambda x: message("step {:.1e}", x),
    "rate": lambda x: message("rate {:.1e}", x),
    "evaluations": lambda x: message("evaluations {}", x),
    "dev_score": lambda x: message("dev {:.4f}", x),
    "tokens_per_second": lambda x: message("{:,.0f} tokens/s", x),
    "seconds": lambda x: message("{:.1f} s", x),
}


@dataclass(frozen=True)
class Step:
    """What one pass over the training sentences reached; `training_log_` has one for each.

    Attributes:
        number: from 1; 0 is the start. `iteration` and `epoch` are the same.
        objective: what training makes smaller, or larger for an HMM: with the penalties, or a network's mean loss,
            which `loss` is, too.
        gradient_norm: of the whole objective (of its pseudo-gradient with c1), or the mean over the steps of an epoch
            before clipping; NaN where an algorithm has none.
        gap: how far the objective is from its optimum at most (`certificate`); None where that is not known.
        dev_score: of the dev set, the higher the better; None where there is none.
        seconds: since training began.
        metrics: further numbers by name, which are attributes, too: `active` (how many weights are not 0),
            `evaluations` (of the objective, since the start) and `step` (how far along its direction the pass went),
            or of an epoch `rate` (the learning rate of its last step) and `tokens_per_second`.
        noun: what people call it.
        weights: what was learned, as an algorithm hands it to its run, valid until the algorithm is asked for its next
            step but one; entries of a log have none.
    """

    number: int
    objective: float
    gradient_norm: float = math.nan
    gap: float | None = None
    dev_score: float | None = None
    seconds: float = 0.0
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    noun: str = "pass"
    weights: Any = field(default=None, repr=False, compare=False)

    def __getattr__(self, name: str) -> Any:
        """Return one of the metrics."""
        if name.startswith("__") or name == "metrics" or name not in self.metrics:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self.metrics[name]

    @property
    def iteration(self) -> int:
        """Which pass it is, from 1."""
        return self.number

    @property
    def epoch(self) -> int:
        """Which epoch it is, from 1."""
        return self.number

    @property
    def loss(self) -> float:
        """The mean loss of an epoch."""
        return self.objective

    @property
    def lasting(self) -> bool:
        """Whether steps are few and long, so that each is worth a line."""
        return self.noun == "epoch"

    @property
    def relative_gap(self) -> float | None:
        """By which share of the optimum the objective is above it at most; None where that is not known."""
        return relative_gap(self.gap, self.objective)

    def numbers(self) -> dict[str, float | None]:
        """Return all numbers by name, as logs have them."""
        number, objective = ("epoch", "loss") if self.lasting else ("iteration", "objective")
        common = {name: getattr(self, name) for name in ("gradient_norm", "gap", "dev_score", "seconds")}
        return {number: self.number, objective: self.objective, **common, **self.metrics}

    def headline(self) -> str:
        """Say in a few words what it reached.

        >>> Step(7, 1010.0, gap=10.0).headline(), Step(7, 1.25, noun="epoch").headline()
        ('objective 1010.00  within 1 %', 'loss 1.2500')
        """
        if self.lasting:
            return message("loss {:.4f}", self.objective)
        within = self.relative_gap
        if within is None or within >= 1:
            return message("objective {:.2f}", self.objective)
        return message("objective {:.2f}  within {:.2g} %", self.objective, 100 * within)

    def line(self) -> str:
        """Write it as one line of text.

        >>> Step(7, 12887.25, 0.034, seconds=4.2, metrics={"active": 456468, "step": 1.0, "evaluations": 8}).line()
        '   7  objective 12887.2500  gradient 3.40e-02  active 456468  step 1.0e+00  evaluations 8  4.2 s'
        >>> Step(7, 1.25, 2.5, dev_score=0.9356, metrics={"rate": 1e-3}, noun="epoch").line()
        '   7  loss 1.2500  gradient 2.50e+00  rate 1.0e-03  dev 0.9356  0.0 s'
        """
        numbers = self.numbers()
        objective = message("objective {:.4f}", self.objective)
        if self.lasting:
            objective = message("loss {:.4f}", self.objective)
        parts = [f"{self.number:4d}  {objective}"]
        for name, shown in _SHOWN.items():
            value = numbers.get(name)
            if value is not None and (name == "dev_score" or not math.isnan(value)):
                parts.append(shown(value))
        return "  ".join(parts)


def log_state(history: Iterable[Step]) -> list[dict[str, Any]]:
    """Return the passes of a run as plain values."""
    return [{name: value for name, value in vars(step).items() if name != "weights"} for step in history]


def log_of(state: State) -> list[Step]:
    """Return the passes that `log_state` wrote; a value that is not of its field's type is an error."""
    steps: list[Step] = []
    try:
        for row in state.value("history", list):
            optional = {name: _number(row[name], True) for name in ("gap", "dev_score")}
            plain = {name: _number(row[name]) for name in ("objective", "gradient_norm", "seconds")}
            metrics = {str(name): _number(value, name == "step") for name, value in row["metrics"].items()}
            noun, number = row["noun"], row["number"]
            if noun not in ("pass", "epoch") or number != len(steps) + 1 or len(row) != len(fields(Step)) - 1:
                raise ValueError(f"{noun!r:.60} {number!r:.60}")
            steps.append(Step(len(steps) + 1, **plain, **optional, metrics=metrics, noun=noun))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise StorageError(
            "{}: expected numbers in the history, got: {!s:.200}; {}", state.source, error, DAMAGED
        ) from None
    return steps


def _number(value: Any, optional: bool = False) -> Any:
    """Return a number as `written` wrote it: a string stands for one that is not finite."""
    if value in ("nan", "inf", "-inf"):
        return float(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if ((value is None and optional) or is_number) and is_sized(value):
        return value
    raise TypeError(f"{value!r:.60}")


class Algorithm(ABC):
    """One way to learn: iterating over it yields a `Step` for each pass.

    The first step, number 0, is the start. A step with the number of the one before it is a place between two passes:
    it is not recorded, but a run may save or end there.

    Attributes:
        weights: what was learned: at first where it begins, then those of the last step.
        reason: why it goes no further: set before the last step where it has converged, and after it where it cannot.
        limit: what the reason is called where a run's limit of passes ends it.
        at_least_one: whether a pass is made even where the time is over.
        is_slow: whether passes are so long that the start, and places between them, are worth saving.
    """

    limit: ClassVar[str] = "max_iterations"
    at_least_one: ClassVar[bool] = False
    is_slow: ClassVar[bool] = False
    weights: Any
    reason: str | None = None

    @abstractmethod
    def __iter__(self) -> Generator[Step, None, None]:
        """Go on from where it is."""

    @abstractmethod
    def state(self) -> State:
        """Return all that the next pass depends on, with the weights."""

    @abstractmethod
    def load_state(self, state: State) -> None:
        """Go back to where `state` was called."""

    def assessed(self, end: Trained) -> Trained:
        """Return what a run ended with, with what was not known of it before."""
        return end

    def passes_in(self, state: State) -> int | None:
        """Return how many passes a state is after, where it says so; a history has as many."""
        return state.value("number", int) if "number" in state.values else None

    def copied(self, weights: Any) -> Any:
        """Copy the weights of a step, for callbacks and to keep the best."""
        return weights.copy()

    def packed(self, copy: Any) -> State:
        """Return such a copy as a checkpoint has it."""
        return State({}, {"weights": copy})

    def unpacked(self, state: State) -> Any:
        """Return the copy that `packed` packed."""
        return state.array("weights", np.float64, len(self.weights), finite=True)


class Convergence:
    """When an algorithm has converged.

    Arguments:
        epsilon: where ‖g‖ / max(1, ‖w‖) is below; 0 for never.
        period, delta: where the objective changed by at most `delta` of it in `period` passes; 0 for never.
        tolerance: where the objective is proven to be within this share of its optimum; None for never.
    """

    def __init__(
        self, epsilon: float = 1e-5, period: int = 10, delta: float = 1e-5, tolerance: float | None = None
    ) -> None:
        check_number("epsilon", epsilon, least=0, finite=False, wanted=message("0 or more"))
        check_number("delta", delta, least=0, finite=False, wanted=message("0 or more"))
        check_number("tolerance", tolerance, above=0, optional=True)
        check_whole("period", period, 0, wanted=message("0 or more"))
        self.epsilon, self.period, self.delta = as_float(epsilon), int(period), as_float(delta)
        self.tolerance = None if tolerance is None else as_float(tolerance)
        self.objectives: list[float] = []  # the start's first
        self._last = Step(0, math.nan)
        self._weight_norm = math.nan

    def after(self, step: Step, weight_norm: float = math.nan) -> str | None:
        """Take a step in; return a reason where it was the last one."""
        self.objectives.append(step.objective)
        self._last, self._weight_norm = step, weight_norm
        return self._reason()

    def _reason(self) -> str | None:
        last, within = self._last, self._last.relative_gap
        if self.tolerance is not None and within is not None and within <= self.tolerance:
            return f"converged: the objective is proven to be within {100 * within:.2g} % of its optimum"
        if last.gradient_norm < self.epsilon * max(1.0, self._weight_norm):
            return f"converged: gradient norm {last.gradient_norm:.2e} is below {self.epsilon:g} × max(1, ‖w‖)"
        if self.delta and self.period and len(self.objectives) > self.period:
            change = abs(self.objectives[-1 - self.period] - last.objective)
            if change <= self.delta * abs(last.objective):
                return f"converged: the objective changed by at most {self.delta:g} of it in {self.period} passes"
        return None

    def state(self) -> State:
        """Return what was taken in."""
        numbers = {name: getattr(self._last, name) for name in ("number", "gradient_norm", "gap")}
        return State({**numbers, "weight_norm": self._weight_norm}, {"objectives": np.array(self.objectives)})

    def load_state(self, state: State) -> str | None:
        """Go back to where `state` was called, and judge anew: the limits may be others now."""
        self.objectives = state.array("objectives", np.float64, None).tolist()
        gap = None if state.values.get("gap") is None else state.value("gap", float)
        objective = self.objectives[-1] if self.objectives else math.nan
        self._last = Step(state.value("number", int), objective, state.value("gradient_norm", float), gap)
        self._weight_norm = state.value("weight_norm", float)
        return self._reason()
