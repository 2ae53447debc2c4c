"""What kinds of models do differently when `tagline train` trains them from files.

A recipe has the settings of the estimator and the files of the run. It refuses what cannot be meant before anything is
read, reads, and fits. `Recipe` suits models that learn from words alone and have no passes to watch; others override
what they do differently.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tagline.errors import InputError
from tagline.features.documents import MARKER, named_documents, stated_documents
from tagline.messages import message
from tagline.models.contract import Model
from tagline.models.registry import Kind, kinds
from tagline.models.settings import RunFiles
from tagline.readers.corpus import TAG, Corpus
from tagline.readers.corpus_summary import FEW, counted, label_counts, seldom_labels
from tagline.readers.training_files import LabelledFiles, check_labels
from tagline.settings import declarations, resolved
from tagline.training.running.progress import Budget, Reporter
from tagline.writing import check_writable

__all__ = ["Budget", "Recipe", "Reporter", "check_progress"]


class Recipe:
    """How a model that counts words and labels is trained from files.

    Arguments:
        kind: of model.
        settings: of the estimator, by name.
        files: of the run, as `kind.files` declares them.
        tell: who hears how it goes; of passes as a callback.

    Attributes:
        model: the estimator.
        said: the names of what was said.
        problems: what was wrong with sentences that were skipped.
        dev_inputs: what a model is told of the dev set beside its sentences.
    """

    remote = True  # whether it learns from sentences that other processes hold
    noun, plural = message("pass"), message("passes")  # what one go over the sentences is called
    problems: tuple[str, ...] = ()
    dev_inputs: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, kind: Kind, settings: Mapping[str, Any], files: Any, tell: Reporter) -> None:
        self.kind, self.files, self.tell = kind, files, tell
        self.said = {*settings, *(name for name in declarations(type(files)) if getattr(files, name) is not None)}
        hears = {"callbacks": (tell.passed,)} if "callbacks" in declarations(resolved(kind.settings)) else {}
        self.model: Any = kind.estimator(**settings, **hears)

    @property
    def budget(self) -> Budget:
        """When training stops at the latest."""
        return Budget()

    @property
    def template(self) -> str | None:
        """The name of the template that features come from; None where there is none."""
        return None

    def check(self) -> None:
        """Refuse what cannot be meant, before anything is read."""
        if not isinstance(self.files, RunFiles):
            return
        for option in ("resume", "save_every"):
            if getattr(self.files, option) not in (None, False) and self.files.checkpoint is None:
                wanted = message("to go on from") if option == "resume" else message("to save to")
                raise InputError("--{}: expected --checkpoint FILE {}, got none", option.replace("_", "-"), wanted)
        for name in ("checkpoint", "log"):
            if (path := getattr(self.files, name)) is not None:
                check_writable(path, f"--{name}")

    def run_files(self) -> dict[str, Any]:
        """Return the arguments of `fit` that name files of the run; say where a run goes on."""
        if not isinstance(self.files, RunFiles):
            return {}
        checkpoint = self.files.checkpoint
        if self.files.resume:
            there = os.path.exists(checkpoint or "")
            self.tell.say(
                message("going on from {}", checkpoint)
                if there
                else message("{} is not there yet: beginning anew", checkpoint)
            )
        given = {name: getattr(self.files, name) for name in declarations(RunFiles)}
        return {name: value for name, value in given.items() if value not in (None, False)}

    def documents(self, data: Any, dev: Corpus | None) -> dict[str, Any]:
        """Return the arguments of `fit` that say where documents are; `dev_inputs` keeps that of the dev set."""
        stated, of_dev = getattr(self.files, "documents", None), getattr(self.files, "dev_documents", None)
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
                "--dev-documents: expected a file with the number of sentences of each document of {}, as "
                "--documents names one of the training file, got none, and no sentence begins with {}",
                dev.source,
                MARKER,
            )
        return {**found, **{f"{name}_dev": value for name, value in self.dev_inputs.items()}}

    def read(self, reading: LabelledFiles, path: str, dev: Corpus | None) -> Any:
        """Read the sentences to learn from, and say what there is."""
        corpus = reading.read(path)
        check_labels(corpus)
        self.problems = corpus.problems
        self.introduce(corpus)
        if len(corpus.names) > 2:
            self.tell.say(
                message("looking at the column {} alone; --model crf looks at the others, too", corpus.names[0])
            )
        return corpus

    def read_remote(self, data: Any, dev: Corpus | None) -> Any:
        """Take sentences that other processes hold."""
        if not self.remote:
            able = [name for name, kind in kinds().items() if kind.recipe_class.remote]
            raise InputError(
                "--ray: expected --model {}, got {}; leave --ray out", message(" or ").join(able), self.kind.name
            )
        return data

    def fit(self, data: Any, dev: Corpus | None) -> Model:
        """Train."""
        self.tell.stage(message("counting"))
        learned: Model = fitted(self.model, data, **self.run_files())
        return learned

    def introduce(self, data: Any) -> None:
        """Say how much there is to learn from."""
        self.tell.say(message("learning from {:,} sentences, {:,} tokens", len(data), data.num_tokens))
        if self.problems:
            self.tell.say(message("skipped {} broken sentences; the first: {}", len(self.problems), self.problems[0]))
        if isinstance(data, Corpus) and TAG in data.columns and (seldom := seldom_labels(label_counts(data))):
            self.tell.say(
                message("labels seen fewer than {} times, which are hardly learned: {}", FEW, counted(seldom))
            )


def fitted(model: Any, data: Any, **arguments: Any) -> Any:
    """Train on sentences; those that other processes hold train a model themselves."""
    return data.fit(model, **arguments) if hasattr(data, "fit") else model.fit(data, **arguments)


def check_progress(model: Any, noun: str, *, resumable: bool = False) -> None:
    """Refuse a model whose training was stopped before the first pass was done: it has learned nothing."""
    if model.training_log_:
        return
    if model.stop_reason_ == "interrupted":
        raise KeyboardInterrupt
    if model.stop_reason_ == "time budget" and not resumable:
        raise InputError("--max-seconds: expected time for one {} at least, got {}", noun, model.max_seconds)
