"""Settings at the door: whole numbers, numbers, choices, switches and lists of functions, checked before anything runs.

Estimators and training runs check their settings here. A number of NumPy's, such as a grid search sets, is a number;
True is none. What an algorithm takes besides is checked by the signature of its function.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from typing import Any

import numpy as np

from tagline.errors import InputError
from tagline.readers.arguments import check_choice, check_whole, is_listing, random_generator
from tagline.readers.sources import shown_value

__all__ = [
    "as_float",
    "check_choice",
    "check_functions",
    "check_mapping",
    "check_number",
    "check_options",
    "check_switch",
    "check_verbose",
    "check_whole",
    "random_generator",
    "seed_of",
]


def check_number(
    name: str,
    value: object,
    *,
    above: float = -math.inf,
    least: float = -math.inf,
    below: float = math.inf,
    most: float = math.inf,
    finite: bool = True,
    optional: bool = False,
    wanted: str = "",
) -> None:
    """Raise unless a value is a number within limits, or None where that is allowed.

    Arguments:
        finite: whether ±∞ is refused, too; NaN always is.
        wanted: as for `check_whole`.
    """
    if value is None and optional:
        return
    number = as_float(value)
    inside = (above < number or above == -math.inf) and (number < below or below == math.inf)
    if math.isnan(number) or (finite and math.isinf(number)) or not (inside and least <= number <= most):
        limits = {"above": above, "of at least": least, "below": below, "of at most": most}
        words = " and ".join(f"{word} {limit:g}" for word, limit in limits.items() if math.isfinite(limit))
        raise InputError(f"{name}: expected {wanted or f'a number {words}'.strip()}, got {shown_value(value)}")


def as_float(value: object) -> float:
    """Return a real number as Python's float, ±∞ where it is too large for one; NaN for what is no number."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]


def seed_of(random_state: object) -> int:
    """Return the seed that a setting stands for: a whole number as it is, for None a fresh one of 1 to 2³² − 1."""
    if random_state is None:
        return 1 + int(np.random.SeedSequence().generate_state(1)[0]) % (2**32 - 1)
    if isinstance(random_state, np.random.RandomState | np.random.Generator):
        raise InputError(
            f"random_state: expected a whole number of 0 or more, or None, got a {type(random_state).__name__} of "
            "NumPy; a model keeps its seed: draw one, int(generator.integers(2**32)) or state.randint(2**31)"
        )
    check_whole("random_state", random_state, 0, wanted="a whole number of 0 or more, or None")
    return int(random_state)  # type: ignore[call-overload, no-any-return]


def check_switch(name: str, value: object) -> None:
    """Raise unless a value is True or False; 1 and 0 stand for them."""
    if not isinstance(value, bool | np.bool_ | int | np.integer) or value not in (0, 1):
        raise InputError(f"{name}: expected True or False, got {shown_value(value)}")


def check_verbose(value: object) -> None:
    """Raise unless a value is True or False, or a number that says how much to print."""
    if not isinstance(value, bool | np.bool_ | int | np.integer):
        raise InputError(f"verbose: expected True or False, got {shown_value(value)}")


def check_functions(name: str, value: object) -> None:
    """Raise unless a value is a list of functions."""
    if not is_listing(value) or not all(map(callable, value)):
        raise InputError(f"{name}: expected a list of functions, got {shown_value(value)}")


def check_mapping(name: str, value: object) -> None:
    """Raise unless a value maps names to values, or is None."""
    if value is not None and not (isinstance(value, Mapping) and all(isinstance(key, str) for key in value)):
        raise InputError(f"{name}: expected a dict of names and values, or None, got {shown_value(value)}")


def check_options(
    name: str, options: Mapping[str, Any], functions: Sequence[Callable[..., Any]], taken: set[str]
) -> None:
    """Raise unless functions take further arguments of these names and kinds.

    Arguments:
        name: of the setting.
        options: the arguments.
        functions: each may take some of them.
        taken: arguments that other settings give.
    """
    known: dict[str, Parameter] = {}
    for function in functions:
        keywords = (entry for entry in signature(function).parameters.values() if entry.kind is entry.KEYWORD_ONLY)
        known |= {entry.name: entry for entry in keywords if entry.name not in taken}
    for key, value in options.items():
        if key in taken:
            raise InputError(f"{name}: expected arguments that have no setting of their own, got {key!r}; set it there")
        if key not in known:
            names = ", ".join(sorted(known)) or "none, for the algorithm has no others"
            raise InputError(f"{name}: expected arguments among {names}, got {key!r}")
        _check_like(f"{name}[{key!r}]", value, known[key])


def _check_like(name: str, value: object, argument: Parameter) -> None:
    """Raise where the annotation of an argument is that of a plain type, and a value is not of it."""
    kind, _, rest = str(argument.annotation).partition(" | ")
    optional = rest == "None"
    if kind == "bool":
        check_switch(name, value)
    elif kind == "int":
        check_whole(name, value, 0, optional=optional)
    elif kind == "float":
        check_number(name, value, least=0.0, optional=optional)
