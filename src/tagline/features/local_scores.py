"""Scores of a model that is normalised at each token: the chain of a maximum-entropy Markov model.

    log p(y_n = j | y_(n−1) = i, x) = s_n(i, j) − log N_n(i),    N_n(i) = Σ_j exp s_n(i, j)

with s_n(i, j) the emission of j, the transition from i to j, and the start or end score at the ends of a sentence. The
normaliser depends on the label before alone. So it can be charged to the emission of that label, one token earlier:
the transitions stay as they are, a labelling scores exactly its log-probability, and log Z is 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline.features.attributes import Features
from tagline.features.weights import Scorer
from tagline.ragged import first_entries
from tagline.types import Chain, Float64Array, IntArray, sealed

FAINT = 1e-200  # a sum of products that is below may have lost terms


class LocalScorer(Scorer):
    """A `Scorer` whose chains are products of distributions, one a token; see the module for the formula."""

    def joined(self, emissions: NDArray[Any], offsets: IntArray, transitions: NDArray[Any] | None = None) -> Chain:
        """Return the chain of sentences with these scores, normalisers charged to the token before."""
        return charged(super().joined(emissions, offsets, transitions))

    def normalisers(self, features: Features) -> Float64Array:
        """Return `log_normalisers` of sentences."""
        scores = super().joined(self.emissions(features), features.offsets, self._transitions(features))
        return log_normalisers(scores)


def charged(chain: Chain) -> Chain:
    """Return the chain of the local distributions: from the scores s_n(i, j) to log p(j | i) of each token.

    A label that no label may follow has a normaliser of 0; labellings with it in the middle are forbidden.
    """
    first = first_entries(chain.offsets)
    logs = log_normalisers(chain)
    emissions = chain.emissions.astype(np.float64)
    emissions[first] -= logs[first]
    before = np.flatnonzero(~first)
    emissions[before - 1] -= logs[before]
    emissions[np.isposinf(emissions) | np.isnan(emissions)] = -np.inf
    scores = sealed(emissions.astype(chain.emissions.dtype))
    return Chain(scores, chain.transitions, chain.start, chain.end, chain.offsets)


def log_normalisers(chain: Chain) -> Float64Array:
    """Return log N_n(i), ``[N, L]``; at a first token, where no label is before, each entry is that of the token."""
    first, ends = first_entries(chain.offsets), chain.offsets[1:][np.diff(chain.offsets) > 0] - 1
    emissions = chain.emissions.astype(np.float64)
    emissions[ends] += chain.end
    begun = _log_sums(emissions[first] + chain.start)
    if chain.transitions.ndim == 2:
        logs = _log_products(emissions, chain.transitions.astype(np.float64))
    else:
        between = np.where(first[:, None, None], 0.0, chain.transitions)
        logs = _log_sums(emissions[:, None, :] + between)
    logs[first] = begun[:, None]
    return logs


def _log_sums(scores: Float64Array) -> Float64Array:
    """Return log Σ exp over the last axis; −∞ where all are."""
    top = _finite(scores.max(axis=-1))
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(scores - top[..., None]).sum(axis=-1)) + top)


def _log_products(emissions: Float64Array, transitions: Float64Array) -> Float64Array:
    """Return log Σ_j exp(emissions[n, j] + transitions[i, j]), ``[N, L]``, by one product of matrices."""
    tops, heights = _finite(emissions.max(axis=1)), _finite(transitions.max(axis=1))
    sums = np.exp(emissions - tops[:, None]) @ np.exp(transitions - heights[:, None]).T
    with np.errstate(divide="ignore"):
        logs: Float64Array = np.log(sums) + tops[:, None] + heights
    faint, labels = np.nonzero(sums < FAINT)
    if len(faint):
        logs[faint, labels] = _log_sums(emissions[faint] + transitions[labels])
    return logs


def _finite(tops: Float64Array) -> Float64Array:
    """Return maxima to be subtracted: 0 where everything is forbidden."""
    return np.where(np.isfinite(tops), tops, 0.0)
