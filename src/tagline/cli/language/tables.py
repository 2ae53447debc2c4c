"""How texts are looked up: whole, by a pattern with gaps, by the frame of an error; help by paragraphs.

A key is an English text as it stands in the code, with ``{}`` for what is put in, or ``{#}`` for what is a number. In
its translation ``{}`` is the same again, ``{:t}`` is that part translated in its turn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from rich.columns import Columns
from rich.table import Table as RichTable
from rich.text import Text
from typer.core import TyperGroup

_FRAME = re.compile(r"(?P<place>.+?): expected (?P<wanted>.+?),? got (?P<got>.+?)(?:; (?P<remedy>[^;]+))?")
_GAP = re.compile(r"(\{#?\})")
_COUNTED = re.compile(r"(pass|epoch) \d")
_TYPER = (
    *("DEFAULT_STRING", "ENVVAR_STRING", "REQUIRED_LONG_STRING", "ARGUMENTS_PANEL_TITLE", "OPTIONS_PANEL_TITLE"),
    *("COMMANDS_PANEL_TITLE", "ERRORS_PANEL_TITLE", "ABORTED_TEXT", "RICH_HELP"),
)


def _pattern_of(part: str) -> str:
    return {"{}": "(.+?)", "{#}": r"([\d.,]+)"}.get(part) or re.escape(part)


class Table:
    """English texts and their translations.

    >>> table = Table({"wrote {}": "已写入 {}", "stopped: {}": "停止：{:t}", "interrupted": "被中断"})
    >>> table.text("wrote a.txt"), table.text("stopped: interrupted"), table.text("unknown")
    ('已写入 a.txt', '停止：被中断', 'unknown')
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts

    @cached_property
    def _patterns(self) -> list[tuple[re.Pattern[str], str]]:
        """Keys with gaps as patterns, those with most letters first."""
        keys = sorted(filter(_GAP.search, self.texts), key=lambda key: -len(_GAP.sub("", key)))
        return [(re.compile("".join(map(_pattern_of, _GAP.split(key)))), self.texts[key]) for key in keys]

    def text(self, text: str) -> str:
        """Translate a text of one line or more; what is not in the table stays as it is."""
        if "\n" in text:
            return "\n".join(map(self.text, text.split("\n")))
        if _COUNTED.match(text):  # pass 12  objective 1234.50  about 8 s left
            return "  ".join(self._whole(part) or part for part in text.split("  "))
        return self._whole(text) or self._framed(text) or text

    def _whole(self, text: str) -> str | None:
        bare = text.lstrip(" ")
        if bare in self.texts and not _GAP.search(bare):
            return text[: len(text) - len(bare)] + self.texts[bare]
        for pattern, translated in self._patterns:
            if match := pattern.fullmatch(text):
                return translated.format(*(_Part(group, self) for group in match.groups()))
        return None

    def _framed(self, text: str) -> str | None:
        """Translate an error: its frame always, its parts where they are known."""
        if (match := _FRAME.fullmatch(text)) is None:
            return None
        wanted, got = (self._whole(match[part]) or match[part] for part in ("wanted", "got"))
        remedy = "" if match["remedy"] is None else f"；{self._whole(match['remedy']) or match['remedy']}"
        return f"{match['place']}：应为 {wanted}，实为 {got}{remedy}"

    def paragraphs(self, text: str) -> str:
        """Translate the help of a command, paragraph by paragraph; examples stay as they are, but for their title."""
        parts = []
        for paragraph in text.split("\n\n"):
            if paragraph.startswith("\b"):
                parts.append("\n".join(self.texts.get(line, line) for line in paragraph.split("\n")))
            else:
                parts.append(self.text(" ".join(paragraph.split())))
        return "\n\n".join(parts)

    def usage(self, text: str) -> str:
        """Translate the first word of how a command is called."""
        return text.replace("Usage:", self.texts["Usage:"], 1)

    def help_option(self, option: Any) -> Any:
        """Translate what stands beside --help."""
        if option is not None:
            option.help = self.text(option.help)
        return option


class _Part(str):
    """What stands in a gap; with the format ``t`` it is translated, too."""

    table: Table

    def __new__(cls, text: str, table: Table) -> _Part:
        part = super().__new__(cls, text)
        part.table = table
        return part

    def __format__(self, spec: str) -> str:
        return self.table.text(str(self)) if spec == "t" else str(self)


def translate_command(command: Any, table: Table) -> None:
    """Translate the help of a command and of its options."""
    for name in ("help", "short_help", "epilog"):
        if getattr(command, name, None):
            setattr(command, name, table.paragraphs(getattr(command, name)))
    _wrap(command, "get_usage", table.usage)
    _wrap(command, "get_help_option", table.help_option)
    for parameter in command.params:
        for name in ("help", "rich_help_panel"):
            if isinstance(value := getattr(parameter, name, None), str):
                setattr(parameter, name, table.texts.get(value) or table.text(value))


def _wrap(command: Any, method: str, change: Callable[[Any], Any]) -> None:
    """Let a method of a command give what `change` makes of its answer."""
    plain = getattr(command, method)
    setattr(command, method, lambda *given: change(plain(*given)))


def group_of(table: Table) -> type[TyperGroup]:
    """Return the class of a group of commands whose help is translated."""

    class Translated(TyperGroup):
        """Translates a command when it is asked for."""

        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            translate_command(self, table)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:
            """Return a command with its help translated."""
            command = super().get_command(ctx, cmd_name)
            if command is not None:
                translate_command(command, table)
            return command

    return Translated


def _folded(parts: list[Any]) -> Any:
    """Put the parts of an option's help into one text that breaks anywhere.

    Chinese has no blanks to break at: in Rich's own columns it would be cut off.
    """
    if all(isinstance(part, Text) for part in parts):
        return Text(" ", overflow="fold").join(parts)
    return Columns(parts)


class _Folded(RichTable):
    """A table whose cells break anywhere, too."""

    def add_row(self, *cells: Any, **settings: Any) -> None:
        """Add a row, and let its cells be folded."""
        super().add_row(*cells, **settings)
        for column in self.columns:
            column.overflow = "fold"


def translate_typer(table: Table) -> None:
    """Translate the words of Typer itself: titles of panels, and errors of the command line."""
    from typer import rich_utils

    for name in _TYPER:
        if isinstance(value := getattr(rich_utils, name, None), str):
            setattr(rich_utils, name, table.texts.get(value, value))
    plain = rich_utils.rich_format_error

    def shown(error: Any) -> None:
        text = table.text(error.format_message())
        error.format_message = lambda: text
        plain(error)

    for name, value in {"Columns": _folded, "Table": _Folded, "rich_format_error": shown}.items():
        setattr(rich_utils, name, value)
