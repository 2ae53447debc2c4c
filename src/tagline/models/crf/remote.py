"""A feature CRF from sentences that other processes hold: settings and descent are here, the sums come from there.

The weights are those that `fitting` would reach with the same sentences in this process, bit for bit, but for the
stochastic passes of `auto`, which run side by side there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tagline.errors import InputError
from tagline.features.knowledge import Knowledge
from tagline.models.crf.extraction import Extraction
from tagline.models.crf.fitting import (
    FittedCRF,
    Sentences,
    settings_for,
)
from tagline.models.crf.held import HeldSentences
from tagline.models.files import TrainingFacts
from tagline.models.remote import RemoteCorpus, RemoteLesson
from tagline.models.sizes import warn_of_cost
from tagline.training.algorithms import Settings, convergence_of, minimise, run_settings
from tagline.training.choices import ALGORITHMS, algorithm_of
from tagline.training.run import Run
from tagline.training.running.checkpoints import checksum

if TYPE_CHECKING:
    from tagline.models.crf.estimator import CRF


def fit_remote(crf: CRF, sentences: Sentences, dev: Sentences | None, run: Run, **others: Any) -> FittedCRF:
    """Learn weights as the settings of an estimator say; arguments as of `fit_crf`."""
    X = sentences.X
    assert isinstance(X, RemoteCorpus)
    _check_use(crf, sentences, others)
    extraction = Extraction(crf.features, crf.hash_bits, None, Knowledge())
    with X.crf_lesson(crf, extraction) as lesson:
        if not crf.local:
            warn_of_cost(lesson.tokens, len(lesson.start.labels))
        settings = settings_for(crf, lesson.sentences, lesson.sentences, False, False)
        held = None if dev is None else HeldSentences(dev, extraction, lesson.start, crf.scorer_class)
        run.dev = None if held is None else held.score
        with run.opened(lambda: _facts(crf, settings, X, lesson, held)):
            start = np.asarray(lesson.start.weights)
            trained = minimise(
                lesson.likelihood, start, settings, run, convergence_of(settings.algorithm, crf.tolerance)
            )
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
    return FittedCRF(replace(lesson.start, weights=trained.weights).pruned(), extraction, training, trained.history)


def _check_use(crf: CRF, sentences: Sentences, others: dict[str, Any]) -> None:
    """Refuse what needs the sentences themselves."""
    refused: dict[str, Any] = {
        "y": sentences.y,
        "edges": sentences.edges,
        "dictionary": crf.dictionary,
        "clusters": crf.clusters,
        "vectors": crf.vectors,
        "order": None if crf.order == 1 else crf.order,
        "warm_start": crf.warm_start or None,
        "min_feature_frequency": crf.min_feature_frequency or None,
        **others,
    }
    for name, value in refused.items():
        if value is not None:
            raise InputError(
                f"{name}: expected none beside sentences that other processes hold, got some; leave it out, or read "
                "the sentences into a Corpus"
            )
    if not (asked := algorithm_of(crf.algorithm)).sums:
        able = ", ".join(name for name, kind in ALGORITHMS.items() if kind.sums)
        raise InputError(
            f"algorithm: expected one of {able} for sentences that other processes hold, got "
            f"{asked.name!r}, which goes from sentence to sentence"
        )
    if crf.features is None:
        raise InputError("features: expected a template or a function for sentences of tokens, got None")
    if callable(crf.features) and crf.min_frequency > 1:
        raise InputError(
            f"min_frequency: expected 0 or 1 for features by a function, got {crf.min_frequency}; a template can be cut"
        )


def _facts(
    crf: CRF, settings: Settings, X: RemoteCorpus, lesson: RemoteLesson, held: HeldSentences | None
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
        "words": X.fingerprint,
        "layout": checksum(*layout),
        "dev": None if held is None else held.mark(),
    }
