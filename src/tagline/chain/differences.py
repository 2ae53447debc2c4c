"""A gradient against central differences: the check that every gradient should pass before it is trusted.

    ∂f/∂x_k ≈ (f(x + h·e_k) − f(x − h·e_k)) / 2h

The step h has two enemies. The formula itself is off by about h²·f‴/6. And f is rounded, so a difference is a multiple
of ulp(f), and the quotient one of ulp(f) / 2h: with h = 1e-10 and f near 20 that is 1.8e-5, far more than most errors
that one looks for. Their sum is least near the cube root of the rounding, about 1e-5 in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tagline.checks import as_array, check_number, shown_value
from tagline.errors import InputError
from tagline.messages import message
from tagline.types import Float64Array


@dataclass(frozen=True, eq=False)
class GradientCheck:
    """What a gradient and central differences say, and whether they agree. It is true where they do.

    Attributes:
        numeric: central differences, in the shape of x; 0 where x is −∞.
        analytic: the gradient that is checked.
        where: the index of the worst place, the one whose error exceeds its bound by the largest factor.
        error, bound: |analytic − numeric| there, and what is allowed.
        noise: ulp(f) / 2h there: differences cannot be told apart below it.

    >>> from tagline import chain
    >>> check = chain.check_gradients(lambda x: (x**2).sum(), [1.0, 2.0], [2.0, 4.1])
    >>> bool(check), check.where, round(check.error, 3)
    (False, (1,), 0.1)
    """

    numeric: Float64Array
    analytic: Float64Array
    where: tuple[int, ...]
    error: float
    bound: float
    noise: float

    @property
    def passed(self) -> bool:
        """Whether |analytic − numeric| ≤ atol + rtol·|numeric| everywhere."""
        return self.error <= self.bound

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        place = f"[{', '.join(map(str, self.where))}]"
        told = f"{'passed' if self.passed else 'FAILED'}: {self.numeric.size} derivatives, worst at {place}: "
        told += f"gradient {self.analytic[self.where]:.9g}, difference {self.numeric[self.where]:.9g}, "
        told += f"error {self.error:.1e}, allowed {self.bound:.1e}"
        if not self.passed and self.noise > self.bound:
            told += f"; rounding alone makes {self.noise:.1e}: take a larger step, or a larger atol"
        return told

    def __repr__(self) -> str:
        return f"GradientCheck({self})"


def check_gradients(
    function: Callable[[Float64Array], Any],
    x: ArrayLike,
    gradient: ArrayLike,
    *,
    step: float = 1e-5,
    atol: float = 1e-9,
    rtol: float = 1e-6,
) -> GradientCheck:
    """Compare a gradient with central differences, by |gradient − difference| ≤ atol + rtol·|difference|.

    Arguments:
        function: from an array in the shape of x to one finite number (an array of one number will do). It is called
            twice for each number of x.
        x: the point, of any shape. A forbidden score, −∞, is not moved; its derivative is 0.
        gradient: what is checked, in the shape of x. NaN never passes.
        step: h; where |x_k| > 1 it is h·|x_k|.
        atol, rtol: the errors that are allowed, absolute and relative.

    >>> check_gradients(lambda x: (x**3).sum(), [1.0, 2.0], [3.0, 12.0]).passed
    True
    >>> print(check_gradients(lambda x: (x**3).sum(), [1.0, 2.0], [3.0, 12.1]))
    FAILED: 2 derivatives, worst at [1]: gradient 12.1, difference 12, error 1.0e-01, allowed 1.2e-05
    """
    point, analytic = _numbers("x", x), _numbers("gradient", gradient)
    if not point.size or not (np.isfinite(point) | np.isneginf(point)).all():
        raise InputError("x: expected at least one number, each finite or -inf (forbidden), got {}", shown_value(x))
    if analytic.shape != point.shape:
        raise InputError("gradient: expected shape {} as x, got {}", list(point.shape), list(analytic.shape))
    check_number("step", step, above=0, wanted=message("a finite number, more than 0"))
    check_number("atol", atol, least=0, wanted=message("a finite number, 0 or more"))
    check_number("rtol", rtol, least=0, wanted=message("a finite number, 0 or more"))
    numeric, noise = np.zeros(point.shape), np.zeros(point.shape)
    for where in np.ndindex(point.shape):
        if np.isfinite(point[where]):
            numeric[where], noise[where] = _difference(function, point, where, float(step))
    differences = np.abs(analytic - numeric)
    errors = np.where(np.isnan(differences), np.inf, differences)
    bounds = atol + rtol * np.abs(numeric)
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = np.where(errors > 0, errors / bounds, 0.0)
    worst = tuple(int(axis) for axis in np.unravel_index(int(excess.argmax()), point.shape))
    return GradientCheck(numeric, analytic, worst, float(errors[worst]), float(bounds[worst]), float(noise[worst]))


def _difference(
    function: Callable[[Float64Array], Any], point: Float64Array, where: tuple[int, ...], step: float
) -> tuple[float, float]:
    """Return the central difference at one place, and the grid on which rounding puts it."""
    h = step * max(1.0, abs(float(point[where])))
    values, places = [], []
    for sign in (1, -1):
        moved = point.copy()
        moved[where] += sign * h
        places.append(float(moved[where]))
        values.append(_value(function, moved, where, sign * h))
    distance = places[0] - places[1]  # 2h as it is after rounding
    if distance == 0:
        raise InputError(
            "step: expected one that moves x{} = {:g}, got {:g}; take a larger", list(where), point[where], step
        )
    return (values[0] - values[1]) / distance, float(np.spacing(max(map(abs, values)))) / distance


def _value(
    function: Callable[[Float64Array], Any], moved: Float64Array, where: tuple[int, ...], change: float
) -> float:
    value = as_array("function", function(moved))
    if value.size != 1 or value.dtype.kind not in "fiu" or not np.isfinite(value).all():
        told = message("shape {}", list(value.shape)) if value.size != 1 else shown_value(value.item())
        raise InputError("function at x{} {:+g}: expected one finite number, got {}", list(where), change, told)
    return float(value.item())


def _numbers(name: str, value: ArrayLike) -> Float64Array:
    array = as_array(name, value)
    if array.dtype.kind not in "fiu":
        raise InputError("{}: expected an array of numbers, got dtype {}", name, array.dtype)
    return array.astype(np.float64)
