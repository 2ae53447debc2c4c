"""Arguments at the door: lists, choices, whole numbers and seeds, checked before anything is done with them.

An array without axes says that it can be gone through, and cannot; an array beside ``in`` or ``<`` is no truth value;
an integer may have more digits than Python writes. So every door asks here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeGuard

import numpy as np

from tagline.errors import InputError
from tagline.readers.sources import shown_value


def is_listing(value: object) -> TypeGuard[Iterable[Any]]:
    """Say whether a value can be gone through: no text, and no array without axes.

    >>> is_listing(["a"]), is_listing("a"), is_listing(np.array(1))
    (True, False, False)
    """
    return isinstance(value, Iterable) and not isinstance(value, str | bytes) and getattr(value, "ndim", 1) != 0


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Raise unless a value is one of some strings."""
    names = tuple(choices)
    if not isinstance(value, str) or value not in names:
        raise InputError(f"{name}: expected one of {', '.join(names)}, got {shown_value(value)}")


def check_whole(
    name: str, value: object, least: int, most: int | None = None, *, optional: bool = False, wanted: str = ""
) -> None:
    """Raise unless a value is a whole number within limits, or None where that is allowed.

    Arguments:
        wanted: what the message says that was expected; when left out, it is made of the limits.
    """
    if value is None and optional:
        return
    proper = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not proper or value < least or (most is not None and value > most):  # type: ignore[operator]
        limits = f"of {least} or more" if most is None else f"from {least} to {most}"
        words = wanted or f"a whole number {limits}{' or None' if optional else ''}"
        raise InputError(f"{name}: expected {words}, got {shown_value(value)}")


def check_strict(value: object) -> None:
    """Raise unless a reader is told whether broken lines are errors."""
    if not isinstance(value, bool | np.bool_ | int):
        raise InputError(f"strict: expected True or False, got {shown_value(value)}")


def random_generator(seed: Any) -> np.random.Generator:
    """Return the generator of random numbers that a seed stands for."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        wanted = "a whole number of 0 or more, or None"
        raise InputError(f"seed: expected {wanted}, got {shown_value(seed)}") from None
