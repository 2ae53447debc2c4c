"""Macros, the holes of a template: which column they look at, where, and what they take from the word there.

CRF++ has ``%x[row,column]``: the word of that column, ``row`` tokens away. Extensions, none of which CRF++ reads:

- built-in columns, ``%x[0,0:lower:suffix3]`` (`tagline.features.templates.word_functions`);
- Wapiti's patterns: ``%t[row,column,"re"]`` gives ``true`` or ``false``, whether the expression is found in the word;
  ``%m[row,column,"re"]`` gives the text that it matched, empty where there is no match. The dialect is that of Python's
  `re.search`, less what needs backtracking (`tagline.features.expressions.patterns`); ``\\"`` is a quote. As in Wapiti,
  the expression also looks at padding (``_B-1``);
- Wapiti's upper-case commands, ``%X``, ``%T``, ``%M``, put their result in lower case;
- other mentions of the word in its document: ``%x[-1,0:mention1]`` (`tagline.features.mentions`);
- vectors: ``%v[row,column]``, alone in its line, gives the numbers of the word's vector (`tagline.features.vectors`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from tagline.errors import InputError
from tagline.features.expressions.patterns import Pattern
from tagline.features.expressions.trees import BacktrackingError, ExpressionError, SizeError
from tagline.features.lexicons.clusters import Clusters
from tagline.features.templates import word_functions
from tagline.messages import message
from tagline.types import IntArray

Place = TypeVar("Place", int, IntArray)

MOST_ROWS = 99
MOST_COLUMNS = 10_000
CRFPP_ROWS = 8

_ROW_AND_COLUMN = re.compile(r"(-?[0-9]+),([0-9]+)((?::[A-Za-z0-9_]*)*)")
_LENIENT = re.compile(r"\s*([+@-]?)\s*([0-9]+)\s*,\s*([0-9]+)\s*")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')


class MacroError(ValueError):
    """What is wrong with a macro; the template adds where."""


@dataclass(frozen=True)
class Derivation:
    """What a macro takes from a column: the word, or what functions and a pattern make of it.

    Attributes:
        column: its position.
        functions: built-in columns, the first one first.
        command: ``x``, ``t``, ``m`` or ``v``.
        lowered: whether the result goes to lower case.
        pattern: the regular expression of ``t`` and ``m``.
        clusters: the tables of the model, for built-in columns that look at them.
    """

    column: int
    functions: tuple[str, ...] = ()
    command: str = "x"
    lowered: bool = False
    pattern: str = ""
    clusters: tuple[Clusters, ...] = field(default=(), compare=False, repr=False)

    @property
    def mention(self) -> int:
        """Which other mention of the token's word it is taken from; 0 for the token itself."""
        return word_functions.mention_of(self.functions[0]) if self.functions else 0

    @property
    def is_plain(self) -> bool:
        """Whether it is the word itself, as in CRF++."""
        return not self.functions and self.command == "x" and not self.lowered

    @property
    def steps(self) -> tuple[str, ...] | None:
        """The functions that make it of a word, where the compiled core has all of them, for words of ASCII."""
        steps = (*self.functions, "lower") if self.lowered else self.functions
        return steps if self.command == "x" and all(map(word_functions.is_compiled, steps)) else None

    @property
    def is_fine(self) -> bool:
        """Whether most words keep apart in it."""
        return self.command == "x" and set(self.functions) <= {"lower", "nfkc", "digits"}

    @cached_property
    def _search(self) -> Pattern:
        return Pattern.of(self.pattern)

    @cached_property
    def _steps(self) -> list[word_functions.WordFunction]:
        return list(map(self._step, self.functions))

    def _step(self, name: str) -> word_functions.WordFunction:
        if word_functions.mention_of(name):
            raise InputError(
                "template: expected a CRF, MEMM or MaxEnt to look at {}, another sentence of the document, "
                "got something that looks at one sentence; take its lines out",
                name,
            )
        place = word_functions.table_of(name)
        if place is None:
            step = word_functions.find(name)
            assert step is not None, name
            return step
        if place >= len(self.clusters):
            raise InputError(
                "clusters: expected {} tables, for the built-in column {}, got {}; pass clusters=",
                place + 1,
                name,
                len(self.clusters),
            )
        return self.clusters[place].of

    def of(self, word: str) -> str | None:
        """Take it from a word; None where there is nothing to take, and no attribute then."""
        value: str | None = word
        for step in self._steps:
            value = step(value) if value is not None else None
            if not value:
                return None
        (value,) = self._match([value])
        return value.lower() if value and self.lowered else value

    def of_all(self, words: Sequence[str]) -> list[str | None]:
        """Take it from many words; the same as `of` for each, only faster."""
        values: list[str | None] = [*words]
        for name in self.functions:
            filled = [value for value in values if value] if not all(values) else values
            if word_functions.table_of(name) is None and not word_functions.mention_of(name):
                results = word_functions.apply(name, filled)  # type: ignore[arg-type]
            else:
                results = list(map(self._step(name), filled))  # type: ignore[arg-type]
            if len(filled) < len(values):
                next_results = iter(results)
                results = [next(next_results) if value else None for value in values]
            values = results
        if self.functions and not all(values):
            values = [value or None for value in values]
        values = self._match(values)
        return [value.lower() if value else value for value in values] if self.lowered else values

    @property
    def may_lack_padding(self) -> bool:
        """Whether there is padding of which it has nothing to say."""
        return False

    def of_padding(self, distance: int) -> str | None:
        """Take it from padding, at which only patterns look: −1 is the place before the sentence, 1 that behind it."""
        (value,) = self._match([f"_B{distance:+d}"])
        return value

    def _match(self, words: list[str | None]) -> list[str | None]:
        if self.command == "x":
            return words
        return self._search.answers(words) if self.command == "t" else self._search.texts(words)


@dataclass(frozen=True)
class Macro:
    """A hole in a template: what it takes, and where.

    Attributes:
        row: the place, counted from the current token.
        derivation: what is taken there.
        anchor: "start" or "end" where rows count from the first token of the sentence, or from behind its last.
    """

    row: int
    derivation: Derivation
    anchor: str = ""

    def place(self, token: Place, length: Place) -> Place:
        """Return the place in a sentence of so many tokens; below 0 and from the length on, there is padding."""
        if self.anchor == "start":
            return token * 0 + self.row
        return (length if self.anchor == "end" else token) + self.row

    @property
    def has_places(self) -> bool:
        """Whether rows alone do not say what it takes: it has an anchor, or has nothing to say of some padding."""
        return bool(self.anchor) or self.derivation.may_lack_padding

    @property
    def is_crfpp(self) -> bool:
        """Whether CRF++ would take it."""
        return self.derivation.is_plain and not self.anchor and abs(self.row) <= CRFPP_ROWS


def parse_macro(text: str, at: int) -> tuple[Macro, int]:
    """Parse the macro that begins with the ``%`` at a place; return it and the place behind it."""
    command = text[at + 1 : at + 2]
    if command not in set("xtmvXTM"):
        raise MacroError(
            message(
                'expected %x, %t, %m or %v, got "{}"; a template has no other commands and no way to write a '
                "percent sign",
                text[at : at + 2],
            )
        )
    if text[at + 2 : at + 3] != "[":
        raise MacroError(
            message('expected %{}[row,column], got "{}"; put the brackets right behind it', command, text[at:])
        )
    where = _ROW_AND_COLUMN.match(text, at + 3)
    if where is None or text[where.end() : where.end() + 1] not in ("]", ","):
        raise _not_row_and_column(text, at, command)
    row, column = _number(where[1], MOST_ROWS), _number(where[2], MOST_COLUMNS - 1)
    functions = tuple(where[3].split(":")[1:])
    if row is None:
        raise MacroError(message("expected a row from -{0} to {0}, got {1:.60}", MOST_ROWS, where[1]))
    if column is None:
        raise MacroError(message("expected a column from 0 to {}, got {:.60}", MOST_COLUMNS - 1, where[2]))
    for place, name in enumerate(functions):
        if word_functions.mention_of(name):
            if place:
                raise MacroError(
                    message('expected {} right behind the column, got "{}" before it', name, functions[place - 1])
                )
        elif word_functions.find(name) is None and word_functions.table_of(name) is None:
            raise MacroError(
                message('expected a built-in column, got "{}"; there are {}', name, ", ".join(word_functions.names()))
            )
    pattern, end = "", where.end()
    if command in "tTmM":
        pattern, end = _parse_pattern(text, at, end, command)
    if text[end : end + 1] != "]":
        raise MacroError(
            message(
                'expected ] at the end of %{}, got "{}"{}',
                command,
                text[at:],
                message('; only %t and %m take a pattern: %t[0,0,"re"]') if command in "xXv" else "",
            )
        )
    return Macro(row, Derivation(column, functions, command.lower(), command.isupper(), pattern)), end + 1


def _number(digits: str, most: int) -> int | None:
    """Return the number that digits stand for, of which there may be thousands; None where it is above `most`."""
    sign, figures = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
    figures = figures.lstrip("0") or "0"
    if len(figures) > len(str(most)) or int(figures) > most:
        return None
    return int(sign + figures)


def _not_row_and_column(text: str, at: int, command: str) -> MacroError:
    got = text[at : text.find("]", at) + 1] or text[at:]
    lenient = _LENIENT.match(text, at + 3)
    remedy = message("write %{0}[row,column] with whole numbers, such as %{0}[-1,0]", command)
    if lenient is not None:
        sign = "-" if lenient[1] == "-" else ""
        plain = f"%{command}[{sign}{lenient[2]},{lenient[3]}]"
        if lenient[1] == "@":
            remedy = message("rows count from the current token; there are no absolute ones")
        elif lenient[1] == "+":
            remedy = message("CRF++ takes no plus sign: write {}", plain)
        elif "]" in text[at:]:
            remedy = message("CRF++ takes no blanks here: write {}", plain)
        else:
            remedy = message("close the bracket")
    return MacroError(message('expected %{}[row,column], got "{}"; {}', command, got, remedy))


def _parse_pattern(text: str, at: int, end: int, command: str) -> tuple[str, int]:
    quoted = _QUOTED.match(text, end + 1) if text[end : end + 1] == "," else None
    if quoted is None:
        raise MacroError(
            message(
                'expected a pattern in quotes, %{}[row,column,"re"], got "{}"; there is no blank '
                'before the quote, and a quote in the pattern is \\"',
                command,
                text[at:],
            )
        )
    pattern = quoted[1].replace('\\"', '"')
    if re.search(r"(?<!\\)(?:\\\\)*\\a", pattern):
        raise MacroError(
            message("expected a pattern of Python's re, got \"{}\"; Wapiti's \\a is [^\\W\\d_] there", pattern)
        )
    try:
        Pattern.of(pattern)
    except BacktrackingError as error:
        raise MacroError(
            message(
                'expected a pattern that is matched without backtracking, got "{}" ({}); write it without that',
                pattern,
                error,
            )
        ) from None
    except SizeError as error:
        raise MacroError(message('expected a pattern of up to {}, got more ("{:.40}…")', error, pattern)) from None
    except ExpressionError as error:
        hint = (
            message("; Wapiti's \\u, \\l and \\p are [A-Z], [a-z] and [^\\w\\s] there")
            if re.search("\\\\[ulp]", pattern)
            else ""
        )
        raise MacroError(message('expected a pattern of Python\'s re, got "{}" ({}){}', pattern, error, hint)) from None
    return pattern, quoted.end()
