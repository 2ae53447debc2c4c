r"""Patterns of Wapiti: lines of templates in its own language.

``u`` lines cross with the label, ``b`` lines with the pair of labels, ``*`` lines with both; the letter may be a
capital, and goes to lower case. ``#`` begins a comment anywhere, blanks at the end do not count. Commands:

    %x[row,column]       the word
    %t[row,column,"re"]  ``true`` or ``false``, whether the expression (`byte_expressions`) is found in it
    %m[row,column,"re"]  the bytes that it matched, empty where there is no match

A capital command puts its result in lower case, letters of ASCII only. Rows may have a plus, blanks before them, and be
octal or hexadecimal, as C's ``%i`` reads them; ``@1`` is the first token of the sentence, ``@-1`` the last. Padding is
``_x-1`` to ``_x-4``, then ``_x-#``, and ``_x+1`` to ``_x+4``, then ``_x+#``; expressions look at it, too.

Two things of Wapiti are kept because models depend on them. A match may end within a character: single bytes that are
no UTF-8 are written as characters of Unicode's private use (`byte_text`). And a match that is counted longer than its
word (`byte_expressions`) ends the attribute there: such a line is one `Line` for words where that happens, without the
rest, and one for the others.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tagline.checks import shown
from tagline.errors import InputError
from tagline.features.expressions.byte_expressions import ByteExpression
from tagline.features.expressions.byte_text import bytes_of, has_bytes, text_of
from tagline.features.expressions.trees import ExpressionError, SizeError
from tagline.features.templates.lines import TemplateLine, shortened
from tagline.features.templates.macros import MOST_COLUMNS, MOST_ROWS, Derivation, Macro, MacroError
from tagline.messages import message

NAMED_PADDING = 4

_ROW_AND_COLUMN = re.compile(r"\[(@?)\s*([+-]?)(0[xX][0-9a-fA-F]+|[0-9]+),\s*\+?([0-9]+)", re.ASCII)
_QUOTED = re.compile(r',"((?:[^"\\]|\\.)*)"', re.DOTALL)
_BLANKS = " \t\n\v\f\r"  # C's isspace
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


@dataclass(frozen=True)
class ByteDerivation(Derivation):
    """What a command of Wapiti takes from a column.

    Attributes:
        part: of which matches it has something to say: "all", those that run beyond the word ("cut"), or those that
            do not ("whole").
        unites: whether another match follows at once, so that halves of a character could come together.
    """

    part: str = "all"
    unites: bool = False

    @property
    def may_lack_padding(self) -> bool:
        """Whether there is padding of which it has nothing to say."""
        return self.part != "all"

    def of(self, word: str) -> str | None:
        """Take it from a word; None where there is nothing to take, and no attribute then."""
        return self.of_all([word])[0]

    def of_all(self, words: Sequence[str]) -> list[str | None]:
        """Take it from many words."""
        if self.command == "x":
            return [word.translate(_LOWER) for word in words] if self.lowered else [*words]
        places = ByteExpression.of(self.pattern).find(words)
        if self.command == "t":
            return ["false" if place is None else "true" for place in places]
        return [self._matched(word, place) for word, place in zip(words, places, strict=True)]

    def of_padding(self, distance: int) -> str | None:
        """Take it from padding."""
        far = abs(distance) > NAMED_PADDING
        return self.of(f"_x{distance:+d}" if not far else "_x-#" if distance < 0 else "_x+#")

    def _matched(self, word: str, place: tuple[int, int] | None) -> str | None:
        if place is None:
            return None if self.part == "cut" else ""
        begin, end = place[0], sum(place)
        if word.isascii():
            size, text = len(word), word[begin:end]
        else:
            held = bytes_of(word)
            size, text = len(held), text_of(held[begin:end])
        if self.part != "all" and (end > size) != (self.part == "cut"):
            return None
        if self.unites and has_bytes(text):
            raise InputError(
                '"{}" in {}: expected whole characters where one %m follows another at once, got a '
                "part of one; write something between the two, and train the model anew",
                self.pattern,
                shown(word),
            )
        return text.translate(_LOWER) if self.lowered else text


def parse_pattern_line(row: str, number: int, source: str) -> list[TemplateLine]:
    """Parse a line of a pattern file: no line, a u line, a b line, or both."""
    row = row.partition("#")[0].rstrip(_BLANKS)
    if not row:
        return []
    kind = row[0].lower() if row[0] in "UB" else row[0]
    if kind not in ("u", "b", "*"):
        raise InputError("{}:{}: expected u, b or * at the start, got {}{}", source, number, shown(row), _remedy(row))
    row = kind + row[1:]
    try:
        literals, macros = _parse(row)
    except MacroError as error:
        raise InputError("{}:{}: {}", source, number, shortened(str(error))) from None
    edges = {"u": (False,), "b": (True,), "*": (False, True)}[kind]
    return [TemplateLine(*parts, number, row, is_edge) for is_edge in edges for parts in _parts(literals, macros)]


def _remedy(row: str) -> str:
    return message("; take away the blanks before it") if row[0].isspace() else ""


def _parse(row: str) -> tuple[list[str], list[Macro]]:
    literals: list[str] = []
    macros: list[Macro] = []
    at = 0
    while (percent := row.find("%", at)) >= 0:
        literals.append(row[at:percent])
        macro, at = _parse_macro(row, percent)
        macros.append(macro)
    return [*literals, row[at:]], macros


def _parse_macro(row: str, at: int) -> tuple[Macro, int]:
    """Parse the command that begins with the ``%`` at a place; return it and the place behind it."""
    command = row[at + 1 : at + 2]
    if command not in set("xtmXTM"):
        raise MacroError(
            message('expected %x, %t or %m, got "{}"; there is no way to write a percent sign', row[at : at + 2])
        )
    where = _ROW_AND_COLUMN.match(row, at + 2)
    if where is None:
        raise MacroError(message('expected %{0}[row,column], got "{1}"; write it like %{0}[-1,0]', command, row[at:]))
    pattern, end = "", where.end()
    if command in "tTmM":
        quoted = _QUOTED.match(row, end)
        if quoted is None:
            raise MacroError(message('expected an expression, %{}[row,column,"re"], got "{}"', command, row[at:]))
        pattern, end = quoted[1], quoted.end()
        _check_expression(pattern)
    if row[end : end + 1] != "]":
        raise MacroError(message('expected ] at the end of %{}, got "{}"; close the bracket', command, row[at:]))
    derivation = ByteDerivation(_column(where[4]), (), command.lower(), command.isupper(), pattern)
    return _macro(where, derivation), end + 1


def _macro(where: re.Match[str], derivation: ByteDerivation) -> Macro:
    row = _whole(where[3]) * (-1 if where[2] == "-" else 1)
    if abs(row) > MOST_ROWS:
        raise MacroError(message("expected a row from -{0} to {0}, got {1}{2:.60}", MOST_ROWS, where[2], where[3]))
    if not where[1]:
        return Macro(row, derivation)
    return Macro(row, derivation, "end") if row < 0 else Macro(row - 1, derivation, "start")


def _whole(digits: str) -> int:
    """Read a number as C's %i does."""
    base = 16 if digits[1:2] in ("x", "X") else 8 if digits.startswith("0") else 10
    try:
        return int(digits, base) if len(digits) < 20 else MOST_ROWS + 1
    except ValueError:
        raise MacroError(
            message("expected a row, got {}, which begins with 0 and is no octal number", digits)
        ) from None


def _column(digits: str) -> int:
    column = int(digits) if len(digits) < 20 else MOST_COLUMNS
    if column >= MOST_COLUMNS:
        raise MacroError(message("expected a column from 0 to {}, got {:.60}", MOST_COLUMNS - 1, digits))
    return column


def _check_expression(pattern: str) -> None:
    try:
        ByteExpression.of(pattern)
    except ExpressionError as error:
        raise MacroError(message('expected an expression of Wapiti, got "{}" ({})', pattern, error)) from None
    except SizeError as error:
        raise MacroError(message('expected an expression of up to {}, got more ("{:.40}…")', error, pattern)) from None


def _parts(literals: list[str], macros: list[Macro]) -> list[tuple[tuple[str, ...], tuple[Macro, ...]]]:
    """Return a pattern as one line, and one for each match that may run beyond its word and end the attribute."""
    macros = [
        _with(macro, unites=True) if _is_match(macro) and _meets_a_match(literals, macros, k) else macro
        for k, macro in enumerate(macros)
    ]
    parts = []
    for k, macro in enumerate(macros):
        if _may_overrun(macro) and (k + 1 < len(macros) or literals[-1]):
            parts.append(((*literals[: k + 1], ""), (*macros[:k], _with(macro, part="cut"))))
            macros[k] = _with(macro, part="whole")
    return [*parts, (tuple(literals), tuple(macros))]


def _is_match(macro: Macro) -> bool:
    return macro.derivation.command == "m"


def _may_overrun(macro: Macro) -> bool:
    return _is_match(macro) and ByteExpression.of(macro.derivation.pattern).may_overrun


def _meets_a_match(literals: list[str], macros: list[Macro], k: int) -> bool:
    """Whether another ``%m`` stands right before or right behind this one."""
    before = k > 0 and not literals[k] and _is_match(macros[k - 1])
    return before or (k + 1 < len(macros) and not literals[k + 1] and _is_match(macros[k + 1]))


def _with(macro: Macro, **changes: object) -> Macro:
    return replace(macro, derivation=replace(macro.derivation, **changes))  # type: ignore[arg-type]
