"""Tags as they are given: one sentence, several, or a column of a corpus, all worked on as a column and offsets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from tagline.errors import InputError
from tagline.readers.adapters import as_corpus, is_foreign
from tagline.readers.corpus import TAG, Column, Corpus
from tagline.types import IntArray

Tags = Sequence[str] | Sequence[Sequence[str]] | Corpus
Form = TypeVar("Form", list[str], list[list[str]], Corpus)
"""What comes out is of the form of what went in."""


@dataclass(frozen=True, eq=False)
class Tagged:
    """Tags of B sentences, and how they were given.

    Attributes:
        column: N tags.
        offsets: ``[B + 1]``, where each sentence begins.
        given: the sentence, the list of sentences or the corpus.
        name: the column of the corpus.
    """

    column: Column
    offsets: IntArray
    given: Tags
    name: str = TAG

    @classmethod
    def of(cls, given: Tags, name: str = TAG) -> Tagged:
        """Take tags in any of the three forms; a dataset or a data frame is a corpus too.

        >>> Tagged.of(["B-PER", "O"]).offsets.tolist(), Tagged.of([["B-PER", "O"], ["O"]]).offsets.tolist()
        ([0, 2], [0, 2, 3])
        """
        if is_foreign(given):
            given = as_corpus(given)
        if isinstance(given, Corpus):
            return cls(given.column(name), given.offsets, given, name)
        if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
            raise InputError(f"tags: expected a list of tags, of lists of tags or a Corpus, got {_short(given)}")
        if is_sentence(given):
            return cls(Column.of(_strings(given, "tags")), np.array([0, len(given)]), given)
        sentences = [_strings(tags, f"tags[{b}]") for b, tags in enumerate(given)]
        offsets = np.cumsum([0, *map(len, sentences)])
        return cls(Column.of(tag for tags in sentences for tag in tags), offsets, given)

    def like_given(self, column: Column) -> Any:
        """Return other tags for the same tokens, in the form in which these were given."""
        if isinstance(self.given, Corpus):
            return self.given.with_column(self.name, column)
        if is_sentence(self.given):
            return column.strings
        return [column[first:last] for first, last in zip(self.offsets[:-1], self.offsets[1:], strict=True)]

    def sentence_of(self, n: int) -> tuple[int, int]:
        """Sentence and token inside it of token n of all."""
        b = int(np.searchsorted(self.offsets, n, "right")) - 1
        return b, n - int(self.offsets[b])

    def place(self, b: int, token: int) -> str:
        """Say where a token is: ``train.txt:1204, token 3`` or ``sentence 7, token 3``, tokens from 0."""
        sentence = self.given.place(b) if isinstance(self.given, Corpus) else f"sentence {b}"
        return f"{sentence}, token {token}"

    def tag(self, n: int) -> str:
        """The tag of token n of all."""
        return self.column.vocabulary[int(self.column.ids[n])]


def is_sentence(given: object) -> bool:
    """Say whether tags are those of one sentence; an empty list is no sentences."""
    return isinstance(given, Sequence | np.ndarray) and len(given) > 0 and isinstance(given[0], str)


def _strings(tags: Iterable[object], where: str) -> list[str]:
    if isinstance(tags, str) or not isinstance(tags, Iterable):
        raise InputError(f"{where}: expected a list of tags, got {_short(tags)}")
    strings = tags.tolist() if isinstance(tags, np.ndarray) else list(tags)
    for token, tag in enumerate(strings):
        if not isinstance(tag, str):
            raise InputError(f"{where}[{token}]: expected a tag as a string, got {_short(tag)}")
    return strings  # type: ignore[return-value]


def _short(value: object) -> str:
    return f"{type(value).__name__} {value!r:.60}"
