"""Templates of CRF++ as patterns of Wapiti, for models that go there.

U and B become u and b, which Wapiti's patterns begin with, and so do the names of attributes; padding has other names
there (``_B-1`` is ``_x-1``). A template that uses more of a line than ``%x[row,column]`` has no pattern that means the
same.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product

from tagline.errors import InputError
from tagline.features.templates.lines import TemplateLine
from tagline.features.templates.template import Template
from tagline.features.templates.wapiti_lines import NAMED_PADDING

Translation = Callable[[str], str]


def translated(template: Template) -> tuple[Template, Translation]:
    """Return the patterns that mean the same as a template, and what turns names of its attributes into Wapiti's."""
    for line in template.lines:
        _check(line, template.source)
    rows = [line.text[0].lower() + line.text[1:] for line in template.lines]
    patterns = Template.parse("\n".join(rows) + "\n", template.source, "wapiti")
    padded = [form for line in template.lines for form in _padded_forms(line)]

    def translate(name: str) -> str:
        if "_B" in name:
            for form, pads in padded:
                if found := form.fullmatch(name):
                    name = _joined(found, pads)
                    break
        return name[0].lower() + name[1:]

    return patterns, translate


def _check(line: TemplateLine, source: str) -> None:
    place = f"{source}:{line.number}"
    if not all(macro.is_crfpp for macro in line.macros):
        raise InputError("{}: expected only %x[row,column], for Wapiti to understand it, got {}", place, line.text)
    if "#" in line.text or line.text != line.text.rstrip():
        raise InputError(
            "{}: expected no # and no blanks at the end, which Wapiti leaves out, got {!r}", place, line.text
        )
    if any(abs(macro.row) > NAMED_PADDING + 1 for macro in line.macros):
        raise InputError(
            "{}: expected rows up to {}, beyond which Wapiti does not tell padding apart, got {}",
            place,
            NAMED_PADDING + 1,
            line.text,
        )


def _padded_forms(line: TemplateLine) -> list[tuple[re.Pattern[str], list[str | None]]]:
    """Return how attributes of a line look near the ends of a sentence, and Wapiti's padding at each macro there."""
    before = max([0, *(-macro.row for macro in line.macros)])
    after = max([0, *(macro.row for macro in line.macros)])
    forms = []
    for tokens_before, tokens_after in product(range(before + 1), range(after + 1)):
        distances = [
            macro.row + tokens_before if macro.row < -tokens_before else max(0, macro.row - tokens_after)
            for macro in line.macros
        ]
        if any(distances):
            parts = [f"({re.escape(f'_B{distance:+d}') if distance else '.+'})" for distance in distances]
            literals = [f"({re.escape(literal)})" for literal in line.literals]
            text = literals[0] + "".join(part + literal for part, literal in zip(parts, literals[1:], strict=True))
            forms.append((re.compile(text, re.DOTALL), [_padding(distance) for distance in distances]))
    # Forms with more padding come first: a word of a form with less could stand for it.
    return sorted(forms, key=lambda form: -sum(pad is not None for pad in form[1]))


def _padding(distance: int) -> str | None:
    if not distance:
        return None
    sign = "-" if distance < 0 else "+"
    return f"_x{sign}{abs(distance) if abs(distance) <= NAMED_PADDING else '#'}"


def _joined(found: re.Match[str], pads: list[str | None]) -> str:
    """Write a name anew, literals and words as they were, padding as Wapiti has it."""
    groups = list(found.groups())
    for k, pad in enumerate(pads):
        if pad is not None:
            groups[2 * k + 1] = pad
    return "".join(groups)
