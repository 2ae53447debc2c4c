"""The program of CRFsuite as ``tagline crfsuite``: ``learn``, ``tag`` and ``dump``, with its options and its output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from tagline.errors import InputError
from tagline.interop.crfsuite.arguments import DUMP, described, parse
from tagline.interop.crfsuite.binary import read_model
from tagline.interop.crfsuite.learning import learn
from tagline.interop.crfsuite.tagging import tag
from tagline.interop.pycrfsuite import Tagger

USAGE = """USAGE: crfsuite COMMAND [OPTIONS]

COMMAND:
  learn   train a model on labelled sentences
  tag     label sentences with a model
  dump    write a model as text

crfsuite COMMAND -h lists the options of a command.
"""

USAGE_OF_DUMP = """USAGE: crfsuite dump [OPTIONS] MODEL
Write a model as text.

OPTIONS:
"""


def main(arguments: list[str]) -> int:
    """Run the program on its arguments and return its exit code."""
    if not arguments:
        raise InputError("command: expected one of {}, got none; -h shows the usage", ", ".join(COMMANDS))
    name, *rest = arguments
    if name in ("-h", "--help"):
        sys.stdout.write(USAGE)
        return 0
    if name not in COMMANDS:
        raise InputError("command: expected one of {}, got {!r:.60}", ", ".join(COMMANDS), name)
    return COMMANDS[name](rest)


def dump(arguments: Sequence[str]) -> int:
    """Run ``crfsuite dump`` and return its exit code."""
    chosen = parse(arguments, DUMP, "crfsuite dump")
    if chosen.has("help"):
        sys.stdout.write(USAGE_OF_DUMP + described(DUMP))
        return 0
    if len(chosen.files) != 1:
        raise InputError("crfsuite dump: expected the file of one model, got {}", len(chosen.files))
    with open(chosen.files[0], "rb") as file:
        data = file.read()
    read_model(data, chosen.files[0])  # says what is wrong with a file that is none
    with Tagger().open_inmemory(data) as tagger:
        tagger.dump()
    return 0


COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {"learn": learn, "tag": tag, "dump": dump}
