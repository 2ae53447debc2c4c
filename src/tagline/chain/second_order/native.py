"""Second-order chains on the compiled core: threads over sentences, float64; exp space, the log domain where needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tagline.chain.native import call_core, wide
from tagline.chain.second_order.types import SecondOrderChain, SecondOrderCounts
from tagline.types import Float64Array, IntArray, Marginals, Paths, RankedPaths


def _ask(scored: SecondOrderChain, question: str, *more: Any) -> Any:
    function: Callable[..., Any] = getattr(scored.triples.core, question)
    return call_core(function, *wide(scored.chain), *more)


def log_partition(scored: SecondOrderChain, *, allow_no_path: bool = False) -> Float64Array:
    """Compute log Z."""
    log_z: Float64Array = _ask(scored, "log_partition", allow_no_path)
    return log_z


def viterbi(scored: SecondOrderChain) -> Paths:
    """Find the best labelling."""
    return Paths(*_ask(scored, "viterbi"))


def k_best(scored: SecondOrderChain, k: int) -> list[RankedPaths]:
    """Find the k best labellings of each sentence."""
    log_z = log_partition(scored)
    ranked = _ask(scored, "k_best", min(k, np.iinfo(np.int64).max))
    return [
        RankedPaths(labels, scores, np.exp(np.minimum(scores - z, 0.0)))
        for (labels, scores), z in zip(ranked, log_z, strict=True)
    ]


def sample(scored: SecondOrderChain, uniforms: Float64Array) -> IntArray:
    """Draw labellings by given uniform numbers."""
    labels: IntArray = _ask(scored, "sample", uniforms)
    return labels


def entropy(scored: SecondOrderChain) -> Float64Array:
    """Compute the entropy of p(y | x)."""
    values: Float64Array = _ask(scored, "entropy")
    return values


def marginals(scored: SecondOrderChain) -> Marginals:
    """Compute node probabilities."""
    nodes, log_z = _ask(scored, "marginals")
    return Marginals(nodes, None, log_z)


def expected_counts(scored: SecondOrderChain) -> SecondOrderCounts:
    """Compute how often each score is used on average."""
    nodes, transitions, start, end, triples, log_z = _ask(scored, "counts")
    return SecondOrderCounts(nodes, transitions, start, end, log_z, triples)
