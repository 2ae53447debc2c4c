"""The quality table: the ready-made sets and CRF++'s template, each on its corpus; the settings are all in `TASKS`.

Settings are chosen on the last 1,000 training sentences (``--dev``: train on the others); the held-out file is then run
once. A quick run keeps away from that file, too. Each task runs in a process of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from feature_crf import corpora
from feature_crf.bench import Bench
from feature_crf.children import Result, now, since
from feature_crf.tables import seconds, verdict
from tagline.evaluation import evaluate_segmentation, evaluate_spans, evaluate_tokens
from tagline.models.crf.estimator import CRF
from tagline.readers import Corpus, read_columns
from tagline.readers.schemes import convert

DEV_SENTENCES = 1000
HELD_OUT = 0.1  # of a corpus that comes in one file
QUICK_ITERATIONS = 15


@dataclass(frozen=True)
class Task:
    """One line of the quality table.

    Attributes:
        train: the corpus file.
        test: the file that scores; None for the last tenth of `train`.
        measure: "span F1", "word F1" or "accuracy".
        least, most: the bar, in percent; `most` None for no upper end.
        features: a ready-made set, or a template file of the corpora (with a "/").
        settings: further arguments of `CRF`.
        source, written: tag schemes: that of the files, and the one to train in where it is another.
    """

    train: str
    test: str | None
    measure: str
    least: float
    most: float | None
    features: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    source: str | None = None
    written: str | None = None

    @property
    def bar(self) -> str:
        """The bar in words."""
        if self.most is None:
            return f"≥ {self.least:g}"
        return f"{(self.least + self.most) / 2:.2f} ± {(self.most - self.least) / 2:.2f}"


CONLL = ("conll2000/train.txt", "conll2000/test.txt", "span F1")
DENSE = {"all_possible_states": True, "all_possible_transitions": True}

TASKS = {
    "crfpp_chunking": Task(*CONLL, 93.51, 93.61, corpora.TEMPLATE, {"c2": 1.0}),
    "crfpp_chunking_dense": Task(*CONLL, 93.63, 93.73, corpora.TEMPLATE, {"c2": 1.0, **DENSE}),
    "chunking": Task(*CONLL, 93.7, None, "chunking", {"c2": 0.5, "scheme": "IOB2"}, "IOB2"),
    "english_ner": Task(
        "conll2003/train.txt",
        "conll2003/valid.txt",
        "span F1",
        89.5,
        None,
        "english_ner",
        {"c2": 0.3, "scheme": "BIOES"},
        "IOB2",
        "BIOES",
    ),
    "chinese_ner": Task(
        "resume_ner/train.txt",
        "resume_ner/valid.txt",
        "span F1",
        92.5,
        None,
        "chinese_ner",
        {"c1": 0.05, "c2": 0.03, "scheme": "BMES", "on_illegal": "repair"},
        "BMES",
    ),
    "segmentation": Task(
        "cws_pku/train.txt.gz",
        None,
        "word F1",
        95.0,
        None,
        "segmentation",
        {"c2": 0.3, "scheme": "BMES-words"},
    ),
    "pos": Task("ud_en_ewt/train.txt", "ud_en_ewt/valid.txt", "accuracy", 94.0, None, "pos", {"c1": 0.05, "c2": 0.1}),
}

HEAD = ["task", "score", "bar", "met", "trained in", "settings", "command"]


def row(run: Bench, name: str, dev: bool, changes: Mapping[str, Any]) -> list[str]:
    """Train and score a task."""
    task, dev = TASKS[name], dev or run.plan.quick
    result = run.child("quality.score", run.plan.two, name=name, dev=dev, quick=run.plan.quick, changes=dict(changes))
    met = None if dev or changes else run.judge(task.least <= result["score"] <= (task.most or 100))
    settings = {"features": task.features, **task.settings, **changes}
    words = ", ".join(f"{key} {value}" for key, value in settings.items())
    if task.written:
        words += f", trained as {task.written}"
    options = " --dev" * dev + "".join(f" --set {key}={value}" for key, value in changes.items())
    where = "last 1,000 training sentences" if dev else f"last {HELD_OUT:.0%}" if task.test is None else task.test
    return [
        f"{name}: {task.measure}, {where}",
        f"{result['score']:.2f}",
        task.bar,
        verdict(met),
        f"{seconds(result['taken'][1])} ({result['passes']} passes, {result['active']:,} weights)",
        words,
        f"`python benchmarks/crf.py quality --only {name}{options}`",
    ]


def sentences_of(task: Task, dev: bool) -> tuple[Corpus, Corpus]:
    """Return what to train on and what to score."""
    train = read_columns(corpora.find(task.train))
    test = None
    if task.test is None:
        train, test = train.split(1 - HELD_OUT)
    if dev:
        return train[:-DEV_SENTENCES], train[-DEV_SENTENCES:]
    return train, test if test is not None else read_columns(corpora.find(task.test or ""))


def score(name: str, dev: bool, quick: bool, changes: dict[str, Any]) -> Result:
    """Train and score; runs in a child."""
    task = TASKS[name]
    train, test = sentences_of(task, dev)
    settings = {**task.settings, **changes}
    features = settings.pop("features", task.features)
    if quick:
        train = train[: len(train) // corpora.QUICK_SHARE]
        settings["max_iterations"] = QUICK_ITERATIONS
    if task.written and task.source:
        train = convert(train, task.source, task.written)
    begin = now()
    crf = CRF(corpora.find(features) if "/" in features else features, **settings).fit(train)
    taken = since(begin)
    predicted = crf.predict(test)
    if task.written and task.source:
        predicted = convert(predicted, task.written, task.source, repair="conlleval")
    active = int((crf.parameters_.weights != 0).sum())
    return {
        "score": 100 * _measured(task.measure, test.tags, predicted),
        "taken": taken,
        "passes": len(crf.training_log_),
        "active": active,
        "reason": crf.stop_reason_,
        "notes": list(crf.notes_),
    }


def _measured(measure: str, gold: list[list[str]], predicted: list[list[str]]) -> float:
    if measure == "span F1":
        return evaluate_spans(gold, predicted).f1
    if measure == "word F1":
        return evaluate_segmentation(gold, predicted).f1
    return evaluate_tokens(gold, predicted).accuracy


def changes_of(texts: list[str]) -> dict[str, Any]:
    """Read ``c2=0.5`` and the like: a name and a JSON value, or a bare text."""
    changes = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise SystemExit(f"--set: expected NAME=VALUE such as c2=0.5, got {text!r}")
        try:
            changes[name] = json.loads(value)
        except json.JSONDecodeError:
            changes[name] = value
    return changes
