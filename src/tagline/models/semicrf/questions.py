"""The questions of `tagline.models.answers` to segments: asked of `tagline.chain.segments`, answered in tags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline.chain import segments
from tagline.chain.memory import memory
from tagline.chain.segments import SegmentChain
from tagline.chain.segments.dispatch import log_counts
from tagline.errors import InputError
from tagline.models.entities import FoundSpans, Reading
from tagline.models.questions import Questions
from tagline.models.semicrf.tags import SegmentTags
from tagline.ragged import offsets_of
from tagline.types import BoolArray, Chain, Float64Array, IntArray, Marginals, Paths, RankedPaths

TRANSITION_BYTES = 40  # that a pair of states takes while a chain is made and asked


@dataclass(frozen=True, eq=False)
class TaggedSegments:
    """A block of sentences: the scores of their segments, and how these are written as tags."""

    chain: SegmentChain
    tags: SegmentTags

    @property
    def offsets(self) -> IntArray:
        """``[B + 1]``."""
        return self.chain.offsets

    @property
    def lengths(self) -> IntArray:
        """Tokens of each sentence, ``[B]``."""
        return self.chain.lengths

    @property
    def num_sentences(self) -> int:
        """B."""
        return self.chain.num_sentences

    def split(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Cut an array whose first axis runs over the tokens into one view for each sentence."""
        return self.chain.split(values)

    def written(self, labels: IntArray, begins: BoolArray) -> IntArray:
        """Write a segmentation as tags ``[N]``."""
        return self.tags.tags(labels, begins, self.offsets)


class SegmentQuestions(Questions):
    """Questions to `TaggedSegments`."""

    @staticmethod
    def viterbi(scored: TaggedSegments) -> Paths:
        """Find the tags of the best segmentation."""
        best = segments.viterbi(scored.chain)
        return Paths(scored.written(best.labels, best.begins), best.scores)

    @staticmethod
    def marginals(scored: TaggedSegments) -> Marginals:
        """Compute the probability of each tag of each token."""
        counts = segments.expected_counts(scored.chain)
        return Marginals(scored.tags.tag_sums(counts.segments), None, counts.log_z)

    @staticmethod
    def k_best(scored: TaggedSegments, k: int) -> list[RankedPaths]:
        """Find the tags of the k best segmentations of each sentence."""
        out = []
        for ways in segments.k_best(scored.chain, k):
            K, T = ways.labels.shape
            ends = offsets_of([T] * K)
            tags = scored.tags.tags(ways.labels.ravel(), ways.begins.ravel(), ends).reshape(K, T)
            out.append(RankedPaths(tags, ways.scores, ways.probabilities))
        return out

    @staticmethod
    def sample_paths(scored: TaggedSegments, count: int, seed: Any) -> IntArray:
        """Draw the tags of segmentations, ``[count, N]``."""
        drawn = [scored.written(way.labels, way.begins) for way in segments.sample(scored.chain, count, seed)]
        return np.array(drawn, np.int64).reshape(count, scored.chain.num_tokens)

    @staticmethod
    def log_partition(scored: TaggedSegments, *, allow_no_path: bool = False) -> Float64Array:
        """Compute log Z, ``[B]``."""
        return segments.log_partition(scored.chain, allow_no_path=allow_no_path)

    @staticmethod
    def entropy(scored: TaggedSegments) -> Float64Array:
        """Compute the entropy of each sentence's segmentation, ``[B]``."""
        return segments.entropy(scored.chain)

    @staticmethod
    def constrain(scored: TaggedSegments, allowed: BoolArray) -> TaggedSegments:
        """Forbid segments that write a tag which is not allowed, ``[N, K]``."""
        chain = scored.chain
        legal = scored.tags.legal_segments(allowed, chain.max_length)
        bound = np.where(legal, chain.scores, -np.inf)
        return TaggedSegments(
            SegmentChain(bound, chain.transitions, chain.start, chain.end, chain.offsets), scored.tags
        )

    @staticmethod
    def probable_spans(
        scored: TaggedSegments, reading: Reading, min_probability: float, best: IntArray | None = None, first: int = 0
    ) -> FoundSpans:
        """Find the spans of the best segmentation that are probable enough: each is one segment."""
        tags = SegmentQuestions.viterbi(scored).labels if best is None else best
        spans = reading.spans(tags, scored.offsets)
        kinds = spans.numbered(reading.types).astype(np.int64)
        last = scored.offsets[spans.sentence] + spans.end - 1
        label, _ = scored.tags.segmentation(tags, scored.offsets)
        counts = segments.expected_counts(scored.chain).segments
        p = np.minimum(counts[last, spans.end - spans.start - 1, label[last]], 1.0)
        likely = p >= min_probability
        sentence = spans.sentence[likely] + first
        return FoundSpans(sentence, spans.start[likely], spans.end[likely], kinds[likely], reading.types, p[likely])

    @staticmethod
    def log_counts(scored: TaggedSegments) -> Float64Array:
        """Compute the logarithm of the number of legal segmentations of each sentence, ``[B]``."""
        return log_counts(scored.chain)


@dataclass(frozen=True, eq=False)
class SegmentStates(Chain):
    """One sentence as a first-order chain, with the same distribution: its labels are places in segments.

    A segment of d tokens with the label j is the path of states (j, d, 1), (j, d, 2), …, (j, d, d); its score is the
    emission of the first of them. Every query of `tagline.chain` can be asked about it, at the price of L·D²/2 states.

    Attributes:
        states: ``[S, 3]``, (label, tokens of the segment, place in it from 0 on).
        labels: ``[S]``, the tag of each state, as a number of `labels_`.
    """

    states: IntArray
    labels: IntArray

    def __init__(self, chain: SegmentChain, b: int, tags: SegmentTags) -> None:
        """Write sentence b of a segment chain as a chain."""
        first, last = int(chain.offsets[b]), int(chain.offsets[b + 1])
        T, D = last - first, max(1, min(chain.max_length, last - first))
        longest = [1 if tags.outside and j == tags.spans else D for j in range(tags.num_types)]
        _check_states(sum(most * (most + 1) // 2 for most in longest), D)
        rows = [(j, d, k) for j, most in enumerate(longest) for d in range(1, most + 1) for k in range(d)]
        states = np.array(rows, np.int64)  # [S, 3]
        label, size, place = states.T
        opening, closing = place == 0, place == size - 1
        emissions = np.zeros((T, len(states)))
        for s in np.flatnonzero(opening):
            fits = T - int(size[s]) + 1  # segments that begin at tokens below end inside the sentence
            ends = first + np.arange(fits) + size[s] - 1
            emissions[:fits, s] = chain.scores[ends, size[s] - 1, label[s]]
            emissions[fits:, s] = -np.inf
        same = (label[:, None] == label) & (size[:, None] == size) & (place[:, None] + 1 == place)
        crossing = closing[:, None] & opening
        transitions = np.where(crossing, chain.transitions[label[:, None], label], np.where(same, 0.0, -np.inf))
        start, end = np.where(opening, chain.start[label], -np.inf), np.where(closing, chain.end[label], -np.inf)
        super().__init__(emissions, transitions, start, end)
        role = np.where(size == 1, 0, np.where(opening, 1, np.where(closing, 3, 2)))
        object.__setattr__(self, "states", states)
        object.__setattr__(self, "labels", tags.roles[role, label])


def _check_states(count: int, longest: int) -> None:
    """Refuse a chain that would take more than half of the memory."""
    taken, most = TRANSITION_BYTES * count**2, memory() / 2
    if taken > most:
        raise InputError(
            "max_length: expected places in segments that fit into {:.1f} GiB, half of the memory, got "
            "{} of segments of up to {} tokens, about {:.1f} GiB; ask about shorter sentences",
            most / 2**30,
            count,
            longest,
            taken / 2**30,
        )
