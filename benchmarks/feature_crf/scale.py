"""How the cost grows: with the tokens of a large corpus, with the labels, with the threads. Tagline alone."""

from __future__ import annotations

import math
import os
import statistics
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from feature_crf import corpora
from feature_crf.bench import Bench
from feature_crf.children import Result, now, since
from feature_crf.ours import Problem, read
from feature_crf.tables import Row, median, seconds
from tagline.models.crf.estimator import CRF
from tagline.readers import read_columns
from tagline.training import Auto
from tagline.training.likelihood import Targets

SHARES = (8, 4, 2, 1)  # an eighth of the corpus …
LABELS = (2, 4, 8, 16, 32, 64, 128, 256)
STOCHASTIC_PASSES, BATCH_PASSES = 3, 5
LINEAR_BAR = 1.5  # cost a token of the whole over that of an eighth, at most
SET = "chinese_ner"


def rows(run: Bench) -> list[Row]:
    """Train on shares of MSRA-NER for a few passes."""
    path, by_tokens = corpora.find(corpora.LARGE), []
    for share in SHARES:
        part = corpora.cut(path, run.folder / "part.txt", share * (corpora.QUICK_SHARE if run.plan.quick else 1))
        by_tokens.append(run.child("scale.large", run.plan.two, path=str(part)))
    run.shared["tokens"] = by_tokens
    whole, cost = by_tokens[-1], [result["batch"] / result["tokens"] for result in by_tokens]
    title = f"MSRA-NER, {whole['tokens'] / 1e6:.1f} M tokens, {SET}, {run.plan.two} threads"
    sizes = ", ".join(f"{result['tokens'] / 1e3:.0f}k: {seconds(result['batch'])}" for result in by_tokens)
    return [
        Row(
            f"{title}: a pass",
            f"{seconds(whole['batch'])} L-BFGS, {seconds(whole['stochastic'])} SGD, wall",
            how=f"{whole['weights'] / 1e6:.1f} M weights, {whole['labels']} labels; all but the passes takes "
            f"{seconds(whole['rest'])}; peak memory {whole['peak_mb']:.0f} MB",
        ),
        Row(
            "cost a token, the whole over an eighth",
            sizes,
            ratio=f"{cost[-1] / cost[0]:.2f}",
            bar=f"≤ {LINEAR_BAR:g} (linear)",
            met=run.judge(cost[-1] <= LINEAR_BAR * cost[0]),
            how=f"wall seconds of an L-BFGS pass, median of {BATCH_PASSES - 1}",
        ),
    ]


def curves(run: Bench) -> None:
    """Measure what the plot shows beside tokens: labels and threads."""
    files: dict[str, Any] = {"train": run.train, "template": run.template}
    run.shared["labels"] = run.child("scale.labels", **files, counts=list(LABELS), evaluations=run.plan.evaluations)
    run.shared["threads"] = {}
    for threads in _counts(os.cpu_count() or 1):
        amounts = {"iterations": 1, "evaluations": run.plan.evaluations}
        result = run.child("ours.passes", threads, case="sparse", **files, **amounts)
        run.shared["threads"][threads] = median(result["evaluations"])[1]


def _counts(cores: int) -> list[int]:
    """1, 2, 4, … and the number of cores."""
    return sorted({*(2**k for k in range(int(math.log2(cores)) + 1)), cores})


def large(path: str) -> Result:
    """Read, expand and train for a few passes of each kind."""
    begin = now()
    crf = CRF(SET, algorithm=Auto(passes=STOCHASTIC_PASSES, epsilon=0.0, delta=0.0), max_iterations=BATCH_PASSES)
    corpus = read_columns(path)
    crf.fit(corpus)
    whole = since(begin)[1]
    log = crf.training_log_
    stochastic = [done.seconds for done in log if math.isnan(done.gradient_norm)]
    batch = [done.seconds for done in log if not math.isnan(done.gradient_norm)]
    return {
        "tokens": corpus.num_tokens,
        "labels": len(crf.labels_),
        "weights": crf.parameters_.structure.size,
        "rest": whole - log[-1].seconds,
        "stochastic": _between(stochastic),
        "batch": _between(batch),
    }


def _between(ends: list[float]) -> float:
    """The median pass, the first one, which prepares something, left out."""
    return statistics.median(later - earlier for earlier, later in pairwise(ends)) if len(ends) > 1 else math.nan


def labels(train: str, template: str, counts: list[int], evaluations: int) -> Result:
    """Time evaluations of the word template with more and more labels.

    The labels are pairs of part of speech and chunk, the rarest of them merged, so that they stay natural ones.
    """
    problem = read("pos", train, template)
    corpus = read_columns(train)
    pairs = list(zip(corpus.columns["1"].strings, corpus.columns["tag"].strings, strict=True))
    ranks = {pair: rank for rank, (pair, _) in enumerate(Counter(pairs).most_common())}
    ranked = np.array([ranks[pair] for pair in pairs], np.int32)
    taken = {}
    for L in counts:
        if len(ranks) < L:
            break
        targets = Targets(np.minimum(ranked, L - 1).astype(np.int32))
        likelihood = Problem(problem.expanded, [str(label) for label in range(L)], targets, False).likelihood()
        weights, samples = np.random.default_rng(0).normal(0, 0.1, likelihood.size), []
        for _ in range(evaluations):
            begin = now()
            likelihood(weights)
            samples.append(since(begin))
        taken[L] = median(samples)[0]
    return {"labels": list(taken), "seconds": list(taken.values())}


def draw(run: Bench, path: Path) -> None:
    """Draw tokens, labels and threads against seconds."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        sys.exit(
            f"--plot: expected matplotlib, got no module {error.name}; install it with: pip install 'tagline[plot]'"
        )
    figure = Figure(figsize=(11, 3.4), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    tokens, by_labels, by_threads = figure.subplots(1, 3)
    by_tokens, many, threads = run.shared["tokens"], run.shared["labels"], run.shared["threads"]
    sizes = [result["tokens"] / 1e6 for result in by_tokens]
    for key, name, mark in (("batch", "L-BFGS", "o-"), ("stochastic", "SGD", "s-")):
        tokens.plot(sizes, [result[key] for result in by_tokens], mark, label=name)
    tokens.set(title=f"MSRA-NER, {run.plan.two} threads", xlabel="million tokens", ylabel="seconds a pass")
    tokens.legend(frameon=False)
    by_labels.loglog(many["labels"], [1e3 * time for time in many["seconds"]], "o-", base=2)
    by_labels.set(title="CoNLL-2000, words only, 1 thread", xlabel="labels", ylabel="ms an evaluation")
    by_labels.set_xticks(many["labels"])
    for axis in (by_labels.xaxis, by_labels.yaxis):
        axis.set_major_formatter("{x:g}")
    by_threads.plot(list(threads), [1e3 * time for time in threads.values()], "o-")
    by_threads.set(title="CoNLL-2000, 22 labels", xlabel="threads", ylabel="ms an evaluation", xticks=list(threads))
    for axes in (tokens, by_labels, by_threads):
        axes.spines[["top", "right"]].set_visible(False)
    for axes in (tokens, by_threads):
        axes.set_ylim(0, 1.08 * axes.get_ylim()[1])
        axes.set_xlim(0, 1.05 * axes.get_xlim()[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
