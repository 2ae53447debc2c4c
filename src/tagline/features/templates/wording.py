"""Templates in words: what their lines look at, for people who read explanations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tagline.features.templates.lines import TemplateLine
from tagline.features.templates.macros import Macro
from tagline.features.templates.template import Template


def legend(template: Template, names: Iterable[str]) -> list[str]:
    """Say in words what the lines look at that these attributes come from.

    >>> legend(Template.parse("U00:%x[0,0]\\nU01:%x[-1,0]"), ["U01:the"])
    ['U01  the token before']
    """
    return legend_of(meanings(template), names)


def meanings(template: Template) -> tuple[tuple[str, str], ...]:
    """Return for each line how its attributes begin, and what it looks at."""
    return tuple((line.literals[0], in_words(line)) for line in template.lines)


def legend_of(meanings: Sequence[tuple[str, str]], names: Iterable[str]) -> list[str]:
    """Choose among pairs (beginning, words) those that names begin with, the longest each."""
    longest_first = sorted(range(len(meanings)), key=lambda k: -len(meanings[k][0]))
    used = {next((k for k in longest_first if name.startswith(meanings[k][0])), None) for name in names}
    return [f"{start.rstrip(':')}  {words}" for k, (start, words) in enumerate(meanings) if k in used]


def in_words(line: TemplateLine) -> str:
    """Say what a line of a template looks at.

    >>> in_words(Template.parse("U1:%x[0,0:shape]/%x[-1,0]").lines[0])
    'shape of the token / the token before'
    """
    return " / ".join(map(_macro_in_words, line.macros)) or "the label alone"


def _macro_in_words(macro: Macro) -> str:
    derivation, row = macro.derivation, macro.row
    where = {0: "", -1: " before", 1: " after"}.get(row, f" {abs(row)} {'before' if row < 0 else 'after'}")
    if macro.anchor:
        where = f" {row + 1} of the sentence" if macro.anchor == "start" else f" {-row} from the end of the sentence"
    words = f"the token{where}" if derivation.column == 0 else f"column {derivation.column} of the token{where}"
    functions = derivation.functions
    if derivation.mention:
        words += f"{'' if row else ' at'} mention {derivation.mention} of the word"
        functions = functions[1:]
    for name in functions:
        words = f"{name} of {words}"
    if derivation.command == "v":
        return f"vector of {words}"
    return words if derivation.command == "x" else f'"{derivation.pattern}" in {words}'
