"""python-crfsuite's side: training with its own log, tagging with extraction in Python, loading. For children."""

from __future__ import annotations

import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pycrfsuite

from feature_crf.cases import C2, CASES
from feature_crf.children import Clocks, Result, now, since
from feature_crf.extraction import as_dicts, items, read_rows


class _Trainer(pycrfsuite.Trainer):  # type: ignore[misc]
    """Keeps the wall clock of each iteration; its own log has CPU seconds."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.ends: list[float] = []

    def message(self, message: str) -> None:
        super().message(message)
        if message.startswith("Seconds required for this iteration"):
            self.ends.append(now()[1])


def train(case: str, train: str, model: str, iterations: int | None = None) -> Result:
    """Read, extract, append, train at the defaults with c2 = 1 to its own stop, or for so many iterations.

    The seconds of the iterations are those of CRFsuite's log (CPU); `walls` are measured when it writes a line.
    """
    spec = CASES[case]
    begin = now()
    trainer = _Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params({"c2": C2, "feature.possible_states": spec.dense, "feature.possible_transitions": spec.dense})
    if iterations is not None:
        trainer.set_params({"max_iterations": iterations})
    for rows in read_rows(train):
        trainer.append(items(rows, spec.words_only), [row[spec.column] for row in rows])
    prepared = since(begin)
    trainer.train(model)
    whole = since(begin)
    log = trainer.logparser.iterations
    times = [float(entry["time"]) for entry in log]
    walls = [times[0], *(later - earlier for earlier, later in pairwise(trainer.ends))]
    return {
        "times": times,
        "walls": walls,
        "losses": [float(entry["loss"]) for entry in log],
        "weights": trainer.logparser.featgen_num_features,
        "prepared": prepared,
        "whole": whole,
        "bytes": os.path.getsize(model),
    }


def tag_file(model: str, test: str, labels: str, repeats: int) -> Result:
    """Read, extract in Python, tag; the labels of the last time are written to a file."""
    tagger = pycrfsuite.Tagger()
    tagger.open(model)
    taken: list[Clocks] = []
    for _ in range(repeats):
        begin = now()
        tagged = [tagger.tag(items(rows, words_only=False)) for rows in read_rows(test)]
        taken.append(since(begin))
    Path(labels).write_text(json.dumps(tagged), encoding="utf-8")
    return {"taken": taken, "tokens": sum(map(len, tagged))}


def tag_items(model: str, test: str, labels: str, repeats: int) -> Result:
    """Tag features that are Python objects already: lists of strings, dicts, and python-crfsuite's own sequences."""
    tagger = pycrfsuite.Tagger()
    tagger.open(model)
    lists = [items(rows, words_only=False) for rows in read_rows(test)]
    dicts = [as_dicts(sentence) for sentence in lists]
    ready = [pycrfsuite.ItemSequence(sentence) for sentence in lists]
    taken: dict[str, list[Clocks]] = {"lists": [], "dicts": [], "ready": []}
    for _ in range(repeats):
        for name, sentences in (("lists", lists), ("dicts", dicts), ("ready", ready)):
            begin = now()
            tagged = [tagger.tag(sentence) for sentence in sentences]
            taken[name].append(since(begin))
    Path(labels).write_text(json.dumps(tagged), encoding="utf-8")
    return {"taken": taken, "tokens": sum(map(len, tagged))}


def load(model: str) -> Result:
    """Open a model for tagging."""
    begin = now()
    pycrfsuite.Tagger().open(model)
    return {"taken": [since(begin)]}
