"""Draws that are the same on every machine, and patterns that are filled from them.

A pattern is a sentence with slots, ``"{PER} lives in {LOC} ."``; a language says what fills a slot and which slots are
entities. ``{ANY}`` is a person, a place or an organisation, whichever is drawn.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")
Names = tuple[Sequence[str], Sequence[str]]
"""Names, or parts of names: for training, and for test."""

_SLOT = re.compile(r"\{(\w+)\}")


def half_of(name: str) -> int:
    """The half that a name belongs to where no list says so: 0 or 1."""
    return sum(map(ord, name)) % 2


class Draw:
    """A stream of choices.

    Only `random.Random.random` is used, whose numbers Python promises never to change.

    Arguments:
        seed: any text; the same text, the same choices.
        half: of the names, 0 (training) or 1 (test).
    """

    def __init__(self, seed: str, half: int) -> None:
        self.half = half
        self._next = random.Random(seed).random

    def pick(self, items: Sequence[Item]) -> Item:
        """Choose one."""
        return items[int(self._next() * len(items))]

    def name(self, names: Names) -> str:
        """Choose a name, or a part of one, of this half."""
        return self.pick(names[self.half])

    def part(self, names: Names) -> str:
        """Choose one of either half: a part of a name that another part keeps apart."""
        return self.pick(self.pick(names))

    def own(self, make: Callable[[], str]) -> str:
        """Make names until one is of this half; the characters of a name say to which it belongs."""
        while half_of(name := make()) != self.half:
            pass
        return name

    def number(self, first: int, last: int) -> int:
        """Choose a whole number, both ends included."""
        return first + int(self._next() * (last - first + 1))

    def weighted(self, choices: Mapping[Item, int]) -> Item:
        """Choose a key, by the weights."""
        return self.pick([item for item, weight in choices.items() for _ in range(weight)])


Slot = Callable[[Draw], str]


@dataclass(frozen=True)
class Language:
    """What sentences of a language are made of.

    Attributes:
        patterns: sentences with slots.
        slots: what fills each slot.
        types: the entity types of the slots that are entities.
        separator: between the tokens of patterns and of fillings: a blank, or nothing where each character is a token.
    """

    patterns: tuple[str, ...]
    slots: Mapping[str, Slot]
    types: Mapping[str, str]
    separator: str

    def tokens(self, text: str) -> list[str]:
        """Cut a piece of a pattern or a filling into tokens."""
        return text.split(self.separator) if self.separator else list(text)

    def fill(self, pattern: str, draw: Draw) -> tuple[list[str], list[str]]:
        """Fill the slots of a pattern; return tokens and IOB2 tags."""
        tokens: list[str] = []
        tags: list[str] = []
        for place, piece in enumerate(_SLOT.split(pattern)):
            if piece == "ANY":
                piece = draw.pick(("PER", "LOC", "ORG"))
            kind = self.types.get(piece) if place % 2 else None
            new = [token for token in self.tokens(self.slots[piece](draw) if place % 2 else piece) if token]
            tokens += new
            tags += ["O"] * len(new) if kind is None else [f"{'I' if n else 'B'}-{kind}" for n in range(len(new))]
        return tokens, tags
