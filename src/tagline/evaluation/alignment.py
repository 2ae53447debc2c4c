"""The door of the evaluation: gold and predicted tags, however they come, as integers over one set of labels.

Lists of tag lists, `Column`s and `Corpus` objects become an `Aligned`: two arrays of label numbers ``[N]`` and the
offsets ``[B + 1]`` of the sentences they share. Everything behind this door works on those arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagline.errors import InputError
from tagline.readers.adapters import as_corpus, is_foreign
from tagline.readers.corpus import TAG, Column, Corpus
from tagline.types import IntArray

TagSequences: TypeAlias = Corpus | Column | Sequence[Sequence[str]]
"""Tags of several sentences: a corpus (its column ``tag``), a column, or one list of tags for each sentence."""


@dataclass(frozen=True, eq=False)
class Aligned:
    """Gold and predicted tags of the same tokens.

    Attributes:
        labels: the distinct tags of both, sorted.
        gold, predicted: ``[N]``, int32, indices into ``labels``.
        offsets: ``[B + 1]``, where each sentence begins.
    """

    labels: tuple[str, ...]
    gold: NDArray[np.int32]
    predicted: NDArray[np.int32]
    offsets: IntArray

    @property
    def num_tokens(self) -> int:
        """N, over all sentences."""
        return len(self.gold)

    @property
    def num_sentences(self) -> int:
        """B."""
        return len(self.offsets) - 1

    @property
    def gold_column(self) -> Column:
        """The gold tags as a column."""
        return Column(self.labels, self.gold)

    @property
    def predicted_column(self) -> Column:
        """The predicted tags as a column."""
        return Column(self.labels, self.predicted)


def align(gold: TagSequences, predicted: TagSequences, offsets: ArrayLike | None = None) -> Aligned:
    """Put gold and predicted tags side by side, or say which sentence does not fit.

    Arguments:
        gold, predicted: tags of B sentences with N tokens. A `Column` takes the sentences of the other side.
        offsets: ``[B + 1]``, the sentences of two `Column`s; one sentence when left out.

    >>> pair = align([["B-PER", "O"], ["O"]], [["B-PER", "O"], ["B-LOC"]])
    >>> pair.labels, pair.predicted.tolist(), pair.offsets.tolist()
    (('B-LOC', 'B-PER', 'O'), [1, 2, 0], [0, 2, 3])
    """
    gold_tags, gold_offsets = columns_of("gold", gold)
    predicted_tags, predicted_offsets = columns_of("predicted", predicted)
    bounds = _given_offsets(offsets, len(gold_tags))
    if gold_offsets is None:
        gold_offsets = predicted_offsets if bounds is None else bounds
    if predicted_offsets is None:
        predicted_offsets = gold_offsets
    if gold_offsets is None or predicted_offsets is None:
        gold_offsets = predicted_offsets = np.array([0, len(gold_tags)], np.int64)
    for side, tags, sentences in (("gold", gold_tags, gold_offsets), ("predicted", predicted_tags, predicted_offsets)):
        if len(tags) != sentences[-1]:
            raise InputError(f"{side}: expected {sentences[-1]} tags, one a token, got {len(tags)}")
    _check_lengths(gold, gold_offsets, predicted_offsets)
    labels = tuple(sorted({*gold_tags.vocabulary, *predicted_tags.vocabulary}))
    return Aligned(labels, recode(gold_tags, labels), recode(predicted_tags, labels), gold_offsets)


def columns_of(side: str, tags: TagSequences) -> tuple[Column, IntArray | None]:
    """Return the tags as one column and the offsets of their sentences, None where the caller's are to be used."""
    if is_foreign(tags):
        tags = as_corpus(tags)
    if isinstance(tags, Corpus):
        return tags.column(TAG), tags.offsets
    if isinstance(tags, Column):
        return tags, None
    if isinstance(tags, str) or not hasattr(tags, "__len__"):
        raise InputError(f"{side}: expected a list with one list of tags for each sentence, got {type(tags).__name__}")
    if not set(map(type, tags)) <= {list, tuple}:
        _check_sentences(side, tags)
    offsets = np.zeros(len(tags) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, tags), np.int64, len(tags)), out=offsets[1:])
    return _column(side, tags, int(offsets[-1])), offsets


def recode(column: Column, labels: Sequence[str]) -> NDArray[np.int32]:
    """Return the column's strings as indices into ``labels``, which has them all: ``[N]``, int32."""
    numbers = {label: number for number, label in enumerate(labels)}
    table = np.array([numbers[string] for string in column.vocabulary], np.int32)
    return table[column.ids] if len(table) else np.empty(0, np.int32)


class _Numbers(dict[str, int]):
    """Numbers new keys as they come."""

    def __missing__(self, key: str) -> int:
        self[key] = number = len(self)
        return number


def _column(side: str, tags: Sequence[Sequence[str]], N: int) -> Column:
    # One pass that stays in C but for new tags: about half the time of `Column.of` (52 and 95 ms for 1 M tags).
    numbers = _Numbers()
    try:
        ids = np.fromiter(map(numbers.__getitem__, chain.from_iterable(tags)), np.int32, N)
    except TypeError as error:  # lists of lists of lists
        raise InputError(f"{side}: expected tags that are strings, got something else ({error})") from None
    for tag in numbers:
        if not isinstance(tag, str):
            raise InputError(f"{side}: expected tags that are strings, got {type(tag).__name__} {tag!r}")
    return Column(tuple(numbers), ids)


def _check_sentences(side: str, tags: Sequence[object]) -> None:
    for b, sentence in enumerate(tags):
        if isinstance(sentence, str) or not hasattr(sentence, "__len__"):
            raise InputError(
                f"{side}, sentence {b}: expected a list of tags, got {sentence!r}; "
                "put a single sentence into a list: [tags]"
            )


def _given_offsets(offsets: ArrayLike | None, N: int) -> IntArray | None:
    if offsets is None:
        return None
    bounds = np.array(offsets, np.int64)
    if bounds.ndim != 1 or not len(bounds) or bounds[0] != 0 or bounds[-1] != N or (np.diff(bounds) < 0).any():
        raise InputError(f"offsets: expected to rise from 0 to {N} (the gold tags), got {bounds.tolist()[:5]}")
    return bounds


def _check_lengths(gold: TagSequences, gold_offsets: IntArray, predicted_offsets: IntArray) -> None:
    lengths, found = np.diff(gold_offsets), np.diff(predicted_offsets)
    shared = min(len(lengths), len(found))
    unequal = np.flatnonzero(lengths[:shared] != found[:shared])
    b = int(unequal[0]) if len(unequal) else shared
    place = gold.place(b) if isinstance(gold, Corpus) and b < len(lengths) else f"sentence {b}"
    if len(lengths) != len(found):
        first = "the first of another length" if len(unequal) else "the first without a partner"
        raise InputError(
            f"predicted: expected {len(lengths)} sentences as in gold, got {len(found)}; {place} is {first}"
        )
    if len(unequal):
        raise InputError(f"{place}: expected {lengths[b]} predicted tags, one for each gold tag, got {found[b]}")
