"""Bytes in and out: plain files, packed ones by their names, ``-`` for standard input and output.

Plain files are read, not mapped: somebody who cuts a mapped file short ends the process (SIGBUS), and reading takes no
longer (297 MB of columns: 23.6 s to read and parse, 25.4 s mapped). Writing goes through `tagline.writing`, so that a
crash leaves the old file whole.
"""

from __future__ import annotations

import codecs
import glob
import gzip
import logging
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import numpy as np
from numpy.typing import NDArray

from tagline.checks import shown_value
from tagline.errors import InputError, StorageError
from tagline.messages import message
from tagline.readers.compressed import PACKED, PARQUET, ZSTD, open_packed
from tagline.readers.encodings import AUTO, guess, tell
from tagline.writing import REMEDIES, open_new

logger = logging.getLogger("tagline")

PathLike = str | os.PathLike[str]
Bytes = NDArray[np.uint8]

LONGEST_PATH = 4096  # characters; no system takes more
BOM = b"\xef\xbb\xbf"
SAMPLE = 1 << 20  # bytes by which an encoding is guessed
NO_TEXTS = ("undefined", "idna", "punycode")  # encodings of strings, as Python has it, but not of files


def name_of(path: PathLike) -> str:
    """Return the name of a source in messages."""
    text = checked_path(path)
    return "<stdin>" if text == "-" else text


def checked_path(path: PathLike) -> str:
    """Return a path as a string, or say that it is none."""
    proper = isinstance(path, str | os.PathLike) and isinstance(text := os.fspath(path), str) and "\0" not in text
    if not proper or len(text) > LONGEST_PATH:
        raise InputError("path: expected the name of a file, or - for a stream, got {}", shown_value(path))
    return text


def files_named(names: Sequence[str]) -> list[str]:
    """Return the files that names stand for: folders are their files, ``*`` and ``?`` are patterns, ``**`` goes deep.

    Files of a folder come in the order of their names; hidden ones are left out.
    """
    paths: list[str] = []
    for name in names:
        if name == "-" or os.path.isfile(checked_path(name)):
            found = [name]
        elif os.path.isdir(name):
            entries = sorted(entry for entry in os.listdir(name) if not entry.startswith("."))
            found = [path for entry in entries if os.path.isfile(path := os.path.join(name, entry))]
        elif glob.has_magic(name):
            found = sorted(path for path in glob.glob(name, recursive=True) if os.path.isfile(path))
        else:
            found = [name]  # its reader says that it is not there
        if not found:
            raise InputError("{}: expected files, got none; check the folder or the pattern", name)
        paths += found
    return paths


@contextmanager
def open_source(path: PathLike) -> Iterator[IO[bytes]]:
    """Open for reading bytes; a missing file, a directory and broken gzip are clear errors."""
    name = name_of(path)
    if os.fspath(path) == "-":
        if sys.stdin is None:
            raise InputError("<stdin>: expected something to read, got a closed stream; name a file")
        yield sys.stdin.buffer
        return
    if Path(path).is_dir():
        raise InputError("{}: expected a file, got a folder", name)
    try:
        with open_packed(path) as stream:
            yield stream
    except FileNotFoundError:
        raise InputError("{}: expected a file, got none of that name; check the path", name) from None
    except PermissionError:
        raise InputError("{}: expected a readable file, got one without permission", name) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError("{}: expected gzip, got something else ({})", name, error) from None


def read_bytes(path: PathLike, encoding: str = "utf-8") -> Bytes:
    """Return a whole source as UTF-8 bytes without a byte order mark."""
    with open_source(path) as stream:
        check_whole = whole_check(stream, path)
        data = stream.read()
        check_whole(len(data))
    if encoding == AUTO:  # by the first bytes that are not ASCII
        samples = (data[place : place + SAMPLE] for place in range(0, len(data), SAMPLE))
        encoding = next((guess(sample) for sample in samples if not sample.isascii()), "utf-8")
        tell(name_of(path), encoding)
    if encoding != "utf-8":
        data = Recoder(name_of(path), encoding)(data, final=True)
    array = np.frombuffer(data, np.uint8)
    return array[3:] if array[:3].tobytes() == BOM else array


def whole_check(stream: IO[bytes], path: PathLike) -> Callable[[int], None]:
    """Return what is called at the end with the bytes that were read: fewer than a plain file has now are an error.

    A file that grows is read as far as it goes.
    """
    status = None if os.fspath(path) == "-" else os.fstat(stream.fileno())
    if status is None or not stat.S_ISREG(status.st_mode) or name_of(path).endswith(PACKED):
        return lambda count: None

    def check(count: int) -> None:
        if count < status.st_size:
            raise InputError(
                "{}: expected {} bytes, as there were at first, got {}; the file was cut short "
                "while it was read: read it again when nobody writes it",
                name_of(path),
                status.st_size,
                count,
            )

    return check


def is_plain(path: PathLike, encoding: str = "utf-8") -> bool:
    """Say whether a source is a plain file of UTF-8, as far as is known: neither packed nor a pipe, and not empty."""
    text = checked_path(path)
    plain = text != "-" and not text.endswith(PACKED) and str(encoding) in ("utf-8", AUTO)
    return plain and os.path.isfile(text) and os.path.getsize(text) > 0


def read_string(path: PathLike, encoding: str = "utf-8") -> str:
    """Return a whole source as a string without a byte order mark."""
    data = read_bytes(path, encoding)
    try:
        return data.tobytes().decode()
    except UnicodeDecodeError:
        raise bad_utf8(name_of(path), data) from None


class Recoder:
    """Turns blocks of one encoding into UTF-8; a character may begin in one block and end in the next."""

    def __init__(self, name: str, encoding: str) -> None:
        self.name, self.encoding = name, encoding
        self.lines = self.bytes = 0  # that were read before this block
        self.decoder = None if str(encoding) in ("utf-8", AUTO) else _decoder_of(encoding)()

    def __call__(self, data: bytes, final: bool = False) -> bytes:
        if self.encoding == AUTO:
            self._decide(data)
        if self.decoder is None:
            return data
        try:
            text = self.decoder.decode(data, final)
        except UnicodeDecodeError as error:
            before = self.bytes + len(data) - len(error.object)  # the error may begin in the last block
            raise wrong_encoding(self.name, error, self.encoding, self.lines, before) from None
        except UnicodeError as error:  # no byte order mark
            raise InputError(
                "{0}:1: expected {1} text, got something else ({2}); name the right encoding, such as {1}-le",
                self.name,
                self.encoding,
                error,
            ) from None
        lines = self.lines
        self.lines += text.count("\n")
        self.bytes += len(data)
        try:
            return text.encode()
        except UnicodeEncodeError as error:  # UTF-7 and escapes can write half a pair
            raise InputError(
                "{}:{}: expected Unicode text, got {!r}, a lone surrogate; mend the text",
                self.name,
                lines + text.count(chr(10), 0, error.start) + 1,
                text[error.start],
            ) from None

    def _decide(self, data: bytes) -> None:
        """Guess the encoding by the first block that is not ASCII."""
        if data.isascii():
            self.lines += data.count(b"\n")
            self.bytes += len(data)
            return
        self.encoding = guess(data)
        tell(self.name, self.encoding)
        self.decoder = None if self.encoding == "utf-8" else _decoder_of(self.encoding)()


def _decoder_of(encoding: str) -> Callable[[], codecs.IncrementalDecoder]:
    """Return what decodes texts of an encoding; Python's other codecs (hex, zlib, rot13, punycode) are refused."""
    try:
        codec = codecs.lookup(encoding)
    except (LookupError, TypeError, ValueError):  # unknown, no string, a NUL in it
        raise InputError("encoding: expected a name that Python knows, got {}", shown_value(encoding)) from None
    if codec.name in NO_TEXTS or not codec._is_text_encoding or codec.incrementaldecoder is None:
        got = shown_value(encoding)
        raise InputError("encoding: expected one of texts, such as utf-8, gb18030 or latin-1, got {}", got)
    return codec.incrementaldecoder


def wrong_encoding(
    name: str, error: UnicodeDecodeError, encoding: str, lines_before: int = 0, bytes_before: int = 0
) -> InputError:
    """Return the error that names the first byte that is not of the encoding.

    Arguments:
        error: of the decoder.
        lines_before, bytes_before: what stands in the file before the bytes that the decoder was given.
    """
    data, start = error.object, error.start
    line = lines_before + data.count(b"\n", 0, start) + 1
    byte = data[start] if start < len(data) else 0
    return InputError(
        "{}:{}: expected {} text, got byte {:#04x} at offset {}; name the right encoding",
        name,
        line,
        encoding,
        byte,
        bytes_before + start,
    )


def bad_utf8(name: str, data: Bytes, first_line: int = 1) -> InputError:
    """Return the error that names the first byte that is not UTF-8."""
    text = data.tobytes()
    try:
        text.decode()
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + first_line
        column = error.start - text.rfind(b"\n", 0, error.start)
        return InputError(
            "{}:{}: expected UTF-8, got byte {:#04x} at byte {} of the line; name the right "
            "encoding, such as encoding='gb18030'",
            name,
            line,
            text[error.start],
            column,
        )
    raise AssertionError("bad_utf8 is called for bytes that are not UTF-8")


@contextmanager
def open_target(path: PathLike) -> Iterator[IO[bytes]]:
    """Open for writing bytes; the file appears whole at the end, or not at all. A name in ``.gz`` is packed."""
    name = checked_path(path)
    if name.endswith((ZSTD, PARQUET)):
        raise InputError("{}: expected a plain file or .gz to write, got another ending; these are only read", name)
    try:
        if name == "-":
            name = message("standard output")
            if sys.stdout is None:
                raise InputError("{}: expected a place to write to, got a closed stream; name a file", name)
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
            return
        with open_new(name) as stream:
            if name.endswith(".gz"):
                with gzip.GzipFile(os.path.basename(name), "wb", fileobj=stream) as packed:
                    yield cast(IO[bytes], packed)
            else:
                yield stream
    except FileNotFoundError:
        raise InputError("{}: expected an existing folder to write into, got none", name) from None
    except UnicodeEncodeError as error:
        around = error.object[max(error.start - 20, 0) : error.end + 20]
        raise InputError(
            "{}: expected Unicode text to write, got {!r}, a lone surrogate, in {!r}; mend the text",
            name,
            error.object[error.start],
            around,
        ) from None
    except IsADirectoryError:
        raise InputError("{}: expected a file to write, got a folder; name a file in it", name) from None
    except OSError as error:
        if error.errno not in REMEDIES:  # a reader that has seen enough, say
            raise
        remedy = REMEDIES[error.errno]
        raise StorageError("{}: expected a place to write to, got: {}; {}", name, error.strerror, remedy) from error


def warn_skipped(name: str, problems: Sequence[str]) -> None:
    """Say in the log how many broken sentences were left out, and what was wrong with the first."""
    if problems:
        logger.warning(message("{}: skipped {} broken sentences; the first: {}", name, len(problems), problems[0]))
