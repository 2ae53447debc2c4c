"""The questions about second-order chains, with their documentation; the engine of `tagline.chain` answers.

`naive` is the definition in NumPy, `native` the compiled core.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tagline import chain as first_order
from tagline import compiled
from tagline.chain.centring import centred
from tagline.chain.checks import check_chain, draw_uniforms
from tagline.chain.choice import Backends
from tagline.chain.dispatch import engine
from tagline.chain.dispatch import log_counts as first_order_log_counts
from tagline.chain.memory import check_ranked, check_room, memory
from tagline.chain.second_order.types import SecondOrderChain, SecondOrderCounts
from tagline.checks import as_whole, random_generator
from tagline.messages import message
from tagline.types import Chain, Float64Array, IntArray, Marginals, Paths, RankedPaths

PAIR_BYTES, RANKED_PAIR_BYTES = 30, 100  # that a pair of labels of a token takes in the core: 27 and 85 measured


_backends = Backends("tagline.chain.second_order")


def _ready(scored: SecondOrderChain, pair_bytes: int = PAIR_BYTES) -> tuple[SecondOrderChain, Float64Array]:
    """Check that pairs of labels fit into memory, and centre scores as `tagline.chain.centring` does.

    The scores of triples stay, since triples without one score 0.
    """
    check_chain(scored, SecondOrderChain)
    if engine() != "naive":  # whose chains over pairs are checked where they are made
        _check_pairs(scored.chain, pair_bytes)
    near, taken = centred(scored.chain)
    return (scored if near is scored.chain else SecondOrderChain(near, scored.triples)), taken


def _check_pairs(chain: Chain, pair_bytes: int) -> None:
    """Raise where the pairs of labels of as many long sentences as there are threads would not fit into memory."""
    order = np.argsort(-chain.lengths, kind="stable")[: compiled.threads()]
    if chain.lengths[order].sum() * chain.num_labels**2 * pair_bytes <= memory() / 2:
        return
    candidates = np.pad(np.count_nonzero(chain.emissions > -np.inf, axis=1), (1, 0))
    pairs = candidates[:-1] * candidates[1:]
    pairs[chain.offsets[:-1][chain.lengths > 0]] = 0
    sizes = np.diff(np.concatenate([[0], np.cumsum(pairs)])[chain.offsets])
    largest = np.sort(sizes)[::-1][: compiled.threads()]
    b = int(sizes.argmax())
    check_room(
        int(largest.sum()) * pair_bytes,
        message(
            "sentence {}: tables of the pairs of {:,} labels at {:,} tokens", b, chain.num_labels, chain.lengths[b]
        ),
        message("split long sentences, or train the model with prune="),
    )


def constrain(scored: SecondOrderChain, **constraints: Any) -> SecondOrderChain:
    """Forbid, as `tagline.chain.constrain` does."""
    check_chain(scored, SecondOrderChain)
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
    check_chain(scored, SecondOrderChain)
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
    near, taken = _ready(scored)
    log_z: Float64Array = _backends[engine()].log_partition(near, allow_no_path=allow_no_path)
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
    near, taken = _ready(scored)
    best: Paths = _backends[engine()].viterbi(near)
    return Paths(best.labels, best.scores + taken)


def k_best(scored: SecondOrderChain, k: int) -> list[RankedPaths]:
    """Find the k best labellings of each sentence, with their probabilities among all labellings."""
    number = as_whole("k", k, 1)
    check_chain(scored, SecondOrderChain)
    check_ranked(number, scored.lengths, lambda: log_counts(scored))
    near, taken = _ready(scored, RANKED_PAIR_BYTES)
    ranked: list[RankedPaths] = _backends[engine()].k_best(near, number)
    return [replace(paths, scores=paths.scores + lost) for paths, lost in zip(ranked, taken, strict=True)]


def log_counts(scored: SecondOrderChain) -> Float64Array:
    """Compute the logarithm of the number of legal labellings of each sentence, ``[B]``."""
    return first_order_log_counts(scored.chain)


def sample(scored: SecondOrderChain, count: int, seed: Any = None) -> IntArray:
    """Draw labellings by their probabilities, ``[count, N]``.

    Arguments:
        seed: a number, or a generator of NumPy.
    """
    check_chain(scored, SecondOrderChain)
    uniforms = draw_uniforms(as_whole("count", count, 0), scored.num_tokens, random_generator(seed))
    drawn: IntArray = _backends[engine()].sample(_ready(scored)[0], uniforms)
    return drawn


def entropy(scored: SecondOrderChain) -> Float64Array:
    """Compute the entropy of the labelling of each sentence in nats, ``[B]``."""
    values: Float64Array = _backends[engine()].entropy(_ready(scored)[0])
    return values


def marginals(scored: SecondOrderChain) -> Marginals:
    """Compute the probability of each label of each token, ``[N, L]``; there are no edges in the answer."""
    near, taken = _ready(scored)
    answer: Marginals = _backends[engine()].marginals(near)
    return replace(answer, log_z=answer.log_z + taken)


def expected_counts(scored: SecondOrderChain) -> SecondOrderCounts:
    """Compute how often each score is used on average."""
    near, taken = _ready(scored)
    counts: SecondOrderCounts = _backends[engine()].expected_counts(near)
    return replace(counts, log_z=counts.log_z + taken)
