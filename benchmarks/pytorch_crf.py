"""The rival in PyTorch: pytorch-crf on padded batches with a mask, on the CPU.

Its time and memory grow with the padding and with B·T·L² (autograd keeps the scores of every pair), so how the
sentences are cut into batches decides its speed. They are sorted by length before they are cut, and padded before the
clock starts. torch and torchcrf load on first use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline import Chain

MEMORY_LIMIT = 4 * 2**30  # of one batch
BYTES_A_PAIR = 8  # float32, and about as much again while a step is computed


@dataclass(frozen=True, eq=False)
class Padded:
    """Sentences ``order [B]`` of the chain, padded: emissions ``[T, B, L]``, tags and mask ``[T, B]``, as tensors."""

    order: NDArray[np.int64]
    emissions: Any
    tags: Any
    mask: Any


def missing() -> str:
    """Say what keeps this rival away, and what to do; nothing where it is installed."""
    try:
        import torch  # noqa: F401
        import torchcrf  # noqa: F401
    except ImportError as error:
        return f"pytorch-crf is left out: {error}; to include it: pip install torch pytorch-crf==0.7.2"
    return ""


def largest_batch(chain: Chain) -> int:
    """How many sentences, the longest among them, one batch can hold within the memory limit."""
    a_sentence = int(chain.lengths.max()) * chain.num_labels**2 * BYTES_A_PAIR
    return max(1, min(chain.num_sentences, MEMORY_LIMIT // a_sentence))


class CrfRival:
    """A CRF with the chain's parameters, and the chain's sentences in padded batches of ``batch`` each."""

    def __init__(self, chain: Chain, gold: NDArray[np.int64], batch: int) -> None:
        import torch
        import torchcrf

        self.chain = chain
        self.crf = torchcrf.CRF(chain.num_labels)
        with torch.no_grad():
            self.crf.transitions.copy_(torch.tensor(chain.transitions))
            self.crf.start_transitions.copy_(torch.tensor(chain.start))
            self.crf.end_transitions.copy_(torch.tensor(chain.end))
        longest_first = np.argsort(-chain.lengths, kind="stable")
        cuts = range(batch, chain.num_sentences, batch)
        self.batches = [_pad(chain, gold, order) for order in np.split(longest_first, cuts)]

    def loss_and_gradients(self) -> float:
        """Compute −Σ log p(gold); gradients are left on the emissions and on the CRF's parameters."""
        self.crf.zero_grad(set_to_none=True)
        total = 0.0
        for batch in self.batches:
            batch.emissions.grad = None
            loss = -self.crf(batch.emissions, batch.tags, batch.mask)
            loss.backward()
            total += loss.item()
        return total

    def decode(self) -> list[list[int]]:
        """Best labels as lists, in the order of the batches."""
        import torch

        with torch.inference_mode():
            return [path for batch in self.batches for path in self.crf.decode(batch.emissions, batch.mask)]

    def emission_gradients(self) -> NDArray[np.float32]:
        """The gradients that `loss_and_gradients` left, ``[N, L]``."""
        result = np.empty(self.chain.emissions.shape, np.float32)
        for batch in self.batches:
            gradient = batch.emissions.grad.numpy()
            for column, b in enumerate(batch.order):
                result[self.chain.offsets[b] : self.chain.offsets[b + 1]] = gradient[: self.chain.lengths[b], column]
        return result

    def parameter_gradients(self) -> tuple[NDArray[np.float32], ...]:
        """The gradients that `loss_and_gradients` left on transitions, start and end."""
        owners = (self.crf.transitions, self.crf.start_transitions, self.crf.end_transitions)
        return tuple(owner.grad.numpy() for owner in owners)

    @property
    def order(self) -> NDArray[np.int64]:
        """The sentences in the order of the batches."""
        return np.concatenate([batch.order for batch in self.batches])


def _pad(chain: Chain, gold: NDArray[np.int64], order: NDArray[np.int64]) -> Padded:
    import torch

    lengths = chain.lengths[order]
    T, B = int(lengths.max()), len(order)
    emissions = np.zeros((T, B, chain.num_labels), np.float32)
    tags = np.zeros((T, B), np.int64)
    for column, b in enumerate(order):
        tokens = slice(chain.offsets[b], chain.offsets[b + 1])
        emissions[: lengths[column], column] = chain.emissions[tokens]
        tags[: lengths[column], column] = gold[tokens]
    mask = torch.from_numpy(np.arange(T)[:, None] < lengths)
    return Padded(order, torch.from_numpy(emissions).requires_grad_(), torch.from_numpy(tags), mask)
