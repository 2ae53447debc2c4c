"""Templates in words: what their lines look at, for people who read explanations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tagline.features.templates.lines import TemplateLine
from tagline.features.templates.macros import Macro
from tagline.features.templates.template import Template
from tagline.messages import message


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
    return " / ".join(map(_macro_in_words, line.macros)) or message("the label alone")


def _macro_in_words(macro: Macro) -> str:
    derivation = macro.derivation
    words, functions = _token_in_words(macro), derivation.functions
    if derivation.column:
        words = message("column {} of {}", derivation.column, words)
    if derivation.mention:
        if macro.row:
            words = message("{} mention {} of the word", words, derivation.mention)
        else:
            words = message("{} at mention {} of the word", words, derivation.mention)
        functions = functions[1:]
    for name in functions:
        words = message("{} of {}", name, words)
    if derivation.command == "v":
        return message("vector of {}", words)
    return words if derivation.command == "x" else message('"{}" in {}', derivation.pattern, words)


def _token_in_words(macro: Macro) -> str:
    row = macro.row
    if macro.anchor == "start":
        return message("the token {} of the sentence", row + 1)
    if macro.anchor:
        return message("the token {} from the end of the sentence", -row)
    near = {0: message("the token"), -1: message("the token before"), 1: message("the token after")}
    if row in near:
        return near[row]
    if row < 0:
        return message("the token {} before", -row)
    return message("the token {} after", row)
