"""`tagline train`: from labelled sentences to a model file. The options of models come from their table."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

from tagline.cli.arguments import Named, argument, option
from tagline.cli.options import (
    MESSAGES,
    SCALE,
    Encoding,
    Lenient,
    Ray,
    Workers,
    use_threads,
    with_options,
)
from tagline.cli.speech import put_json, say
from tagline.cli.usage import wrapped
from tagline.errors import InputError
from tagline.messages import message
from tagline.models.options import DATA, READ, TRAINING, WRITTEN, in_order
from tagline.models.registry import kinds


def make() -> Callable[..., None]:
    """Return the command, with the options and the advice of all kinds of models."""
    command = with_options(train, in_order(kind.options for kind in kinds().values()), before="threads")
    command.__doc__ = f"{train.__doc__}\n    \b\n    Models:\n{advice()}"
    return command


def advice() -> str:
    """Say when to pick which kind of model, indented as a docstring is."""
    lines = []
    for name, kind in kinds().items():
        for first, text in zip((name, *[""] * 9), wrapped(message(kind.advice), 62), strict=False):
            lines.append(f"      {first:11}  {text}\n")
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
    **settings: Any,
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
    from tagline.cli.plans import Spread, plan_of
    from tagline.cli.progress import reporting
    from tagline.cli.training import speaks, train_file
    from tagline.models.provenance import parse_note
    from tagline.readers.training_files import LabelledFiles

    use_threads(threads)
    files = LabelledFiles(form, tag_column, tokens, encoding, lenient)
    notes = dict(parse_note(text) for text in note or ())
    plan = plan_of(file, output, model, settings, named, dev=dev, files=files)
    plan = replace(plan, notes=notes, date=date)
    if ray is not None:
        plan = replace(plan, spread=Spread(ray, workers, threads, scratch))
    elif workers is not None or scratch is not None:
        raise InputError(f"--{'workers' if workers is not None else 'scratch'}: expected --ray beside it, got none")
    try:
        with reporting(plan.recipe.budget, quiet=quiet or not speaks(), verbose=verbose) as tell:
            done = train_file(plan, tell)
            tell.finish()
            for line in report_lines(done) if speaks() else ():
                tell.say(line)
    except KeyboardInterrupt:
        checkpoint = plan.recipe.writes().get("--checkpoint")
        left = f"; --checkpoint {checkpoint} --resume goes on" if checkpoint and os.path.exists(checkpoint) else ""
        say(f"interrupted, nothing was saved: {output} was not written{left}", err=True)
        raise SystemExit(130) from None
    if as_json and speaks():
        put_json(done.as_dict())
    if done.interrupted:
        raise SystemExit(130)
