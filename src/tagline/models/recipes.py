"""How a kind of model is trained from files: what `tagline train` asks of a kind besides its estimator.

A recipe is made of the settings of the estimator and the options of the run. It says when training ends at the latest,
refuses what cannot be meant before anything is read, reads, and fits. `Recipe` suits models that learn from words alone
and have no passes to watch; others override what they do differently.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tagline.errors import InputError
from tagline.models.contract import Model, Progress
from tagline.models.registry import Kind
from tagline.readers.corpus import Corpus
from tagline.readers.labelled import LabelledFiles, check_labels


@dataclass(frozen=True)
class Budget:
    """When training stops at the latest, and by tolerance.

    Attributes:
        passes: the largest number there can be; None for no limit.
        seconds: None for no limit.
        period, delta: training has converged where the objective changes by less than `delta` in `period` passes; a
            period of 0 where that is no way to stop.
    """

    passes: int | None = None
    seconds: float | None = None
    period: int = 0
    delta: float = 0.0


class Reporter(Protocol):
    """Who is told how training goes."""

    def say(self, text: str) -> None:
        """Hear a line for people."""

    def stage(self, text: str) -> None:
        """Hear what is being done now."""

    def passed(self, done: Progress, weights: Any = None) -> None:
        """Hear that a pass is done: a callback of `CRF`, and of networks."""

    def stepped(self, done: int, total: int, loss: float) -> None:
        """Hear that so many batches of an epoch are done, with this mean loss."""


@dataclass(frozen=True, eq=False)
class Material:
    """Sentences to learn from.

    Attributes:
        data: what the estimator's `fit` takes: a `Corpus` with tags, or something of that kind.
        problems: what was wrong with sentences that were skipped.
    """

    data: Any
    problems: tuple[str, ...] = ()

    @property
    def sentences(self) -> int:
        """B."""
        return len(self.data)

    @property
    def tokens(self) -> int:
        """N."""
        return int(self.data.num_tokens)


class Recipe:
    """How a model that counts words and labels is trained from files.

    Arguments:
        kind: of model.
        settings: of the estimator, by name.
        run: values of the options that are no settings.
    """

    noun, plural = "pass", "passes"  # what one go over the sentences is called

    def __init__(self, kind: Kind, settings: Mapping[str, Any], run: Mapping[str, Any]) -> None:
        self.kind, self.settings, self.run = kind, dict(settings), dict(run)

    @property
    def budget(self) -> Budget:
        """When training stops at the latest."""
        return Budget()

    @property
    def template(self) -> str | None:
        """The name of the template that features come from; None where there is none."""
        return None

    def reads(self) -> dict[str, Any]:
        """Return further files that are read, by their options."""
        return {}

    def writes(self) -> dict[str, Any]:
        """Return further files that are written, by their options."""
        return {}

    def check(self, tell: Reporter) -> None:
        """Refuse what cannot be meant, before anything is read."""
        self.model = self.kind.estimator(**self.settings)

    def read(self, files: LabelledFiles, path: str, dev: Corpus | None, tell: Reporter) -> Material:
        """Read the sentences to learn from, and say what there is."""
        corpus = files.read(path)
        check_labels(corpus)
        introduce(corpus, corpus.problems, tell)
        if len(corpus.names) > 2:
            tell.say(f"looking at the column {corpus.names[0]} alone; --model crf looks at the others, too")
        return Material(corpus, corpus.problems)

    def fit(self, material: Material, dev: Corpus | None, tell: Reporter) -> Model:
        """Train."""
        tell.stage("counting")
        model: Model = self.model.fit(material.data)
        return model


def introduce(data: Any, problems: tuple[str, ...], tell: Reporter) -> None:
    """Say how much there is to learn from."""
    tell.say(f"learning from {len(data):,} sentences, {data.num_tokens:,} tokens")
    if problems:
        tell.say(f"skipped {len(problems)} broken sentences; the first: {problems[0]}")


def check_progress(model: Any, noun: str, *, resumable: bool = False) -> None:
    """Refuse a model whose training was stopped before the first pass was done: it has learned nothing."""
    if model.training_log_:
        return
    if model.stop_reason_ == "interrupted":
        raise KeyboardInterrupt
    if model.stop_reason_ == "time budget" and not resumable:
        raise InputError(f"--max-seconds: expected time for one {noun} at least, got {model.max_seconds}")
