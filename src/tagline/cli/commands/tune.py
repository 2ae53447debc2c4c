"""`tagline tune`: settings tried on a dev set, the best model saved."""

from __future__ import annotations

from typing import Annotated

from tagline.cli.arguments import argument, option
from tagline.cli.options import SCALE, Encoding, Lenient, Ray
from tagline.cli.speech import put, say
from tagline.messages import message
from tagline.settings import FILLED, READ, WRITTEN


def command(
    file: Annotated[str, argument(metavar="TRAIN", help="Labelled sentences, as tagline train takes them.", file=READ)],
    dev: Annotated[str, option(help="Labelled sentences that trials are scored on.", file=READ)],
    output: Annotated[str, option("-o", "--output", help="The model to write, that of the best trial.", file=WRITTEN)],
    model: Annotated[str, option("--model", help="What to train, as tagline train --model.")] = "crf",
    trials: Annotated[int, option(help="How many settings are tried.")] = 40,
    space: Annotated[
        str | None,
        option(help="A TOML file that says what is tried; left out: c1, c2 and min_frequency of a CRF.", file=READ),
    ] = None,
    passes: Annotated[
        int | None, option(help="Of the trials that get to the last round; 90, of networks 18 epochs.")
    ] = None,
    folder: Annotated[
        str | None,
        option(help="Of the trials, which the same command goes on with; MODEL.tune if left out.", file=FILLED),
    ] = None,
    seed: Annotated[int, option(between=(0, 2**32 - 1), help="Of the draws.")] = 0,
    form: Annotated[
        str | None, option("--format", help="columns, jsonl, conllu or words; by the file's name if left out.")
    ] = None,
    tag_column: Annotated[
        str | None, option(help="The column to learn, a number from 0 or a name; the last if left out.")
    ] = None,
    encoding: Encoding = "auto",
    lenient: Lenient = False,
    workers: Annotated[int | None, option(help="Trials at once; one a processor by default.", panel=SCALE)] = None,
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
    from tagline.readers.training_files import LabelledFiles

    files = LabelledFiles(form, tag_column, "words", encoding, lenient)
    try:
        lines = tune_files(
            file, dev, output, model, files, trials=trials, space=space, passes=passes, folder=folder, seed=seed,
            workers=workers, ray=ray,
        )  # fmt: skip
    except KeyboardInterrupt:
        say(message("stopped; the same command goes on with the trials that are left"), err=True)
        raise SystemExit(130) from None
    put("".join(f"{line}\n" for line in lines))
