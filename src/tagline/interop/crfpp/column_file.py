"""CRF++'s column files: a token a line, split on runs of tab and blank; a line that is empty, or begins with tab or
blank, ends a sentence, whatever else stands on it. Nothing else is special: a carriage return belongs to the last
field, U+3000 is a word, no line is a comment.

Lines have any length here; CRF++ stops reading at 8,192 bytes, without a word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO

import numpy as np

from tagline.errors import InputError
from tagline.ragged import offsets_of
from tagline.readers.corpus import TOKEN, Column, Corpus

BLOCK = 1 << 20  # bytes that are read at once
BYTES = "latin-1"
"""Text in which each character is a byte: what CRF++ knows of encodings."""

Rows = list[list[str]]


@dataclass(frozen=True, eq=False)
class ColumnSentences:
    """Lines of a file, in sentences.

    Attributes:
        rows: the fields of each token, all sentences one after the other.
        lengths: of the sentences.
        source: the file.
    """

    rows: Rows
    lengths: list[int]
    source: str

    def corpus(self, columns: int) -> Corpus:
        """Return the first columns as a corpus."""
        fields = list(zip(*(row[:columns] for row in self.rows), strict=True)) or [()] * columns
        names = [TOKEN, *map(str, range(1, columns))]
        table = {name: Column.of(words) for name, words in zip(names, fields, strict=True)}
        return Corpus(table, offsets_of(np.array(self.lengths, np.int64)), source=self.source)


def read_all(text: str, source: str) -> ColumnSentences:
    """Read a whole file, whose lines must have as many columns as the first one."""
    sentences = _parse(text.split("\n"), 1, source, 1)
    columns = len(sentences.rows[0]) if sentences.rows else 0
    wrong = next((k for k, row in enumerate(sentences.rows) if len(row) != columns), None)
    if wrong is not None:
        lines = text.split("\n")
        number = [n for n, line in enumerate(lines, 1) if _has_token(line)][wrong]
        if lines[number - 1] == "\r":
            raise InputError(
                "{}:{}: the lines end in CR LF, which makes this one a token for CRF++, not the end "
                "of a sentence; convert the file to LF (dos2unix), or use tagline train, which reads both",
                source,
                number,
            )
        got = sentences.rows[wrong]
        raise InputError(
            "{}:{}: expected {} columns in each line, as in the first, got {} ({!r}: inconsistent column size)",
            source,
            number,
            columns,
            len(got),
            " ".join(got)[:60],
        )
    return sentences


def _has_token(line: str) -> bool:
    return bool(line) and line[0] not in " \t"


def read_blocks(stream: IO[bytes], source: str, least: int) -> Iterator[ColumnSentences]:
    """Read a stream as blocks of whole sentences, in `BYTES`.

    Arguments:
        least: how many columns a line must have.
    """
    lines: list[bytes] = []
    number = 1
    while more := stream.readlines(BLOCK):
        lines += more
        end = next((k for k in range(len(lines), 0, -1) if lines[k - 1][:1] in (b"\n", b" ", b"\t")), 0)
        if end:
            yield _parse(_texts(lines[:end]), number, source, least)
            number, lines = number + end, lines[end:]
    if lines:
        yield _parse(_texts(lines), number, source, least)


def split_lines(lines: Sequence[str]) -> ColumnSentences:
    """Read lines of any number of columns."""
    return _parse(lines, 1, "<text>", 0)


def _texts(lines: Sequence[bytes]) -> list[str]:
    return b"".join(lines).decode(BYTES).removesuffix("\n").split("\n")


def _parse(lines: Sequence[str], first: int, source: str, least: int) -> ColumnSentences:
    rows: Rows = []
    lengths: list[int] = []
    begun = 0
    for number, line in enumerate(lines, first):
        if not _has_token(line):
            if len(rows) > begun:
                lengths.append(len(rows) - begun)
            begun = len(rows)
            continue
        row = [field for field in line.replace("\t", " ").split(" ") if field]
        if len(row) < least:
            raise InputError(
                "{}:{}: expected {} columns or more, as the model looks at them, got {}; "
                "CRF++ would leave out this sentence up to here without a word",
                source,
                number,
                least,
                len(row),
            )
        if "\0" in line:
            raise InputError("{}:{}: expected text, got a zero byte; this looks like a binary file", source, number)
        rows.append(row)
    if len(rows) > begun:
        lengths.append(len(rows) - begun)
    return ColumnSentences(rows, lengths, source)
