"""Commands from functions: what a signature declares becomes a command of click, which reads words and finds mistakes.

``Annotated[int, option("-k", help="How many.")]`` is an option, ``Annotated[str, argument(help="A file.")]`` is an
argument. Types are str, int, float and bool, which is a switch; each ``| None``; and lists, for what may be repeated.
Texts are translated when a command is made.
"""

from __future__ import annotations

import inspect
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType, NoneType, UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin

import click

from tagline.cli.usage import show_help
from tagline.errors import InputError
from tagline.messages import message
from tagline.settings import FILLED, READ, WRITTEN
from tagline.writing import STREAM, check_apart, check_writable

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Values = Callable[[], Iterable[str]] | Iterable[str]
METAVARS = {str: "TEXT", int: "NUMBER", float: "FLOAT"}


class Named(tuple[str, ...]):
    """The parameters whose options are on the command line, for a command that has a parameter of this type."""


@dataclass(frozen=True)
class Declaration:
    """What an annotation says about a parameter; the signature has its name, type and default.

    Attributes:
        flags: how an option is written; an argument has none.
        help, panel: its sentence, and the section of the help that shows it.
        metavar: what its value is called in the help; its type if left out.
        between: the least and the greatest number.
        alone: what a value looks like of an option that may also be given without one, and is empty text then.
        values: what shells complete; names of files if left out.
        was: how the option was written in earlier versions.
        file: `READ`, `WRITTEN` or `FILLED` (a folder) where the value names files: a command does not write over
            what it reads, and files that cannot be written are refused before it begins.
    """

    flags: tuple[str, ...] = ()
    help: str = ""
    panel: str = ""
    metavar: str = ""
    between: tuple[int, int] | None = None
    alone: re.Pattern[str] | None = None
    values: Values = ()
    was: str = ""
    file: str = ""

    @property
    def text(self) -> str:
        """The sentence in the language that is used; each of its paragraphs is a line."""
        return re.sub("\n+", "\n", message(self.help))


def option(*flags: str, **rest: Any) -> Declaration:
    """Declare an option; without `flags` it is ``--`` and the parameter's name. ``"--on/--off"`` is a pair."""
    return Declaration(flags or ("--",), **rest)


def argument(**rest: Any) -> Declaration:
    """Declare an argument."""
    return Declaration(**rest)


class Option(click.Option):
    """An option as it was declared."""

    def __init__(self, flags: Sequence[str], declared: Declaration, **rest: Any) -> None:
        super().__init__(flags, help=declared.text, **rest)
        self.declared = declared
        self.panel = str(message(declared.panel)) if declared.panel else message("Options")

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Return the flags and metavar, and the text of the help."""
        names, _ = super().get_help_record(ctx) or ("", "")
        return names, _described(self)


class Argument(click.Argument):
    """An argument as it was declared, which the help describes as it describes options."""

    def __init__(self, name: str, declared: Declaration, **rest: Any) -> None:
        super().__init__([name], **rest)
        self.declared = declared
        self.help = declared.text  # click before 8.5 has no texts of arguments
        self.panel = message("Arguments")

    def get_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return how usage shows it."""
        name = self.human_readable_name
        return [(name if self.required else f"[{name}]") + "..." * (self.nargs == -1)]

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Return the name and the text of the help."""
        return self.human_readable_name, _described(self)


def _described(parameter: click.Parameter) -> str:
    """Return the text of a parameter and, after a tab, its range and its default, or that it is required."""
    default, facts = parameter.default, []
    if isinstance(parameter.type, click.IntRange):
        facts.append(message("[{} to {}]", parameter.type.min, parameter.type.max))
    if parameter.secondary_opts:
        default = (parameter.opts if default else parameter.secondary_opts)[-1].lstrip("-")
    if parameter.required:
        facts.append(message("[required]"))
    elif parameter.expose_value and default is not None and default is not False and default != "":
        facts.append(message("[default: {}]", default))
    return f"{parameter.help}\t{' '.join(facts)}"


def at_once(declared: Declaration, act: Callable[[click.Context, Any], None]) -> Option:
    """Make an option after which nothing else is done, such as ``--help``; with a metavar it has a value."""

    def callback(context: click.Context, _: click.Parameter, value: Any) -> None:
        if value is not None and value is not False and not context.resilient_parsing:
            act(context, value)
            context.exit()

    kind: dict[str, Any] = {"is_flag": True}
    if declared.metavar:
        kind = {"metavar": declared.metavar, "shell_complete": _completing(declared.values)}
    return Option(declared.flags, declared, callback=callback, is_eager=True, expose_value=False, **kind)


class Command(click.Command):
    """A command whose help has the panels of its options."""

    moved: Mapping[str, str] = MappingProxyType({})

    def __init__(self, name: str, *, params: Iterable[click.Parameter], help: str, **rest: Any) -> None:
        """Make a command.

        Arguments:
            help: English paragraphs; one that begins with a backspace is shown as it is.
        """
        asks = at_once(
            option("--help", help=message("Show this message and exit.")), lambda context, _: show_help(context)
        )
        super().__init__(
            name,
            params=[*params, asks],
            help="\n\n".join(map(_translated, help.split("\n\n"))),
            short_help=message(" ".join(help.split("\n\n", 1)[0].split())),
            options_metavar=message("[OPTIONS]"),
            add_help_option=False,
            **rest,
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read words; a mistake in them knows the command that it was made in."""
        try:
            return super().parse_args(ctx, list(self._with_values(args)))
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            if isinstance(error, click.NoSuchOption) and error.option_name in self.moved:
                raise click.UsageError(self.moved[error.option_name], error.ctx) from None
            raise

    def _with_values(self, words: Sequence[str]) -> Iterator[str]:
        """Write ``--ray`` as ``--ray=`` where the next word cannot be its value: click would take any word."""
        options = {flag: p for p in self.params if isinstance(p, Option) and not p.is_flag for flag in p.opts}
        rest = deque(words)
        while rest:
            word = rest.popleft()
            taking = options.get(word)
            alone = taking.declared.alone if taking is not None else None
            if alone is not None and not (rest and alone.fullmatch(rest[0])):
                yield f"{word}="
                continue
            yield word
            if taking is not None and rest:
                yield rest.popleft()
            elif word == "--":
                yield from rest
                return

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write how the command is called."""
        formatter.write_usage(ctx.command_path, " ".join(self.collect_usage_pieces(ctx)), f"{message('Usage:')} ")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write arguments, options, and the options of each panel."""
        panels: dict[str, list[tuple[str, str]]] = {message("Arguments"): [], message("Options"): []}
        for parameter in self.get_params(ctx):
            if isinstance(parameter, Option | Argument):
                panels.setdefault(parameter.panel, []).append(parameter.get_help_record(ctx))
        for title, rows in panels.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write nothing: they are among the panels."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """List options, each with the first line of its help: shells have no room for more."""
        items = super().shell_complete(ctx, incomplete)
        for item in items:
            item.help = (item.help or "").partition("\n")[0]
        return items


def command_of(
    name: str,
    function: Callable[..., None],
    more: Iterable[Option] = (),
    moved: Mapping[str, str] = MappingProxyType({}),
    help: str | None = None,
) -> Command:
    """Make a command of a function, whose documentation is the help.

    Arguments:
        more: options besides those of its signature, which reach it as ``**options``.
        moved: options of earlier versions, and what to write now.
        help: in place of the documentation.
    """
    every = inspect.signature(function, eval_str=True).parameters.values()
    signature = [parameter for parameter in every if parameter.kind is not parameter.VAR_KEYWORD]
    parameters = [*(_parameter(parameter) for parameter in signature if parameter.annotation is not Named), *more]
    options = [parameter for parameter in parameters if isinstance(parameter, Option)]
    wants_named = [parameter.name for parameter in signature if parameter.annotation is Named]

    def run(**values: Any) -> None:
        _check_files(parameters, values)
        source, typed = click.get_current_context().get_parameter_source, click.core.ParameterSource.COMMANDLINE
        names = {parameter.name for parameter in options}
        named = Named(name for name in values if name in names and source(name) is typed)
        try:
            function(**values, **dict.fromkeys(wants_named, named))
        except InputError as error:
            error.args = (_with_options(str(error), options),)
            raise

    command = Command(name, params=parameters, help=help or inspect.cleandoc(function.__doc__ or ""), callback=run)
    renamed = {option.declared.was: message("write {}", option.opts[-1]) for option in options if option.declared.was}
    command.moved = {
        **moved,
        **{flag: message("{} is no option any more; {}", flag, text) for flag, text in renamed.items()},
    }
    return command


def _translated(paragraph: str) -> str:
    """Translate a paragraph of the help of a command; of examples only the title."""
    if paragraph.startswith("\b"):
        return "\n".join(message(line) if line.endswith(":") else line for line in paragraph.split("\n"))
    return message(" ".join(paragraph.split()))


def _check_files(parameters: Iterable[Option | Argument], values: dict[str, Any]) -> None:
    """Raise where a command would write over what it reads, or cannot write."""
    paths: dict[str, dict[str, Any]] = {"": {}, READ: {}, WRITTEN: {}, FILLED: {}}
    for parameter in parameters:
        place = parameter.opts[-1] if isinstance(parameter, Option) else parameter.human_readable_name
        paths[parameter.declared.file][place] = values[parameter.name]
    check_apart(paths[READ], paths[WRITTEN] | paths[FILLED])
    for place, path in paths[WRITTEN].items():
        if path not in (None, STREAM):
            check_writable(path, place)


def _with_options(text: str, options: Iterable[Option]) -> str:
    """Name options in a message that names arguments of functions: ``encoding='gb18030'``, ``max_seconds: …``."""
    for option in options:
        place = option.opts[-1]
        argument = rf"(?:{'|'.join(map(re.escape, {option.name, place.removeprefix('--').replace('-', '_')}))})"
        text = re.sub(rf"^{argument}(?=: |：)", place, text)
        text = re.sub(rf"\b{argument}=['\"](\S*?)['\"]", rf"{place} \1", text)
    return text


def _parameter(parameter: inspect.Parameter) -> Option | Argument:
    """Make an option or an argument of a parameter of a function."""
    declared: Declaration
    kind, declared = get_args(parameter.annotation)
    if isinstance(kind, UnionType):
        kind = next(part for part in get_args(kind) if part is not NoneType)
    repeated = get_origin(kind) is list
    type_ = get_args(kind)[0] if repeated else kind
    settings: dict[str, Any] = {}
    if parameter.default is parameter.empty:
        settings["required"] = True
    else:
        settings |= {"required": False, "default": parameter.default}
    if repeated:
        settings["callback"] = lambda _, parameter, values: list(values or ()) or parameter.default
    if declared.flags:
        return made_option(parameter.name, type_, declared, multiple=repeated, **settings)
    metavar = declared.metavar or parameter.name.replace("_", "-").upper()
    how = {"shell_complete": _completing(declared.values)} if type_ is str else {}
    return Argument(
        parameter.name, declared, metavar=metavar, nargs=-1 if repeated else 1, type=type_, **how, **settings
    )


def made_option(name: str, type_: type, declared: Declaration, multiple: bool = False, **settings: Any) -> Option:
    """Make an option that sets a parameter."""
    flags, dashed = declared.flags, name.replace("_", "-")
    settings["type"] = click.IntRange(*declared.between) if declared.between else type_
    if type_ is str:
        settings["shell_complete"] = _completing(declared.values)
    if flags == ("--",):
        flags = (f"--{dashed}/--no-{dashed}" if type_ is bool else f"--{dashed}",)
    if type_ is bool:
        settings["is_flag"] = True
    else:
        settings |= {"metavar": declared.metavar or METAVARS[type_], "multiple": multiple}
    return Option([*flags, name], declared, **settings)


def files(_: click.Context, __: object, incomplete: str) -> list[CompletionItem]:
    """Let a shell complete names of files."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def _completing(values: Values) -> Callable[[click.Context, click.Parameter, str], list[Any]]:
    """Return what completes a value."""

    def complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
        return [value for value in (values() if callable(values) else values) if value.startswith(incomplete)]

    return complete if values else files
