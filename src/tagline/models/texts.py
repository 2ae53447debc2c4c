"""Text in, entities out: `model.tag`, for every model that reads words.

Texts are split into sentences (`tagline.readers.split_sentences`) and cut into tokens as the command line does
(`tagline.models.cutting`); what is found is told in characters of the text as it was given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

from tagline.checks import check_number, check_switch, is_listing, refuse_moved, shown_value
from tagline.errors import InputError
from tagline.messages import message
from tagline.models.contract import Input
from tagline.models.cutting import AUTO, cut_for
from tagline.models.entities import reading_of
from tagline.models.known_spans import KnownSpans
from tagline.readers.corpus import Corpus
from tagline.readers.raw_text import corpus_of_texts
from tagline.readers.sentence_splitting import split_sentences

if TYPE_CHECKING:
    from tagline.models.answers import AnswerArrays

MOST_CHARACTERS = 1 << 20  # of texts that are worked on at once: memory holds their features
SHAPES = ("transformers",)
OUTSIDE = "O"  # the label of tokens that other tools leave out of their answers


@dataclass(frozen=True, slots=True)
class TextEntity:
    """An entity of a text.

    Attributes:
        text: its characters.
        type: empty where labels have no types.
        start, end: characters of the text, `end` exclusive.
        probability: that the labelling has exactly this entity.
    """

    text: str
    type: str
    start: int
    end: int
    probability: float


@dataclass(frozen=True, slots=True)
class TaggedToken:
    """A token of a text with its label.

    Attributes:
        text: its characters.
        label: the one that it has in the most probable labelling.
        start, end: characters of the text, `end` exclusive.
        probability: of the label; None where entities are told, with theirs.
    """

    text: str
    label: str
    start: int
    end: int
    probability: float | None = None


@dataclass(frozen=True, slots=True)
class TaggedText:
    """What a model found in a text.

    Attributes:
        text: as it was given.
        sentences: (start, end) characters of each.
        tokens: with their labels.
        entities: None where the labels mark none, such as parts of speech; tokens have probabilities then.
    """

    text: str
    sentences: tuple[tuple[int, int], ...]
    tokens: tuple[TaggedToken, ...]
    entities: tuple[TextEntity, ...] | None

    @property
    def labels(self) -> list[str]:
        """The label of each token."""
        return [token.label for token in self.tokens]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, lists and strings."""
        return asdict(self)

    def like_transformers(self) -> list[dict[str, Any]]:
        """Return what was found in the shape in which ``pipeline("token-classification")`` of transformers gives it.

        Entities as with its ``aggregation_strategy="simple"``; where labels mark none, tokens as with ``"none"``, but
        words instead of pieces of them, numbered from 1. Scores are floats, which JSON takes.
        """
        if self.entities is not None:
            return [
                {"entity_group": entity.type, "score": entity.probability, "word": entity.text}
                | {"start": entity.start, "end": entity.end}
                for entity in self.entities
            ]
        return [
            {"entity": token.label, "score": token.probability, "index": number, "word": token.text}
            | {"start": token.start, "end": token.end}
            for number, token in enumerate(self.tokens, 1)
            if token.label != OUTSIDE
        ]

    def _repr_html_(self) -> str:
        """The text with its entities in colour, for notebooks."""
        from tagline.showing import picture

        words = [token.text for token in self.tokens]
        shown: str = (picture(words, self.labels) if self.entities is None else picture(self))._repr_html_()
        return shown


class TextModel:
    """A model that takes texts as they are."""

    finds_spans: ClassVar[bool] = True
    """Whether the kind tells the probabilities of spans."""

    @overload
    def tag(  # type: ignore[overload-overlap]  # a string is an iterable of strings, too
        self,
        texts: str,
        *,
        tokenizer: str = AUTO,
        split: bool = True,
        min_probability: float = 0.0,
        known: Any = None,
        like: None = None,
    ) -> TaggedText: ...
    @overload
    def tag(  # type: ignore[overload-overlap]
        self,
        texts: str,
        *,
        tokenizer: str = AUTO,
        split: bool = True,
        min_probability: float = 0.0,
        known: Any = None,
        like: Literal["transformers"],
    ) -> list[dict[str, Any]]: ...
    @overload
    def tag(
        self,
        texts: Iterable[str],
        *,
        tokenizer: str = AUTO,
        split: bool = True,
        min_probability: float = 0.0,
        known: Any = None,
        like: None = None,
    ) -> list[TaggedText]: ...
    @overload
    def tag(
        self,
        texts: Iterable[str],
        *,
        tokenizer: str = AUTO,
        split: bool = True,
        min_probability: float = 0.0,
        known: Any = None,
        like: Literal["transformers"],
    ) -> list[list[dict[str, Any]]]: ...
    def tag(
        self,
        texts: str | Iterable[str],
        *,
        tokenizer: str = AUTO,
        split: bool = True,
        min_probability: float = 0.0,
        known: Any = None,
        like: Literal["transformers"] | None = None,
        **moved: Any,
    ) -> Any:
        """Find the entities of a text, or of many; where labels mark none, the label of each token.

        Arguments:
            texts: a string, or a list, an iterable or a Series of pandas or polars of strings.
            tokenizer: how texts are cut: ``words``, ``characters``, ``whitespace``, ``treebank``, or ``auto`` as the
                tokens were that the model learned from.
            split: whether texts are split into sentences; else each is one.
            min_probability: entities that are less probable are left out.
            known: what is known of the text, as (start, end, label) in characters of it, `end` exclusive: an entity by
                its type, or a label (or a set of them) for each token there. Every answer keeps to it. Of many texts a
                list of such lists; None where nothing is known of one.
            like: ``transformers`` for dictionaries as its pipeline gives them (`TaggedText.like_transformers`).

        Returns:
            A `TaggedText` for a string, a list of them for many; with `like` a list of dictionaries in place of each.
        """
        refuse_moved("tag", moved, {"tokens": "tokenizer"})
        if like is not None and like not in SHAPES:
            raise InputError("like: expected {} or None, got {}", ", ".join(SHAPES), shown_value(like))
        if isinstance(texts, str):
            many: Iterable[str] = [texts]
            rows = None if known is None else {0: ("known", known)}
        else:
            many = _strings(texts)
            rows = None if known is None else _known_rows(known, many := list(many))
        tagged = self._tag_texts(many, tokenizer, split, min_probability, rows)
        shaped = tagged if like is None else [text.like_transformers() for text in tagged]
        return shaped[0] if isinstance(texts, str) else shaped

    def _tag_texts(
        self,
        texts: Iterable[str],
        tokenizer: str,
        split: bool,
        min_probability: float,
        known: Mapping[int, tuple[str, Any]] | None,
    ) -> list[TaggedText]:
        """Tag texts, a block of them at a time; `known` has how messages name what is known of a text, and that."""
        model: Any = self
        check_switch("split", split)
        check_number("min_probability", min_probability, least=0, most=1, wanted=message("a number from 0 to 1"))
        _refuse(model.input_)
        cut, reading = cut_for(model, tokenizer), reading_of(model)
        tagged: list[TaggedText] = []
        for block in _blocks(texts):
            sentences = [split_sentences(text) if split else [(0, len(text))] for text in block]
            pieces = [text[start:end] for text, row in zip(block, sentences, strict=True) for start, end in row]
            corpus = corpus_of_texts(pieces, cut)
            held: list[Any] | None = None
            if known is not None:
                spans, held = KnownSpans(model.labels_, reading), []
                for n, (text, bounds) in enumerate(zip(block, sentences, strict=True), len(tagged)):
                    place, entries = known[n]
                    held += spans.rows(entries, place, text, corpus, len(held), bounds)
            arrays: AnswerArrays = model.answer_arrays(
                corpus,
                **({"documents": [len(row) for row in sentences]} if model.input_.documents else {}),
                spans=reading is not None,
                marginals=reading is None,
                **({} if reading is None else {"min_probability": min_probability}),
                **({} if held is None else {"known": held}),
            )
            tagged.extend(_tagged(block, sentences, corpus, arrays))
        return tagged


def _refuse(needs: Input) -> None:
    if needs.refusal is not None:
        raise InputError("tag: {}; use predict", needs.refusal)
    if needs.columns > 1:
        raise InputError(
            "tag: expected a model that looks at words alone, got one that looks at {} columns, as "
            "{} names them; give sentences with their columns to predict",
            needs.columns,
            needs.source,
        )


def _known_rows(known: Any, texts: Sequence[str]) -> dict[int, tuple[str, Any]]:
    """What is known of each of some texts, with how messages name it."""
    rows = list(known) if is_listing(known) else []
    if len(rows) != len(texts):
        raise InputError("known: expected a list for each of {} texts, got {}", len(texts), shown_value(known))
    return {n: (f"known[{n}]", row) for n, row in enumerate(rows)}


def _strings(texts: Any) -> Iterator[str]:
    """The texts of an iterable, each of them checked."""
    if isinstance(texts, bytes | Mapping) or hasattr(texts, "columns") or not isinstance(texts, Iterable):
        remedy = message("; give one column, such as df['text']") if hasattr(texts, "columns") else ""
        raise InputError("texts: expected a string or a list of strings, got {}{}", shown_value(texts), remedy)
    for n, text in enumerate(texts):
        if not isinstance(text, str):
            remedy = message("; for sentences of tokens there is predict") if isinstance(text, list | tuple) else ""
            raise InputError("texts[{}]: expected a string, got {}{}", n, shown_value(text), remedy)
        yield text


def _blocks(texts: Iterable[str]) -> Iterator[list[str]]:
    """Texts of about `MOST_CHARACTERS` together."""
    block: list[str] = []
    size = 0
    for text in texts:
        block.append(text)
        size += len(text)
        if size >= MOST_CHARACTERS:
            yield block
            block, size = [], 0
    if block:
        yield block


def _tagged(
    texts: Sequence[str], sentences: Sequence[list[tuple[int, int]]], corpus: Corpus, arrays: AnswerArrays
) -> Iterator[TaggedText]:
    """Put the answers about sentences together, text by text."""
    assert corpus.token_spans is not None
    offsets, places = corpus.offsets.tolist(), corpus.token_spans.tolist()
    labels = [arrays.names[label] for label in arrays.labels.tolist()]
    chances = [None] * len(labels) if arrays.probabilities is None else arrays.probabilities.tolist()
    entities = None
    if arrays.spans is not None:
        entities = arrays.spans.entities(len(corpus), lambda b, start, end: None)
    edges = [0]
    for row in sentences:
        edges.append(edges[-1] + len(row))
    for text, row, (first, last) in zip(texts, sentences, pairwise(edges), strict=True):
        tokens, found = [], []
        for b, (base, _) in zip(range(first, last), row, strict=True):
            for n in range(offsets[b], offsets[b + 1]):
                start, end = base + places[n][0], base + places[n][1]
                tokens.append(TaggedToken(text[start:end], labels[n], start, end, chances[n]))
            for entity in entities[b] if entities is not None else ():
                start = base + places[offsets[b] + entity.start][0]
                end = base + places[offsets[b] + entity.end - 1][1]
                found.append(TextEntity(text[start:end], entity.type, start, end, entity.probability))
        yield TaggedText(text, tuple(row), tuple(tokens), None if entities is None else tuple(found))
