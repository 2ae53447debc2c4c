"""Training a model on the sentences of many files, which workers read and hold: ``scale.fit(CRF("pos"), corpus)``.

What workers hold comes as sums: a likelihood with the calls of `training.likelihood.Likelihood`, or counts. Settings,
descent and everything else about a training are here, and are those of `fit` in one process: the weights are the same,
bit for bit, but for the stochastic passes of `auto`, which run side by side.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tagline.checks import shown_value
from tagline.errors import InputError
from tagline.features.knowledge import Knowledge
from tagline.messages import message
from tagline.models.crf.extraction import Extraction
from tagline.models.dev_score import check_dev
from tagline.models.files import TrainingFacts
from tagline.models.sentences import as_sentences
from tagline.models.sizes import warn_of_cost
from tagline.settings import check_settings
from tagline.training.algorithms import Settings, convergence_of, minimise, run_settings
from tagline.training.choices import ALGORITHMS, algorithm_of
from tagline.training.run import Run
from tagline.training.running.checkpoints import checksum
from tagline.training.running.progress import Budget, Reporter, narrating

if TYPE_CHECKING:
    from tagline.models.crf.estimator import CRF
    from tagline.models.crf.held import HeldSentences
    from tagline.models.neural.tagger import NeuralTagger
    from tagline.models.recipes import Recipe
    from tagline.models.trigram.estimator import TrigramTagger
    from tagline.readers.corpus import Corpus
    from tagline.readers.training_files import LabelledFiles
    from tagline.scale.corpora import ShardedCorpus
    from tagline.scale.crf import RemoteLesson

M = TypeVar("M")
_HERE = "tagline.scale.fitting"
_FITS = {
    **dict.fromkeys(("crf", "memm", "maxent"), (_HERE, "fit_crf")),
    **dict.fromkeys(("bilstm", "transformer"), (_HERE, "fit_tagger")),
    "trigram": (_HERE, "fit_trigrams"),
    "hmm": ("tagline.scale.hmm", "fit_hmm"),
}


def fit(model: M, corpus: ShardedCorpus, **arguments: Any) -> M:
    """Train a model on sentences that workers on Ray read and hold, and return it.

    Arguments:
        model: a `CRF`, `MEMM`, `MaxEnt`, `HMM`, `TrigramTagger`, `BiLSTMCRF` or `TransformerCRF`.
        corpus: as `tagline.scale.corpus` makes it; without labels an `HMM` learns hidden states.
        arguments: of the model's `fit`, but for those about single sentences.

    >>> import tempfile
    >>> from tagline import HMM, datasets, readers, scale
    >>> with tempfile.TemporaryDirectory() as folder:  # doctest: +SKIP
    ...     readers.write(datasets.make_entities(20), f"{folder}/part-0.txt")
    ...     model = scale.fit(HMM(), scale.corpus(folder, workers=2))
    """
    home, name = _FITS.get(getattr(model, "kind", ""), ("", ""))
    if not home:
        raise InputError(
            "model: expected one of {}, got {}; read the sentences here", ", ".join(_FITS), shown_value(model)
        )
    getattr(import_module(home), name)(model, corpus, **arguments)
    return model


def fit_files(recipe: Recipe, paths: str, reading: LabelledFiles, dev: Corpus | None, **spread: Any) -> ShardedCorpus:
    """Read and train as a recipe says, where workers on Ray read and hold the sentences; return these.

    Arguments:
        recipe: has the estimator, which is trained.
        paths, reading: files of sentences, and how they are read.
        dev: sentences that are scored after each pass.
        spread: how sentences are spread over processes, as `tagline.scale.corpus` takes it.
    """
    from tagline.scale.corpora import corpus

    if recipe.kind.name not in _FITS:
        able = message(" or ").join(_FITS)
        raise InputError("--ray: expected --model {}, got {}; leave --ray out", able, recipe.kind.name)
    if getattr(recipe.files, "cache", None) is not None:
        raise InputError("--cache, --ray: expected one of them, got both; workers compile on their own disks")
    for name in ("dictionary", "learn_dictionary", "documents"):
        if getattr(recipe.files, name, None):
            raise InputError("--{}, --ray: expected one of them, got both; leave out --ray", name.replace("_", "-"))
    data = corpus(paths, files=reading, **spread).named("--ray")
    data.tell, data.say = recipe.tell.stage, recipe.tell.say
    recipe.choose(data.sample, dev)
    data.columns = recipe.columns
    X, arguments = recipe.lesson(data, dev)
    fit(recipe.model, X, **arguments)
    recipe.check_learned()
    return data


def refuse(**others: Any) -> None:
    """Refuse what needs the sentences themselves."""
    for name, value in others.items():
        if value is not None:
            raise InputError(
                "{}: expected none beside sentences that other processes hold, got some; leave it out, or "
                "read the sentences into a Corpus",
                name,
            )


def fit_crf(
    crf: CRF,
    corpus: ShardedCorpus,
    *,
    X_dev: Any = None,
    y_dev: Any = None,
    edges_dev: Any = None,
    checkpoint: Any = None,
    resume: bool = False,
    save_every: float = 30.0,
    log: Any = None,
    tensorboard: Any = None,
    progress: Reporter | None = None,
    **others: Any,
) -> None:
    """Learn the weights of a feature CRF; arguments as of `CRF.fit`."""
    from tagline.models.crf.fitting import FittedCRF, Sentences, run_of, settings_for
    from tagline.models.crf.held import HeldSentences

    check_settings(crf)
    _check_use(crf, others)
    files: dict[str, Any] = {"checkpoint": checkpoint, "resume": resume, "save_every": save_every}
    run = run_of(crf, **files, log=log, tensorboard=tensorboard, progress=progress)
    has_dev = check_dev(X_dev, y_dev)
    extraction = Extraction(crf.features, crf.hash_bits, None, Knowledge())
    with corpus.crf_lesson(crf, extraction) as lesson:
        if not crf.local:
            warn_of_cost(lesson.tokens, len(lesson.start.labels))
        settings = settings_for(crf, lesson.sentences, lesson.sentences, False, False)
        held = None
        if has_dev:
            dev = Sentences(as_sentences(X_dev), y_dev, as_sentences(edges_dev))
            held = HeldSentences(dev, extraction, lesson.start, crf.scorer_class)
            run.dev = held.score
        with run.opened(lambda: _facts(crf, settings, corpus, lesson, held)):
            start = np.asarray(lesson.start.weights)
            convergence = convergence_of(settings.algorithm, crf.tolerance)
            trained = minimise(lesson.likelihood, start, settings, run, convergence)
    notes = () if extraction.template is None else extraction.template.notes
    training = TrainingFacts(
        lesson.sentences,
        len(trained.history),
        trained.objective,
        trained.reason,
        (*notes, *lesson.notes),
        gap=trained.gap,
        seed=settings.seed if crf.random_state is None else 0,
    )
    parameters = replace(lesson.start, weights=trained.weights).pruned()
    crf._learn(FittedCRF(parameters, extraction, training, trained.history))
    crf._record(corpus)
    if has_dev:
        crf._note_dev(X_dev, y_dev)


def _check_use(crf: CRF, others: dict[str, Any]) -> None:
    refuse(
        dictionary=crf.dictionary,
        clusters=crf.clusters,
        vectors=crf.vectors,
        order=None if crf.order == 1 else crf.order,
        stages=None if crf.stages == 1 else crf.stages,
        mentions=crf.mentions or None,
        warm_start=crf.warm_start or None,
        min_feature_frequency=crf.min_feature_frequency or None,
        **others,
    )
    if not (asked := algorithm_of(crf.algorithm)).sums:
        able = ", ".join(name for name, kind in ALGORITHMS.items() if kind.sums)
        raise InputError(
            "algorithm: expected one of {} for sentences that other processes hold, got {!r}, which goes "
            "from sentence to sentence",
            able,
            asked.name,
        )
    if crf.features is None:
        raise InputError("features: expected a template or a function for sentences of tokens, got None")
    if callable(crf.features) and crf.min_frequency > 1:
        raise InputError(
            "min_frequency: expected 0 or 1 for features by a function, got {}; a template can be cut",
            crf.min_frequency,
        )


def _facts(
    crf: CRF, settings: Settings, corpus: ShardedCorpus, lesson: RemoteLesson, held: HeldSentences | None
) -> dict[str, Any]:
    """What must be the same for a run to be resumed; how many processes there are need not be."""
    structure = lesson.start.structure
    layout = [value for value in vars(structure).values() if isinstance(value, np.ndarray)]
    return {
        "model": crf.kind,
        **run_settings(settings, crf.max_iterations),
        "labels": list(lesson.start.labels),
        "scheme": lesson.start.scheme,
        "sentences": lesson.sentences,
        "tokens": lesson.tokens,
        "weights": structure.size,
        "words": corpus.fingerprint,
        "layout": checksum(*layout),
        "dev": None if held is None else held.mark(),
    }


def fit_trigrams(tagger: TrigramTagger, corpus: ShardedCorpus, **others: Any) -> None:
    """Learn from trigrams that workers count."""
    from tagline.models.trigram.counts import TrigramCounts
    from tagline.models.trigram.parameters import Pairs, TaggedCounts, tells_capitals

    refuse(**others)
    check_settings(tagger)
    run = Run(callbacks=tagger.callbacks)
    run.started = run.clock()
    tally = corpus.tally(None, "error", grams=True)
    assert tally.grams is not None
    K = len(tally.labels)
    grams = TrigramCounts(2 * K, tally.grams[0].astype(np.int32), tally.grams[1])
    if not (tagger.capitals and tells_capitals(tally.words)):  # both states of a tag are one
        grams = TrigramCounts.added([grams], K, [np.array([*range(K), *range(K), K])])
    pairs = Pairs(tally.word_ids, tally.word_labels, tally.word_counts, len(tally.words), K)
    tagger._learned(TaggedCounts(tally.words, pairs, grams), tally.labels, tally.sentences, run, corpus, None)


def fit_tagger(
    tagger: NeuralTagger,
    corpus: ShardedCorpus,
    *,
    y: Any = None,
    sample_weight: Any = None,
    progress: Reporter | None = None,
    **more: Any,
) -> None:
    """Train a network in as many processes as there are workers, where callbacks are called."""
    refuse(y=y, sample_weight=sample_weight)
    tagger.check()
    there = copy.copy(tagger)
    there.verbose = False
    with narrating(tagger.verbose, Budget(tagger.epochs, tagger.max_seconds), progress) as tell:
        fitted = corpus.fit_network(there, more, tell)
    learned = {name: value for name, value in vars(fitted).items() if name != "verbose"}
    tagger.__dict__.update(learned)
