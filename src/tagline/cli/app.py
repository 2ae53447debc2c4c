"""The command line: one module of `tagline.cli.commands` for each command."""

from __future__ import annotations

import io
import logging
import re
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, TextIO

import click

import tagline
from tagline.cli import foreign
from tagline.cli.arguments import Command, at_once, command_of, files, option
from tagline.cli.speech import put, say
from tagline.cli.usage import complain, show_help
from tagline.errors import DataWarning
from tagline.messages import message

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS = (
    *("train", "tag", "inspect", "explain", "export", "serve", "demo", "doctor", "info"),
    *("tune", "describe", "eval", "cluster", "convert-tags", "convert-model"),
)
SHELLS = ("bash", "zsh", "fish")


class CommandLine(Command, click.Group):
    """Linear-chain sequence labelling: one exact inference engine for HMMs, feature CRFs and neural CRFs."""

    def __init__(self) -> None:
        install = message("Let bash, zsh or fish complete commands and options; left out: $SHELL.")
        show = message("Print what --install-completion writes.")
        shell: dict[str, Any] = {"metavar": "[SHELL]", "alone": re.compile("[^-].*"), "values": SHELLS}
        options = (
            at_once(option("--version", help="Print the version and stop."), _show_version),
            at_once(option("--install-completion", help=install, **shell), _install_completion),
            at_once(option("--show-completion", help=show, **shell), _show_completion),
        )
        super().__init__(
            "tagline",
            params=options,
            help=CommandLine.__doc__ or "",
            subcommand_metavar=message("COMMAND [ARGS]..."),
            no_args_is_help=False,
        )

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List our commands and those of other tools."""
        return [*COMMANDS, *foreign.TOOLS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command that there is."""
        return command_named(cmd_name) if cmd_name in self.list_commands(ctx) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command, or those with names like it."""
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not ctx.resilient_parsing:
            from difflib import get_close_matches

            near = ", ".join(map(repr, get_close_matches(name, known)))
            if near:
                ctx.fail(message("No such command {!r}. Did you mean {}?", name, near))
            ctx.fail(message("No such command {!r}.", name))
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, the commands, and those of other tools."""
        super().format_options(ctx, formatter)
        for title, names in ((message("Commands"), COMMANDS), (foreign.PANEL, foreign.TOOLS)):
            with formatter.section(message(title)):
                formatter.write_dl([(name, command_named(name).get_short_help_str()) for name in names])


class Tool(click.Command):
    """A command of another tool, which reads its words itself."""

    def __init__(self, name: str) -> None:
        super().__init__(name, short_help=message(foreign.TOOLS[name][2]), add_help_option=False)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Leave words as they are."""
        ctx.args = args
        return args

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Let names of files be completed."""
        return files(ctx, self, incomplete)

    def invoke(self, ctx: click.Context) -> None:
        """Run the command."""
        raise SystemExit(foreign.run(str(self.name), ctx.args))


def command_named(name: str) -> click.Command:
    """Import a command, ours or another tool's; those of models that were registered have their options in it."""
    if name in foreign.TOOLS:
        return Tool(name)
    module = import_module(f"tagline.cli.commands.{name.replace('-', '_')}")
    return module.make(name) if hasattr(module, "make") else command_of(name, module.command)


def _show_version(_: click.Context, __: bool) -> None:
    say(f"tagline {tagline.__version__}")


def _install_completion(_: click.Context, shell: str) -> None:
    from tagline.cli.completion import install

    for path in install(shell):
        say(message("wrote {}", path), err=True)
    say(message("completion works in shells that are started from now on"), err=True)


def _show_completion(_: click.Context, shell: str) -> None:
    from tagline.cli.completion import script_for

    put(script_for(shell))


def run(words: Sequence[str]) -> None:
    """Run a command, or show help; a usage error ends with exit code 2."""
    prepare()
    program = CommandLine()
    try:
        with program.make_context("tagline", list(words)) as context:
            if not words:
                show_help(context)
                raise SystemExit(2)
            program.invoke(context)
    except click.UsageError as error:
        complain(error)
        raise SystemExit(2) from None
    except click.exceptions.Exit as end:
        raise SystemExit(end.exit_code) from None


class _Warnings(logging.Handler):
    """Says warnings to whoever runs the command."""

    def emit(self, record: logging.LogRecord) -> None:
        _warn(record.getMessage())


def _warn(text: object) -> None:
    say(message("warning: {}", text), err=True)


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
        _warn(message)
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
            say(message("{}; --encoding says otherwise", text), err=True)


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
