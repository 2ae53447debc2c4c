"""What the CRF layer returns besides plain tensors and lists. Tuples, so that they travel through DataParallel."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor


class Decoded(NamedTuple):
    """The best labelling of each sequence.

    Attributes:
        tags: ``[B, T]`` int64, the pad tag where the mask is off.
        scores: ``[B]``, of each labelling; its probability is ``exp(scores - log_partition)``.
    """

    tags: Tensor
    scores: Tensor


class Ranked(NamedTuple):
    """The k best labellings of each sequence, best first.

    Attributes:
        tags: ``[B, K, T]`` int64, the pad tag where the mask is off and where there are no more labellings.
        scores: ``[B, K]``, −∞ where there are no more.
        probabilities: ``[B, K]``, of each labelling among all labellings.
    """

    tags: Tensor
    scores: Tensor
    probabilities: Tensor
