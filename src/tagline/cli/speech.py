"""What commands write: words for people, with control characters shown as escapes, and data, which stay as they are.

On a terminal data are shown like words: a token of a hostile file must not command it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from tagline.cli.language import phrase
from tagline.errors import InputError, visible


def say(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Write words for people, in their language."""
    stream = sys.stderr if err else sys.stdout
    if stream is not None:  # a closed one is None
        print(visible(phrase(text)), file=stream, end="\n" if nl else "", flush=True)


def put(text: str) -> None:
    """Write data to standard output at once, unchanged where it is no terminal."""
    if sys.stdout is None:
        raise InputError("standard output: expected a place to write to, got a closed one; open it, as with > file")
    sys.stdout.buffer.write((visible(text) if sys.stdout.isatty() else text).encode(errors="backslashreplace"))
    sys.stdout.buffer.flush()


def put_json(value: Mapping[str, Any]) -> None:
    """Write an object as indented JSON."""
    put(json.dumps(value, ensure_ascii=False, indent=2) + "\n")
