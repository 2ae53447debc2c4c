"""What the ending of a word says about its tag: from words that are rare to the tags of words that are unknown.

Each ending l_(n−m+1) … l_n of a rare word, up to a length, has the share of each tag among the words that end so; a
longer ending is smoothed by the shorter one, beginning with the share P(t) of each tag among all words:

    P_m(t) = (P̂(t | l_(n−m+1) … l_n) + θ P_(m−1)(t)) / (1 + θ),     P_0(t) = P(t)
    θ² = Σ_t (P(t) − 1/K)² / (K − 1)

Brants, TnT: a statistical part-of-speech tagger, ANLP 2000, section 2.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagline.features.vocabulary import Vocabulary
from tagline.types import BoolArray, Float64Array, IntArray


@dataclass(frozen=True, eq=False)
class TagShares:
    """Tags of each of W things and how probable they are: lists one after the other.

    Attributes:
        offsets: ``[W + 1]``.
        tags: ``[M]``, ascending in each list.
        shares: ``[M]``.
    """

    offsets: IntArray
    tags: IntArray
    shares: Float64Array

    @classmethod
    def of(cls, dense: Float64Array, kept: BoolArray) -> TagShares:
        """Take the entries of ``[W, K]`` that are kept."""
        rows, tags = np.nonzero(kept)
        return cls(row_bounds(rows, len(dense)), tags, dense[rows, tags])


def row_bounds(rows: IntArray, count: int) -> IntArray:
    """Where each of `count` lists begins, ``[count + 1]``, given the list of each entry."""
    return np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))]).astype(np.int64)


def joined(parts: Sequence[TagShares]) -> TagShares:
    """Put lists behind each other."""
    ends = np.cumsum([0, *(len(part.tags) for part in parts)])
    offsets = [part.offsets[1:] + end for part, end in zip(parts, ends[:-1], strict=True)]
    return TagShares(
        np.concatenate([[0], *offsets]).astype(np.int64),
        np.concatenate([part.tags for part in parts]),
        np.concatenate([part.shares for part in parts]),
    )


def smoothing_weight(prior: Float64Array) -> float:
    """θ: the standard deviation of the shares ``[K]`` of all tags; 0 for a single tag.

    >>> smoothing_weight(np.array([0.75, 0.25])).__round__(4)
    0.3536
    """
    return float(np.std(prior, ddof=1)) if len(prior) > 1 else 0.0


def likely(shares: Float64Array, ratio: float) -> BoolArray:
    """Which tags of ``[W, K]`` are possible and at most `ratio` times less probable than the best of their row."""
    kept: BoolArray = (shares > 0) & (shares * ratio >= shares.max(axis=-1, keepdims=True))
    return kept


def endings(
    words: Sequence[str], counts: Float64Array, prior: Float64Array, longest: int, ratio: float
) -> tuple[Vocabulary, TagShares]:
    """Find the endings of words and the probable tags of each, the shorter endings first.

    Arguments:
        words: W distinct ones.
        counts: ``[W, K]``, how often each has each tag.
        prior: ``[K]``, P(t).
        longest: characters of an ending.
        ratio: tags that are so many times less probable than an ending's best are left out.

    >>> names, found = endings(["cats", "runs"], np.array([[1.0, 0], [1, 1]]), np.array([0.5, 0.5]), 2, 1e3)
    >>> names.names(), found.tags.tolist(), found.shares.round(3).tolist()
    (['s', 'ts', 'ns'], [0, 1, 0, 0, 1], [0.667, 0.333, 1.0, 0.5, 0.5])
    """
    theta = smoothing_weight(prior)
    names: list[str] = []
    found: list[TagShares] = []
    shares = prior[None]  # of the endings that are one shorter; first that of none
    nodes = np.zeros(len(words), np.int64)  # [W], the ending of each word among them
    for length in range(1, longest + 1):
        kept = np.flatnonzero([len(word) >= length for word in words])
        words, counts, parents = [words[w] for w in kept.tolist()], counts[kept], nodes[kept]
        if not len(kept):
            break
        numbers: dict[str, int] = {}
        nodes = np.array([numbers.setdefault(word[-length:], len(numbers)) for word in words])
        parent = np.empty(len(numbers), np.int64)
        parent[nodes] = parents
        sums = np.zeros((len(numbers), len(prior)))
        np.add.at(sums, nodes, counts)
        shares = (sums / sums.sum(axis=1, keepdims=True) + theta * shares[parent]) / (1 + theta)
        names.extend(numbers)
        found.append(TagShares.of(shares, likely(shares, ratio)))
    return Vocabulary.of(names), joined(found) if found else TagShares.of(np.zeros((0, 1)), np.zeros((0, 1), bool))
