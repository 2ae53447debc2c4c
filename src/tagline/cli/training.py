"""What `tagline train` does: read, train by the recipe of the kind, score the dev set, save.

Options and the place to write to are tried before anything is read, so that an hour's work is not lost to a typing
mistake.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from tagline.cli.configuration import save_config, settled
from tagline.cli.outcome import Training
from tagline.cli.plans import Plan
from tagline.cli.progress import Silent
from tagline.errors import StorageError
from tagline.evaluation.report import Report, evaluate
from tagline.models.contract import Model
from tagline.models.dev_score import score_facts
from tagline.models.files import TrainingFacts
from tagline.models.recipes import Reporter
from tagline.readers.corpus import Corpus
from tagline.readers.detection import detect
from tagline.writing import check_apart, check_writable


def train_file(plan: Plan, tell: Reporter | None = None) -> Training:
    """Train a model on a file and save it.

    Ctrl-C during training ends it, and what was learned is saved. Before the first pass is done there is nothing to
    save: then it is a `KeyboardInterrupt`.
    """
    tell, begun, recipe = tell or Silent(), time.perf_counter(), plan.recipe
    check_writable(plan.output, "--output")
    check_apart(
        {"TRAIN": plan.train, "--dev": plan.dev, **recipe.reads()}, {"--output": plan.output, **recipe.writes()}
    )
    recipe.check(tell)
    dev = None if plan.dev is None else plan.files.read(plan.dev)
    tell.stage(f"reading {plan.train}")
    if plan.spread is None:
        material = recipe.read(plan.files, plan.train, dev, tell)
    else:
        material = recipe.read_remote(_remote(plan, tell), dev, tell)
    model = recipe.fit(material, dev, tell)
    config, report = None, None
    if speaks():
        try:
            tell.stage("scoring")
            report = None if dev is None else score(model, dev, recipe.dev_inputs)
            _note_scores(model, report)
        except KeyboardInterrupt:
            tell.say("interrupted while the dev set was scored; the model is saved without its scores")
        finally:  # whatever scoring met, what was learned is not lost
            tell.stage(f"saving {plan.output}")
            _save(model, plan)
        config = save_config(settled(plan.config, recipe.chosen_settings), plan.output) if plan.config else None
    seconds = time.perf_counter() - begun
    units = recipe.noun, recipe.plural
    return Training(plan.output, model, material, recipe.template, units, seconds, report, config)


def _remote(plan: Plan, tell: Reporter) -> Any:
    """The sentences of the plan, for workers."""
    from tagline.scale.corpora import corpus

    assert plan.spread is not None
    how = plan.spread
    data = corpus(
        plan.train,
        workers=how.workers,
        threads=how.threads or 1,
        address=how.address or None,
        files=plan.files,
        scratch=how.scratch,
    ).named("--ray")
    data.tell, data.say = tell.stage, tell.say
    return data


def _note_scores(model: Any, report: Report | None) -> None:
    """Put the scores on the dev set among the facts of the model."""
    facts = getattr(model, "training_", None)
    if report is None or not isinstance(facts, TrainingFacts):
        return
    model.training_ = replace(facts, dev={**facts.dev, **score_facts(report)})


def _save(model: Any, plan: Plan) -> None:
    """Write a model; where that fails after all, among the temporary files, and say so."""
    how: dict[str, Any] = {"notes": plan.notes} if plan.notes else {}
    if not plan.date:
        how["date"] = False
    try:
        model.save(plan.output, **how)
    except StorageError as error:
        number, spare = tempfile.mkstemp(suffix=".tagline")
        os.close(number)
        try:
            model.save(spare, **how)
        except StorageError:  # the temporary files are full, too
            os.unlink(spare)
            raise error from None
        raise StorageError(f"{error}; what was learned is not lost: it lies in {spare}") from None


def score(model: Model, dev: Corpus, inputs: Mapping[str, Any] = MappingProxyType({})) -> Report:
    """Score a model on labelled sentences: spans where the labels mark any, else tokens."""
    rule = None if detect(dev).scheme is None else "auto"
    return evaluate(dev, model.predict(dev, **inputs), rule)


def speaks() -> bool:
    """Say whether this process prints and writes files: of several that torchrun starts, only the first does."""
    return os.environ.get("WORLD_SIZE", "1") == "1" or os.environ.get("RANK", "0") == "0"
