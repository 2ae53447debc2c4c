"""A tagger of random sentences, with dropout so that random numbers matter, and slow only where a test wants it."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from tagline.types import IntArray

WORDS, LABELS = 30, 4


class Tagger(nn.Module):
    """Embeddings, dropout, a linear layer; the loss is summed over tokens, its mean is over sentences."""

    def __init__(self, dropout: float, dtype: torch.dtype) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, 8, dtype=dtype)
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(8, LABELS, dtype=dtype)
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
        self.calls: Tensor

    def scores(self, words: Tensor) -> Tensor:
        scores: Tensor = self.linear(self.dropout(self.words(words)))
        return scores

    def forward(self, words: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        assert self.training
        self.calls += 1
        scores = self.scores(words)
        losses = nn.functional.cross_entropy(scores.flatten(0, 1), tags.flatten(), reduction="none")
        return (losses.view(mask.shape) * mask).sum() / len(mask)


class ToyTask:
    """Words whose tag is mostly their number modulo the labels.

    Arguments:
        count: of sentences.
        dropout: of the network.
        dtype: of its weights.
        scores: dev scores to give out one after the other; the accuracy on the training data where left out.
        pause: seconds that making a batch takes.
    """

    def __init__(
        self,
        count: int = 60,
        *,
        dropout: float = 0.3,
        dtype: torch.dtype = torch.float32,
        scores: Sequence[float | None] | None = None,
        pause: float = 0.0,
        seed: int = 1,
    ) -> None:
        random = np.random.default_rng(seed)
        self.lengths: IntArray = random.integers(1, 15, count)
        self.words = [random.integers(0, WORDS, length) for length in self.lengths]
        self.tags = [(words + (random.random(len(words)) < 0.1)) % LABELS for words in self.words]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.module: nn.Module = Tagger(dropout, dtype)
        self.dev_scores: Iterator[float | None] | None = None if scores is None else iter(scores)
        self.pause = pause
        self.seen: list[IntArray] = []

    def inputs(self, sentences: IntArray) -> tuple[Any, ...]:
        time.sleep(self.pause)
        self.seen.append(sentences)
        words, tags = (_padded([rows[number] for number in sentences]) for rows in (self.words, self.tags))
        mask = torch.arange(words.shape[1]) < torch.from_numpy(self.lengths[sentences])[:, None]
        return words, tags, mask

    def groups(self) -> list[dict[str, Any]]:
        decayed, plain = self.module.words.parameters(), self.module.linear.parameters()
        return [{"params": list(decayed)}, {"params": list(plain), "rate": 2.0, "weight_decay": 0.0, "name": "linear"}]

    def dev_score(self) -> float | None:
        assert not self.module.training
        assert not torch.is_grad_enabled()
        if self.dev_scores is not None:
            return next(self.dev_scores)
        words, tags, mask = self.inputs(np.arange(len(self.lengths)))
        return ((self.module.scores(words).argmax(-1) == tags) & mask).sum().item() / int(self.lengths.sum())


class Spoiled(ToyTask):
    """Batches that give NaN, or an infinite loss with a fine gradient, from one step on."""

    def __init__(self, at: int, value: float, **options: Any) -> None:
        super().__init__(**options)
        calls = 0

        def spoil(_module: Any, _inputs: Any, loss: Tensor) -> Tensor:
            nonlocal calls
            calls += 1
            if calls < at:
                return loss
            return loss * value if math.isnan(value) else loss + value

        self.module.register_forward_hook(spoil)


def _padded(rows: Sequence[IntArray]) -> Tensor:
    return nn.utils.rnn.pad_sequence([torch.from_numpy(row) for row in rows], batch_first=True)


def weights(task: ToyTask) -> dict[str, np.ndarray[Any, Any]]:
    """Copies of parameters and buffers."""
    return {name: value.detach().numpy().copy() for name, value in task.module.state_dict().items()}


def same(first: dict[str, Any], second: dict[str, Any]) -> bool:
    """Whether two sets of weights are bit for bit the same."""
    assert first.keys() == second.keys()
    return all(np.array_equal(first[name], second[name]) for name in first)


def close(first: dict[str, Any], second: dict[str, Any], *, atol: float = 1e-12) -> bool:
    """Whether two sets of weights are the same up to rounding; counters of calls may differ."""
    names = [name for name in first if name != "calls"]
    return all(np.allclose(first[name], second[name], rtol=0, atol=atol) for name in names)
