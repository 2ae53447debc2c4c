"""One place after another: the weights of a descent, the gradient there, and the trial that may come next.

lbfgs, owlqn and gd share this. Long vectors live here, and the core goes over them twice a pass: `aim` moves the trial
weights along the direction, `attempt` evaluates there and measures what the next direction needs.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Generator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from tagline import compiled
from tagline.checks import shown_value
from tagline.errors import InputError
from tagline.training.certificate import certifies, gap_at
from tagline.training.curvature import Curvature
from tagline.training.iteration import Algorithm, Convergence, Step
from tagline.training.line_search import NOISE, Trial
from tagline.training.objective import Objective, Penalty, as_weights
from tagline.training.running.checkpoints import State
from tagline.types import Float64Array

Diagonal: TypeAlias = ArrayLike | Callable[[Float64Array], ArrayLike]
"""The initial inverse Hessian ``[n]`` of the whole objective, or a function that gives it at the start."""

FAILED = "line search failed: no step along the steepest descent lowers the objective any more"
STALLED = "line search failed: steps are lost in the rounding of the objective"
IDLE = 50  # passes with neither a lower objective nor a smaller gradient than any before
SUMS = 8  # that `measure_point` of the core returns


class Walk(Algorithm):
    """A descent on `objective` with penalties; the classes over it say how they go on.

    Arguments:
        start: ``[n]``, not changed.
        penalty: the strengths c1 and c2.
        memory: of how many steps the curvature is remembered; None for steepest descent.
        dtype: of that memory, float32 or float64.
        diagonal: initial inverse Hessian; the identity, scaled, where there is none.
        noise: relative, of the objective's values.
        convergence: when it has arrived.

    Nothing is evaluated before `begin`.
    """

    def __init__(
        self,
        objective: Objective,
        start: ArrayLike,
        penalty: tuple[ArrayLike, ArrayLike],
        *,
        memory: int | None = None,
        dtype: DTypeLike = np.float32,
        diagonal: Diagonal | None = None,
        noise: float = NOISE,
        convergence: Convergence | None = None,
    ) -> None:
        compiled.require()
        if memory is not None and memory < 1:
            raise InputError("memory: expected at least one step, got {}", memory)
        try:
            kind = str(np.dtype(dtype))
        except (TypeError, ValueError, RecursionError):
            kind = shown_value(dtype)
        if kind not in ("float32", "float64"):
            raise InputError("dtype: expected float32 or float64, got {:.60}", kind)
        self.weights = as_weights("start", start)
        n = len(self.weights)
        self._objective, self._penalty = objective, Penalty.of(*penalty, n)
        self._certifies = certifies(objective, self._penalty)
        self.gradient = np.empty(n)
        self._next_weights, self._next_gradient = np.empty(n), np.empty(n)
        self.curvature = Curvature(memory or 0)
        self._memory: NDArray[Any] = np.empty((2, memory + 1 if memory else 0, n), dtype)
        self._given_diagonal, self._diagonal = diagonal, np.empty(0)
        self.noise, self.convergence = noise, convergence or Convergence()
        self.number = 0
        self.evaluations = 0
        self._aimed = 0.0
        self._lowest, self._flattest, self._idle = math.inf, math.inf, 0
        self.begun = False
        self.step: float | None = None  # how far along its direction the last pass went

    def begin(self) -> None:
        """Evaluate the start."""
        self.begun = True
        self._diagonal = _as_diagonal(self._given_diagonal, self.weights)
        self.value, self._sums, _ = self._measure(self.weights, -1, self.gradient)
        if not math.isfinite(self.value) or not math.isfinite(self.gradient_norm):
            raise InputError(
                "objective: expected a finite value and gradient at the start, got {:g} and a gradient of "
                "norm {:g}; start from other weights",
                self.value,
                self.gradient_norm,
            )

    @property
    def gradient_norm(self) -> float:
        """Of the pseudo-gradient where c1 > 0."""
        return float(np.sqrt(self._sums[2]))

    @abstractmethod
    def accepted(self) -> bool:
        """Go to the next place; say whether there was one, and `reason` why not."""

    def __iter__(self) -> Generator[Step, None, None]:
        if not self.begun:
            self.begin()
            yield self._step()
        while self.reason is None:
            if self._idle >= IDLE:
                self.reason = STALLED
            elif self.accepted():
                self.number += 1
                yield self._step()

    def _step(self) -> Step:
        """Return where the walk is, and look whether it has arrived."""
        gap = None
        if self._certifies and self._penalty.c2.size == 1:
            gap = float(self._sums[2] / (4 * self._penalty.c2[0]))
        elif self._certifies:
            gap = gap_at(self._penalty, self.weights, self.gradient)
        metrics = {"active": int(self._sums[4]), "evaluations": self.evaluations, "step": self.step}
        step = Step(self.number, self.value, self.gradient_norm, gap, metrics=metrics, weights=self.weights)
        self.reason = self.convergence.after(step, float(np.sqrt(self._sums[3])))
        return step

    def aim(self, step: float) -> float:
        """Choose the direction and put the trial weights at a step along it; return the slope at its start."""
        self._coefficients = self.curvature.coefficients()
        self._move(step)
        return float(self._moves[0])

    def attempt(self, step: float) -> Trial:
        """Evaluate the objective at a step along the direction."""
        if step != self._aimed:
            self._move(step)
        self._next_value, self._next_sums, self._products = self._measure(
            self._next_weights, self.curvature.spare, self._next_gradient
        )
        return Trial(
            step,
            self._next_value,
            float(self._next_sums[5]) / step,
            float(self._moves[1]),
            float(np.sqrt(self._next_sums[2])),
        )

    def accept(self) -> None:
        """Go to the trial that was attempted last."""
        if self.curvature.memory:
            self.curvature.remember(self._products, self._next_sums[6], self._next_sums[7])
        self.weights, self._next_weights = self._next_weights, self.weights
        self.gradient, self._next_gradient = self._next_gradient, self.gradient
        self.value, self._sums, self.step = self._next_value, self._next_sums, self._aimed
        lower, flatter = self.value < self._lowest, self.gradient_norm < self._flattest
        self._lowest, self._flattest = min(self.value, self._lowest), min(self.gradient_norm, self._flattest)
        self._idle = 0 if lower or flatter else self._idle + 1

    def state(self) -> State:
        arrays = {"weights": self.weights, "gradient": self.gradient, "sums": self._sums, "diagonal": self._diagonal}
        values = {
            **{name: getattr(self, name) for name in ("number", "value", "evaluations", "step")},
            **{"lowest": self._lowest, "flattest": self._flattest, "idle": self._idle},
        }
        state = State(values, {**arrays, "memory": self._memory[:, self.curvature.used]})
        state = state.joined("curvature", self.curvature.state())
        return state.joined("convergence", self.convergence.state())

    def load_state(self, state: State) -> None:
        n = len(self.weights)
        self.begun = True
        self.weights[:] = state.array("weights", np.float64, n, finite=True)
        self.gradient = state.array("gradient", np.float64, n)
        self._sums = state.array("sums", np.float64, SUMS)
        self.curvature.load_state(state.part("curvature"))
        used = self.curvature.used
        self._memory[:, used] = state.array("memory", self._memory.dtype, 2, len(used), n)
        self._diagonal = state.array("diagonal", np.float64, 0 if self._given_diagonal is None else n)
        self.number, self.value = state.value("number", int), state.value("value", float)
        self.evaluations = state.value("evaluations", int)
        self.step = None if state.values.get("step") is None else state.value("step", float)
        self._lowest, self._flattest = state.value("lowest", float), state.value("flattest", float)
        self._idle = state.value("idle", int)
        self.reason = self.convergence.load_state(state.part("convergence"))

    def _measure(
        self, weights: Float64Array, slot: int, gradient: Float64Array
    ) -> tuple[float, Float64Array, Float64Array]:
        """Evaluate the objective; return its value with the penalties, and what the next direction needs."""
        self.evaluations += 1
        view = weights.view()
        view.flags.writeable = False  # the objective may not change the weights
        value, smooth = self._objective(view)
        value, smooth = math.inf if math.isnan(value) else float(value), np.ascontiguousarray(smooth, np.float64)
        if smooth.shape != weights.shape:
            raise InputError(
                "gradient: expected shape {} as the weights, got {}", list(weights.shape), list(smooth.shape)
            )
        sums, products = compiled.require().measure_point(
            weights,
            smooth,
            self._penalty.c1,
            self._penalty.c2,
            self.weights,
            self.gradient,
            self._memory,
            self._diagonal,
            self.curvature.used,
            slot,
            gradient,
        )
        return value + float(sums[0] + sums[1]), sums, products

    def _move(self, step: float) -> None:
        self._moves: Float64Array = compiled.require().move_point(
            self.weights,
            self.gradient,
            self._penalty.c1,
            self._memory,
            self._diagonal,
            self.curvature.used,
            *self._coefficients,
            step,
            self._next_weights,
        )
        self._aimed = step


def _as_diagonal(diagonal: Diagonal | None, start: Float64Array) -> Float64Array:
    if diagonal is None:
        return np.empty(0)
    try:
        values = np.ascontiguousarray(diagonal(start) if callable(diagonal) else diagonal, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError("diagonal: expected numbers, one a weight, got {}", shown_value(diagonal)) from None
    if values.shape != start.shape:
        raise InputError("diagonal: expected shape {} as the weights, got {}", list(start.shape), list(values.shape))
    bad = ~(np.isfinite(values) & (values > 0))
    if bad.any():
        k = int(np.flatnonzero(bad)[0])
        raise InputError("diagonal[{}]: expected a positive, finite number, got {}", k, values[k])
    return values
