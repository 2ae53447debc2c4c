"""Documents in a stream: blocks of sentences are cut anew, so that no document is in two of them.

A model that reads documents must see each as a whole. What says where documents begin is a column, a list of sizes, or
-DOCSTART- lines; where there is none of them, each sentence is a document and goes through at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np

from tagline.errors import InputError
from tagline.features.documents import document_sizes, read_sizes, stated_documents
from tagline.ragged import offsets_of
from tagline.readers.corpus import Column, Corpus
from tagline.readers.streams import Block
from tagline.types import IntArray

Documents = tuple[Block, IntArray | None]
"""Sentences, and how many of them each document has; None where nothing says so."""


def whole_documents(blocks: Iterable[Block], named: str | None, path: str) -> Iterator[Documents]:
    """Put blocks together and cut them between documents.

    Arguments:
        named: a column, or a file with the number of sentences of each document; None for -DOCSTART- lines.
        path: that the blocks are read from, for messages.
    """
    blocks = iter(blocks)
    first = next(blocks, None)
    if first is None:
        if named is not None and os.path.exists(named):  # else it may be a column, of which there is none
            yield from _counted((), named, path)
        return
    stream = chain([first], blocks)
    if named is None or named in first.corpus.names:
        yield from _marked(stream, named)
    else:
        yield from _counted(stream, named, path)


def _marked(blocks: Iterable[Block], column: str | None) -> Iterator[Documents]:
    """Documents that a column or marker lines tell apart; the last one of a block may go on in the next."""
    held: list[Block] = []
    for block in blocks:
        here = stated_documents(block.corpus, column)
        if here is None and not held:
            yield block, None
            continue
        held.append(block)
        if here is None or (column is not None and len(held) > 1 and _goes_on(held[-2:], column)):
            continue  # all of it belongs to the document that is held
        whole = joined(held)
        numbers = stated_documents(whole.corpus, column)
        assert numbers is not None
        last = int(np.searchsorted(numbers, numbers[-1]))
        if last:
            yield _cut(whole, 0, last), document_sizes(numbers[:last])
        held = [_cut(whole, last, len(whole.corpus))]
    if held:
        whole = joined(held)
        yield whole, np.array([len(whole.corpus)])


def _goes_on(blocks: list[Block], column: str) -> bool:
    """Whether all sentences of the second block are of the document that the first one ends with."""
    numbers = stated_documents(joined([_cut(blocks[0], -1, None), blocks[1]]).corpus, column)
    return numbers is not None and not numbers[-1]


def _counted(blocks: Iterable[Block], path: str, source: str) -> Iterator[Documents]:
    """Documents whose sizes a file says."""
    try:
        sizes = read_sizes(path)
    except InputError as error:
        raise InputError(
            "--documents: expected a column or a file with the number of sentences of each document, got {} ({})",
            path,
            error,
        ) from None
    held: list[Block] = []
    count, done, total = 0, 0, sum(sizes)
    for block in blocks:
        held.append(block)
        count += len(block.corpus)
        ends = np.cumsum(sizes[done:])
        complete = int(np.searchsorted(ends, count, "right"))
        if complete and ends[complete - 1]:
            whole, last = joined(held), int(ends[complete - 1])
            yield _cut(whole, 0, last), np.array(sizes[done : done + complete])
            held, count, done = [_cut(whole, last, count)], count - last, done + complete
    left = sum(sizes[done:])
    if count or left:
        raise InputError(
            "--documents: expected numbers that add up to {}, the sentences of {}, got {} in {}",
            total - left + count,
            source,
            total,
            path,
        )


def joined(blocks: list[Block]) -> Block:
    """Put blocks of one stream together."""
    if len(blocks) == 1:
        return blocks[0]
    corpora = [block.corpus for block in blocks]
    first = corpora[0]
    corpus = Corpus(
        {name: Column.joined([corpus.column(name) for corpus in corpora]) for name in first.names},
        offsets_of(np.concatenate([corpus.lengths for corpus in corpora])),
        source=first.source,
        lines=None if first.lines is None else np.concatenate([corpus.lines for corpus in corpora]),
        texts=None if first.texts is None else [text for corpus in corpora for text in corpus.texts or ()],
        token_spans=None if first.token_spans is None else np.concatenate([corpus.token_spans for corpus in corpora]),
    )
    objects = None if blocks[0].objects is None else [item for block in blocks for item in block.objects or ()]
    return Block(corpus, objects)


def _cut(block: Block, first: int, last: int | None) -> Block:
    return Block(block.corpus[first:last], None if block.objects is None else block.objects[first:last])
