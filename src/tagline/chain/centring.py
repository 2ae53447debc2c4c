"""Scores of any size: a chain whose scores are huge has the same probabilities as one whose largest scores are 0.

A labelling of score 10^16 and one that is better by 1 are the same number in float64, and so are their probabilities.
What all labels of a token have in common says nothing of which is right: it is taken out before scores are added.
"""

from __future__ import annotations

import numpy as np

from tagline.chain.checks import check_chain
from tagline.types import Chain, Float64Array, FloatArray, sealed

LARGE = 2.0**24  # scores beyond lose more than eight digits of a probability
STEP = float(np.spacing(LARGE / 2))
LOWEST = -9e289  # stands for differences that no chain holds


def centred(chain: Chain) -> tuple[Chain, Float64Array]:
    """Return a chain of the same probabilities, and what was taken from the score of each sentence, ``[B]``.

    It is the chain itself unless the largest scores of a token, or of a table, are beyond `LARGE`.

    >>> far = Chain([[1e16, 1e16 + 2]], [[0.0, 0.0], [0.0, 0.0]])
    >>> near, taken = centred(far)
    >>> near.emissions.tolist(), taken.tolist()
    ([[-2.0, 0.0]], [1.0000000000000002e+16])
    """
    check_chain(chain)
    if chain._highest <= LARGE and all(map(_none_below, (chain.emissions, chain.transitions, chain.start, chain.end))):
        return chain, np.zeros(chain.num_sentences)
    tokens = _largest(chain.emissions)
    pairs = _largest(chain.transitions, (-2, -1))
    first, last = _largest(chain.start), _largest(chain.end)
    if max(np.abs(part).max(initial=0.0) for part in (tokens, pairs, first, last)) <= LARGE:
        return chain, np.zeros(chain.num_sentences)
    steps = np.full(chain.num_tokens, pairs) if pairs.ndim == 0 else pairs.copy()
    begins = chain.offsets[:-1][chain.lengths > 0]
    steps[begins] = 0.0  # the entry at the first token of a sentence is never read
    if pairs.ndim:
        pairs = steps
    sums = np.concatenate([[0.0], np.cumsum(tokens + steps)])
    taken = np.where(chain.lengths > 0, sums[chain.offsets[1:]] - sums[chain.offsets[:-1]] + first + last, 0.0)
    near = Chain(
        sealed(_less(chain.emissions, tokens[:, None])),
        sealed(_less(chain.transitions, pairs[..., None, None])),
        _less(chain.start, first),
        _less(chain.end, last),
        chain.offsets,
    )
    return near, taken


def beyond(totals: Float64Array) -> bool:
    """Whether log Z or the best score ``[B]`` of some sentence is beyond `LARGE`."""
    if len(totals) == 1:  # a number takes a tenth of the time of an array
        return abs(totals.item()) > LARGE
    return bool(np.abs(totals).max(initial=0.0) > LARGE)


def from_beyond(log_likelihood: Float64Array) -> bool:
    """Whether score − log Z ``[B]`` may be a difference of numbers beyond `LARGE`.

    Such a difference is a multiple of the distance between numbers half as large; others hardly ever are, except 0.
    """
    if len(log_likelihood) == 1:
        return not log_likelihood.item() % STEP
    return not np.all(log_likelihood % STEP)


def _none_below(scores: FloatArray) -> bool:
    """Whether no score is far below 0, by a quick look; −∞ asks for a closer one."""
    return not scores.size or bool(scores.min() >= -LARGE)


def _largest(scores: FloatArray, axes: int | tuple[int, int] = -1) -> Float64Array:
    """The largest finite score of each row, or table; 0 where there is none."""
    largest = scores.max(axis=axes, initial=-np.inf).astype(np.float64)
    return np.asarray(np.where(np.isneginf(largest), 0.0, largest))


def _less(scores: FloatArray, largest: Float64Array) -> Float64Array:
    lowered = np.maximum(scores.astype(np.float64) - largest, LOWEST)
    return np.where(np.isneginf(scores), -np.inf, lowered)
