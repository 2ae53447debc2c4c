"""The help of commands, as wide as the terminal and in the language that is used, and the answer to a wrong call."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable
from typing import TextIO

import click

from tagline.errors import visible
from tagline.messages import cells, message

NARROW = 60  # a terminal with fewer columns has the texts of options below their names
TITLE, NAME, ERROR = "1", "1;36", "1;31"

# A word or a Chinese character, with the signs that must not end a line or begin one, and the blanks behind it.
_PIECES = re.compile(r"[（《“]*(?:[^\s\u2e80-\uffff]+|[\u2e80-\uffff])[，。；：、）！？》”]*\s*|\s+")


class Page(click.HelpFormatter):
    """click's layout, measured in columns of the terminal: a Chinese character takes two.

    Arguments:
        stream: where it is shown, in colours if it is a terminal that wants them.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(width=max(40, shutil.get_terminal_size().columns))
        self.coloured = has_colours(stream)

    def styled(self, text: str, style: str) -> str:
        """Colour a text where there are colours."""
        return f"\x1b[{style}m{text}\x1b[0m" if self.coloured else text

    def write_heading(self, heading: str) -> None:
        """Write the title of a section."""
        colon = "：" if cells(heading) > len(heading) else ":"
        self.write(f"{self.styled(heading + colon, TITLE)}\n")

    def write_text(self, text: str) -> None:
        """Write paragraphs; one that begins with a backspace is kept as it is."""
        for number, paragraph in enumerate(text.split("\n\n")):
            kept = paragraph.startswith("\b")
            broken = (
                paragraph.strip("\b\n").split("\n") if kept else wrapped(" ".join(paragraph.split()), self.width - 2)
            )
            self.write("\n" * (number > 0), *(f"  {line}".rstrip() + "\n" for line in broken))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Write names, each with its text beside it, or below it where it is long or the terminal narrow.

        What comes after a tab, such as a default, is not broken.
        """
        rows, limit = list(rows), col_max if self.width >= NARROW else 4
        sizes = [cells(name) for name, _ in rows]
        left = min(max(sizes), limit) + col_spacing + 2
        for (name, described), size in zip(rows, sizes, strict=True):
            text, _, facts = described.partition("\t")
            lines = [line for part in text.split("\n") for line in wrapped(part, self.width - left)]
            if facts and len(text.split("\n")) == 1 and cells(f"{lines[-1]} {facts}") <= self.width - left:
                lines[-1] += f" {facts}"
            elif facts:
                lines.append(facts)
            head = f"  {self.styled(name, NAME)}"
            if size <= limit:
                head += " " * (left - 2 - size) + lines.pop(0)
            self.write(f"{head}\n", *(f"{' ' * left}{line}\n" for line in lines))

    def write(self, *parts: str) -> None:
        """Add texts."""
        self.buffer += parts


def has_colours(stream: TextIO) -> bool:
    """Whether a stream is a terminal that wants colours."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def show_help(context: click.Context) -> None:
    """Print the help of a command."""
    if sys.stdout is not None:
        page = Page(sys.stdout)
        context.command.format_help(context, page)
        print(page.getvalue(), end="", flush=True)


def complain(error: click.UsageError) -> None:
    """Say on standard error how a command is called, what is wrong, and how to get help."""
    if sys.stderr is None or error.ctx is None:
        return
    path = error.ctx.command_path
    said = f"{Page(sys.stderr).styled(f'{path}:', ERROR)} {visible(error.format_message())}"
    help = message("Try '{} --help' for help.", path)
    print(error.ctx.get_usage(), said, help, sep="\n", file=sys.stderr, flush=True)


def wrapped(text: str, width: int) -> list[str]:
    """Break a text into lines of so many cells: at blanks, and beside Chinese characters.

    >>> wrapped("one exact engine", 10), wrapped("标注（CRF）的句子。", 10)
    (['one exact', 'engine'], ['标注', '（CRF）的', '句子。'])
    """
    lines = [""]
    for piece in _PIECES.findall(text):
        if lines[-1] and cells((lines[-1] + piece).rstrip()) > width:
            lines.append("")
        while cells(piece.rstrip()) > width:  # an address, on a narrow terminal
            lines[-1:], piece = [lines[-1] + piece[:width], ""], piece[width:]
        lines[-1] += piece
    return [line.rstrip() for line in lines]
