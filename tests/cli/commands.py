"""Commands run inside the test's process, as `tagline.cli.main` runs them."""

from __future__ import annotations

from dataclasses import dataclass

from typer.testing import CliRunner

from tagline.cli.app import make_app
from tagline.errors import TaglineError


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


def tagline(*words: object, input: str | bytes | None = None) -> Done:
    """Run a command; an error meant for users becomes its line, anything else is raised."""
    result = CliRunner().invoke(make_app(), [str(word) for word in words], input=input)
    error = result.exception
    if error is not None and not isinstance(error, TaglineError | OSError | SystemExit):
        raise error
    said = f"tagline: {error}\n" if isinstance(error, TaglineError | OSError) else ""
    return Done(result.exit_code, result.stdout, result.stderr + said)


def line_of(done: Done) -> str:
    """The one line of an error."""
    assert done.code == 1, done
    assert done.out == ""
    assert done.err.count("\n") == 1, done.err
    return done.err.removeprefix("tagline: ").rstrip("\n")
