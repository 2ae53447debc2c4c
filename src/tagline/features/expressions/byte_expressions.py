r"""Wapiti's little regular expressions, over the bytes of UTF-8: what ``%t`` and ``%m`` of its patterns search for.

An expression is a row of atoms: ``.`` any byte, a class (``\d \a \w \l \u \p \s``, of ASCII; upper case is the
complement), another escaped byte, or a byte that stands for itself; ``*`` behind an atom takes as few of it as
possible, ``?`` takes one if that leads to a match; ``^`` first and ``$`` last bind it to the ends of the word.

A match is that of Wapiti to the byte, with the length that Wapiti counts: it takes what it compared on a way that
failed for part of the match, so that ``a?ab`` has a length of 3 in "ab". With ok and length of the match of atoms
a, a + 1, … at byte j, and a way that fails having a length, too,

    M[a, j] =  one        (ok, 1 + n) of M[a + 1, j + 1];  (no, 1) where the byte is another
               star       M[a + 1, j] if ok;  else (ok, 1 + n) of M[a, j + 1];  (no, 1) where the byte is another
               optional   (yes, 1 + n) of M[a + 1, j + 1] if ok;  else (ok, n + n') of M[a + 1, j], n' from the failure

so a word costs its length times that of the expression. The compiled core does the same (``core/features``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from tagline import compiled
from tagline.errors import InputError
from tagline.features.expressions.byte_text import bytes_of, has_bytes
from tagline.features.expressions.trees import ExpressionError, SizeError
from tagline.messages import message

ONE, STAR, OPTIONAL = range(3)
MOST_ATOMS = 1000
LONGEST = 2**30  # lengths stay below it; where Wapiti counts further, it reads memory that is not the word's

_DIGIT = frozenset(range(48, 58))
_LOWER, _UPPER = frozenset(range(97, 123)), frozenset(range(65, 91))
_CLASSES = {
    "a": _LOWER | _UPPER,
    "d": _DIGIT,
    "l": _LOWER,
    "p": frozenset(range(33, 127)) - _LOWER - _UPPER - _DIGIT,
    "s": frozenset(b" \t\n\v\f\r"),
    "u": _UPPER,
    "w": _LOWER | _UPPER | _DIGIT,
}
_ANY = frozenset(range(1, 256))


@dataclass(frozen=True)
class Atom:
    """Bytes of which one is taken, and how often: `ONE`, `STAR` or `OPTIONAL`."""

    members: frozenset[int]
    kind: int


@dataclass(frozen=True)
class ByteExpression:
    """An expression; `of` makes one.

    Attributes:
        atoms: in order.
        at_start, at_end: whether a match must begin, or end, where the word does.

    >>> ByteExpression.of(r"\\d*").find(["747s"]), ByteExpression.of(r"^\\d*\\a").find(["747s"])
    ([(0, 0)], [(0, 4)])
    """

    atoms: tuple[Atom, ...]
    at_start: bool
    at_end: bool

    @staticmethod
    @lru_cache(maxsize=256)
    def of(text: str) -> ByteExpression:
        """Read an expression; raise ExpressionError or SizeError where it is none."""
        left = text.encode()
        at_start = left.startswith(b"^")
        at, atoms = int(at_start), []
        while at < len(left) and left[at:] != b"$":
            begin = at
            members, at = _members(left, at)
            kind = {b"*": STAR, b"?": OPTIONAL}.get(left[at : at + 1], ONE)
            at += kind != ONE
            if left[begin : begin + 1] in (b"*", b"?"):
                raise ExpressionError(message("{} without anything before it to repeat", chr(left[begin])), begin)
            atoms.append(Atom(members, kind))
        if len(atoms) > MOST_ATOMS:
            raise SizeError(message("{} characters", MOST_ATOMS))
        return ByteExpression(tuple(atoms), at_start, at < len(left))

    @cached_property
    def may_overrun(self) -> bool:
        """Whether the length of a match can be more than what was matched: where something may fail behind a ``?``."""
        kinds = [atom.kind for atom in self.atoms]
        return OPTIONAL in kinds and any(kind != OPTIONAL for kind in kinds[kinds.index(OPTIONAL) :])

    def find(self, words: Sequence[str]) -> list[tuple[int, int] | None]:
        """Return where the match in each word begins, in bytes, and its length; None where there is none."""
        try:
            if self._compiled is None:
                return [self._search(bytes_of(word)) for word in words]
            places = self._compiled.find([*words]).reshape(-1, 2).tolist()
        except UnicodeEncodeError as error:
            raise InputError("words: expected Unicode text, got {!r} with a lone surrogate", error.object) from None
        found = [(begin, length) if begin >= 0 else None for begin, length in places]
        for k, word in enumerate(words):
            if has_bytes(word):  # the core would read the characters that stand for them
                found[k] = self._search(bytes_of(word))
        return found

    def _search(self, word: bytes) -> tuple[int, int] | None:
        size = len(word)
        found, lengths = [not self.at_end] * size + [True], [0] * (size + 1)  # behind the last atom
        for atom in reversed(self.atoms):
            found, lengths = _step(atom, word, found, lengths)
        begins = range(1 if self.at_start else size + 1)
        return next(((begin, lengths[begin]) for begin in begins if found[begin]), None)

    @cached_property
    def _compiled(self) -> Any:
        if compiled.core is None:
            return None
        members = np.zeros((len(self.atoms), 256), np.uint8)
        for row, atom in zip(members, self.atoms, strict=True):
            row[list(atom.members)] = 1
        kinds = np.array([atom.kind for atom in self.atoms], np.int32)
        return compiled.core.ByteExpression(members, kinds, self.at_start, self.at_end)


def _members(text: bytes, at: int) -> tuple[frozenset[int], int]:
    """Read one atom without what is behind it; return its bytes and the place behind it."""
    if text[at : at + 1] != b"\\":
        return (_ANY if text[at : at + 1] == b"." else frozenset(text[at : at + 1])), at + 1
    letter = text[at + 1 : at + 2].decode("latin-1")
    if not letter:
        raise ExpressionError(message("a backslash without anything behind it"), at)
    if letter in _CLASSES:
        return _CLASSES[letter], at + 2
    if letter.lower() in _CLASSES:
        return _ANY - _CLASSES[letter.lower()], at + 2
    return frozenset(text[at + 1 : at + 2]), at + 2


def _step(atom: Atom, word: bytes, after: list[bool], lengths: list[int]) -> tuple[list[bool], list[int]]:
    """From M[a + 1, ·] to M[a, ·]."""
    found, counts = [False] * len(after), [0] * len(after)
    for j in range(len(word), -1, -1):
        fits = j < len(word) and word[j] in atom.members
        if atom.kind == ONE:
            found[j], counts[j] = (after[j + 1], 1 + lengths[j + 1]) if fits else (False, 1)
        elif atom.kind == STAR and not after[j]:
            found[j], counts[j] = (found[j + 1], 1 + counts[j + 1]) if fits else (False, 1)
        elif atom.kind == OPTIONAL and fits:
            wasted = lengths[j + 1]
            found[j], counts[j] = (True, 1 + wasted) if after[j + 1] else (after[j], wasted + lengths[j])
        else:
            found[j], counts[j] = after[j], lengths[j]
        counts[j] = min(counts[j], LONGEST)
    return found, counts
