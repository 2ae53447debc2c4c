"""Sentences as they travel from readers to models: columns of strings, each distinct string held once.

A `Corpus` holds `B` sentences with `N` tokens in named columns (`token`, `tag`, …). A column is a vocabulary and one
integer a token, so that a million tokens cost megabytes, and features and scores work on integers. `Sentence` is a view
on one sentence that looks like lists of strings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagline.checks import check_number, check_whole, is_listing, random_generator, shown_value
from tagline.errors import InputError, visible
from tagline.messages import message
from tagline.ragged import offsets_of, take_rows
from tagline.types import IntArray

if TYPE_CHECKING:
    from tagline.readers.corpus_summary import Description

Ids = NDArray[np.int32]

TOKEN, TAG = "token", "tag"
MOST_WORDS, MOST_LETTERS = 8, 120  # of a sentence, in its repr


@dataclass(frozen=True, eq=False)
class Column:
    """Strings, one a token: ``vocabulary[ids[n]]`` is that of token n.

    Attributes:
        vocabulary: the distinct strings, in the order of their first use.
        ids: ``[N]``, int32.

    >>> from tagline.readers import Column
    >>> tags = Column.of(["O", "B-LOC", "O"])
    >>> tags.vocabulary, tags.ids.tolist(), tags[1:]
    (('O', 'B-LOC'), [0, 1, 0], ['B-LOC', 'O'])
    """

    vocabulary: tuple[str, ...]
    ids: Ids

    @classmethod
    def of(cls, strings: Iterable[str]) -> Column:
        """Number the strings in the order of their first use.

        >>> Column.of(["O", "B-PER", "O"]).ids.tolist()
        [0, 1, 0]
        """
        numbers: dict[str, int] = {}
        try:
            ids = np.fromiter((numbers.setdefault(string, len(numbers)) for string in strings), np.int32)
        except TypeError as error:
            raise InputError("column: expected a list of strings, got something else ({})", error) from None
        return cls(tuple(numbers), ids)

    @classmethod
    def joined(cls, columns: Sequence[Column]) -> Column:
        """Return the strings of one column behind those of the other.

        >>> Column.joined([Column.of(["O", "B-PER"]), Column.of(["B-PER", "O"])]).ids.tolist()
        [0, 1, 1, 0]
        """
        numbers: dict[str, int] = {}
        ids = []
        for column in columns:
            table = [numbers.setdefault(string, len(numbers)) for string in column.vocabulary]
            ids.append(np.array(table, np.int32)[column.ids])
        return cls(tuple(numbers), np.concatenate(ids))

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, where: slice) -> list[str]:
        vocabulary = self.vocabulary
        return [vocabulary[number] for number in self.ids[where]]

    @property
    def strings(self) -> list[str]:
        """The strings of all tokens."""
        return self[:]


@dataclass(frozen=True, eq=False, repr=False)
class Sentence:
    """One sentence of a corpus.

    Attributes:
        columns: one list of strings for each column, by name.
        place: where it was read, as ``path:line``, or ``sentence 7`` where there is no file.
        text: the text that the tokens come from, where it is known.
        spans: where each token stands in the text, as (start, end) characters, where it is known.

    >>> import tagline
    >>> sentence = tagline.Sentence({"token": ["Anna", "sings"], "tag": ["B-PER", "O"]})
    >>> len(sentence), sentence.tokens, sentence.tags
    (2, ['Anna', 'sings'], ['B-PER', 'O'])
    """

    columns: Mapping[str, list[str]]
    place: str = ""
    text: str | None = None
    spans: tuple[tuple[int, int], ...] | None = None

    @property
    def tokens(self) -> list[str]:
        """The column ``token``, or the first one."""
        return self.columns[TOKEN] if TOKEN in self.columns else next(iter(self.columns.values()))

    @property
    def tags(self) -> list[str] | None:
        """The column ``tag``, or None where there are no tags."""
        return self.columns.get(TAG)

    def __len__(self) -> int:
        return len(self.tokens)

    def __repr__(self) -> str:
        words = self.tokens[:MOST_WORDS]
        if self.tags is not None:
            words = [f"{word}/{tag}" for word, tag in zip(words, self.tags, strict=False)]
        shown = " ".join(words)[:MOST_LETTERS] + " …" * (len(self) > MOST_WORDS)
        return f"Sentence({shown!r}, {len(self):,} tokens)"

    def __str__(self) -> str:
        from tagline.readers.pictures import picture_of_sentence

        return str(picture_of_sentence(self))

    def _repr_html_(self) -> str:
        from tagline.readers.pictures import picture_of_sentence

        return picture_of_sentence(self).html()


class Corpus:
    """Sentences in named columns: iterable, indexable, sized.

    Arguments:
        columns: at least one `Column`, all of N tokens; ``token`` and ``tag`` are the names that models look for.
        offsets: ``[B + 1]``, where each sentence begins; one sentence when left out.
        source: the file they were read from, for messages.
        lines: ``[B]``, the line on which each sentence begins.
        texts: the text of each sentence, where it is known.
        token_spans: ``[N, 2]``, the characters of each token in its sentence's text.
        problems: what was wrong with sentences that were left out, one message each.

    >>> corpus = Corpus.from_sentences([(["Anna", "sings"], ["B-PER", "O"]), (["Hello"], ["O"])])
    >>> len(corpus), corpus[0].tokens, corpus.tags
    (2, ['Anna', 'sings'], [['B-PER', 'O'], ['O']])
    """

    def __init__(
        self,
        columns: Mapping[str, Column],
        offsets: ArrayLike | None = None,
        *,
        source: str = "",
        lines: ArrayLike | None = None,
        texts: Sequence[str] | None = None,
        token_spans: ArrayLike | None = None,
        problems: Sequence[str] = (),
    ) -> None:
        if not columns:
            raise InputError("columns: expected at least one, got none")
        lengths = {name: len(column) for name, column in columns.items()}
        N = next(iter(lengths.values()))
        if set(lengths.values()) != {N}:
            raise InputError("columns: expected the same number of tokens in each, got {}", lengths)
        self.columns = dict(columns)
        self.offsets: IntArray = _whole_numbers("offsets", [0, N] if offsets is None else offsets)
        if not len(self.offsets) or self.offsets[0] != 0 or self.offsets[-1] != N or (np.diff(self.offsets) < 0).any():
            raise InputError("offsets: expected to rise from 0 to {}, got {}…", N, self.offsets.tolist()[:5])
        self.source = source
        self.lines = None if lines is None else np.asarray(lines, np.int64)
        self.texts = None if texts is None else list(texts)
        self.token_spans = None if token_spans is None else np.asarray(token_spans, np.int64)
        self.problems = tuple(problems)

    @classmethod
    def from_sentences(
        cls, sentences: Iterable[Sentence | Mapping[str, Sequence[str]] | tuple[Sequence[str], Sequence[str]]]
    ) -> Corpus:
        """Build a corpus from sentences: `Sentence`, mappings of columns, or pairs (tokens, tags)."""
        if not is_listing(sentences):
            raise InputError("sentences: expected a list of sentences, got {}", type(sentences).__name__)
        rows = [_columns_of(b, sentence) for b, sentence in enumerate(sentences)]
        names = list(rows[0]) if rows else [TOKEN]
        if not names or not all(isinstance(name, str) for name in names):
            raise InputError("sentence 0: expected columns with names, got {}", shown_value(names))
        for b, row in enumerate(rows):
            listings = {name: values for name, values in row.items() if isinstance(values, str) or is_listing(values)}
            lengths = {name: len(values) for name, values in listings.items() if isinstance(values, Sized)}
            if len(lengths) < len(row):
                raise InputError("sentence {}: expected lists of strings as columns {}, got something else", b, names)
            if list(row) != names or len(set(lengths.values())) > 1:
                raise InputError("sentence {}: expected columns {} of one length, got {}", b, names, lengths)
        columns = {name: Column.of(string for row in rows for string in row[name]) for name in names}
        return cls(columns, offsets_of([len(row[names[0]]) for row in rows]))

    @classmethod
    def from_pandas(
        cls,
        data: Any,
        *,
        token: str | None = None,
        tag: str | None = None,
        sentence: str | None = None,
        columns: Sequence[str] = (),
    ) -> Corpus:
        """Build a corpus from a data frame of pandas or polars with a token in each row.

        Arguments:
            token, tag: names of the columns; by default the usual ones, such as ``token`` and ``tag``. A frame without
                tags makes a corpus without.
            sentence: the column that says which sentence a row belongs to; its rows stand side by side.
            columns: further ones to keep, which templates can look at.
        """
        from tagline.readers.adapters import corpus_of_frame

        return corpus_of_frame(data, token, tag, sentence, columns)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.columns)

    @property
    def num_tokens(self) -> int:
        """N, over all sentences."""
        return int(self.offsets[-1])

    @property
    def lengths(self) -> IntArray:
        """Tokens of each sentence, ``[B]``."""
        return np.diff(self.offsets)

    @property
    def tokens(self) -> list[list[str]]:
        """The tokens of each sentence."""
        return self.sequences(TOKEN if TOKEN in self.columns else self.names[0])

    @property
    def tags(self) -> list[list[str]]:
        """The tags of each sentence; an error where there are none."""
        return self.sequences(TAG)

    def column(self, name: str) -> Column:
        """Return a column by name, or say which there are."""
        if not isinstance(name, str) or name not in self.columns:
            names = ", ".join(self.names)
            raise InputError("column {}: expected one of {}; this corpus has no other", shown_value(name), names)
        return self.columns[name]

    def sequences(self, name: str) -> list[list[str]]:
        """Return a column as one list of strings for each sentence."""
        column = self.column(name)
        return [column[first:last] for first, last in zip(self.offsets[:-1], self.offsets[1:], strict=True)]

    def place(self, b: int) -> str:
        """Say where a sentence was read: ``path:line``, or ``sentence 7`` (from 0) where there is no file."""
        if self.lines is None:
            return message("sentence {}", b)
        return f"{self.source or '<text>'}:{self.lines[b]}"

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[Sentence]:
        return (self[b] for b in range(len(self)))

    @overload
    def __getitem__(self, where: int) -> Sentence: ...
    @overload
    def __getitem__(self, where: slice) -> Corpus: ...
    def __getitem__(self, where: int | slice) -> Sentence | Corpus:
        if isinstance(where, slice):
            return self.take(range(*where.indices(len(self))))
        b = where + len(self) if where < 0 else where
        if not 0 <= b < len(self):
            raise IndexError(message("sentence {}: expected 0 to {}", where, len(self) - 1))
        first, last = int(self.offsets[b]), int(self.offsets[b + 1])
        spans = None
        if self.token_spans is not None:
            spans = tuple((int(start), int(end)) for start, end in self.token_spans[first:last])
        return Sentence(
            {name: column[first:last] for name, column in self.columns.items()},
            self.place(b),
            None if self.texts is None else self.texts[b],
            spans,
        )

    def take(self, sentences: Iterable[int]) -> Corpus:
        """Return the corpus of these sentences, in this order; vocabularies are shared."""
        chosen = np.fromiter(sentences, np.int64)
        offsets, tokens = take_rows(self.offsets, chosen)
        return Corpus(
            {name: Column(column.vocabulary, column.ids[tokens]) for name, column in self.columns.items()},
            offsets,
            source=self.source,
            lines=None if self.lines is None else self.lines[chosen],
            texts=None if self.texts is None else [self.texts[b] for b in chosen],
            token_spans=None if self.token_spans is None else self.token_spans[tokens],
        )

    def head(self, count: int = 5) -> Corpus:
        """Return the first sentences."""
        check_whole("count", count)
        return self[: max(count, 0)]

    def split(self, fraction: float, seed: int | None = None) -> tuple[Corpus, Corpus]:
        """Cut into two: the given fraction of the sentences and the rest; shuffled where a seed is given."""
        check_number("fraction", fraction, least=0, most=1, wanted="0 to 1")
        order = np.arange(len(self))
        if seed is not None:
            random_generator(seed).shuffle(order)
        cut = round(fraction * len(self))
        return self.take(order[:cut]), self.take(order[cut:])

    def with_column(self, name: str, column: Column) -> Corpus:
        """Return the corpus with one more column, or another one of that name."""
        return self.with_columns({**self.columns, name: column})

    def with_columns(self, columns: Mapping[str, Column]) -> Corpus:
        """Return the same sentences with these columns alone."""
        return Corpus(
            columns,
            self.offsets,
            source=self.source,
            lines=self.lines,
            texts=self.texts,
            token_spans=self.token_spans,
            problems=self.problems,
        )

    def describe(self) -> Description:
        """Count sentences, tokens, labels and entities, find the tag scheme and the longest sentence.

        >>> Corpus.from_sentences([(["Anna", "sings"], ["B-PER", "O"])]).describe().entities
        {'PER': 1}
        """
        from tagline.readers.corpus_summary import describe

        return describe(self)

    def __repr__(self) -> str:
        from tagline.readers.pictures import headline

        return f"Corpus({visible(headline(self))})"

    def _repr_html_(self) -> str:
        from tagline.readers.pictures import picture_of

        return picture_of(self).html()


def _whole_numbers(name: str, values: ArrayLike) -> IntArray:
    try:
        array = np.asarray(values)
        if array.ndim == 1 and (array.dtype.kind in "iu" or not array.size):
            return array.astype(np.int64)
    except (TypeError, ValueError):
        pass
    raise InputError("{}: expected whole numbers, got {}", name, shown_value(values))


def _columns_of(b: int, sentence: object) -> dict[str, Sequence[str]]:
    if isinstance(sentence, Sentence):
        return dict(sentence.columns)
    if isinstance(sentence, Mapping):
        return dict(sentence)
    if isinstance(sentence, tuple) and len(sentence) == 2:
        return {TOKEN: sentence[0], TAG: sentence[1]}
    kind = type(sentence).__name__
    raise InputError("sentence {}: expected a Sentence, a mapping of columns or a pair (tokens, tags), got {}", b, kind)
