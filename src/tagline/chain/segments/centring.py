"""Segment scores of any size: what all segmentations of a sentence share is taken out.

A number c_n for each token changes no probability where each segment loses those of its tokens: every segmentation
loses Σ c_n, as in `tagline.chain.centring`. With V_t the score of the best way to cut the first t tokens, whatever the
labels, c_t = V_t − V_(t−1).
"""

from __future__ import annotations

import numpy as np

from tagline.chain.centring import LARGE, LOWEST
from tagline.chain.segments.types import SegmentChain, readable
from tagline.types import Float64Array


def centred(chain: SegmentChain) -> tuple[SegmentChain, Float64Array]:
    """Return a chain of the same probabilities, and what was taken from the score of each sentence, ``[B]``.

    It is the chain itself unless what segmentations share is beyond `LARGE`.

    >>> near, taken = centred(SegmentChain([[[1e16, 1e16 + 2]]], [[0.0, 0.0], [0.0, 0.0]]))
    >>> near.scores.tolist(), taken.tolist()
    ([[[-2.0, 0.0]]], [1.0000000000000002e+16])
    """
    a, first, last = (_largest(part) for part in (chain.transitions, chain.start, chain.end))
    scores = np.where(readable(chain.offsets, chain.max_length)[:, :, None], chain.scores, -np.inf)
    tokens = _tokens(scores.max(axis=2) + a, chain)
    if max(abs(a), abs(first), abs(last), np.abs(tokens).max(initial=0.0)) <= LARGE:
        return chain, np.zeros(chain.num_sentences)
    lost = np.zeros(chain.num_tokens, np.longdouble)  # Σ c of the last d + 1 tokens
    near = np.full(scores.shape, -np.inf)
    for d in range(chain.max_length):
        lost[d:] += tokens[: max(0, len(tokens) - d)]
        taken = lost[:, None]
        exact = np.where(np.abs(scores[:, d]) > abs(a), (scores[:, d] - taken) + a, scores[:, d] + (a - taken))
        near[:, d] = _kept(exact, scores[:, d])
    sums = np.concatenate([[0.0], np.cumsum(tokens)])[chain.offsets]
    tables = (chain.transitions, a), (chain.start, first), (chain.end, last)
    transitions, start, end = (_kept(table - most, table) for table, most in tables)
    total = np.where(chain.lengths > 0, np.diff(sums) + first + last - a, 0.0)
    return SegmentChain(near, transitions, start, end, chain.offsets), total


def _tokens(best: Float64Array, chain: SegmentChain) -> Float64Array:
    """c_n of each token, given the best score of each segment ``[N, D]``; 0 where no segment ends with the token.

    V itself is never added up: it would have lost the digits that are sought.
    """
    out = np.zeros(chain.num_tokens)
    for begin, end in zip(chain.offsets[:-1].tolist(), chain.offsets[1:].tolist(), strict=True):
        for n in range(begin, end):
            before = out[max(begin, n - chain.max_length + 1) : n][::-1]
            lost = np.concatenate([[0.0], np.cumsum(before, dtype=np.longdouble)])  # V_(t−1) − V_(t−d)
            value = float((best[n, : len(lost)] - lost).max())
            out[n] = value if value > -np.inf else 0.0
    return out


def _largest(scores: Float64Array) -> float:
    most = float(scores.max())
    return 0.0 if most == -np.inf else most


def _kept(lowered: Float64Array, scores: Float64Array) -> Float64Array:
    return np.where(np.isneginf(scores), -np.inf, np.maximum(lowered, LOWEST).astype(np.float64))
