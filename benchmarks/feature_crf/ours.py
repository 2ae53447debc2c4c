"""Tagline's side: evaluations, iterations, the way to the optimum, file to model, tagging, loading. For children."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from feature_crf.cases import C2, CASES, MEMORY
from feature_crf.children import Clocks, Result, now, since
from feature_crf.extraction import as_dicts, items, read_rows
from tagline.features import Expanded, Template, expand
from tagline.features.weights import Structure, structure_of
from tagline.models.crf.estimator import CRF
from tagline.models.files import load as load_model
from tagline.readers import read_columns
from tagline.training.algorithms import Settings
from tagline.training.algorithms import train as train_weights
from tagline.training.iteration import Convergence, Step
from tagline.training.lbfgs import lbfgs
from tagline.training.likelihood import Likelihood, Targets
from tagline.training.run import Run
from tagline.types import Float64Array


@dataclass(frozen=True, eq=False)
class Problem:
    """A case in memory: features as numbers, and labels."""

    expanded: Expanded
    labels: list[str]
    targets: Targets
    dense: bool

    @property
    def tokens(self) -> int:
        """N."""
        return self.expanded.features.num_tokens

    def structure(self) -> Structure:
        """Find out which weights there are."""
        assert self.expanded.states is not None
        return structure_of(
            self.expanded.features,
            self.targets.labels,
            len(self.labels),
            len(self.expanded.states),
            all_states=self.dense,
            all_transitions=self.dense,
        )

    def likelihood(self, precision: str = "float32") -> Likelihood:
        """Make the objective."""
        return Likelihood(self.structure(), self.expanded.features, self.targets, precision=precision)


def read(case: str, train: str, template: str) -> Problem:
    """Read and expand a case."""
    spec = CASES[case]
    corpus = read_columns(train, label=spec.column)
    expanded = expand(Template.parse(spec.template(Path(template).read_text(encoding="utf-8"))), corpus)
    column = corpus.column("tag")
    labels = sorted(column.vocabulary)
    numbers = np.array([labels.index(label) for label in column.vocabulary], np.int32)
    return Problem(expanded, labels, Targets(numbers[column.ids]), spec.dense)


class Ticks:
    """Both clocks at the end of each pass."""

    def __init__(self) -> None:
        self.clocks: list[Clocks] = []
        self.evaluations: list[int] = []

    def __call__(self, done: Step) -> None:
        self.clocks.append(now())
        self.evaluations.append(done.evaluations)

    def passes(self) -> list[Clocks]:
        """What each pass took, the first one left out."""
        return [(later[0] - earlier[0], later[1] - earlier[1]) for earlier, later in pairwise(self.clocks)]


def passes(case: str, train: str, template: str, iterations: int, evaluations: int) -> Result:
    """Time passes of L-BFGS from 0 on, then evaluations at the weights where they end."""
    problem = read(case, train, template)
    likelihood, ticks = problem.likelihood(), Ticks()
    zero = np.zeros(likelihood.size)
    run, never = Run(max_iterations=iterations, reports=[ticks]), Convergence(epsilon=0, delta=0)
    trained = lbfgs(likelihood, zero, c2=C2, memory=MEMORY, convergence=never, run=run)
    taken: list[Clocks] = []
    for _ in range(evaluations):
        begin = now()
        likelihood(trained.weights)
        taken.append(since(begin))
    return {
        "weights": likelihood.size,
        "at_zero": likelihood(zero)[0],
        "tokens": problem.tokens,
        "labels": len(problem.labels),
        "objective": trained.objective,
        "evaluations": taken,
        "passes": ticks.passes(),
        "evaluations_a_pass": ticks.evaluations[-1] / max(len(ticks.evaluations), 1),
    }


class Reached:
    """Stops training as soon as an exact objective is low enough; what SGD sums up during a pass is not exact."""

    def __init__(self, target: float) -> None:
        self.target = target

    def __call__(self, done: Step, weights: Float64Array) -> bool:
        return not math.isnan(done.gradient_norm) and done.objective <= self.target


def optimum(train: str, template: str, target: float) -> Result:
    """Go from features in memory to an objective of `target`; what the weights reach is then computed in float64."""
    problem = read("sparse", train, template)
    begin = now()
    structure = problem.structure()
    structured = since(begin)
    run, never = Run(max_iterations=1000, callbacks=[Reached(target)]), Convergence(epsilon=0, delta=0)
    features, zero = problem.expanded.features, np.zeros(structure.size)
    settings = Settings(c2=C2, precision="float32")
    trained = train_weights(structure, features, problem.targets, None, zero, settings, run, never)
    taken = since(begin)
    exact = problem.likelihood("float64")(trained.weights)[0] + C2 * float(trained.weights @ trained.weights)
    stochastic = sum(math.isnan(done.gradient_norm) for done in trained.history)
    return {
        "taken": taken,
        "structure": structured,
        "objective": exact,
        "stochastic_passes": stochastic,
        "batch_passes": len(trained.history) - stochastic,
        "reason": trained.reason,
    }


def end_to_end(train: str, template: str, model: str, target: float | None = None) -> Result:
    """Read, expand, train to `target` (or to our own stop) and save, as a user would."""
    begin = now()
    corpus = read_columns(train)
    crf = CRF(Path(template), c2=C2, callbacks=[] if target is None else [Reached(target)])
    crf.fit(corpus)
    crf.save(model)
    taken = since(begin)
    return {
        "taken": taken,
        "objective": crf.objective_,
        "passes": len(crf.training_log_),
        "reason": crf.stop_reason_,
        "bytes": os.path.getsize(model),
    }


def from_items(train: str, model: str, target: float) -> Result:
    """Train on lists of strings, the same attributes as the template's, and save."""
    sentences = read_rows(train)
    X = [items(rows, words_only=False) for rows in sentences]
    y = [[row[-1] for row in rows] for rows in sentences]
    begin = now()
    crf = CRF(c2=C2, callbacks=[Reached(target)]).fit(X, y)
    crf.save(model)
    return {"taken": since(begin), "objective": crf.objective_}


def tag_file(model: str, test: str, labels: str, repeats: int) -> Result:
    """Read, expand, tag; the labels of the last time are written to a file."""
    crf = load_model(model)
    taken: list[Clocks] = []
    for _ in range(repeats):
        begin = now()
        tagged = crf.predict(read_columns(test))
        taken.append(since(begin))
    Path(labels).write_text(json.dumps(tagged), encoding="utf-8")
    return {"taken": taken, "tokens": sum(map(len, tagged))}


def tag_items(model: str, test: str, labels: str, repeats: int) -> Result:
    """Tag features that are Python objects already: lists of strings, and dicts."""
    crf = load_model(model)
    lists = [items(rows, words_only=False) for rows in read_rows(test)]
    dicts = [as_dicts(sentence) for sentence in lists]
    taken: dict[str, list[Clocks]] = {"lists": [], "dicts": []}
    answers = {}
    for _ in range(repeats):
        for name, sentences in (("lists", lists), ("dicts", dicts)):
            begin = now()
            answers[name] = crf.predict(sentences)
            taken[name].append(since(begin))
    if answers["lists"] != answers["dicts"]:
        raise AssertionError("lists and dicts of the same attributes are tagged differently")
    Path(labels).write_text(json.dumps(answers["lists"]), encoding="utf-8")
    return {"taken": taken, "tokens": sum(map(len, answers["lists"]))}


def load(model: str) -> Result:
    """Load a model, ready to tag."""
    begin = now()
    load_model(model)
    return {"taken": [since(begin)]}
