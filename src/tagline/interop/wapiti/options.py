"""Wapiti's command line: modes, switches and files as it reads them, and what we do with each switch.

A switch is written apart from its value, files and switches may come in any order. Whatever would change the result and
is not done here is refused; what only says how Wapiti's own algorithms walk is taken and named.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tagline.errors import InputError
from tagline.interop.wapiti.text import TYPES
from tagline.messages import message

MODES = {"t": "train", "l": "label", "d": "dump", "u": "update"}
ALGORITHMS = ("l-bfgs", "sgd-l1", "bcd", "rprop", "rprop+", "rprop-")

_REFUSED = {
    "me": message("expected no --me, got it; write each token on a line of its own, and leave it out"),
    "rstate": message(
        "expected no --rstate, for states of Wapiti's optimisers are not read; go on from weights with -m model"
    ),
    "sstate": message(
        "expected no --sstate, for there is no such state to save; the model file is enough to go on with -m"
    ),
    "clip": message("expected no --clip, for all weights are trained; train with -1 above 0 for a sparse model"),
}
_UNUSED = ("jobsize", "sparse", "maxls", "eta0", "alpha", "kappa", "stpmin", "stpmax", "stpinc", "stpdec", "cutoff")


@dataclass(frozen=True)
class Switch:
    """One switch: its long name, its letter (or none), its kind (``S`` text, ``U`` number, ``F`` float, ``B`` none)."""

    name: str
    letter: str
    kind: str
    default: Any = None


SWITCHES = {
    "train": (
        Switch("me", "", "B"),
        Switch("type", "T", "S", "crf"),
        Switch("algo", "a", "S", "l-bfgs"),
        Switch("pattern", "p", "S"),
        Switch("model", "m", "S"),
        Switch("devel", "d", "S"),
        Switch("rstate", "", "S"),
        Switch("sstate", "", "S"),
        Switch("compact", "c", "B"),
        Switch("sparse", "s", "B"),
        Switch("nthread", "t", "U", 1),
        Switch("jobsize", "j", "U", 64),
        Switch("maxiter", "i", "U", 0),
        Switch("rho1", "1", "F", 0.5),
        Switch("rho2", "2", "F", 0.0001),
        Switch("objwin", "o", "U", 5),
        Switch("stopwin", "w", "U", 5),
        Switch("stopeps", "e", "F", 0.02),
        Switch("clip", "", "B"),
        Switch("histsz", "", "U", 5),
        Switch("maxls", "", "U", 40),
        Switch("eta0", "", "F", 0.8),
        Switch("alpha", "", "F", 0.85),
        Switch("kappa", "", "F", 1.5),
        Switch("stpmin", "", "F", 1e-8),
        Switch("stpmax", "", "F", 50.0),
        Switch("stpinc", "", "F", 1.2),
        Switch("stpdec", "", "F", 0.5),
        Switch("cutoff", "", "B"),
    ),
    "label": (
        Switch("me", "", "B"),
        Switch("model", "m", "S"),
        Switch("label", "l", "B"),
        Switch("check", "c", "B"),
        Switch("score", "s", "B"),
        Switch("post", "p", "B"),
        Switch("nbest", "n", "U", 1),
        Switch("force", "", "B"),
    ),
    "dump": (Switch("prec", "p", "U", 5), Switch("all", "", "B")),
    "update": (Switch("model", "m", "S"), Switch("compact", "c", "B")),
}


@dataclass(frozen=True)
class Options:
    """What a command line says.

    Attributes:
        mode: "train", "label", "dump" or "update".
        values: of all switches of the mode, by long name.
        said: the names of those that the command line has.
        input, output: files; None for standard input and output.
        unused: names of those that are taken and change nothing.
    """

    mode: str
    values: dict[str, Any]
    said: frozenset[str] = frozenset()
    input: str | None = None
    output: str | None = None
    unused: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        """Return the value of a switch."""
        if name.startswith("__") or name not in self.values:
            raise AttributeError(name)
        return self.values[name]


def parse(arguments: Sequence[str]) -> Options:
    """Read the arguments behind the program's name, the mode first."""
    mode = MODES.get(arguments[0], arguments[0]) if arguments else ""
    if mode not in SWITCHES:
        raise InputError("mode: expected {} or their first letters, got {!r}", ", ".join(SWITCHES), mode)
    switches = {f"--{switch.name}": switch for switch in SWITCHES[mode]}
    switches |= {f"-{switch.letter}": switch for switch in SWITCHES[mode] if switch.letter}
    values = {switch.name: False if switch.kind == "B" else switch.default for switch in SWITCHES[mode]}
    files: list[str] = []
    said = set()
    rest = list(arguments[1:])
    while rest:
        argument = rest.pop(0)
        if not argument.startswith("-"):
            files.append(argument)
            continue
        switch = switches.get(argument)
        if switch is None:
            raise InputError("{}: expected one of {}, got {!r}", mode, ", ".join(switches), argument)
        if switch.kind != "B" and not rest:
            raise InputError("{}: expected a value behind it, got the end of the command line", argument)
        values[switch.name] = True if switch.kind == "B" else _value(argument, switch.kind, rest.pop(0))
        said.add(switch.name)
    if len(files) > 2:
        raise InputError(
            "{}: expected an input and an output file, got {} files: {}", mode, len(files), " ".join(files)
        )
    unused = tuple(name for name in _UNUSED if name in said)
    source, target = [*files, None, None][:2]
    options = Options(mode, values, frozenset(said), source, target, unused)
    _check(options)
    return options


def _value(argument: str, kind: str, text: str) -> Any:
    try:
        if kind == "S":
            return text
        if kind == "U" and text.isascii() and text.isdigit() and int(text) < 2**32:
            return int(text)
        if kind == "F" and math.isfinite(float(text)):
            return float(text)
    except ValueError:
        pass
    raise InputError(
        "{}: expected {}, got {!r}", argument, message("a whole number") if kind == "U" else message("a number"), text
    )


def _check(options: Options) -> None:
    for name, problem in _REFUSED.items():
        if name in options.said:
            raise InputError("{}: {}", options.mode, problem)
    least = {"nthread": 1, "jobsize": 1, "rho1": 0, "rho2": 0, "histsz": 1, "maxls": 1, "nbest": 1, "stopeps": 0}
    for name, bound in least.items():
        if name in options.values and options.values[name] < bound:
            raise InputError("--{}: expected {} or more, got {:g}", name, bound, options.values[name])
    if options.mode == "label" and options.check and options.force:
        raise InputError("label: expected --check or --force, got both")
    if options.mode in ("label", "update") and options.model is None:
        raise InputError("{}: expected a model, got none; name it with -m", options.mode)
    if options.mode == "train":
        _check_training(options)


def _check_training(options: Options) -> None:
    if options.algo not in (*ALGORITHMS, "list"):
        raise InputError("--algo: expected one of {}, got {!r}", ", ".join(ALGORITHMS), options.algo)
    if options.type not in (*TYPES, "list"):
        raise InputError("--type: expected one of {}, got {!r}", ", ".join(TYPES), options.type)
