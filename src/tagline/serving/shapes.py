"""Parts of an answer as JSON, looked at with care: what answers may not be the service."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from tagline.messages import message


class JsonPart:
    """A part of an answer, and where it is.

    Arguments:
        value: as JSON has it.
        fail: makes the error from what is wrong.
        place: such as ``results[0].sentences``.

    >>> part = JsonPart({"labels": ["O", 3]}, ValueError)
    >>> [label.text for label in part["labels"].rows]
    Traceback (most recent call last):
    ValueError: labels[1] is 3, not a text
    """

    __slots__ = ("fail", "place", "value")

    def __init__(self, value: Any, fail: Callable[[str], Exception], place: str = "") -> None:
        self.value, self.fail, self.place = value, fail, place

    def wrong(self, wanted: str) -> Exception:
        """Return the error for a value that is something else."""
        return self.fail(message("{} is {}, not {}", self.place or message("the answer"), shown(self.value), wanted))

    def __contains__(self, name: str) -> bool:
        """Whether an object has a member."""
        return name in self.members

    def __getitem__(self, name: str) -> JsonPart:
        """Return a member of an object."""
        if name not in self.members:
            raise self.fail(message("{} has no {!r}", self.place or message("the answer"), name))
        return JsonPart(self.value[name], self.fail, f"{self.place}.{name}" if self.place else name)

    @property
    def members(self) -> dict[str, Any]:
        """An object, as it is."""
        if not isinstance(self.value, dict):
            raise self.wrong(message("an object"))
        return self.value

    @property
    def rows(self) -> list[JsonPart]:
        """The entries of a list."""
        if not isinstance(self.value, list):
            raise self.wrong(message("a list"))
        return [JsonPart(value, self.fail, f"{self.place}[{n}]") for n, value in enumerate(self.value)]

    @property
    def one(self) -> JsonPart:
        """The only entry of a list."""
        rows = self.rows
        if len(rows) != 1:
            raise self.fail(message("{} has {} entries, not 1", self.place, len(rows)))
        return rows[0]

    @property
    def text(self) -> str:
        """A text."""
        if not isinstance(self.value, str):
            raise self.wrong(message("a text"))
        return self.value

    @property
    def texts(self) -> list[str]:
        """A list of texts."""
        return [row.text for row in self.rows]

    @property
    def whole(self) -> int:
        """A whole number, 0 or more."""
        if type(self.value) is not int or self.value < 0:
            raise self.wrong(message("a whole number"))
        return self.value

    @property
    def number(self) -> float:
        """A number; null is what JSON has for one that is not finite."""
        if self.value is None:
            return float("nan")
        if type(self.value) not in (int, float):
            raise self.wrong(message("a number"))
        return float(self.value)

    def numbers(self, count: int) -> list[float]:
        """So many numbers."""
        rows = self.rows
        if len(rows) != count:
            raise self.fail(message("{} has {} entries, not {}", self.place, len(rows), count))
        return [row.number for row in rows]

    @property
    def flag(self) -> bool:
        """Yes or no."""
        if not isinstance(self.value, bool):
            raise self.wrong(message("true or false"))
        return self.value

    def within(self, start: JsonPart, end: JsonPart, size: int) -> tuple[int, int]:
        """Return two places of something that is so long."""
        first, last = start.whole, end.whole
        if not first <= last <= size:
            raise self.fail(message("{} goes from {} to {}, beyond {}", self.place, first, last, size))
        return first, last


def shown(value: Any) -> str:
    """Write the beginning of a value in one line."""
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def parts_of(data: bytes, fail: Callable[[str], Exception]) -> JsonPart:
    """Read an answer."""
    try:
        return JsonPart(json.loads(data), fail)
    except (ValueError, RecursionError):
        begin = " ".join(data[:200].decode(errors="replace").split())[:80]
        raise fail(message("the answer is no JSON: {!r}", begin)) from None


def lines_of(data: bytes, fail: Callable[[str], Exception]) -> Iterator[JsonPart]:
    """Read an answer that has an object in each line."""
    for line in data.splitlines():
        part = parts_of(line, fail)
        _ = part.members
        yield part
