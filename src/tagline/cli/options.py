"""Options of commands: those that several commands share, and a signature made of the options of models."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from tagline.models.options import DATA, Option

MESSAGES, SCALE = "Messages", "Several machines"
_ADDRESS = re.compile(r"auto|local|(ray://)?[^\s/]+:\d+")
# Those of `tagline.readers.tokens`, which would load NumPy before help is shown; a test compares the two.
TOKENIZERS = {
    "whitespace": "what stands between blanks: Anna's | cat, | 3.50",
    "words": "words and signs: Anna's | cat | , | 3.50 | U.S. | 北京",
    "characters": "every character: 北 | 京 | 2 | 0 | 0 | 8",
    "treebank": "words as English treebanks have them: Anna | 's | do | n't | Dr.",
}

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Encoding = Annotated[
    str,
    typer.Option(
        help="Of the input; auto: UTF-8, or GB18030 where it is that. What is written is UTF-8.", rich_help_panel=DATA
    ),
]
Lenient = Annotated[
    bool, typer.Option("--lenient", help="Skip broken sentences and report them.", rich_help_panel=DATA)
]
Ray = Annotated[
    str | None,
    typer.Option(
        "--ray",
        help="Work on Ray: at this address, such as 10.0.0.1:6379, or started on this machine without one.",
        metavar="[ADDRESS]",
        rich_help_panel=SCALE,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(help="With --ray: so many processes; one a processor by default.", rich_help_panel=SCALE),
]
ModelFile = Annotated[str, typer.Option("-m", "--model", help="A model that tagline train wrote.")]
Threads = Annotated[int | None, typer.Option(help="By default TAGLINE_THREADS or one a core.")]
Tokens = Annotated[
    str,
    typer.Option(
        help="\n\n".join(  # a line each
            [
                "How text is cut; auto: as the tokens were that the model learned from.",
                *(f"{name}: {example}" for name, example in TOKENIZERS.items()),
            ]
        )
    ),
]


def use_threads(count: int | None) -> None:
    """Let the core and PyTorch work with so many threads; None for as many as they choose."""
    from tagline import compiled

    compiled.let_torch_wait()
    if count is not None:
        compiled.set_threads(count, "--threads")
        os.environ["OMP_NUM_THREADS"] = str(count)  # PyTorch reads it when it is loaded


class Command(TyperCommand):
    """A command whose option --ray may stand without an address, which Typer's own options cannot."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words of the command line; what follows --ray is an address where it looks like one."""
        words: list[str] = []
        for word in args:
            if words and words[-1] == "--ray":
                address = word if _ADDRESS.fullmatch(word) else ""
                words[-1:] = [f"--ray={address}"] if address else ["--ray=", word]
            else:
                words.append(word)
        if words and words[-1] == "--ray":
            words[-1] = "--ray="
        return super().parse_args(ctx, words)


def with_options(function: Callable[..., None], options: Iterable[Option], before: str) -> Callable[..., None]:
    """Return a command whose signature has further options, which reach the function as keyword arguments.

    Arguments:
        function: takes ``**settings``.
        options: of models.
        before: the parameter in front of which they stand in the help.
    """
    own = inspect.signature(function, eval_str=True)
    parameters = [p for p in own.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    place = next(n for n, parameter in enumerate(parameters) if parameter.name == before)
    parameters[place:place] = [_parameter(option) for option in options]

    def command(**values: Any) -> None:
        function(**values)

    command.__doc__ = function.__doc__
    command.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _parameter(option: Option) -> inspect.Parameter:
    flags = option.flags or (option.flag,)
    shown = typer.Option(*flags, help=option.help, rich_help_panel=option.panel or None)
    annotation = option.type if option.default is not None else option.type | None
    return inspect.Parameter(
        option.name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=option.default,
        annotation=Annotated[annotation, shown],
    )


def on_command_line(context: typer.Context) -> list[str]:
    """Return the parameters whose options stand on the command line."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
