"""The command `tagline`: thin commands over importable functions. Data goes to stdout, messages to stderr."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; errors meant for users end it with one line and exit code 1."""
    from tagline.cli.foreign import TOOLS, run
    from tagline.cli.language import asked_for, phrase, use
    from tagline.errors import TaglineError

    use(asked_for())
    if sys.argv[1:] and sys.argv[1] in TOOLS:
        sys.exit(run(sys.argv[1], sys.argv[2:]))
    try:
        from tagline.cli.app import make_app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(f"tagline: the command line needs {error.name}; install it with: pip install typer rich")
    try:
        make_app()(prog_name="tagline")
    except TaglineError as error:
        sys.exit(f"tagline: {phrase(str(error))}")
    except ImportError as error:
        sys.exit(f"tagline: {phrase(_missing(error))}")
    except BrokenPipeError:  # the reader of our output has seen enough
        sys.stderr.close()
        sys.exit(1)
    except OSError as error:
        sys.exit(f"tagline: {error.filename or 'file'}: {error.strerror or error}")


# What models need beyond the base package, and the name under which pip installs it.
_EXTRAS = {"torch": "torch", "transformers": "transformers", "tokenizers": "transformers"}


def _missing(error: ImportError) -> str:
    """Say how to install what is missing; an error of another kind is raised again."""
    package = (error.name or "").partition(".")[0]
    if package in _EXTRAS:
        return f"this needs the package {package}; install it with: pip install 'tagline[{_EXTRAS[package]}]'"
    if "pip install" not in str(error):
        raise error
    return str(error)
