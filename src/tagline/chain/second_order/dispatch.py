"""The questions about second-order chains, with their documentation; the engine of `tagline.chain` answers.

`naive` is the definition in NumPy, `native` the compiled core.
"""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tagline import chain as first_order
from tagline.chain.centring import centred
from tagline.chain.checks import as_count, as_uniforms
from tagline.chain.dispatch import engine
from tagline.chain.second_order import naive
from tagline.chain.second_order.types import SecondOrderChain, SecondOrderCounts
from tagline.readers.arguments import random_generator
from tagline.types import Float64Array, IntArray, Marginals, Paths, RankedPaths


def _backend() -> ModuleType:
    if engine() == "naive":
        return naive
    from tagline.chain.second_order import native

    return native


def _centred(scored: SecondOrderChain) -> tuple[SecondOrderChain, Float64Array]:
    """As `tagline.chain.centring` does it; the scores of triples stay, for those without one score 0."""
    near, taken = centred(scored.chain)
    return (scored if near is scored.chain else SecondOrderChain(near, scored.triples)), taken


def constrain(scored: SecondOrderChain, **constraints: Any) -> SecondOrderChain:
    """Forbid, as `tagline.chain.constrain` does."""
    return SecondOrderChain(first_order.constrain(scored.chain, **constraints), scored.triples)


def score(scored: SecondOrderChain, labels: ArrayLike) -> Float64Array:
    """Sum the scores along a labelling, ``[B]``.

    >>> from tagline import Chain
    >>> from tagline.chain import second_order
    >>> triples = second_order.Triples.of(2, [[0, 1, 0]], [0.5])
    >>> chain = second_order.SecondOrderChain(Chain(np.ones((3, 2)), np.zeros((2, 2))), triples)
    >>> second_order.score(chain, [0, 1, 0]).tolist()
    [3.5]
    """
    totals = first_order.score(scored.chain, labels)
    for b, row in enumerate(scored.split(np.asarray(labels, np.int64))):
        totals[b] += scored.triples.of_labels(row).sum()
    return totals


def log_partition(scored: SecondOrderChain, *, allow_no_path: bool = False) -> Float64Array:
    """Compute log Z, the log of the summed exp(score) of all labellings.

    Arguments:
        allow_no_path: return −∞ for a sentence without a legal labelling instead of an error.

    Returns:
        ``[B]``, 0 for an empty sentence.
    """
    near, taken = _centred(scored)
    log_z: Float64Array = _backend().log_partition(near, allow_no_path=allow_no_path)
    return log_z + taken


def viterbi(scored: SecondOrderChain) -> Paths:
    """Find the best labelling of each sentence; of equals the one that is smaller when read from its end.

    >>> from tagline import Chain
    >>> from tagline.chain import second_order
    >>> triples = second_order.Triples.of(2, [[0, 1, 0]], [0.5])
    >>> chain = second_order.SecondOrderChain(Chain(np.zeros((4, 2)), np.zeros((2, 2))), triples)
    >>> second_order.viterbi(chain).labels.tolist()
    [0, 1, 0, 0]
    """
    near, taken = _centred(scored)
    best: Paths = _backend().viterbi(near)
    return Paths(best.labels, best.scores + taken)


def k_best(scored: SecondOrderChain, k: int) -> list[RankedPaths]:
    """Find the k best labellings of each sentence, with their probabilities among all labellings."""
    near, taken = _centred(scored)
    ranked: list[RankedPaths] = _backend().k_best(near, as_count("k", k, 1))
    return [replace(paths, scores=paths.scores + lost) for paths, lost in zip(ranked, taken, strict=True)]


def sample(scored: SecondOrderChain, count: int, seed: Any = None) -> IntArray:
    """Draw labellings by their probabilities, ``[count, N]``.

    Arguments:
        seed: a number, or a generator of NumPy.
    """
    uniforms = random_generator(seed).random((as_count("count", count, 0), scored.num_tokens))
    drawn: IntArray = _backend().sample(_centred(scored)[0], as_uniforms(scored.chain, uniforms))
    return drawn


def entropy(scored: SecondOrderChain) -> Float64Array:
    """Compute the entropy of the labelling of each sentence in nats, ``[B]``."""
    values: Float64Array = _backend().entropy(_centred(scored)[0])
    return values


def marginals(scored: SecondOrderChain) -> Marginals:
    """Compute the probability of each label of each token, ``[N, L]``; there are no edges in the answer."""
    near, taken = _centred(scored)
    answer: Marginals = _backend().marginals(near)
    return replace(answer, log_z=answer.log_z + taken)


def expected_counts(scored: SecondOrderChain) -> SecondOrderCounts:
    """Compute how often each score is used on average."""
    near, taken = _centred(scored)
    counts: SecondOrderCounts = _backend().expected_counts(near)
    return replace(counts, log_z=counts.log_z + taken)
