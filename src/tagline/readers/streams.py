"""Sentences as they arrive: files block by block, standard input as soon as a sentence is whole.

Memory holds one block, whatever the size of the input. Columns end a sentence with a blank line; of JSON lines and raw
text every line is one.
"""

from __future__ import annotations

import codecs
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagline.cli.tokens import Cut
from tagline.errors import InputError
from tagline.readers.columns import ColumnFormat, parse_block
from tagline.readers.corpus import TOKEN, Column, Corpus
from tagline.readers.sources import BOM, PathLike, bad_utf8, name_of, open_source, shown

INPUTS = ("columns", "jsonl", "text")
BLOCK = 1 << 20  # bytes

_BLANK_LINE = re.compile(rb"\n[ \t\r]*\n")
_LINE = re.compile(rb"\n")


@dataclass(frozen=True, eq=False)
class Batch:
    """Sentences that were read together.

    Attributes:
        corpus: all columns of the input.
        items: the JSON objects that the sentences come from; None for other formats.
    """

    corpus: Corpus
    items: Sequence[Mapping[str, Any]] | None = None


def read_stream(path: PathLike, form: str, cut: Cut, *, encoding: str = "utf-8", block: int = BLOCK) -> Iterator[Batch]:
    """Read sentences without keeping them.

    Arguments:
        path: a file, ``.gz`` or not, or ``-`` for standard input.
        form: ``columns``, ``jsonl`` or ``text``.
        cut: what finds the tokens of raw text.
        encoding: of the input.
        block: bytes read at once.
    """
    if form not in INPUTS:
        raise InputError(f"--format: expected one of {', '.join(INPUTS)}, got {form!r}")
    name = name_of(path)
    if form == "columns":
        yield from _columns(_whole(_bytes(path, encoding, block), _BLANK_LINE), name)
        return
    read = _texts if form == "text" else _json
    for number, lines in _lines(_whole(_bytes(path, encoding, block), _LINE), name):
        batch = read(lines, cut, name, number)
        if len(batch.corpus):
            yield batch


def _bytes(path: PathLike, encoding: str, block: int) -> Iterator[bytes]:
    """UTF-8, without a byte order mark."""
    try:
        decoder = None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)()
    except LookupError:
        raise InputError(f"--encoding: expected a name that Python knows, got {encoding!r}") from None
    with open_source(path) as stream:
        # One read of a pipe gives what is there; a plain read would wait for a whole block.
        read: Callable[[int], bytes] = getattr(stream, "read1", stream.read) if os.fspath(path) == "-" else stream.read
        data, first = read(block), True
        while data:
            yield _recoded(data, decoder, name_of(path), encoding).removeprefix(BOM if first else b"")
            data, first = read(block), False
        yield _recoded(b"", decoder, name_of(path), encoding, final=True)


def _recoded(
    data: bytes, decoder: codecs.IncrementalDecoder | None, name: str, encoding: str, final: bool = False
) -> bytes:
    if decoder is None:
        return data
    try:
        return decoder.decode(data, final).encode()
    except UnicodeDecodeError as error:
        wrong = error.object[error.start] if error.start < len(error.object) else 0
        raise InputError(f"{name}: expected {encoding} text, got byte {wrong:#04x}; name the right encoding") from None


def _whole(blocks: Iterator[bytes], end: re.Pattern[bytes]) -> Iterator[bytes]:
    """Cut where a sentence ends; what is left over waits for the next block."""
    rest = b""
    for block in blocks:
        text = rest + block
        ends = [match.end() for match in end.finditer(text, max(len(rest) - 4096, 0))]
        if ends:
            yield text[: ends[-1]]
        rest = text[ends[-1] :] if ends else text
    if rest:
        yield rest


def _columns(blocks: Iterator[bytes], name: str) -> Iterator[Batch]:
    columns, lines = 0, 0
    for block in blocks:
        corpus, columns, read = parse_block(
            np.frombuffer(block, np.uint8), ColumnFormat(label=None), name, columns, lines
        )
        lines += read
        if len(corpus):
            yield Batch(corpus)


def _lines(blocks: Iterator[bytes], name: str) -> Iterator[tuple[int, list[str]]]:
    """Lines as text, and the number of the first."""
    number = 1
    for block in blocks:
        try:
            lines = block.decode().removesuffix("\n").split("\n")
        except UnicodeDecodeError:
            raise bad_utf8(name, np.frombuffer(block, np.uint8), number) from None
        yield number, [line.removesuffix("\r") for line in lines]
        number += len(lines)


def _texts(lines: Sequence[str], cut: Cut, name: str, number: int) -> Batch:
    return Batch(texts_as_corpus(lines, cut, name, range(number, number + len(lines))))


def texts_as_corpus(texts: Sequence[str], cut: Cut, source: str = "", lines: Sequence[int] | None = None) -> Corpus:
    """Cut texts into tokens, one sentence each."""
    places = [cut(text) for text in texts]
    words = Column.of(text[start:end] for text, found in zip(texts, places, strict=True) for start, end in found)
    flat = np.array([place for found in places for place in found], np.int64).reshape(-1, 2)
    offsets = np.cumsum([0, *map(len, places)])
    return Corpus({TOKEN: words}, offsets, source=source, lines=lines, texts=texts, token_spans=flat)


def _json(lines: Sequence[str], cut: Cut, name: str, number: int) -> Batch:
    rows = [(n, line) for n, line in enumerate(lines, number) if line.strip()]
    items = [_item(f"{name}:{n}", line) for n, line in rows]
    numbers = [n for n, _ in rows]
    if all(_has_text(item) for item in items):
        return Batch(texts_as_corpus([item["text"] for item in items], cut, name, numbers), items)
    tokens = [_tokens(item, cut) for item in items]
    words = Column.of(word for sentence in tokens for word in sentence)
    return Batch(Corpus({TOKEN: words}, np.cumsum([0, *map(len, tokens)]), source=name, lines=numbers), items)


def _item(place: str, line: str) -> dict[str, Any]:
    try:
        item = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"{place}: expected JSON, got {shown(line)} ({error})") from None
    if isinstance(item, dict):
        tokens = item.get("tokens")
        if _has_text(item) or (isinstance(tokens, list) and all(isinstance(token, str) for token in tokens)):
            return item
    raise InputError(f'{place}: expected {{"tokens": [...]}} or {{"text": "..."}}, got {shown(line)}')


def _has_text(item: Mapping[str, Any]) -> bool:
    return isinstance(item.get("text"), str)


def _tokens(item: Mapping[str, Any], cut: Cut) -> list[str]:
    if _has_text(item):
        return [item["text"][start:end] for start, end in cut(item["text"])]
    return list(item["tokens"])
