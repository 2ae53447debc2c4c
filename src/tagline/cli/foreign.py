"""Commands of other tools under their own names: `tagline crf_learn …` takes what `crf_learn …` takes.

Arguments go to the tool's room of `tagline.interop` as they stand, because each tool reads options in a way of its own.
Such a command starts without our command line, and without the libraries that it needs.
"""

from __future__ import annotations

import sys
from importlib import import_module

from tagline.messages import message

PANEL = message("Commands of other tools")

# name: (module with the function, the function, its line in the help)
TOOLS = {
    "crf_learn": (
        "tagline.interop.crfpp.commands",
        "learn",
        message("Train as crf_learn of CRF++ does: template train model."),
    ),
    "crf_test": ("tagline.interop.crfpp.commands", "test", message("Tag as crf_test of CRF++ does: -m model files.")),
    "crfsuite": (
        "tagline.interop.crfsuite.commands",
        "main",
        message("Train, tag and dump as crfsuite does: learn|tag|dump."),
    ),
    "wapiti": (
        "tagline.interop.wapiti.commands",
        "main",
        message("Train and label as wapiti does: train|label|dump|update."),
    ),
}


def run(name: str, arguments: list[str]) -> int:
    """Run the command of another tool on its arguments and return its exit code."""
    from tagline.errors import TaglineError

    module, function, _ = TOOLS[name]
    try:
        return int(getattr(import_module(module), function)(arguments))
    except TaglineError as error:
        _say(f"{name}: {error}")
        return 1
    except BrokenPipeError:  # the reader of our output has seen enough
        sys.stderr.close()
        return 1
    except OSError as error:
        _say(f"{name}: {error.filename or 'file'}: {error.strerror or error}")
        return 1
    except KeyboardInterrupt:
        return 130


def _say(text: str) -> None:
    from tagline.cli.speech import say

    say(text, err=True)


def crf_learn() -> None:
    """Run the console script ``tagline-crf_learn``."""
    sys.exit(run("crf_learn", sys.argv[1:]))


def crf_test() -> None:
    """Run the console script ``tagline-crf_test``."""
    sys.exit(run("crf_test", sys.argv[1:]))


def crfsuite() -> None:
    """Run the console script ``tagline-crfsuite``."""
    sys.exit(run("crfsuite", sys.argv[1:]))


def wapiti() -> None:
    """Run the console script ``tagline-wapiti``."""
    sys.exit(run("wapiti", sys.argv[1:]))
