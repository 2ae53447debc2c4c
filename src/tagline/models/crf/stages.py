"""Two stages: a first model labels a document, and a second one looks at what it says of a word elsewhere in it.

In training the second must see labels as good as those that it will get. So the documents are dealt into five parts,
and each is labelled by a model that has learned from the other four (cross-fitting); a sixth, which has learned from
all, is the first stage of the fitted model. `tagline.features.documents` makes columns of the labels.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tagline.checks import seed_of
from tagline.errors import DataWarning, InputError
from tagline.features.documents import (
    COLUMNS,
    document_columns,
    document_lines,
    document_numbers,
    document_sizes,
)
from tagline.features.templates.lines import TemplateLine
from tagline.features.templates.template import Template
from tagline.models.crf.compilation import CompiledCorpus
from tagline.models.crf.extraction import as_template, looks_at_mentions
from tagline.models.crf.tagger import CRFTagger
from tagline.models.sentences import tokens_as_corpus
from tagline.readers.corpus import TAG, Corpus
from tagline.types import IntArray

if TYPE_CHECKING:
    from tagline.models.crf.estimator import CRF

FOLDS = 5


@dataclass(frozen=True, eq=False)
class Staged:
    """What the second stage learns from.

    Attributes:
        sentences: those of training with the columns of documents.
        template: of the second stage.
        first: the model of the first.
        seed: of both.
        documents: how many sentences each has.
    """

    sentences: Corpus
    template: Template
    first: CRFTagger
    seed: int
    documents: IntArray


def first_stage(crf: CRF, X: Any, y: Any, documents: Any, sample_weight: ArrayLike | None = None) -> Staged:
    """Train the first stage; label the sentences by models that have not seen their documents."""
    template = as_template(crf.features)
    if template is None:
        raise InputError("stages: expected 1 without a template, got 2; pass features= a template or a ready-made set")
    if isinstance(X, CompiledCorpus):
        raise InputError("X: expected sentences for two stages, got a compiled corpus; pass a Corpus")
    corpus = tokens_as_corpus(X, template.num_columns)
    numbers = document_numbers(corpus, documents)
    if len(np.unique(numbers)) < 2:
        raise InputError("documents: expected 2 or more to learn two stages from, got 1; pass stages=1")
    template.check_columns([name for name in corpus.names if name != TAG])
    width = max(1, template.num_columns)
    seed = seed_of(crf.random_state)
    settings = {**crf.get_params(deep=False), "features": _without_vectors(template), "vectors": None, "stages": 1}
    reads = looks_at_mentions(crf)
    settings |= {"patience": None, "callbacks": (), "verbose": False, "random_state": seed}
    rows = corpus.tags if y is None else list(y)
    weights = None if sample_weight is None else np.asarray(sample_weight)
    bare = corpus.with_columns({name: column for name, column in corpus.columns.items() if name != TAG})

    def within(which: Any) -> dict[str, Any]:
        return {"documents": document_sizes(numbers[which])} if reads else {}

    def fitted(which: Any) -> CRF:
        share = None if weights is None else weights[which]
        model = type(crf)(**settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # the second stage says it, of all sentences
            model.fit(bare.take(which), [rows[b] for b in which], sample_weight=share, **within(which))
        if model.stop_reason_ == "interrupted":  # what was learned so far is no model of two stages
            raise KeyboardInterrupt
        return model

    first = fitted(list(range(len(rows))))  # before the parts: what is wrong with a sentence is told by its number in X
    labels: list[list[str]] = [[] for _ in rows]
    part = numbers % FOLDS
    for fold in np.unique(part):
        held = np.flatnonzero(part == fold).tolist()
        model = fitted(np.flatnonzero(part != fold).tolist())
        for b, labelling in zip(held, model.predict(bare.take(held), **within(held)), strict=True):
            labels[b] = labelling
    tagger = CRFTagger()
    tagger._take_over(first.parameters_, first._extraction, first.training_)
    staged = document_columns(corpus, width, labels, first.parameters_.scheme, numbers)
    return Staged(staged, document_lines(template, width), tagger, seed, document_sizes(numbers))


def with_stage(staged: Staged | None, X: Any, documents: Any) -> tuple[Any, Any]:
    """Return the sentences of a dev set as the second stage sees them, and their documents."""
    if staged is None:
        return X, documents
    return staged.first.labelled_documents(X, staged.template.num_columns - len(COLUMNS), documents)


def staged_inputs(crf: CRF, documents: Any, documents_dev: Any) -> dict[str, Any]:
    """Return what answers about the dev set are given beside its sentences."""
    if crf.stages == 1 and not looks_at_mentions(crf) and (documents is not None or documents_dev is not None):
        raise InputError(
            "documents: expected None with one stage and no mentions, got some; pass stages=2 or mentions=2 to CRF"
        )
    return {} if documents_dev is None else {"documents": documents_dev}


def _without_vectors(template: Template) -> Template:
    """Return the template of the first stage, which looks at no vectors: they take most of the time."""
    if not template.vector_lines:
        return template
    if not template.states:
        raise InputError(
            "stages: expected a U line without %v in {}, for the first stage looks at no vectors, got none; "
            "add U00:%x[0,0], or pass stages=1",
            template.source,
        )
    return _of_lines(template, [line for line in template.lines if not line.is_vector])


def without_documents(template: Template) -> Template:
    """Return the template of a second stage without its lines for the columns of documents."""
    width = template.num_columns - len(COLUMNS)
    own = [line for line in template.lines if all(macro.derivation.column < width for macro in line.macros)]
    return _of_lines(template, own)


def _of_lines(template: Template, lines: Sequence[TemplateLine]) -> Template:
    return Template.parse("\n".join([*(line.text for line in lines), ""]), template.source)
