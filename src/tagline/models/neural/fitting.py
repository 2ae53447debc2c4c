"""What the training loop asks of a neural tagger: batches with their labels, and the score on a dev set."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tagline.models.dev_score import DevSet
from tagline.models.labelled import LabelledTokens, Lesson
from tagline.models.neural.network import Coded, Network
from tagline.models.sentences import words_of
from tagline.ragged import padded
from tagline.readers.corpus import Column, Corpus
from tagline.types import BoolArray, IntArray


class TaggingTask:
    """A network and what it learns from, as `tagline.training.neural.train` takes it."""

    def __init__(
        self,
        network: Network,
        corpus: Corpus,
        lesson: Lesson,
        rates: Mapping[str, float],
        dev: NetworkDevSet | None,
        coded: Coded | None = None,
    ) -> None:
        self.network, self.corpus, self.lesson, self.rates, self.dev = network, corpus, lesson, rates, dev
        self.module: torch.nn.Module = network.tagger
        self.coded = coded or network.coder.read(corpus)
        self.lengths = self.coded.widths
        # [N] numbers, or [N, L] what may be.
        self.labels: IntArray | BoolArray = (
            lesson.labelled.ids.astype(np.int64) if lesson.allowed is None else lesson.allowed
        )

    def inputs(self, sentences: IntArray) -> tuple[Any, ...]:
        """A batch on the device, its labels, and how much each sentence counts."""
        device, weights = self.network.device, self.lesson.weights
        batch = self.coded.batch(sentences, device)
        labels = _on(padded(self.labels, self.lesson.labelled.offsets, sentences), device)
        if weights is None:
            return batch, labels
        return batch, labels, _on(weights[sentences].astype(np.float32), device)

    def groups(self) -> list[dict[str, Any]]:
        """Parameters with what multiplies the learning rate."""
        return self.network.tagger.groups(self.rates)

    def dev_score(self) -> float | None:
        """How well the network does on the dev set, where there is one."""
        return None if self.dev is None else self.dev.score(self.network.chains(self.dev.coded))

    def facts(self, kind: str) -> dict[str, Any]:
        """Return what must be the same for a run to be resumed, besides what the loop itself knows."""
        network = self.network
        return {
            "model": kind,
            "labels": list(network.labels),
            "scheme": network.scheme,
            "words": _mark(words_of(self.corpus)),
            "tags": _mark(self.labels, self.lesson.weights),
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


class NetworkDevSet(DevSet):
    """Held-out sentences, numbered once.

    Attributes:
        coded: the sentences as a network takes them.
        mark: a checksum of sentences and labels.
    """

    def __init__(self, network: Network, corpus: Corpus, labelled: LabelledTokens, coded: Coded | None = None) -> None:
        super().__init__(labelled, network.labels)
        self.coded = coded or network.coder.read(corpus)
        self.mark = _mark(words_of(corpus), self.gold, self.offsets)
