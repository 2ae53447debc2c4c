"""Labelled documents of spaCy → a model: what `initialize` of the component and `train` do.

Entities become tags of IOB2; where spaCy says that a token's annotation is missing, its label is unknown to the model,
which learns from the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from inspect import signature
from typing import Any, Literal

from spacy.tokens import Doc
from spacy.training import Example

from tagline.checks import check_choice, shown_value
from tagline.errors import InputError
from tagline.features.templates.choosing import choose_set
from tagline.interop.spacy.docs import READ, Attribute, DocSentences, Task, sentences_of
from tagline.models.contract import Model
from tagline.models.registry import kinds
from tagline.readers.corpus import TAG, Column, Corpus

TASKS, ATTRIBUTES = ("ner", "pos", "auto"), ("tag", "pos", "auto")

Labels = list[list[str | None]]


def train(
    examples: Iterable[Example | Doc],
    *,
    task: Literal["ner", "pos", "auto"] = "auto",
    kind: str = "crf",
    columns: Sequence[str] = ("text",),
    attribute: Literal["tag", "pos", "auto"] = "auto",
    **settings: Any,
) -> Model:
    """Train a model on annotated documents.

    Arguments:
        examples: of spaCy, whose references are taken; or documents, such as ``DocBin.get_docs(nlp.vocab)`` gives.
        task: "ner" for entities, "pos" for tags; "auto" for entities where there are any.
        kind: of model: crf, semicrf, hmm, trigram, bilstm or transformer.
        columns: what a model looks at, as for the component.
        attribute: "tag" or "pos", of tokens; "auto" for the first that is there.
        settings: of the estimator. The rules of IOB2 hold for entities unless there is another ``scheme``. A CRF
            without ``features`` takes the ready-made set that suits the labels.

    >>> import spacy
    >>> from tagline.interop.spacy import TaglineComponent, train
    >>> nlp = spacy.blank("en")
    >>> doc = nlp("Anna sings in Oslo")
    >>> doc.ents = [doc.char_span(0, 4, "PER"), doc.char_span(14, 18, "LOC")]
    >>> model = train([doc], c2=0.1)
    >>> [entity.label_ for entity in TaglineComponent(model=model)(nlp("Anna sings in Oslo")).ents]
    ['PER', 'LOC']
    """
    return learned(references(examples), task, kind, columns, attribute, settings)[0]


def learned(
    docs: Sequence[Doc], task: str, kind: str, columns: Sequence[str], attribute: str, settings: dict[str, Any]
) -> tuple[Model, Task, Attribute]:
    """Train a model, and say what it does, and from what attribute of tokens it has learned."""
    check_choice("task", task, TASKS)
    check_choice("attribute", attribute, ATTRIBUTES)
    check_choice("kind", kind, kinds())
    sentences = sentences_of(docs, check_columns(columns))
    chosen = _task(docs, task)
    source: Attribute = _attribute(docs, attribute) if chosen == "pos" else "tag"
    y = _entity_labels(docs, sentences) if chosen == "ner" else _tags(docs, sentences, source)
    if not any(label is not None for row in y for label in row):
        raise InputError("examples: expected documents that are annotated for {}, got none", chosen)
    owner: Any = kinds()[kind].estimator
    usual = {} if chosen == "pos" else {"scheme": "IOB2"}  # which entities are written in
    if kind == "crf" and "features" not in settings:
        usual["features"] = choose_set(_tagged(sentences.corpus, y))[0]
    known = signature(owner).parameters
    try:
        estimator: Any = owner(**{name: value for name, value in usual.items() if name in known} | settings)
    except TypeError as error:
        raise InputError("settings: expected those of the kind {}, got others ({})", kind, error) from None
    model: Model = estimator.fit(sentences.corpus, y)
    return model, chosen, source


def references(examples: Iterable[Any]) -> list[Doc]:
    """Return the annotated documents."""
    docs = [example.reference if isinstance(example, Example) else example for example in examples]
    if odd := [doc for doc in docs if not isinstance(doc, Doc)]:
        raise InputError(
            "examples: expected examples or documents of spaCy, got {}; of a DocBin: doc_bin.get_docs(nlp.vocab)",
            shown_value(odd[0]),
        )
    return docs


def check_columns(columns: Sequence[str]) -> Sequence[str]:
    """Refuse what tokens do not have."""
    if isinstance(columns, str) or not columns or not all(column in READ for column in columns):
        raise InputError("columns: expected a list of {}, got {}", ", ".join(READ), shown_value(columns))
    return columns


def _task(docs: Sequence[Doc], task: str) -> Task:
    if task == "auto":
        return "ner" if any(doc.ents for doc in docs) else "pos"
    return "ner" if task == "ner" else "pos"


def _attribute(docs: Sequence[Doc], attribute: str) -> Attribute:
    if attribute == "auto":
        return "tag" if any(doc.has_annotation("TAG") for doc in docs if len(doc)) else "pos"
    return "tag" if attribute == "tag" else "pos"


def _entity_labels(docs: Sequence[Doc], sentences: DocSentences) -> Labels:
    """Tags of IOB2, None where nothing is known; an entity that a sentence border cuts begins anew."""
    inside: list[dict[int, tuple[int, str]]] = [
        {i: (number, span.label_) for number, span in enumerate(doc.ents) for i in range(span.start, span.end)}
        for doc in docs
    ]
    out: Labels = []
    for number, row in zip(sentences.docs, sentences.tokens, strict=True):
        doc, entities = docs[number], inside[number]
        before: tuple[int, str] | None = None
        labels: list[str | None] = []
        for i in row:
            entity = entities.get(i)
            if entity is not None:
                labels.append(f"{'I' if entity == before else 'B'}-{entity[1]}")
            else:
                labels.append("O" if doc[i].ent_iob else None)
            before = entity
        out.append(labels)
    return out


def _tags(docs: Sequence[Doc], sentences: DocSentences, attribute: Attribute) -> Labels:
    read = READ[attribute]
    rows = zip(sentences.docs, sentences.tokens, strict=True)
    return [[read(docs[number][i]) or None for i in row] for number, row in rows]


def _tagged(corpus: Corpus, y: Labels) -> Corpus:
    """The corpus with its labels, to choose features by."""
    tags = Column.of(label or "O" for row in y for label in row)
    return Corpus({**corpus.columns, TAG: tags}, corpus.offsets)
