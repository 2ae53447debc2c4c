"""Sets of characters, for patterns: sorted bounds, so that a set of any size is small.

A set is a tuple of code points b₀ < b₁ < …; its members lie from b₀ up to b₁, from b₂ up to b₃ and so on, the upper
bounds left out. Which characters are letters, digits and blanks, and which are one letter in two cases, is what this
Python says: the classes of a pattern mean what they mean to `re`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

Bounds = tuple[int, ...]

BEYOND = 0x110000  # one more than the last code point
_LAST_CASED = 0x20000  # planes of Unicode from here on have no cases

CATEGORIES = "dDsSwW"


def of_ranges(ranges: Iterable[tuple[int, int]]) -> Bounds:
    """Make a set of ranges ``(first, one behind the last)`` in any order.

    >>> of_ranges([(5, 9), (1, 3), (8, 10), (3, 4)])
    (1, 4, 5, 10)
    """
    bounds: list[int] = []
    for first, behind in sorted(ranges):
        if bounds and first <= bounds[-1]:
            bounds[-1] = max(bounds[-1], behind)
        else:
            bounds += (first, behind)
    return tuple(bounds)


def ranges_of(bounds: Bounds) -> list[tuple[int, int]]:
    """Return the ranges ``(first, one behind the last)`` of a set, in order."""
    return list(zip(bounds[::2], bounds[1::2], strict=True))


def complement(bounds: Bounds) -> Bounds:
    """Return the set of all other characters."""
    opened = bounds[1:] if bounds[:1] == (0,) else (0, *bounds)
    return opened[:-1] if opened[-1:] == (BEYOND,) else (*opened, BEYOND)


def contains(bounds: Bounds, code: int) -> bool:
    """Tell whether a code point is in a set."""
    return bisect_right(bounds, code) % 2 == 1


@cache
def category(letter: str, ascii_only: bool) -> Bounds:
    r"""Return the set that ``\d``, ``\D``, ``\s``, ``\S``, ``\w`` or ``\W`` stands for, asked of Python itself.

    >>> category("d", True), len(category("w", False)) > 1000
    ((48, 58), True)
    """
    if letter.isupper():
        return complement(category(letter.lower(), ascii_only))
    flags = re.ASCII if ascii_only else re.UNICODE
    runs = re.finditer(rf"\{letter}+", _every_character(), flags)
    return tuple(bound for run in runs for bound in run.span())


def _every_character() -> str:
    return np.arange(BEYOND, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")


def folded(bounds: Bounds, ascii_only: bool = False) -> Bounds:
    """Return the set of the characters that are, case aside, in a set.

    As in `re`, a character is in it where its small letter is that of a member, or shares its capital with that of a
    member: both σ and ς have Σ.

    >>> [chr(code) for first, behind in ranges_of(folded(of_ranges([(0x3C3, 0x3C4)]))) for code in range(first, behind)]
    ['Σ', 'ς', 'σ']
    """
    for partners in _cases(ascii_only):
        bounds = of_ranges([*ranges_of(bounds), *((code, code + 1) for code in partners.of(bounds))])
    return bounds


@dataclass(frozen=True)
class _Partners:
    """Which characters belong to a character; `codes` are those that have some, in order."""

    codes: list[int]
    of_code: dict[int, list[int]]

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[int, int]]) -> _Partners:
        of_code: defaultdict[int, list[int]] = defaultdict(list)
        for code, partner in pairs:
            of_code[code].append(partner)
        return cls(sorted(of_code), of_code)

    def of(self, bounds: Bounds) -> Iterator[int]:
        """Return those of all members of a set."""
        for first, behind in ranges_of(bounds):
            for code in self.codes[bisect_left(self.codes, first) : bisect_left(self.codes, behind)]:
                yield from self.of_code[code]


@cache
def _cases(ascii_only: bool) -> tuple[_Partners, _Partners, _Partners]:
    """Return the small letter of each capital, the twins of small letters with one capital, the capitals of each.

    Where a small letter is written in two characters, the first one counts.
    """
    small: list[tuple[int, int]] = []
    sharing: defaultdict[str, list[int]] = defaultdict(list)
    for code in range(128 if ascii_only else _LAST_CASED):
        character = chr(code)
        lower, upper = character.lower(), character.upper()
        if lower != character:
            small.append((code, ord(lower[0])))
        elif upper != character:
            sharing[upper].append(code)
    twins = [(code, twin) for codes in sharing.values() for code in codes for twin in codes if twin != code]
    return (
        _Partners.from_pairs(small),
        _Partners.from_pairs(twins),
        _Partners.from_pairs((lower, code) for code, lower in small),
    )
