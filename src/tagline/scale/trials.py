"""One trial of a search: settings and a number of passes in, a score on the dev set out, kept as a small file.

    space ──▶ settings ──▶ trial: train on what was compiled once, score ──▶ record ──▶ table, picture, best model

A trial whose record is there is not run again, so a search that was killed goes on where it was; one that was killed
in its middle goes on from its checkpoint. All trials map the same compiled features.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import tagline
from tagline.errors import InputError, TaglineError
from tagline.models.contract import Model
from tagline.models.recipes import Recipe, recipe_for
from tagline.models.registry import kind_named
from tagline.readers import format_of
from tagline.readers.corpus import Corpus
from tagline.readers.sources import open_target
from tagline.readers.training_files import LabelledFiles
from tagline.training.running.progress import Silent

STUDY, TRIALS, MODELS, STATES, COMPILED = "study.json", "trials", "models", "states", "compiled"
SAVE_SECONDS = 20.0  # between two checkpoints of a trial
MODEL = ".tagline"


@dataclass(frozen=True)
class Record:
    """What a trial found.

    Attributes:
        settings: that were tried.
        passes: that it was trained for.
        score: on the dev set, F1 of spans or the accuracy of tokens, from 0 to 1; NaN where training failed.
        seconds: that it took.
        error: why it failed.
    """

    settings: Mapping[str, Any]
    passes: int
    score: float
    seconds: float
    error: str = ""


@dataclass(frozen=True)
class Study:
    """What all trials of a search share.

    Attributes:
        folder: of records, compiled features, checkpoints and models; all workers see it.
        kind: of model, by name.
        train, dev: files of labelled sentences.
        files: how these are read.
        threads: of each trial; None for all of the machine.
    """

    folder: str
    kind: str
    train: str
    dev: str
    files: LabelledFiles
    threads: int | None = 1

    def begin(self) -> None:
        """Make the folder; one of another search is refused."""
        facts: dict[str, Any] = {"tagline": tagline.__version__, "kind": self.kind, "files": asdict(self.files)}
        for name, path in (("train", self.train), ("dev", self.dev)):
            try:
                status = os.stat(path)
            except OSError as error:
                raise InputError(
                    "{}: expected a readable file, got: {}; check the path", path, error.strerror
                ) from None
            facts[name] = [os.path.abspath(path), status.st_size, status.st_mtime_ns]
        for part in (TRIALS, MODELS, STATES, COMPILED):
            os.makedirs(os.path.join(self.folder, part), exist_ok=True)
        path = os.path.join(self.folder, STUDY)
        before = _read_json(path)
        if before is not None and before != facts:
            what = next(name for name in facts if before.get(name) != facts[name])
            raise InputError(
                "{}: expected the trials of this search, got those of one with another {}; choose "
                "another --folder, or remove it to begin anew",
                self.folder,
                what,
            )
        with open_target(path) as stream:
            stream.write(json.dumps(facts).encode())

    def path(self, part: str, settings: Mapping[str, Any], passes: int, ending: str = "") -> str:
        """Return the file of a trial."""
        contents = {name: _contents(value) for name, value in settings.items() if isinstance(value, str)}
        text = json.dumps([dict(settings), passes, contents], sort_keys=True)
        return os.path.join(self.folder, part, hashlib.sha256(text.encode()).hexdigest()[:16] + ending)

    def record(self, settings: Mapping[str, Any], passes: int) -> Record | None:
        """Return what a trial found before."""
        values = _read_json(self.path(TRIALS, settings, passes, ".json"))
        return None if values is None else Record(**{**values, "score": float(values["score"])})

    def records(self) -> list[Record]:
        """Return what all trials found so far, in no order."""
        folder = os.path.join(self.folder, TRIALS)
        names = [name for name in os.listdir(folder) if name.endswith(".json") and not name.startswith(".")]
        values = [_read_json(os.path.join(folder, name)) for name in names]
        return [Record(**{**value, "score": float(value["score"])}) for value in values if value is not None]

    def model_path(self, settings: Mapping[str, Any], passes: int) -> str:
        """Return where a trial leaves its model."""
        return self.path(MODELS, settings, passes, MODEL)


def _contents(path: str) -> str:
    """Return a checksum of a file that a setting names, such as a template; empty where there is none."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _read_json(path: str) -> Any:
    try:
        with open(path, encoding="utf-8") as stream:
            return json.load(stream)
    except FileNotFoundError:
        return None
    except ValueError:
        raise InputError("{}: expected a file of a search, got something else; remove it", path) from None


def run_trial(study: Study, settings: Mapping[str, Any], passes: int, keep: bool = False) -> Record:
    """Train and score, or return what was found before.

    Arguments:
        passes: to train for at most.
        keep: leave the model in the folder.
    """
    record = study.record(settings, passes)
    if record is not None and (not keep or record.error or os.path.exists(study.model_path(settings, passes))):
        return record
    if study.threads is not None:
        from tagline import compiled

        compiled.set_threads(study.threads, "--workers")
    begun = time.perf_counter()
    try:
        model, score = _trained(study, settings, passes)
        error = ""
        if keep:
            model.save(study.model_path(settings, passes))
    except TaglineError as problem:
        score, error = math.nan, str(problem)
    record = Record(dict(settings), passes, score, time.perf_counter() - begun, error)
    with open_target(study.path(TRIALS, settings, passes, ".json")) as stream:
        stream.write(json.dumps({**asdict(record), "score": str(score)}).encode())
    return record


def is_compiled(study: Study, settings: Mapping[str, Any]) -> bool:
    """Say whether a trial with these settings learns from compiled features."""
    try:
        return _cache(_recipe(study, settings, 1)) is not None
    except TaglineError:  # the trial says so
        return False


def prepare(study: Study, settings: Mapping[str, Any]) -> None:
    """Compile the features that trials with these settings share; what is there stays."""
    if is_compiled(study, settings):
        _read(study, _recipe(study, settings, 1), settings, None)


def _trained(study: Study, settings: Mapping[str, Any], passes: int) -> tuple[Model, float]:
    """Train; return the model and its score."""
    recipe = _recipe(study, settings, passes)
    dev = study.files.read(study.dev)
    model = recipe.fit(_read(study, recipe, settings, dev), dev)
    if getattr(model, "stop_reason_", None) == "interrupted":  # what was learned so far is no answer
        raise KeyboardInterrupt
    if _cache(recipe) is not None and "min_frequency" in settings:
        model.min_frequency = settings["min_frequency"]  # type: ignore[attr-defined]
        model._keep_trained()  # type: ignore[attr-defined]  # the corpus was thinned by it
    report = recipe.score(dev)
    return model, float(report.tokens.accuracy if report.spans is None else report.spans.f1)


def _recipe(study: Study, settings: Mapping[str, Any], passes: int) -> Recipe:
    """The recipe of `tagline train` with these settings."""
    kind, checkpoint = kind_named(study.kind), study.path(STATES, settings, passes)
    fixed = {
        **dict.fromkeys(("epochs", "max_iterations"), passes),
        "patience": None,
        **{"checkpoint": checkpoint, "resume": True, "save_every": SAVE_SECONDS},
    }
    options = {**settings, **{name: value for name, value in fixed.items() if name in kind.options}}
    recipe = recipe_for(kind, options, Silent())
    if "cache" in kind.options and _is_compiled(study, recipe):
        options.pop("min_frequency", None)  # the compiled corpus has been thinned
        recipe = recipe_for(kind, {**options, "cache": os.path.join(study.folder, COMPILED)}, Silent())
    recipe.check()
    return recipe


def _cache(recipe: Recipe) -> str | None:
    return getattr(recipe.files, "cache", None)


def _is_compiled(study: Study, recipe: Any) -> bool:
    """Say whether a trial learns from compiled features; other files and more knowledge are read by each trial."""
    columns = format_of(study.train, study.files.form) == "columns"
    return columns and not recipe.beyond_compiled() and getattr(recipe.files, "teacher", None) is None


def _read(study: Study, recipe: Recipe, settings: Mapping[str, Any], dev: Corpus | None) -> Any:
    data = recipe.read(study.files, study.train, dev)
    least = settings.get("min_frequency", 1)
    if _cache(recipe) is None or least <= 1:
        return data
    from tagline.models.crf.compilation import CompiledCorpus
    from tagline.models.crf.thinning import thinned

    path = f"{data.path}.{least}"
    return CompiledCorpus.open(path) if os.path.exists(path) else thinned(data, path, least)
