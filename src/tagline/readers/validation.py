"""Improper tags: where they break the rules of their scheme, and what can be made of them.

`validate` lists what is wrong, `repair` makes proper tags by one of three policies:

- ``conlleval``: read the spans as the CoNLL scoring script does and write them properly;
- ``discard``: keep those of these spans that were written properly, the others become O;
- ``raise``: an error that names the first place.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Generic

import numpy as np

from tagline.checks import check_choice, shown_value
from tagline.errors import InputError
from tagline.messages import message
from tagline.ragged import first_entries
from tagline.readers.corpus import TAG, Column
from tagline.readers.rules import FAMILY_RULES, MISFIT, ROLES, SEPARATORS, Scheme, scheme, tag_codes
from tagline.readers.spans import SpanArray, find_spans
from tagline.readers.tag_writing import write_tags
from tagline.readers.tagged import Form, Tagged, Tags
from tagline.types import BoolArray

POLICIES = ("conlleval", "discard", "raise")


@dataclass(frozen=True)
class Violation:
    """A tag that breaks the rules of the scheme.

    Attributes:
        sentence, token: where it is, from 0.
        tag: the tag.
        previous: the tag before it, None at the start of a sentence.
        message: what was expected, and what was found.
        place: the sentence's ``path:line`` where the corpus knows it, and the token.
    """

    sentence: int
    token: int
    tag: str
    previous: str | None
    message: str
    place: str

    def __str__(self) -> str:
        return str(message("{}: {}", self.place, self.message))


def validate(tags: Tags, name: str | Scheme, *, column: str = TAG) -> list[Violation]:
    """List every tag that its scheme forbids: alone, after the one before it, or at an end of the sentence.

    Arguments:
        tags: a sentence, a list of sentences, or a corpus.
        name: the scheme or its name.
        column: the column of the corpus.

    >>> print(validate([["O", "B-PER", "I-LOC"]], "IOB2")[0])
    sentence 0, token 2: expected O, B-<type> or I-PER after 'B-PER', got 'I-LOC'
    """
    return list(_violations(Tagged.of(tags, column), scheme(name)))


def _violations(tagged: Tagged, tag_scheme: Scheme) -> Iterator[Violation]:
    for n, kind in np.argwhere(forbidden(tagged, tag_scheme)).tolist():
        b, token = tagged.sentence_of(n)
        tag, previous = tagged.tag(n), tagged.tag(n - 1) if token else None
        problem = _MESSAGES[kind](tag_scheme, tag, previous or "")
        yield Violation(b, token, tag, previous, problem, tagged.place(b, token))


def forbidden(tagged: Tagged, tag_scheme: Scheme) -> BoolArray:
    """Booleans ``[N, 4]``: not a tag of the scheme; must not start; must not follow; must not end.

    Any tag may stand beside a tag that is not of the scheme, so that one mistake is reported once.
    """
    table, codes = FAMILY_RULES[tag_scheme.family], tag_codes(tagged.column.vocabulary, tag_scheme)
    roles, types = codes.roles[tagged.column.ids], codes.types[tagged.column.ids]
    N = len(roles)
    first = first_entries(tagged.offsets)
    last = np.append(first, True)[1:]
    misfit = roles == MISFIT
    follows = np.ones(N, np.bool_)
    same = (types[1:] == types[:-1]).astype(np.int8)
    follows[1:] = table.follows[roles[:-1], roles[1:], same]
    after_misfit = np.append(False, misfit[:-1])[:N]
    return np.stack(
        [
            misfit,
            first & ~table.starts[roles] & ~misfit,
            ~first & ~follows & ~misfit & ~after_misfit,
            last & ~table.ends[roles] & ~misfit,
        ],
        axis=1,
    )


def _followers(tag_scheme: Scheme, previous: str) -> str:
    """Name the tags that may follow another, for messages."""
    role, own_type = tag_scheme.role_and_type(previous)
    other, same = FAMILY_RULES[tag_scheme.family].follows[role].T  # [roles] each
    return _listed(tag_scheme, other, same & ~other, own_type)


def _listed(tag_scheme: Scheme, free: BoolArray, bound: BoolArray | None = None, own_type: str = "") -> str:
    """Name the roles that may take any type, and those that are bound to one type."""
    names = []
    for letter, role in zip(tag_scheme.letters, tag_scheme.roles, strict=True):
        number = ROLES.index(role)
        if free[number]:
            names.append(letter if role == "O" or not tag_scheme.typed else f"{letter}-<type>")
        elif bound is not None and bound[number]:
            names.append(f"{letter}-{own_type}" if own_type else letter)
    return message("{} or {}", ", ".join(names[:-1]), names[-1]) if len(names) > 1 else names[0]


def _after(tag_scheme: Scheme, tag: str, previous: str) -> str:
    return message("expected {} after {!r}, got {}", _followers(tag_scheme, previous), previous, shown_value(tag))


def _at_start(tag_scheme: Scheme, tag: str, _: str) -> str:
    starts = FAMILY_RULES[tag_scheme.family].starts
    return message("expected {} at the start of a sentence, got {}", _listed(tag_scheme, starts), shown_value(tag))


def _at_end(tag_scheme: Scheme, tag: str, _: str) -> str:
    ends = FAMILY_RULES[tag_scheme.family].ends
    return message("expected {} at the end of a sentence, got {}", _listed(tag_scheme, ends), shown_value(tag))


def _of_the_scheme(tag_scheme: Scheme, tag: str, _: str) -> str:
    return tag_scheme.expectation(tag)


_MESSAGES = (_of_the_scheme, _at_start, _after, _at_end)  # in the order of `forbidden`


@dataclass(frozen=True, eq=False)
class Repair(Generic[Form]):
    """Proper tags, and what was done to make them proper.

    Attributes:
        tags: in the form in which they were given: a sentence, a list of sentences, a corpus.
        violations: what was wrong.
        changed: how many tags differ from those before.
        dropped: how many spans were discarded.
    """

    tags: Form
    violations: list[Violation]
    changed: int
    dropped: int

    @property
    def summary(self) -> str:
        """One line for people, with the first place."""
        if not self.violations:
            return message("no violations")
        return message(
            "{} violations, {} tags changed, {} spans dropped; the first: {}",
            len(self.violations),
            self.changed,
            self.dropped,
            self.violations[0],
        )


def repair(tags: Form, name: str | Scheme, policy: str = "conlleval", *, column: str = TAG) -> Repair[Form]:
    """Make proper tags of improper ones; proper ones stay as they are.

    Arguments:
        tags: a sentence, a list of sentences, or a corpus.
        name: the scheme or its name.
        policy: ``conlleval``, ``discard`` or ``raise``. A tag that is not of the scheme is always an error.
        column: the column of the corpus.

    >>> repair(["O", "I-PER", "I-PER", "B-LOC"], "IOB2").tags
    ['O', 'B-PER', 'I-PER', 'B-LOC']
    >>> repair(["O", "I-PER", "I-PER", "B-LOC"], "IOB2", "discard").tags
    ['O', 'O', 'O', 'B-LOC']
    """
    tag_scheme, tagged = scheme(name), Tagged.of(tags, column)
    violations = list(_violations(tagged, tag_scheme))
    spans, dropped = read_spans(tagged, tag_scheme, policy, violations)
    new = write_tags(spans, tagged.offsets, tag_scheme, separator_of(tagged.column)) if violations else tagged.column
    changed = int(_differences(new, tagged.column, str).sum())
    return Repair(tagged.like_original(new), violations, changed, dropped)


def read_spans(
    tagged: Tagged, tag_scheme: Scheme, policy: str, violations: list[Violation] | None = None
) -> tuple[SpanArray, int]:
    """Read spans by a repair policy; return them and how many were discarded."""
    check_choice("repair", policy, POLICIES)
    if violations is None:
        violations = list(_violations(tagged, tag_scheme))
    for violation in violations:
        if tag_scheme.role_and_type(violation.tag)[0] == MISFIT:
            raise InputError(str(violation))
    if violations and policy == "raise":
        more = message(" (and {} more)", len(violations) - 1) if len(violations) > 1 else ""
        raise InputError("{}{}; repair='conlleval' reads such tags, repair='discard' drops them", violations[0], more)
    spans = find_spans(tagged.column, tagged.offsets, f"conlleval:{tag_scheme.name}")
    if not violations or policy != "discard":
        return spans, 0
    proper = _written_properly(spans, tagged, tag_scheme)
    return spans.take(proper), int((~proper).sum())


def _written_properly(spans: SpanArray, tagged: Tagged, tag_scheme: Scheme) -> BoolArray:
    """Say of each span whether its tokens have the tags that it would be written with."""
    written = write_tags(spans, tagged.offsets, tag_scheme)
    wrong = np.append(0, np.cumsum(_differences(written, tagged.column, tag_scheme.role_and_type)))  # [N + 1]
    base = tagged.offsets[spans.sentence]
    return np.asarray(wrong[base + spans.end] == wrong[base + spans.start], np.bool_)


def _differences(before: Column, after: Column, key: Callable[[str], Hashable]) -> BoolArray:
    """Say of each token whether its two tags have different keys."""
    numbers: dict[Hashable, int] = {}
    old, new = (
        np.array([numbers.setdefault(key(tag), len(numbers)) for tag in column.vocabulary], np.int64)[column.ids]
        for column in (before, after)
    )
    return np.asarray(old != new, np.bool_)


def separator_of(tags: Column) -> str:
    """Return the separator of the tags: ``-`` unless all of them use ``_``."""
    used = {tag[1] for tag in tags.vocabulary if len(tag) > 1}
    return "_" if used == {"_"} else SEPARATORS[0]
