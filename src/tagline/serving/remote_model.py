"""A model behind a service that stands where a loaded one would: `tagline tag --url` asks it as it asks a file's."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from tagline.errors import InputError
from tagline.messages import message
from tagline.models.answers import Answer, AnswerArrays, Labelling
from tagline.models.contract import Input
from tagline.models.entities import FoundSpans
from tagline.ragged import offsets_of
from tagline.readers.corpus import Corpus
from tagline.serving.client import Client, entities_of, labels_of, tokens_of
from tagline.serving.shapes import JsonPart


class RemoteModel:
    """What `tagline tag` asks of a model, asked of a service.

    Arguments:
        client: of the service, and of the model there.
    """

    def __init__(self, client: Client) -> None:
        self.client = client

    @cached_property
    def facts(self) -> JsonPart:
        """What the service says of the model."""
        return self.client.facts()

    @property
    def labels_(self) -> list[str]:
        """The labels."""
        return self.facts["labels"].texts

    @property
    def scheme_name(self) -> str | None:
        """The tag scheme whose rules hold."""
        scheme = self.facts["scheme"]
        return None if scheme.value is None else scheme.text

    @property
    def input_(self) -> Input:
        """What it reads of a sentence."""
        refusal = None if self.facts["reads_words"].flag else message("expected a model that reads words, got another")
        return Input(self.facts["columns"].whole, "the model", self.facts["by_character"].flag, refusal)

    @property
    def tokenizer(self) -> str:
        """How the service cuts texts for the model."""
        tokenizer = self.facts["tokenizer"]
        return "words" if tokenizer.value is None else tokenizer.text

    def answer_arrays(
        self, X: Corpus, *, marginals: bool = False, spans: bool = False, min_probability: float = 0.0
    ) -> AnswerArrays:
        """Answer about the best labelling of sentences; see `ChainModel.answer_arrays`."""
        options = {"marginals": marginals, "spans": spans, "min_probability": min_probability}
        items = list(self.client._sentences(_rows(X), options, None))
        numbers = {label: number for number, label in enumerate(self.labels_)}
        tokens = [tokens_of(item) for item in items]
        labels = np.array([_number(token["label"], numbers) for row in tokens for token in row], np.int64)
        chances = None
        if marginals:
            chances = np.array([token["probability"].number for row in tokens for token in row], np.float64)
        offsets = offsets_of([len(row) for row in tokens])
        return AnswerArrays(tuple(numbers), offsets, labels, chances, self._spans(items) if spans else None)

    def _spans(self, items: list[JsonPart]) -> FoundSpans:
        if items and "entities" not in items[0]:
            raise InputError("--spans: expected a model whose labels mark spans, got another")
        types = {name: number for number, name in enumerate(self.facts["types"].texts)}
        rows = [
            (b, found.start, found.end, _number(entity["type"], types), found.probability)
            for b, item in enumerate(items)
            for entity, found in zip(item["entities"].rows, entities_of(item), strict=True)
        ]
        columns = list(zip(*rows, strict=True)) or [()] * 5
        sentence, start, end, kind = (np.array(column, np.int64) for column in columns[:4])
        return FoundSpans(sentence, start, end, kind, tuple(types), np.array(columns[4], np.float64))

    def answer(
        self,
        X: Corpus,
        *,
        marginals: bool = False,
        spans: bool = False,
        k_best: int = 0,
        min_probability: float = 0.0,
    ) -> list[Answer]:
        """Answer several questions; see `ChainModel.answer`."""
        options = {"marginals": marginals, "spans": spans, "k_best": k_best, "min_probability": min_probability}
        return [_answer(item, len(self.labels_)) for item in self.client._sentences(_rows(X), options, None)]


def _rows(corpus: Corpus) -> list[list[Any]]:
    """Sentences of words, or of words with their columns."""
    columns = [column.strings for column in corpus.columns.values()]
    rows: list[Any] = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
    return [list(rows[first:last]) for first, last in pairwise(corpus.offsets.tolist())]


def _number(name: JsonPart, numbers: dict[str, int]) -> int:
    if (number := numbers.get(name.text)) is None:
        raise name.wrong(message("one that the model has"))
    return number


def _answer(item: JsonPart, num_labels: int) -> Answer:
    sentence = item["sentences"].one
    tokens = sentence["tokens"].rows
    chances = None
    if tokens and "marginals" in tokens[0]:
        chances = np.array([token["marginals"].numbers(num_labels) for token in tokens], np.float64)
    ranked = None
    if "k_best" in sentence:
        ranked = [
            Labelling(row["labels"].texts, row["probability"].number, float("nan")) for row in sentence["k_best"].rows
        ]
    entities = entities_of(item) if "entities" in item else None
    return Answer(labels_of(item), chances, entities, ranked)
