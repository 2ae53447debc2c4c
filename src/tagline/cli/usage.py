"""The help of commands, in panels as wide as the terminal and in the language that is used; what wrong calls hear."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TextIO

from tagline.cli.arguments import HELP, Command, Parameter
from tagline.cli.language import cells, paragraphs, phrase, wrapped
from tagline.errors import visible

LEFT = 30  # cells for the names of options, at most, where help stands beside them
NARROW = 60  # a terminal with fewer cells has it below
_LETTER = re.compile("-[^-]")
_PLAIN = str.maketrans("╭╮╰╯─│", "++++-|")
_STYLES = {"title": "1", "name": "1;36", "value": "33", "mark": "1;31", "fact": "2", "error": "1;31"}


@dataclass(frozen=True)
class Row:
    """A line of a panel, or several: a name with what belongs to it, and a text about it.

    Attributes:
        name, value: the option or command, and what its value is called.
        text: about it; each of its lines begins a new one.
        facts: such as its default.
        marked: whether it must be given.
    """

    name: str
    value: str
    text: str
    facts: str = ""
    marked: bool = False


class Page:
    """Text in panels of one width.

    Arguments:
        stream: where it is shown, which may have colours and the signs of frames, or not.
    """

    def __init__(self, stream: TextIO) -> None:
        self.width = max(40, shutil.get_terminal_size().columns)
        self.coloured = has_colours(stream)
        self.framed = (stream.encoding or "").lower().startswith("utf")
        self.lines: list[str] = []

    def styled(self, text: str, style: str) -> str:
        """Colour a text where there are colours."""
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self.coloured and text else text

    def text(self, text: str) -> None:
        """Add paragraphs; one that begins with a backspace is kept as it stands."""
        for paragraph in text.split("\n\n"):
            if paragraph.startswith("\b"):
                lines = paragraph.strip("\b\n").split("\n")
            else:
                lines = wrapped(" ".join(paragraph.split()), self.width - 2)
            self.lines += ["", *(f" {line}" for line in lines)]

    def panel(self, title: str, rows: Sequence[Row]) -> None:
        """Add rows in a frame."""
        rule = "─" * (self.width - 5 - cells(title))
        self.lines.append(f"╭─ {self.styled(title, 'title')} {rule}╮")
        inner = self.width - 4
        marks = 2 * any(row.marked for row in rows)
        letters = any(_LETTER.match(row.name) for row in rows)
        names = ["    " * (letters and row.name.startswith("--")) + row.name for row in rows]
        sizes = [cells(f"{name} {row.value}".rstrip()) for name, row in zip(names, rows, strict=True)]
        left = max([size for size in sizes if size <= LEFT], default=LEFT) + marks
        beside = self.width >= NARROW
        for name, row, size in zip(names, rows, sizes, strict=True):
            head = self.styled(("*" if row.marked else "").ljust(marks), "mark") + self.styled(name, "name")
            head += f" {self.styled(row.value, 'value')}" if row.value else ""
            indent = left + 2 if beside else 6
            body = self._body(row, inner - indent)
            if beside and size <= LEFT:
                text, length = body.pop(0) if body else ("", 0)
                self._line(head + " " * (indent - marks - size) + text, indent + length)
            else:
                self._line(head, marks + size)
            for text, length in body:
                self._line(" " * indent + text, indent + length)
        self.lines.append(f"╰{'─' * (self.width - 2)}╯")

    def _body(self, row: Row, width: int) -> list[tuple[str, int]]:
        """Break the text of a row into lines, with their cells; facts stand behind it where there is room."""
        lines = [line for part in row.text.split("\n") if part for line in wrapped(part, width)]
        body = [(line, cells(line)) for line in lines]
        facts, length = self.styled(row.facts, "fact"), cells(row.facts)
        if row.facts and "\n" not in row.text and body[-1][1] + 1 + length <= width:
            text, size = body.pop()
            return [*body, (f"{text} {facts}", size + 1 + length)]
        return [*body, (facts, length)] if row.facts else body

    def _line(self, text: str, size: int) -> None:
        self.lines.append(f"│ {text}{' ' * (self.width - 4 - size)} │")

    def show(self, stream: TextIO) -> None:
        """Write what was added."""
        text = "\n".join(line.rstrip() for line in self.lines) + "\n"
        print(text if self.framed else text.translate(_PLAIN), end="", file=stream, flush=True)


def has_colours(stream: TextIO) -> bool:
    """Whether a stream is a terminal that wants colours."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def call_of(command: Command, *, of_commands: bool = False) -> str:
    """Write how a command is called."""
    words = [command.name, phrase("[OPTIONS]"), *map(_as_used, command.arguments)]
    return " ".join([*words, phrase("COMMAND [ARGS]...")] if of_commands else words)


def _as_used(argument: Parameter) -> str:
    name = argument.shown if argument.required else f"[{argument.shown}]"
    return f"{name}..." if argument.repeated else name


def show_help(command: Command, commands: Iterable[tuple[str, Sequence[tuple[str, str]]]] = ()) -> None:
    """Print the help of a command; that of the whole program has its commands, with their lines, in panels."""
    if sys.stdout is None:
        return
    page, lists = Page(sys.stdout), list(commands)
    called = call_of(command, of_commands=bool(lists))
    page.lines += ["", f" {page.styled(phrase('Usage:'), 'title')} {called}"]
    page.text(paragraphs(command.help))
    page.lines.append("")
    rows: dict[str, list[Row]] = {}
    for parameter in (*command.arguments, *(p for p in (*command.parameters, HELP) if p.flags)):
        title = parameter.panel or ("Options" if parameter.flags else "Arguments")
        rows.setdefault(title, []).append(row_of(parameter))
    for title in sorted(rows, key=lambda title: title not in ("Arguments", "Options")):
        page.panel(phrase(title), rows[title])
    for title, entries in lists:
        page.panel(phrase(title), [Row(name, "", first_paragraph(text)) for name, text in entries])
    page.show(sys.stdout)


def first_paragraph(text: str) -> str:
    """Return what a list of commands says about one."""
    return phrase(" ".join(text.split("\n\n", 1)[0].split()))


def row_of(parameter: Parameter) -> Row:
    """Describe an option or an argument."""
    flags, value = (*parameter.flags, *parameter.off), parameter.shown
    name = ", ".join(flags)
    if not flags:
        name, value = parameter.shown, ""
    text = re.sub("\n+", "\n", phrase(parameter.help))
    return Row(name, value, text, " ".join(facts_of(parameter)), parameter.required)


def facts_of(parameter: Parameter) -> list[str]:
    """List what is known about a parameter beside its text."""
    facts = [phrase("[{} to {}]".format(*parameter.between))] if parameter.between else []
    if parameter.required:
        facts.append(phrase("[required]"))
    elif parameter.off:
        shown = (parameter.flags if parameter.default else parameter.off)[-1]
        facts.append(phrase(f"[default: {shown.removeprefix('--')}]"))
    elif parameter.default is not None and parameter.default is not False and parameter.default != "":
        facts.append(phrase(f"[default: {parameter.default}]"))
    return facts


def complain(command: Command, message: str, *, of_commands: bool = False) -> None:
    """Say on standard error what a command does not take, how it is called, and who knows more."""
    if sys.stderr is None:
        return
    styled = Page(sys.stderr).styled
    lines = [
        f"{phrase('Usage:')} {call_of(command, of_commands=of_commands)}",
        f"{styled(f'{command.name}:', 'error')} {visible(phrase(message))}",
        phrase(f"Try '{command.name} --help' for help."),
    ]
    print("\n".join(lines), file=sys.stderr, flush=True)
