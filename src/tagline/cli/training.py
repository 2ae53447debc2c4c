"""What `tagline train` does: read what was said, read sentences, train, score the dev set, save."""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from tagline.cli.configuration import config_text, read_config, save_config
from tagline.cli.outcome import Training
from tagline.cli.progress import Silent
from tagline.errors import DataWarning, InputError, StorageError
from tagline.evaluation.report import Report, evaluate
from tagline.messages import message
from tagline.models.contract import Model
from tagline.models.dev_score import score_facts
from tagline.models.files import TrainingFacts
from tagline.models.recipes import Recipe, Reporter
from tagline.models.registry import Kind, kind_named, kinds
from tagline.readers.corpus import Corpus
from tagline.readers.detection import detect
from tagline.readers.training_files import LabelledFiles
from tagline.settings import FILLED, READ, WRITTEN, check_settings, declarations
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
    remote: Mapping[str, Any] | None = None,
    tell: Reporter | None = None,
) -> Training:
    """Train a model on a file and save it.

    Arguments:
        train, output, dev: the file to learn from, the model to write, a file to score after each pass.
        model: the name of the kind; left out, that of a configuration file, or "crf".
        options: that were said, by their settings, as text or as what it stands for.
        reading: how files are read.
        notes, date: of the model file.
        remote: how the sentences are spread over other processes, as `tagline.scale.corpus` takes it.
        tell: who hears how it goes.

    Ctrl-C during training ends it, and what was learned is saved. Before the first pass is done there is nothing to
    save: then it is a `KeyboardInterrupt`.
    """
    tell, reading, begun = tell or Silent(), reading or LabelledFiles(), time.perf_counter()
    kind, settings, files = told(model, options)
    if dev is None and options.get("patience"):
        raise InputError("--patience: expected --dev FILE, whose score it waits for, got none")
    check_writable(output, "--output")
    recipe = kind.recipe_class(kind, settings, files, tell)
    read, written = {"TRAIN": train, "--dev": dev, **_paths(recipe, READ)}, _paths(recipe, WRITTEN, FILLED)
    check_apart(read, {"--output": output, **written})
    recipe.check()
    if "config" in kind.options:
        config_text(kind, recipe.model, train, output, dev)  # what no file can hold is refused before an hour's work
    tell.budget = recipe.budget
    held = None if dev is None else reading.read(dev)
    tell.stage(message("reading {}", train))
    if remote is None:
        data = recipe.read(reading, train, held)
    else:
        data = recipe.read_remote(_remote(train, reading, remote, tell), held)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "y: (repaired|dropped) ", DataWarning)  # the report says it
        fitted = recipe.fit(data, held)
    if hasattr(fitted, "callbacks"):
        fitted.callbacks = ()  # who heard of passes is no part of the model
    report, config = None, None
    if speaks():
        try:
            tell.stage(message("scoring"))
            if held is not None:
                report = score(fitted, held, recipe.dev_inputs)
                note_scores(fitted, report)
        except KeyboardInterrupt:
            tell.say(message("interrupted while the dev set was scored; the model is saved without its scores"))
        finally:  # whatever scoring met, what was learned is not lost
            tell.stage(message("saving {}", output))
            save(fitted, output, notes, date)
        if "config" in kind.options:
            config = save_config(config_text(kind, fitted, train, output, dev), output)
    seconds = time.perf_counter() - begun
    return Training(output, fitted, data, recipe, seconds, report, config)


def told(model: str | None, options: Mapping[str, Any]) -> tuple[Kind, dict[str, Any], Any]:
    """Return the kind of model, the settings of its estimator, and what else is read and written for it.

    A configuration file has the settings that no option says, and the kind where no option says it.
    """
    config: dict[str, Any] = {}
    path = options.get("config")
    if path is not None and (model is None or (model in kinds() and "config" in kind_named(model).options)):
        model, config = read_config(path, model)
    kind = kind_named(model or "crf")
    known = kind.options
    for name in options:
        if name not in known:
            _refuse(name, kind)
    values = {name: known[name].read(value) for name, value in options.items()}
    apart = declarations(kind.files_class)
    files = kind.files_class(**{name: value for name, value in values.items() if name in apart})
    check_settings(files, flags=True)
    settings = {name: value for name, value in values.items() if name not in apart}
    return kind, {**config, **settings}, files


def _paths(recipe: Recipe, *roles: str) -> dict[str, Any]:
    """Return the files that settings name, by their options."""
    return {
        entry.flag: getattr(recipe.files, name, None) or getattr(recipe.model, name, None)
        for name, entry in recipe.kind.options.items()
        if entry.setting.file in roles
    }


def _refuse(name: str, kind: Kind) -> None:
    """Refuse an option of another kind."""
    takes = ", ".join(entry.flag for entry in kind.options.values()) or message("none of its own")
    for other in kinds().values():
        if name in other.options:
            flag = other.options[name].flag
            raise InputError(
                "{}: expected an option of --model {} ({}), got one of --model {}", flag, kind.name, takes, other.name
            )
    raise InputError("{}: expected an option of --model {} ({}), got another", name, kind.name, takes)


def _remote(train: str, reading: LabelledFiles, how: Mapping[str, Any], tell: Reporter) -> Any:
    """The sentences, for workers."""
    from tagline.scale.corpora import corpus

    data = corpus(train, files=reading, **how).named("--ray")
    data.tell, data.say = tell.stage, tell.say
    return data


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


def score(model: Model, dev: Corpus, inputs: Mapping[str, Any] = MappingProxyType({})) -> Report:
    """Score a model on labelled sentences: spans where the labels mark any, else tokens."""
    rule = None if detect(dev).scheme is None else "auto"
    return evaluate(dev, model.predict(dev, **inputs), rule)


def speaks() -> bool:
    """Say whether this process prints and writes files: of several that torchrun starts, only the first does."""
    return os.environ.get("WORLD_SIZE", "1") == "1" or os.environ.get("RANK", "0") == "0"
