"""What the ending of a word says about its label: rare words teach the labels of unknown words.

For each ending l_(n−m+1) … l_n of rare words, up to a length, the share of each label among the words that end so is
counted; a longer ending is smoothed by the shorter one, beginning with the share P(t) of each label among all words:

    P_m(t) = (P̂(t | l_(n−m+1) … l_n) + θ P_(m−1)(t)) / (1 + θ),     P_0(t) = P(t)
    θ² = Σ_t (P(t) − 1/K)² / (K − 1)

Brants, TnT: a statistical part-of-speech tagger, ANLP 2000, section 2.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagline.features.vocabulary import Vocabulary
from tagline.ragged import offsets_of, row_offsets
from tagline.types import BoolArray, Float64Array, IntArray


@dataclass(frozen=True, eq=False)
class LabelShares:
    """The labels of each of W words or endings, and how probable they are: lists one after the other.

    Attributes:
        offsets: ``[W + 1]``.
        labels: ``[M]``, ascending in each list.
        shares: ``[M]``.
    """

    offsets: IntArray
    labels: IntArray
    shares: Float64Array

    @classmethod
    def of(cls, dense: Float64Array, stays: BoolArray) -> LabelShares:
        """Take those entries of ``[W, K]`` that stay."""
        rows, labels = np.nonzero(stays)
        return cls(row_offsets(rows, len(dense)), labels, dense[rows, labels])


def joined(parts: Sequence[LabelShares]) -> LabelShares:
    """Put lists behind each other."""
    begins = offsets_of([len(part.labels) for part in parts])
    offsets = [part.offsets[1:] + begin for part, begin in zip(parts, begins[:-1], strict=True)]
    return LabelShares(
        np.concatenate([[0], *offsets]).astype(np.int64),
        np.concatenate([part.labels for part in parts]),
        np.concatenate([part.shares for part in parts]),
    )


def smoothing_weight(prior: Float64Array) -> float:
    """Return θ, the standard deviation of the shares ``[K]`` of all labels; 0 for a single label.

    >>> smoothing_weight(np.array([0.75, 0.25])).__round__(4)
    0.3536
    """
    return float(np.std(prior, ddof=1)) if len(prior) > 1 else 0.0


def likely(shares: Float64Array, ratio: float) -> BoolArray:
    """Say which labels of ``[W, K]`` are possible and at most `ratio` times less probable than their row's best."""
    return np.asarray((shares > 0) & (shares * ratio >= shares.max(axis=-1, keepdims=True)), np.bool_)


def endings(
    words: Sequence[str], counts: Float64Array, prior: Float64Array, longest: int, ratio: float
) -> tuple[Vocabulary, LabelShares]:
    """Find the endings of words and the probable labels of each, the shorter endings first.

    Arguments:
        words: W distinct ones.
        counts: ``[W, K]``, how often each has each label.
        prior: ``[K]``, P(t).
        longest: characters of an ending.
        ratio: labels that are more than this many times less probable than an ending's best are left out.

    >>> names, lists = endings(["cats", "runs"], np.array([[1.0, 0], [1, 1]]), np.array([0.5, 0.5]), 2, 1e3)
    >>> names.names(), lists.labels.tolist(), lists.shares.round(3).tolist()
    (['s', 'ts', 'ns'], [0, 1, 0, 0, 1], [0.667, 0.333, 1.0, 0.5, 0.5])
    """
    theta = smoothing_weight(prior)
    names: list[str] = []
    by_length: list[LabelShares] = []
    shares = prior[None]  # of the endings that are one shorter; first that of none
    nodes = np.zeros(len(words), np.int64)  # [W], the ending of each word among them
    for length in range(1, longest + 1):
        long = np.flatnonzero([len(word) >= length for word in words])
        words, counts, parents = [words[w] for w in long.tolist()], counts[long], nodes[long]
        if not words:
            break
        numbers: dict[str, int] = {}
        nodes = np.array([numbers.setdefault(word[-length:], len(numbers)) for word in words])
        parent = np.empty(len(numbers), np.int64)
        parent[nodes] = parents
        sums = np.zeros((len(numbers), len(prior)))
        np.add.at(sums, nodes, counts)
        shares = (sums / sums.sum(axis=1, keepdims=True) + theta * shares[parent]) / (1 + theta)
        names.extend(numbers)
        by_length.append(LabelShares.of(shares, likely(shares, ratio)))
    none = LabelShares.of(np.zeros((0, 1)), np.zeros((0, 1), bool))
    return Vocabulary.of(names), joined(by_length) if by_length else none
