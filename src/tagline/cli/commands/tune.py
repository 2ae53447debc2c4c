"""`tagline tune`: settings tried on a dev set, the best model saved."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated

from tagline.cli.arguments import argument, option
from tagline.cli.options import SCALE, Encoding, Lenient, Ray
from tagline.cli.speech import put, say
from tagline.errors import InputError
from tagline.messages import message
from tagline.settings import FILLED, READ, WRITTEN

if TYPE_CHECKING:
    from tagline.scale.trials import Study

SHOWN = 10  # trials
PASSES, EPOCHS = 90, 18  # of the last round
LINE_SECONDS = 10.0  # between two lines about the progress

tell = partial(say, err=True)


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
    import os

    from tagline.drawing.figures import MissingPlotExtraError
    from tagline.models.registry import kind_named
    from tagline.readers.sources import open_target
    from tagline.readers.training_files import LabelledFiles
    from tagline.scale.search import search
    from tagline.scale.search_report import ENOUGH, draw, shares, table, write_table
    from tagline.scale.space import draws, read_space, usual_space
    from tagline.scale.trials import Study

    for name, value in (("--trials", trials), ("--passes", passes), ("--workers", workers)):
        if value is not None and value < 1:
            raise InputError("{}: expected 1 or more, got {}", name, value)
    kind, home = kind_named(model), folder or f"{output}.tune"
    tried = usual_space(kind) if space is None else read_space(space, kind)
    files = LabelledFiles(form, tag_column, "words", encoding, lenient)
    study = Study(os.path.abspath(home), kind.name, os.path.abspath(file), os.path.abspath(dev), files)
    last = passes or (EPOCHS if "epochs" in kind.options else PASSES)
    drawn = draws(tried, trials, seed)
    tell(message("trying {} settings of {}: {}", len(drawn), kind.name, ", ".join(tried)))
    study.begin()
    try:
        with _watching(study):
            found = search(study, drawn, last, workers=workers, ray=ray is not None, address=ray, notice=tell)
    except KeyboardInterrupt:
        tell(message("stopped; the same command goes on with the trials that are left"))
        raise SystemExit(130) from None
    write_table(found, os.path.join(home, "trials.tsv"))
    try:
        draw(found, os.path.join(home, "settings.svg"))
    except MissingPlotExtraError as error:
        tell(message("no picture: {}", error))
    with open(study.model_path(found.best.settings, found.best.passes), "rb") as stream, open_target(output) as target:
        target.write(stream.read())
    if failed := [record for record in found.records if record.error]:
        settings = ", ".join(f"{name}={value}" for name, value in failed[0].settings.items())
        tell(message("trials that failed: {}; the first, {}: {}", len(failed), settings, failed[0].error))
    if (explained := shares(found)) and len(drawn) >= ENOUGH:
        parts = ", ".join(f"{name} {100 * share:.0f} %" for name, share in explained.items())
        tell(message("what the scores depend on: {}", parts))
    tell(message("wrote {}; all trials are in {}", output, home))
    put("".join(f"{line}\n" for line in table(found, SHOWN)))


@contextmanager
def _watching(study: Study) -> Iterator[None]:
    """Say now and then how many trials are done, and the best score."""
    ended = threading.Event()

    def watch() -> None:
        before = len(study.records())
        while not ended.wait(LINE_SECONDS):
            records = study.records()
            scores = [record.score for record in records if not math.isnan(record.score)]
            if len(records) > before and scores:
                before = len(records)
                tell(message("{} trainings are done, the best score is {:.2f}", before, 100 * max(scores)))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
