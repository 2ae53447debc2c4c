"""Tables: data frames of pandas and polars, their series, and CSV files, as columns of numbers or of strings.

Neither library is imported: an object is taken for a frame or a series if it has their attributes. Numbers become
float64 with NaN where they are missing; all else is objects, with None. `groups_of` says where runs of rows begin.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline.checks import shown_value
from tagline.errors import InputError
from tagline.readers.sources import PathLike, name_of, read_string
from tagline.types import IntArray

MISSING = frozenset(("", "na", "n/a", "nan", "null", "none", "-", "?"))  # fields of a CSV file, in small letters
SUFFIXES = (".csv", ".tsv")


class Table:
    """Columns of one length, by name; each is converted when it is asked for.

    Arguments:
        names: of the columns, each once.
        get: gives the column of a name.
        length: rows.
        source: the file that it was read from, for messages.

    >>> Table.of({"temperature": [1, 2.5, None], "place": ["A", "A", "B"]})["temperature"].tolist()
    [1.0, 2.5, nan]
    """

    def __init__(self, names: Sequence[str], get: Callable[[str], Any], length: int, source: str = "X") -> None:
        self.names, self._get, self._length, self.source = tuple(names), get, length, source
        if twice := next((name for name in self.names if self.names.count(name) > 1), None):
            raise InputError("{}: expected columns of different names, got {!r} twice", source, twice)

    @classmethod
    def of(cls, columns: Mapping[str, Sequence[Any]], source: str = "X") -> Table:
        """Make a table of lists."""
        length = len(next(iter(columns.values()), ()))
        return cls(list(columns), columns.__getitem__, length, source)

    @classmethod
    def of_frame(cls, frame: Any) -> Table:
        """Make a table of a data frame."""
        keys = {str(name): name for name in frame.columns}
        return cls([str(name) for name in frame.columns], lambda name: frame[keys[name]], len(frame))

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self.names:
            raise InputError("{}: expected a column {!r}, got {}", self.source, name, ", ".join(self.names))
        return values_of(self._get(name))

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return a column of numbers, or say that it is none."""
        column = self[name]
        if column.dtype != np.float64:
            got = next(value for value in column if value is not None)
            raise InputError(
                "{}: expected columns of numbers, got {!r} with {}; leave it out, or name it as groups",
                self.source,
                name,
                shown_value(got),
            )
        return column

    def has_numbers(self, name: str) -> bool:
        """Say whether a column is one of numbers."""
        return bool(self[name].dtype == np.float64)


def is_frame(data: Any) -> bool:
    """Say whether this is a data frame of pandas or polars, or a `Table`."""
    own = hasattr(data, "iloc") or hasattr(data, "get_column")  # first: to ask a lazy frame for its columns is dear
    return isinstance(data, Table) or (own and hasattr(data, "columns"))


def is_series(data: Any) -> bool:
    """Say whether this is a series of pandas or polars: one column."""
    return hasattr(data, "to_numpy") and hasattr(data, "to_list") and hasattr(data, "dtype")


def as_table(data: Any) -> Table:
    """Return a data frame as a table."""
    return data if isinstance(data, Table) else Table.of_frame(data)


def values_of(column: Any) -> NDArray[Any]:
    """Return a column as float64 with NaN, where it has numbers alone, or as objects with None.

    Arguments:
        column: a series, an array or a list.
    """
    if is_series(column):
        values = np.asarray(column.to_numpy())
    else:
        values = column if isinstance(column, np.ndarray) else _objects(list(column))
    if values.ndim != 1:
        raise InputError("column: expected one value a row, got shape {}", list(values.shape))
    if values.dtype.kind in "fiub":
        return values.astype(np.float64)
    lost = _lost(column, values)
    kept = [None if gone else value for value, gone in zip(values.tolist(), lost, strict=True)]
    present = [value for value in kept if value is not None]
    if present and all(isinstance(value, Real) for value in present) and values.dtype.kind == "O":
        return np.array([math.nan if value is None else float(value) for value in kept], np.float64)
    return _objects(kept)


def _objects(values: Sequence[Any]) -> NDArray[Any]:
    out = np.empty(len(values), object)
    out[:] = values
    return out


def _lost(column: Any, values: NDArray[Any]) -> list[bool]:
    """Say of each value whether it is missing; a library's own mark for that cannot be compared."""
    for name in ("isna", "is_null"):
        if hasattr(column, name):
            return [bool(gone) for gone in getattr(column, name)().to_numpy()]
    return [value is None or (isinstance(value, float) and math.isnan(value)) for value in values.tolist()]


def groups_of(keys: Any, name: str = "groups") -> IntArray:
    """Return the lengths ``[B]`` of the runs of equal keys; rows of a group must stand side by side.

    >>> groups_of(["a", "a", "b"]).tolist()
    [2, 1]
    """
    column = values_of(keys)
    values = column.tolist()
    for row, key in enumerate(values):
        if key is None or key != key:
            raise InputError("{}: expected a sentence for each row, got none in row {}", name, row)
    runs = [(key, sum(1 for _ in run)) for key, run in groupby(values)]
    if len({key for key, _ in runs}) < len(runs):
        seen: set[Any] = set()
        again = next(key for key, _ in runs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise InputError(
            "{}: expected the rows of a sentence side by side, got {} in several places; sort the rows by it",
            name,
            _shown(again),
        )
    return np.array([count for _, count in runs], np.int64)


def _shown(key: Any) -> str:
    return f"{key:g}" if isinstance(key, float) else shown_value(key)


def is_csv(path: Any, form: str | None = None) -> bool:
    """Say whether a file is a table by its name, or by its format where that is given."""
    plain = name_of(path).lower().removesuffix(".gz")
    return form in ("csv", "tsv") or (form is None and plain.endswith(SUFFIXES))


@dataclass(frozen=True)
class Rows:
    """The fields of a CSV file as they stand there.

    Attributes:
        names: of the columns.
        rows: fields, one for each column.
        headed: whether the names stand in the file.
        mark: what stands between fields.
        source: the file.
    """

    names: tuple[str, ...]
    rows: list[list[str]]
    headed: bool
    mark: str
    source: str

    def table(self) -> Table:
        """Return the columns, those of numbers as numbers."""
        columns: list[Any] = [_parsed(fields) for fields in zip(*self.rows, strict=True)]
        return Table.of(dict(zip(self.names, columns or [()] * len(self.names), strict=True)), self.source)


def read_csv(path: PathLike, *, encoding: str = "utf-8", form: str | None = None) -> Table:
    """Read a CSV or TSV file, .gz or not; ``-`` is standard input.

    The first row has the names of the columns, unless all its fields are numbers: then they are numbered from 0. Fields
    that are empty, ``NA``, ``nan`` or ``null`` are missing. Between fields stand commas, semicolons or tabs: what the
    first line has most of.
    """
    return read_rows(path, encoding=encoding, form=form).table()


def read_rows(path: PathLike, *, encoding: str = "utf-8", form: str | None = None) -> Rows:
    """Read the fields of a CSV file; see `read_csv`."""
    place, text = name_of(path), read_string(path, encoding)
    first = text.partition("\n")[0]
    if not first.strip():
        raise InputError("{}: expected a table with the names of its columns first, got no rows", place)
    tabs = form == "tsv" or (form is None and place.lower().removesuffix(".gz").endswith(".tsv"))
    mark = "\t" if tabs else max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text), delimiter=mark)
    try:
        numbered = [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise InputError("{}:{}: expected rows of a table, got one with {}", place, reader.line_num, error) from None
    head = numbered[0][1]
    headed = not all(_number(field) is not None for field in head)
    names = tuple(field.strip() for field in head) if headed else tuple(map(str, range(len(head))))
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InputError("{}: expected columns of different names, got {!r} twice", place, twice)
    for line, row in numbered:
        if len(row) != len(names):
            raise InputError("{}:{}: expected {} fields, got {}", place, line, len(names), len(row))
    return Rows(names, [row for _, row in numbered[headed:]], headed, mark, place)


def _number(field: str) -> float | None:
    try:
        return float(field)
    except ValueError:
        return math.nan if field.strip().lower() in MISSING else None


def _parsed(fields: Sequence[str]) -> Any:
    """A column of numbers, or of strings where one field is no number."""
    numbers = [_number(field) for field in fields]
    if all(number is not None for number in numbers):
        return np.array(numbers, np.float64)
    return [None if field.strip().lower() in MISSING else field for field in fields]
