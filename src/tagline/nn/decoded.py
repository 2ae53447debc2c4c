"""What the CRF layer returns besides plain tensors: lists, and tuples, which travel through DataParallel."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from tagline import compiled
from tagline.chain.tensors import TensorChain
from tagline.chain.tensors.types import as_array


def lists_of(c: TensorChain, labels: Tensor) -> list[list[int]]:
    """Return the labels of each sentence as a list, given those of all rows ``[N]``."""
    if compiled.core is not None and labels.is_cpu:
        return c.runs.lists(as_array(labels), c.num_labels)  # type: ignore[no-any-return]
    flat, first, lengths = (part.tolist() for part in (labels, c.first, c.lengths))
    return [flat[begin : begin + length] for begin, length in zip(first, lengths, strict=True)]


class Decoded(NamedTuple):
    """The best labelling of each sentence.

    Attributes:
        tags: ``[B, T]`` int64, the pad tag where the mask is off.
        scores: ``[B]``, of each labelling; its probability is ``exp(scores - log_partition)``.

    >>> import torch
    >>> from tagline import nn
    >>> best = nn.CRF(3).decode(torch.zeros(1, 4, 3), pad_tag=-1)
    >>> best.tags.shape, best.scores.shape
    (torch.Size([1, 4]), torch.Size([1]))
    """

    tags: Tensor
    scores: Tensor


class Ranked(NamedTuple):
    """The k best labellings of each sentence, best first.

    Attributes:
        tags: ``[B, K, T]`` int64, the pad tag where the mask is off and where there are no more labellings.
        scores: ``[B, K]``, −∞ where there are no more.
        probabilities: ``[B, K]``, of each labelling among all labellings.

    >>> import torch
    >>> from tagline import nn
    >>> ranked = nn.CRF(3).k_best(torch.zeros(1, 4, 3), k=5)
    >>> ranked.tags.shape, ranked.probabilities.shape
    (torch.Size([1, 5, 4]), torch.Size([1, 5]))
    """

    tags: Tensor
    scores: Tensor
    probabilities: Tensor
