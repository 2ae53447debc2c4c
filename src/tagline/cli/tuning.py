"""What `tagline tune` does: a search, its table and picture, the best model copied to its place."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tagline.cli.speech import say
from tagline.drawing.figures import MissingPlotExtraError
from tagline.errors import InputError
from tagline.messages import message
from tagline.models.registry import kind_named
from tagline.readers.sources import open_target
from tagline.readers.training_files import LabelledFiles
from tagline.scale.search import search
from tagline.scale.search_report import ENOUGH, draw, shares, table, write_table
from tagline.scale.space import draws, read_space, usual_space
from tagline.scale.trials import Study
from tagline.writing import check_writable

SHOWN = 10  # trials
PASSES, EPOCHS = 90, 18  # of the last round
LINE_SECONDS = 10.0  # between two lines about the progress


def tune_files(
    train: str,
    dev: str,
    output: str,
    model: str,
    files: LabelledFiles,
    *,
    trials: int = 40,
    space: str | None = None,
    passes: int | None = None,
    folder: str | None = None,
    seed: int = 0,
    workers: int | None = None,
    ray: str | None = None,
) -> list[str]:
    """Search settings, save the best model, and return the table of the best trials.

    Arguments:
        train, dev: files of labelled sentences.
        output: the model to write.
        model: the name of the kind.
        space: a TOML file; the usual space of the kind when left out.
        folder: of the trials.
        ray: the address of a cluster, "" to start Ray here, None to work without it.
    """
    for name, value in (("--trials", trials), ("--passes", passes), ("--workers", workers)):
        if value is not None and value < 1:
            raise InputError("{}: expected 1 or more, got {}", name, value)
    kind = kind_named(model)
    wanted = usual_space(kind) if space is None else read_space(space, kind)
    check_writable(output, "--output")
    home = folder or f"{output}.tune"
    study = Study(os.path.abspath(home), kind.name, os.path.abspath(train), os.path.abspath(dev), files)
    last = passes or (EPOCHS if "epochs" in kind.options else PASSES)
    drawn = draws(wanted, trials, seed)
    say(
        message("trying {} settings of {}: {}", len(drawn), kind.name, ", ".join(wanted)),
        err=True,
    )
    study.begin()
    with _watching(study):
        found = search(
            study,
            drawn,
            last,
            workers=workers,
            ray=ray is not None,
            address=ray,
            notice=lambda line: say(line, err=True),
        )
    write_table(found, os.path.join(home, "trials.tsv"))
    try:
        draw(found, os.path.join(home, "settings.svg"))
    except MissingPlotExtraError as error:
        say(message("no picture: {}", error), err=True)
    with open(study.model_path(found.best.settings, found.best.passes), "rb") as stream, open_target(output) as target:
        target.write(stream.read())
    if failed := [record for record in found.records if record.error]:
        tried = ", ".join(f"{name}={value}" for name, value in failed[0].settings.items())
        say(
            message("trials that failed: {}; the first, {}: {}", len(failed), tried, failed[0].error),
            err=True,
        )
    explained = shares(found)
    if explained and len(drawn) >= ENOUGH:
        parts = ", ".join(f"{name} {100 * share:.0f} %" for name, share in explained.items())
        say(message("what the scores depend on: {}", parts), err=True)
    say(message("wrote {}; all trials are in {}", output, home), err=True)
    return table(found, SHOWN)


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
                say(
                    message("{} trainings are done, the best score is {:.2f}", before, 100 * max(scores)),
                    err=True,
                )

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
