"""The door of the evaluation: gold and predicted labels, in whatever form they come, as numbers of one set of labels.

Lists of label lists, `Column`s and `Corpus` objects become an `Aligned`: two arrays of label numbers ``[N]`` and the
offsets ``[B + 1]`` of the sentences that they share. Everything behind this door works on those arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagline.checks import shown_value
from tagline.errors import InputError
from tagline.messages import message
from tagline.ragged import offsets_of
from tagline.readers.adapters import corpus_of
from tagline.readers.corpus import TAG, Column, Corpus
from tagline.types import IntArray

Labellings: TypeAlias = Corpus | Column | Sequence[Sequence[str]]
"""Labels of several sentences: a corpus (its column ``tag``), a column, or one list of labels for each sentence."""


@dataclass(frozen=True, eq=False)
class Aligned:
    """Gold and predicted labels of the same tokens.

    Attributes:
        labels: the distinct labels of both, sorted.
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
    def columns(self) -> tuple[Column, Column]:
        """The gold and the predicted labels as columns."""
        return Column(self.labels, self.gold), Column(self.labels, self.predicted)


def align(gold: Labellings, predicted: Labellings, offsets: ArrayLike | None = None) -> Aligned:
    """Put gold and predicted labels side by side, or say which sentence does not fit.

    Arguments:
        gold, predicted: labels of B sentences with N tokens. A `Column` takes the sentences of the other side.
        offsets: ``[B + 1]``, the sentences of two `Column`s; one sentence when left out.

    >>> pair = align([["B-PER", "O"], ["O"]], [["B-PER", "O"], ["B-LOC"]])
    >>> pair.labels, pair.predicted.tolist(), pair.offsets.tolist()
    (('B-LOC', 'B-PER', 'O'), [1, 2, 0], [0, 2, 3])
    """
    gold_column, gold_offsets = columns_of("gold", gold)
    predicted_column, predicted_offsets = columns_of("predicted", predicted)
    shared_offsets = _checked_offsets(offsets, len(gold_column))
    if gold_offsets is None:
        gold_offsets = predicted_offsets if shared_offsets is None else shared_offsets
    if predicted_offsets is None:
        predicted_offsets = gold_offsets
    if gold_offsets is None or predicted_offsets is None:
        gold_offsets = predicted_offsets = np.array([0, len(gold_column)], np.int64)
    sides = (("gold", gold_column, gold_offsets), ("predicted", predicted_column, predicted_offsets))
    for side, column, sentences in sides:
        if len(column) != sentences[-1]:
            raise InputError("{}: expected {} labels, one a token, got {}", side, sentences[-1], len(column))
    _check_lengths(gold, gold_offsets, predicted_offsets)
    labels = tuple(sorted({*gold_column.vocabulary, *predicted_column.vocabulary}))
    return Aligned(labels, label_numbers(gold_column, labels), label_numbers(predicted_column, labels), gold_offsets)


def columns_of(side: str, labels: Labellings) -> tuple[Column, IntArray | None]:
    """Return labels as one column and the offsets of their sentences; None where a column leaves them open."""
    if (corpus := corpus_of(labels)) is not None:
        return corpus.column(TAG), corpus.offsets
    assert not isinstance(labels, Corpus)
    if isinstance(labels, Column):
        return labels, None
    if isinstance(labels, str) or not hasattr(labels, "__len__") or not getattr(labels, "ndim", 1):
        kind = type(labels).__name__
        raise InputError("{}: expected a list with one list of labels for each sentence, got {}", side, kind)
    if not set(map(type, labels)) <= {list, tuple}:
        _check_sentences(side, labels)
    offsets = offsets_of(np.fromiter(map(len, labels), np.int64, len(labels)))
    return _column(side, labels, int(offsets[-1])), offsets


def label_numbers(column: Column, labels: Sequence[str]) -> NDArray[np.int32]:
    """Return the column's strings as indices into ``labels``, which has them all: ``[N]``, int32."""
    numbers = {label: number for number, label in enumerate(labels)}
    table = np.array([numbers[string] for string in column.vocabulary], np.int32)
    return table[column.ids] if len(table) else np.empty(0, np.int32)


class _Numbers(dict[str, int]):
    """A table that numbers new keys as they come."""

    def __missing__(self, key: str) -> int:
        self[key] = number = len(self)
        return number


def _column(side: str, labels: Sequence[Sequence[str]], N: int) -> Column:
    # One pass that stays in C but for new labels: about half the time of `Column.of` (52 and 95 ms for 1 M labels).
    numbers = _Numbers()
    try:
        ids = np.fromiter(map(numbers.__getitem__, chain.from_iterable(labels)), np.int32, N)
    except TypeError as error:  # lists of lists of lists
        raise InputError("{}: expected labels that are strings, got something else ({})", side, error) from None
    for label in numbers:
        if not isinstance(label, str):
            raise InputError(
                "{}: expected labels that are strings, got {} {}", side, type(label).__name__, shown_value(label)
            )
    return Column(tuple(numbers), ids)


def _check_sentences(side: str, labels: Sequence[object]) -> None:
    for b, sentence in enumerate(labels):
        if isinstance(sentence, str) or not hasattr(sentence, "__len__") or not getattr(sentence, "ndim", 1):
            raise InputError(
                "{}, sentence {}: expected a list of labels, got {}; put a single sentence into a list: [labels]",
                side,
                b,
                shown_value(sentence),
            )


def _checked_offsets(offsets: ArrayLike | None, N: int) -> IntArray | None:
    if offsets is None:
        return None
    rows = np.array(offsets, np.int64)
    if rows.ndim != 1 or not len(rows) or rows[0] != 0 or rows[-1] != N or (np.diff(rows) < 0).any():
        raise InputError("offsets: expected to rise from 0 to {} (the gold labels), got {}", N, rows.tolist()[:5])
    return rows


def _check_lengths(gold: Labellings, gold_offsets: IntArray, predicted_offsets: IntArray) -> None:
    lengths, predicted_lengths = np.diff(gold_offsets), np.diff(predicted_offsets)
    shared = min(len(lengths), len(predicted_lengths))
    unequal = np.flatnonzero(lengths[:shared] != predicted_lengths[:shared])
    b = int(unequal[0]) if len(unequal) else shared
    place = gold.place(b) if isinstance(gold, Corpus) and b < len(lengths) else message("sentence {}", b)
    if len(lengths) != len(predicted_lengths):
        first = message("the first of another length") if len(unequal) else message("the first without a partner")
        raise InputError(
            "predicted: expected {} sentences as in gold, got {}; {} is {}",
            len(lengths),
            len(predicted_lengths),
            place,
            first,
        )
    if len(unequal):
        raise InputError(
            "{}: expected {} predicted labels, one for each gold label, got {}", place, lengths[b], predicted_lengths[b]
        )
