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
    """Return the half that a name belongs to, 0 or 1, where no list says so."""
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
        """Choose one of these."""
        return items[int(self._next() * len(items))]

    def name(self, names: Names) -> str:
        """Choose a name, or a part of one, of this half."""
        return self.pick(names[self.half])

    def part(self, names: Names) -> str:
        """Choose a part of a name from either half; another part of the name must keep the halves apart."""
        return self.pick(self.pick(names))

    def own(self, make: Callable[[], str]) -> str:
        """Make names until one belongs to this half; the characters of a name say to which half it belongs."""
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


def one_of(words: str) -> Slot:
    """Return a slot that is filled with one of these words, which commas part."""
    choices = tuple(word.strip() for word in words.split(","))
    return lambda draw: draw.pick(choices)


def number_between(first: int, last: int) -> Slot:
    """Return a slot that is filled with a whole number, both ends included."""
    return lambda draw: str(draw.number(first, last))


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
            filling = [token for token in self.tokens(self.slots[piece](draw) if place % 2 else piece) if token]
            tokens += filling
            inside = "O" if kind is None else f"I-{kind}"
            tags += [f"B-{kind}" if n == 0 and kind is not None else inside for n in range(len(filling))]
        return tokens, tags
