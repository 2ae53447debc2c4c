"""The command line: one module of `tagline.cli.commands` for each command."""

from __future__ import annotations

import io
import logging
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Annotated, TextIO

import tagline
from tagline.cli import foreign
from tagline.cli.arguments import HELP, Command, UsageError, option, scan, unknown
from tagline.cli.speech import put, say
from tagline.cli.usage import complain, show_help
from tagline.errors import DataWarning

COMMANDS = (
    *("train", "tag", "inspect", "explain", "export", "serve", "demo", "doctor", "info"),
    *("tune", "describe", "eval", "cluster", "convert-tags", "convert-model"),
)
A_WORD = re.compile("[^-].*")


def program(
    version: Annotated[bool, option("--version", help="Print the version and stop.")] = False,
    install_completion: Annotated[
        str | None,
        option(
            help="Let bash, zsh or fish complete commands and options; left out: $SHELL.",
            metavar="[SHELL]",
            alone=A_WORD,
        ),
    ] = None,
    show_completion: Annotated[
        str | None, option(help="Print what --install-completion writes.", metavar="[SHELL]", alone=A_WORD)
    ] = None,
) -> None:
    """Linear-chain sequence labelling: one exact inference engine for HMMs, feature CRFs and neural CRFs."""
    if version:
        say(f"tagline {tagline.__version__}")
    elif install_completion is not None or show_completion is not None:
        from tagline.cli import completion

        if show_completion is not None:
            put(completion.script_for(show_completion))
        else:
            for path in completion.install(install_completion or ""):
                say(f"wrote {path}", err=True)
            say("completion works in shells that are started from now on", err=True)
    else:
        return
    raise SystemExit(0)


PROGRAM = Command("tagline", program)


def command_named(name: str) -> Command:
    """Return a command; those of models that were registered have their options in it."""
    if name not in COMMANDS:
        raise unknown("command", name, (*COMMANDS, *foreign.TOOLS))
    module = import_module(f"tagline.cli.commands.{name.replace('-', '_')}")
    return Command(f"tagline {name}", module.make() if hasattr(module, "make") else module.command)


def lists() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """List the commands and those of other tools, with what each does."""
    yield "Commands", [(name, command_named(name).help) for name in COMMANDS]
    yield foreign.PANEL, [(name, text) for name, (_, _, text) in foreign.TOOLS.items()]


def run(words: Sequence[str]) -> None:
    """Do what words say: run a command, or show help; words that cannot be meant end it with exit code 2."""
    prepare()
    command = PROGRAM
    try:
        if not words:
            show_help(PROGRAM, lists())
            raise SystemExit(2)
        _, rest = scan([*PROGRAM.parameters, HELP], words, until_word=True)
        if not PROGRAM.run(words[: len(words) - len(rest)]):
            show_help(PROGRAM, lists())
            return
        if not rest:
            raise UsageError("Missing command.")
        name, *own = rest
        if name in foreign.TOOLS:
            raise SystemExit(foreign.run(name, own))
        command = command_named(name)
        if not command.run(own):
            show_help(command)
    except UsageError as error:
        complain(command, str(error), of_commands=command is PROGRAM)
        raise SystemExit(2) from None


class _Warnings(logging.Handler):
    """Says warnings to whoever runs the command."""

    def emit(self, record: logging.LogRecord) -> None:
        say(f"warning: {record.getMessage()}", err=True)


def _say_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Say a warning about data as the command's own; others as Python does, with their place in the code."""
    if issubclass(category, DataWarning):
        say(f"warning: {message}", err=True)
    else:
        print(warnings.formatwarning(message, category, filename, lineno, line), end="", file=file or sys.stderr)


class _Encodings(logging.Handler):
    """Says how a file is read that is not UTF-8; once, where it is read twice."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if text not in self.said:
            self.said.add(text)
            say(f"{text}; --encoding says otherwise", err=True)


def prepare() -> None:
    """Let streams take any text, and let warnings of the library be said."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # files and pipes get UTF-8, a terminal what it can show
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")
    warnings.showwarning = _say_warning
    logging.getLogger("tagline").addHandler(logging.NullHandler())  # the commands say themselves what they skip
    for part in ("tagline.training", "tagline.embeddings"):
        logging.getLogger(part).handlers = [_Warnings(logging.WARNING)]
    encodings = logging.getLogger("tagline.encoding")
    encodings.handlers = [_Encodings()]
    encodings.setLevel(logging.INFO)
