"""Sentences as they arrive: files block by block, standard input as soon as a sentence is whole.

Memory holds one block, whatever the size of the input. A blank line ends a sentence of columns; each line of JSON lines
and of raw text is a sentence. What comes before a broken sentence is answered before the error is raised; whoever
gives `skip` is told of each broken sentence instead, and goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from tagline.checks import check_choice, shown
from tagline.errors import InputError
from tagline.messages import message
from tagline.ragged import offsets_of
from tagline.readers.blocks import BLANK_LINE, BLOCK_BYTES, LINE, read_blocks, whole_sentences
from tagline.readers.columns import BrokenLineError, ColumnFormat, parse_block
from tagline.readers.corpus import TOKEN, Column, Corpus
from tagline.readers.jsonl import parse_json
from tagline.readers.looks import TEXT, UNCLEAR, look_at
from tagline.readers.raw_text import Cut, corpus_of_texts
from tagline.readers.sentence_splitting import split_sentences
from tagline.readers.sources import PathLike, bad_utf8, name_of
from tagline.readers.words import corpus_of_words

INPUTS = ("columns", "jsonl", "text", "words")

Tell = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Block:
    """Sentences that were read together.

    Attributes:
        corpus: all columns of the input.
        objects: the JSON objects that the sentences come from; None for other formats.
    """

    corpus: Corpus
    objects: Sequence[Mapping[str, Any]] | None = None


@dataclass(frozen=True)
class StreamFormat:
    """How a stream is read.

    Attributes:
        form: ``columns``, ``jsonl``, ``text`` or ``words`` (segmented text).
        sure: whether somebody said so; otherwise columns that look like raw text are read as such, and it is told.
        by_character, columns: whether tokens are single characters, and how many columns of each the model looks at,
            for that look.
        encoding: of the input.
        comment, docstart: lines of column files that are left out, as `ColumnFormat` has them.
        block: bytes read at once.
        split: whether a line of raw text is split into sentences; else it is one.
    """

    form: str = "columns"
    sure: bool = True
    by_character: bool = False
    encoding: str = "utf-8"
    comment: str = ""
    docstart: bool = False
    block: int = BLOCK_BYTES
    split: bool = False
    columns: int = 1

    def __post_init__(self) -> None:
        check_choice("format", self.form, INPUTS)


def read_stream(
    path: PathLike,
    form: StreamFormat,
    cut: Cut,
    *,
    skip: Tell | None = None,
    notice: Tell | None = None,
    position: Callable[[int], None] | None = None,
) -> Iterator[Block]:
    """Read sentences without keeping them.

    Arguments:
        path: a file, ``.gz`` or not, or ``-`` for standard input.
        form: how it is read.
        cut: finds the tokens of raw text.
        skip: told of each broken sentence, which is left out; without it the first is an error.
        notice: told how the input is read where that was a guess.
        position: told how many bytes of the source were read.
    """
    name = name_of(path)
    blocks = read_blocks(path, form.encoding, form.block, position)
    if form.form == "columns" and not form.sure:
        form, blocks = _looked_at(form, blocks, name, notice)
    if form.form == "columns":
        yield from _columns(whole_sentences(blocks, BLANK_LINE, name), form, name, skip)
        return
    parse = {"text": _texts, "jsonl": _json, "words": _words}[form.form]
    number = 1
    for block in whole_sentences(blocks, LINE, name):
        good, error = _decoded(block, number, name, skip)
        if form.split and form.form == "text":
            good = [(n, line[start:end]) for n, line in good for start, end in split_sentences(line)]
        read, broken = parse(good, cut, name, skip)
        if len(read.corpus):
            yield read
        if broken or error:
            raise broken or error  # type: ignore[misc]
        number += block.count(b"\n")


def _looked_at(
    form: StreamFormat, blocks: Iterator[bytes], name: str, notice: Tell | None
) -> tuple[StreamFormat, Iterator[bytes]]:
    """Look at the first lines of a stream that nobody has said anything about."""
    first = b""
    for block in blocks:
        first += block
        if b"\n" in first:
            break
    whole, end, _ = first.rpartition(b"\n")
    lines = (whole if end else first).decode(errors="replace").split("\n")
    rest = chain([first], blocks)
    look = look_at([line for line in lines if not _is_left_out(line, form)], form.by_character, form.columns)
    if look.form == UNCLEAR or (look.form == TEXT and form.columns > 1):
        raise InputError(
            "{}:1: expected a token a line, got {}, which may be text; {}",
            name,
            shown(lines[0].strip()),
            message("say --format text (a sentence a line) or --format columns (a token a line)")
            if form.columns == 1
            else message(
                "the model looks at {} columns of each token: say --format columns if these are such", form.columns
            ),
        )
    if look.form != TEXT:
        if notice is not None and not look.sure:
            notice(
                message("{}: read as columns, a token a line; say --format text where each line is a sentence", name)
            )
        return form, rest
    if notice is not None:
        notice(
            message("{}: read as raw text, a sentence a line; say --format columns where each line is a token", name)
        )
    return replace(form, form="text"), rest


def _is_left_out(line: str, form: StreamFormat) -> bool:
    return (form.comment != "" and line.startswith(form.comment)) or (form.docstart and line.startswith("-DOCSTART-"))


def _columns(blocks: Iterable[bytes], form: StreamFormat, name: str, skip: Tell | None) -> Iterator[Block]:
    """Sentences of columns; those before a broken one come before its error."""
    layout = ColumnFormat(label=None, comment=form.comment, docstart=form.docstart, strict=skip is None)
    columns, lines = 0, 0
    for block in blocks:
        rest = block
        while rest:
            error = None
            try:
                corpus, columns, read = parse_block(np.frombuffer(rest, np.uint8), layout, name, columns, lines)
                taken = len(rest)
            except BrokenLineError as broken:
                begin, taken = _sentence_around(rest, broken.begin)
                head = np.frombuffer(rest[:begin], np.uint8)
                corpus, columns, _ = parse_block(head, layout, name, columns, lines)
                read, error = rest.count(b"\n", 0, taken), broken
            for problem in corpus.problems if skip is not None else ():
                skip(problem)  # type: ignore[misc]
            if len(corpus):
                yield Block(corpus)
            if error is not None:
                if skip is None:
                    raise error
                skip(str(error))
            rest, lines = rest[taken:], lines + read


def _sentence_around(text: bytes, place: int) -> tuple[int, int]:
    """The bytes of the sentence that has this byte: where it begins, and where the next one does."""
    begin = max((match.end() for match in BLANK_LINE.finditer(text, 0, place)), default=0)
    end = BLANK_LINE.search(text, place)
    return begin, len(text) if end is None else end.end()


_Lines = list[tuple[int, str]]


def _decoded(block: bytes, number: int, name: str, skip: Tell | None) -> tuple[_Lines, InputError | None]:
    """Lines as text with their numbers, up to the first that is no UTF-8; with `skip`, all the others."""
    try:
        lines = block.decode().removesuffix("\n").split("\n")
        return [(n, line.removesuffix("\r")) for n, line in enumerate(lines, number)], None
    except UnicodeDecodeError:
        pass
    good: _Lines = []
    for n, line in enumerate(block.removesuffix(b"\n").split(b"\n"), number):
        try:
            good.append((n, line.decode().removesuffix("\r")))
        except UnicodeDecodeError:
            error = bad_utf8(name, np.frombuffer(line, np.uint8), n)
            if skip is None:
                return good, error
            skip(str(error))
    return good, None


def _texts(lines: _Lines, cut: Cut, name: str, skip: Tell | None) -> tuple[Block, None]:
    texts, numbers = [text for _, text in lines], [n for n, _ in lines]
    return Block(corpus_of_texts(texts, cut, source=name, lines=numbers)), None


def _words(lines: _Lines, cut: Cut, name: str, skip: Tell | None) -> tuple[Block, None]:
    held = [(n, text) for n, text in lines if text.strip()]
    return Block(corpus_of_words([text for _, text in held], source=name, lines=[n for n, _ in held])), None


def _json(lines: _Lines, cut: Cut, name: str, skip: Tell | None) -> tuple[Block, InputError | None]:
    objects, numbers, broken = [], [], None
    for n, line in lines:
        try:
            if line.strip():
                objects.append(_object(f"{name}:{n}", line))
                numbers.append(n)
        except InputError as error:
            if skip is None:
                broken = error
                break
            skip(str(error))
    if all(map(_has_text, objects)):
        texts = corpus_of_texts([item["text"] for item in objects], cut, source=name, lines=numbers)
        return Block(texts, objects), broken
    tokens = [_tokens(item, cut) for item in objects]
    words = Column.of(word for sentence in tokens for word in sentence)
    offsets = offsets_of([len(sentence) for sentence in tokens])
    return Block(Corpus({TOKEN: words}, offsets, source=name, lines=numbers), objects), broken


def _object(place: str, line: str) -> dict[str, Any]:
    item = parse_json(place, line)
    if isinstance(item, dict):
        tokens = item.get("tokens")
        if _has_text(item) or (isinstance(tokens, list) and all(isinstance(token, str) for token in tokens)):
            return item
    raise InputError('{}: expected {{"tokens": [...]}} or {{"text": "..."}}, got {}', place, shown(line))


def _has_text(item: Mapping[str, Any]) -> bool:
    return isinstance(item.get("text"), str)


def _tokens(item: Mapping[str, Any], cut: Cut) -> list[str]:
    if _has_text(item):
        return [item["text"][start:end] for start, end in cut(item["text"])]
    return list(item["tokens"])
