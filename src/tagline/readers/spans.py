"""Tags in, spans out: where entities, chunks or words stand, by one of three rules, on integers.

Every rule looks at two neighbouring tags only: previous letter, next letter, whether the types are the same.

- ``conlleval``: the reading of the CoNLL shared tasks' scoring script, which makes something of any tags. A
  span starts where the type changes, at B after O, B or I, at I or E after O or E. It surprises thrice: after E, a B of
  the same type does *not* start a span; brackets, ``[`` and ``]``, are spans of one token (and ``.`` is outside); and
  the script does not know S, U, L, M and W, which start a span only where the type changes.
- ``conlleval:<scheme>``: the same with the letters of a scheme (BILOU: L is E, U is S; BMES: M is I; …). In the family
  BIOES, B always starts a span and E always ends one, so that proper tags are read properly.
- ``strict:<scheme>``: the reading of seqeval's strict mode: only spans whose every tag is right for the scheme.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from tagline.checks import shown_value
from tagline.errors import InputError
from tagline.messages import message
from tagline.ragged import row_of
from tagline.readers.corpus import Column
from tagline.readers.rules import MISFIT, OUTSIDE, ROLES, Scheme, pairs, scheme, tag_codes
from tagline.types import BoolArray, IntArray

Span = tuple[int, int, str]
"""(first token, token after the last, label)."""


@dataclass(frozen=True, eq=False)
class SpanArray:
    """Spans of a batch of sentences, sorted by sentence and start; those of one sentence do not overlap.

    Attributes:
        sentence: ``[M]``, int64.
        start, end: ``[M]``, int64, token indices inside the sentence, `end` exclusive.
        label: ``[M]``, int32, a number in `labels`.
        labels: the names of the labels; the empty string is that of tags without a type.
    """

    sentence: IntArray
    start: IntArray
    end: IntArray
    label: NDArray[np.int32]
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.start)

    def take(self, which: NDArray[np.bool_] | IntArray) -> SpanArray:
        """Return these spans alone, chosen by booleans or by rising indices."""
        return SpanArray(self.sentence[which], self.start[which], self.end[which], self.label[which], self.labels)

    def numbered(self, labels: Sequence[str]) -> NDArray[np.int32]:
        """Return the labels as numbers in another list of names, −1 where a name is not in it."""
        numbers = {name: number for number, name in enumerate(labels)}
        return np.array([numbers.get(name, -1) for name in self.labels], np.int32)[self.label]

    def found_in(self, other: SpanArray) -> BoolArray:
        """Say of each span whether `other` has it too: sentence, start, end and label name.

        >>> from tagline.readers.corpus import Column
        >>> gold = find_spans(Column.of(["B-PER", "I-PER", "B-LOC"]), np.array([0, 3]), "conlleval")
        >>> guess = find_spans(Column.of(["B-PER", "O", "B-LOC"]), np.array([0, 3]), "conlleval")
        >>> gold.found_in(guess).tolist()
        [False, True]
        """
        if not len(self) or not len(other):
            return np.zeros(len(self), np.bool_)
        width = 1 + max(int(self.start.max()), int(other.start.max()))
        mine, theirs = self.sentence * width + self.start, other.sentence * width + other.start
        # No two spans of an array start at the same token, so a start finds its only partner.
        match = np.minimum(np.searchsorted(theirs, mine), len(other) - 1)
        return np.asarray(
            (theirs[match] == mine)
            & (other.end[match] == self.end)
            & (other.label[match] == self.numbered(other.labels)),
            np.bool_,
        )

    def to_lists(self, num_sentences: int) -> list[list[Span]]:
        """Return the spans of each sentence as (start, end, label name)."""
        lists: list[list[Span]] = [[] for _ in range(num_sentences)]
        rows = (values.tolist() for values in (self.sentence, self.start, self.end, self.label))
        for b, start, end, label in zip(*rows, strict=True):
            lists[b].append((start, end, self.labels[label]))
        return lists


def find_spans(tags: Column, offsets: IntArray, rule: str) -> SpanArray:
    """Read the spans of a column of tags.

    Arguments:
        tags: the tags of all sentences, N of them.
        offsets: ``[B + 1]``, where each sentence begins.
        rule: ``conlleval``, ``conlleval:<scheme>`` or ``strict:<scheme>``.

    A tag that is none of the rule's letters is an error with its place: nothing is read into a part-of-speech tag.

    >>> from tagline.readers.corpus import Column
    >>> find_spans(Column.of(["B-PER", "I-PER", "O", "I-LOC"]), np.array([0, 4]), "conlleval").to_lists(1)
    [[(0, 2, 'PER'), (3, 4, 'LOC')]]
    >>> find_spans(Column.of(["B-PER", "I-PER", "O", "I-LOC"]), np.array([0, 4]), "strict:IOB2").to_lists(1)
    [[(0, 2, 'PER')]]
    """
    reading = _reading(rule if isinstance(rule, str) else shown_value(rule))
    offsets = _checked(offsets, len(tags))
    codes = tag_codes(tags.vocabulary, reading.scheme)
    roles, types = codes.roles[tags.ids], codes.types[tags.ids]  # [N]
    if (codes.roles == MISFIT).any():
        _refuse_misfits(tags, offsets, roles, reading.scheme)
    is_first = np.zeros(len(tags) + 1, np.bool_)  # of its sentence; the end of the last one counts too
    is_first[offsets] = True
    pair = _pairs(roles, types, is_first)
    start, end = (_whole_runs if reading.strict else _all_chunks)(reading, pair, roles, is_first)
    sentence = np.searchsorted(offsets, start, "right") - 1
    base = offsets[sentence]
    label, labels = _used(types[start], codes.names)
    return SpanArray(sentence, start - base, end - base, label, labels)


def _checked(offsets: IntArray, num_tokens: int) -> IntArray:
    rows = np.asarray(offsets, np.int64)
    if rows.ndim != 1 or not len(rows) or rows[0] != 0 or rows[-1] != num_tokens or (np.diff(rows) < 0).any():
        raise InputError("offsets: expected to rise from 0 to {}, got {!s:.60}", num_tokens, rows.tolist())
    return rows


def _pairs(roles: NDArray[np.int8], types: NDArray[np.int32], is_first: BoolArray) -> IntArray:
    """Return the place of each token and the one before it in the tables of a rule, ``[N]``.

    O stands before the first token of a sentence.
    """
    before, same = np.empty_like(roles), np.zeros(len(roles), np.bool_)
    before[1:], same[1:] = roles[:-1], types[1:] == types[:-1]
    before[is_first[:-1]], same[is_first[:-1]] = OUTSIDE, False
    return (before.astype(np.int64) * len(ROLES) + roles) * 2 + same


def _all_chunks(
    reading: _Reading, pair: IntArray, _: NDArray[np.int8], is_first: BoolArray
) -> tuple[IntArray, IntArray]:
    """Return starts and ends by conlleval's rule: from each start to the next start, stop, or end of the sentence."""
    begins = reading.begins[pair]
    start = np.flatnonzero(begins)
    stop = np.flatnonzero(np.append(begins | reading.stops[pair], True) | is_first)
    return start, stop[np.searchsorted(stop, start, "right")]


def _whole_runs(
    reading: _Reading, pair: IntArray, roles: NDArray[np.int8], is_first: BoolArray
) -> tuple[IntArray, IntArray]:
    """Return starts and ends by the strict rule.

    A run is a stretch of tokens each of which continues the one before. A run holds at most one span: from the first
    token that may start one to the end of the run, and only where the run may end.
    """
    breaks = np.append(~reading.inside[pair], True) | is_first  # [N + 1], where a run begins
    run = np.cumsum(breaks[:-1])
    start = np.flatnonzero(reading.begins[pair])
    start = start[np.diff(run[start], prepend=0) > 0]  # the first of each run
    stop = np.flatnonzero(breaks)
    end = stop[np.searchsorted(stop, start, "right")]
    at_end = roles[end - 1].astype(np.int64) * len(ROLES) * 2  # the pair with an O, which stands after a sentence
    proper = reading.stops[np.where(is_first[end], at_end, np.append(pair, 0)[end])]
    return start[proper], end[proper]


def _used(numbers: NDArray[np.int32], names: tuple[str, ...]) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Number only the labels that some span has."""
    used = np.bincount(numbers, minlength=len(names)) > 0
    return (np.cumsum(used, dtype=np.int32) - 1)[numbers], tuple(np.array(names, object)[used])


def _refuse_misfits(tags: Column, offsets: IntArray, roles: NDArray[np.int8], tag_scheme: Scheme) -> None:
    wrong = np.flatnonzero(roles == MISFIT)
    if len(wrong):
        n = int(wrong[0])
        b = row_of(offsets, n)
        tag = tags.vocabulary[tags.ids[n]]
        others = message(" (and {} more)", len(wrong) - 1) if len(wrong) > 1 else ""
        raise InputError(
            "sentence {}, token {}: {}{}; tags without spans, such as parts of speech, are scored token by token",
            b,
            n - offsets[b],
            tag_scheme.expectation(tag),
            others,
        )


@dataclass(frozen=True, eq=False)
class _Reading:
    """A rule as flat tables over (previous role, next role, same type): where a span begins, stops, goes on."""

    scheme: Scheme
    begins: BoolArray
    stops: BoolArray
    inside: BoolArray
    strict: bool


# The script takes brackets for spans of one token and ``.`` for outside.
_CONLLEVAL = Scheme("conlleval", "conlleval", "OBIEXXXXXSSO", "OBIESULMW[].")

# Where a span begins; it stops there, too, and where the second pattern says so.
_CONLLEVAL_BEGINS = ("BI B", "O BIE", "E IE", "OBIESX BIESX!")
_SCRIPT = ((*_CONLLEVAL_BEGINS, "OBIESX S"), ("BIEX O", "S OBIEX"))
_BY_SCHEME = ((*_CONLLEVAL_BEGINS, "OBIES S", "S BIE"), ("BIES O",))

STRICT_PATTERNS = {
    "IO": (("O I", "I I!"), ("I I=",), ("I O", "I I!")),
    "IOB1": (("OB I", "I I!", "BI B="), ("BI I=",), ("I OB", "B O", "BI I!", "B B=")),
    "IOB2": (("OBI B",), ("BI I=",), ("BI OB", "BI I!")),
    "IOE1": (("OE I", "I I!", "E E="), ("I IE=",), ("I O", "I IE!", "E IE=")),
    "IOE2": (("OE IE", "I IE!"), ("I IE=",), ("E OIE",)),
    "BIOES": (("OBIES BS",), ("BI IE=",), ("ES OBIES",)),
}
"""Of each family, the (previous, next) patterns of seqeval's strict mode: a span may begin, go on, have ended."""


@cache
def _reading(rule: str) -> _Reading:
    name, _, scheme_name = rule.partition(":") if isinstance(rule, str) else ("", "", "")
    if name not in ("conlleval", "strict") or (name == "strict" and not scheme_name) or rule == "conlleval:":
        raise InputError("rule: expected conlleval, conlleval:<scheme> or strict:<scheme>, got {}", shown_value(rule))
    tag_scheme = scheme(scheme_name) if scheme_name else _CONLLEVAL
    if name == "strict":
        begins, inside, stops = (pairs(*patterns).ravel() for patterns in STRICT_PATTERNS[tag_scheme.family])
        return _Reading(tag_scheme, begins, stops, inside, strict=True)
    opening, closing = _BY_SCHEME if scheme_name else _SCRIPT
    whole = ("E B",) if tag_scheme.family == "BIOES" else ()
    begins, stops = pairs(*opening, *whole).ravel(), pairs(*closing).ravel()
    return _Reading(tag_scheme, begins, stops, ~(begins | stops), strict=False)
