"""`tagline tune`: settings tried on a dev set, the best model saved."""

from __future__ import annotations

from typing import Annotated

import typer

from tagline.cli.options import SCALE, Encoding, Lenient, Ray
from tagline.cli.speech import put, say


def command(
    file: Annotated[str, typer.Argument(metavar="TRAIN", help="Labelled sentences, as tagline train takes them.")],
    dev: Annotated[str, typer.Option(help="Labelled sentences that trials are scored on.")],
    output: Annotated[str, typer.Option("-o", "--output", help="The model to write, that of the best trial.")],
    model: Annotated[str, typer.Option("--model", help="What to train, as tagline train --model.")] = "crf",
    trials: Annotated[int, typer.Option(help="How many settings are tried.")] = 40,
    space: Annotated[
        str | None,
        typer.Option(help="A TOML file that says what is tried; left out: c1, c2 and min_frequency of a CRF."),
    ] = None,
    passes: Annotated[
        int | None, typer.Option(help="Of the trials that get to the last round; 90, of networks 18 epochs.")
    ] = None,
    folder: Annotated[
        str | None,
        typer.Option(help="Of the trials, which the same command goes on with; MODEL.tune if left out."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of the draws.")] = 0,
    form: Annotated[
        str | None, typer.Option("--format", help="columns, jsonl, conllu or words; by the file's name if left out.")
    ] = None,
    tag_column: Annotated[
        str | None, typer.Option(help="The column to learn, a number from 0 or a name; the last if left out.")
    ] = None,
    encoding: Encoding = "auto",
    lenient: Lenient = False,
    workers: Annotated[
        int | None, typer.Option(help="Trials at once; one a processor by default.", rich_help_panel=SCALE)
    ] = None,
    ray: Ray = None,
) -> None:
    """Try settings of a model on a dev set, and save the best model.

    Settings are drawn at random. All are trained for a few passes; the best third goes on for three times as many, and
    so on. Features of column files are compiled once. The table goes to stdout; the folder keeps all trials, the table
    and a picture of which settings mattered. Stopped by Ctrl-C or killed, the same command goes on.

    \b
    Examples:
      tagline tune train.txt --dev dev.txt -o model.tagline
      tagline tune train.txt --dev dev.txt -o model.tagline --trials 100 --space space.toml --ray
    """
    from tagline.cli.tuning import tune_files
    from tagline.readers.labelled import LabelledFiles

    files = LabelledFiles(form, tag_column, "words", encoding, lenient)
    try:
        lines = tune_files(
            file, dev, output, model, files, trials=trials, space=space, passes=passes, folder=folder, seed=seed,
            workers=workers, ray=ray,
        )  # fmt: skip
    except KeyboardInterrupt:
        say("stopped; the same command goes on with the trials that are left", err=True)
        raise typer.Exit(130) from None
    put("".join(f"{line}\n" for line in lines))
