"""Labelled sentences for training: how their files are read, and which column is learned."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from tagline.errors import InputError
from tagline.messages import message
from tagline.readers import format_of, read
from tagline.readers.blocks import read_lines
from tagline.readers.columns import BrokenLineError
from tagline.readers.corpus import TAG, Corpus
from tagline.readers.looks import TEXT, is_segmented, looks_like
from tagline.readers.sources import PathLike

FEW_TOKENS = 50
LONG_LINE = 40  # characters that a token and its columns hardly ever have
MOST_DISTINCT = 0.5  # of the tokens may have tags that no other token has
SEGMENTED = message("this looks like segmented text, a sentence a line with blanks between words: say --format words")


@dataclass(frozen=True)
class LabelledFiles:
    """How the files with labelled sentences are read.

    Attributes:
        form: ``columns``, ``jsonl``, ``conllu`` or ``words``; by the file's name when None.
        tag_column: the column to learn, a number from 0 or a name; the last one when None. Columns before it are
            features, those behind it are left out.
        tokenizer: how the texts of JSON lines are cut: ``words``, ``characters`` or ``whitespace``.
        encoding: of the files.
        lenient: skip broken sentences and report them.
    """

    form: str | None = None
    tag_column: str | None = None
    tokenizer: str = "words"
    encoding: str = "utf-8"
    lenient: bool = False

    def read(self, path: str) -> Corpus:
        """Read labelled sentences."""
        form = format_of(path, self.form)
        if form == "text":
            raise InputError("{}: expected sentences with tags, got raw text; use columns or JSON lines", path)
        options: dict[str, Any] = {"encoding": self.encoding}
        if form != "words":  # in which nothing can be broken
            options["strict"] = not self.lenient
        if form == "jsonl":
            options["tokenizer"] = self.tokenizer
        try:
            corpus = self.choose(read(path, self.form, **options))
        except BrokenLineError as error:
            raise advised(error, path, self.encoding) from None
        if not len(corpus):
            raise InputError("{}: expected sentences, got none that can be used", path)
        return corpus

    def choose(self, corpus: Corpus) -> Corpus:
        """Keep the column that is learned, as ``tag``, and the columns before it."""
        names = corpus.names
        if self.tag_column is None:
            if "upos" in names:  # CoNLL-U: the tag is one of these two
                names = [name for name in names if name not in ("upos", "xpos")]
            if TAG not in names:
                raise InputError(
                    "{}: expected tags to learn, got {} alone; in column files they are the last of "
                    'two columns or more, in JSON lines "tags" or "spans"',
                    corpus.source,
                    ", ".join(names),
                )
            return _with_columns(corpus, [name for name in names if name != TAG], TAG)
        if len(names) < 2:
            raise InputError(
                "tag_column: {} has one column alone, {}: give each token its tag behind a blank or a tab",
                corpus.source,
                names[0],
            )
        wanted = names[int(self.tag_column)] if _is_place(self.tag_column, len(names)) else self.tag_column
        if wanted not in names or wanted == names[0]:
            raise InputError(
                "tag_column: expected a number from 1 to {} or a name among {}, got {!r}; the columns of {} are {}",
                len(names) - 1,
                ", ".join(names[1:]),
                self.tag_column,
                corpus.source,
                ", ".join(names),
            )
        return _with_columns(corpus, names[: names.index(wanted)], wanted)


def advised(error: InputError, path: PathLike, encoding: str) -> InputError:
    """Add to the error of a file that was read as columns that it looks like segmented text, if it does."""
    if os.fspath(path) != "-" and is_segmented([line for _, line in islice(read_lines(path, encoding), FEW_TOKENS)]):
        return InputError("{}; {}", error, SEGMENTED)
    return error


def check_labels(corpus: Corpus) -> None:
    """Raise where the tags to learn can be no tags: all the same, or nearly all different."""
    column = corpus.columns[TAG]
    used = np.flatnonzero(np.bincount(column.ids, minlength=len(column.vocabulary)))
    if len(used) == 1:
        raise InputError(
            "{}: expected two tags or more to learn, got {!r} at all {} tokens{}",
            corpus.source,
            column.vocabulary[used[0]],
            len(column),
            _advice(corpus),
        )
    if len(column) >= FEW_TOKENS and len(used) > MOST_DISTINCT * len(column):
        raise InputError(
            "{}: expected tags that come back, got {} different ones at {} tokens, such as {!r}{}",
            corpus.source,
            len(used),
            len(column),
            column.vocabulary[used[0]],
            _advice(corpus),
        )


def first_lines(corpus: Corpus) -> list[str]:
    """Return the first tokens with their columns, as they stood in their file."""
    columns = [column[:FEW_TOKENS] for column in corpus.columns.values()]
    return [" ".join(fields) for fields in zip(*columns, strict=True)]


def _advice(corpus: Corpus) -> str:
    lines = first_lines(corpus)
    if is_segmented(lines):
        return f"; {SEGMENTED}"
    if looks_like(lines) == TEXT or all(len(line) > LONG_LINE for line in lines):
        return message("; this looks like text, a sentence a line, not like a token and its tag on each line")
    return message("; name the column of the tags with --tag-column, counted from 0")


def _is_place(text: str, count: int) -> bool:
    return text.isdecimal() and int(text) < count


def _with_columns(corpus: Corpus, features: list[str], learned: str) -> Corpus:
    columns = {name: corpus.columns[name] for name in features}
    return corpus.with_columns({**columns, TAG: corpus.columns[learned]})
