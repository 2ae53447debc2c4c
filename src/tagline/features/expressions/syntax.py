"""The syntax of patterns, read into a tree: the part of Python's `re` that needs no backtracking.

What cannot be matched in time that grows with the length of the word alone (backreferences, lookaround, atomic groups,
possessive repetition, conditions) is refused by name. Flags are applied while reading.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace

from tagline.features.expressions.character_sets import (
    BEYOND,
    CATEGORIES,
    Bounds,
    category,
    complement,
    folded,
    of_ranges,
    ranges_of,
)
from tagline.features.expressions.trees import (
    Assertion,
    BacktrackingError,
    Characters,
    ExpressionError,
    Node,
    SizeError,
    choice_of,
    repetition_of,
    series_of,
)
from tagline.messages import message

MOST_CHARACTERS = 10_000  # of an expression
MOST_NESTED = 100  # groups in one another
MOST_REPEATED = 10_000  # the count of a repetition
MOST_BOUNDS = 100_000  # of the sets of characters of one expression: \w has 1,500

_ESCAPES = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_HEXADECIMAL = {"x": 2, "u": 4, "U": 8}
_PLACES = {"A": "start", "Z": "end", "b": "boundary", "B": "inside"}
_REFUSED = {
    "=": message("a lookahead"),
    "!": message("a lookahead"),
    "<=": message("a lookbehind"),
    "<!": message("a lookbehind"),
    "(": message("a condition"),
    ">": message("an atomic group"),
    "P=": message("a backreference"),
}
_LONG_OR_DEEP = message("{} characters and {} groups in one another", MOST_CHARACTERS, MOST_NESTED)
_DIGITS, _OCTAL = "0123456789", "01234567"
_BLANKS = " \t\n\r\v\f"
_FLAGS = "aimsux"


def parse(text: str) -> Node:
    """Read an expression.

    >>> parse("[a-c]")
    Characters(bounds=(97, 100))
    """
    if len(text) > MOST_CHARACTERS:
        raise SizeError(_LONG_OR_DEEP)
    return _Parser(text).read()


@dataclass(frozen=True)
class _Flags:
    ignore_case: bool = False
    every_line: bool = False
    dot_takes_all: bool = False
    verbose: bool = False
    ascii_only: bool = False


class _Parser:
    """Reads one expression from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._names: set[str] = set()
        self._sets: set[Bounds] = set()
        self._bounds = 0  # of all sets together
        self._flags = _Flags()  # of the whole expression

    def read(self) -> Node:
        node = self._read_choice(None)
        if self._at < len(self._text):
            raise ExpressionError(message("a ) without its ("), self._at)
        return node

    # The text.

    def _next(self, ahead: int = 0) -> str:
        return self._text[self._at + ahead : self._at + ahead + 1]

    def _take(self) -> str:
        character = self._next()
        self._at += len(character)
        return character

    def _taken(self, wanted: str) -> bool:
        if not self._text.startswith(wanted, self._at):
            return False
        self._at += len(wanted)
        return True

    def _take_while(self, allowed: str, most: int = MOST_CHARACTERS) -> str:
        first = self._at
        while self._next() and self._next() in allowed and self._at - first < most:
            self._at += 1
        return self._text[first : self._at]

    def _take_until(self, end: str, what: str) -> str:
        first, behind = self._at, self._text.find(end, self._at)
        if behind < 0:
            raise ExpressionError(message("{} without {}", what, end), first)
        self._at = behind + len(end)
        return self._text[first:behind]

    def _skip_comment(self, end: str) -> bool:
        """Go behind the end of a comment, which no backslash stands before; False where there is none."""
        while (character := self._take()) and character != end:
            if character == "\\" and not self._take():
                raise ExpressionError(message("an escape without a character"), self._at - 1)
        return bool(character)

    # Expressions.

    def _read_choice(self, flags: _Flags | None) -> Node:
        parts = [self._read_series(flags, first=True)]
        while self._taken("|"):
            parts.append(self._read_series(flags))
        return choice_of(parts)

    def _read_series(self, flags: _Flags | None, first: bool = False) -> Node:
        """Read up to | or ) or the end; without flags those of the whole expression count, which may stand first."""
        parts: list[Node] = []
        repeatable = False  # whether the last part can be followed by a count
        while (character := self._next()) and character not in "|)":
            own = flags or self._flags
            begin = self._at
            if own.verbose and character in _BLANKS:
                self._at += 1
            elif own.verbose and character == "#":
                self._skip_comment("\n")
            elif self._taken("(?#"):
                if not self._skip_comment(")"):
                    raise ExpressionError(message("a comment without )"), begin)
            elif (counts := self._read_counts()) is not None:
                if not repeatable:
                    raise ExpressionError(message("nothing that {} can repeat", character), begin)
                parts[-1] = repetition_of(parts[-1], *counts)
                repeatable = False
            elif self._begins_with_flags():
                if flags is not None or not first or parts:
                    raise ExpressionError(message("flags for all that are not at the start"), begin)
                self._flags = self._read_flags(self._flags, ")")
            else:
                parts.append(self._read_part(own))
                repeatable = not isinstance(parts[-1], Assertion) or character == "("
        return series_of(parts)

    def _read_counts(self) -> tuple[int, int | None, bool] | None:
        """Read ``*``, ``+``, ``?`` or counts in braces with what follows; None where there is none of them."""
        begin = self._at
        counts = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(self._next())
        if counts is not None:
            self._at += 1
        elif self._next() == "{":
            counts = self._read_braces()
        if counts is None:
            return None
        if self._next() == "+":
            raise BacktrackingError(message("possessive repetition"), begin)
        return *counts, self._taken("?")

    def _read_braces(self) -> tuple[int, int | None] | None:
        begin = self._at
        self._at += 1
        least = most = self._take_while(_DIGITS)
        if self._taken(","):
            most = self._take_while(_DIGITS)
        elif not least:
            self._at = begin
            return None
        if not self._taken("}"):
            self._at = begin
            return None
        if any(len(digits.lstrip("0")) > 5 or int(digits or "0") > MOST_REPEATED for digits in (least, most)):
            raise ExpressionError(message("a count above {}", MOST_REPEATED), begin)
        counts = int(least or "0"), int(most) if most else None
        if counts[1] is not None and counts[1] < counts[0]:
            raise ExpressionError(message("a count that falls"), begin)
        return counts

    def _read_part(self, flags: _Flags) -> Node:
        begin = self._at
        character = self._take()
        if character == "(":
            return self._read_group(flags, begin)
        if character == "[":
            return self._read_set(flags, begin)
        if character == ".":
            return self._characters(complement(()) if flags.dot_takes_all else complement((10, 11)))
        if character == "^":
            return Assertion("line start" if flags.every_line else "start")
        if character == "$":
            return Assertion("line end" if flags.every_line else "last line end")
        if character != "\\":
            return self._literal(ord(character), flags)
        if (name := _PLACES.get(self._next())) is not None:
            self._at += 1
            return Assertion(f"ascii {name}" if flags.ascii_only and name in ("boundary", "inside") else name)
        member = self._read_escape(begin, in_set=False)
        if isinstance(member, str):
            return self._characters(category(member, flags.ascii_only))
        return self._literal(member, flags)

    def _literal(self, code: int, flags: _Flags) -> Node:
        bounds = (code, code + 1)
        return self._characters(folded(bounds, flags.ascii_only) if flags.ignore_case else bounds)

    def _characters(self, bounds: Bounds) -> Node:
        """Make a set a part; the sets of an expression are counted."""
        if bounds not in self._sets:
            self._sets.add(bounds)
            self._bounds += len(bounds)
        if self._bounds > MOST_BOUNDS:
            raise SizeError(message("{} ranges of characters", MOST_BOUNDS // 2))
        return Characters(bounds)

    # Groups and flags.

    def _read_group(self, flags: _Flags, begin: int) -> Node:
        if self._depth == MOST_NESTED:
            raise SizeError(_LONG_OR_DEEP)
        own = flags
        if self._taken("?"):
            if self._taken("P<"):
                self._read_name(begin)
            elif not self._taken(":"):
                own = self._read_extension(flags, begin)
        self._depth += 1
        node = self._read_choice(own)
        self._depth -= 1
        if not self._taken(")"):
            raise ExpressionError(message("a ( without its )"), begin)
        return node

    def _read_name(self, begin: int) -> None:
        name = self._take_until(">", message("the name of a group"))
        if not name.isidentifier():
            raise ExpressionError(message('a group with the name "{:.40}"', name), begin)
        if name in self._names:
            raise ExpressionError(message('a second group with the name "{:.40}"', name), begin)
        self._names.add(name)

    def _read_extension(self, flags: _Flags, begin: int) -> _Flags:
        for opening, what in _REFUSED.items():
            if self._text.startswith(opening, self._at):
                raise BacktrackingError(what, begin)
        if self._next() and self._next() in _FLAGS + "-":
            return self._read_flags(flags, ":")
        raise ExpressionError(message("an unknown group, (?{}", self._next()), begin)

    def _begins_with_flags(self) -> bool:
        """Tell whether flags for the whole expression are next: (?i) and not (?i:"""
        if not self._text.startswith("(?", self._at):
            return False
        end = self._at + 2
        while end < len(self._text) and self._text[end] in _FLAGS:
            end += 1
        return end > self._at + 2 and self._text.startswith(")", end)

    def _read_flags(self, flags: _Flags, end: str) -> _Flags:
        begin = self._at
        self._taken("(?")
        switched_on = self._take_while(_FLAGS)
        switched_off = self._take_while(_FLAGS) if self._taken("-") else None
        if switched_off == "" or not self._taken(end):
            raise ExpressionError(message("flags that are none of {}", ", ".join(_FLAGS)), begin)
        both = set(switched_on) & set(switched_off or "")
        if both or {"a", "u"} <= set(switched_on) or {"a", "u"} & set(switched_off or ""):
            raise ExpressionError(message("flags that exclude one another"), begin)
        for letters, on in ((switched_on, True), (switched_off or "", False)):
            for letter in letters:
                flags = _with_flag(flags, letter, on)
        return flags

    # Sets and escapes.

    def _read_set(self, flags: _Flags, begin: int) -> Node:
        negated = self._taken("^")
        ranges: list[tuple[int, int]] = []
        categories: set[str] = set()
        while not (self._next() == "]" and (ranges or categories)):
            member = self._read_member(begin)
            if self._next() == "-" and self._next(1) != "]":
                ranges.append(self._read_range(member, begin))
            elif isinstance(member, str):
                categories.add(member)
            else:
                ranges.append((member, member + 1))
        self._at += 1
        bounds = of_ranges(ranges)
        if flags.ignore_case:
            bounds = folded(bounds, flags.ascii_only)
        if categories:
            sets = (bounds, *(category(letter, flags.ascii_only) for letter in categories))
            bounds = of_ranges(pair for members in sets for pair in ranges_of(members))
        return self._characters(complement(bounds) if negated else bounds)

    def _read_member(self, begin: int) -> int | str:
        """Read one character of a set, or a category."""
        at = self._at
        character = self._take()
        if not character:
            raise ExpressionError(message("a [ without its ]"), begin)
        return self._read_escape(at, in_set=True) if character == "\\" else ord(character)

    def _read_range(self, first: int | str, begin: int) -> tuple[int, int]:
        at = self._at
        self._at += 1
        last = self._read_member(begin)
        if isinstance(first, str) or isinstance(last, str) or last < first:
            raise ExpressionError(message("a range of characters that does not rise"), at)
        return first, last + 1

    def _read_escape(self, begin: int, in_set: bool) -> int | str:
        r"""Read what follows a backslash: a character, or the letter of a category."""
        letter = self._take()
        if letter in _HEXADECIMAL:
            return self._read_hexadecimal(letter, begin)
        if letter == "N":
            return self._read_character_name(begin)
        if letter and letter in _DIGITS:
            return self._read_octal(letter, begin, in_set)
        if letter and letter in CATEGORIES:
            return letter
        if letter == "b" and in_set:
            return ord("\b")
        if letter in _ESCAPES:
            return ord(_ESCAPES[letter])
        if not letter or (letter.isascii() and letter.isalpha()):
            raise ExpressionError(message("an unknown escape, \\{}", letter), begin)
        return ord(letter)

    def _read_hexadecimal(self, letter: str, begin: int) -> int:
        count = _HEXADECIMAL[letter]
        digits = self._take_while("0123456789abcdefABCDEF", count)
        if len(digits) < count or int(digits, 16) >= BEYOND:
            raise ExpressionError(message("\\{} without the {} digits of a character", letter, count), begin)
        return int(digits, 16)

    def _read_character_name(self, begin: int) -> int:
        name = self._take_until("}", message("the name of a character")) if self._taken("{") else ""
        try:
            return ord(unicodedata.lookup(name))
        except (KeyError, TypeError):
            raise ExpressionError(
                message("\\N without the name of a character in braces, {!r:.60},", name), begin
            ) from None

    def _read_octal(self, digit: str, begin: int, in_set: bool) -> int:
        """Read up to three octal digits; outside of sets other numbers are backreferences."""
        if in_set or digit == "0":
            digits = digit + self._take_while(_OCTAL, 2)
        else:
            digits = self._text[self._at - 1 : self._at + 2]
            if len(digits) < 3 or not set(digits) <= set(_OCTAL):
                raise BacktrackingError(message("a backreference"), begin)
            self._at += 2
        if digit not in _OCTAL or int(digits, 8) > 0o377:
            raise ExpressionError(message("\\{} that is no octal number up to 377", digits), begin)
        return int(digits, 8)


def _with_flag(flags: _Flags, letter: str, on: bool) -> _Flags:
    match letter:
        case "i":
            return replace(flags, ignore_case=on)
        case "m":
            return replace(flags, every_line=on)
        case "s":
            return replace(flags, dot_takes_all=on)
        case "x":
            return replace(flags, verbose=on)
        case "a":
            return replace(flags, ascii_only=True)
        case _:
            return replace(flags, ascii_only=False)
