"""How a kind of model is trained from files: what `tagline train` asks of a kind besides its estimator.

A recipe is made of the settings of the estimator and the options of the run. It says when training ends at the latest,
refuses what cannot be meant before anything is read, reads, and fits. `Recipe` suits models that learn from words alone
and have no passes to watch; others override what they do differently.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from tagline.errors import InputError
from tagline.features.documents import MARKER, named_documents, stated_documents
from tagline.models.contract import Model
from tagline.models.options import FILLED, READ, WRITTEN
from tagline.models.registry import Kind, kinds
from tagline.models.remote import RemoteCorpus
from tagline.readers.corpus import TAG, Corpus
from tagline.readers.corpus_summary import FEW, counted, label_counts, seldom_labels
from tagline.readers.training_files import LabelledFiles, check_labels
from tagline.training.running.progress import Budget, Reporter
from tagline.writing import check_writable

__all__ = ["Budget", "Material", "Recipe", "Reporter", "check_progress", "introduce"]


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

    remote = True  # whether it learns from sentences that other processes hold
    noun, plural = "pass", "passes"  # what one go over the sentences is called
    dev_inputs: Mapping[str, Any] = MappingProxyType({})  # what a model is told of the dev set beside its sentences
    chosen_settings: Mapping[str, Any] = MappingProxyType({})  # settings at "auto" that were chosen for the corpus

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
        return self._files(READ)

    def writes(self) -> dict[str, Any]:
        """Return further files that are written, by their options: what a run leaves on the way."""
        return self._files(WRITTEN, FILLED)

    def _files(self, *roles: str) -> dict[str, Any]:
        values = {**self.settings, **self.run}
        return {option.flag: values.get(option.name) for option in self.kind.options if option.file in roles}

    def beyond_compiled(self) -> list[str]:
        """Return what is asked for that compiled sentences do not hold, by the names of options."""
        return []

    def check(self, tell: Reporter) -> None:
        """Refuse what cannot be meant, before anything is read."""
        self.check_files()
        self.model = self.kind.estimator(**self.settings)

    def check_files(self) -> None:
        """Refuse files of a run that cannot be meant."""
        for option in ("resume", "save_every"):
            if self.run.get(option) not in (None, False) and self.run.get("checkpoint") is None:
                wanted = "to go on from" if option == "resume" else "to save to"
                raise InputError(f"--{option.replace('_', '-')}: expected --checkpoint FILE {wanted}, got none")
        for name in ("checkpoint", "log"):
            if (path := self.run.get(name)) is not None:
                check_writable(path, f"--{name}")

    def files(self, tell: Reporter) -> dict[str, Any]:
        """Return the arguments of `fit` that name files of the run; say where a run goes on."""
        checkpoint = self.run.get("checkpoint")
        if self.run.get("resume"):
            there = os.path.exists(checkpoint or "")
            tell.say(f"going on from {checkpoint}" if there else f"{checkpoint} is not there yet: beginning anew")
        names = ("checkpoint", "resume", "save_every", "log", "tensorboard")
        return {name: self.run[name] for name in names if self.run.get(name) not in (None, False)}

    def documents(self, data: Any, dev: Corpus | None) -> dict[str, Any]:
        """Return the arguments of `fit` that say where documents are; `dev_inputs` keeps that of the dev set."""
        stated, of_dev = self.run.get("documents"), self.run.get("dev_documents")
        if of_dev is not None and dev is None:
            raise InputError("--dev-documents: expected --dev FILE beside it, got none")
        found: dict[str, Any] = {} if stated is None else {"documents": named_documents(stated, data)}
        if dev is None:
            return found
        if of_dev is not None:
            self.dev_inputs = {"documents": named_documents(of_dev, dev, "--dev-documents")}
        elif isinstance(found.get("documents"), str):
            self.dev_inputs = found
        elif found and stated_documents(dev) is None:
            raise InputError(
                f"--dev-documents: expected a file with the number of sentences of each document of {dev.source}, as "
                f"--documents names one of the training file, got none, and no sentence begins with {MARKER}"
            )
        return {**found, **{f"{name}_dev": value for name, value in self.dev_inputs.items()}}

    def read(self, files: LabelledFiles, path: str, dev: Corpus | None, tell: Reporter) -> Material:
        """Read the sentences to learn from, and say what there is."""
        corpus = files.read(path)
        check_labels(corpus)
        introduce(corpus, corpus.problems, tell)
        if len(corpus.names) > 2:
            tell.say(f"looking at the column {corpus.names[0]} alone; --model crf looks at the others, too")
        return Material(corpus, corpus.problems)

    def read_remote(self, data: RemoteCorpus, dev: Corpus | None, tell: Reporter) -> Material:
        """Take sentences that other processes hold."""
        if not self.remote:
            able = [name for name, kind in kinds().items() if kind.recipe_class.remote]
            raise InputError(f"--ray: expected --model {' or '.join(able)}, got {self.kind.name}; leave --ray out")
        return Material(data)

    def fit(self, material: Material, dev: Corpus | None, tell: Reporter) -> Model:
        """Train."""
        tell.stage("counting")
        model: Model = self.model.fit(material.data, **self.files(tell))
        return model


def introduce(data: Any, problems: tuple[str, ...], tell: Reporter) -> None:
    """Say how much there is to learn from."""
    tell.say(f"learning from {len(data):,} sentences, {data.num_tokens:,} tokens")
    if problems:
        tell.say(f"skipped {len(problems)} broken sentences; the first: {problems[0]}")
    if isinstance(data, Corpus) and TAG in data.columns and (seldom := seldom_labels(label_counts(data))):
        tell.say(f"labels seen fewer than {FEW} times, which are hardly learned: {counted(seldom)}")


def check_progress(model: Any, noun: str, *, resumable: bool = False) -> None:
    """Refuse a model whose training was stopped before the first pass was done: it has learned nothing."""
    if model.training_log_:
        return
    if model.stop_reason_ == "interrupted":
        raise KeyboardInterrupt
    if model.stop_reason_ == "time budget" and not resumable:
        raise InputError(f"--max-seconds: expected time for one {noun} at least, got {model.max_seconds}")
