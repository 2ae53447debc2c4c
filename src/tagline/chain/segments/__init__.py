"""Segments: the engine for sentences that are cut into labelled segments of up to D tokens (semi-Markov chains).

`SegmentChain` has scores for each (last token, length, label); the questions are those of `tagline.chain`. `dispatch`
documents them, `naive` defines them, `native` is the compiled core, `constrain` forbids.
"""

from tagline.chain.segments.constrain import constrain
from tagline.chain.segments.dispatch import (
    entropy,
    expected_counts,
    gradients,
    k_best,
    log_partition,
    marginals,
    sample,
    score,
    span_probability,
    viterbi,
)
from tagline.chain.segments.types import (
    RankedSegmentations,
    Segmentation,
    SegmentChain,
    SegmentCounts,
    SegmentGradients,
    SegmentMarginals,
)

__all__ = [
    "RankedSegmentations",
    "SegmentChain",
    "SegmentCounts",
    "SegmentGradients",
    "SegmentMarginals",
    "Segmentation",
    "constrain",
    "entropy",
    "expected_counts",
    "gradients",
    "k_best",
    "log_partition",
    "marginals",
    "sample",
    "score",
    "span_probability",
    "viterbi",
]
