"""Tag schemes: how the letters B, I, O, E, S of tags mark where spans begin and end.

A tag is a letter and, after ``-`` or ``_``, a type: ``B-PER``; the type may be missing (``B``). A `Scheme` says which
letter stands for which role:

    O outside, B first token of a span, I inside, E last token, S a span of one token.

BILOU, BMEWO and BMES are BIOES in other letters. Spans are read in `tagline.readers.spans`, written in
`tagline.readers.tag_writing`, checked in `tagline.readers.validation`, recognised in `tagline.readers.detection`.
Reference: Tjong Kim Sang and Veenstra, Representing Text Chunks, EACL 1999 (IOB1, IOB2, IOE1, IOE2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tagline.checks import shown_value
from tagline.errors import InputError
from tagline.messages import message
from tagline.types import BoolArray

ROLES = "OBIESX"
OUTSIDE, BEGIN, INSIDE, END, SINGLE, UNKNOWN = range(len(ROLES))
"""`UNKNOWN` is of no scheme: a letter that the CoNLL script reads without knowing what it means."""

SEPARATORS = "-_"
MISFIT = -1
"""The role of a tag that is not of the scheme."""


@dataclass(frozen=True)
class Scheme:
    """A way to write spans as tags.

    Attributes:
        name: as `scheme` knows it.
        family: the scheme whose rules hold; BILOU, BMEWO and BMES are of the family BIOES.
        roles: the roles that it uses, out of ``OBIES``.
        letters: how each of these is written, in the same order.
        typed: False where tags never carry a type and every token belongs to a span (word segmentation).

    >>> scheme("BILOU").letters, scheme("BILOU").family
    ('OBILU', 'BIOES')
    """

    name: str
    family: str
    roles: str
    letters: str
    typed: bool = True

    def __str__(self) -> str:
        return self.name

    @property
    def pattern(self) -> str:
        """The tags of the scheme, for messages.

        >>> scheme("IOB2").pattern
        'O, B-<type>, I-<type>'
        """
        return ", ".join(
            letter if role == "O" or not self.typed else f"{letter}-<type>"
            for role, letter in zip(self.roles, self.letters, strict=True)
        )

    def letter(self, role: int) -> str:
        """Return how a role is written."""
        return self.letters[self.roles.index(ROLES[role])]

    def parse(self, tag: str, where: str = "tag") -> tuple[str, str]:
        """Cut a tag into its letter and its type, the type empty where there is none.

        Nothing is ever cut from a tag that is not of this scheme: that is an error, which begins with `where`.

        >>> scheme("IOB2").parse("B-PER"), scheme("IOB2").parse("O")
        (('B', 'PER'), ('O', ''))
        """
        role, kind = self.role_and_type(tag)
        if role == MISFIT:
            raise InputError("{}: {}", where, self.expectation(tag))
        return tag[0], kind

    def expectation(self, tag: str) -> str:
        """Say what a tag should have been."""
        return message("expected a tag of {} ({}), got {}", self.name, self.pattern, shown_value(tag))

    def role_and_type(self, tag: str) -> tuple[int, str]:
        """Return role and type of a tag; the role of a tag that is not of this scheme is `MISFIT`."""
        where = self.letters.find(tag[0]) if isinstance(tag, str) and tag else -1
        if where < 0:
            return MISFIT, ""
        role = ROLES.index(self.roles[where])
        if len(tag) == 1:
            return role, ""
        if role == OUTSIDE or not self.typed or tag[1] not in SEPARATORS or len(tag) == 2:
            return MISFIT, ""
        return role, tag[2:]


SCHEMES = {
    entry.name: entry
    for entry in (
        Scheme("IO", "IO", "OI", "OI"),
        Scheme("IOB1", "IOB1", "OBI", "OBI"),
        Scheme("IOB2", "IOB2", "OBI", "OBI"),
        Scheme("IOE1", "IOE1", "OIE", "OIE"),
        Scheme("IOE2", "IOE2", "OIE", "OIE"),
        Scheme("BIOES", "BIOES", "OBIES", "OBIES"),
        Scheme("BILOU", "BIOES", "OBIES", "OBILU"),
        Scheme("BMEWO", "BIOES", "OBIES", "OBMEW"),
        Scheme("BMES", "BIOES", "OBIES", "OBMES"),
        Scheme("BMES-words", "BIOES", "BIES", "BMES", typed=False),
    )
}
ALIASES = {"BIO": "IOB2", "IOBES": "BIOES"}
_BY_UPPER_NAME = {name.upper(): SCHEMES[ALIASES.get(name, name)] for name in (*SCHEMES, *ALIASES)}


def scheme(name: str | Scheme) -> Scheme:
    """Return a scheme by its name, or say which names there are.

    IO, IOB1, IOB2 (or BIO), IOE1, IOE2, BIOES (or IOBES), BILOU, BMEWO, BMES, and BMES-words: B, M, E, S without types,
    each token in a word.

    >>> scheme("BIO").name
    'IOB2'
    """
    if isinstance(name, Scheme):
        return name
    entry = _BY_UPPER_NAME.get(name.upper()) if isinstance(name, str) else None
    if entry is None:
        names = ", ".join([*SCHEMES, *(f"{alias} (= {target})" for alias, target in ALIASES.items())])
        raise InputError("scheme: expected one of {}, got {}", names, shown_value(name))
    return entry


@dataclass(frozen=True, eq=False)
class TagCodes:
    """Role and type of each entry of a vocabulary of tags.

    Attributes:
        roles: ``[V]``, `MISFIT` for a tag that is not of the scheme.
        types: ``[V]``, a number in `names`; that of the empty type for O and misfits.
        names: the types, in the order of their first use; the empty type is always the first.
    """

    roles: NDArray[np.int8]
    types: NDArray[np.int32]
    names: tuple[str, ...]


def tag_codes(vocabulary: Sequence[str], tag_scheme: Scheme) -> TagCodes:
    """Parse each distinct tag once.

    >>> codes = tag_codes(["O", "B-PER", "NN"], scheme("IOB2"))
    >>> codes.roles.tolist(), codes.types.tolist(), codes.names
    ([0, 1, -1], [0, 1, 0], ('', 'PER'))
    """
    parsed = [tag_scheme.role_and_type(tag) for tag in vocabulary]
    numbers: dict[str, int] = {"": 0}
    types = [numbers.setdefault(kind, len(numbers)) for _, kind in parsed]
    return TagCodes(np.array([role for role, _ in parsed], np.int8), np.array(types, np.int32), tuple(numbers))


@dataclass(frozen=True, eq=False)
class Rules:
    """What a scheme allows, in the form that `tagline.chain.constrain` takes.

    Attributes:
        transitions: booleans ``[L, L]`` as ``[previous, next]``.
        start, end: booleans ``[L]``, which labels may begin and end a sentence.
    """

    transitions: BoolArray
    start: BoolArray
    end: BoolArray


def legal(labels: Sequence[str], name: str | Scheme) -> Rules:
    """Say which labels may follow each other, begin and end a sentence.

    Arguments:
        labels: the L tags of a model, each of the scheme.
        name: the scheme or its name.

    >>> rules = legal(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"], "IOB2")
    >>> int((~rules.transitions).sum()), rules.start.tolist()
    (6, [True, True, False, True, False])
    """
    tag_scheme = scheme(name)
    if not isinstance(labels, Sequence) or not all(isinstance(label, str) for label in labels):
        raise InputError("labels: expected a list of tags, got {}", shown_value(labels))
    codes = tag_codes(labels, tag_scheme)
    for number in np.flatnonzero(codes.roles == MISFIT).tolist():
        tag_scheme.parse(labels[number], f"labels[{number}]")  # which says what it should have been
    roles, types = codes.roles, codes.types
    table = FAMILY_RULES[tag_scheme.family]
    same = types[:, None] == types  # [L, L]
    follows = table.follows[roles[:, None], roles, same.astype(np.int8)]
    return Rules(follows, table.starts[roles], table.ends[roles])


@dataclass(frozen=True, eq=False)
class RoleRules:
    """Which roles may follow each other: ``follows[previous, next, same type]``, ``starts[role]``, ``ends[role]``."""

    follows: BoolArray
    starts: BoolArray
    ends: BoolArray


def pairs(*patterns: str) -> BoolArray:
    """Make a table ``[previous role, next role, same type]`` from patterns such as ``"BI I="``.

    A pattern is the previous roles, a blank, the next roles, and ``=`` or ``!`` where it holds only for the same type
    or only for different types.

    >>> pairs("BI I=")[BEGIN, INSIDE].tolist()  # of another type, of the same
    [False, True]
    """
    table = np.zeros((len(ROLES), len(ROLES), 2), np.bool_)
    for pattern in patterns:
        previous, after = pattern.rstrip("=!").split()
        kinds = {"=": [1], "!": [0]}.get(pattern[-1], [0, 1])
        for first in previous:
            for second in after:
                table[ROLES.index(first), ROLES.index(second), kinds] = True
    return table


def _role_set(roles: str) -> BoolArray:
    return np.array([role in roles for role in ROLES])


FAMILY_RULES = {
    "IO": RoleRules(pairs("OI OI"), _role_set("OI"), _role_set("OI")),
    # B only where it parts two spans of one type.
    "IOB1": RoleRules(pairs("OBI OI", "BI B="), _role_set("OI"), _role_set("OBI")),
    "IOB2": RoleRules(pairs("OBI OB", "BI I="), _role_set("OB"), _role_set("OBI")),
    # E only where it parts two spans of one type.
    "IOE1": RoleRules(pairs("OI OIE", "E IE="), _role_set("OIE"), _role_set("OI")),
    "IOE2": RoleRules(pairs("OE OIE", "I IE="), _role_set("OIE"), _role_set("OE")),
    "BIOES": RoleRules(pairs("OES OBS", "BI IE="), _role_set("OBS"), _role_set("OES")),
}
