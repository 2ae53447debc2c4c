"""Options of commands: those that several commands share, and a signature made of the options of models."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterable
from typing import Annotated, Any

from tagline.cli.arguments import option
from tagline.messages import message
from tagline.models.options import DATA, Option

MESSAGES, SCALE = message("Messages"), message("Several machines")
_ADDRESS = re.compile(r"auto|local|(ray://)?[^\s/]+:\d+")
# Those of `tagline.readers.tokenizers`, which would load NumPy before help is shown; a test compares the two.
TOKENIZERS = ("whitespace", "words", "characters", "treebank")

AsJson = Annotated[bool, option("--json", help="Print JSON instead of text.")]
Encoding = Annotated[
    str,
    option(help="Of the input; auto: UTF-8, or GB18030 where it is that. What is written is UTF-8.", panel=DATA),
]
Lenient = Annotated[bool, option("--lenient", help="Skip broken sentences and report them.", panel=DATA)]
Ray = Annotated[
    str | None,
    option(
        "--ray",
        help="Work on Ray: at this address, such as 10.0.0.1:6379, or started on this machine without one.",
        metavar="[ADDRESS]",
        alone=_ADDRESS,
        panel=SCALE,
    ),
]
Workers = Annotated[
    int | None,
    option(help="With --ray: so many processes; one a processor by default.", panel=SCALE),
]
ModelFile = Annotated[str, option("-m", "--model", help="A model that tagline train wrote.")]
Threads = Annotated[int | None, option(help="By default TAGLINE_THREADS or one a core.")]
Tokens = Annotated[
    str,
    option(
        help="How text is cut; auto: as the tokens were that the model learned from.\n\n"
        "whitespace: what stands between blanks: Anna's | cat, | 3.50\n\n"
        "words: words and signs: Anna's | cat | , | 3.50 | U.S. | 北京\n\n"
        "characters: every character: 北 | 京 | 2 | 0 | 0 | 8\n\n"
        "treebank: words as English treebanks have them: Anna | 's | do | n't | Dr.",
        values=("auto", *TOKENIZERS),
    ),
]


def use_threads(count: int | None) -> None:
    """Let the core and PyTorch work with so many threads; None for as many as they choose."""
    from tagline import compiled

    compiled.let_torch_wait()
    if count is not None:
        compiled.set_threads(count, "--threads")
        os.environ["OMP_NUM_THREADS"] = str(count)  # PyTorch reads it when it is loaded


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
    parameters[place:place] = list(map(_parameter, options))

    def command(**values: Any) -> None:
        function(**values)

    command.__doc__ = function.__doc__
    command.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _parameter(setting: Option) -> inspect.Parameter:
    described = option(
        *setting.flags or (setting.flag,),
        help=setting.help,
        panel=setting.panel,
        file=setting.file,
        values=setting.possible if setting.choices else (),
    )
    annotation = setting.type if setting.default is not None else setting.type | None
    return inspect.Parameter(
        setting.name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=setting.default,
        annotation=Annotated[annotation, described],
    )
