"""What `tagline train` does: read what was said, read sentences, train, score the dev set, save."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from tagline.cli.configuration import config_text, read_config, save_config
from tagline.cli.outcome import Training
from tagline.errors import InputError, StorageError
from tagline.evaluation.report import Report
from tagline.messages import message
from tagline.models.dev_score import score_facts
from tagline.models.files import TrainingFacts
from tagline.models.recipes import Recipe, Reporter, recipe_for, without_what_is_reported
from tagline.models.registry import Kind, kind_named, kinds
from tagline.readers.training_files import LabelledFiles
from tagline.settings import FILLED, READ, WRITTEN
from tagline.training.running.progress import Silent
from tagline.writing import check_apart, check_writable


def train_file(
    train: str,
    output: str,
    model: str | None = None,
    options: Mapping[str, Any] = MappingProxyType({}),
    *,
    dev: str | None = None,
    reading: LabelledFiles | None = None,
    notes: Mapping[str, str] = MappingProxyType({}),
    date: bool = True,
    ray: Mapping[str, Any] | None = None,
    tell: Reporter | None = None,
) -> Training:
    """Train a model on a file and save it.

    Arguments:
        train, output, dev: the file to learn from, the model to write, a file to score after each pass.
        model: the name of the kind; left out, that of a configuration file, or "crf".
        options: that were said, by their settings, as text or as what it stands for.
        reading: how files are read.
        notes, date: of the model file.
        ray: how the sentences are spread over other processes; None for none, else as `tagline.scale.corpus` takes it.
        tell: who hears how it goes.

    Ctrl-C during training ends it, and what was learned is saved. Before the first pass is done there is nothing to
    save: then it is a `KeyboardInterrupt`.
    """
    tell, reading, begun = tell or Silent(), reading or LabelledFiles(), time.perf_counter()
    kind, config = _configured(model, options)
    if dev is None and options.get("patience"):
        raise InputError("--patience: expected --dev FILE, whose score it waits for, got none")
    check_writable(output, "--output")
    recipe = recipe_for(kind, options, tell, config)
    read, written = {"TRAIN": train, "--dev": dev, **_paths(recipe, READ)}, _paths(recipe, WRITTEN, FILLED)
    check_apart(read, {"--output": output, **written})
    recipe.check()
    fitted, described = recipe.model, "config" in kind.options
    if described:
        config_text(kind, fitted, train, output, dev)  # what no file can hold is refused before an hour's work
    held = None if dev is None else reading.read(dev)
    tell.stage(message("reading {}", train))
    with without_what_is_reported():
        if ray is None:
            data = recipe.read(reading, train, held)
            recipe.fit(data, held)
        else:
            from tagline.scale.fitting import fit_files

            data = fit_files(recipe, train, reading, held, **ray)
    report, path = None, None
    if speaks():
        try:
            tell.stage(message("scoring"))
            if held is not None:
                report = recipe.score(held)
                note_scores(fitted, report)
        except KeyboardInterrupt:
            tell.say(message("interrupted while the dev set was scored; the model is saved without its scores"))
        finally:  # whatever scoring met, what was learned is not lost
            tell.stage(message("saving {}", output))
            save(fitted, output, notes, date)
        if described:
            path = save_config(config_text(kind, fitted, train, output, dev), output)
    return Training(output, fitted, data, recipe, time.perf_counter() - begun, report, path)


def _configured(model: str | None, options: Mapping[str, Any]) -> tuple[Kind, dict[str, Any]]:
    """Return the kind of model, and the settings of a configuration file, which may name the kind, too."""
    config: dict[str, Any] = {}
    path = options.get("config")
    if path is not None and (model is None or (model in kinds() and "config" in kind_named(model).options)):
        model, config = read_config(path, model)
    return kind_named(model or "crf"), config


def _paths(recipe: Recipe, *roles: str) -> dict[str, Any]:
    """Return the files that settings name, by their options."""
    return {
        entry.flag: getattr(recipe.files, name, None) or getattr(recipe.model, name, None)
        for name, entry in recipe.kind.options.items()
        if entry.setting.file in roles
    }


def note_scores(model: Any, report: Report) -> None:
    """Put the scores on the dev set among the facts of the model."""
    facts = getattr(model, "training_", None)
    if isinstance(facts, TrainingFacts):
        model.training_ = replace(facts, dev={**facts.dev, **score_facts(report)})


def save(model: Any, output: str, notes: Mapping[str, str], date: bool) -> None:
    """Write a model; where that fails after all, among the temporary files, and say so."""
    how: dict[str, Any] = {"notes": notes} if notes else {}
    if not date:
        how["date"] = False
    try:
        model.save(output, **how)
    except StorageError as error:
        number, spare = tempfile.mkstemp(suffix=".tagline")
        os.close(number)
        try:
            model.save(spare, **how)
        except StorageError:  # the temporary files are full, too
            os.unlink(spare)
            raise error from None
        raise StorageError("{}; what was learned is not lost: it lies in {}", error, spare) from None


def speaks() -> bool:
    """Say whether this process prints and writes files: of several that torchrun starts, only the first does."""
    return os.environ.get("WORLD_SIZE", "1") == "1" or os.environ.get("RANK", "0") == "0"
