"""Sentences as they arrive: files block by block, standard input as soon as a sentence is whole.

Memory holds one block, whatever the size of the input. A blank line ends a sentence of columns; each line of JSON lines
and of raw text is a sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tagline.errors import InputError
from tagline.ragged import offsets_of
from tagline.readers.blocks import BLANK_LINE, BLOCK_BYTES, LINE, decoded_lines, read_blocks, whole_sentences
from tagline.readers.columns import ColumnFormat, parse_blocks
from tagline.readers.corpus import TOKEN, Column, Corpus
from tagline.readers.jsonl import parse_json
from tagline.readers.sources import PathLike, name_of, shown
from tagline.readers.text import Cut, corpus_of_texts

INPUTS = ("columns", "jsonl", "text")


@dataclass(frozen=True, eq=False)
class Block:
    """Sentences that were read together.

    Attributes:
        corpus: all columns of the input.
        objects: the JSON objects that the sentences come from; None for other formats.
    """

    corpus: Corpus
    objects: Sequence[Mapping[str, Any]] | None = None


def read_stream(
    path: PathLike, form: str, cut: Cut, *, encoding: str = "utf-8", block: int = BLOCK_BYTES
) -> Iterator[Block]:
    """Read sentences without keeping them.

    Arguments:
        path: a file, ``.gz`` or not, or ``-`` for standard input.
        form: ``columns``, ``jsonl`` or ``text``.
        cut: finds the tokens of raw text.
        encoding: of the input.
        block: bytes read at once.
    """
    if form not in INPUTS:
        raise InputError(f"format: expected one of {', '.join(INPUTS)}, got {form!r}")
    name, blocks = name_of(path), read_blocks(path, encoding, block)
    if form == "columns":
        corpora = parse_blocks(whole_sentences(blocks, BLANK_LINE, name), ColumnFormat(label=None), name)
        yield from (Block(corpus) for corpus in corpora if len(corpus))
        return
    read = _texts if form == "text" else _json
    for number, lines in decoded_lines(whole_sentences(blocks, LINE, name), name):
        sentences = read(lines, cut, name, number)
        if len(sentences.corpus):
            yield sentences


def _texts(lines: Sequence[str], cut: Cut, name: str, number: int) -> Block:
    return Block(corpus_of_texts(lines, cut, source=name, lines=range(number, number + len(lines))))


def _json(lines: Sequence[str], cut: Cut, name: str, number: int) -> Block:
    rows = [(n, line) for n, line in enumerate(lines, number) if line.strip()]
    objects = [_object(f"{name}:{n}", line) for n, line in rows]
    numbers = [n for n, _ in rows]
    if all(map(_has_text, objects)):
        return Block(corpus_of_texts([item["text"] for item in objects], cut, source=name, lines=numbers), objects)
    tokens = [_tokens(item, cut) for item in objects]
    words = Column.of(word for sentence in tokens for word in sentence)
    offsets = offsets_of([len(sentence) for sentence in tokens])
    return Block(Corpus({TOKEN: words}, offsets, source=name, lines=numbers), objects)


def _object(place: str, line: str) -> dict[str, Any]:
    item = parse_json(place, line)
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
