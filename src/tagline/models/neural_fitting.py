"""What the training loop asks of a neural tagger: batches with their labels, and the score on a dev set."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tagline import chain as engine
from tagline.errors import InputError
from tagline.evaluation.matching import rule_for_labels
from tagline.evaluation.spans import evaluate_spans
from tagline.models.network import Network, padded, words_of
from tagline.models.neural_lessons import Lesson
from tagline.models.targets import LabelledTokens, allowed_labels, numbered
from tagline.readers.corpus import Column, Corpus
from tagline.types import BoolArray, IntArray


class TaggingTask:
    """A network and what it learns from, as `tagline.training.neural.train` takes it."""

    def __init__(self, network: Network, lesson: Lesson, rates: Mapping[str, float], dev: DevScore | None) -> None:
        self.network, self.lesson, self.rates, self.dev = network, lesson, rates, dev
        self.module: torch.nn.Module = network.tagger
        self.coded = network.coder.read(lesson.corpus)
        self.lengths = self.coded.lengths
        sets = allowed_labels(lesson.labelled, lesson.labels)
        tags = numbered(lesson.labelled, lesson.labels).astype(np.int64)
        self.tags: IntArray | BoolArray = tags if sets is None else sets  # [N] numbers, or [N, L] what may be

    def inputs(self, sentences: IntArray) -> tuple[Any, ...]:
        """A batch on the device, its labels, and how much each sentence counts."""
        device, weights = self.network.device, self.lesson.weights
        batch = self.coded.batch(sentences, device)
        tags = _on(padded(self.tags, self.lesson.labelled.bounds, sentences), device)
        return (batch, tags) if weights is None else (batch, tags, _on(weights[sentences].astype(np.float32), device))

    def groups(self) -> list[dict[str, Any]]:
        """Parameters with what multiplies the learning rate."""
        return self.network.tagger.groups(self.rates)

    def dev_score(self) -> float | None:
        """How well the network does on the dev set, where there is one."""
        return None if self.dev is None else self.dev(self.network)

    def facts(self, kind: str) -> dict[str, Any]:
        """Return what must be the same for a run to be resumed, besides what the loop itself knows."""
        network = self.network
        return {
            "model": kind,
            "labels": list(network.labels),
            "scheme": network.scheme,
            "words": _mark(words_of(self.lesson.corpus)),
            "tags": _mark(self.tags, self.lesson.weights),
            "dev": None if self.dev is None else self.dev.mark,
            **{name: value for name, value in network.plan.items() if not isinstance(value, dict)},
            **{f"rate of {name}": rate for name, rate in self.rates.items()},
        }


def _mark(*parts: Column | NDArray[Any] | None) -> str:
    """A checksum of strings and numbers."""
    total = 0
    for part in parts:
        if isinstance(part, Column):
            text = "\n".join([part.vocabulary[number] for number in part.ids.tolist()])
            total = zlib.crc32(text.encode(errors="surrogatepass"), total)
        elif part is not None:
            total = zlib.crc32(np.ascontiguousarray(part).data, total)
    return f"{total:08x}"


def _on(values: Any, device: torch.device) -> torch.Tensor:
    tensor = torch.from_numpy(values)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor


class DevScore:
    """Held-out sentences, numbered once; call it with a network: F1 of spans, or the share of right labels.

    Attributes:
        mark: a checksum of sentences and labels.
        labels: those that occur.
    """

    def __init__(self, network: Network, corpus: Corpus, labelled: LabelledTokens) -> None:
        if labelled.sets:
            raise InputError("y_dev: expected a label for every token, got unknown ones")
        self.coded, self.bounds = network.coder.read(corpus), labelled.bounds
        self.gold = Column(labelled.labels, labelled.ids)
        self.labels = {labelled.labels[number] for number in np.unique(labelled.ids).tolist()}
        self.mark = _mark(words_of(corpus), self.gold, self.bounds)

    def __call__(self, network: Network) -> float:
        """Return the score, from 0 to 1."""
        parts = [engine.viterbi(chain).labels for chain in network.chains(self.coded)]
        ids = np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int32)
        predicted = Column(network.labels, ids)
        if (rule := rule_for_labels(self.gold.vocabulary, network.labels)) is not None:
            return evaluate_spans(self.gold, predicted, rule, offsets=self.bounds).f1
        table = {label: number for number, label in enumerate(self.gold.vocabulary)}
        same = np.array([table.get(label, -1) for label in network.labels])[ids] == self.gold.ids
        return float(same.mean()) if len(same) else 0.0
