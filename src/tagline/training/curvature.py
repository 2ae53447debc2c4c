"""What a quasi-Newton method remembers of the curvature, in the form that needs no long vectors (Chen et al. 2014).

L-BFGS's direction is a sum of the remembered differences s and y and of the gradient p. Its coefficients follow from
their inner products alone. The core computes these in one pass over memory when a point is measured; the two loops of
the textbook run over small matrices here; one more pass adds the direction up. With H0 = γD, D a diagonal:

    q = p − Σ α_i·y_i,   r = γ·D·q + Σ (α_i − β_i)·s_i,   α_i = s_i·q / s_i·y_i,   β_i = y_i·r / s_i·y_i,   d = −r
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tagline.errors import StorageError
from tagline.training.running.checkpoints import DAMAGED, State
from tagline.types import Float64Array, IntArray

SMALLEST = 1e-10  # share of |s|·|y|: a pair with less curvature is not remembered


class Coefficients(NamedTuple):
    """d = Σ of_s·s + D·(of_gradient·p + Σ of_y·y) over the used slots."""

    of_s: Float64Array
    of_y: Float64Array
    of_gradient: float


class Curvature:
    """Inner products of up to `memory` pairs (s, y), in `memory` + 1 slots: one is free for the next trial.

    Attributes:
        used: ``[R]``, slots in use, the oldest first.
        spare: the slot that the next point may overwrite; −1 without memory.
        scale: γ of the newest pair, also after it was forgotten; None before the first.
    """

    def __init__(self, memory: int) -> None:
        slots = memory + 1 if memory else 0
        self.memory = memory
        self._s_y = np.zeros((slots, slots))  # [slot of s, slot of y], where s is the older or the same
        self._y_dy = np.zeros((slots, slots))
        self._s_p, self._y_dp = np.zeros(slots), np.zeros(slots)
        self.scale: float | None = None
        self.forget()

    def forget(self) -> None:
        """Drop all pairs; the scale stays."""
        self.used: IntArray = np.empty(0, np.int64)
        self.spare = 0 if self.memory else -1

    def remember(self, products: Float64Array, s2: float, y2: float) -> bool:
        """Take in the point that was accepted.

        Arguments:
            products: ``[R + 1, 4]``: s·y, s·p, y·Dy, y·Dp for the used slots, then for the spare one with the new pair.
            s2, y2: s·s and y·y of the new pair.

        Returns whether the new pair is remembered. It is not if it has no curvature.
        """
        slots = np.append(self.used, self.spare)
        self._s_p[slots], self._y_dp[slots] = products[:, 1], products[:, 3]
        if not (products[-1, 0] > SMALLEST * np.sqrt(s2 * y2) and products[-1, 2] > 0):
            return False
        new = self.spare
        self._s_y[slots, new] = products[:, 0]
        self._y_dy[slots, new] = self._y_dy[new, slots] = products[:, 2]
        self.scale = float(products[-1, 0] / products[-1, 2])
        full = len(slots) > self.memory
        self.used = slots[1:] if full else slots
        self.spare = int(slots[0]) if full else len(slots)
        return True

    def state(self) -> State:
        """Return what is remembered."""
        arrays = {"s_y": self._s_y, "y_dy": self._y_dy, "s_p": self._s_p, "y_dp": self._y_dp, "used": self.used}
        return State({"spare": self.spare, "scale": self.scale}, arrays)

    def load_state(self, state: State) -> None:
        """Go back to where `state` was called."""
        slots = len(self._s_p)
        self._s_y, self._y_dy = (state.array(name, np.float64, slots, slots) for name in ("s_y", "y_dy"))
        self._s_p, self._y_dp = (state.array(name, np.float64, slots) for name in ("s_p", "y_dp"))
        self.used, self.spare = state.array("used", np.int64, None), state.value("spare", int)
        self.scale = None if state.values.get("scale") is None else state.value("scale", float)
        places = [*self.used.tolist(), self.spare]
        least = 0 if slots else -1  # nothing is remembered: there is no slot to spare
        if len(set(places)) < len(places) or not all(least <= place < slots for place in places):
            raise StorageError("{}: expected slots from 0 to {}, got {}; {}", state.source, slots - 1, places, DAMAGED)

    def coefficients(self) -> Coefficients:
        """Return the coefficients of −H·p; of steepest descent, −γ·D·p, where nothing is remembered."""
        R = len(self.used)
        gamma = 1.0 if self.scale is None else self.scale
        if R == 0:
            return Coefficients(np.empty(0), np.empty(0), -gamma)
        pairs = np.ix_(self.used, self.used)
        s_y, y_dy = self._s_y[pairs], self._y_dy[pairs]  # [R, R]; s_y is read at and above the diagonal
        s_p, y_dp = self._s_p[self.used], self._y_dp[self.used]
        alpha, of_s = np.zeros(R), np.zeros(R)
        for i in reversed(range(R)):
            alpha[i] = (s_p[i] - s_y[i, i + 1 :] @ alpha[i + 1 :]) / s_y[i, i]
        y_r = gamma * (y_dp - y_dy @ alpha)
        for i in range(R):
            of_s[i] = alpha[i] - (y_r[i] + s_y[:i, i] @ of_s[:i]) / s_y[i, i]
        return Coefficients(-of_s, gamma * alpha, -gamma)
