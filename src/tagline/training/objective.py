"""What is minimised: a smooth objective, and the penalties that every algorithm adds to it in the same way.

total(w) = objective(w) + Σ c1·|w| + Σ c2·w²    (CRFsuite's convention: no ½)

An objective is any callable from weights to (value, gradient). The strength of a penalty is one number, or one for each
weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from tagline.checks import as_array, finite_numbers
from tagline.errors import InputError
from tagline.types import Float64Array


class Objective(Protocol):
    """The smooth part of what is minimised, without penalties.

    One that has an attribute ``convex`` which is True gets a proof of how far it is from the optimum (`certificate`).
    """

    def __call__(self, weights: Float64Array, /) -> tuple[float, Float64Array]:
        """Return the value and the gradient ``[n]`` at weights ``[n]``, which are not to be changed or kept."""
        ...


@dataclass(frozen=True, eq=False)
class Penalty:
    """Σ c1·|w| + Σ c2·w².

    Attributes:
        c1, c2: not negative, ``[1]`` for all weights or ``[n]``, one for each.

    >>> Penalty.of(0.5, 1.0, 2).value(np.array([1.0, -2.0]))
    6.5
    """

    c1: Float64Array
    c2: Float64Array

    @classmethod
    def of(cls, c1: ArrayLike, c2: ArrayLike, size: int) -> Penalty:
        """Check the strengths of the penalties on so many weights."""
        return cls(_as_strength("c1", c1, size), _as_strength("c2", c2, size))

    def value(self, weights: Float64Array) -> float:
        """Add the penalties up."""
        return float((self.c1 * np.abs(weights)).sum() + (self.c2 * weights * weights).sum())


def _as_strength(name: str, value: ArrayLike, size: int) -> Float64Array:
    array = as_array(name, value)
    if array.shape not in ((), (size,)) or array.dtype.kind not in "fiu":
        raise InputError(
            "{}: expected one number or {}, one a weight, got {} {}", name, size, array.dtype, list(array.shape)
        )
    strengths = np.ascontiguousarray(array, np.float64).reshape(-1)
    bad = ~(np.isfinite(strengths) & (strengths >= 0))
    if bad.any():
        raise InputError("{}: expected finite numbers, 0 or more, got {}", name, strengths[bad][0])
    return strengths


def as_weights(name: str, value: ArrayLike) -> Float64Array:
    """Return a copy of the weights, float64; raise where they are not finite numbers."""
    weights = finite_numbers(name, value)
    if weights.ndim != 1:
        raise InputError("{}: expected numbers of shape [weights], got {}", name, list(weights.shape))
    return weights
