"""seqeval's tag schemes: classes of tokens that know where an entity may begin, go on and end.

The six schemes are those of `tagline.readers.rules`, and their entities are read by `tagline.readers.spans`, all
sentences at once. A scheme of one's own, a subclass of `Token` with patterns, is read token by token.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, TypeGuard

from tagline.errors import InputError
from tagline.evaluation.alignment import columns_of
from tagline.readers import rules
from tagline.readers.corpus import Column
from tagline.readers.spans import STRICT_PATTERNS, find_spans
from tagline.types import IntArray

Prefix = enum.Flag("Prefix", {"I": 1, "O": 2, "B": 4, "E": 8, "S": 16, "U": 32, "L": 64, "ANY": 127})
Prefixes = dict(Prefix.__members__)
LETTERS = "IOBESUL"


class Tag(enum.Flag):
    """Whether two neighbours have the same type."""

    SAME = 1
    DIFF = 2
    ANY = 3


Pattern = tuple[Prefix, Prefix, Tag]
"""Letters of a token, letters of the next one, whether they have the same type."""


class TagError(InputError, KeyError, IndexError):
    """A label without a letter, or with one that is not of the scheme; also the errors of a bare look-up."""


class Entity:
    """A span: its sentence, its first token, the token behind its last, its type."""

    def __init__(self, sent_id: int | None, start: int, end: int, tag: str) -> None:
        self.sent_id = sent_id
        self.start = start
        self.end = end
        self.tag = tag

    def to_tuple(self) -> tuple[int | None, str, int, int]:
        """Return sentence, type, start and end."""
        return self.sent_id, self.tag, self.start, self.end

    def __repr__(self) -> str:
        return f"({', '.join(map(str, self.to_tuple()))})"

    def __eq__(self, other: object) -> bool:
        return hasattr(other, "to_tuple") and self.to_tuple() == other.to_tuple()

    def __hash__(self) -> int:
        return hash(self.to_tuple())


class Token:
    """A label, cut into a letter and a type.

    A scheme is a subclass with patterns; `check_patterns` says whether one of them fits a token and the one before.

    >>> IOB2("B-PER").tag, IOB2("I-PER").is_inside(IOB2("B-PER"))
    ('PER', True)
    """

    allowed_prefix: ClassVar[Any] = None
    start_patterns: ClassVar[Any] = None
    inside_patterns: ClassVar[Any] = None
    end_patterns: ClassVar[Any] = None
    rule: ClassVar[str | None] = None
    """How `tagline.readers.spans` reads the scheme; see `rule_of`."""

    def __init__(self, token: str, suffix: bool = False, delimiter: str = "-") -> None:
        letter = token[-1:] if suffix else token[:1]
        if letter not in Prefixes:
            place = "ends" if suffix else "begins"
            raise TagError(
                "label: expected one that {} with a letter of {}, got {!r}", place, ", ".join(LETTERS), token
            )
        self.token = token
        self.prefix = Prefixes[letter]
        self.tag = (token[:-1] if suffix else token[1:]).strip(delimiter) or "_"

    def __repr__(self) -> str:
        return self.token

    def is_valid(self) -> bool:
        """Say that the letter is one of the scheme, or raise an error."""
        if self.prefix not in self.allowed_prefix:
            letters = "|".join(letter for letter in LETTERS if Prefixes[letter] in self.allowed_prefix)
            raise TagError("Invalid token is found: {}. Allowed prefixes are: {}.", self.token, letters)
        return True

    def is_start(self, prev: Token) -> bool:
        """Say whether an entity may begin at this token, after `prev`."""
        return self.check_patterns(prev, self.start_patterns)

    def is_inside(self, prev: Token) -> bool:
        """Say whether this token goes on with the entity of `prev`."""
        return self.check_patterns(prev, self.inside_patterns)

    def is_end(self, prev: Token) -> bool:
        """Say whether an entity may have ended with `prev`."""
        return self.check_patterns(prev, self.end_patterns)

    def check_tag(self, prev: Token, cond: Tag) -> bool:
        """Say whether the types are the same, or not, as a pattern wants it."""
        return (Tag.SAME if prev.tag == self.tag else Tag.DIFF) in cond

    def check_patterns(self, prev: Token, patterns: set[Pattern]) -> bool:
        """Say whether a pattern fits the two tokens."""
        return any(
            prev.prefix in before and self.prefix in after and self.check_tag(prev, cond)
            for before, after, cond in patterns
        )


def _patterns_of(name: str) -> tuple[str, Prefix, set[Pattern], set[Pattern], set[Pattern]]:
    """Return rule, letters, and the patterns of start, inside and end of a scheme of Tagline."""
    scheme = rules.scheme(name)

    def letters(roles: str) -> Prefix:
        flags = Prefix(0)
        for role in roles:
            flags |= Prefixes[scheme.letter(rules.ROLES.index(role))]
        return flags

    def triple(pattern: str) -> Pattern:
        before, after = pattern.rstrip("=!").split()
        return letters(before), letters(after), {"=": Tag.SAME, "!": Tag.DIFF}.get(pattern[-1], Tag.ANY)

    start, inside, end = ({triple(pattern) for pattern in part} for part in STRICT_PATTERNS[scheme.family])
    return f"strict:{scheme.name}", letters(scheme.roles), start, inside, end


class IOB1(Token):
    """B only where it parts two entities of one type."""

    rule, allowed_prefix, start_patterns, inside_patterns, end_patterns = _patterns_of("IOB1")


class IOE1(Token):
    """E only where it parts two entities of one type."""

    rule, allowed_prefix, start_patterns, inside_patterns, end_patterns = _patterns_of("IOE1")


class IOB2(Token):
    """B for the first token of each entity."""

    rule, allowed_prefix, start_patterns, inside_patterns, end_patterns = _patterns_of("IOB2")


class IOE2(Token):
    """E for the last token of each entity."""

    rule, allowed_prefix, start_patterns, inside_patterns, end_patterns = _patterns_of("IOE2")


class IOBES(Token):
    """B for the first token, E for the last, S for a single one."""

    rule, allowed_prefix, start_patterns, inside_patterns, end_patterns = _patterns_of("BIOES")


class BILOU(Token):
    """B for the first token, L for the last, U for a single one."""

    rule, allowed_prefix, start_patterns, inside_patterns, end_patterns = _patterns_of("BILOU")


class Tokens:
    """The tokens of a sentence, and the entities that their scheme finds in them.

    >>> Tokens(["B-PER", "I-PER", "O"], IOB2, sent_id=0).entities
    [(0, PER, 0, 2)]
    """

    def __init__(
        self,
        tokens: Sequence[str],
        scheme: type[Token],
        suffix: bool = False,
        delimiter: str = "-",
        sent_id: int | None = None,
    ) -> None:
        self.outside_token = scheme("O", suffix=suffix, delimiter=delimiter)
        self.tokens = [scheme(token, suffix=suffix, delimiter=delimiter) for token in tokens]
        self.extended_tokens = [*self.tokens, self.outside_token]
        self.sent_id = sent_id

    @property
    def entities(self) -> list[Entity]:
        """The entities, in the order of the text.

        A run is a stretch of tokens that go on with each other. It holds at most one entity, from the first token that
        may begin one to the end of the run, where the token behind the run lets it end.
        """
        entities: list[Entity] = []
        start, before = None, self.outside_token
        for place, token in enumerate(self.extended_tokens):
            token.is_valid()
            if start is not None and not token.is_inside(before):
                if token.is_end(before):
                    entities.append(Entity(self.sent_id, start, place, self.tokens[start].tag))
                start = None
            if start is None and token.is_start(before):
                start = place
            before = token
        return entities


class Entities:
    """The entities of several sentences.

    >>> sorted(Entities([["B-PER", "O"], ["B-LOC"]], IOB2).unique_tags)
    ['LOC', 'PER']
    """

    def __init__(
        self, sequences: Sequence[Sequence[str]], scheme: type[Token], suffix: bool = False, delimiter: str = "-"
    ) -> None:
        rule = rule_of(scheme)
        if rule is None:
            rows = [Tokens(labels, scheme, suffix, delimiter, b).entities for b, labels in enumerate(sequences)]
        else:
            column, offsets = as_tags(sequences, scheme, suffix, delimiter)
            spans = find_spans(column, offsets, rule).to_lists(len(sequences))
            rows = [[Entity(b, start, end, name) for start, end, name in row] for b, row in enumerate(spans)]
        self.entities = rows

    @cached_property
    def _by_type(self) -> dict[str, set[Entity]]:
        groups: dict[str, set[Entity]] = {}
        for row in self.entities:
            for entity in row:
                groups.setdefault(entity.tag, set()).add(entity)
        return groups

    def filter(self, tag_name: str) -> set[Entity]:
        """Return the entities of a type."""
        return set(self._by_type.get(tag_name, ()))

    @property
    def unique_tags(self) -> set[str]:
        """The types of all entities."""
        return set(self._by_type)


def is_scheme(scheme: object) -> TypeGuard[type[Token]]:
    """Say whether this is a class of tokens, `Token`'s or one that looks like it."""
    return isinstance(scheme, type) and hasattr(scheme, "start_patterns")


def rule_of(scheme: type[Token]) -> str | None:
    """Return how Tagline reads a scheme; None for one's own, also where it is made from one of the six."""
    return vars(scheme).get("rule")


def as_tags(
    sequences: Sequence[Sequence[str]], scheme: type[Token], suffix: bool = False, delimiter: str = "-"
) -> tuple[Column, IntArray]:
    """Write labels as tags that Tagline reads, ``B-PER``, with the offsets of the sentences."""
    column, offsets = columns_of("labels", sequences)
    assert offsets is not None
    tags = []
    for label in column.vocabulary:
        token = scheme(label, suffix=suffix, delimiter=delimiter)
        token.is_valid()
        tags.append("O" if token.prefix.name == "O" else f"{token.prefix.name}-{token.tag}")
    return Column(tuple(tags), column.ids), offsets


def auto_detect(sequences: Sequence[Sequence[str]], suffix: bool = False, delimiter: str = "-") -> type[Token]:
    """Return IOB2, IOE2, IOBES or BILOU by the letters of the labels.

    B without another end is IOB2, E without B is IOE2, B and E are IOBES, B and L are BILOU; S or U alone are entities
    of one token. Letters that fit none of these are an error.

    >>> auto_detect([["B-PER", "I-PER", "O"]]).__name__
    'IOB2'
    """
    column, _ = columns_of("labels", sequences)
    letters = set()
    for label in column.vocabulary:
        try:
            letters.add(Token(label, suffix=suffix, delimiter=delimiter).prefix.name)
        except TagError:
            raise InputError("This scheme is not supported: {}", label) from None
    for scheme, needed, possible, alone in (
        (IOB2, "B", "IOB", ""),
        (IOE2, "E", "IOE", ""),
        (IOBES, "BE", "IOBES", "S"),
        (BILOU, "BL", "IOBLU", "U"),
    ):
        if set(needed) <= letters <= set(possible) or letters == {alone}:
            return scheme
    raise InputError("This scheme is not supported: {}", ", ".join(sorted(map(str, letters))))
