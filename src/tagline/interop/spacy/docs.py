"""Documents of spaCy ↔ sentences of a model: tokens in; entities, tags and their probabilities out.

Sentences are those of ``doc.sents`` where their borders are set; else the whole document is one. Tokens of whitespace,
which no corpus has, are not shown to a model: an entity may have them inside, and as tags they get what spaCy's own
pipelines give them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, TypeAlias

from spacy.parts_of_speech import IDS  # type: ignore[import-not-found]  # of C
from spacy.tokens import Doc, Span, Token

from tagline.ragged import offsets_of
from tagline.readers.corpus import TOKEN, Column, Corpus

Task: TypeAlias = Literal["ner", "pos"]
Attribute: TypeAlias = Literal["tag", "pos"]

READ: dict[str, Callable[[Token], str]] = {
    "text": lambda token: token.text,
    "lower": lambda token: token.lower_,
    "norm": lambda token: token.norm_,
    "shape": lambda token: token.shape_,
    "lemma": lambda token: token.lemma_,
    "tag": lambda token: token.tag_,
    "pos": lambda token: token.pos_,
}
"""What of a token can be a column of a corpus."""

UNIVERSAL = frozenset(IDS) - {""}
"""The parts of speech that ``token.pos_`` takes."""

BLANK: dict[Attribute, str] = {"tag": "_SP", "pos": "SPACE"}  # what whitespace is tagged with
PROBABILITY = "probability"
_KEPT = "tagline_probability"  # what was written to which attributes, and the probability of it
_OF_SPANS = ("label_", "id_")  # by which an entity of another component differs from ours
NO_TYPE = "SPAN"  # the label of entities whose tags have no types: spaCy's must have one


@dataclass(frozen=True, eq=False)
class DocSentences:
    """B sentences of documents.

    Attributes:
        corpus: as models take it.
        docs: ``[B]``, the number of each sentence's document.
        tokens: for each sentence the numbers of its tokens in the document.
    """

    corpus: Corpus
    docs: list[int]
    tokens: list[list[int]]


@dataclass(frozen=True, slots=True)
class PredictedEntity:
    """An entity in a document: tokens, `end` exclusive; the probability is None where a model does not tell it."""

    start: int
    end: int
    type: str
    probability: float | None


def declare() -> None:
    """Make ``span._.probability`` and ``token._.probability`` known, unless they are registered already.

    spaCy keeps values by place, whatever is written there later. Ours are kept with what they are of, and an entity or
    a tag that another component put in the place of ours has none.
    """
    for owner in (Span, Token):
        if not owner.has_extension(_KEPT):
            owner.set_extension(_KEPT, default=None)
        if not owner.has_extension(PROBABILITY):
            owner.set_extension(PROBABILITY, getter=_probability_of, setter=_keep_probability)


def keep(what: Span | Token, names: Sequence[str], probability: float | None) -> None:
    """Keep the probability of what was written to attributes of an entity or a token."""
    what._.set(_KEPT, [{name: getattr(what, name) for name in names}, probability])
    if type(what).get_extension(PROBABILITY)[2] is not _probability_of:
        what._.set(PROBABILITY, probability)


def _keep_probability(what: Span | Token, probability: float | None) -> None:
    keep(what, _OF_SPANS if isinstance(what, Span) else ("tag_", "pos_"), probability)


def _probability_of(what: Span | Token) -> float | None:
    facts, probability = what._.get(_KEPT) or ({}, None)
    return probability if all(getattr(what, name) == value for name, value in facts.items()) else None


def words_of(doc: Doc) -> Iterator[list[int]]:
    """Return for each sentence the numbers of its tokens that are words; sentences without any are left out."""
    whole = not doc.has_annotation("SENT_START")
    for start, end in [(0, len(doc))] if whole else [(sentence.start, sentence.end) for sentence in doc.sents]:
        if words := [i for i in range(start, end) if not doc[i].is_space]:
            yield words


def sentences_of(docs: Iterable[Doc], columns: Sequence[str]) -> DocSentences:
    """Read documents.

    Arguments:
        columns: names of `READ`; the first is what models call the token.
    """
    numbers: list[int] = []
    rows: list[list[int]] = []
    strings: list[list[str]] = [[] for _ in columns]
    for number, doc in enumerate(docs):
        for row in words_of(doc):
            numbers.append(number)
            rows.append(row)
            for read, column in zip(columns, strings, strict=True):
                column += map(READ[read], map(doc.__getitem__, row))
    names = [TOKEN, *(f"column{c}" for c in range(1, len(columns)))]
    columns_read = {name: Column.of(column) for name, column in zip(names, strings, strict=True)}
    return DocSentences(Corpus(columns_read, offsets_of([len(row) for row in rows])), numbers, rows)


def set_entities(doc: Doc, found: Sequence[PredictedEntity], overwrite: bool) -> None:
    """Write entities to a document.

    Arguments:
        found: in order, none of them overlapping another.
        overwrite: whether those that are there go; else they stay, and what overlaps with them is left out. Tokens that
            must not be in an entity (spaCy calls them blocked) stay so, too.
    """
    kept: list[Span] = [] if overwrite else list(doc.ents)
    blocked: list[Span] = []
    if not overwrite and doc.has_annotation("ENT_IOB"):
        blocked = [doc[token.i : token.i + 1] for token in doc if token.ent_iob_ == "B" and not token.ent_type]
    taken = {*chain.from_iterable(range(span.start, span.end) for span in (*kept, *blocked))}
    for entity in found:
        if taken.isdisjoint(range(entity.start, entity.end)):
            span = Span(doc, entity.start, entity.end, label=entity.type or NO_TYPE)
            keep(span, _OF_SPANS, entity.probability)
            kept.append(span)
    doc.set_ents(kept, blocked=blocked, default="outside")


def set_tags(doc: Doc, found: Iterable[tuple[int, str, float]], attribute: Attribute, overwrite: bool) -> None:
    """Write tags or parts of speech to a document, and to tokens of whitespace what spaCy's own pipelines write there.

    Arguments:
        found: numbers of tokens, their labels, and the probabilities of these.
        overwrite: whether those that are there go.
    """
    name = f"{attribute}_"
    for i, label, chance in found:
        token = doc[i]
        if overwrite or not getattr(token, name):
            setattr(token, name, label)
            keep(token, (name,), chance)
    for token in doc:
        if token.is_space and (overwrite or not getattr(token, name)):
            setattr(token, name, BLANK[attribute])
