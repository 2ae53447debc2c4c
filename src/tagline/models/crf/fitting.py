"""From labelled sentences to the parameters of a feature CRF: features numbered, weights laid out, an algorithm run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tagline.checks import seed_of, shown_value
from tagline.errors import InputError
from tagline.features.attributes import Features
from tagline.features.knowledge import Knowledge
from tagline.features.vocabulary import Vocabulary
from tagline.features.weights import structure_of
from tagline.messages import message
from tagline.models.crf.chains import take_sentences
from tagline.models.crf.compilation import CompiledCorpus, folder_beside
from tagline.models.crf.extraction import Extraction
from tagline.models.crf.frequencies import without_rare
from tagline.models.crf.held import HeldSentences, feature_arrays
from tagline.models.crf.parameters import Parameters
from tagline.models.crf.raising import FirstOrder, raised
from tagline.models.crf.teaching import Teaching
from tagline.models.files import TrainingFacts
from tagline.models.labelled import (
    LabelledTokens,
    Lesson,
    match_lengths,
    prepare,
    read_labels,
    scheme_of,
    used_labels,
    warn_of_forgotten,
)
from tagline.models.sentences import as_sentences
from tagline.models.sizes import warn_of_cost
from tagline.readers.rules import legal
from tagline.training.algorithms import Settings, convergence_of, run_settings, train
from tagline.training.choices import SGD, Auto, algorithm_of
from tagline.training.iteration import Step
from tagline.training.likelihood import Targets
from tagline.training.run import Run, Trained
from tagline.training.running.checkpoints import checksum
from tagline.training.running.progress import Budget

if TYPE_CHECKING:
    from tagline.models.crf.estimator import CRF
    from tagline.models.crf.stages import Staged
    from tagline.models.crf.tagger import CRFTagger

RATE = 0.1  # the first step size of partial_fit
FINEST = 1e-6  # of tolerances that float32 reaches


@dataclass(frozen=True, eq=False)
class Sentences:
    """What a CRF is given: X, y, the edge attributes of each token, and where documents are."""

    X: Any
    y: Any = None
    edges: Any = None
    documents: Any = None


@dataclass(frozen=True, eq=False)
class FittedCRF:
    """What was learned, where its features come from, how, one `Step` for each pass; the model of a first stage."""

    parameters: Parameters
    extraction: Extraction
    training: TrainingFacts
    history: Sequence[Step]
    first: CRFTagger | None = None


@dataclass(frozen=True, eq=False)
class _Numbered:
    """Labelled sentences with numbered attributes, and the attributes' names."""

    labelled: LabelledTokens
    features: Features
    states: Vocabulary | None
    edges: Vocabulary | None


def fit_crf(
    crf: CRF,
    sentences: Sentences,
    before: Parameters | None,
    run: Run,
    *,
    sample_weight: ArrayLike | None = None,
    dev: Sentences | None = None,
    increment: bool = False,
    teaching: Teaching | None = None,
    staged: Staged | None = None,
) -> FittedCRF:
    """Learn weights as the settings of an estimator say.

    Arguments:
        sentences: the sentences to learn from; X may be a `CompiledCorpus`.
        before: a model to begin with; None for a new one.
        run: what happens around the descent.
        sample_weight: how much each sentence counts, ``[B]``.
        dev: sentences to be scored after each pass.
        increment: learn from these sentences as a share of all that were learned from.
        teaching: what a teacher says about the sentences; they are its own then.
        staged: what a first model says; the sentences have its columns.
    """
    knowledge = Knowledge.of(crf.clusters, crf.vectors, crf.mentions)
    way = crf.features if staged is None else staged.template
    extraction = Extraction(way, crf.hash_bits, crf.dictionary, knowledge)

    # Sentences → numbered attributes, labels, rules.
    numbered = _numbered(crf, sentences, extraction, before)
    lesson = _lesson(crf, numbered.labelled, before, teaching, sample_weight)
    if before is not None and not increment and teaching is None:
        warn_of_forgotten(lesson.labelled, before.labels)
    features = take_sentences(numbered.features, lesson.sentences)
    if not crf.chained:
        features = Features(features.offsets, features.states)
    if not crf.local:
        warn_of_cost(features.num_tokens, len(lesson.labels))
    targets = Targets(lesson.labelled.ids, lesson.allowed, lesson.weights)
    rules = lesson.rules if crf.chained else None  # tokens that are labelled one by one know no neighbours

    # Which weights there are, and where they begin.
    first = start = _start(crf, extraction, replace(numbered, features=features), lesson, targets, before)
    if teaching is not None:
        targets = replace(targets, surplus=teaching.surplus(start.structure, numbered.features, lesson))
    if crf.order == 2:
        start = raised(crf, start, features, targets)
    held = None if dev is None else HeldSentences(_documented(dev, extraction), extraction, start, crf.scorer_class)

    # The descent.
    seen = features.num_sentences + (crf.training_.sentences if increment and before is not None else 0)
    settings = settings_for(crf, features.num_sentences, seen, before is not None, increment)
    settings = settings if staged is None else replace(settings, seed=staged.seed)
    run.dev = None if held is None else held.score
    pruned: tuple[str, ...] = ()
    facts = partial(_facts, crf, settings, start, features, targets, held)
    with run.opened(facts), folder_beside(sentences.X) as scratch:
        if crf.prune:
            pruning = FirstOrder(crf, first, rules, settings, run)
            start, targets, pruned = pruning.prune_labels(start, features, targets)
            if held is not None:
                held.begin(start)
        if crf.prune and pruning.ended == "interrupted":
            run.conclude(Trained(start.weights, float("nan"), "interrupted", ()))
        else:
            problem = (start.structure, features, targets, rules, np.asarray(start.weights, np.float64))
            # One stretch more of a descent ends by its passes alone.
            tolerance = None if increment else crf.tolerance
            convergence = convergence_of(settings.algorithm, tolerance, settles=not increment)
            train(*problem, settings, run, convergence, scratch)
    trained = run.trained

    template = extraction.template
    notes = () if template is None else template.notes
    if template is not None and template.has_edges and not crf.chained:
        notes = (
            *notes,
            message("{} has no label pairs: the template's B lines are left out", type(crf).__name__),
        )
    training = TrainingFacts(
        seen,
        len(trained.history),
        trained.objective,
        trained.reason,
        (*notes, *lesson.notes, *pruned),
        gap=None if increment else trained.gap,  # of a stretch it would be that of its share of the objective
        seed=settings.seed if crf.random_state is None else 0,
    )
    parameters = replace(start, weights=trained.weights)
    # A stretch of learning may bring back a weight that is 0 now; the end of training settles it.
    parameters = parameters if increment else parameters.pruned()
    stage = None if staged is None else staged.first
    return FittedCRF(parameters, extraction, training, trained.history, stage)


def _documented(dev: Sentences, extraction: Extraction) -> Sentences:
    """A dev set with what its documents say of words."""
    return replace(dev, X=extraction.documented(as_sentences(dev.X), dev.documents, known=True))


def _numbered(crf: CRF, sentences: Sentences, extraction: Extraction, before: Parameters | None) -> _Numbered:
    """Number the attributes of sentences; those of a model that is trained on keep their numbers."""
    X, y, edges = sentences.X, sentences.y, as_sentences(sentences.edges)
    if isinstance(X, CompiledCorpus):
        X.check_use(extraction, fresh=before is None and y is None, min_frequency=crf.min_frequency)
        match_lengths(X.features.offsets, X.labelled)
        return _Numbered(X.labelled, X.features, X.states, X.edges)
    if edges is not None and not crf.chained:
        raise InputError(
            "edges: expected none for {}, whose labels do not see each other, got some", type(crf).__name__
        )
    X = extraction.documented(as_sentences(X), sentences.documents)
    labelled = read_labels(X, y)
    if before is not None:
        bits = None if before.states is not None else before.structure.num_attributes.bit_length() - 1
        if bits != extraction.hash_bits:
            raise InputError("hash_bits: expected {}, as the model has it, got {}", bits, extraction.hash_bits)
    built = extraction.build(X, edges, crf.min_frequency)
    match_lengths(built.features.offsets, labelled)
    if before is None or before.states is None:
        return _Numbered(labelled, built.features, built.states, built.edges)
    states = before.states.extended(built.states or ())
    edge_names = before.edges
    if built.edges is not None:
        edge_names = built.edges if before.edges is None else before.edges.extended(built.edges)
    features = extraction.look_up(X, (states, edge_names), edges).features
    return _Numbered(labelled, features, states, edge_names)


def _lesson(
    crf: CRF,
    labelled: LabelledTokens,
    before: Parameters | None,
    teaching: Teaching | None,
    sample_weight: ArrayLike | None,
) -> Lesson:
    """Settle the labels, those of the model that is trained on and of a teacher among them, and the rules."""
    if teaching is not None:
        scheme, sample_weight = teaching.scheme, teaching.sample_weight(sample_weight)
    else:
        scheme = scheme_of(labelled, crf.scheme) if before is None or crf.scheme != "auto" else before.scheme
    if crf.tolerance is not None and (place := labelled.unknown()) is not None:
        raise InputError(
            "tolerance: expected labels that are all known, got others, as in {}: the objective is not "
            "convex then, and nothing is proven about its optimum; stop by epsilon and delta",
            place[0],
        )
    more = (*(() if before is None else before.labels), *(() if teaching is None else teaching.labels))
    return prepare(
        labelled,
        scheme=scheme,
        on_illegal=crf.on_illegal,
        names=lambda labelled: _labels(crf, labelled, more, scheme),
        sample_weight=sample_weight,
        label_weights=crf.label_weights,
    )


def _labels(crf: CRF, labelled: LabelledTokens, more: Sequence[str], scheme: str | None) -> list[str]:
    """All labels, sorted: those of the sentences, and those of the model that is trained on and of a teacher."""
    dictionary = crf.dictionary
    if dictionary is not None and dictionary.priority != "feature" and scheme is None:
        raise InputError(
            "dictionary: expected a tag scheme to write its matches in (priority {!r}), got none; pass "
            'scheme="auto" or its name',
            dictionary.priority,
        )
    labels = sorted({*used_labels(labelled), *more})
    if dictionary is not None and dictionary.priority != "feature" and scheme is not None:
        legal(labels, scheme)  # refuses labels of another scheme, which no phrase is to blame for
        dictionary.check_labels(labels, scheme)
    return labels


def _start(
    crf: CRF,
    extraction: Extraction,
    numbered: _Numbered,
    lesson: Lesson,
    targets: Targets,
    before: Parameters | None,
) -> Parameters:
    """Say which weights there are: 0, or those of the model that is trained on."""
    labels, features, unsure = lesson.labels, numbered.features, bool(lesson.labelled.sets)
    hashed = 0 if extraction.hash_bits is None else 1 << extraction.hash_bits
    structure = structure_of(
        features,
        targets.labels,
        len(labels),
        hashed if numbered.states is None else len(numbered.states),
        num_edges=(0 if features.edges is None else hashed) if numbered.edges is None else len(numbered.edges),
        all_states=crf.all_possible_states or unsure,
        all_transitions=crf.all_possible_transitions or unsure,
        edge_pairs="all" if crf.all_possible_transitions or unsure else "observed",
        transitions=crf.chained and (extraction.template is None or extraction.template.label_bigrams),
        start=bool(crf.start_end),
        end=bool(crf.start_end),
    )
    if crf.min_feature_frequency > 0:
        if (place := lesson.labelled.unknown()) is not None:
            raise InputError(
                "min_feature_frequency: expected 0 where labels are not known, as in {}, got "
                "{}; min_frequency counts attributes without labels",
                place[0],
                shown_value(crf.min_feature_frequency),
            )
        structure = without_rare(structure, features, targets, crf.min_feature_frequency)
    if before is not None:
        return before.grown(labels, lesson.scheme, structure, numbered.states, numbered.edges)
    weights = np.zeros(structure.size)
    return Parameters(tuple(labels), lesson.scheme, structure, weights, numbered.states, numbered.edges)


def precision_for(crf: CRF) -> str:
    """Return the precision that the tolerance asks for: float32 proves no smaller gap."""
    return "float64" if crf.tolerance is not None and crf.tolerance <= FINEST else "auto"


def settings_for(crf: CRF, now: int, seen: int, warm: bool, increment: bool) -> Settings:
    """How to train on `now` of the `seen` sentences: as the estimator says, or one stretch more of a descent.

    A stretch goes on with the steps of a stochastic descent over all that was seen: η = η_0 / (1 + η_0·k·2·c2/B)
    after k of B sentences. A step size that is tried out on a few sentences would fit them and nothing else.
    """
    algorithm, seed = algorithm_of(crf.algorithm), seed_of(crf.random_state)
    if not increment:
        if warm and isinstance(algorithm, Auto) and algorithm.passes is None:
            algorithm = replace(algorithm, passes=0)  # stochastic passes would lead away from where the last fit ended
        return Settings(algorithm, crf.c1, crf.c2, seed, precision_for(crf), crf.local)
    first = RATE / (1 + RATE * 2 * crf.c2 * (seen - now) / seen)
    stretch = algorithm if isinstance(algorithm, SGD) else SGD(passes=getattr(algorithm, "passes", None))
    stretch = replace(stretch, passes=stretch.passes or 1, rate=first if stretch.rate is None else stretch.rate)
    share = now / seen
    return Settings(stretch, share * crf.c1, share * crf.c2, seed, local=crf.local)


def _facts(
    crf: CRF, settings: Settings, start: Parameters, features: Features, targets: Targets, held: HeldSentences | None
) -> dict[str, Any]:
    """What must be the same for a run to be resumed; when to stop need not be."""
    names = [vocabulary.parts[0] for vocabulary in (start.states, start.edges) if vocabulary is not None]
    structure = start.structure
    layout = [value for value in vars(structure).values() if isinstance(value, np.ndarray)]
    return {
        "model": crf.kind,
        **run_settings(settings, crf.max_iterations),
        "labels": list(start.labels),
        "scheme": start.scheme,
        "sentences": features.num_sentences,
        "tokens": features.num_tokens,
        "weights": structure.size,
        "lengths": checksum(features.offsets),
        "words": checksum(*feature_arrays(features), *names),
        "tags": checksum(targets.labels, targets.allowed, targets.weights, targets.surplus),
        "layout": checksum(*layout),
        "start": checksum(np.asarray(start.weights, np.float64)),
        "dev": None if held is None else held.mark(),
        **({"prune": crf.prune} if crf.prune else {}),
    }


def budget_of(crf: Any) -> Budget:
    """Return when training stops at the latest, and by tolerance."""
    algorithm = algorithm_of(crf.algorithm)
    passes = None if isinstance(algorithm, Auto) else getattr(algorithm, "passes", None)  # no other passes follow
    limits = [limit for limit in (crf.max_iterations, passes) if limit is not None]
    how = convergence_of(algorithm)
    tolerance = getattr(crf, "tolerance", None)  # a semi-CRF has none
    period = how.period if tolerance is None else 0
    return Budget(min(limits, default=None), crf.max_seconds, period, how.delta, tolerance)


def run_of(crf: Any, *, increment: bool = False, **files: Any) -> Run:
    """Return what happens around a training; arguments as of `Run`."""
    return Run(
        max_iterations=crf.max_iterations,
        max_seconds=crf.max_seconds,
        patience=None if increment else crf.patience,
        callbacks=crf.callbacks,
        verbose=crf.verbose,
        budget=budget_of(crf),
        **files,
    )
