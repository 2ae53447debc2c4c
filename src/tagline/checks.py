"""What every door asks of its arguments: listings, choices, switches, numbers, seeds; and how a message quotes a value.

An array without axes says that it can be gone through, and cannot; an array beside ``in`` or ``<`` is no truth value;
an integer may have more digits than Python writes. A number of NumPy's, such as a grid search sets, is a number; True
is none. Checks run before anything is done with the arguments.
"""

from __future__ import annotations

import math
import numbers
import operator
import re
from collections.abc import Iterable, Mapping
from itertools import compress
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagline.errors import InputError
from tagline.messages import message

_LINES = re.compile(r"\s*\n\s*")


def shown(line: str, width: int = 60) -> str:
    """Quote a line for a message; of a long one, the beginning."""
    line = _LINES.sub(" ", line[: width + 1])
    return f'"{line}"' if len(line) <= width else f'"{line[: width - 1]}…"'


def shown_value(value: object) -> str:
    """Return a value as messages quote it: its beginning, where it is long."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits; a list in itself, nested too deeply
        return message("a value of type {} that is too large to show", type(value).__name__)
    text = _LINES.sub(" ", text)  # arrays are written in several
    return text if len(text) <= 60 else f"{text[:59]}…"


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
        raise InputError("{}: expected one of {}, got {}", name, ", ".join(names), shown_value(value))


def check_switch(name: str, value: object) -> None:
    """Raise unless a value is True or False; 1 and 0 stand for them."""
    if not isinstance(value, bool | np.bool_ | int | np.integer) or value not in (0, 1):
        raise InputError("{}: expected True or False, got {}", name, shown_value(value))


def check_bool(name: str, value: object) -> None:
    """Raise unless a value is True or False, and no number that stands for them: files keep it as it is."""
    if not isinstance(value, bool | np.bool_):
        raise InputError("{}: expected True or False, got {}", name, shown_value(value))


def check_verbose(name: str, value: object) -> None:
    """Raise unless a value is True or False, or a number that says how much to print."""
    if not isinstance(value, bool | np.bool_ | int | np.integer):
        raise InputError("{}: expected True or False, got {}", name, shown_value(value))


def check_threshold(name: str, value: object) -> None:
    """Raise unless a value is a number of 0 or more; ∞ is one."""
    check_number(name, value, least=0, finite=False, wanted=message("0 or more"))


def check_share_below_1(name: str, value: object) -> None:
    """Raise unless a value is a number from 0 to 1, and not 1."""
    check_number(name, value, least=0.0, below=1.0)


def check_seconds(name: str, value: object) -> None:
    """Raise unless a value is a number of 0 or more, or None."""
    check_number(name, value, least=0, finite=False, optional=True, wanted=message("0 or more"))


def check_functions(name: str, value: object) -> None:
    """Raise unless a value is a list of functions."""
    if not is_listing(value) or not all(map(callable, value)):
        raise InputError("{}: expected a list of functions, got {}", name, shown_value(value))


def check_mapping(name: str, value: object) -> None:
    """Raise unless a value maps names to values, or is None."""
    if value is not None and not (isinstance(value, Mapping) and all(isinstance(key, str) for key in value)):
        raise InputError("{}: expected a dict of names and values, or None, got {}", name, shown_value(value))


def is_whole(value: object) -> TypeGuard[int | np.integer]:
    """Say whether a value is a whole number, Python's or NumPy's; True is none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def check_whole(
    name: str,
    value: object,
    least: int | None = None,
    most: int | None = None,
    *,
    optional: bool = False,
    wanted: str = "",
) -> None:
    """Raise unless a value is a whole number within limits, or None where that is allowed.

    Arguments:
        wanted: what the message says that was expected; when left out, it is made of the limits.
    """
    if value is None and optional:
        return
    if not is_whole(value) or (least is not None and value < least) or (most is not None and value > most):
        words = wanted or _whole_limits(least, most)
        if optional and not wanted:
            words = message("{}, or None", words)
        raise InputError("{}: expected {}, got {}", name, words, shown_value(value))


def _whole_limits(least: int | None, most: int | None) -> str:
    if least is None:
        return message("a whole number")
    if most is None:
        return message("a whole number of {} or more", least)
    return message("a whole number from {} to {}", least, most)


def as_whole(name: str, value: Any, least: int, most: int | None = None, *, wanted: str = "") -> int:
    """Return as Python's int what stands for a whole number within limits, such as an array or tensor of one."""
    try:
        number = value if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = value
    check_whole(name, number, least, most, wanted=wanted)
    return int(number)


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
        limits = (
            message("above {:g}", above),
            message("of at least {:g}", least),
            message("below {:g}", below),
            message("of at most {:g}", most),
        )
        finite_ones = map(math.isfinite, (above, least, below, most))
        said = message(" and ").join(compress(limits, finite_ones))
        words = wanted or (message("a number {}", said) if said else message("a number"))
        raise InputError("{}: expected {}, got {}", name, words, shown_value(value))


def as_float(value: object) -> float:
    """Return a real number as Python's float, ±∞ where it is too large for one; NaN for what is no number."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]


def as_array(name: str, value: ArrayLike | None) -> NDArray[Any]:
    """Return the value as an array, or say which argument is none."""
    try:
        return np.asarray(value)
    except (ValueError, TypeError) as error:  # ragged lists, objects that refuse conversion
        raise InputError("{}: expected a rectangular array of numbers, got something else ({})", name, error) from None


def finite_numbers(name: str, value: ArrayLike) -> NDArray[np.float64]:
    """Return a copy of finite numbers of any shape as float64."""
    values = as_array(name, value)
    if values.dtype.kind not in "fiu":
        raise InputError("{}: expected numbers, got {}", name, shown_value(value))
    numbers = np.array(values, np.float64, order="C")
    if not np.isfinite(numbers).all():
        where = tuple(int(axis[0]) for axis in np.nonzero(np.atleast_1d(~np.isfinite(numbers))))
        place = "" if numbers.ndim == 0 else f"[{', '.join(map(str, where))}]"
        raise InputError("{}{}: expected a finite number, got {}", name, place, np.atleast_1d(numbers)[where])
    return numbers


def random_generator(seed: Any) -> np.random.Generator:
    """Return the generator of random numbers that a seed stands for."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        wanted = message("a whole number of 0 or more, or None")
        raise InputError("seed: expected {}, got {}", wanted, shown_value(seed)) from None


def seed_of(random_state: object) -> int:
    """Return the seed that a setting stands for: a whole number as it is, for None a fresh one of 1 to 2³² − 1."""
    if random_state is None:
        return 1 + int(np.random.SeedSequence().generate_state(1)[0]) % (2**32 - 1)
    if isinstance(random_state, np.random.RandomState | np.random.Generator):
        raise InputError(
            "random_state: expected a whole number of 0 or more, or None, got a {} of NumPy; a model keeps "
            "its seed: draw one, int(generator.integers(2**32)) or state.randint(2**31)",
            type(random_state).__name__,
        )
    check_whole("random_state", random_state, 0, wanted=message("a whole number of 0 or more, or None"))
    return int(random_state)  # type: ignore[call-overload, no-any-return]


def check_seed(_: str, random_state: object) -> None:
    """Raise unless a value is a whole number of 0 or more, or None."""
    seed_of(random_state)


def refuse_moved(function: str, given: Mapping[str, Any], moved: Mapping[str, str]) -> None:
    """Refuse arguments that a function does not have; of those of earlier versions say what to write now."""
    for name in given:
        if name in moved:
            raise TypeError(message("{}: {}= is no argument any more; write {}=", function, name, moved[name]))
        raise TypeError(message("{}: {}= is no argument", function, name))
