"""The default mode: labels in, chunks out, as seqeval reads them, for all sentences at once.

A label is a letter and a type (``B-PER``, or ``PER-B`` with `suffix`). Two neighbours decide: whether a chunk ends
before a token, and whether one begins at it. The two are asked apart, and a chunk reaches from the last begin to an
end; for the letters B, I, E, S and O that is Tagline's rule ``conlleval:BIOES``. With other letters (BILOU's L and U,
part-of-speech tags) ends may have no begin of their own and begins no end: chunks then overlap or are lost, and a
warning names the labels, as in seqeval.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tagline.errors import InputError
from tagline.evaluation.alignment import columns_of
from tagline.evaluation.matching import PlacedSpans, SpanPair
from tagline.readers.corpus import Column
from tagline.types import IntArray

LETTERS = "OBIES."
OTHER = len(LETTERS)
"""The number of a letter that is none of those."""
UNTYPED = "_"
Chunk = tuple[str, int, int]
"""(type, first token, last token)."""


def _table(decide: str) -> NDArray[np.bool_]:
    """Ask about every pair: ``[previous letter, next letter, same type]``."""
    rule = {"end": _ends, "begin": _begins}[decide]
    letters = [*LETTERS, "?"]
    return np.array([[[rule(one, two, same) for same in (False, True)] for two in letters] for one in letters])


def _ends(previous: str, after: str, same: bool) -> bool:
    closed = previous in "ES" or (previous in "BI" and after in "BSO")
    return closed or (previous not in "O." and not same)


def _begins(previous: str, after: str, same: bool) -> bool:
    opened = after in "BS" or (after in "IE" and previous in "EOS")
    return opened or (after not in "O." and not same)


ENDS, BEGINS = _table("end"), _table("begin")


def get_entities(seq: Sequence[str] | Sequence[Sequence[str]], suffix: bool = False) -> list[Chunk]:
    """Return the chunks of a sentence, or of several, as (type, first token, last token).

    Tokens of several sentences are counted through, with one place left between sentences.

    >>> get_entities(["B-PER", "I-PER", "O", "B-LOC"])
    [('PER', 0, 1), ('LOC', 3, 3)]
    >>> get_entities([["B-PER"], ["B-LOC"]])
    [('PER', 0, 0), ('LOC', 2, 2)]
    """
    nested = any(isinstance(labels, list) for labels in seq)
    column, offsets = columns_of("labels", seq if nested else [list(seq)])  # type: ignore[arg-type]
    assert offsets is not None
    spans, types = find_chunks(column, offsets, suffix)
    places = zip(*(part.tolist() for part in (spans.label, spans.start, spans.end)), strict=True)
    return [(types[label], start, end - 1) for label, start, end in places]


def pair_chunks(y_true: list[list[str]], y_pred: list[list[str]], suffix: bool) -> SpanPair:
    """Find the chunks on both sides."""
    (gold, offsets), (predicted, _) = columns_of("y_true", y_true), columns_of("y_pred", y_pred)
    assert offsets is not None
    sides = [find_chunks(column, offsets, suffix) for column in (gold, predicted)]
    types = tuple(sorted({name for _, names in sides for name in names}))
    numbers = {name: number for number, name in enumerate(types)}
    spans = []
    for side, names in sides:
        table = np.array([numbers[name] for name in names], np.int64)
        spans.append(PlacedSpans(side.start, side.end, table[side.label], side.sentence))
    return SpanPair(types, spans[0], spans[1], offsets, "seqeval")


def find_chunks(labels: Column, offsets: IntArray, suffix: bool) -> tuple[PlacedSpans, list[str]]:
    """Find the chunks of a column, and the names of their types.

    An O stands behind each sentence, and places count it.
    """
    letters, types, names = _read_vocabulary(labels.vocabulary, suffix)
    B = len(offsets) - 1
    sentence = np.repeat(np.arange(B), np.diff(offsets))
    ids = np.full(len(labels) + B, len(labels.vocabulary))  # the last entry of the vocabulary is that O
    ids[np.arange(len(labels)) + sentence] = labels.ids
    letter, kind = letters[ids], types[ids]
    before, same = np.zeros_like(letter), np.zeros(len(ids), np.int64)
    before[1:], same[1:] = letter[:-1], kind[1:] == kind[:-1]
    begins = BEGINS[before, letter, same]
    last_begin = np.maximum.accumulate(np.where(begins, np.arange(len(ids)), 0))
    end = np.flatnonzero(ENDS[before, letter, same])
    owner = np.searchsorted(offsets[1:] + np.arange(1, B + 1), end - 1, "right")
    return PlacedSpans(last_begin[end - 1], end, kind[end - 1], owner), names


def _read_vocabulary(vocabulary: Sequence[str], suffix: bool) -> tuple[IntArray, IntArray, list[str]]:
    """Number the letter and the type of each label, an O behind them, and name the types."""
    numbers: dict[str, int] = {}
    letters, types = [], []
    for label in (*vocabulary, "O"):
        letter, name = _parts(label, suffix)
        letters.append(LETTERS.index(letter) if letter in LETTERS else OTHER)
        types.append(numbers.setdefault(name, len(numbers)))
    return np.array(letters, np.int64), np.array(types, np.int64), list(numbers)


def _parts(label: str, suffix: bool) -> tuple[str, str]:
    """Cut a label into letter and type; warn where it is not written as the label of an entity."""
    if not label:
        raise InputError("labels: expected labels such as B-PER and O, got an empty one")
    marks = ("-B", "-I", "-E", "-S") if suffix else ("B-", "I-", "E-", "S-")
    if label not in ("O", "B", "I", "E", "S") and not (label.endswith(marks) if suffix else label.startswith(marks)):
        warnings.warn(f"{label} seems not to be NE tag.", stacklevel=2)
    if suffix:
        return label[-1], label[:-1].rsplit("-", 1)[0] or UNTYPED
    return label[0], label[1:].split("-", 1)[-1] or UNTYPED
