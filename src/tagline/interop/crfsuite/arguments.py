"""Options as the programs of CRFsuite read them: short ones may be joined, and the first file ends them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tagline.errors import InputError


@dataclass(frozen=True)
class Flag:
    """An option.

    Attributes:
        short: its letter.
        help: what it does.
        value: how its value is called in the help; empty for a switch.
    """

    short: str
    help: str
    value: str = ""


@dataclass
class Chosen:
    """What was chosen: the values of each option, in their order, and the files."""

    values: dict[str, list[str]] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)

    def has(self, name: str) -> bool:
        """Say whether an option was given."""
        return name in self.values

    def last(self, name: str, default: str = "") -> str:
        """Return the last value of an option."""
        return self.values.get(name, [default])[-1]


def parse(arguments: Sequence[str], flags: Mapping[str, Flag], place: str) -> Chosen:
    """Read options up to the first argument that is none, and take the rest for files.

    Arguments:
        flags: by their long names.
        place: the command, for messages.

    >>> chosen = parse(["-rqm", "x.model", "--test", "data"], TAG, "crfsuite tag")
    >>> chosen.values, chosen.files
    ({'reference': [''], 'quiet': [''], 'model': ['x.model'], 'test': ['']}, ['data'])
    """
    chosen, rest = Chosen(), list(arguments)
    letters = {flag.short: name for name, flag in flags.items()}
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        if word.startswith("--"):
            name, joined, value = word[2:].partition("=")
            if name not in flags:
                raise InputError("{}: expected one of {}, got {!r:.60}", place, _listed(flags), word)
            _take(chosen, name, flags[name], [value] if joined else None, rest, place)
            continue
        body = word[1:]
        while body:
            letter, body = body[0], body[1:]
            if letter not in letters:
                raise InputError("{}: expected one of {}, got -{}", place, _listed(flags), letter)
            name = letters[letter]
            if flags[name].value:
                _take(chosen, name, flags[name], [body] if body else None, rest, place)
                break
            _take(chosen, name, flags[name], None, rest, place)
    chosen.files = rest
    if late := [word for word in rest if word.startswith("-") and word != "-"]:
        raise InputError("{}: expected options before files, got {!r:.60} after {!r:.60}", place, late[0], rest[0])
    return chosen


def _take(chosen: Chosen, name: str, flag: Flag, joined: list[str] | None, rest: list[str], place: str) -> None:
    """Add an option, with the value that is joined to it or follows it."""
    if not flag.value and joined is not None:
        raise InputError("{}: expected no value for --{}, got {!r:.60}", place, name, joined[0])
    if flag.value and joined is None:
        if not rest:
            raise InputError("{}: expected a value for -{}, --{}, got none", place, flag.short, name)
        joined = [rest.pop(0)]
    chosen.values.setdefault(name, []).append(joined[0] if joined else "")


def _listed(flags: Mapping[str, Flag]) -> str:
    return ", ".join(f"-{flag.short} (--{name})" for name, flag in flags.items())


def described(flags: Mapping[str, Flag]) -> str:
    """Write a line of help for each option."""
    flags = {name: flag for name, flag in flags.items() if flag.help}
    heads = [f"  -{flag.short}, --{name}{'=' + flag.value if flag.value else ''}" for name, flag in flags.items()]
    width = max(map(len, heads)) + 2
    return "".join(f"{head:<{width}}{flag.help}\n" for head, flag in zip(heads, flags.values(), strict=True))


HELP = Flag("h", "show this help and stop")

LEARN = {
    "type": Flag("t", "the graph: 1d, a chain, is the only one", "TYPE"),
    "algorithm": Flag("a", "lbfgs (the default), l2sgd, ap, pa or arow", "NAME"),
    "set": Flag("p", "set a parameter of the algorithm; -H lists them", "NAME=VALUE"),
    "model": Flag("m", "write the model to this file; without it the model is not kept", "FILE"),
    "split": Flag("g", "deal the sentences out to N groups at random", "N"),
    "holdout": Flag("e", "score group M after each pass and train on the others", "M"),
    "cross-validate": Flag("x", "hold out each group in turn; no model is kept"),
    "log-to-file": Flag("l", "write the log to a file that is named by the base, the algorithm and the parameters"),
    "logbase": Flag("L", "the base of that name; log.crfsuite", "BASE"),
    "help": HELP,
    "help-params": Flag("H", ""),  # as the program has it; its help calls it by the other name
    "help-parameters": Flag("H", "list the parameters of the algorithm (-a) and stop"),
}
TAG = {
    "model": Flag("m", "the file of the model", "FILE"),
    "test": Flag("t", "report how well the labels of the data are told"),
    "reference": Flag("r", "write the labels of the data before those of the model"),
    "probability": Flag("p", "write score and probability of each labelling"),
    "marginal": Flag("i", "write the probability of each label that is chosen"),
    "marginal-all": Flag("l", "write the probability of every label"),
    "quiet": Flag("q", "write no labels; for -t"),
    "help": HELP,
}
DUMP = {"help": HELP}
