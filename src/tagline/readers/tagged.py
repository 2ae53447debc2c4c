"""Tags in the forms that users have, a sentence, several, or a column of a corpus, as one column and offsets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from tagline.checks import is_listing, shown_value
from tagline.errors import InputError
from tagline.messages import message
from tagline.ragged import offsets_of, row_of
from tagline.readers.adapters import corpus_of
from tagline.readers.corpus import TAG, Column, Corpus
from tagline.types import IntArray

Tags = Sequence[str] | Sequence[Sequence[str]] | Corpus
Form = TypeVar("Form", list[str], list[list[str]], Corpus)
"""Tags come out in the form in which they went in."""


@dataclass(frozen=True, eq=False)
class Tagged:
    """Tags of B sentences, and the form in which they came.

    Attributes:
        column: N tags.
        offsets: ``[B + 1]``, where each sentence begins.
        original: the sentence, the list of sentences or the corpus that they come from.
        name: the column of the corpus.
    """

    column: Column
    offsets: IntArray
    original: Tags
    name: str = TAG

    @classmethod
    def of(cls, tags: Tags, name: str = TAG) -> Tagged:
        """Take tags in any of the three forms; a dataset or a data frame is a corpus too.

        >>> Tagged.of(["B-PER", "O"]).offsets.tolist(), Tagged.of([["B-PER", "O"], ["O"]]).offsets.tolist()
        ([0, 2], [0, 2, 3])
        """
        if (corpus := corpus_of(tags)) is not None:
            return cls(corpus.column(name), corpus.offsets, corpus, name)
        if not is_listing(tags) or not isinstance(tags, Sequence | np.ndarray):
            raise InputError("tags: expected a list of tags, of lists of tags or a Corpus, got {}", _short(tags))
        if is_sentence(tags):
            return cls(Column.of(_strings(tags, "tags")), np.array([0, len(tags)]), tags)
        sentences = [_strings(row, f"tags[{b}]") for b, row in enumerate(tags)]
        offsets = offsets_of([len(row) for row in sentences])
        return cls(Column.of(tag for row in sentences for tag in row), offsets, tags)

    def like_original(self, column: Column) -> Any:
        """Return other tags for the same tokens, in the form in which these came."""
        if isinstance(self.original, Corpus):
            return self.original.with_column(self.name, column)
        if is_sentence(self.original):
            return column.strings
        return [column[first:last] for first, last in zip(self.offsets[:-1], self.offsets[1:], strict=True)]

    def sentence_of(self, n: int) -> tuple[int, int]:
        """Return the sentence that token n of all lies in, and its place inside that sentence."""
        b = row_of(self.offsets, n)
        return b, n - int(self.offsets[b])

    def place(self, b: int, token: int) -> str:
        """Say where a token is: ``train.txt:1204, token 3`` or ``sentence 7, token 3``, tokens from 0."""
        sentence = self.original.place(b) if isinstance(self.original, Corpus) else message("sentence {}", b)
        return message("{}, token {}", sentence, token)

    def tag(self, n: int) -> str:
        """Return the tag of token n of all."""
        return self.column.vocabulary[int(self.column.ids[n])]


def is_sentence(tags: object) -> bool:
    """Say whether tags are those of one sentence; an empty list is no sentence."""
    listing = is_listing(tags) and isinstance(tags, Sequence | np.ndarray)
    return listing and len(tags) > 0 and isinstance(tags[0], str)  # type: ignore[arg-type, index]


def _strings(tags: Iterable[object], where: str) -> list[str]:
    if not is_listing(tags):
        raise InputError("{}: expected a list of tags, got {}", where, _short(tags))
    strings = tags.tolist() if isinstance(tags, np.ndarray) else list(tags)
    for token, tag in enumerate(strings):
        if not isinstance(tag, str):
            raise InputError("{}[{}]: expected a tag as a string, got {}", where, token, _short(tag))
    return strings  # type: ignore[return-value]


def _short(value: object) -> str:
    return f"{type(value).__name__} {shown_value(value)}"
