"""Bytes block by block, cut where a sentence ends: what readers of endless input share.

Memory holds one block and the longest sentence, whatever the size of the input.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator

from tagline.errors import InputError
from tagline.readers.sources import BOM, PathLike, Recoder, name_of, open_source, shown_value, whole_check

BLANK_LINE = re.compile(rb"\n[ \t\r]*\n")
LINE = re.compile(rb"\n")

_LONGEST_END = 4096  # bytes of a blank line that two blocks may share


def read_blocks(path: PathLike, encoding: str, size: int) -> Iterator[bytes]:
    """Read a source as UTF-8, about `size` bytes at once, without a byte order mark."""
    if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size < 2**62:
        raise InputError(f"block_bytes: expected a number of bytes, 1 or more, got {shown_value(size)}")
    recode = Recoder(name_of(path), encoding)
    with open_source(path) as stream:
        # One read of a pipe gives what is there; a plain read would wait for a whole block.
        read: Callable[[int], bytes] = getattr(stream, "read1", stream.read) if os.fspath(path) == "-" else stream.read
        check_whole, count = whole_check(stream, path), 0
        data, mark = read(size), BOM
        while data:
            count += len(data)
            yield recode(data).removeprefix(mark)
            data, mark = read(size), b""
        check_whole(count)
        yield recode(b"", final=True)


def whole_sentences(blocks: Iterator[bytes], end: re.Pattern[bytes]) -> Iterator[bytes]:
    """Cut blocks where a sentence ends; what is left over waits for the next block."""
    rest = b""
    for block in blocks:
        text = rest + block
        ends = [match.end() for match in end.finditer(text, max(len(rest) - _LONGEST_END, 0))]
        if ends:
            yield text[: ends[-1]]
        rest = text[ends[-1] :] if ends else text
    if rest:
        yield rest
