"""What a document says of a word elsewhere: labels of a first model, put together by word, as columns for a second.

Two columns come behind those that a template looks at. ``elsewhere`` is the type that most of the other mentions of the
word in its document have; ``within`` the type that most of the entities have in which the word stands, with 1 where
they are that word alone and 2 where they are longer. ``-`` stands where there is nothing to say. Words are compared in
lower case; among types of equal number the first by name counts, O after all others.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from tagline.checks import shown, shown_value
from tagline.errors import InputError
from tagline.features.templates.template import Template
from tagline.readers.blocks import read_lines
from tagline.readers.corpus import TAG, TOKEN, Column, Corpus
from tagline.readers.sources import PathLike, name_of
from tagline.readers.spans import find_spans
from tagline.types import IntArray

MARKER = "-DOCSTART-"
"""A token that begins a sentence, and with it a document, in the files of CoNLL-2003."""

MOST_DIGITS = 15  # of a number of sentences

COLUMNS = ("document:elsewhere", "document:within")
NOTHING = "-"


def document_numbers(corpus: Corpus, documents: Any = None) -> IntArray:
    """Return the number of the document of each sentence, ``[B]``: as `stated_documents`, else each is one."""
    numbers = stated_documents(corpus, documents)
    return np.arange(len(corpus)) if numbers is None else numbers


def document_sizes(numbers: IntArray) -> IntArray:
    """Return how many sentences each document has, given the document of each sentence, ``[B]``.

    >>> document_sizes(np.array([0, 0, 3, 3, 3])).tolist()
    [2, 3]
    """
    borders = np.flatnonzero(np.diff(numbers, prepend=-1)) if len(numbers) else np.zeros(0, np.int64)
    return np.diff(borders, append=len(numbers))


def read_sizes(path: PathLike) -> list[int]:
    """Read how many sentences each document has, a number a line; blank lines are skipped."""
    sizes = []
    for number, line in read_lines(path):
        if line.strip():
            if not line.strip().isdecimal() or len(line.strip()) > MOST_DIGITS:
                raise InputError("{}:{}: expected a number of sentences, got {}", name_of(path), number, shown(line))
            sizes.append(int(line))
    return sizes


def named_documents(text: str, corpus: Corpus, name: str = "--documents") -> str | list[int]:
    """Return what `stated_documents` takes, given the name of a column or of a file with sizes.

    Arguments:
        name: of the option, for messages.
    """
    if text in corpus.names:
        return text
    if not os.path.isfile(text):
        raise InputError(
            "{}: expected a column ({}) or a file with the number of sentences of each document, got "
            "{}; there is no such file",
            name,
            ", ".join(corpus.names),
            shown_value(text),
        )
    sizes = read_sizes(text)
    if sum(sizes) != len(corpus):
        raise InputError(
            "{}: expected numbers that add up to {}, the sentences of {}, got {} in {}",
            name,
            len(corpus),
            corpus.source,
            sum(sizes),
            text,
        )
    return sizes


def stated_documents(corpus: Corpus, documents: Any = None, name: str = "documents") -> IntArray | None:
    """Return the number of the document of each sentence, ``[B]``; None where nothing says where documents begin.

    Arguments:
        documents: how many sentences each document has; or the name of a column, whose value at the first token of a
            sentence names the document; or None: a sentence that begins with `MARKER` begins a document, and each of
            those before the first one is a document.
        name: of the argument, for messages.

    >>> corpus = Corpus.from_sentences([{"token": [word]} for word in ("-DOCSTART-", "a", "-DOCSTART-", "b")])
    >>> stated_documents(corpus).tolist(), stated_documents(corpus, [1, 3]).tolist()
    ([0, 0, 1, 1], [0, 1, 1, 1])
    """
    B = len(corpus)
    if isinstance(documents, str):
        column = corpus.column(documents)
        filled = np.diff(corpus.offsets) > 0
        names = np.full(B, -1)
        names[filled] = column.ids[corpus.offsets[:-1][filled]]
        return np.cumsum(np.concatenate([[0], names[1:] != names[:-1]])[:B])
    if documents is not None:
        try:
            sizes = np.asarray(documents)
        except ValueError:  # rows of unequal length
            sizes = np.full(1, -1)
        if sizes.ndim != 1 or (len(sizes) and sizes.dtype.kind not in "iu"):
            sizes = np.full(1, -1)
        sizes = sizes.astype(np.int64)
        if (sizes < 0).any() or sizes.sum() != B:
            raise InputError(
                "{}: expected how many sentences each document has, {} in all, or the name of a column, got {}",
                name,
                B,
                shown_value(documents),
            )
        return np.repeat(np.arange(len(sizes)), sizes)
    tokens = corpus.column(_token_column(corpus))
    marks = np.array([word == MARKER for word in tokens.vocabulary] or [False])
    first = np.minimum(corpus.offsets[:-1], max(0, corpus.num_tokens - 1))
    begins = marks[tokens.ids[first]] & (np.diff(corpus.offsets) > 0) if corpus.num_tokens else np.zeros(B, np.bool_)
    if not begins.any():
        return None
    # Before the first marker nothing is said: each sentence is a document, as in a corpus without markers, so that
    # it does not matter where a stream is cut.
    before = np.arange(B) < int(begins.argmax())
    return np.cumsum(begins | before) - 1


def document_columns(
    corpus: Corpus, width: int, labels: Sequence[Sequence[str]], scheme: str | None, numbers: IntArray
) -> Corpus:
    """Return a corpus with its first columns, the two of documents behind them, and its tags.

    Arguments:
        width: how many columns are kept.
        labels: of a first model.
        scheme: of the labels; None where they mark no spans, and each is a type of its own.
        numbers: the document of each sentence.
    """
    own = Column.of(label for sentence in labels for label in sentence)
    words = corpus.column(_token_column(corpus))
    lowered: dict[str, int] = {}
    word = np.array([lowered.setdefault(text.lower(), len(lowered)) for text in words.vocabulary] or [0])[words.ids]
    document = np.repeat(numbers, np.diff(corpus.offsets))  # [N]
    keys, mention = np.unique(document * max(1, len(lowered)) + word, return_inverse=True)
    types, names, kinds, places = _types(own, corpus.offsets, scheme)
    counts = _table(mention, types, len(keys), len(names))[mention]  # [N, types]
    counts[np.arange(len(types)), types] -= 1
    longer = [f"{name}{size}" for name in names for size in "12"]
    within = _table(mention[places], kinds, len(keys), len(longer))[mention]
    added = dict(zip(COLUMNS, (_most(counts, names), _most(within, longer)), strict=True))
    before = dict([(name, column) for name, column in corpus.columns.items() if name != TAG][:width])
    tags = {name: column for name, column in corpus.columns.items() if name == TAG}
    return corpus.with_columns({**before, **added, **tags})


def document_lines(template: Template, width: int) -> Template:
    """Return the template with lines for the two columns behind `width` others.

    >>> document_lines(Template.parse("U0:%x[0,0]"), 1).num_columns
    3
    """
    if template.dialect != "crfpp":
        raise InputError("stages: expected a template in the language of CRF++, got one of Wapiti's; pass stages=1")
    elsewhere, within = width, width + 1
    lines = [
        *(f"UE{row:+d}:%x[{row},{elsewhere}]" for row in (-1, 0, 1)),
        f"UEs:%x[0,{elsewhere}]/%x[0,0:shortshape]",
        f"UEp:%x[-1,{elsewhere}]/%x[0,{elsewhere}]",
        f"UEn:%x[0,{elsewhere}]/%x[1,{elsewhere}]",
        *(f"UI{row:+d}:%x[{row},{within}]" for row in (-1, 0, 1)),
        f"UIs:%x[0,{within}]/%x[0,0:shortshape]",
    ]
    text = "\n".join([template.text.rstrip("\n"), "", "# the rest of the document", *lines, ""])
    return Template.parse(text, template.source)


def _types(own: Column, offsets: IntArray, scheme: str | None) -> tuple[IntArray, list[str], IntArray, IntArray]:
    """Return the type of each token, their names; for each token of a span its type and size, and its place."""
    if scheme is None:
        order = sorted(range(len(own.vocabulary)), key=lambda number: own.vocabulary[number])
        rank = np.zeros(len(order), np.int64)
        rank[order] = np.arange(len(order))
        types = rank[own.ids]
        return types, [own.vocabulary[number] for number in order], 2 * types, np.arange(len(types))
    spans = find_spans(own, offsets, f"conlleval:{scheme}")
    names = [*sorted(spans.labels), "O"]
    lengths = spans.end - spans.start
    begins = offsets[spans.sentence] + spans.start
    places = np.repeat(begins - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
    which = np.repeat(spans.numbered(names).astype(np.int64), lengths)
    types = np.full(len(own), len(names) - 1)
    types[places] = which
    return types, names, 2 * which + np.repeat(lengths > 1, lengths), places


def _table(rows: IntArray, columns: IntArray, height: int, width: int) -> IntArray:
    return np.bincount(rows * width + columns, minlength=height * width).reshape(height, width)


def _most(counts: IntArray, names: Sequence[str]) -> Column:
    """Return the name of the largest count of each token."""
    if not counts.shape[1]:
        return Column((NOTHING,), np.zeros(len(counts), np.int32))
    best = counts.argmax(1)
    some = counts[np.arange(len(counts)), best] > 0
    return Column((NOTHING, *names), np.where(some, best + 1, 0).astype(np.int32))


def _token_column(corpus: Corpus) -> str:
    return TOKEN if TOKEN in corpus.names else corpus.names[0]
