"""Where the answers of `tagline tag` go: standard output, a file, or a folder with a file for each input.

A file appears whole at the end. Where an input breaks off, what was answered before is kept, and the error says so.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tagline.cli.speech import put
from tagline.errors import InputError, TaglineError
from tagline.readers.compressed import plain_name
from tagline.readers.sources import open_target
from tagline.writing import check_apart

RECORD = ".tagline-tag.json"  # as `tagline.scale.tagging` names it, which is loaded only where there is one
ENDINGS = {
    **{"columns": ".txt", "jsonl": ".jsonl", "brackets": ".txt", "html": ".html"},
    **{"words": ".txt", "conllu": ".conllu", "spans-csv": ".csv"},
}


def targets_of(
    output: str | None, paths: Sequence[str], form: str, read: Mapping[str, Any] = MappingProxyType({})
) -> list[tuple[str | None, list[str]]]:
    """Say which inputs go to which file; None stands for standard output.

    Arguments:
        output: a file, or a folder: one that is there, one whose name ends with a slash, or where there are several
            inputs.
        form: that is written; it chooses the ending of files in a folder.
        read: other files that are read, by their options.
    """
    if output is None or output == "-":
        return [(None, list(paths))]
    if not output:
        raise InputError("--output: expected the name of a file or folder, got none")
    read = {"FILES": paths, **read}
    if len(paths) == 1 and not output.endswith("/") and not os.path.isdir(output):
        check_apart(read, {"--output": output})
        return [(output, list(paths))]
    home = output.rstrip(os.sep)
    if os.path.exists(home) and not os.path.isdir(home):
        raise InputError("--output: expected a folder for the answers to {} inputs, got the file {}", len(paths), home)
    found: dict[str, str] = {}
    for path in paths:
        stem = "stdin" if path == "-" else os.path.splitext(plain_name(os.path.basename(path)))[0]
        target = os.path.join(output, stem + ENDINGS[form])
        if target in found:
            raise InputError("--output: expected inputs of different names, got {} and {}", found[target], path)
        found[target] = path
        check_apart(read, {"--output": target})
    os.makedirs(output, exist_ok=True)
    return [(target, [path]) for target, path in found.items()]


def write_answers(target: str | None, texts: Iterable[str]) -> None:
    """Write what comes; an error of the input ends it, and is raised when all before it is written."""
    if target is None:
        for text in texts:
            put(text)
        return
    broken: TaglineError | None = None
    with open_target(target) as stream:
        try:
            for text in texts:
                stream.write(text.encode())
        except InputError as error:
            broken = error
    if os.path.exists(
        os.path.join(os.path.dirname(target), RECORD)
    ):  # the folder of a run on Ray, which has not made it
        from tagline.scale.tagging import forget

        forget(target)
    if broken is not None:
        raise InputError("{}; what comes before it is in {}", broken, target) from broken
