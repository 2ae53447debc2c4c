"""What commands write: words for people, with control characters shown as escapes, and data, which stay as they are.

On a terminal data are shown like words: a token of a hostile file must not command it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from tagline.errors import InputError, StorageError, visible
from tagline.messages import in_english, message
from tagline.writing import REMEDIES


def say(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Write words for people, in their language."""
    stream = sys.stderr if err else sys.stdout
    if stream is not None:  # a closed one is None
        with _writing(stream):
            print(visible(str(text)), file=stream, end="\n" if nl else "", flush=True)


def put(text: str) -> None:
    """Write data to standard output at once, unchanged where it is no terminal."""
    if sys.stdout is None:
        raise InputError("standard output: expected a place to write to, got a closed one; open it, as with > file")
    with _writing(sys.stdout):
        sys.stdout.buffer.write((visible(text) if sys.stdout.isatty() else text).encode(errors="backslashreplace"))
        sys.stdout.buffer.flush()


@contextmanager
def _writing(stream: object) -> Iterator[None]:
    """Name the stream where it cannot be written, as on a full disk; a reader that has gone away is no error."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if stream is sys.stderr:
            return  # this cannot be reported anywhere else
        let_go()
        remedy = REMEDIES.get(error.errno or 0, message("choose another place"))
        raise StorageError("standard output: cannot be written: {}; {}", error.strerror, remedy) from None


def let_go() -> None:
    """Let what is still to be written to standard output vanish, so that Python does not try again when it ends."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def put_json(value: Mapping[str, Any]) -> None:
    """Write an object as indented JSON."""
    put(json.dumps(in_english(value), ensure_ascii=False, indent=2) + "\n")
