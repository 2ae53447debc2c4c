"""Column files (CoNLL, CRF++): one token a line, fields split on runs of blank and tab, a blank line between sentences.

Other Unicode spaces are ordinary characters (U+3000 is a token in some corpora). The compiled core parses in parallel
from the mapped file; without it the same rules run in Python. `iter_columns` reads files of any size in blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tagline import compiled
from tagline.checks import check_switch, check_whole, shown, shown_value
from tagline.errors import InputError
from tagline.messages import message
from tagline.ragged import offsets_of, row_of
from tagline.readers.blocks import BLANK_LINE, read_blocks, whole_sentences
from tagline.readers.corpus import TAG, TOKEN, Column, Corpus
from tagline.readers.sources import (
    BOM,
    Bytes,
    PathLike,
    bad_utf8,
    is_plain,
    name_of,
    open_target,
    read_bytes,
    warn_skipped,
)
from tagline.types import IntArray

PIECE_BYTES = 1 << 25  # of packed files and pipes, which are parsed as they come
MOST_COLUMNS = 4096  # more fields on a line are a text


class BrokenLineError(InputError):
    """A line that cannot be read, with the place of its first byte among those that were parsed."""

    def __init__(self, problem: str, begin: int) -> None:
        super().__init__(problem)
        self.begin = begin


@dataclass(frozen=True)
class ColumnFormat:
    """How a column file is read.

    Attributes:
        names: of the columns; by default ``token``, ``1``, ``2``, …, and ``tag`` for the label.
        label: position of the label column, None for files without labels.
        comment: lines that begin with it are left out.
        docstart: whether ``-DOCSTART-`` lines are left out.
        strict: whether a broken line is an error; otherwise its sentence is skipped and reported.
    """

    names: Sequence[str] | None = None
    label: int | None = -1
    comment: str = ""
    docstart: bool = False
    strict: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.comment, str) or any("\ud800" <= sign <= "\udfff" for sign in self.comment):
            raise InputError(
                "comment: expected how comments begin, or an empty string, got {}", shown_value(self.comment)
            )
        for switch in ("docstart", "strict"):
            check_switch(switch, getattr(self, switch))
        names = self.names
        named = isinstance(names, Sequence) and not isinstance(names, str)
        if names is not None and not (named and all(isinstance(name, str) for name in names)):
            raise InputError("names: expected a list of the columns' names, or None, got {}", shown_value(names))
        check_whole("label", self.label, optional=True, wanted=message("the number of a column, or None"))

    def names_for(self, source: str, columns: int) -> list[str]:
        """Name the columns of a file that has this many."""
        if self.names is not None:
            if len(self.names) != columns:
                named = shown(", ".join(self.names))[1:-1]
                raise InputError("{}: expected {} columns ({}), got {}", source, len(self.names), named, columns)
            return list(self.names)
        names = [TOKEN, *map(str, range(1, columns))]
        if self.label is not None and columns > 1:
            if not -columns <= self.label < columns:
                raise InputError(
                    "{}: expected a label column among {}, got {}", source, columns, shown_value(self.label)
                )
            names[self.label] = TAG
        return names


def read_columns(
    path: PathLike,
    *,
    names: Sequence[str] | None = None,
    label: int | None = -1,
    encoding: str = "utf-8",
    comment: str = "",
    docstart: bool = False,
    strict: bool = True,
) -> Corpus:
    """Read a column file into a corpus.

    Arguments:
        path: a file, ``.gz`` or not, or ``-`` for standard input.
        names: of the columns; by default ``token``, ``1``, …, with ``tag`` for the label.
        label: position of the label column (the last by default); None where there is none.
        encoding: of the file; "auto" for UTF-8, or GB18030 where it is that. A byte order mark is left out.
        comment: lines that begin with this are left out.
        docstart: leave out ``-DOCSTART-`` lines.
        strict: raise at the first broken line; with False, skip its sentence and report it in the log and in
            `Corpus.problems`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from tagline import readers
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     size = Path(f"{folder}/train.txt").write_text("Anna NNP B-PER")
    ...     corpus = readers.read_columns(f"{folder}/train.txt", names=["token", "pos", "tag"])
    >>> corpus.tokens, corpus.sequences("pos"), corpus.tags
    ([['Anna']], [['NNP']], [['B-PER']])
    """
    form, source = ColumnFormat(names, label, comment, docstart, strict), name_of(path)
    if is_plain(path, encoding):
        pieces = [parse_block(read_bytes(path, encoding), form, source, 0, 0)[0]]
    else:
        blocks = whole_sentences(read_blocks(path, encoding, PIECE_BYTES), BLANK_LINE, source)
        pieces = list(parse_blocks(blocks, form, source))
    corpus = _joined(pieces)
    if corpus is None:
        raise InputError(
            "{}: expected sentences, got {}", source, message("none") if pieces else message("an empty file")
        )
    warn_skipped(name_of(path), corpus.problems)
    return corpus


def iter_columns(
    path: PathLike,
    *,
    names: Sequence[str] | None = None,
    label: int | None = -1,
    encoding: str = "utf-8",
    comment: str = "",
    docstart: bool = False,
    strict: bool = True,
    block_bytes: int = 1 << 24,
) -> Iterator[Corpus]:
    """Read a column file of any size as a stream of corpora, each of about ``block_bytes`` of text; see `read_columns`.

    A sentence is never cut. Memory depends on the block and the longest sentence, not on the file.

    >>> import tempfile
    >>> from tagline import datasets, readers
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     readers.write_columns(datasets.make_entities(300), f"{folder}/train.txt")
    ...     [len(block) for block in readers.iter_columns(f"{folder}/train.txt", block_bytes=20_000)]
    [175, 125]
    """
    form = ColumnFormat(names, label, comment, docstart, strict)
    blocks = whole_sentences(read_blocks(path, encoding, block_bytes), BLANK_LINE, name_of(path))
    for corpus in parse_blocks(blocks, form, name_of(path)):
        warn_skipped(corpus.source, corpus.problems)
        if len(corpus) or corpus.problems:
            yield corpus


def parse_blocks(blocks: Iterable[bytes], form: ColumnFormat, source: str) -> Iterator[Corpus]:
    """Parse blocks of whole sentences that follow one another in a source."""
    columns, lines = 0, 0
    for block in blocks:
        corpus, columns, lines_read = parse_block(np.frombuffer(block, np.uint8), form, source, columns, lines)
        lines += lines_read
        yield corpus


def write_columns(corpus: Corpus, path: PathLike, *, separator: str = " ") -> None:
    """Write a column file that `read_columns` reads back.

    What it cannot hold is an error: a sentence without tokens, an empty field, a field with blanks.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from tagline import Corpus, readers
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     readers.write_columns(Corpus.from_sentences([(["Anna", "sings"], ["B-PER", "O"])]), f"{folder}/train.txt")
    ...     print(Path(f"{folder}/train.txt").read_text().strip())
    Anna B-PER
    sings O
    """
    if not isinstance(separator, str):
        raise InputError("separator: expected a string between columns, got {}", shown_value(separator))
    refuse_empty(corpus)
    refuse_blanks(corpus)
    with open_target(path) as stream:
        columns = list(corpus.columns.values())
        if corpus.num_tokens and columns[0][:1][0].startswith("\ufeff"):  # readers leave out one mark at the beginning
            stream.write(BOM)
        for first, last in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True):
            fields = zip(*(column[first:last] for column in columns), strict=True)
            stream.write("".join(separator.join(row) + "\n" for row in fields).encode() + b"\n")


def refuse_others(corpus: object) -> None:
    """Raise where something else than a corpus is to be written."""
    if not isinstance(corpus, Corpus):
        raise InputError("corpus: expected a Corpus to write, got {}; see Corpus.from_sentences", type(corpus).__name__)


def refuse_empty(corpus: Corpus) -> None:
    """Raise where a sentence has no tokens: files with a blank line between sentences cannot hold it."""
    refuse_others(corpus)
    empty = np.flatnonzero(np.diff(corpus.offsets) == 0)
    if len(empty):
        place = corpus.place(int(empty[0]))
        raise InputError("{}: expected tokens to write, got an empty sentence; leave it out, or use JSON lines", place)


def refuse_blanks(corpus: Corpus, blanks: str = " \t\n\r") -> None:
    """Raise where a field is empty or has blanks in it, which a column file cannot hold."""
    for name, column in corpus.columns.items():
        for number, word in enumerate(column.vocabulary):
            unfit = not word or any(blank in word for blank in blanks)
            if unfit and len(places := np.flatnonzero(column.ids == number)):
                b = row_of(corpus.offsets, int(places[0]))
                raise InputError(
                    "{}: expected a {} without blanks to write in a column, got {!r}", corpus.place(b), name, word
                )


def parse_block(
    data: Bytes, form: ColumnFormat, source: str, columns: int, lines_before: int
) -> tuple[Corpus, int, int]:
    """Parse whole sentences.

    Arguments:
        data: their bytes, UTF-8.
        columns: how many the file has; 0 where no line of it was read yet.
        lines_before: lines of the file that stand before these bytes.

    Returns:
        The corpus, the number of columns, and the number of lines.
    """
    parse = _parse_in_python if compiled.core is None else compiled.core.parse_columns
    offsets, lines, parts, broken, columns, total = parse(
        data, columns, MOST_COLUMNS, form.comment, bool(form.docstart), not form.strict
    )
    problems = [_problem(data, source, lines_before, columns, *line) for line in broken]
    if problems and (form.strict or columns > MOST_COLUMNS):
        raise BrokenLineError(problems[0], broken[0][1])
    try:
        tables = [Column(tuple(words.decode().split("\n")) if len(words) else (), ids) for words, ids in parts]
    except UnicodeDecodeError:
        raise _bad_text(source, data, lines_before) from None
    if not columns:
        return Corpus({TOKEN: Column((), np.empty(0, np.int32))}, [0], source=source, lines=[]), 0, total
    named = dict(zip(form.names_for(source, columns), tables, strict=True))
    corpus = Corpus(named, offsets, source=source, lines=lines + lines_before, problems=problems)
    return corpus, columns, total


def _joined(pieces: Sequence[Corpus]) -> Corpus | None:
    """The sentences of one source that was read in pieces; None where there are none."""
    full = [piece for piece in pieces if len(piece)]
    if len(pieces) <= 1 or not full:
        return full[0] if full else None
    return Corpus(
        {name: Column.joined([piece.column(name) for piece in full]) for name in full[0].names},
        offsets_of(np.concatenate([piece.lengths for piece in full])),
        source=full[0].source,
        lines=[line for piece in full if piece.lines is not None for line in piece.lines],
        problems=[problem for piece in pieces for problem in piece.problems],
    )


def _problem(
    data: Bytes, source: str, lines_before: int, columns: int, line: int, begin: int, end: int, got: int
) -> str:
    where = f"{source}:{lines_before + line}"
    if got < 0:
        return message("{}: expected text, got a zero byte; this looks like a binary file", where)
    text = data[begin : min(end, begin + 400)].tobytes().decode(errors="replace")
    if columns > MOST_COLUMNS:
        return message(
            "{}: expected up to {} columns, got {} ({}); this looks like raw text: "
            "read it as text, or put each token on a line",
            where,
            MOST_COLUMNS,
            got,
            shown(text),
        )
    return message("{}: expected {} columns, got {} ({})", where, columns, got, shown(text))


def _bad_text(source: str, data: Bytes, lines_before: int) -> BrokenLineError:
    try:
        data.tobytes().decode()
    except UnicodeDecodeError as error:
        return BrokenLineError(str(bad_utf8(source, data, lines_before + 1)), error.start)
    raise AssertionError("_bad_text is called for bytes that are not UTF-8")


_Broken = tuple[int, int, int, int]
_Parts = list[tuple[bytes, np.ndarray]]


def _parse_in_python(
    data: Bytes, columns: int, most: int, comment: str, docstart: bool, skip_broken: bool
) -> tuple[IntArray, IntArray, _Parts, list[_Broken], int, int]:
    """The rules of the compiled parser, for machines without it."""
    offsets, starts, broken = [0], [], list[_Broken]()
    rows: list[list[bytes]] = []  # of all sentences
    sentence: list[list[bytes]] = []  # the one that is being read
    at, number, start, skipping = 0, 0, 0, False

    def finish() -> None:
        nonlocal skipping
        if sentence and not skipping:
            rows.extend(sentence)
            offsets.append(len(rows))
            starts.append(start)
        sentence.clear()
        skipping = False

    lines = data.tobytes().split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    for number, line in enumerate(lines, 1):
        begin, at = at, at + len(line) + 1
        text = line.removesuffix(b"\r")
        if comment and text.startswith(comment.encode()):
            continue
        fields = [field for field in re.split(rb"[ \t]+", text) if field]
        if not fields or (docstart and fields[0] == b"-DOCSTART-"):
            finish()
            continue
        columns = columns or len(fields)
        if columns > most:
            first = (number, begin, begin + len(text), columns)
            return np.zeros(1, np.int64), np.empty(0, np.int64), [], [first], columns, 0
        if b"\0" in text or len(fields) != columns:
            if not skipping:
                broken.append((number, begin, begin + len(text), -1 if b"\0" in text else len(fields)))
            skipping = True
            if not skip_broken:
                break
            continue
        if not sentence:
            start = number
        sentence.append(fields)
    else:
        finish()
    parts: _Parts = []
    for c in range(columns):
        numbers: dict[bytes, int] = {}
        ids = np.fromiter((numbers.setdefault(row[c], len(numbers)) for row in rows), np.int32)
        parts.append((b"\n".join(numbers), ids))
    return np.array(offsets), np.array(starts, np.int64), parts, broken, columns, number
