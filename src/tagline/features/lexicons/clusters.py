"""Clusters of words as features: a table word → cluster, made elsewhere from much text, or by `tagline cluster`.

A cluster is a name: the bit string of a Brown cluster, whose first bits name larger clusters, or a number. A template
asks for it by the built-in columns ``cluster`` (of the first table), ``cluster2``, …, and for first bits by ``bits4``
behind it: ``%x[0,0:cluster:bits4]``. A word that has no cluster takes that of its lower case, or gives no attribute.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline.checks import is_whole, shown, shown_value
from tagline.errors import InputError
from tagline.messages import message
from tagline.readers.blocks import read_lines
from tagline.readers.sources import PathLike, name_of, open_target

MOST_TABLES = 9
_SEPARATORS = ("\t", "\n", "\r")


class Clusters:
    """A table of words and their clusters.

    Arguments:
        table: a mapping from word to cluster, a string or a whole number.
        counts: how often each word occurs, for `write`; 1 where it is not there.

    >>> clusters = Clusters({"rome": "0110", "oslo": "0111", "sings": "10"})
    >>> clusters.of("Rome"), clusters.of("Bern"), len(clusters), clusters.is_bits
    ('0110', None, 3, True)
    """

    def __init__(self, table: Mapping[str, str | int], counts: Mapping[str, int] | None = None) -> None:
        if not isinstance(table, Mapping):
            raise InputError("clusters: expected a mapping from words to clusters, got {}", shown_value(table))
        for word, cluster in table.items():
            if not _is_name(word) or not (is_whole(cluster) or _is_name(cluster)):
                raise InputError(
                    "clusters: expected words and clusters that are strings without TAB or line break (clusters "
                    "may be whole numbers), got {}: {}",
                    shown_value(word),
                    shown_value(cluster),
                )
        names: dict[str, int] = {}
        numbers = [names.setdefault(str(cluster), len(names)) for cluster in table.values()]
        self._fill(tuple(table), np.array(numbers, np.int64), tuple(names), dict(counts or {}))

    @classmethod
    def of_arrays(cls, words: Sequence[str], numbers: NDArray[Any], names: Sequence[str]) -> Clusters:
        """Make the table of words, the number of each one's cluster, and the names of clusters; as `arrays` has it."""
        proper = len(words) == len(numbers) == len(set(words)) and len(set(names)) == len(names)
        if not proper or not all(map(_is_name, (*words, *names))):
            raise InputError("clusters: expected {} distinct words and distinct clusters, got others", len(numbers))
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < len(names):
            raise InputError("clusters: expected numbers below {}, got others", len(names))
        out = cls({})
        out._fill(tuple(words), np.asarray(numbers, np.int64), tuple(names), {})
        return out

    def _fill(
        self, words: tuple[str, ...], numbers: NDArray[np.int64], names: tuple[str, ...], counts: dict[str, int]
    ) -> None:
        self.words, self.numbers, self.names, self._counts = words, numbers, names, counts

    @classmethod
    def read(cls, path: PathLike, encoding: str = "utf-8") -> Clusters:
        """Read a file with a cluster, a TAB, a word and, after another TAB, its count, a line each."""
        name, table, counts = name_of(path), dict[str, str](), dict[str, int]()
        for number, line in read_lines(path, encoding):
            if not line.strip():
                continue
            cluster, *rest = line.split("\t")
            if len(rest) not in (1, 2) or not cluster or not rest[0] or (rest[1:] and not rest[1].isdecimal()):
                wanted = message("a cluster, a TAB, a word, a TAB, a count")
                raise InputError("{}:{}: expected {}, got {}", name, number, wanted, shown(line))
            if rest[0] in table:
                raise InputError("{}:{}: expected each word once, got {} twice", name, number, shown(rest[0]))
            table[rest[0]] = cluster
            if rest[1:]:
                counts[rest[0]] = int(rest[1])
        if not table:
            raise InputError("{}: expected words and their clusters, got none", name)
        return cls(table, counts)

    def write(self, path: PathLike) -> None:
        """Write the file that `read` reads: clusters in order, the words of each by falling count."""
        table, is_bits = self._table, self.is_bits
        order = sorted(table, key=lambda word: (_order(table[word], is_bits), -self._counts.get(word, 1), word))
        with open_target(path) as stream:
            for word in order:
                stream.write(f"{table[word]}\t{word}\t{self._counts.get(word, 1)}\n".encode())

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        return f"Clusters({len(self)} words, {len(self.names)} clusters)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Clusters) and self._table == other._table

    __hash__ = None  # type: ignore[assignment]

    @property
    def is_bits(self) -> bool:
        """Whether clusters are bit strings, whose beginnings are clusters, too."""
        return any(name.startswith("0") and len(name) > 1 for name in self.names) and all(
            set(name) <= {"0", "1"} for name in self.names
        )

    @cached_property
    def _table(self) -> dict[str, str]:
        names = self.names
        return {word: names[number] for word, number in zip(self.words, self.numbers.tolist(), strict=True)}

    def of(self, word: str) -> str | None:
        """Return the cluster of a word, or of its lower case; None where there is none."""
        table = self._table
        return table.get(word) or table.get(word.lower())

    def arrays(self) -> tuple[tuple[str, ...], NDArray[np.int64], tuple[str, ...]]:
        """Return words, the number of each one's cluster, and the names of clusters."""
        return self.words, self.numbers, self.names


def as_clusters(clusters: object) -> tuple[Clusters, ...]:
    """Return the tables that a setting stands for: none, one or a list; each a `Clusters`, a mapping or a file."""
    if clusters is None:
        return ()
    listed = clusters if isinstance(clusters, list | tuple) else [clusters]
    if not 0 < len(listed) <= MOST_TABLES:
        raise InputError("clusters: expected 1 to {} tables, got {}", MOST_TABLES, len(listed))
    return tuple(map(_as_table, listed))


def _as_table(table: object) -> Clusters:
    if isinstance(table, Clusters):
        return table
    if isinstance(table, Mapping):
        return Clusters(table)
    if isinstance(table, str | os.PathLike):
        return Clusters.read(table)
    raise InputError("clusters: expected a file, a mapping or Clusters, or a list of them, got {}", shown_value(table))


def _is_name(text: object) -> bool:
    return isinstance(text, str) and bool(text) and not any(separator in text for separator in _SEPARATORS)


def _order(cluster: str, is_bits: bool) -> tuple[int, str]:
    """Bit strings and names in the order of letters, numbers by size."""
    return (0, cluster) if is_bits or not cluster.isdecimal() else (int(cluster), "")
