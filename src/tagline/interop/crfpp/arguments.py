"""Options as CRF++'s programs read them: ``-c4``, ``-c 4``, ``--cost=4`` and ``--cost 4``, files anywhere between.

A bare ``-`` is passed over; ``--`` ends the scan, and what follows it is not looked at. Long names are not shortened.
What CRF++ would take for 0, a word for a number, is an error here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tagline.errors import InputError


@dataclass(frozen=True)
class ProgramOption:
    """One option.

    Attributes:
        name: behind ``--``.
        letter: behind ``-``; where two options have one, the first is meant.
        default: its value; None for none.
        shown: what its argument is called in the help; None where it takes none.
        help: what it does.
    """

    name: str
    letter: str
    default: str | None
    shown: str | None
    help: str


@dataclass(frozen=True)
class Arguments:
    """What a command was given: options by name, and files."""

    values: Mapping[str, str]
    files: tuple[str, ...]

    def has(self, name: str) -> bool:
        """Whether an option without argument is there."""
        return name in self.values

    def text(self, name: str) -> str:
        """The argument of an option, empty without one."""
        return self.values.get(name, "")

    def whole(self, name: str, least: int, most: int = 2**31 - 1) -> int:
        """The argument of an option as a whole number."""
        value = self.text(name)
        digits = value.removeprefix("-").removeprefix("+")
        if not (digits.isascii() and digits.isdigit() and least <= int(value) <= most):
            raise InputError("--{}: expected a whole number from {} to {}, got {!r}", name, least, most, value)
        return int(value)

    def positive(self, name: str) -> float:
        """The argument of an option as a number above 0."""
        value = self.text(name)
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not (number > 0 and math.isfinite(number)):
            raise InputError("--{}: expected a number above 0, got {!r}", name, value)
        return number


def parse(options: Sequence[ProgramOption], arguments: Sequence[str]) -> Arguments:
    """Read the arguments of a command, its own name left out."""
    values = {option.name: option.default for option in reversed(options) if option.default is not None}
    files: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if not argument.startswith("-"):
            files.append(argument)
        elif argument.startswith("--"):
            name, equals, value = argument[2:].partition("=")
            if not name:
                break
            option = next((option for option in options if option.name == name), None)
            _take(values, option, argument, value if equals else None, rest)
        elif len(argument) > 1:
            option = next((option for option in options if option.letter == argument[1]), None)
            _take(values, option, argument, argument[2:] or None, rest)
    return Arguments(values, tuple(files))


def _take(
    values: dict[str, str], option: ProgramOption | None, argument: str, value: str | None, rest: Sequence[str] | object
) -> None:
    if option is None:
        raise InputError("{}: expected an option, got an unknown one; -h lists them", argument)
    if option.shown is None:
        if value is not None:
            raise InputError("{}: expected --{} without an argument, got {!r}", argument, option.name, value)
        values[option.name] = "1"
        return
    if value is None:
        value = next(rest, None)  # type: ignore[call-overload]
    if not value:
        raise InputError("{}: expected an argument ({}), got none", argument, option.shown)
    values[option.name] = value


def help_of(program: str, options: Sequence[ProgramOption]) -> str:
    """Write the help of a program."""
    heads = [f"{option.name}={option.shown}" if option.shown else option.name for option in options]
    width = max(map(len, heads)) + 2
    lines = [f" -{option.letter}, --{head:{width}}{option.help}\n" for option, head in zip(options, heads, strict=True)]
    return f"Usage: {program} [options] files\n{''.join(lines)}\n"
