"""Spans in, tags out.

This works on a whole corpus at once. The first, the last and the other tokens of each span get the role that the
scheme's family wants; a role and a type make a tag. IOB1 and IOE1 look at the neighbouring span too: there, B (E) only
parts spans of one type that touch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from tagline.checks import check_whole, is_listing, shown_value
from tagline.errors import InputError
from tagline.messages import message
from tagline.ragged import offsets_of, row_of
from tagline.readers.corpus import Column
from tagline.readers.rules import BEGIN, END, INSIDE, OUTSIDE, ROLES, SEPARATORS, SINGLE, Scheme, scheme
from tagline.readers.spans import Span, SpanArray
from tagline.types import BoolArray, IntArray


def write_tags(spans: SpanArray, offsets: IntArray, target: str | Scheme, separator: str = "-") -> Column:
    """Write the spans of a corpus as a column of tags.

    Arguments:
        spans: of B sentences, in order and without overlap.
        offsets: ``[B + 1]``, where each sentence begins.
        target: the scheme or its name.
        separator: between letter and type, ``-`` or ``_``.

    >>> spans = SpanArray(np.array([0]), np.array([1]), np.array([3]), np.array([0], np.int32), ("PER",))
    >>> write_tags(spans, np.array([0, 4]), "BIOES").strings
    ['O', 'B-PER', 'E-PER', 'O']
    """
    tag_scheme = scheme(target)
    if separator not in tuple(SEPARATORS):
        raise InputError("separator: expected {}, got {!r}", message(" or ").join(SEPARATORS), separator)
    N, base = int(offsets[-1]), offsets[spans.sentence]
    first, last = base + spans.start, base + spans.end - 1
    lengths = last - first + 1
    inside = np.repeat(first - offsets_of(lengths)[:-1], lengths) + np.arange(lengths.sum())
    roles, types = np.full(N, OUTSIDE, np.int64), np.zeros(N, np.int64)
    roles[inside], types[inside] = INSIDE, np.repeat(spans.label, lengths)
    _mark_ends(roles, first, last, touching(spans), tag_scheme.family)
    if not tag_scheme.typed:
        _refuse_gaps_and_types(spans, roles, offsets, tag_scheme)
    return _column_of(roles, types, spans.labels, tag_scheme, separator)


def touching(spans: SpanArray) -> BoolArray:
    """Say of each span but the last whether the next one follows at once and has the same label, ``[M − 1]``."""
    return np.asarray(
        (spans.sentence[1:] == spans.sentence[:-1])
        & (spans.start[1:] == spans.end[:-1])
        & (spans.label[1:] == spans.label[:-1]),
        np.bool_,
    )


def _mark_ends(roles: IntArray, first: IntArray, last: IntArray, joins: BoolArray, family: str) -> None:
    if family == "IOB1":
        roles[first[1:][joins]] = BEGIN
    if family in ("IOB2", "BIOES"):
        roles[first] = BEGIN
    if family == "IOE1":
        roles[last[:-1][joins]] = END
    if family in ("IOE2", "BIOES"):
        roles[last] = END
    if family == "BIOES":
        roles[first[first == last]] = SINGLE


def _column_of(roles: IntArray, types: IntArray, labels: Sequence[str], tag_scheme: Scheme, separator: str) -> Column:
    """Number the tags in the order of their first use."""
    codes, first_use, ids = np.unique(types * len(ROLES) + roles, return_index=True, return_inverse=True)
    order = np.argsort(first_use)
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    tags = []
    for type_number, role in zip(*(part.tolist() for part in np.divmod(codes[order], len(ROLES))), strict=True):
        label = "" if role == OUTSIDE else labels[type_number]
        tags.append(tag_scheme.letter(role) + (separator + label if label else ""))
    return Column(tuple(tags), rank[ids])


def _refuse_gaps_and_types(spans: SpanArray, roles: IntArray, offsets: IntArray, tag_scheme: Scheme) -> None:
    gaps = np.flatnonzero(roles == OUTSIDE)
    if len(gaps):
        b = row_of(offsets, gaps[0])
        place = message("sentence {}, token {}", b, gaps[0] - offsets[b])
        raise InputError("{}: expected every token in a word ({}), got one outside all spans", place, tag_scheme.name)
    typed = [label for label in spans.labels if label]
    if typed:
        raise InputError("spans: expected words without labels ({}), got labels {}", tag_scheme.name, ", ".join(typed))


def spans_to_tags(spans: Iterable[Span], length: int, target: str | Scheme, separator: str = "-") -> list[str]:
    """Write the spans of one sentence as tags.

    Arguments:
        spans: (first token, token after the last, label), in any order.
        length: tokens of the sentence.
        target: the scheme or its name.
        separator: between letter and type, ``-`` or ``_``.

    >>> spans_to_tags([(0, 2, "PER"), (3, 4, "LOC")], 4, "IOB2")
    ['B-PER', 'I-PER', 'O', 'B-LOC']
    """
    check_whole("length", length, 0, wanted=message("0 tokens or more"))
    if not is_listing(spans):
        raise InputError("spans: expected a list of (start, end, label), got {}", shown_value(spans))
    return write_tags(_one_sentence(list(spans), length), np.array([0, length]), target, separator).strings


def _one_sentence(spans: list[Span], length: int) -> SpanArray:
    for span in spans:
        proper = isinstance(span, tuple | list) and len(span) == 3 and isinstance(span[2], str)
        if not proper or not all(isinstance(n, int | np.integer) for n in span[:2]):
            raise InputError("spans: expected (start, end, label), got {}", shown_value(span))
        if not 0 <= span[0] < span[1] <= length:
            raise InputError(
                "span {}: expected 0 <= start < end <= {} tokens, got {} and {}",
                shown_value(span),
                length,
                shown_value(span[0]),
                shown_value(span[1]),
            )
    ordered = sorted(spans)
    for span, following in pairwise(ordered):
        if following[0] < span[1]:
            raise InputError(
                "spans: expected no overlap, got {!r} and {!r}; a tag holds one span only", span, following
            )
    labels = tuple(dict.fromkeys(label for _, _, label in ordered))
    numbers = [labels.index(label) for _, _, label in ordered]
    start, end = ([span[side] for span in ordered] for side in (0, 1))
    return SpanArray(
        np.zeros(len(ordered), np.int64),
        np.array(start, np.int64),
        np.array(end, np.int64),
        np.array(numbers, np.int32),
        labels,
    )
