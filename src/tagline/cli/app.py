"""The command line: one module of `tagline.cli.commands` for each command."""

from __future__ import annotations

import io
import logging
import sys
from importlib import import_module
from typing import Annotated

import typer

import tagline
from tagline.cli.foreign import PANEL, TOOLS, listed
from tagline.cli.language import group_class
from tagline.cli.options import Command
from tagline.cli.speech import say

COMMANDS = (
    *("train", "tag", "inspect", "explain", "export", "serve", "demo", "doctor", "info"),
    *("tune", "describe", "eval", "cluster", "convert-tags", "convert-model"),
)

_AS_THEY_STAND = {"allow_extra_args": True, "ignore_unknown_options": True}


def make_app() -> typer.Typer:
    """Put the commands together; those of models that were registered are in them."""
    app = typer.Typer(
        help="Linear-chain sequence labelling: one exact inference engine for HMMs, feature CRFs and neural CRFs.",
        cls=group_class(),
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    app.callback()(common)
    for name in COMMANDS:
        module = import_module(f"tagline.cli.commands.{name.replace('-', '_')}")
        app.command(name, cls=Command)(module.make() if hasattr(module, "make") else module.command)
    for name in TOOLS:  # their arguments are read by themselves, before this is asked
        app.command(name, rich_help_panel=PANEL, add_help_option=False, context_settings=_AS_THEY_STAND)(listed(name))
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        say(f"tagline {tagline.__version__}")
        raise typer.Exit


class _Warnings(logging.Handler):
    """Says warnings to whoever runs the command."""

    def emit(self, record: logging.LogRecord) -> None:
        say(f"warning: {record.getMessage()}", err=True)


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


def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Options before the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # files and pipes get UTF-8, a terminal what it can show
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")
    logging.getLogger("tagline").addHandler(logging.NullHandler())  # the commands say themselves what they skip
    for part in ("tagline.training", "tagline.embeddings"):
        logging.getLogger(part).handlers = [_Warnings(logging.WARNING)]
    encodings = logging.getLogger("tagline.encoding")
    encodings.handlers = [_Encodings()]
    encodings.setLevel(logging.INFO)
