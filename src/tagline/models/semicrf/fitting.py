"""From labelled sentences to the parameters of a semi-CRF: tags to segments, attributes numbered, an algorithm run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tagline.checks import seed_of
from tagline.errors import InputError
from tagline.features.attributes import Features
from tagline.features.lexicons.dictionaries import Dictionary
from tagline.features.vocabulary import Vocabulary
from tagline.features.weights import structure_of
from tagline.messages import message
from tagline.models.crf.chains import take_sentences
from tagline.models.crf.extraction import Extraction
from tagline.models.dev_score import DevSet
from tagline.models.files import TrainingFacts
from tagline.models.labelled import Lesson, match_lengths, prepare, read_labels, scheme_of, used_labels
from tagline.models.semicrf.attributes import Gold, SegmentReader, SegmentRows
from tagline.models.semicrf.likelihood import SegmentLikelihood, Targets
from tagline.models.semicrf.parameters import Numbered, Parameters, Tables, Weights
from tagline.models.semicrf.scoring import best_tags, number
from tagline.models.semicrf.tags import SegmentTags
from tagline.ragged import entries_of, row_of
from tagline.readers.corpus import Corpus
from tagline.readers.rules import legal
from tagline.training.algorithms import convergence_of
from tagline.training.choices import algorithm_of
from tagline.training.iteration import Step
from tagline.training.lbfgs import lbfgs
from tagline.training.likelihood import Likelihood
from tagline.training.likelihood import Targets as CRFTargets
from tagline.training.owlqn import owlqn
from tagline.training.run import Run
from tagline.training.running.checkpoints import checksum
from tagline.training.stochastic_descent import StochasticPasses
from tagline.types import BoolArray, Float64Array, IntArray

if TYPE_CHECKING:
    from tagline.models.semicrf.estimator import SemiCRF

STOCHASTIC_PASSES = 5
LEAST_CURVATURE = 0.05  # of weights that neither data nor penalty hold back
LONGEST = 12
"""Tokens of the longest segment, where nothing is said and training segments are longer."""


@dataclass(frozen=True, eq=False)
class FittedSemiCRF:
    """What was learned, where token features come from, how, and one `Step` for each pass of training."""

    parameters: Parameters
    extraction: Extraction
    training: TrainingFacts
    history: Sequence[Step]


@dataclass(frozen=True, eq=False)
class _Data:
    """Sentences to learn from: words, token attributes with their names, labels."""

    corpus: Corpus
    features: Features
    states: Vocabulary
    lesson: Lesson
    tags: SegmentTags


def fit_semicrf(
    model: SemiCRF,
    X: Any,
    y: Any,
    run: Run,
    *,
    sample_weight: ArrayLike | None = None,
    dev: tuple[Any, Any] | None = None,
) -> FittedSemiCRF:
    """Learn weights as the settings of an estimator say.

    Arguments:
        X, y: sentences of words and their tags.
        run: what happens around the descent.
        sample_weight: how much each sentence counts, ``[B]``.
        dev: sentences and tags to be scored after each pass.
    """
    extraction = Extraction(model.features)
    extraction.refuse_mentions(message("a SemiCRF"))

    # Sentences → attributes of tokens, labels, segments, attributes of segments.
    data = _read(model, extraction, X, y, sample_weight)
    labels, begins, known = _segmentation(data)
    D = _longest(model.max_length, labels, begins, known, data)
    begins, cut = _cut(begins, known, data.features.offsets, D)
    start, numbered, gold = _start(model, data, labels, begins, known, D)
    targets = Targets(labels, begins, data.lesson.allowed, data.lesson.weights)
    weights = Weights(start.tables, _kept(data, numbered, gold, start))

    # The descent.
    likelihood = SegmentLikelihood(data.tags, weights, numbered, targets)
    if dev is not None:
        run.dev = _Held(start, extraction, model.dictionary, weights, dev).score
    c1, c2 = float(model.c1), float(model.c2)

    def diagonal(at: Float64Array) -> Float64Array:
        inverse: Float64Array = 1 / np.maximum(likelihood.curvature(at) + 2 * c2, LEAST_CURVATURE)
        return inverse

    with run.opened(partial(_facts, model, data, start, numbered, targets, weights)):
        begin = _begin(model, data, weights, targets, begins)
        algorithm = algorithm_of(model.algorithm)
        how: dict[str, Any] = {"c2": c2, "memory": int(algorithm.settings["memory"]), "diagonal": diagonal, "run": run}
        how["convergence"] = convergence_of(algorithm)
        trained = owlqn(likelihood, begin, c1=c1, **how) if c1 > 0 else lbfgs(likelihood, begin, **how)

    notes = (*(extraction.template.notes if extraction.template else ()), *data.lesson.notes, *cut)
    passes, sentences = len(trained.history), data.features.num_sentences
    training = TrainingFacts(sentences, passes, trained.objective, trained.reason, tuple(notes))
    learned = trained.weights.astype(np.float32).astype(np.float64)  # as files keep them
    return FittedSemiCRF(start.with_tables(weights.tables(learned)), extraction, training, trained.history)


def _facts(
    model: SemiCRF, data: _Data, start: Parameters, numbered: Numbered, targets: Targets, weights: Weights
) -> dict[str, Any]:
    """What must be the same for a run to be resumed; when to stop need not be."""
    states, rows = numbered.states, numbered.rows
    names = "\n".join([*start.states, *start.names.names]).encode(errors="surrogatepass")
    return {
        "model": model.kind,
        **{name: getattr(model, name) for name in ("c1", "c2", "random_state")},
        "memory": algorithm_of(model.algorithm).settings["memory"],
        "labels": list(start.labels),
        "scheme": start.scheme,
        "sentences": data.features.num_sentences,
        "tokens": data.features.num_tokens,
        "weights": weights.size,
        "max_length": start.max_length,
        "segment_features": list(start.kinds),
        "lengths": checksum(numbered.offsets),
        "words": checksum(states.offsets, states.ids, states.values, np.frombuffer(names, np.uint8)),
        "segments": checksum(rows.places, rows.offsets, rows.ids),
        "tags": checksum(targets.labels, targets.begins, targets.allowed, targets.weights),
    }


def _begin(model: SemiCRF, data: _Data, weights: Weights, targets: Targets, begins: BoolArray) -> Float64Array:
    """Weights to begin with: those of a first-order CRF over the tags, after a few stochastic passes.

    With them and the curvature of each weight 30 passes over 1.6 million characters give the dev score of 138 passes
    from zero without either. A step inside a segment becomes part of the weight of its length, one between two
    segments their transition.
    """
    tags, offsets = data.tags, data.features.offsets
    numbers = np.where(data.lesson.labelled.ids < 0, -1, tags.tags(targets.labels, begins, offsets)).astype(np.int32)
    all_states = bool(data.lesson.labelled.sets)
    K = len(tags.labels)
    structure = structure_of(data.features, numbers, K, len(data.states), all_states=all_states, all_transitions=True)
    rules = legal(tags.labels, tags.scheme)
    crf_targets = CRFTargets(numbers, targets.allowed, targets.weights)
    likelihood = Likelihood(structure, data.features, crf_targets, rules)
    seed = seed_of(model.random_state)
    passes = algorithm_of(model.algorithm).settings["passes"]
    passes = STOCHASTIC_PASSES if passes is None else passes
    passed = StochasticPasses(
        likelihood, np.zeros(structure.size), c1=0.0, c2=float(model.c2), passes=passes, seed=seed
    )
    trained = Run().finish(passed)
    begin = weights.tables(np.zeros(weights.size))
    places = np.repeat(np.arange(len(data.states)), np.diff(structure.state_offsets)) * K + structure.state_labels
    begin.states.ravel()[places] = trained.weights[structure.parts["states"]]
    steps = np.zeros((K, K))
    steps[tuple(structure.transitions.T)] = trained.weights[structure.parts["transitions"]]
    _add_steps(begin, steps, tags)
    return weights.flat(begin)


def _add_steps(tables: Tables, steps: Float64Array, tags: SegmentTags) -> None:
    """Turn the transitions of tags ``[K, K]`` into weights of lengths and of steps between segments."""
    S, D = tags.spans, len(tables.length)
    first, inner, last = tags.roles[1:, :S]
    if D > 1:
        tables.length[1, :S] = steps[first, last]
    for d in range(2, D):
        tables.length[d, :S] = steps[first, inner] + (d - 2) * steps[inner, inner] + steps[inner, last]
    # The last tag of a segment and the first of the next, be they of one token or of several: the mean of all four.
    ends, starts = (np.where(tags.roles[[0, role]] < 0, tags.roles[0], tags.roles[[0, role]]) for role in (3, 1))
    tables.transitions[:] = steps[ends[:, None, :, None], starts[None, :, None, :]].mean(axis=(0, 1))


def _read(model: SemiCRF, extraction: Extraction, X: Any, y: Any, sample_weight: ArrayLike | None) -> _Data:
    """Number the attributes of tokens, settle labels."""
    if extraction.way is None:
        raise InputError(
            "features: expected a template or a function for sentences of tokens, got None; segments are made of words"
        )
    labelled = read_labels(X, y)
    corpus = extraction.corpus(X)
    match_lengths(corpus.offsets, labelled)
    scheme = scheme_of(labelled, model.scheme)
    if scheme is None and not used_labels(labelled):
        raise InputError("y: expected at least one sentence with a known label, got none")
    if scheme is None:
        raise InputError(
            "y: expected tags of a scheme, such as B-<type>, I-<type>, O, or B, M, E, S, got others; name the scheme "
            "where not all labels are known: scheme=; labels without segments are learned by tagline.CRF"
        )
    lesson = prepare(
        labelled,
        scheme=scheme,
        on_illegal=model.on_illegal,
        names=lambda known: list(SegmentTags.of(used_labels(known), scheme).labels),
        sample_weight=sample_weight,
        label_weights=model.label_weights,
        skip_empty=True,
        needs_scheme=True,
    )
    built = extraction.build(X, None, model.min_frequency)
    if built.features.edges is not None:
        raise InputError(
            "features: expected a template without attributes of label pairs (B lines with macros), got some; segments "
            "have transitions between their labels alone"
        )
    features = take_sentences(built.features, lesson.sentences)
    assert built.states is not None
    return _Data(
        corpus.take(lesson.sentences),
        features,
        built.states,
        lesson,
        SegmentTags.of(used_labels(lesson.labelled), scheme),
    )


def _segmentation(data: _Data) -> tuple[IntArray, BoolArray, BoolArray]:
    """The segments of sentences whose labels are all known: labels and begins ``[N]``, and which tokens are theirs."""
    offsets, numbers = data.features.offsets, data.lesson.labelled.ids
    unknown = np.unique(np.searchsorted(offsets, np.flatnonzero(numbers < 0), side="right") - 1)
    known = ~np.isin(np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), unknown)
    labels, begins = data.tags.segmentation(np.maximum(numbers, 0).astype(np.int64), offsets)
    return labels, begins, known


def _sizes(begins: BoolArray) -> tuple[IntArray, IntArray]:
    """First tokens and lengths of segments; a sentence begins with one."""
    starts = np.flatnonzero(begins)
    return starts, np.diff(np.append(starts, len(begins)))


def _longest(wanted: int | None, labels: IntArray, begins: BoolArray, known: BoolArray, data: _Data) -> int:
    """D: as it was told, or the longest segment of the sentences, up to `LONGEST`."""
    if wanted is not None:
        return int(wanted)
    starts, sizes = _sizes(begins)
    spans = known[starts] & (labels[starts] < data.tags.spans)
    return int(min(LONGEST, sizes[spans].max(initial=1))) if known.all() else LONGEST


def _cut(begins: BoolArray, known: BoolArray, offsets: IntArray, D: int) -> tuple[BoolArray, list[str]]:
    """Cut segments of more than D tokens into some of D tokens and a rest, and say so."""
    starts, sizes = _sizes(begins)
    long = np.flatnonzero((sizes > D) & known[starts])
    if not len(long):
        return begins, []
    begins = begins.copy()
    for first, size in zip(starts[long].tolist(), sizes[long].tolist(), strict=True):
        begins[first : first + size : D] = True
    place = row_of(offsets, int(starts[long[0]]))
    return begins, [message("cut {} segments of more than {} tokens, the first in sentence {}", len(long), D, place)]


def _start(
    model: SemiCRF, data: _Data, labels: IntArray, begins: BoolArray, known: BoolArray, D: int
) -> tuple[Parameters, Numbered, Gold]:
    """Number the attributes of segments; all weights are 0."""
    kinds, offsets = tuple(model.segment_features), data.features.offsets
    reader = SegmentReader(data.corpus, D, kinds, model.dictionary)
    gold = Gold.of(labels, begins, offsets)
    which = known[gold.last]
    gold = Gold(gold.last[which], gold.sizes[which], gold.labels[which])
    names = reader.names(gold, model.min_segment_frequency)
    lexicon = reader.lexicon(gold, data.tags.num_types) if "lexicon" in kinds else None
    tables = Tables.zeros(len(data.states), len(data.tags.labels), len(names.names), D, data.tags.num_types)
    parameters = Parameters(data.tags, D, kinds, data.states, names, lexicon, tables)
    return parameters, number(parameters, data.features, reader, gold), gold


def _kept(data: _Data, numbered: Numbered, gold: Gold, start: Parameters) -> dict[str, IntArray | None]:
    """Which weights there are: attributes with tags and labels that they were seen with, all where some are unknown."""
    kept: dict[str, IntArray | None] = dict.fromkeys(start.tables.named())
    for kind in ("lexicon", "length"):
        if kind not in start.kinds:
            kept[kind] = np.zeros(0, np.int64)
    if data.lesson.labelled.sets:
        return kept
    K, L = len(data.tags.labels), data.tags.num_types
    features = Features(numbered.offsets, numbered.states)
    structure = structure_of(features, data.lesson.labelled.ids, K, len(start.states), transitions=False)
    counts = np.diff(structure.state_offsets)
    kept["states"] = np.repeat(np.arange(len(counts)), counts) * K + structure.state_labels
    rows: SegmentRows = numbered.rows
    places = gold.last * start.max_length + gold.sizes
    at = np.searchsorted(rows.places, places)
    at[at == len(rows.places)] = 0
    hit = rows.places[at] == places if len(rows.places) else np.zeros(len(places), bool)
    entries = entries_of(rows.offsets, at[hit])
    labels = np.repeat(gold.labels[hit], np.diff(rows.offsets)[at[hit]])
    kept["segments"] = np.unique(rows.ids[entries].astype(np.int64) * L + labels)
    return kept


class _Held:
    """A dev set, whose features are looked up once."""

    def __init__(
        self,
        start: Parameters,
        extraction: Extraction,
        dictionary: Dictionary | None,
        weights: Weights,
        dev: tuple[Any, Any],
    ) -> None:
        labelled = read_labels(*dev)
        corpus = extraction.corpus(dev[0])
        match_lengths(corpus.offsets, labelled)
        reader = SegmentReader(corpus, start.max_length, start.kinds, dictionary)
        features = extraction.look_up(dev[0], (start.states, None)).features
        self._numbered = number(start, Features(corpus.offsets, features.states), reader)
        self._start, self._weights, self._set = start, weights, DevSet(labelled, start.labels)

    def score(self, weights: Float64Array) -> float:
        """Score weights."""
        parameters = self._start.with_tables(self._weights.tables(np.asarray(weights, np.float64)))
        return self._set.score_labels(best_tags(parameters, self._numbered))
