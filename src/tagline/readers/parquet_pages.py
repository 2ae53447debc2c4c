"""How much a column of a Parquet file holds, by the headers of its pages, which stand before each of them.

The metadata at the end of a file state it, too, but PyArrow unpacks what the pages say. A header is a struct of
Thrift's compact protocol: fields as (step to the next number, type), a byte each, with numbers of 7 bits a byte.
"""

from __future__ import annotations

import os
from typing import Any

from tagline.messages import message

HEAD = 1 << 12  # bytes that are read for a header at first; statistics may make it longer
LONGEST_HEAD = 1 << 24
MOST_NESTED = 8

SIZE, PACKED_SIZE = 2, 3  # fields of a header: bytes of the page, unpacked and as they lie there
PAGES = 5, 7, 8  # fields of the kinds of pages, whose first field is the number of values
VALUES = 1
GROUPS, COLUMNS, META = 4, 1, 3  # fields of the metadata, of a row group, of a column
NUM_VALUES, UNPACKED, COMPRESSED, DATA, DICTIONARY = 5, 6, 7, 9, 11  # of a column's own


class BrokenPageError(ValueError):
    """A header that is none."""


def groups_of(file: int) -> list[list[dict[int, Any]]]:
    """Return the metadata of the columns of each row group, by the numbers of their fields.

    PyArrow has them, too, but ends the process where some of their fields are damaged.
    """
    end = os.fstat(file).st_size - 8
    length = int.from_bytes(os.pread(file, 4, end), "little")
    try:
        facts = _ThriftReader(os.pread(file, length, end - length)).struct()
        return [[column[META] for column in group[COLUMNS]] for group in facts.get(GROUPS, [])]
    except (IndexError, KeyError, TypeError, AttributeError, OSError):
        raise BrokenPageError(message("metadata without columns")) from None


def sizes_of(file: int, column: dict[int, Any]) -> tuple[int, int]:
    """Return how many values the pages of a column have, and how many bytes they unpack to.

    Arguments:
        file: its number.
        column: the metadata of a column of a row group.
    """
    at = min(place for place in (column[DATA], column.get(DICTIONARY, 0) or column[DATA]) if place > 0)
    end = at + column[COMPRESSED]
    values = size = 0
    while at < end and values < column[NUM_VALUES]:
        header, length = _header(file, at)
        page: dict[int, Any] = next((header[field] for field in PAGES if isinstance(header.get(field), dict)), {})
        counts = [header.get(SIZE, -1), header.get(PACKED_SIZE, -1), page.get(VALUES, 0)]
        if any(not isinstance(count, int) or count < 0 for count in counts):
            raise BrokenPageError(message("a page at byte {} without its sizes", at))
        size += counts[0]
        values += 0 if PAGES[1] in header else counts[2]  # those of a dictionary are counted by their bytes
        at += length + counts[1]
    return values, size


def _header(file: int, at: int) -> tuple[dict[int, Any], int]:
    """Return the fields of the header at a place, and how many bytes it has."""
    length = HEAD
    while True:
        data = os.pread(file, length, at)
        try:
            reader = _ThriftReader(data)
            return reader.struct(), reader.at
        except IndexError:
            if len(data) < length or length >= LONGEST_HEAD:
                raise BrokenPageError(message("no header of a page at byte {}", at)) from None
            length *= 16


class _ThriftReader:
    """Reads values of Thrift's compact protocol; an `IndexError` says that the bytes end too early."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._number()
            fields[number] = self._value(head & 15, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._number()
        if kind == 7:
            return self._skip(8)
        if kind == 8:
            return self._skip(self._unsigned())
        if kind in (9, 10) and depth < MOST_NESTED:
            head = self._byte()
            count, inner = head >> 4 if head >> 4 < 15 else self._unsigned(), head & 15
            if count > len(self.data):
                raise IndexError
            return [self._byte() if inner in (1, 2) else self._value(inner, depth + 1) for _ in range(count)]
        if kind == 12 and depth < MOST_NESTED:
            return self.struct(depth + 1)
        raise BrokenPageError(message("a page with a field of type {}", kind))

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _skip(self, count: int) -> None:
        self.at += count
        if self.at > len(self.data):
            raise IndexError

    def _unsigned(self) -> int:
        number = 0
        for place in range(10):
            byte = self._byte()
            number |= (byte & 127) << 7 * place
            if byte < 128:
                return number
        raise BrokenPageError(message("a page with a number of more than 64 bits"))

    def _number(self) -> int:
        number = self._unsigned()
        return (number >> 1) ^ -(number & 1)
