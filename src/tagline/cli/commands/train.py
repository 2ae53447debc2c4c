"""`tagline train`: from labelled sentences to a model file. The options of models come from their table."""

from __future__ import annotations

import inspect
import os
from typing import Annotated, Any

from tagline.cli.arguments import Command, Named, argument, command_of, option
from tagline.cli.options import (
    MESSAGES,
    SCALE,
    Encoding,
    Lenient,
    Ray,
    Workers,
    moved_options,
    options_of_models,
    use_threads,
)
from tagline.cli.speech import put_json, say
from tagline.cli.usage import wrapped
from tagline.errors import InputError
from tagline.messages import message
from tagline.models.registry import kinds
from tagline.models.settings import DATA, PANELS, TRAINING
from tagline.settings import READ, WRITTEN


def make(name: str) -> Command:
    """Return the command, with the options and the advice of all kinds of models."""
    text = f"{inspect.cleandoc(train.__doc__ or '')}\n\n\b\nModels:\n{advice()}"
    command = command_of(name, train, options_of_models(), moved_options(), text)
    order = (*PANELS, SCALE, MESSAGES)
    command.params.sort(key=lambda parameter: order.index(parameter.declared.panel))  # type: ignore[attr-defined]
    return command


def advice() -> str:
    """Say when to pick which kind of model, a line or more for each."""
    lines = []
    for name, kind in kinds().items():
        for first, text in zip((name, *[""] * 9), wrapped(message(kind.advice), 62), strict=False):
            lines.append(f"  {first:11}  {text}\n")
    return "".join(lines)


def train(
    named: Named,
    file: Annotated[
        str,
        argument(
            metavar="TRAIN",
            help="Labelled sentences: columns with the tag last, .jsonl, .conllu; .gz of each.",
            file=READ,
        ),
    ],
    output: Annotated[str, option("-o", "--output", help="The model to write.", file=WRITTEN)],
    model: Annotated[str, option("--model", help="What to train: one of the models below.", values=kinds)] = "crf",
    dev: Annotated[
        str | None, option(help="Labelled sentences to score after each pass; the best weights are kept.", file=READ)
    ] = None,
    form: Annotated[
        str | None,
        option(
            "--format",
            help="columns, jsonl, conllu, or words (segmented text, a sentence a line); by the file's name if left "
            "out.",
            panel=DATA,
        ),
    ] = None,
    tag_column: Annotated[
        str | None,
        option(
            help="The column to learn, a number from 0 or a name; the last if left out. Columns before it are "
            "features, those behind it are left out.",
            panel=DATA,
        ),
    ] = None,
    tokens: Annotated[
        str,
        option(help="How texts of JSON lines are cut: words, characters or whitespace.", panel=DATA),
    ] = "words",
    encoding: Encoding = "auto",
    lenient: Lenient = False,
    note: Annotated[
        list[str] | None,
        option(help="key=value to keep in the model file; may be given several times.", panel=DATA),
    ] = None,
    date: Annotated[
        bool,
        option(
            "--date/--no-date",
            help="Whether the model file says when it was trained; SOURCE_DATE_EPOCH sets the date.",
            panel=DATA,
        ),
    ] = True,
    threads: Annotated[int | None, option(help="By default TAGLINE_THREADS or one a core.", panel=TRAINING)] = None,
    ray: Ray = None,
    workers: Workers = None,
    scratch: Annotated[
        str | None,
        option(
            help="With --ray: a folder on each worker's disk for compiled sentences; that of temporary files if left "
            "out.",
            panel=SCALE,
        ),
    ] = None,
    quiet: Annotated[bool, option("-q", "--quiet", help="Tell nothing.", panel=MESSAGES)] = False,
    verbose: Annotated[bool, option("-v", "--verbose", help="A line for every pass.", panel=MESSAGES)] = False,
    as_json: Annotated[bool, option("--json", help="Print the facts as JSON to stdout.", panel=MESSAGES)] = False,
    **options: Any,
) -> None:
    """Train a model, from labelled sentences to a file.

    Ctrl-C ends training early: what was learned so far is saved, and the exit code is 130.

    \b
    Examples:
      tagline train train.txt -o model.tagline
      tagline train train.txt -o model.tagline --dev dev.txt --template my.template --c2 0.1
      tagline train train.txt -o model.tagline --model hmm --smoothing witten-bell
      tagline train huge.txt.gz -o model.tagline --cache /tmp/compiled --hash-bits 22
      tagline train train.txt -o model.tagline --model bilstm --dev dev.txt --embeddings glove.txt.gz
      tagline train train.txt -o model.tagline --dev dev.txt --config other.toml --epochs 10
      tagline train 'parts/*.gz' -o model.tagline --ray --workers 4
    """
    from tagline.cli.outcome import report_lines
    from tagline.cli.progress import reporting
    from tagline.cli.training import speaks, train_file
    from tagline.models.provenance import parse_note
    from tagline.readers.training_files import LabelledFiles

    if ray is None and (workers is not None or scratch is not None):
        raise InputError("--{}: expected --ray beside it, got none", "workers" if workers is not None else "scratch")
    use_threads(threads)
    said = {name: options[name] for name in named if name in options}
    try:
        with reporting(quiet=quiet or not speaks(), verbose=verbose) as tell:
            done = train_file(
                file,
                output,
                model if "model" in named else None,
                said,
                dev=dev,
                reading=LabelledFiles(form, tag_column, tokens, encoding, lenient),
                notes=dict(parse_note(text) for text in note or ()),
                date=date,
                ray=None
                if ray is None
                else {"address": ray or None, "workers": workers, "threads": threads or 1, "scratch": scratch},
                tell=tell,
            )
            tell.finish()
            for line in report_lines(done) if speaks() else ():
                tell.say(line)
    except KeyboardInterrupt:
        checkpoint = said.get("checkpoint")
        left = (
            message("; --checkpoint {} --resume goes on", checkpoint)
            if checkpoint and os.path.exists(checkpoint)
            else ""
        )
        say(
            message("interrupted, nothing was saved: {} was not written{}", output, left),
            err=True,
        )
        raise SystemExit(130) from None
    if as_json and speaks():
        put_json(done.as_dict())
    if done.interrupted:
        raise SystemExit(130)
