"""Second order: the engine for chains with scores on triples of neighbouring labels, over pairs of labels.

`SecondOrderChain` is a `Chain` with `Triples` beside it; the questions are those of `tagline.chain`. `dispatch`
documents them, `naive` defines them, `native` is the compiled core.
"""

from tagline.chain.second_order.dispatch import (
    constrain,
    entropy,
    expected_counts,
    k_best,
    log_partition,
    marginals,
    sample,
    score,
    viterbi,
)
from tagline.chain.second_order.types import PairChain, SecondOrderChain, SecondOrderCounts, Triples

__all__ = [
    "PairChain",
    "SecondOrderChain",
    "SecondOrderCounts",
    "Triples",
    "constrain",
    "entropy",
    "expected_counts",
    "k_best",
    "log_partition",
    "marginals",
    "sample",
    "score",
    "viterbi",
]
