"""Commands run inside the test's process, as `tagline.cli.main` runs them."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from unittest.mock import patch

from tagline.cli.app import run
from tagline.errors import TaglineError


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


def tagline(*words: object, input: str | bytes | None = None) -> Done:
    """Run a command; an error meant for users becomes its line, anything else is raised."""
    given = input.encode() if isinstance(input, str) else input or b""
    texts = [io.TextIOWrapper(io.BytesIO(data), encoding="utf-8") for data in (given, b"", b"")]
    code, said = 0, ""
    with patch.multiple(sys, stdin=texts[0], stdout=texts[1], stderr=texts[2]):
        try:
            run([str(word) for word in words])
        except SystemExit as stop:
            code = int(stop.code or 0)
        except (TaglineError, OSError) as error:
            code, said = 1, f"tagline: {error}\n"
        out, err = (_written(text) for text in texts[1:])
    return Done(code, out, err + said)


def _written(text: io.TextIOWrapper) -> str:
    text.flush()
    return text.buffer.getvalue().decode()  # type: ignore[attr-defined]  # it is a BytesIO


def line_of(done: Done) -> str:
    """The one line of an error."""
    assert done.code == 1, done
    assert done.out == ""
    assert done.err.count("\n") == 1, done.err
    return done.err.removeprefix("tagline: ").rstrip("\n")
