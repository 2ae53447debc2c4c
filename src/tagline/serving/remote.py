"""A model behind a service that stands where a loaded one would: `tagline tag --url` asks it as it asks a file's."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from tagline.errors import InputError
from tagline.models.answers import Answer, AnswerArrays, Labelling
from tagline.models.contract import Input
from tagline.models.entities import Entity, FoundSpans
from tagline.ragged import offsets_of
from tagline.readers.corpus import Corpus
from tagline.serving.client import Client


class RemoteModel:
    """What `tagline tag` asks of a model, asked of a service.

    Arguments:
        client: of the service, and of the model there.
    """

    def __init__(self, client: Client) -> None:
        self.client = client

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What the service says of the model."""
        return self.client.describe()

    @property
    def labels_(self) -> list[str]:
        """The labels."""
        labels: list[str] = self.facts["labels"]
        return labels

    @property
    def scheme_name(self) -> str | None:
        """The tag scheme whose rules hold."""
        scheme: str | None = self.facts["scheme"]
        return scheme

    @property
    def input_(self) -> Input:
        """What it reads of a sentence."""
        refusal = None if self.facts["reads_words"] else "expected a model that reads words, got another"
        return Input(self.facts["columns"], "the model", self.facts["by_character"], refusal)

    @property
    def tokenizer(self) -> str:
        """How the service cuts texts for the model."""
        return str(self.facts["tokenizer"] or "words")

    def answer_arrays(
        self, X: Corpus, *, marginals: bool = False, spans: bool = False, min_probability: float = 0.0
    ) -> AnswerArrays:
        """Answer about the best labelling of sentences; see `ChainModel.answer_arrays`."""
        options = {"marginals": marginals, "spans": spans, "min_probability": min_probability}
        items = list(self.client._sentences(_rows(X), options, None))
        numbers = {label: number for number, label in enumerate(self.labels_)}
        tokens = [item["sentences"][0]["tokens"] for item in items]
        labels = np.array([numbers[token["label"]] for row in tokens for token in row], np.int64)
        chances = np.array([token["probability"] for row in tokens for token in row]) if marginals else None
        offsets = offsets_of([len(row) for row in tokens])
        return AnswerArrays(tuple(self.labels_), offsets, labels, chances, self._spans(items) if spans else None)

    def _spans(self, items: list[dict[str, Any]]) -> FoundSpans:
        if items and "entities" not in items[0]:
            raise InputError("--spans: expected a model whose labels mark spans, got another")
        types = tuple(self.facts["types"])
        rows = [
            (b, *entity["tokens"], types.index(entity["type"]), entity["probability"])
            for b, item in enumerate(items)
            for entity in item["entities"]
        ]
        columns = list(zip(*rows, strict=True)) or [()] * 5
        sentence, start, end, kind = (np.array(column, np.int64) for column in columns[:4])
        return FoundSpans(sentence, start, end, kind, types, np.array(columns[4], np.float64))

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
        return [_answer(item) for item in self.client._sentences(_rows(X), options, None)]


def _rows(corpus: Corpus) -> list[list[Any]]:
    """Sentences of words, or of words with their columns."""
    columns = [column.strings for column in corpus.columns.values()]
    rows: list[Any] = columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
    return [list(rows[first:last]) for first, last in pairwise(corpus.offsets.tolist())]


def _answer(item: dict[str, Any]) -> Answer:
    sentence = item["sentences"][0]
    tokens = sentence["tokens"]
    chances = np.array([token["marginals"] for token in tokens]) if tokens and "marginals" in tokens[0] else None
    ranked = None
    if "k_best" in sentence:
        ranked = [Labelling(row["labels"], row["probability"], float("nan")) for row in sentence["k_best"]]
    entities = None
    if "entities" in item:
        entities = [
            Entity(entity["tokens"][0], entity["tokens"][1], entity["type"], entity["probability"])
            for entity in item["entities"]
        ]
    return Answer([token["label"] for token in tokens], chances, entities, ranked)
