"""Tables at the door of an HMM: columns are what is observed, a column of groups says where sentences begin.

A model that has learned from a table knows the names of its columns, takes them from other tables in whatever order
they stand there, and goes by the same column of groups where there is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tagline.checks import shown_value
from tagline.errors import InputError
from tagline.messages import message
from tagline.models.sentences import as_sentences
from tagline.readers.adapters import is_tagged_frame
from tagline.readers.tabular import Table, as_table, groups_of, is_frame, is_series, values_of


@dataclass(frozen=True)
class Layout:
    """What a model reads of a table.

    Attributes:
        columns: names of the columns that are observed; none where it has learned from arrays.
        groups: the column that says which sentence a row belongs to; None where there is none.
    """

    columns: tuple[str, ...] = ()
    groups: str | None = None


NO_TABLE = Layout()


@dataclass(frozen=True, eq=False)
class Series:
    """Observations as an HMM takes them, with what a table says of their states and its layout."""

    X: Any
    lengths: Any
    y: Any
    layout: Layout


def read_series(
    X: Any,
    lengths: ArrayLike | None = None,
    groups: Any = None,
    y: Any = None,
    *,
    layout: Layout,
    symbols: bool,
) -> Series:
    """Return observations without tables: arrays with lengths, lists of arrays, or what they were.

    Arguments:
        groups: the name of a column of X, or a key for each observation.
        y: states; the name of a column of X, or what `HMM.fit` takes.
        layout: what the model reads of tables, where it knows that.
        symbols: whether observations are symbols; then a frame with a token in each row is a corpus.
    """
    if lengths is not None and groups is not None:
        raise InputError("lengths, groups: expected one of them, got both")
    y = _states(y) if is_series(y) else y
    if isinstance(X, list | tuple) and X and all(is_frame(x) for x in X):
        _refuse_groups(groups, message("a list of data frames has a sentence in each"))
        parts = [read_series(x, y=None, layout=layout, symbols=symbols) for x in X]
        return Series([part.X for part in parts], None, y, parts[0].layout)
    if is_frame(X) and not (symbols and groups is None and lengths is None and is_tagged_frame(X)):
        return _read_table(as_table(X), lengths, groups, y, layout, symbols)
    if isinstance(groups, str):
        raise InputError(
            "groups: expected a key for each observation, got {!r}; only a data frame has columns by name", groups
        )
    if groups is not None:
        lengths = groups_of(groups)
    if is_series(X):
        X = _array(values_of(X), symbols)
    return Series(as_sentences(X), lengths, as_sentences(y), layout)


def _refuse_groups(groups: Any, why: str) -> None:
    if groups is not None:
        raise InputError("groups: expected none, for {}, got {}", why, shown_value(groups))


def _read_table(table: Table, lengths: Any, groups: Any, y: Any, layout: Layout, symbols: bool) -> Series:
    group, given = layout.groups, groups is not None
    if isinstance(groups, str):
        group = groups
    elif given or lengths is not None or group not in table.names:
        group = None
    state = y if isinstance(y, str) else None
    names = layout.columns or tuple(name for name in table.names if name not in (group, state))
    if missing := [name for name in names if name not in table.names]:
        raise InputError(
            "{}: expected the columns {}, as in training, got {}; {} is missing",
            table.source,
            ", ".join(names),
            ", ".join(table.names),
            ", ".join(missing),
        )
    if not names:
        raise InputError("{}: expected a column to learn from, got none", table.source)
    if group is not None:
        lengths = groups_of(table[group], group)
    elif given:
        lengths = groups_of(groups)
    new = Layout(names, groups if isinstance(groups, str) else layout.groups)
    return Series(_observed(table, names, symbols), lengths, y if state is None else _states(table[state]), new)


def _observed(table: Table, names: tuple[str, ...], symbols: bool) -> Any:
    """The columns as an array of numbers ``[N, D]``, or one of symbols."""
    if not symbols:
        return np.stack([table.numbers(name) for name in names], axis=1) if len(table) else np.empty((0, len(names)))
    if len(names) > 1:
        hint = ""
        if all(table.has_numbers(name) for name in names):
            hint = message('; emission="gaussian" takes several columns of numbers')
        raise InputError("{}: expected one column of symbols, got {}{}", table.source, ", ".join(names), hint)
    return _array(table[names[0]], symbols=True)


def _array(values: Any, symbols: bool) -> Any:
    """A column as observations; whole numbers are symbols by number."""
    if symbols and values.dtype == np.float64 and not np.isnan(values).any() and (values == np.floor(values)).all():
        return values.astype(np.int64)
    return values


def _states(column: Any) -> list[Any]:
    """States of a column: names or whole numbers, None where they are not known."""
    values = [None if value is None or value != value else value for value in values_of(column).tolist()]
    return [int(value) if isinstance(value, float) and value.is_integer() else value for value in values]
