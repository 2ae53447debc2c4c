"""Rows of Parquet files as JSON lines, by PyArrow: a column is a key.

A few bytes of Parquet may stand for millions of values. Strings stay in their dictionaries, so that a row group takes
no more than 12 bytes a value and its strings once, which the headers of its pages tell. Rows become objects of Python
only after their size was counted.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from typing import Any

from tagline.errors import InputError
from tagline.readers.compressed import Limit, PathLike, UnpackedStream, arrow_for
from tagline.readers.parquet_pages import NUM_VALUES, UNPACKED, groups_of, sizes_of

ROWS = 1024  # that are read at once
VALUE_BYTES = 12  # of a value in Arrow's arrays: its number in the dictionary or itself, and its levels
OBJECT_BYTES = 64  # of a value in Python, beside its letters
BATCH_BYTES = 1 << 26  # of objects that are made at once, where several rows are


class ParquetLines(UnpackedStream):
    """The rows of a ``.parquet`` file as JSON lines."""

    def __init__(self, path: PathLike) -> None:
        super().__init__()
        self._arrow = arrow_for(path)
        from pyarrow import parquet

        self._name, self._size, self._limit = os.fspath(path), os.path.getsize(path), Limit(path)
        self._file = open(path, "rb")  # noqa: SIM115 - `close` closes it
        try:
            facts = parquet.read_metadata(self._file)
            self._table = parquet.ParquetFile(self._file, metadata=facts, read_dictionary=_strings_of(facts.schema))
        except BaseException as error:
            self._file.close()
            if isinstance(error, self._arrow.ArrowException | OSError | ValueError) and not _is_ours(error):
                raise self._broken(error) from None
            raise
        self._schema = facts.schema.to_arrow_schema()  # in which strings are strings: faster than by dictionary
        self._rows, self._read, self._count = max(1, facts.num_rows), 0, 0
        self._lines = self._pieces()

    def _check(self, group: list[dict[int, Any]]) -> None:
        """Raise where a row group would take more memory than a packed file may, before any of it is read."""
        size = 0
        for column in group:
            self._limit.check(VALUE_BYTES * column[NUM_VALUES] + column[UNPACKED])  # quick, and may be low
            values, letters = sizes_of(self.fileno(), column)
            size += VALUE_BYTES * values + letters
            self._limit.check(size)

    def _pieces(self) -> Iterator[bytes]:
        try:
            columns = groups_of(self.fileno())
            for group in range(self._table.num_row_groups):  # a nested array has the dictionary of one group
                self._check(columns[group])
                for batch in self._table.iter_batches(ROWS, row_groups=[group]):
                    yield from self._lines_of(batch)
                    self._read += batch.num_rows
        except (self._arrow.ArrowException, OSError, ValueError, OverflowError, LookupError, TypeError) as error:
            if _is_ours(error):
                raise
            raise self._broken(error) from None

    def _lines_of(self, batch: Any) -> Iterator[bytes]:
        """Lines of rows; of half as many at once while they are large."""
        count, letters = _size_of(batch.columns, self._arrow)
        names = batch.num_rows * sum(len(name) + 6 for name in batch.schema.names)
        self._limit.check(self._count + letters + names)
        if (size := OBJECT_BYTES * count + letters) > BATCH_BYTES and batch.num_rows > 1:
            half = batch.num_rows // 2
            yield from self._lines_of(batch.slice(0, half))
            yield from self._lines_of(batch.slice(half))
            return
        self._limit.check(size)
        with contextlib.suppress(self._arrow.ArrowNotImplementedError):  # not all types have a cast
            batch = batch.cast(self._schema)
        rows = (json.dumps(row, ensure_ascii=False, default=str) for row in batch.to_pylist())
        data = "".join(f"{row}\n" for row in rows).encode(errors="surrogatepass")
        self._count += len(data)
        yield data

    def _broken(self, error: Exception) -> InputError:
        facts = str(error).partition("\n")[0]
        return InputError("{}: expected a Parquet file, got something else ({:.200})", self._name, facts)

    def _more(self) -> bytes:
        return next(self._lines, b"")

    @property
    def position(self) -> int:
        """Where reading stands, in bytes of the file, by the share of the rows."""
        return int(self._size * self._read // self._rows)

    def fileno(self) -> int:
        """Return the number of the file."""
        return self._file.fileno()

    def close(self) -> None:
        """Close the file."""
        if not self.closed and hasattr(self, "_file"):
            self._file.close()
        super().close()


def _is_ours(error: BaseException) -> bool:
    return isinstance(error, InputError)


def _strings_of(schema: Any) -> list[str]:
    """The paths of the columns that have strings."""
    columns = (schema.column(place) for place in range(len(schema)))
    return [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]


def _size_of(arrays: list[Any], arrow: Any) -> tuple[int, int]:
    """Return how many values arrays have, all levels counted, and how many bytes their strings would take.

    Strings are counted as often as they occur, though a dictionary holds each once.
    """
    import pyarrow.compute as compute

    types, count, letters = arrow.types, 0, 0
    waiting = list(arrays)
    while waiting:
        array = waiting.pop()
        count += len(array)
        if types.is_dictionary(array.type):
            lengths = compute.binary_length(array.dictionary).take(array.indices)
            letters += compute.sum(lengths).as_py() or 0
        elif types.is_nested(array.type):
            waiting += _inside(array, types)
            if types.is_struct(array.type):
                letters += len(array) * sum(len(field.name) for field in array.type)
        else:
            letters += array.nbytes
    return count, letters


def _inside(array: Any, types: Any) -> list[Any]:
    """The columns of a struct, the keys and items of a map, the values of lists."""
    if types.is_map(array.type):
        first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
        return [array.keys.slice(first, last - first), array.items.slice(first, last - first)]
    inner = array.flatten()
    return inner if isinstance(inner, list) else [inner]
