"""A model at work on sentences of documents: what it is asked for, and where in the documents the answers belong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from tagline.errors import InputError
from tagline.interop.spacy.docs import NO_TYPE, UNIVERSAL, Attribute, DocSentences, PredictedEntity, Task
from tagline.models.contract import Model
from tagline.models.entities import Reading


@dataclass(frozen=True, eq=False)
class Worker:
    """A model that labels words, and what its labels are for.

    Attributes:
        task: entities, or a tag of each token.
        attribute: what tags are written to.
        reading: how labels make spans; None where they make none.
        labels: types of entities, or tags.
    """

    model: Model
    task: Task
    attribute: Attribute
    reading: Reading | None
    labels: tuple[str, ...]

    @classmethod
    def of(cls, model: Model, task: str, attribute: str, columns: Sequence[str]) -> Worker:
        """Settle what is to be done, or say why the model cannot do it."""
        _check_input(model, columns)
        names = tuple(str(label) for label in model.labels_)
        reading = _reading(model, names, task)
        if reading is not None and task != "pos":
            return cls(model, "ner", "tag", reading, tuple(sorted(kind or NO_TYPE for kind in reading.types)))
        universal = UNIVERSAL.issuperset(names)
        if attribute == "pos" and not universal:
            odd = next(name for name in names if name not in UNIVERSAL)
            raise InputError(
                "attribute: expected tag, for token.pos_ takes {} alone, got pos for a model with the label {!r}",
                ", ".join(sorted(UNIVERSAL)),
                odd,
            )
        to_pos = attribute == "pos" or (attribute == "auto" and universal)
        return cls(model, "pos", "pos" if to_pos else "tag", None, names)

    def entities(self, sentences: DocSentences, num_docs: int, min_probability: float) -> list[list[PredictedEntity]]:
        """Find the entities of each document; their probabilities are exact, None where the model does not tell them.

        Arguments:
            min_probability: those that are less probable are left out.
        """
        assert self.reading is not None
        if self.model.finds_spans:
            spans = self.model.answer_arrays(sentences.corpus, spans=True, min_probability=min_probability).spans
            assert spans is not None
            types, kinds = spans.types, spans.kind.tolist()
            places, chances = (spans.sentence, spans.start, spans.end), spans.probability.tolist()
        else:
            if min_probability > 0:
                raise InputError(
                    "min_probability: expected 0 for a model of kind {}, which does not tell how probable "
                    "spans are, got {}",
                    self.model.kind,
                    min_probability,
                )
            arrays = self.model.answer_arrays(sentences.corpus)
            read = self.reading.spans(arrays.labels, arrays.offsets)
            types, kinds = read.labels, read.label.tolist()
            places, chances = (read.sentence, read.start, read.end), [None] * len(read.start)
        found: list[list[PredictedEntity]] = [[] for _ in range(num_docs)]
        rows = (values.tolist() for values in places)
        for b, start, end, kind, chance in zip(*rows, kinds, chances, strict=True):
            tokens = sentences.tokens[b]
            found[sentences.docs[b]].append(PredictedEntity(tokens[start], tokens[end - 1] + 1, types[kind], chance))
        return found

    def tags(self, sentences: DocSentences, num_docs: int) -> list[list[tuple[int, str, float]]]:
        """Find for each document its tokens, but for whitespace, with their labels and the probabilities of these."""
        arrays = self.model.answer_arrays(sentences.corpus, marginals=True)
        assert arrays.probabilities is not None
        labels, chances = [arrays.names[k] for k in arrays.labels.tolist()], arrays.probabilities.tolist()
        found: list[list[tuple[int, str, float]]] = [[] for _ in range(num_docs)]
        edges = pairwise(arrays.offsets.tolist())
        for number, tokens, (first, last) in zip(sentences.docs, sentences.tokens, edges, strict=True):
            found[number] += zip(tokens, labels[first:last], chances[first:last], strict=True)
        return found


def _check_input(model: Model, columns: Sequence[str]) -> None:
    """Refuse a model that cannot be shown tokens of a document."""
    needs = model.input_
    if needs.refusal is not None:
        raise InputError("model: {}", needs.refusal)
    if needs.columns > len(columns):
        raise InputError(
            "columns: expected {}, at which the model looks ({}), got {}: {}; "
            'name attributes of tokens, such as config={{"columns": ["text", "tag"]}}',
            needs.columns,
            needs.source,
            len(columns),
            ", ".join(columns),
        )


def _reading(model: Model, names: Sequence[str], task: str) -> Reading | None:
    """How the labels make spans; None where they make none, which is an error if entities were asked for."""
    try:
        return Reading.of(names, model.scheme_name)
    except InputError as error:
        if task == "ner":
            raise InputError("task: expected pos for labels that mark no spans, got ner ({})", error) from None
        return None
