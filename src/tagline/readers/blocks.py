"""Bytes block by block, cut where a sentence ends: what readers of endless input share.

Memory holds one block and the longest sentence, whatever the size of the input.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator

import numpy as np

from tagline.checks import check_whole
from tagline.errors import InputError
from tagline.messages import message
from tagline.readers.compressed import position_of
from tagline.readers.sources import BOM, PathLike, Recoder, bad_utf8, name_of, open_source, whole_check

BLANK_LINE = re.compile(rb"\n[ \t\r]*\n")
LINE = re.compile(rb"\n")

BLOCK_BYTES = 1 << 20
LONGEST = 1 << 28  # bytes of a sentence
MOST_BYTES = 1 << 30  # of a block: a stream takes that much memory before it begins to read

_LONGEST_END = 4096  # bytes of a blank line that two blocks may share


def read_blocks(
    path: PathLike, encoding: str, size: int, position: Callable[[int], None] | None = None
) -> Iterator[bytes]:
    """Read a source as UTF-8, about `size` bytes at once, without a byte order mark.

    After each block `position` is told how many bytes of the source were read, as they lie on the disk.
    """
    check_whole("block_bytes", size, 1, MOST_BYTES, wanted=message("a number of bytes, 1 or more"))
    recode = Recoder(name_of(path), encoding)
    with open_source(path) as stream:
        # One read of a pipe gives what is there; a plain read would wait for a whole block.
        read: Callable[[int], bytes] = getattr(stream, "read1", stream.read) if os.fspath(path) == "-" else stream.read
        check_end, count = whole_check(stream, path), 0
        data, mark = read(size), BOM
        while data:
            if position is not None:
                position(position_of(stream))
            count += len(data)
            yield recode(data).removeprefix(mark)
            data, mark = read(size), b""
        check_end(count)
        yield recode(b"", final=True)


def whole_sentences(blocks: Iterator[bytes], end: re.Pattern[bytes], source: str) -> Iterator[bytes]:
    """Cut blocks where a sentence ends; what is left over waits for the next block, up to `LONGEST` bytes."""
    rest: list[bytes] = []
    before, waiting = b"", 0  # the end of what is left over, and its size
    for block in blocks:
        text = before + block
        cut = max((match.end() for match in end.finditer(text)), default=0) - len(before)
        if cut > 0:
            yield b"".join([*rest, block[:cut]])
            rest, block, text, waiting = [], block[cut:], block[cut:], 0
        rest.append(block)
        waiting += len(block)
        before = text[-_LONGEST_END:]
        if waiting > LONGEST:
            what = message("a blank line") if end is BLANK_LINE else message("the end of a line")
            raise InputError(
                "{}: expected {} within {:,} bytes, got none; this looks like no text", source, what, LONGEST
            )
    if waiting:
        yield b"".join(rest)


def read_lines(path: PathLike, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    """Read the lines of a text and their numbers, from 1, without their ends; memory holds one block."""
    blocks = whole_sentences(read_blocks(path, encoding, BLOCK_BYTES), LINE, name_of(path))
    number = 1
    for block in blocks:
        try:
            lines = block.decode().removesuffix("\n").split("\n")
        except UnicodeDecodeError:
            raise bad_utf8(name_of(path), np.frombuffer(block, np.uint8), number) from None
        yield from enumerate((line.removesuffix("\r") for line in lines), number)
        number += len(lines)
