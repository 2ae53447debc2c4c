"""The command `tagline`: thin commands over importable functions. Data goes to stdout, messages to stderr."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; errors meant for users end it with one line and exit code 1."""
    try:
        from tagline.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(f"tagline: the command line needs {error.name}; install it with: pip install typer rich")
    from tagline.errors import TaglineError

    try:
        app(prog_name="tagline")
    except TaglineError as error:
        sys.exit(f"tagline: {error}")
    except BrokenPipeError:  # the reader of our output has seen enough
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        sys.exit(f"tagline: {error.filename or 'file'}: {error.strerror or error}")
