"""The values of segment chains: scores of segments in, segmentations, probabilities and counts out; all of them frozen.

A segmentation cuts a sentence into segments of 1 to D tokens and gives each one of L labels. Over the N tokens of a
batch it is two arrays: `labels [N]`, the label of the segment that a token lies in, and `begins [N]`, whether a segment
begins at the token.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagline.checks import as_array
from tagline.errors import InputError
from tagline.ragged import first_entries
from tagline.types import BoolArray, Chain, Float64Array, IntArray, place_of, sealed

LARGEST = 1e290  # sums of 10^8 scores below this size stay finite


@dataclass(frozen=True, eq=False)
class SegmentChain:
    """Scores on a batch of sentences that are cut into labelled segments.

    The score of a segmentation with segments (first token, length, label) = (s_k, d_k, y_k), k = 1 … K, is
    ``start[y_1] + Σ_k scores[s_k + d_k − 1, d_k − 1, y_k] + Σ_k>1 transitions[y_(k−1), y_k] + end[y_K]``.

    Arguments:
        scores: ``[N, D, L]``: entry ``[n, d, j]`` is of the segment that ends with token n, has d + 1 tokens and the
            label j. Entries that would begin before their sentence are never read.
        transitions: ``[L, L]`` as ``[previous, next]``; a label may follow itself.
        start, end: ``[L]``, of the first and the last segment; zeros when left out.
        offsets: ``[B + 1]``; one sentence when left out.

    A score of −∞ forbids; NaN and +∞ are errors. All scores are float64.

    >>> import numpy as np
    >>> SegmentChain(np.zeros((3, 2, 1)), [[0.0]])  # three tokens, segments of up to two, one label
    SegmentChain(1 sentences, 3 tokens, segments of up to 2 tokens, 1 labels)
    """

    scores: Float64Array
    transitions: Float64Array
    start: Float64Array
    end: Float64Array
    offsets: IntArray

    def __init__(
        self,
        scores: ArrayLike,
        transitions: ArrayLike,
        start: ArrayLike | None = None,
        end: ArrayLike | None = None,
        offsets: ArrayLike | None = None,
    ) -> None:
        segments = as_array("scores", scores)
        if segments.ndim != 3 or not segments.shape[1] or not segments.shape[2]:
            raise InputError(
                "scores: expected shape [tokens, lengths, labels] with at least one length and one label, got {}",
                list(segments.shape),
            )
        if segments.size and segments.dtype.kind not in "fiu":
            raise InputError("scores: expected numbers, got dtype {}", segments.dtype)
        segments = np.array(segments, np.float64)
        N, _, L = segments.shape
        if as_array("transitions", transitions).shape != (L, L):
            raise InputError(
                "transitions: expected shape [{0}, {0}] to match the scores, got {1}", L, list(np.shape(transitions))
            )
        rest = Chain(sealed(np.zeros((N, L))), transitions, start, end, offsets)  # checks everything else
        wrong = ~((np.abs(segments) < LARGEST) | np.isneginf(segments))
        wrong &= readable(rest.offsets, segments.shape[1])[:, :, None]
        if wrong.any():
            n, d, j = np.argwhere(wrong)[0]
            place = f"scores[{n}, {d}, {j}]{place_of(rest.offsets, n)}"
            raise InputError("{}: expected a finite score or -inf (forbidden), got {}", place, segments[n, d, j])
        values = {"scores": segments, "offsets": rest.offsets}
        values |= {name: np.array(getattr(rest, name), np.float64) for name in ("transitions", "start", "end")}
        for name, array in values.items():
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def num_tokens(self) -> int:
        """N, over all sentences."""
        return int(self.scores.shape[0])

    @property
    def max_length(self) -> int:
        """D, tokens of the longest segment."""
        return int(self.scores.shape[1])

    @property
    def num_labels(self) -> int:
        """L."""
        return int(self.scores.shape[2])

    @property
    def num_sentences(self) -> int:
        """B."""
        return len(self.offsets) - 1

    @property
    def lengths(self) -> IntArray:
        """Tokens of each sentence, ``[B]``."""
        return np.diff(self.offsets)

    def split(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Cut an array whose first axis runs over the tokens into one view for each sentence."""
        return [values[first:last] for first, last in zip(self.offsets[:-1], self.offsets[1:], strict=True)]

    def __repr__(self) -> str:
        return (
            f"SegmentChain({self.num_sentences} sentences, {self.num_tokens} tokens, segments of up to "
            f"{self.max_length} tokens, {self.num_labels} labels)"
        )


def readable(offsets: IntArray, max_length: int) -> BoolArray:
    """Say which segments lie inside their sentence, ``[N, D]``.

    >>> readable(np.array([0, 2, 3]), 2).tolist()
    [[True, False], [True, True], [True, False]]
    """
    places = np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets))  # of tokens in their sentences
    return np.asarray(np.arange(max_length) <= places[:, None])


@dataclass(frozen=True, eq=False)
class Segmentation:
    """One segmentation for each sentence.

    Attributes:
        labels: ``[N]``, the label of the segment that each token lies in.
        begins: ``[N]``, whether a segment begins at the token.
        scores: ``[B]``.
    """

    labels: IntArray
    begins: BoolArray
    scores: Float64Array

    def segments(self, offsets: IntArray) -> list[list[tuple[int, int, int]]]:
        """List the segments of each sentence as (first token, token after the last, label)."""
        return [listed(self.labels[first:last], self.begins[first:last]) for first, last in pairwise(offsets.tolist())]


def listed(labels: IntArray, begins: BoolArray) -> list[tuple[int, int, int]]:
    """List the segments of one sentence as (first token, token after the last, label).

    >>> listed(np.array([0, 1, 1]), np.array([True, True, False]))
    [(0, 1, 0), (1, 3, 1)]
    """
    starts = np.flatnonzero(begins)
    ends = [*starts[1:].tolist(), len(labels)] if len(starts) else []
    return list(zip(starts.tolist(), ends, labels[starts].tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class RankedSegmentations:
    """The best segmentations of one sentence, best first.

    Attributes:
        labels, begins: ``[K, T]``, as in `Segmentation`.
        scores: ``[K]``, non-increasing.
        probabilities: ``[K]``, of each among all segmentations.
    """

    labels: IntArray
    begins: BoolArray
    scores: Float64Array
    probabilities: Float64Array


@dataclass(frozen=True, eq=False)
class SegmentCounts:
    """How often each score is expected to be used; for segments these are their probabilities.

    Attributes:
        segments: ``[N, D, L]``.
        transitions: ``[L, L]``, summed over the batch.
        start, end: ``[L]``, summed over the batch.
        log_z: ``[B]``.
    """

    segments: Float64Array
    transitions: Float64Array
    start: Float64Array
    end: Float64Array
    log_z: Float64Array


@dataclass(frozen=True, eq=False)
class SegmentMarginals:
    """Probabilities of segments and of labels.

    Attributes:
        segments: ``[N, D, L]``, that a segment ends with token n, has d + 1 tokens and the label j.
        tokens: ``[N, L]``, that token n lies in a segment with the label j.
        log_z: ``[B]``.
    """

    segments: Float64Array
    tokens: Float64Array
    log_z: Float64Array


@dataclass(frozen=True, eq=False)
class SegmentGradients:
    """Derivatives of Σ_b log p(segmentation of sentence b) with respect to the scores; 0 where a score is −∞.

    Attributes:
        segments, transitions, start, end: as in `SegmentCounts`.
        log_likelihood: ``[B]``.
    """

    segments: Float64Array
    transitions: Float64Array
    start: Float64Array
    end: Float64Array
    log_likelihood: Float64Array


def token_sums(segments: Float64Array) -> Float64Array:
    """Sum over the segments that each token lies in, ``[N, D, L]`` to ``[N, L]``."""
    N, D, L = segments.shape
    out = np.zeros((N, L))
    longer = np.cumsum(segments[:, ::-1], axis=1)[:, ::-1]  # [n, d]: segments of at least d + 1 tokens that end at n
    for k in range(min(D, N)):
        out[: N - k] += longer[k:, k]
    return out


def gold_counts(chain: SegmentChain, labels: IntArray, begins: BoolArray) -> SegmentCounts:
    """Count what a segmentation uses, 0 or 1 for segments; `log_z` holds its score."""
    first, last = np.flatnonzero(begins), np.flatnonzero(ends_of(begins, chain.offsets))
    places = last, last - first, labels[last]  # of each segment in `chain.scores`
    label = labels[last]
    opening = first_entries(chain.offsets)[first]
    closing = np.append(opening[1:], True)[: len(opening)]
    inner = np.flatnonzero(~opening)
    pairs = label[inner - 1], label[inner]
    segments, transitions = np.zeros(chain.scores.shape), np.zeros(chain.transitions.shape)
    segments[places] = 1.0
    np.add.at(transitions, pairs, 1.0)
    L = chain.num_labels
    start, end = np.bincount(label[opening], minlength=L), np.bincount(label[closing], minlength=L)
    values = (
        chain.scores[places] + np.where(opening, chain.start[label], 0.0) + np.where(closing, chain.end[label], 0.0)
    )
    values[inner] += chain.transitions[pairs]
    sentence = np.searchsorted(chain.offsets, last, side="right") - 1
    scores = np.zeros(chain.num_sentences)
    np.add.at(scores, sentence, values)
    return SegmentCounts(segments, transitions, start.astype(np.float64), end.astype(np.float64), scores)


def ends_of(begins: BoolArray, offsets: IntArray) -> BoolArray:
    """Say of each token whether a segment ends with it, ``[N]``."""
    after = np.zeros(len(begins) + 1, bool)
    after[:-1] = begins
    after[offsets[1:]] = True
    return after[1:]
