"""The questions about segment chains, with their documentation; the engine that `tagline.chain` has chosen answers.

`naive` is the definition in NumPy, `native` the compiled core; what the core does not have, `naive` answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from tagline.chain.centring import LARGE, beyond
from tagline.chain.checks import as_label_array, check_chain, draw_uniforms, forbidden_gold
from tagline.chain.choice import Backends
from tagline.chain.dispatch import engine
from tagline.chain.memory import check_ranked
from tagline.chain.segments import naive
from tagline.chain.segments.centring import centred
from tagline.chain.segments.types import (
    RankedSegmentations,
    Segmentation,
    SegmentChain,
    SegmentCounts,
    SegmentGradients,
    SegmentMarginals,
    gold_counts,
    token_sums,
)
from tagline.checks import as_array, as_whole, random_generator, shown_value
from tagline.errors import InputError
from tagline.ragged import first_entries
from tagline.types import BoolArray, Float64Array, IntArray

SegmentQuery = tuple[int, int, int, int]
"""(sentence, first token, token after the last, label)."""

_backends = Backends("tagline.chain.segments")


def _near(chain: SegmentChain) -> tuple[SegmentChain, Float64Array]:
    """Return the centred chain where scores are far from 0, else the chain, and what was taken from each sentence."""
    for part in (chain.scores, chain.transitions, chain.start, chain.end):
        if ((np.abs(part) > LARGE) & (part > -np.inf)).any():
            return centred(chain)
    return chain, np.zeros(chain.num_sentences)


def log_partition(chain: SegmentChain, *, allow_no_path: bool = False) -> Float64Array:
    """Compute log Z, the log of the summed exp(score) of all segmentations.

    Arguments:
        allow_no_path: return −∞ for a sentence without a legal segmentation instead of an error.

    Returns:
        ``[B]``, 0 for an empty sentence.

    >>> from tagline.chain import segments
    >>> chain = segments.SegmentChain(np.zeros((4, 4, 1)), [[0.0]])  # 2³ ways to cut four tokens
    >>> np.exp(segments.log_partition(chain)).round(9).tolist()
    [8.0]
    """
    check_chain(chain, SegmentChain)
    backend = _backends[engine()]
    log_z: Float64Array = backend.log_partition(chain, allow_no_path=allow_no_path)
    if not beyond(log_z):
        return log_z
    near, taken = centred(chain)
    if near is chain:
        return log_z
    centred_log_z: Float64Array = backend.log_partition(near, allow_no_path=allow_no_path)
    return centred_log_z + taken


def viterbi(chain: SegmentChain) -> Segmentation:
    """Find the best segmentation of each sentence.

    Among equal scores that one wins which is smaller when read from its end: by label, then by length.

    >>> from tagline.chain import segments
    >>> chain = segments.SegmentChain([[[0.0], [0.0]], [[0.0], [1.0]]], [[0.0]])  # both tokens together score 1
    >>> segments.viterbi(chain).segments(chain.offsets)
    [[(0, 2, 0)]]
    """
    check_chain(chain, SegmentChain)
    backend = _backends[engine()]
    best: Segmentation = backend.viterbi(chain)
    if not beyond(best.scores):
        return best
    near, taken = centred(chain)
    if near is chain:
        return best
    best = backend.viterbi(near)
    return replace(best, scores=best.scores + taken)


def expected_counts(chain: SegmentChain) -> SegmentCounts:
    """Compute how often each score is used on average.

    >>> from tagline.chain import segments
    >>> counts = segments.expected_counts(segments.SegmentChain(np.zeros((2, 2, 1)), [[0.0]]))
    >>> counts.segments.round(9).tolist(), counts.transitions.round(9).tolist()
    ([[[0.5], [0.0]], [[0.5], [0.5]]], [[0.5]])
    """
    check_chain(chain, SegmentChain)
    backend = _backends[engine()]
    counts: SegmentCounts = backend.expected_counts(chain)
    if not beyond(counts.log_z):
        return counts
    near, taken = centred(chain)
    if near is chain:
        return counts
    counts = backend.expected_counts(near)
    return replace(counts, log_z=counts.log_z + taken)


def marginals(chain: SegmentChain) -> SegmentMarginals:
    """Compute the probability of each segment, and of each label of each token.

    >>> from tagline.chain import segments
    >>> segments.marginals(segments.SegmentChain(np.zeros((1, 1, 2)), np.zeros((2, 2)))).tokens.tolist()
    [[0.5, 0.5]]
    """
    counts = expected_counts(chain)
    return SegmentMarginals(counts.segments, token_sums(counts.segments), counts.log_z)


def span_probability(chain: SegmentChain, spans: Sequence[SegmentQuery]) -> Float64Array:
    """Compute the probability that a segmentation has each of these segments, ``[M]``.

    Arguments:
        spans: (sentence, first token, token after the last, label) each.

    >>> from tagline.chain import segments
    >>> chain = segments.SegmentChain(np.zeros((2, 2, 1)), [[0.0]])
    >>> segments.span_probability(chain, [(0, 0, 2, 0)]).round(9).tolist()
    [0.5]
    """
    check_chain(chain, SegmentChain)
    rows = np.array([_as_segment(chain, m, span) for m, span in enumerate(spans)], np.int64).reshape(-1, 3)
    return np.asarray(expected_counts(chain).segments[tuple(rows.T)])


def _as_segment(chain: SegmentChain, m: int, span: SegmentQuery) -> tuple[int, int, int]:
    """(last token of the batch, length − 1, label) of a segment."""
    try:
        b, first, last, label = (int(number) for number in span)
    except (TypeError, ValueError):
        raise InputError("spans[{}]: expected (sentence, start, end, label), got {}", m, shown_value(span)) from None
    if not 0 <= b < chain.num_sentences:
        raise InputError("spans[{}]: expected a sentence from 0 to {}, got {}", m, chain.num_sentences - 1, b)
    most = min(chain.max_length, int(chain.lengths[b]) - first)
    if first < 0 or not 1 <= last - first <= most:
        raise InputError(
            "spans[{}]: expected 1 to {} tokens within the {} of sentence {}, got tokens {} to {}",
            m,
            chain.max_length,
            chain.lengths[b],
            b,
            first,
            last - 1,
        )
    if not 0 <= label < chain.num_labels:
        raise InputError("spans[{}]: expected a label from 0 to {}, got {}", m, chain.num_labels - 1, label)
    return int(chain.offsets[b]) + last - 1, last - first - 1, label


def entropy(chain: SegmentChain) -> Float64Array:
    """Compute the entropy of each sentence's segmentation in nats.

    >>> from tagline.chain import segments
    >>> segments.entropy(segments.SegmentChain(np.zeros((2, 2, 1)), [[0.0]])).round(6).tolist()  # log 2
    [0.693147]
    """
    check_chain(chain, SegmentChain)
    values: Float64Array = _backends[engine()].entropy(_near(chain)[0])
    return values


def score(chain: SegmentChain, labels: ArrayLike, begins: ArrayLike) -> Float64Array:
    """Sum the scores of a segmentation, ``[B]``; −∞ where it is forbidden.

    Arguments:
        labels: ``[N]``, the label of the segment that each token lies in.
        begins: ``[N]``, whether a segment begins at the token.

    >>> from tagline.chain import segments
    >>> segments.score(segments.SegmentChain([[[1.0], [0.0]], [[2.0], [5.0]]], [[0.5]]), [0, 0], [True, True]).tolist()
    [3.5]
    """
    numbers, cuts = as_segmentation(chain, labels, begins)
    return gold_counts(chain, numbers, cuts).log_z


def gradients(chain: SegmentChain, labels: ArrayLike, begins: ArrayLike) -> SegmentGradients:
    """Compute the gradient of Σ_b log p(segmentation of sentence b): what it uses less what is expected.

    Arguments:
        labels, begins: as for `score`.

    >>> from tagline.chain import segments
    >>> chain = segments.SegmentChain(np.zeros((2, 2, 1)), [[0.0]])
    >>> segments.gradients(chain, [0, 0], [True, False]).segments.round(9).tolist()
    [[[-0.5], [0.0]], [[-0.5], [0.5]]]
    """
    numbers, cuts = as_segmentation(chain, labels, begins)
    chain, _ = _near(chain)
    gold, counts = gold_counts(chain, numbers, cuts), expected_counts(chain)
    forbidden = np.flatnonzero(np.isneginf(gold.log_z))
    if len(forbidden):
        raise forbidden_gold(int(forbidden[0]))
    return SegmentGradients(
        gold.segments - counts.segments,
        gold.transitions - counts.transitions,
        gold.start - counts.start,
        gold.end - counts.end,
        gold.log_z - counts.log_z,
    )


def as_segmentation(chain: SegmentChain, labels: ArrayLike, begins: ArrayLike) -> tuple[IntArray, BoolArray]:
    """Return labels and begins ``[N]``, or say what is wrong with them."""
    check_chain(chain, SegmentChain)
    numbers = as_label_array(labels, chain.num_tokens, chain.num_labels, chain.offsets)
    cuts = as_array("begins", begins)
    if cuts.shape != (chain.num_tokens,) or (cuts.size and cuts.dtype != np.bool_):
        raise InputError(
            "begins: expected booleans of shape [{}], got {} {}", chain.num_tokens, cuts.dtype, list(cuts.shape)
        )
    cuts = cuts.astype(np.bool_)
    first = first_entries(chain.offsets)
    wrong = np.flatnonzero(first & ~cuts)
    if len(wrong):
        raise InputError("begins[{}]: expected True at the first token of a sentence, got False", wrong[0])
    changes = np.flatnonzero(~cuts[1:] & (numbers[1:] != numbers[:-1])) + 1
    if len(changes):
        raise InputError("labels[{}]: expected the label of the token before, in the same segment", changes[0])
    starts = np.flatnonzero(cuts)
    sizes = np.diff(np.append(starts, chain.num_tokens))
    long = np.flatnonzero(sizes > chain.max_length)
    if len(long):
        raise InputError(
            "begins[{}]: expected segments of up to {} tokens, got {}",
            starts[long[0]],
            chain.max_length,
            sizes[long[0]],
        )
    return numbers, cuts


def log_counts(chain: SegmentChain) -> Float64Array:
    """Compute the logarithm of the number of legal segmentations of each sentence, ``[B]``."""
    scores, transitions, start, end = (
        np.where(np.isneginf(part), part, 0.0) for part in (chain.scores, chain.transitions, chain.start, chain.end)
    )
    return log_partition(SegmentChain(scores, transitions, start, end, chain.offsets), allow_no_path=True)


def k_best(chain: SegmentChain, k: int) -> list[RankedSegmentations]:
    """Find the k best segmentations of each sentence, fewer where there are fewer.

    >>> from tagline.chain import segments
    >>> ranked = segments.k_best(segments.SegmentChain([[[0.0], [0.0]], [[0.0], [1.0]]], [[0.0]]), 5)[0]
    >>> ranked.begins.tolist(), ranked.scores.tolist()
    ([[True, False], [True, True]], [1.0, 0.0])
    """
    check_chain(chain, SegmentChain)
    number = as_whole("k", k, 1)
    check_ranked(number, chain.lengths, lambda: log_counts(chain))
    near, taken = _near(chain)
    try:
        ranked = naive.k_best(near, number)
        return [replace(ways, scores=ways.scores + lost) for ways, lost in zip(ranked, taken, strict=True)]
    except MemoryError:  # others have taken what there is
        raise InputError(
            "k: expected segmentations that fit into memory, got {} for each of {} sentences; ask "
            "for fewer, or about fewer sentences at once",
            shown_value(k),
            chain.num_sentences,
        ) from None


def sample(chain: SegmentChain, count: int = 1, seed: int | np.random.Generator | None = None) -> list[Segmentation]:
    """Draw segmentations by their probability.

    Arguments:
        count: how many.
        seed: of the random numbers, or what draws them.

    >>> from tagline.chain import segments
    >>> drawn = segments.sample(segments.SegmentChain(np.zeros((2, 2, 1)), [[0.0]]), 3, seed=0)
    >>> [draw.begins.tolist() for draw in drawn]
    [[True, False], [True, True], [True, False]]
    """
    check_chain(chain, SegmentChain)
    number = as_whole("count", count, 0)
    labels, begins = naive.sample(_near(chain)[0], draw_uniforms(number, chain.num_tokens, random_generator(seed)))
    return [
        Segmentation(row, cuts, gold_counts(chain, row, cuts).log_z) for row, cuts in zip(labels, begins, strict=True)
    ]
