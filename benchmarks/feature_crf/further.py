"""Rows beside the quality table: what knowledge is worth, and the other kinds of models with features.

Group ``knowledge`` has the rows of docs/knowledge.md, ``kinds`` those of docs/memm.md and docs/segments.md. Each task
runs in a process of its own, on one thread, and times are those of the processor. With ``--dev``, and in a quick run,
the sentences that score are held-back training sentences.
"""

from __future__ import annotations

from typing import Any

import knowledge

import tagline
from feature_crf import corpora
from feature_crf.bench import Bench
from feature_crf.children import Result, now, since
from feature_crf.quality import DEV_SENTENCES, HELD_OUT, QUICK_ITERATIONS
from feature_crf.tables import seconds, verdict
from tagline.readers import Corpus, read_columns

HEAD = ["task", "score", "bar", "met", "trained in", "tokens a second", "command"]
KINDS = {"crf": "CRF", "memm": "MEMM", "maxent": "MaxEnt", "semicrf": "SemiCRF"}
MEASURES = {"knowledge": "further.knowledge_rows", "kinds": "further.kind_rows"}
GROUPS = {"knowledge": tuple(knowledge.TASKS), "kinds": tuple(KINDS)}
BARS = {("conll2003", "stages"): 92.0, ("resume_ner", "lexicon and clusters"): 94.0, ("semicrf", "SemiCRF"): 96.0}
WORDS = "cws_pku/train.txt.gz"
SEMICRF = {
    "features": "segmentation",
    "scheme": "BMES-words",
    "segment_features": ("length", "lexicon", "string"),
    "min_segment_frequency": 2,
    "max_length": 8,
    "c2": 0.3,
    "delta": 3e-4,
    "max_iterations": 60,
}
LOCAL = {"features": "english_ner", "scheme": "auto", "c2": 1.0, "tolerance": 1e-4}


def rows(run: Bench, group: str, name: str, dev: bool) -> list[list[str]]:
    """Measure a task; it may have several rows."""
    dev = dev or run.plan.quick
    result = run.child(MEASURES[group], 1, name=name, dev=dev, quick=run.plan.quick)
    return [_cells(run, group, name, dev, row) for row in result["rows"]]


def _cells(run: Bench, group: str, name: str, dev: bool, row: Result) -> list[str]:
    least = BARS.get((name, row["row"]))
    met = None if dev or least is None else run.judge(row["f1"] >= least)
    return [
        f"{name}, {row['row']}: F1" + (", held-back training sentences" if dev else ""),
        f"{row['f1']:.2f}",
        "" if least is None else f"≥ {least:g}",
        verdict(met),
        seconds(row["trained"]),
        f"{row['tokens a second']:,}",
        f"`python benchmarks/crf.py {group} --only {name}{' --dev' * dev}`",
    ]


def knowledge_rows(name: str, dev: bool, quick: bool) -> Result:
    """Train and score the rows of a corpus; runs in a child."""
    task = knowledge.TASKS[name]
    train, sizes, test, test_sizes = knowledge.parts(task, not dev)
    settings: dict[str, Any] = {}
    if quick:
        few = max(2, len(sizes) // corpora.QUICK_SHARE)
        train, sizes = train[: sum(sizes[:few])], sizes[:few]
        settings["max_iterations"] = QUICK_ITERATIONS
    clusters = knowledge.tables(task, (10, 50) if quick else (100, 1000))
    data = train, sizes, test, test_sizes
    return {"rows": [knowledge.measure(row, task, data, clusters, **settings) for row in task.rows]}


def kind_rows(name: str, dev: bool, quick: bool) -> Result:
    """Train and score a kind of model; runs in a child."""
    train, test = _sentences(name, dev)
    settings: dict[str, Any] = dict(SEMICRF if name == "semicrf" else LOCAL)
    if quick:
        train = train[: len(train) // corpora.QUICK_SHARE]
        settings["max_iterations"] = QUICK_ITERATIONS
    begin = now()
    model = getattr(tagline, KINDS[name])(**settings).fit(train)
    trained = since(begin)[0]
    begin = now()
    model.predict(test)
    tagged = since(begin)[0]
    f1 = 100 * model.evaluate(test).spans.f1
    speed = round(test.num_tokens / tagged)
    return {"rows": [{"row": KINDS[name], "f1": f1, "trained": trained, "tokens a second": speed}]}


def _sentences(name: str, dev: bool) -> tuple[Corpus, Corpus]:
    """Return what to train on and what to score."""
    if name == "semicrf":
        train, test = read_columns(corpora.find(WORDS)).split(1 - HELD_OUT)
    else:
        train, test = (
            knowledge.one_column(read_columns(corpora.find(f"conll2003/{part}.txt"))) for part in ("train", "valid")
        )
    return (train[:-DEV_SENTENCES], train[-DEV_SENTENCES:]) if dev else (train, test)
