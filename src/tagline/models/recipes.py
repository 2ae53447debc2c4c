"""What kinds of models do differently when `tagline train` trains them from files.

A recipe has the settings of the estimator and the files of the run. It refuses what cannot be meant before anything is
read, reads, and fits. `Recipe` suits models that learn from words alone and have no passes to watch; others override
what they do differently.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from tagline.errors import InputError, NotedWarning
from tagline.evaluation.report import Report, evaluate
from tagline.features.documents import MARKER, named_documents, stated_documents
from tagline.messages import message
from tagline.models.contract import Model
from tagline.models.registry import Kind, kinds
from tagline.models.settings import RunFiles
from tagline.readers.corpus import TAG, Corpus
from tagline.readers.corpus_summary import FEW, counted, label_counts, seldom_labels
from tagline.readers.detection import detect
from tagline.readers.training_files import LabelledFiles, check_labels
from tagline.settings import check_settings, declarations
from tagline.training.running.progress import Reporter
from tagline.writing import check_writable

__all__ = ["Recipe", "Reporter", "recipe_for", "without_what_is_reported"]


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
        columns: of tables, those to learn from.
    """

    noun, plural = message("pass"), message("passes")  # what one go over the sentences is called
    problems: tuple[str, ...] = ()
    dev_inputs: Mapping[str, Any] = MappingProxyType({})
    columns: tuple[str, ...] = ()

    def __init__(self, kind: Kind, settings: Mapping[str, Any], files: Any, tell: Reporter) -> None:
        self.kind, self.files, self.tell = kind, files, tell
        self.said = {*settings, *(name for name in declarations(type(files)) if getattr(files, name) is not None)}
        self.model: Any = kind.estimator(**settings)

    @property
    def template(self) -> str | None:
        """The name of the template that features come from; None where there is none."""
        return None

    @property
    def cache(self) -> str | None:
        """A folder for compiled sentences; None where they are not compiled."""
        return getattr(self.files, "cache", None)

    def check(self) -> None:
        """Refuse what cannot be meant, before anything is read."""
        check_settings(self.files, flags=True)
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
        return {"progress": self.tell, **{name: value for name, value in given.items() if value not in (None, False)}}

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

    def choose(self, sample: Callable[[], Any], dev: Corpus | None) -> None:
        """Choose what is left to the data by a sample of them, which is read when it is asked for."""

    def lesson(self, data: Any, dev: Corpus | None) -> tuple[Any, dict[str, Any]]:
        """Return what `fit` learns from, and its other arguments."""
        self.tell.stage(message("counting"))
        return data, self.run_files()

    def fit(self, data: Any, dev: Corpus | None) -> Model:
        """Train."""
        X, arguments = self.lesson(data, dev)
        learned: Model = self.model.fit(X, **arguments)
        self.check_learned()
        return learned

    def check_learned(self) -> None:
        """Refuse a model whose training was stopped before the first pass was done: it has learned nothing."""
        model = self.model
        if model.training_log_ or model.training_.reason == "counted":
            return
        if model.stop_reason_ == "interrupted":
            raise KeyboardInterrupt
        if model.stop_reason_ == "time budget" and getattr(self.files, "checkpoint", None) is None:
            raise InputError("--max-seconds: expected time for one {} at least, got {}", self.noun, model.max_seconds)

    def score(self, dev: Corpus) -> Report:
        """Score the model on labelled sentences: spans where the labels mark any, else tokens."""
        rule = None if detect(dev).scheme is None else "auto"
        return evaluate(dev, self.model.predict(dev, **self.dev_inputs), rule)

    def introduce(self, data: Any) -> None:
        """Say how much there is to learn from."""
        self.tell.say(message("learning from {:,} sentences, {:,} tokens", len(data), data.num_tokens))
        if self.problems:
            self.tell.say(message("skipped {} broken sentences; the first: {}", len(self.problems), self.problems[0]))
        if isinstance(data, Corpus) and TAG in data.columns and (seldom := seldom_labels(label_counts(data))):
            self.tell.say(
                message("labels seen fewer than {} times, which are hardly learned: {}", FEW, counted(seldom))
            )


@contextmanager
def without_what_is_reported() -> Iterator[None]:
    """Leave out the warnings that the report of a training says in its own words."""
    from sklearn.exceptions import ConvergenceWarning  # type: ignore[import-untyped]

    with warnings.catch_warnings():
        for category in (NotedWarning, ConvergenceWarning):
            warnings.simplefilter("ignore", category)
        yield


def recipe_for(
    kind: Kind, options: Mapping[str, Any], tell: Reporter, usual: Mapping[str, Any] = MappingProxyType({})
) -> Recipe:
    """Return how a model is trained, of what was said.

    Arguments:
        kind: of model.
        options: settings of the estimator and files of the run, as text or as what it stands for.
        tell: who hears how it goes.
        usual: settings of the estimator that no option says, as a configuration file has them.
    """
    known = kind.options
    for name in options:
        if name not in known:
            _refuse(name, kind)
    values = {name: known[name].read(value) for name, value in options.items()}
    files = {name: values.pop(name) for name in declarations(kind.files_class) if name in values}
    recipe: Recipe = kind.recipe_class(kind, {**usual, **values}, kind.files_class(**files), tell)
    return recipe


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
