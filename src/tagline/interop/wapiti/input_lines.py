"""Sentences as Wapiti reads them: lines of words between blanks, blank lines between sentences, in bytes.

With patterns the words of a line are columns; without, each is an observation, whose first letter says what it is
crossed with. What Wapiti would read otherwise than it stands there (a NUL ends a line, a missing column a run) is an
error that names the line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, BinaryIO

from tagline.errors import InputError
from tagline.features.expressions.byte_text import text_of
from tagline.features.templates.template import Template
from tagline.ragged import offsets_of
from tagline.readers.corpus import Column, Corpus

CHUNK = 1 << 20


@dataclass(frozen=True)
class InputBlock:
    """Sentences that stand one behind the other.

    Attributes:
        lines: of all sentences, without line breaks.
        numbers: of the lines in their file, from 1.
        lengths: of the sentences.
        source: the file, for messages.
    """

    lines: list[bytes]
    numbers: list[int]
    lengths: list[int]
    source: str

    def words(self, labelled: bool) -> tuple[list[list[str]], list[str] | None]:
        """Return the words of each line, and where they are labelled, the last of them apart."""
        read = _TextOfWords()
        rows = [[read[word] for word in line.split()] for line in self.lines]
        return (rows, [row.pop() for row in rows]) if labelled else (rows, None)

    def place(self, line: int) -> str:
        """Say where a line is."""
        return f"{self.source}:{self.numbers[line]}"


class _TextOfWords(dict[bytes, str]):
    """Words as text, each distinct one read once."""

    def __missing__(self, word: bytes) -> str:
        return self.setdefault(word, text_of(word))


def read_blocks(stream: BinaryIO, source: str) -> Iterator[InputBlock]:
    """Read sentences as they arrive: each block has those that are complete."""
    rest, number = b"", 0
    lines: list[bytes] = []
    numbers: list[int] = []
    while True:
        chunk = _read(stream)
        rows = (rest + chunk).split(b"\n")
        rest = rows.pop() if chunk else b""
        lengths: list[int] = []
        begin = 0
        for row in rows:
            number += 1
            if b"\0" in row:
                raise InputError(
                    "{}:{}: expected text, got a NUL byte, at which Wapiti would stop reading", source, number
                )
            if row.strip():
                lines.append(row)
                numbers.append(number)
            elif len(lines) > begin:
                lengths.append(len(lines) - begin)
                begin = len(lines)
        if not chunk and len(lines) > begin:
            lengths.append(len(lines) - begin)
            begin = len(lines)
        if lengths:
            yield InputBlock(lines[:begin], numbers[:begin], lengths, source)
            lines, numbers = lines[begin:], numbers[begin:]
        if not chunk:
            return


def _read(stream: BinaryIO) -> bytes:
    read: Any = getattr(stream, "read1", stream.read)
    data: bytes = read(CHUNK)
    return data


def joined(blocks: Sequence[InputBlock], source: str) -> InputBlock:
    """Return one block of several."""
    return InputBlock(
        [line for block in blocks for line in block.lines],
        [number for block in blocks for number in block.numbers],
        [length for block in blocks for length in block.lengths],
        source,
    )


def corpus_of(block: InputBlock, rows: list[list[str]], template: Template) -> Corpus:
    """Return words as the columns that a template asks for."""
    width = template.num_columns
    for line, row in enumerate(rows):
        if len(row) < width:
            raise InputError(
                "{}: expected {} columns, as the patterns ask for, got {} ({!r:.60})",
                block.place(line),
                width,
                len(row),
                " ".join(row),
            )
    columns = {f"column {c}": Column.of([row[c] for row in rows]) for c in range(width)}
    columns = columns or {"column 0": Column.of([""] * len(rows))}  # patterns that look at no word
    return Corpus(columns, offsets_of(block.lengths), source=block.source)


Observations = list[list[list[str]]]


def observations_of(block: InputBlock, rows: list[list[str]]) -> tuple[Observations, Observations]:
    """Return the words of each token as observations: those of its label, and those of the pair of labels."""
    for line, row in enumerate(rows):
        for word in row:
            if word[0] not in "ub*":
                raise InputError(
                    "{}: expected words that begin with u, b or *, as the model has no patterns, got {!r:.60}",
                    block.place(line),
                    word,
                )
    states, edges = ([[word for word in row if word[0] != other] for row in rows] for other in "bu")
    bounds = offsets_of(block.lengths).tolist()
    cut = [slice(first, last) for first, last in pairwise(bounds)]
    return [states[part] for part in cut], [edges[part] for part in cut]
