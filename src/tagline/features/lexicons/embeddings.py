"""Word vectors from text files of GloVe, word2vec and fastText, gzipped or not.

A line is a word and D numbers with blanks between them; word2vec and fastText put a line with the number of words and D
first. Lines end at a newline and at nothing else, and fields at blanks and tabs, so that words with U+00A0, U+0085 and
the like stay whole; a word may itself have blanks in it. Numbers are parsed a block of lines at a time; a block that
has something unusual in it is read line by line, which also finds what is wrong.
"""

from __future__ import annotations

import logging
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import IO

import numpy as np
from numpy.typing import NDArray

from tagline.checks import shown
from tagline.errors import InputError
from tagline.features.spellings import KNOWN, PADDING, UNKNOWN
from tagline.features.vocabulary import Vocabulary
from tagline.messages import message
from tagline.readers.compressed import position_of
from tagline.readers.sources import BOM, PathLike, name_of, open_source

logger = logging.getLogger("tagline.embeddings")

Vectors = NDArray[np.float32]

Progress = Callable[[int, int], None]
"""Told how many bytes of the file have been read, and how many there are (0 where that is unknown)."""

BLOCK = 1 << 23
LONGEST_LINE = 1 << 24
_MOST_DIGITS = 18  # of how many words and numbers there are
_LARGEST = float(np.finfo(np.float32).max)
_LARGEST_NUMBER = 1e15  # of a vector; their squares are added up
_ODD = (b"\t", b"\r", b"\x0b", b"\x0c", b"  ")
"""What may part two fields besides a single blank."""
_DECIMAL = re.compile(rb"[-+]?\d*\.\d+(e[-+]?\d+)?", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Embeddings:
    """Words and their vectors.

    Attributes:
        words: V distinct ones, in the order of the file.
        vectors: ``[V, D]``, float32.
    """

    words: tuple[str, ...]
    vectors: Vectors

    def __post_init__(self) -> None:
        shape = np.shape(self.vectors)
        if len(shape) != 2 or shape[0] != len(self.words) or len(set(self.words)) != len(self.words):
            raise InputError(
                "Embeddings: expected distinct words and a row for each, got {} and {}", len(self.words), shape
            )
        if not np.isfinite(self.vectors).all() or (np.abs(self.vectors) > _LARGEST_NUMBER).any():
            raise InputError("Embeddings: expected numbers of at most {:g}, got larger ones or NaN", _LARGEST_NUMBER)

    @property
    def size(self) -> int:
        """D."""
        return int(self.vectors.shape[1])

    def table(self, words: Vocabulary, rng: np.random.Generator) -> Vectors:
        """Make the vectors of a model's words, ``[len(words) + 2, D]``, row 0 for padding, row 1 for unknown words.

        A word takes its own vector, or else that of its lower case, or else a random one with numbers as large as the
        others'; the unknown word takes the mean of all vectors.
        """
        if not len(self.words):
            raise InputError("embeddings: expected word vectors, got none")
        table = rng.normal(0.0, float(self.vectors.std()), (len(words) + KNOWN, self.size)).astype(np.float32)
        table[PADDING] = 0
        table[UNKNOWN] = self.vectors.mean(0)
        own = Vocabulary.of(self.words)
        names = words.names()
        rows = own.find_all(names)
        rows = np.where(rows < 0, own.find_all([name.lower() for name in names]), rows)
        table[KNOWN:][rows >= 0] = self.vectors[rows[rows >= 0]]
        return table


def read_embeddings(
    path: PathLike, wanted: Iterable[str] | None = None, *, progress: Progress | None = None
) -> Embeddings:
    """Read a file of word vectors.

    Of a word that occurs twice the first vector counts. Words that are not UTF-8 are left out, with a warning.

    Arguments:
        wanted: the words to keep, all when left out; the numbers of others are not looked at.
        progress: called after each block with the bytes read and the size of the file.
    """
    name = name_of(path)
    reader = _VectorReader(name, None if wanted is None else frozenset(wanted))
    with open_source(path) as stream:
        total = 0 if name == "<stdin>" else os.path.getsize(path)
        for first, block in _blocks(stream, name):
            reader.read(first, block)
            if progress is not None:
                progress(position_of(stream), total)
    return reader.finish()


class _VectorReader:
    """A file that is being read: it takes blocks of lines and keeps words and vectors."""

    def __init__(self, name: str, wanted: frozenset[str] | None) -> None:
        self.name = name
        self.wanted = wanted
        self.dim = 0
        self.announced: int | None = None
        self.num_lines = 0
        self.num_undecoded = 0
        self.words: dict[str, None] = {}
        self.vectors: list[Vectors] = []

    def read(self, first: int, block: bytes) -> None:
        """Take a block of whole lines, given the number of its first one."""
        lines = block.split(b"\n")
        numbers = range(first, first + len(lines))
        if not self.dim:
            lines, numbers = self._begin(lines, numbers)
        if not self.dim:  # blank lines so far
            return
        quick = not any(odd in block for odd in _ODD)
        rows = []  # (line, its numbers) of the words that are kept
        for number, line in zip(numbers, lines, strict=True):
            word, _, rest = line.rstrip().partition(b" ")
            if not quick or not word or not rest or rest.count(b" ") != self.dim - 1:
                if not line.strip():
                    continue
                word, rest = self._cut(number, line)
            self.num_lines += 1
            if self._keeps(word):
                rows.append((number, rest))
        self.vectors.append(self._parse(rows))

    def finish(self) -> Embeddings:
        """Return what was kept; say what was not."""
        if not self.num_lines:
            raise InputError("{}: expected at least one word and its vector, got none; is the file whole?", self.name)
        if self.announced not in (None, self.num_lines):
            logger.warning(
                message(
                    "{}: expected {} words, as its first line says, got {}", self.name, self.announced, self.num_lines
                )
            )
        if self.num_undecoded:
            text = message("{}: left out {} words that are not UTF-8", self.name, self.num_undecoded)
            logger.warning(text)
        return Embeddings(tuple(self.words), np.concatenate(self.vectors))

    def _begin(self, lines: list[bytes], numbers: range) -> tuple[list[bytes], range]:
        """Find D; return the lines after the header, if there is one."""
        filled = [k for k, line in enumerate(lines) if line.strip()][:2]
        if not filled:
            return lines, numbers
        start = filled[0]
        fields = lines[start].split()
        second = lines[filled[1]].split() if len(filled) > 1 else None
        counts = len(fields) == 2 and all(field.isdigit() and len(field) <= _MOST_DIGITS for field in fields)
        if counts and (second is None or len(second) > int(fields[1])):
            self.announced, self.dim = int(fields[0]), int(fields[1])
            start += 1
        else:
            self.dim = len(list(takewhile(_is_number, reversed(fields[1:]))))
        if not self.dim:
            raise InputError(
                "{}:{}: expected a word and its numbers, got {}; give a text file of GloVe, "
                "word2vec or fastText, gzipped or not",
                self.name,
                numbers[filled[0]],
                _quote(lines[filled[0]]),
            )
        return lines[start:], numbers[start:]

    def _cut(self, number: int, line: bytes) -> tuple[bytes, bytes]:
        """Take the word, which may have blanks in it, from its D numbers."""
        word, *rest = line.rsplit(None, self.dim)
        count = len(rest)
        if len(fields := word.split()) > 1 and _DECIMAL.fullmatch(fields[-1]):
            count += len(list(takewhile(_is_number, reversed(fields[1:]))))
        if count != self.dim:
            raise InputError(
                "{}:{}: expected a word and {} numbers, got {} ({})", self.name, number, self.dim, count, _quote(line)
            )
        return word, b" ".join(rest)

    def _keeps(self, raw: bytes) -> bool:
        """Say whether the vector of a word is to be kept; if so, keep the word."""
        try:
            word = raw.decode()
        except UnicodeDecodeError:
            self.num_undecoded += 1
            return False
        if word in self.words or (self.wanted is not None and word not in self.wanted):
            return False
        self.words[word] = None
        return True

    def _parse(self, rows: Sequence[tuple[int, bytes]]) -> Vectors:
        """Turn the numbers of lines into an array ``[lines, D]``."""
        values = _numbers(b" ".join([rest for _, rest in rows]))
        if len(values) != len(rows) * self.dim or not np.isfinite(values).all():
            fields = ((number, field) for number, rest in rows for field in rest.split())
            values = np.array([self._number(number, field) for number, field in fields], np.float32)
        return values.reshape(len(rows), self.dim)

    def _number(self, number: int, field: bytes) -> float:
        if not _is_number(field) or not abs(float(field)) <= _LARGEST:
            raise InputError("{}:{}: expected finite numbers after the word, got {}", self.name, number, _quote(field))
        return float(field)


def _blocks(stream: IO[bytes], name: str) -> Iterator[tuple[int, bytes]]:
    """Cut a stream into blocks of whole lines, each with the number of its first line."""
    first, rest = 1, b""
    while data := stream.read(BLOCK):
        block, newline, rest = (rest + data).rpartition(b"\n")
        if newline:
            yield first, block.removeprefix(BOM) if first == 1 else block
            first += block.count(b"\n") + 1
        elif len(rest) > LONGEST_LINE:
            raise InputError(
                "{}:{}: expected a word and its numbers, got a line of over {} bytes", name, first, LONGEST_LINE
            )
    if rest:
        yield first, rest.removeprefix(BOM) if first == 1 else rest


def _numbers(text: bytes) -> Vectors:
    """Parse numbers, up to the first field that is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # older NumPy's way to say that it stopped early
        try:
            return np.fromstring(text, np.float32, sep=" ")
        except ValueError:
            return np.zeros(0, np.float32)


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _quote(text: bytes) -> str:
    return shown(text.decode(errors="replace").strip())
