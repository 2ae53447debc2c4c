"""Second-order chains on the compiled core: threads over sentences, float64; exp space, the log domain where needed."""

from __future__ import annotations

import numpy as np

from tagline.chain.native import _wide, call_core
from tagline.chain.second_order.types import SecondOrderChain, SecondOrderCounts
from tagline.types import Float64Array, IntArray, Marginals, Paths, RankedPaths


def log_partition(scored: SecondOrderChain, *, allow_no_path: bool = False) -> Float64Array:
    """Compute log Z."""
    log_z: Float64Array = call_core(scored.triples.core.log_partition, *_wide(scored.chain), allow_no_path)
    return log_z


def viterbi(scored: SecondOrderChain) -> Paths:
    """Find the best labelling."""
    return Paths(*call_core(scored.triples.core.viterbi, *_wide(scored.chain)))


def k_best(scored: SecondOrderChain, k: int) -> list[RankedPaths]:
    """Find the k best labellings of each sentence."""
    arrays, core = _wide(scored.chain), scored.triples.core
    log_z = call_core(core.log_partition, *arrays, False)
    ranked = call_core(core.k_best, *arrays, min(k, np.iinfo(np.int64).max))
    return [
        RankedPaths(labels, scores, np.exp(np.minimum(scores - z, 0.0)))
        for (labels, scores), z in zip(ranked, log_z, strict=True)
    ]


def sample(scored: SecondOrderChain, uniforms: Float64Array) -> IntArray:
    """Draw labellings by given uniform numbers."""
    labels: IntArray = call_core(scored.triples.core.sample, *_wide(scored.chain), uniforms)
    return labels


def entropy(scored: SecondOrderChain) -> Float64Array:
    """Compute the entropy of p(y | x)."""
    values: Float64Array = call_core(scored.triples.core.entropy, *_wide(scored.chain))
    return values


def marginals(scored: SecondOrderChain) -> Marginals:
    """Compute node probabilities."""
    nodes, log_z = call_core(scored.triples.core.marginals, *_wide(scored.chain))
    return Marginals(nodes, None, log_z)


def expected_counts(scored: SecondOrderChain) -> SecondOrderCounts:
    """Compute how often each score is used on average."""
    nodes, transitions, start, end, triples, log_z = call_core(scored.triples.core.counts, *_wide(scored.chain))
    return SecondOrderCounts(nodes, transitions, start, end, log_z, triples)
