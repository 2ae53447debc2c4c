"""crf_learn: template and column file in, a model file of CRF++ out, with its log on the way.

Every feature string is crossed with all labels (U) or all pairs (B): Σ −log p + |w|²/(2C), or + |w|₁/C, is minimised by
our L-BFGS and OWL-QN; iterations end as theirs do, after three relative changes below eta.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from tagline import compiled
from tagline.errors import InputError
from tagline.features.attributes import Expanded, Features
from tagline.features.expansion import expand
from tagline.features.templates.template import Template
from tagline.features.weights import Structure, structure_of
from tagline.interop.crfpp import binary_model, text_model
from tagline.interop.crfpp.arguments import Arguments
from tagline.interop.crfpp.column_file import BYTES, ColumnSentences, read_all
from tagline.interop.crfpp.log import CRFLog, Log, mira_line
from tagline.interop.crfpp.model import CRFPPModel
from tagline.interop.crfpp.numbering import numbers_of
from tagline.interop.crfpp.templates import bigram_of
from tagline.ragged import first_entries
from tagline.training.iteration import Convergence
from tagline.training.lbfgs import lbfgs
from tagline.training.likelihood import Likelihood, Targets
from tagline.training.online.mira import mira
from tagline.training.owlqn import owlqn
from tagline.training.run import Run
from tagline.training.sharing import Shared, shared, spread
from tagline.types import Float64Array
from tagline.writing import open_new

ALGORITHMS = {"crf": "CRF-L2", "crf-l2": "CRF-L2", "crf-l1": "CRF-L1", "mira": "MIRA"}
MEMORY = 5  # steps that L-BFGS remembers, as CRF++'s
EXACT = 5_000  # tokens up to which everything is float64
COARSE = 1e-5  # eta below which it is, too


@dataclass(frozen=True)
class LearnSettings:
    """What crf_learn was told, checked."""

    template: str
    train: str
    model: str
    algorithm: str
    freq: int
    cost: float
    eta: float
    maxiter: int
    rest: int
    threads: int

    @classmethod
    def of(cls, given: Arguments) -> LearnSettings:
        """Check the arguments."""
        algorithm = ALGORITHMS.get(given.text("algorithm").lower())
        if algorithm is None:
            raise InputError(
                "--algorithm: expected one of CRF-L2 (CRF), CRF-L1, MIRA, got {!r}", given.text("algorithm")
            )
        threads = given.whole("thread", 0, 1024) or compiled.threads()
        template, train, model = given.files
        return cls(
            template,
            train,
            model,
            algorithm,
            given.whole("freq", 0),
            float(np.float32(given.positive("cost"))),  # CRF++ reads both as float32
            float(np.float32(given.positive("eta"))),
            given.whole("maxiter", 0),
            given.whole("shrinking-size", 1, 65_535),
            threads,
        )


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Labelled sentences, their feature strings and which weights there are."""

    template: Template
    labels: list[str]
    gold: NDArray[np.int32]
    expanded: Expanded
    bigram: str | None
    columns: int
    encoding: str


def run(given: Arguments, out: TextIO) -> None:
    """Train as the arguments say and write the model file, and the text beside it."""
    settings, log = LearnSettings.of(given), Log(out)
    compiled.set_threads(settings.threads)
    log.head()
    begun = time.process_time()
    data = read_training_data(settings)
    B = data.expanded.features.num_sentences
    log.read(B, time.process_time() - begun)
    L, expanded = len(data.labels), data.expanded
    assert expanded.states is not None
    edges = (0 if expanded.edges is None else len(expanded.edges)) + (data.bigram is not None)
    size = len(expanded.states) * L + edges * L * L
    if size == 0 or size >= 2**31:
        raise InputError("{}: expected 1 to 2^31 − 1 weights, got {}; raise --freq", settings.train, size)
    log.settings(B, size, settings.threads, settings.freq, settings.eta, settings.cost, settings.rest)
    begun = time.process_time()
    model = train(settings, data, log)
    with open_new(settings.model) as file:
        file.write(binary_model.write_model(model))
    if given.has("textmodel"):
        with open_new(f"{settings.model}.txt") as file:
            file.write(text_model.write_model(model))
    log.end(time.process_time() - begun)


def read_training_data(settings: LearnSettings) -> TrainingData:
    """Read template and sentences, as UTF-8, or byte by byte where they are not."""
    files = [Path(path).read_bytes() for path in (settings.template, settings.train)]
    encoding = "utf-8"
    try:
        texts = [data.decode() for data in files]
    except UnicodeDecodeError:
        encoding = BYTES
        texts = [data.decode(BYTES) for data in files]
    template = Template.parse(texts[0], settings.template)
    _check(template)
    sentences = read_all(texts[1], settings.train)
    columns = len(sentences.rows[0]) - 1 if sentences.rows else 0
    if columns < 1:
        raise InputError(
            "{}: expected tokens, a line each, with their labels in the last column, got none", settings.train
        )
    labels, gold = _labels(sentences)
    corpus = sentences.corpus(columns)
    expanded = expand(template, corpus, min_frequency=max(1, settings.freq))
    inner = int((~first_entries(corpus.offsets)).sum())  # tokens with one before them
    bigram = bigram_of(template) if inner >= max(1, settings.freq) else None
    seen = min(columns, template.num_columns or columns)
    return TrainingData(template, labels, gold, expanded, bigram, seen, encoding)


def _check(template: Template) -> None:
    if not template.is_crfpp:
        line = next(line for line in template.lines if not all(macro.is_crfpp for macro in line.macros))
        raise InputError(
            "{}:{}: expected a line that CRF++ takes, got {!r}; its models cannot hold our "
            "extensions: tagline train takes them",
            template.source,
            line.number,
            line.text,
        )
    bare = [line for line in template.lines if line.is_edge and not line.macros]
    for line in bare[1:]:
        if line.text == bare[0].text:
            raise InputError(
                "{}:{}: expected the line {!r} once, got it twice", template.source, line.number, line.text
            )


def _labels(sentences: ColumnSentences) -> tuple[list[str], NDArray[np.int32]]:
    """The labels, sorted by their bytes, and the number of each token's."""
    names = sorted({row[-1] for row in sentences.rows})
    numbers = {name: number for number, name in enumerate(names)}
    return names, np.fromiter((numbers[row[-1]] for row in sentences.rows), np.int32, len(sentences.rows))


def train(settings: LearnSettings, data: TrainingData, log: Log) -> CRFPPModel:
    """Find the weights."""
    expanded, L = data.expanded, len(data.labels)
    assert expanded.states is not None
    A = len(expanded.states)
    together = None if settings.algorithm == "MIRA" else shared(expanded.features.states, A)
    features = expanded.features
    if together is not None:
        features = Features(features.offsets, together.attributes, features.edges)
    structure = structure_of(
        features,
        data.gold,
        L,
        A if together is None else len(together.sizes),
        num_edges=0 if expanded.edges is None else len(expanded.edges),
        all_states=True,
        all_transitions=True,
        edge_pairs="all",
        transitions=data.bigram is not None,
    )
    fine = settings.algorithm == "MIRA" or features.num_tokens <= EXACT or settings.eta < COARSE
    likelihood = Likelihood(structure, features, Targets(data.gold), None, "float64" if fine else "float32")
    if together is None:
        weights = mira(
            likelihood,
            c=settings.cost,
            rest=settings.rest,
            passes=settings.maxiter,
            report=lambda done: log.line(mira_line(done, features.num_tokens, features.num_sentences)),
        )
    else:
        weights = _descend(settings, likelihood, together, log, fine)
    return _model(data, structure, weights, together, settings.freq > 1)


def _descend(settings: LearnSettings, likelihood: Likelihood, together: Shared, log: Log, fine: bool) -> Float64Array:
    """Minimise the likelihood with a penalty."""
    L = likelihood.structure.num_labels
    lines = CRFLog(log, likelihood, together, settings.eta, settings.algorithm == "CRF-L1")
    lines.start(settings.maxiter)
    start = np.zeros(likelihood.size)
    if settings.maxiter < 1:
        return start
    run = Run(max_iterations=settings.maxiter - 1, callbacks=[lines.passed])
    precision: dict[str, Any] = {"dtype": np.float64, "noise": 1e-13} if fine else {}
    arguments = {"memory": MEMORY, "run": run, "convergence": Convergence(epsilon=0, delta=0), **precision}
    if settings.algorithm == "CRF-L1":
        c1 = np.full(likelihood.size, 1 / settings.cost)
        c1[: L * len(together.sizes)] *= np.repeat(np.sqrt(together.sizes), L)
        trained = owlqn(likelihood, start, c1=c1, **arguments)
    else:
        trained = lbfgs(likelihood, start, c2=0.5 / settings.cost, **arguments)
    weights: Float64Array = trained.weights
    return weights


def _model(
    data: TrainingData, structure: Structure, weights: Float64Array, together: Shared | None, by_name: bool
) -> CRFPPModel:
    """Put the weights where CRF++ has them."""
    L, parts = structure.num_labels, structure.parts
    states = weights[parts["states"]].reshape(-1, L)
    states = states if together is None else spread(states, together)
    numbers = numbers_of(data.expanded, data.template, data.bigram, L, by_name)
    out = np.zeros(numbers.size)
    out[(numbers.states[:, None] + np.arange(L)).reshape(-1)] = states.reshape(-1)
    out[(numbers.edges[:, None] + np.arange(L * L)).reshape(-1)] = weights[parts["edges"]]
    if numbers.bigram is not None:
        out[numbers.bigram : numbers.bigram + L * L] = weights[parts["transitions"]]
    keys, ids = numbers.sorted(data.encoding)
    lines: Sequence[str] = [
        *(line.text for line in data.template.states),
        *(line.text for line in data.template.lines if line.is_edge),
    ]
    return CRFPPModel(
        tuple(label.encode(data.encoding) for label in data.labels),
        tuple(line.encode(data.encoding) for line in lines),
        keys,
        ids,
        out,
        data.columns,
    )
