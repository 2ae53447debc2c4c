"""Regular expressions as trees: `syntax` reads them, `automata` makes programs of them.

Text and places mean what they mean to Python's `re.search` with a string. Groups are only brackets, flags are already
applied: a tree knows sets of characters, places between characters, and how parts are put together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tagline.features.expressions.character_sets import Bounds


class ExpressionError(ValueError):
    """What is wrong with an expression, and where: characters count from 1."""

    def __init__(self, wrong: str, at: int) -> None:
        super().__init__(f"{wrong} at character {at + 1}")


class BacktrackingError(ExpressionError):
    """A construct that cannot be matched without backtracking."""


class SizeError(ValueError):
    """An expression beyond a limit, and the limit."""


@dataclass(frozen=True)
class Characters:
    """One character of a set."""

    bounds: Bounds
    may_be_empty = False
    may_take = True


@dataclass(frozen=True)
class Assertion:
    """A place between characters.

    ``start`` or ``end`` of the word; ``line start``, ``line end``; ``last line end``, which is the end or before a line
    break that ends the word; ``boundary`` of a run of word characters or ``inside`` (or outside) of one, which has
    ``ascii`` before it where only those of ASCII count.
    """

    name: str
    may_be_empty = True
    may_take = False


@dataclass(frozen=True)
class Concatenation:
    """Parts one behind the other."""

    parts: tuple[Node, ...]
    may_be_empty: bool
    may_take: bool


@dataclass(frozen=True)
class Choice:
    """One of several parts; the first that leads to a match is taken."""

    parts: tuple[Node, ...]
    may_be_empty: bool
    may_take: bool


@dataclass(frozen=True)
class Repetition:
    """A part that takes characters, `least` to `most` times (None: any number), as often as possible unless lazy."""

    part: Node
    least: int
    most: int | None
    lazy: bool
    may_be_empty: bool
    may_take = True


Node: TypeAlias = Characters | Assertion | Concatenation | Choice | Repetition

EMPTY = Concatenation((), True, False)


def series_of(parts: list[Node]) -> Node:
    """Put parts one behind the other."""
    kept = tuple(part for part in parts if part != EMPTY)
    if len(kept) == 1:
        return kept[0]
    return Concatenation(kept, all(part.may_be_empty for part in kept), any(part.may_take for part in kept))


def choice_of(parts: list[Node]) -> Node:
    """Make a choice of parts, the preferred ones first."""
    if len(parts) == 1:
        return parts[0]
    return Choice(tuple(parts), any(part.may_be_empty for part in parts), any(part.may_take for part in parts))


def repetition_of(part: Node, least: int, most: int | None, lazy: bool) -> Node:
    """Repeat a part; one that takes no characters, or is there once, needs no repetition."""
    if not part.may_take:  # to be at a place once or often is the same
        return part if least else EMPTY
    if most == 0:
        return EMPTY
    if least == most == 1:
        return part
    return Repetition(part, least, most, lazy, part.may_be_empty or least == 0)
