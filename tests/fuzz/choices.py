"""Bytes as a row of choices, for doors that take Python values instead of files: the same bytes, the same values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")

_HALF = "\udcff"  # of a surrogate pair


class Choices:
    """A reader of choices; behind the last byte all of them are 0."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        """Return the next byte."""
        self.at += 1
        return self.data[self.at - 1] if self.at <= len(self.data) else 0

    def below(self, limit: int) -> int:
        """Return a number from 0 to limit − 1, at most 255."""
        return self.byte() % limit

    def of(self, options: Sequence[T]) -> T:
        """Return one of up to 256 options."""
        return options[self.byte() % len(options)]

    def chance(self, of256: int) -> bool:
        """Say yes so many times of 256; no behind the last byte."""
        return self.byte() > 255 - of256

    def generator(self) -> np.random.Generator:
        """Return random numbers that two bytes stand for."""
        return np.random.default_rng(self.byte() * 256 + self.byte())


def value(choices: Choices, depth: int = 0) -> Any:
    """Return some value of Python: what a program may hand in by mistake."""
    kind = choices.below(22 if depth < 3 else 16)
    if kind < 16:
        return _PLAIN[choices.below(len(_PLAIN))]
    count = choices.below(4)
    if kind == 16:
        return {choices.of(("w", "x", 1, None, ("a",))): value(choices, depth + 1) for _ in range(count)}
    if kind == 17:
        return tuple(value(choices, depth + 1) for _ in range(count))
    if kind == 18:
        numbers = np.array([choices.byte() - 128 for _ in range(count)], np.int64)
        return numbers.astype(choices.of(_DTYPES))
    if kind == 19:
        return np.zeros((count, choices.below(3)), choices.of(_DTYPES))
    return [value(choices, depth + 1) for _ in range(count)]


_DTYPES = ("f8", "f4", "f2", "i8", "i4", "u1", "u8", "?", "c16", "O", "U3", "S2", "M8[s]", ">f8")
_PLAIN: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 3, 255, 2**31, 2**63, -(2**63), 2**64, 10**30, 10**400, -(10**5000)),
    *(0.0, -0.0, 0.5, 1.5, -1.0, 1e-320, 1e30, 1e300, float("inf"), float("-inf"), float("nan"), 1j),
    *(
        "",
        "x",
        "a",
        "O",
        "B-PER",
        "Anna",
        "0",
        "auto",
        "native",
        "IOB2",
        "的",
        _HALF,
        "a b",
        "\0",
        "x" * 5000,
        "-",
        "w",
    ),
    *(b"", b"x", b"\xff", object(), len, int, Ellipsis, NotImplemented, range(3), slice(1), frozenset({"O"})),
    *(np.float64(0.5), np.float32("nan"), np.int64(3), np.uint8(1), np.bool_(True), np.str_("O"), np.array(3)),
    *(np.array([]), np.array(["a", "O"]), np.array([[1.0, 2.0]]), np.array([None]), [], {}, (), [[]], [""], ["a"]),
    *([["a"]], [["a", "O"]], [[None]], [[{}]], [[{"w": 1}]], [[{"w": None}]], [[0, 1]], [[[0.5]]], {"x": 1}),
    *([["O"]], [[["O"]]], [[{"O"}]], [[("a", "b")]], [("a", "b")], {"O": 1.0}, [["A", "B"]], [[1.5]], [[True]]),
)
