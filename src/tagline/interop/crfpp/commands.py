"""crf_learn and crf_test: CRF++'s programs by their own arguments, with their output.

Both are thin: `arguments` reads the options, `training` learns, `scoring` and `answers` label.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO

from tagline import __version__
from tagline.errors import InputError
from tagline.interop.crfpp import VERSION
from tagline.interop.crfpp.arguments import Arguments, ProgramOption, help_of, parse
from tagline.messages import message
from tagline.writing import check_apart

LEARN = (
    ProgramOption("freq", "f", "1", "INT", "leave out features that occur less often (default 1)"),
    ProgramOption("maxiter", "m", "100000", "INT", "at most so many iterations (default 100000)"),
    ProgramOption("cost", "c", "1.0", "FLOAT", "cost C: the larger, the closer to the training data (default 1.0)"),
    ProgramOption(
        "eta", "e", "0.0001", "FLOAT", "stop at relative changes of the objective below this (default 0.0001)"
    ),
    ProgramOption("convert", "C", None, None, "convert a text model to a binary one: text model"),
    ProgramOption("textmodel", "t", None, None, "write a text model beside the binary one"),
    ProgramOption("algorithm", "a", "CRF", "(CRF|CRF-L1|MIRA)", "how to learn (default CRF)"),
    ProgramOption("thread", "p", "0", "INT", "number of threads (default: all processors)"),
    ProgramOption("shrinking-size", "H", "20", "INT", "MIRA: rest sentences that were right so often (default 20)"),
    ProgramOption("version", "v", None, None, "show the version and exit"),
    ProgramOption("help", "h", None, None, "show this help and exit"),
)
TEST = (
    ProgramOption("model", "m", None, "FILE", "the model"),
    ProgramOption("nbest", "n", "0", "INT", "write the INT best labellings"),
    ProgramOption("verbose", "v", "0", "INT", "1: probabilities of labels, 2: of all labels"),
    ProgramOption("cost-factor", "c", "1.0", "FLOAT", "multiply all scores (default 1.0)"),
    ProgramOption("output", "o", None, "FILE", "write to FILE"),
    ProgramOption("version", "v", None, None, "show the version and exit"),
    ProgramOption("help", "h", None, None, "show this help and exit"),
)
FAILURE = 255


def learn(arguments: Sequence[str]) -> int:
    """Run ``crf_learn template train model``, or ``crf_learn -C textmodel model``."""
    given = parse(LEARN, arguments)
    if _told("crf_learn", LEARN, given):
        return 0
    if len(given.files) != (2 if given.has("convert") else 3):
        sys.stdout.write(help_of("crf_learn", LEARN))
        wanted = "textmodel model" if given.has("convert") else "template train model"
        raise InputError("files: expected {}, got {}", wanted, " ".join(given.files) or message("none"))
    if given.has("convert"):
        check_apart({"textmodel": given.files[0]}, {"model": given.files[1]})
        _convert(*given.files)
        return 0
    from tagline.interop.crfpp.learning import run

    template, train, model = given.files
    texts = f"{model}.txt" if given.has("textmodel") else None
    check_apart({"template": template, "train": train}, {"model": model, "--textmodel": texts})
    run(given, sys.stdout)
    return 0


def test(arguments: Sequence[str]) -> int:
    """Run ``crf_test -m model files``."""
    given = parse(TEST, arguments)
    if _told("crf_test", TEST, given):
        return FAILURE
    from tagline.interop.crfpp.column_file import BYTES, read_blocks
    from tagline.interop.crfpp.opening import open_scoring
    from tagline.interop.crfpp.output import Wish, write_answers

    check_apart({"--model": given.text("model"), "files": given.files}, {"--output": given.text("output")})
    scoring = open_scoring(given)
    wish = Wish(given.whole("nbest", 0), given.whole("verbose", 0))
    with _output(given.text("output")) as target:
        for file in given.files or ("-",):
            with _input(file) as stream:
                for sentences in read_blocks(stream, file, scoring.model.xsize):
                    for text in write_answers(scoring, sentences, wish):
                        target.write(text.encode(BYTES))
    return 0


def _told(program: str, options: Sequence[ProgramOption], given: Arguments) -> bool:
    """Show the help or the version, where that is asked for."""
    if given.has("help"):
        sys.stdout.write(help_of(program, options))
    elif given.has("version"):
        sys.stdout.write(f"CRF++ of {VERSION} (tagline {__version__})\n")
    return given.has("help") or given.has("version")


def _convert(source: str, model: str) -> None:
    from pathlib import Path

    from tagline.interop.crfpp import binary_model, text_model
    from tagline.interop.formats import refuse_others
    from tagline.writing import open_new

    data = Path(source).read_bytes()
    refuse_others(data, "crfpp-text", source)
    data = binary_model.write_model(text_model.read_model(data, source))
    with open_new(model) as file:
        file.write(data)


@contextmanager
def _input(path: str) -> Iterator[IO[bytes]]:
    if path == "-":
        yield sys.stdin.buffer
        return
    with open(path, "rb") as stream:
        yield stream


@contextmanager
def _output(path: str) -> Iterator[IO[bytes]]:
    if not path or path == "-":
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with open(path, "wb") as stream:
        yield stream
