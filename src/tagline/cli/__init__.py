"""The command `tagline`: thin commands over importable functions. Data goes to stdout, messages to stderr."""

from __future__ import annotations

import os
import signal
import sys

from tagline.messages import ENGLISH, LOCALES, asked_for, message, use


def main() -> None:
    """Run the command line; errors meant for users end it with one line and exit code 1, or 2 for a wrong call."""
    use_language(asked_for())
    from tagline.cli.foreign import TOOLS
    from tagline.cli.foreign import run as run_foreign
    from tagline.cli.signals import Ended, raise_on_signals
    from tagline.cli.speech import let_go
    from tagline.errors import TaglineError, visible

    words = sys.argv[1:]
    shell = os.environ.get("_TAGLINE_COMPLETE")  # a shell asks what a word may become: nothing is run
    if words and words[0] in TOOLS and not shell:
        sys.exit(run_foreign(words[0], words[1:]))
    raise_on_signals()
    try:
        if shell:
            from tagline.cli.completion import answer

            sys.exit(answer(shell))
        from tagline.cli.app import run

        run(words)
        if sys.stdout is not None:
            sys.stdout.flush()
    except TaglineError as error:
        sys.exit(f"tagline: {error}")
    except ImportError as error:
        sys.exit(f"tagline: {_missing(error)}")
    except BrokenPipeError:  # the reader of our output has seen enough
        let_go()
        sys.exit(1)
    except OSError as error:
        if error.filename is None:  # files have names: it is standard output that help could not be written to
            let_go()
        place = message("standard output") if error.filename is None else error.filename
        text = message("{}: {}", place, error.strerror or error)
        sys.exit(f"tagline: {visible(text)}")
    except KeyboardInterrupt:
        sys.exit(130)
    except Ended as ended:
        signal.raise_signal(ended.number)  # the exit status names the signal


def use_language(language: str) -> None:
    """Say everything in a language; click asks `gettext` for its texts, which are in our catalogue, too."""
    use(language)
    if language != ENGLISH:
        import gettext

        os.environ["LANGUAGE"] = "zh_CN"
        gettext.bindtextdomain("tagline", LOCALES)
        gettext.textdomain("tagline")


# What commands need, and what pip installs for it; the base package has rich, but source files alone do not.
_SOURCES = {"torch": "'tagline[torch]'", "rich": "rich", "click": "click"}
_SOURCES |= dict.fromkeys(("transformers", "tokenizers"), "'tagline[transformers]'")


def _missing(error: ImportError) -> str:
    """Say how to install what is missing; an error of another kind is raised again."""
    package = (error.name or "").partition(".")[0]
    if package in _SOURCES:
        command = f"pip install {_SOURCES[package]}"
        return message("this needs the package {}; install it with: {}", package, command)
    if "pip install" not in str(error):
        raise error
    return str(error)
