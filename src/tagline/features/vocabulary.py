"""Names of attributes and their numbers: what expansion looks names up in, and what a model file holds of them.

A vocabulary is four plain arrays, so that a stored one is used as it lies in the file, without building anything: the
UTF-8 of all names one after the other, where each begins, and a hash index in two arrays (``slots``, numbers plus one,
and ``marks``, 16 bits of the hash). The hash composes over pieces of a name, H(ab) = H(a)·base^|b| + H(b) mod 2^61 − 1,
so that the compiled core finds an expanded template by the hashes of its words; see ``core/vocabulary.h``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagline import compiled
from tagline.checks import is_listing, shown_value
from tagline.errors import InputError
from tagline.messages import message
from tagline.ragged import offsets_of
from tagline.types import IntArray

Parts = tuple[NDArray[np.uint8], IntArray, NDArray[np.uint32], NDArray[np.uint16]]

MOST_NAMES = 2**31 - 2
"""Ids are int32."""

_Types = tuple[type[np.integer[Any]], ...]
_LENGTHS: _Types = (np.uint8, np.uint16, np.int32)
_TYPES: dict[str, _Types] = {"bytes": (np.uint8,), "lengths": _LENGTHS, "slots": (np.uint32,), "marks": (np.uint16,)}


class Vocabulary:
    """Distinct names, numbered from 0; it never changes.

    Attributes:
        parts: what the compiled core takes: bytes, offsets ``[V + 1]``, slots, marks.

    >>> names = Vocabulary.of(["U00:the", "U00:cat", "U00:the"])
    >>> len(names), names[1], names.find("U00:cat"), names.find("U00:dog")
    (2, 'U00:cat', 1, -1)
    """

    __slots__ = ("parts",)

    def __init__(self, parts: Parts) -> None:
        """Take the arrays of the compiled core as they are; `of` and `from_arrays` make vocabularies."""
        for part in parts:
            part.flags.writeable = False
        self.parts = parts

    @classmethod
    def of(cls, names: Iterable[str]) -> Vocabulary:
        """Number the names in the order of their first use."""
        return cls(_intern(names, None))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, ArrayLike]) -> Vocabulary:
        """Take what `arrays` returned, mapped from a file or not; whatever is wrong with it is an error."""
        checked: list[NDArray[Any]] = []
        for name, types in _TYPES.items():
            if name not in arrays:
                there = ", ".join(arrays) or message("none")
                raise InputError("vocabulary: expected the array {!r}, got only {}", name, there)
            array = np.asarray(arrays[name])
            if array.ndim != 1 or array.dtype not in types:
                wanted, got = message(" or ").join(np.dtype(kind).name for kind in types), list(array.shape)
                raise InputError("vocabulary: expected {} as {} [n], got {} {}", name, wanted, array.dtype, got)
            checked.append(np.ascontiguousarray(array).view())
        data, lengths, slots, marks = checked
        if len(slots) != len(marks) or not len(slots) or len(slots) % 8:
            raise InputError(
                "vocabulary: expected slots and marks of one length, a multiple of 8, got {} and "
                "{}; the file is damaged",
                len(slots),
                len(marks),
            )
        offsets = offsets_of(lengths)
        if offsets[-1] != len(data):
            raise InputError(
                "vocabulary: expected lengths that add up to {} bytes, got {}; the file is damaged",
                len(data),
                offsets[-1],
            )
        parts = (data, offsets, slots, marks)
        if problem := compiled.require().check_vocabulary(parts):
            raise InputError("vocabulary {}; the file is damaged", problem)
        return cls(parts)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what `from_arrays` takes: ``bytes``, ``lengths`` (in the smallest type), ``slots``, ``marks``."""
        data, offsets, slots, marks = self.parts
        lengths = np.diff(offsets)
        longest = int(lengths.max(initial=0))
        kind = next(kind for kind in _LENGTHS if longest <= np.iinfo(kind).max)
        return {"bytes": data, "lengths": lengths.astype(kind), "slots": slots, "marks": marks}

    def find(self, name: str) -> int:
        """Return the number of a name, or −1."""
        return int(self.find_all([name])[0])

    def find_all(self, names: Iterable[str]) -> NDArray[np.int32]:
        """Return the number of each name, −1 where it is unknown."""
        wanted = list(names)
        try:
            numbers: NDArray[np.int32] = compiled.require().find_names(self.parts, wanted)
        except UnicodeEncodeError:  # a lone surrogate cannot be in here
            return np.array([self.find(name) if _has_utf8(name) else -1 for name in wanted], np.int32)
        return numbers

    def take(self, ids: ArrayLike) -> Vocabulary:
        """Return the vocabulary of these names, renumbered in this order."""
        chosen = np.ascontiguousarray(ids, np.int64)
        if chosen.ndim != 1 or ((chosen < 0) | (chosen >= len(self))).any():
            raise InputError("ids: expected numbers from 0 to {}, got others", len(self) - 1)
        if len(np.unique(chosen)) != len(chosen):
            raise InputError("ids: expected each number once, got one twice")
        return Vocabulary(compiled.require().take_names(self.parts, chosen))

    def extended(self, names: Iterable[str]) -> Vocabulary:
        """Return the vocabulary with these names at its end, those that are new to it."""
        return Vocabulary(_intern(names, self.parts))

    def names(self, most: int | None = None) -> list[str]:
        """List all names by number, or the first `most` of them."""
        data, offsets = self.parts[:2]
        edges = offsets[: None if most is None else most + 1].tolist()
        held = data[: edges[-1]].tobytes()
        return [held[first:last].decode() for first, last in pairwise(edges)]

    def __len__(self) -> int:
        return len(self.parts[1]) - 1

    def __getitem__(self, number: int) -> str:
        if not 0 <= number < len(self):
            raise IndexError(message("name {}: expected 0 to {}", number, len(self) - 1))
        data, offsets = self.parts[:2]
        return data[offsets[number] : offsets[number + 1]].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        data, offsets = self.parts[0].tobytes(), self.parts[1].tolist()
        return (data[first:last].decode() for first, last in pairwise(offsets))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) >= 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return all(np.array_equal(self.parts[k], other.parts[k]) for k in range(2))

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary.from_arrays, (self.arrays(),)

    def __repr__(self) -> str:
        shown = ", ".join(repr(self[k]) for k in range(min(len(self), 3)))
        return f"Vocabulary({len(self)} names: {shown}{', …' if len(self) > 3 else ''})"


def _intern(names: Iterable[str], before: Parts | None) -> Parts:
    if not isinstance(names, str) and not is_listing(names):
        raise InputError("names: expected a list of strings, got {}", shown_value(names))
    listed = list(names)
    try:
        parts: Parts = compiled.require().intern_names(listed, before, MOST_NAMES)
    except (TypeError, OverflowError) as error:
        raise InputError(str(error)) from None
    except UnicodeEncodeError as error:
        raise InputError("names: expected Unicode text, got {!r} with a lone surrogate", error.object) from None
    return parts


def _has_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
