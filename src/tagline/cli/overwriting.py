"""No command writes over a file that it reads: all inputs and outputs of a call are compared before anything is done.

Files are compared, not names: symbolic links, hard links and standard input count. Folders and streams are left out,
for their files are known only where they are opened.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tagline.errors import InputError

STREAM = "-"  # standard input of a command that reads, standard output of one that writes


def check_apart(read: Mapping[str, Any], written: Mapping[str, Any]) -> None:
    """Raise where a file that is to be written is also read, or is to be written twice.

    Arguments:
        read, written: paths by the names of options and arguments; a path, several, or None.
    """
    inputs = {identity: name for name, path in _paths(read) if (identity := _identity(path, is_read=True)) is not None}
    outputs: dict[object, str] = {}
    for name, path in _paths(written):
        if path == STREAM or (identity := _identity(path)) is None:
            continue
        if identity in inputs:
            raise InputError(f"{name}: {path} is also read, as {inputs[identity]}; name another file to write")
        if identity in outputs:
            raise InputError(f"{name}: {path} is also written, as {outputs[identity]}; name another file to write")
        outputs[identity] = name


def _paths(named: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in named.items():
        values: Iterable[Any] = value if isinstance(value, list | tuple) else (value,)
        for text in values:
            if isinstance(text, str | os.PathLike):
                path = os.fspath(text)
                # Options of several files have commas between them.
                parts = [path] if os.path.exists(path) or "," not in path else path.split(",")
                yield from ((name, part) for part in parts if part)


def _identity(path: str, *, is_read: bool = False) -> object:
    """Return what tells a file from others, of one that is not there its whole name; None for folders and streams."""
    try:
        status = os.fstat(sys.stdin.fileno()) if is_read and path == STREAM else os.stat(path)
    except (OSError, ValueError, AttributeError):  # none of that name, or a standard input that is closed
        return os.path.realpath(path) if "\0" not in path and path != STREAM else None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None
