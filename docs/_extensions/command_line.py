"""The directive ``commands``: every command with its options, from the objects that ``--help`` is made of.

In Chinese it has the Chinese texts of the command line. Commands of other tools say themselves what they take.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from itertools import groupby
from typing import Any

import click
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from tagline.cli import foreign
from tagline.cli.app import COMMANDS, CommandLine, command_named
from tagline.cli.arguments import Argument, Option
from tagline.messages import use

WORDS = {
    "en": {
        "default": "Default: ",
        "required": "Required.",
        "repeated": "May be repeated.",
        "others": foreign.PANEL,
    },
    "zh": {
        "default": "默认：",
        "required": "必须给出。",
        "repeated": "可以重复。",
        "others": "其他工具的命令",
    },
}
SUBCOMMANDS = {"crfsuite": ("learn", "tag", "dump")}  # they have a help of their own


def paragraphs(text: str) -> Iterator[nodes.Node]:
    """Turn the help of a command into nodes; what begins with a backspace is shown as it stands."""
    for block in text.split("\n\n"):
        if block.startswith("\b"):
            title, *lines = block.strip("\b\n").split("\n")
            yield nodes.paragraph(text=title)
            yield code("\n".join(line.removeprefix("  ") for line in lines))
        elif block.strip():
            yield nodes.paragraph(text=" ".join(block.split()))


def code(text: str) -> nodes.literal_block:
    return nodes.literal_block(text, text, language="text")


class Commands(Directive):
    """Documents the commands of ``tagline``, a section each."""

    def run(self) -> list[nodes.Node]:
        settings = self.state.document.settings
        self.language = "zh" if settings.env.config.language.startswith("zh") else "en"
        self.words = WORDS[self.language]
        use(self.language)
        try:
            return list(self.sections())
        finally:
            use("en")

    def sections(self) -> Iterator[nodes.Node]:
        program = CommandLine()
        with click.Context(program, info_name="tagline") as context:
            yield from self.parameters(program)
            for name in COMMANDS:
                yield self.section(name, self.command(click.Context(command_named(name), context, name)))
        others = [self.section(name, self.tool(name)) for name in foreign.TOOLS]
        yield self.section("", others, title=str(self.words["others"]), identifier="other-tools")

    def section(
        self, name: str, content: Any, *, title: str | None = None, identifier: str | None = None
    ) -> nodes.section:
        heading = nodes.title("", "", nodes.Text(title) if title else nodes.literal(text=f"tagline {name}"))
        section = nodes.section("", heading, *content, ids=[identifier or name.replace("_", "-")], names=[])
        self.state.document.note_explicit_target(section)
        return section

    def command(self, context: click.Context) -> Iterator[nodes.Node]:
        command = context.command
        yield code(" ".join([context.command_path, *command.collect_usage_pieces(context)]))
        yield from paragraphs(command.help or "")
        yield from self.parameters(command)

    def parameters(self, command: click.Command) -> Iterator[nodes.Node]:
        """List the arguments, then the options by the panels in which ``--help`` shows them."""
        listed = [parameter for parameter in command.params if isinstance(parameter, Option | Argument)]
        shown = [parameter for parameter in listed if parameter.opts != ["--help"]]
        order = list(dict.fromkeys(parameter.panel for parameter in shown))
        for title, parameters in groupby(sorted(shown, key=lambda p: order.index(p.panel)), lambda p: p.panel):
            yield nodes.rubric(text=str(title))
            yield nodes.definition_list("", *(self.option(parameter, command.name) for parameter in parameters))

    def option(self, parameter: Option | Argument, command: str) -> nodes.definition_list_item:
        is_option = isinstance(parameter, Option)
        spellings = sorted([*parameter.opts, *parameter.secondary_opts], key=lambda name: -len(name))
        term = nodes.term("", "", ids=[f"{command}-{parameter.name}".replace("_", "-")], classes=["option"])
        for place, spelling in enumerate(spellings if is_option else [parameter.human_readable_name]):
            term += [*([nodes.Text(", ")] if place else []), nodes.literal(text=spelling)]
        if is_option and parameter.metavar:
            term += [nodes.Text(" "), nodes.emphasis(text=parameter.metavar)]
        definition = nodes.definition("", *(nodes.paragraph(text=line) for line in (parameter.help or "").split("\n")))
        facts = nodes.paragraph(classes=["facts"])
        if parameter.required:
            facts += nodes.Text(self.words["required"])
        elif parameter.expose_value and parameter.default not in (None, False, ""):
            facts += [nodes.Text(self.words["default"]), nodes.literal(text=str(parameter.default))]
        if facts.children:
            definition += facts
        return nodes.definition_list_item("", term, definition)

    def tool(self, name: str) -> Iterator[nodes.Node]:
        """Show the line of another tool's command, and what it prints when it is asked for help."""
        yield nodes.paragraph(text=str(foreign.TOOLS[name][2]))
        yield code(help_of(name, ["-h"]))
        for part in SUBCOMMANDS.get(name, ()):
            yield code(help_of(name, [part, "-h"]))


def help_of(name: str, arguments: list[str]) -> str:
    """Run the command of another tool and return what it prints."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        foreign.run(name, arguments)
    return output.getvalue().strip()


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
