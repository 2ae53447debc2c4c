"""Entities and labels that are known of a text, in characters, as the labels of tokens that models take as known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tagline.checks import is_listing, shown_value
from tagline.errors import InputError
from tagline.messages import message
from tagline.models.entities import Reading
from tagline.ragged import row_of
from tagline.readers.corpus import Column, Corpus
from tagline.readers.spans import SpanArray
from tagline.readers.tag_writing import write_tags
from tagline.readers.validation import separator_of


class KnownSpans:
    """What is known of texts, for a model with these labels.

    Arguments:
        labels: of the model.
        reading: how they make spans; None where they make none.
    """

    def __init__(self, labels: Sequence[Any], reading: Reading | None) -> None:
        self.labels, self.reading = list(labels), reading
        self.types = () if reading is None else tuple(name for name in reading.types if name)

    def rows(
        self, entries: Any, where: str, text: str, corpus: Corpus, first: int, bounds: Sequence[tuple[int, int]]
    ) -> list[list[Any] | None]:
        """Return for each sentence of a text what is known of its tokens; None for nothing.

        Arguments:
            entries: (start, end, label or type) in characters of the text; None for none.
            where: how messages name the entries.
            corpus: whose sentences from `first` on are those of the text, at these `bounds`.
        """
        out: list[list[Any] | None] = [None] * len(bounds)
        if entries is None:
            return out
        if not is_listing(entries):
            raise InputError("{}: expected a list of (start, end, label), got {}", where, shown_value(entries))
        assert corpus.token_spans is not None
        offsets = corpus.offsets[first : first + len(bounds) + 1] - corpus.offsets[first]
        spans = corpus.token_spans[corpus.offsets[first] : corpus.offsets[first + len(bounds)]]
        base = np.repeat([start for start, _ in bounds], np.diff(offsets)).astype(np.int64)
        places = (spans + base[:, None]).tolist()
        known: list[Any] = [None] * len(places)
        beside: dict[int, set[Any]] = {}
        starts, ends = {start: n for n, (start, _) in enumerate(places)}, {end: n for n, (_, end) in enumerate(places)}
        for k, entry in enumerate(entries):
            start, end, label = _checked(entry, f"{where}[{k}]")
            n, last = starts.get(start, -1), ends.get(end, -1)
            if not 0 <= n <= last:
                near = [text[a:b] for a, b in places if a < end and b > start]
                raise InputError(
                    "{}[{}]: characters {} to {}, {}, are not whole tokens; the tokens there are {!r:.80}",
                    where,
                    k,
                    start,
                    end,
                    shown_value(text[max(start, 0) : end]),
                    near,
                )
            b = row_of(offsets, n)
            if last >= offsets[b + 1]:
                raise InputError(
                    "{}[{}]: characters {} to {} are in two sentences; pass split=False to read the text as one",
                    where,
                    k,
                    start,
                    end,
                )
            names = self._names(label, last + 1 - n, f"{where}[{k}]")
            for t, name in enumerate(names, n):
                if known[t] is not None:
                    raise InputError("{}[{}]: the token {!r} is known twice", where, k, text[slice(*places[t])])
                known[t] = name
            if isinstance(label, str) and label not in self.labels:
                before = n - 1 if n > offsets[b] else None
                self._part(beside, names, before, last + 1 if last + 1 < offsets[b + 1] else None)
        for t, free in beside.items():
            known[t] = free if known[t] is None else known[t]
        for b in range(len(bounds)):
            row = known[offsets[b] : offsets[b + 1]]
            out[b] = row if any(name is not None for name in row) else None
        return out

    def _names(self, label: Any, size: int, where: str) -> list[Any]:
        """The label, or the set of labels, of each of some tokens."""
        names = list(label) if is_listing(label) else [label]
        if names and all(name in self.labels for name in names):
            return [label] * size
        if self.reading is None or not isinstance(label, str) or label not in self.types:
            types = message(", or a type: {}", ", ".join(self.types)) if self.types else ""
            raise InputError(
                "{}: the model has no label {}; its labels are {!s:.200}{}",
                where,
                shown_value(label),
                ", ".join(map(str, self.labels)),
                types,
            )
        zero, end = np.zeros(1, np.int64), np.array([size])
        span = SpanArray(zero, zero, end, np.zeros(1, np.int32), (label,))
        separator = separator_of(Column(tuple(self.labels), np.zeros(0, np.int32)))
        tags = write_tags(span, np.array([0, size]), self.reading.scheme, separator).strings
        for tag in tags:
            if tag not in self.labels:
                raise InputError(
                    "{}: {} tokens of type {} need the label {}, which the model lacks", where, size, label, tag
                )
        return tags

    def _part(self, beside: dict[int, set[Any]], names: list[Any], before: int | None, end: int | None) -> None:
        """Keep the tokens beside an entity out of it."""
        assert self.reading is not None
        joins = self.reading.continues
        for t, forbidden in (
            (before, joins[:, self.labels.index(names[0])]),
            (end, joins[self.labels.index(names[-1])]),
        ):
            if t is not None:
                free = {label for label, wrong in zip(self.labels, forbidden, strict=True) if not wrong}
                beside[t] = beside.get(t, free) & free


def _checked(entry: Any, where: str) -> tuple[int, int, Any]:
    """The three parts of an entry."""
    parts = list(entry) if is_listing(entry) else []
    if len(parts) != 3 or not all(type(part) is int or isinstance(part, np.integer) for part in parts[:2]):
        raise InputError(
            "{}: expected (start, end, label) in characters of the text, got {}", where, shown_value(entry)
        )
    return int(parts[0]), int(parts[1]), parts[2]
