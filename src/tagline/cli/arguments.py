"""Commands from functions: an annotation says how a parameter stands on the command line; words become its value.

``Annotated[int, option("-k", help="How many.")]`` is an option, ``Annotated[str, argument(help="A file.")]`` a word by
itself. Types are str, int, float and bool, which is a switch; each ``| None``; and lists, for what may be repeated.

Options stand anywhere: ``--name value``, ``--name=value``, ``-k5``, ``-qk 5``; ``--`` ends them. The word behind an
option is its value whatever it begins with, as -1 does, and names are not shortened, so that a new option breaks no
script. argparse does neither, and differs between versions of Python in where options may stand.
"""

from __future__ import annotations

import inspect
import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

from tagline.cli.overwriting import STREAM, check_apart
from tagline.errors import InputError
from tagline.models.options import FILLED, READ, WRITTEN
from tagline.writing import check_writable

NAMES = {str: "TEXT", int: "NUMBER", float: "FLOAT", bool: ""}
WANTED = {int: "a whole number", float: "a number"}


class UsageError(Exception):
    """Words that a command does not take: the exit code is 2."""


class Named(tuple[str, ...]):
    """The parameters whose options stand on the command line, for a command that has a parameter of this type."""


@dataclass(frozen=True)
class Parameter:
    """An option of a command, or an argument.

    Attributes:
        flags: how an option is written, ``("-o", "--output")``; an argument has none.
        off: what turns a switch off, ``("--no-date",)``.
        help, panel: its sentence, and the part of the help in which it stands.
        metavar: what its value is called in the help; its type where left out.
        between: the least and the greatest number.
        alone: what a value looks like of an option that may also stand alone, and is empty text then.
        file: `READ`, `WRITTEN` or `FILLED` (a folder) where the value names files: a command does not write over
            what it reads, and files that cannot be written are refused before it begins.
        name, type, default, required, repeated: of the function's parameter.
    """

    flags: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    help: str = ""
    panel: str = ""
    metavar: str = ""
    between: tuple[int, int] | None = None
    alone: re.Pattern[str] | None = None
    file: str = ""
    name: str = ""
    type: type = bool
    default: Any = None
    required: bool = False
    repeated: bool = False

    @property
    def shown(self) -> str:
        """What its value is called: nothing for a switch."""
        return self.metavar or (NAMES[self.type] if self.flags else self.name.upper().replace("_", "-"))

    @property
    def place(self) -> str:
        """How errors name it: its long form, or the name of the argument."""
        return self.flags[-1] if self.flags else self.shown

    def value(self, texts: Sequence[str | bool]) -> Any:
        """Return the value that texts stand for; the last one counts, unless it may be repeated."""
        values = [self._converted(text) for text in texts]
        return values if self.repeated else values[-1]

    def _converted(self, text: str | bool) -> Any:
        if self.type not in WANTED:
            return text
        wanted = WANTED[self.type] + (", {} to {}".format(*self.between) if self.between else "")
        try:
            number = self.type(text)
        except ValueError:
            number = None
        if number is None or (self.between and not self.between[0] <= number <= self.between[1]):
            raise UsageError(f"{self.place}: expected {wanted}, got {text!r}")
        return number


def option(*flags: str, help: str, panel: str = "", metavar: str = "", **rest: Any) -> Parameter:
    """Describe an option; without `flags` it is ``--`` and the parameter's name. ``"--on/--off"`` is a pair.

    Arguments:
        rest: `between`, `alone` and `file` of `Parameter`.
    """
    pairs = [flag.partition("/") for flag in flags]
    on, off = tuple(pair[0] for pair in pairs), tuple(pair[2] for pair in pairs if pair[2])
    return Parameter(on or ("--",), off, help, panel, metavar, **rest)


def argument(*, help: str, metavar: str = "", file: str = "") -> Parameter:
    """Describe a word that stands by itself."""
    return Parameter(help=help, metavar=metavar, file=file)


HELP = Parameter(("--help",), help="Show this message and exit.", name="help")


def _completed(parameter: inspect.Parameter) -> Parameter:
    """Add to a description what the function's signature says."""
    kind: Any
    described: Parameter
    kind, described = get_args(parameter.annotation)
    if isinstance(kind, UnionType):
        kind = next(part for part in get_args(kind) if part is not NoneType)
    repeated = get_origin(kind) is list
    type_ = get_args(kind)[0] if repeated else kind
    flags, off, dashed = described.flags, described.off, parameter.name.replace("_", "-")
    if flags == ("--",):
        flags, off = (f"--{dashed}",), (f"--no-{dashed}",) if type_ is bool else ()
    required = parameter.default is inspect.Parameter.empty
    default = None if required else parameter.default
    return replace(
        described, flags=flags, off=off, name=parameter.name, type=type_, default=default, required=required,
        repeated=repeated,
    )  # fmt: skip


@dataclass(frozen=True)
class Command:
    """A function as a command.

    Attributes:
        name: as it is called, ``tagline tag``.
        function: its parameters are options and arguments, its documentation the help.
    """

    name: str
    function: Callable[..., None]

    @cached_property
    def signature(self) -> list[inspect.Parameter]:
        """The parameters of the function."""
        return list(inspect.signature(self.function, eval_str=True).parameters.values())

    @cached_property
    def parameters(self) -> list[Parameter]:
        """The options and arguments in the order of the signature."""
        return [_completed(parameter) for parameter in self.signature if parameter.annotation is not Named]

    @property
    def arguments(self) -> list[Parameter]:
        """What stands by itself."""
        return [parameter for parameter in self.parameters if not parameter.flags]

    @property
    def help(self) -> str:
        """The documentation of the function; a paragraph that begins with a backspace is shown as it stands."""
        return inspect.cleandoc(self.function.__doc__ or "")

    def run(self, words: Sequence[str]) -> bool:
        """Call the function with what words say; return False, and call nothing, where they ask for help."""
        texts, loose = scan([*self.parameters, HELP], words)
        if HELP.name in texts:
            return False
        named = Named(texts)
        for parameter in self.arguments:
            count = len(loose) if parameter.repeated else 1
            if loose:
                texts[parameter.name], loose = [*loose[:count]], loose[count:]
        if loose:
            raise UsageError(f"Got unexpected extra argument ({' '.join(loose)})")
        values = {parameter.name: self._value(parameter, texts) for parameter in self.parameters}
        check_apart(self._files(values, READ), self._files(values, WRITTEN, FILLED))
        for place, path in self._files(values, WRITTEN).items():
            if path not in (None, STREAM):
                check_writable(path, place)
        values |= {parameter.name: named for parameter in self.signature if parameter.annotation is Named}
        try:
            self.function(**values)
        except InputError as error:
            error.args = (self._with_options(str(error)),)
            raise
        return True

    def _with_options(self, message: str) -> str:
        """Name options in a message that names arguments of functions: ``encoding='gb18030'``, ``max_seconds: …``."""
        for parameter in self.parameters:
            if parameter.flags:
                names = {parameter.name, parameter.place.removeprefix("--").replace("-", "_")}
                argument = rf"(?:{'|'.join(map(re.escape, names))})"
                message = re.sub(rf"^{argument}: ", f"{parameter.place}: ", message)
                message = re.sub(rf"\b{argument}=['\"](\S*?)['\"]", rf"{parameter.place} \1", message)
        return message

    def _files(self, values: dict[str, Any], *roles: str) -> dict[str, Any]:
        """The values of the parameters that name files with which this is done."""
        return {parameter.place: values[parameter.name] for parameter in self.parameters if parameter.file in roles}

    def _value(self, parameter: Parameter, texts: dict[str, list[str | bool]]) -> Any:
        if parameter.name in texts:
            return parameter.value(texts[parameter.name])
        if parameter.required:
            what = "option" if parameter.flags else "argument"
            raise UsageError(f"Missing {what} {' / '.join(parameter.flags) or parameter.shown}.")
        return parameter.default


def scan(
    parameters: Iterable[Parameter], words: Sequence[str], *, until_word: bool = False
) -> tuple[dict[str, list[str | bool]], list[str]]:
    """Part words into the texts of options, by the names of parameters, and the words that stand by themselves.

    Arguments:
        until_word: what follows the first word that stands by itself is left as it is.

    >>> size = Parameter(("-k", "--size"), name="size", type=int)
    >>> scan([size, HELP], ["a", "-k-5", "--size", "-6", "b", "--", "--help"])
    ({'size': ['-5', '-6']}, ['a', 'b', '--help'])
    """
    options = {flag: parameter for parameter in parameters for flag in (*parameter.flags, *parameter.off)}
    texts: dict[str, list[str | bool]] = {}
    loose: list[str] = []
    rest = deque(words)
    while rest:
        word = rest.popleft()
        if word == "--":
            return texts, [*loose, *rest]
        if word == "-" or not word.startswith("-"):
            loose.append(word)
            if until_word:
                return texts, [*loose, *rest]
            continue
        flag, text = _parted(word)
        parameter = options.get(flag)
        if parameter is None:
            raise unknown("option", flag, options)
        texts.setdefault(parameter.name, []).append(_text_of(parameter, flag, text, rest))
    return texts, loose


def _parted(word: str) -> tuple[str, str | None]:
    """Part an option from the value in the same word."""
    if not word.startswith("--"):
        return word[:2], word[2:] or None
    flag, equals, text = word.partition("=")
    return flag, text if equals else None


def _text_of(parameter: Parameter, flag: str, text: str | None, rest: deque[str]) -> str | bool:
    """Find the value of an option; of a switch, whether it is on. Letters behind that of a switch are options, too."""
    if parameter.type is bool:
        if text is not None and (flag.startswith("--") or text.startswith("-")):
            raise UsageError(f"Option {flag} takes no value.")
        if text is not None:
            rest.appendleft(f"-{text}")
        return flag in parameter.flags
    if text is not None:
        return text
    if parameter.alone is not None:
        return rest.popleft() if rest and parameter.alone.fullmatch(rest[0]) else ""
    if not rest:
        raise UsageError(f"Option {flag} needs a value.")
    return rest.popleft()


def unknown(what: str, word: str, known: Iterable[str]) -> UsageError:
    """Return the error for a word that is not known, with those that are near it."""
    import difflib  # which takes its time

    names = list(known)
    near = [name for name in names if name.startswith(word)] if len(word) > 2 else []
    near = near or difflib.get_close_matches(word, names, 3, 0.7)
    meant = f"; did you mean {', '.join(near[:4])}?" if near else ""
    return UsageError(f"No such {what}: {word}{meant}")
