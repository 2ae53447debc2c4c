"""Lines of templates: literals with macros between them, and how CRF++ writes them.

Wapiti writes them in a way of its own: `tagline.features.templates.wapiti_lines`. `Template` holds the lines of either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tagline.checks import shown
from tagline.errors import InputError
from tagline.features.templates.macros import Macro, MacroError, parse_macro
from tagline.messages import message

MOST_QUOTED = 800  # characters of a message


@dataclass(frozen=True)
class TemplateLine:
    """One template: literals with a macro between each two.

    Attributes:
        literals: one more than macros; the first begins with U or B (Wapiti: u, b or ``*``).
        macros: in order.
        number: of the line in its file, from 1.
        text: the line as it stands there.
        is_edge: whether it is crossed with pairs of labels, as B lines are.
    """

    literals: tuple[str, ...]
    macros: tuple[Macro, ...]
    number: int
    text: str
    is_edge: bool

    @property
    def is_vector(self) -> bool:
        """Whether it gives the numbers of a vector, not a string."""
        return any(macro.derivation.command == "v" for macro in self.macros)

    def expand(self, columns: Sequence[Sequence[str]], token: int) -> str | None:
        """Write the attribute of a token; None where a macro has nothing to say."""
        text = self.literals[0]
        for macro, literal in zip(self.macros, self.literals[1:], strict=True):
            words = columns[macro.derivation.column]
            place = macro.place(token, len(words))
            if place < 0:
                value = macro.derivation.of_padding(place)
            elif place >= len(words):
                value = macro.derivation.of_padding(place - len(words) + 1)
            else:
                value = macro.derivation.of(words[place])
            if value is None:
                return None
            text += value + literal
        return text


def parse_line(row: str, number: int, source: str) -> TemplateLine:
    """Parse a U or a B line of CRF++."""
    if row[0] not in "UB":
        raise InputError(
            "{}:{}: expected U, B or # at the start, got {}; {}", source, number, shown(row), _other_start(row)
        )
    literals: list[str] = []
    macros: list[Macro] = []
    at = 0
    while True:
        percent = row.find("%", at)
        if percent < 0:
            literals.append(row[at:])
            line = TemplateLine(tuple(literals), tuple(macros), number, row, row[0] == "B")
            if line.is_vector and (line.is_edge or len(macros) > 1):
                raise InputError("{}:{}: expected %v alone in a U line, got {}", source, number, shown(row))
            return line
        literals.append(row[at:percent])
        try:
            macro, at = parse_macro(row, percent)
        except MacroError as error:
            raise InputError("{}:{}: {}", source, number, shortened(str(error))) from None
        macros.append(macro)


def shortened(text: str) -> str:
    """Return a message without the middle of a line that is far too long."""
    half = MOST_QUOTED // 2
    return text if len(text) <= MOST_QUOTED else f"{text[:half]} … {text[-half:]}"


def _other_start(row: str) -> str:
    if not row.strip():
        return message("leave the line empty, without blanks")
    if row[0].isspace():
        return message("take away the blanks before it")
    if row[0] in "ub":
        return message("Wapiti takes small letters, CRF++ does not")
    if row[0] == "*":
        return message("Wapiti's * stands for a U line and a B line: write both")
    return message("a template is a U line (label) or a B line (pair of labels)")
