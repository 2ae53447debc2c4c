"""Symbols ↔ numbers: categorical emissions count numbers, users have words, characters, integers.

Accepted, as in `observations`, are one array ``[N]`` or ``[N, 1]`` with `lengths`, a list of sentences, and a `Corpus`,
whose tokens are taken. A symbol is a string, a number, or anything else that can be a key; None, NaN and masked entries
are missing.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagline.checks import as_array, shown_value
from tagline.errors import InputError
from tagline.messages import message
from tagline.models.hmm.emissions.categorical import MISSING, UNKNOWN
from tagline.models.hmm.emissions.observations import is_list, read_lengths
from tagline.ragged import offsets_of
from tagline.readers.corpus import TOKEN, Corpus
from tagline.types import IntArray


@dataclass(frozen=True, eq=False)
class Symbols:
    """The symbols that a model knows, by number.

    >>> table, ids, offsets = Symbols.read([["the", "dog", "the"], ["dog", None]])
    >>> table.values, ids.tolist(), offsets.tolist()
    (('the', 'dog'), [0, 1, 0, 1, -1], [0, 3, 5])
    """

    values: tuple[Hashable, ...]

    @classmethod
    def of(cls, values: Iterable[Any]) -> Symbols:
        """Number these symbols in their order; each must be there once."""
        table = cls(tuple(value.item() if isinstance(value, np.generic) else value for value in values))
        if len(table._numbers) != len(table.values):
            twice = next(value for number, value in enumerate(table.values) if table._numbers[value] != number)
            raise InputError("symbols: expected each once, got {!r:.60} twice", twice)
        return table

    @classmethod
    def read(cls, X: Any, lengths: ArrayLike | None = None) -> tuple[Symbols, IntArray, IntArray]:
        """Return the symbols of these sentences, their numbers ``[N]``, and the offsets ``[B + 1]``.

        Integers are numbered in ascending order, so that 0 … V − 1 keep their numbers; other symbols in the order of
        their first use.
        """
        coded = _coded(X, lengths)
        used = [value for value in coded.values if value is not None]
        table = cls.of(sorted(used) if _integers(used) else used)
        return table, table._ids(coded), coded.offsets

    def number(self, X: Any, lengths: ArrayLike | None = None) -> tuple[IntArray, IntArray]:
        """Return the numbers ``[N]`` of the symbols in these sentences, `UNKNOWN` for others, and the offsets."""
        coded = _coded(X, lengths)
        return self._ids(coded), coded.offsets

    def numbers_of(self, other: Symbols) -> IntArray:
        """Return the numbers here of all symbols of another table, which must be known here."""
        return np.array([self._numbers[value] for value in other.values], np.int64)

    def names(self, ids: IntArray) -> list[Any]:
        """Return the symbols of these numbers; None for missing and unknown ones."""
        table = [*self.values, None, None]  # negative numbers count from the end
        return [table[number] for number in ids.tolist()]

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def _numbers(self) -> dict[Hashable, int]:
        return {value: number for number, value in enumerate(self.values)}

    def _ids(self, coded: _Coded) -> IntArray:
        numbers = {**self._numbers, None: MISSING}
        table = np.array([numbers.get(value, UNKNOWN) for value in coded.values], np.int64)
        return table[coded.codes]


@dataclass(frozen=True, eq=False)
class _Coded:
    """Sentences as distinct symbols (None: missing) and which of them stands where."""

    values: list[Any]
    codes: IntArray
    offsets: IntArray


def _integers(values: Sequence[Any]) -> bool:
    return bool(values) and all(type(value) is int for value in values)


def _coded(X: Any, lengths: ArrayLike | None) -> _Coded:
    if isinstance(X, Corpus):
        column = X.columns[TOKEN] if TOKEN in X.columns else next(iter(X.columns.values()))
        used, codes = np.unique(column.ids, return_inverse=True)
        return _Coded([column.vocabulary[number] for number in used.tolist()], codes.astype(np.int64), X.offsets)
    if not is_list(X) or lengths is not None:
        flat = _row("X", X)
        coded = _distinct(flat, read_lengths(lengths, len(flat)))
    else:
        rows = [_row(f"X[{b}]", x) for b, x in enumerate(X)]
        offsets = offsets_of([len(row) for row in rows])
        whole = bool(rows) and all(isinstance(row, np.ndarray) and row.dtype.kind in "iu" for row in rows)
        coded = _distinct(np.concatenate(rows) if whole else list(chain.from_iterable(map(_listed, rows))), offsets)
    least = min((value for value in coded.values if type(value) is int), default=0)
    if least < 0 and _integers([value for value in coded.values if value is not None]):
        raise InputError(
            "X: expected integers of 0 or more as symbols, got {}; None, NaN or a mask marks a missing symbol",
            shown_value(least),
        )
    return coded


def _row(name: str, x: Any) -> NDArray[Any] | list[Any]:
    """Return the symbols of one sentence: an array of integers, or a list."""
    if isinstance(x, np.ma.MaskedArray):
        x = x.tolist()  # None where masked
    if isinstance(x, str | bytes | Mapping) or not (hasattr(x, "__array__") or isinstance(x, Iterable)):
        raise InputError(
            "{}: expected a sequence of symbols, got {}; list(text) makes characters of it; for raw text "
            "there is tag: model.tag(text)",
            name,
            shown_value(x),
        )
    if not hasattr(x, "__array__"):
        return [symbol[0] if _is_single(symbol) else symbol for symbol in x]
    values = as_array(name, x)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InputError(
            "{}: expected one symbol an observation, shape [N] or [N, 1], got {}{}{}",
            name,
            list(values.shape),
            message('; emission="gaussian" or "mixture" takes vectors of numbers') if values.dtype.kind == "f" else "",
            message('; emission="multinomial" or "poisson" takes counts') if values.dtype.kind in "iu" else "",
        )
    return values if values.dtype.kind in "iu" else list(values.tolist())


def _is_single(symbol: object) -> bool:
    """Say whether a symbol stands in a list, or a row, of its own."""
    return len(symbol) == 1 if isinstance(symbol, list) else isinstance(symbol, np.ndarray) and symbol.shape == (1,)


def _listed(row: NDArray[Any] | list[Any]) -> list[Any]:
    return row if isinstance(row, list) else list(row.tolist())


def _distinct(flat: NDArray[Any] | list[Any], offsets: IntArray) -> _Coded:
    if isinstance(flat, np.ndarray):
        used, codes = _unique(flat)
        return _Coded(used.tolist(), codes, offsets)
    numbers: dict[Any, int] = {}
    try:
        codes = np.fromiter((numbers.setdefault(value, len(numbers)) for value in flat), np.int64, len(flat))
    except TypeError:
        n = next(n for n, value in enumerate(flat) if not _is_key(value))
        raise InputError(
            "X: expected symbols that can be keys, got {} as observation {}", shown_value(flat[n]), n
        ) from None
    values = [value.item() if isinstance(value, np.generic) else value for value in numbers]
    return _Coded([None if value != value else value for value in values], codes, offsets)  # NaN is not itself


def _is_key(value: object) -> bool:
    """Say whether a value can be a key; a tuple with a list in it only says that it can."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _unique(flat: NDArray[Any]) -> tuple[NDArray[Any], IntArray]:
    """Return the distinct integers, ascending, and which stands where; no sorting where they lie close together."""
    low, high = int(flat.min(initial=0)), int(flat.max(initial=0))
    if high - low > 4 * len(flat) + 1000 or high >= 2**63:
        used, codes = np.unique(flat, return_inverse=True)
        return used, codes.astype(np.int64)
    near = flat.astype(np.int64) - low
    used_at = np.zeros(high - low + 1, bool)
    used_at[near] = True
    return np.flatnonzero(used_at) + low, (np.cumsum(used_at) - 1)[near]
