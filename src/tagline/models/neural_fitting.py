"""What the training loop asks of a neural tagger: batches with their labels, and the score on a dev set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from tagline import chain as engine
from tagline.errors import InputError
from tagline.evaluation.spans import evaluate_spans
from tagline.models.network import Coded, Network, padded
from tagline.models.targets import LabelledTokens
from tagline.nn.heads import Tagger
from tagline.readers.corpus import TAG, Column, Corpus
from tagline.readers.detection import detect
from tagline.types import BoolArray, Float64Array, IntArray


@dataclass(frozen=True, eq=False)
class Examples:
    """Labelled sentences as numbers.

    Attributes:
        coded: their tokens.
        tags: label numbers ``[N]``.
        sets: labels that each token may have, ``[N, L]``, where some are not known; None where all are.
        weights: how much each sentence counts, ``[B]``; None for all the same.
        bounds: ``[B + 1]``.
    """

    coded: Coded
    tags: IntArray
    sets: BoolArray | None
    weights: Float64Array | None
    bounds: IntArray


class TaggingTask:
    """A network and what it learns from, as `tagline.training.neural.train` takes it."""

    def __init__(self, network: Network, examples: Examples, rates: Mapping[str, float], dev: DevScore | None) -> None:
        self.network, self.examples, self.rates, self.dev = network, examples, rates, dev
        self.lengths = examples.coded.lengths

    @property
    def module(self) -> Tagger:
        """The network."""
        return self.network.tagger

    def inputs(self, sentences: IntArray) -> tuple[Any, ...]:
        """A batch on the device, its labels, and how much each sentence counts."""
        e, device = self.examples, self.network.device
        tags = padded(e.tags if e.sets is None else e.sets, e.bounds, sentences)
        batch = e.coded.batch(sentences, device)
        if e.weights is None:
            return batch, _on(tags, device)
        return batch, _on(tags, device), _on(e.weights[sentences].astype(np.float32), device)

    def groups(self) -> list[dict[str, Any]]:
        """Parameters with what multiplies the learning rate."""
        return self.module.groups(self.rates)

    def dev_score(self) -> float | None:
        """How well the network does on the dev set, where there is one."""
        return None if self.dev is None else self.dev(self.network)


def _on(values: Any, device: torch.device) -> torch.Tensor:
    tensor = torch.from_numpy(values)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor


class DevScore:
    """Held-out sentences, numbered once; call it with a network: F1 of spans, or the share of right labels."""

    def __init__(self, coded: Coded, labelled: LabelledTokens) -> None:
        if labelled.sets:
            raise InputError("y_dev: expected a label for every token, got unknown ones")
        self.coded, self.bounds = coded, labelled.bounds
        self.gold = Column(labelled.labels, labelled.ids)
        found = detect(Corpus({TAG: self.gold}, labelled.bounds)).scheme
        self.rule = None if found is None else f"conlleval:{found.name}"

    def __call__(self, network: Network) -> float:
        """Return the score, from 0 to 1."""
        parts = [engine.viterbi(chain).labels for chain in network.chains(self.coded)]
        ids = np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int32)
        predicted = Column(network.labels, ids)
        if self.rule is not None:
            return evaluate_spans(self.gold, predicted, self.rule, offsets=self.bounds).f1
        table = {label: number for number, label in enumerate(self.gold.vocabulary)}
        same = np.array([table.get(label, -1) for label in network.labels])[ids] == self.gold.ids
        return float(same.mean()) if len(same) else 0.0
