"""The likelihood of a semi-CRF as an objective over flat weights: Σ_b weight_b · −log p(segmentation_b), no penalties.

With every label known the counts of the gold segments are taken once; the value is Σ log Z − w · counts and the
gradient the expected counts less those. Where labels are not known, the segmentations that the known ones allow stand
in the place of the gold one: −log of their summed probability, log Z − log Z(allowed).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tagline import compiled
from tagline.chain.native import call_core
from tagline.models.semicrf.attributes import Gold, bucket_sums
from tagline.models.semicrf.parameters import Numbered, Tables, Weights, row_sums, score_block
from tagline.models.semicrf.tags import SegmentTags
from tagline.ragged import blocks_of, row_offsets
from tagline.types import BoolArray, Float64Array, IntArray

MOST_CELLS = 2**20  # scores that are worked on at once


@dataclass(frozen=True, eq=False)
class Targets:
    """What sentences are labelled with: their segments, or, where not all labels are known, ``[N, K]`` allowed tags.

    Attributes:
        labels, begins: ``[N]``, a segmentation; not looked at where `allowed` is given.
        allowed: tags that each token may have.
        weights: ``[B]``, how much each sentence counts; None for all the same.
    """

    labels: IntArray
    begins: BoolArray
    allowed: BoolArray | None = None
    weights: Float64Array | None = None


class _Transposed:
    """Sparse rows with their columns: sums of a table for each row, and of numbers of rows for each column."""

    def __init__(
        self, offsets: IntArray, ids: NDArray[np.int32], values: NDArray[np.float32] | None, width: int
    ) -> None:
        self.offsets, self.ids, self.values = offsets, ids, values
        order = np.argsort(ids, kind="stable")
        rows = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))
        self._offsets, self._rows = row_offsets(ids[order].astype(np.int64), width), rows[order]
        self._values = None if values is None else values[order]

    def scores(self, table: Float64Array) -> Float64Array:
        return row_sums(self.offsets, self.ids, self.values, table)

    def counts(self, amounts: Float64Array) -> Float64Array:
        return row_sums(self._offsets, self._rows, self._values, amounts)


class SegmentLikelihood:
    """Negative log-likelihood and gradient.

    Arguments:
        tags: how segments are written.
        weights: which weights there are.
        numbered, targets: the labelled sentences.
    """

    def __init__(self, tags: SegmentTags, weights: Weights, numbered: Numbered, targets: Targets) -> None:
        compiled.require()
        self.tags, self.weights, self.numbered, self.targets = tags, weights, numbered, targets
        states, rows, shape = numbered.states, numbered.rows, weights.shape
        self._states = _Transposed(states.offsets, states.ids, states.values, len(shape.states))
        self._rows = _Transposed(rows.offsets, rows.ids, None, len(shape.segments))
        self._D, self._L = shape.length.shape
        self._blocks = blocks_of(numbered.offsets, max(1, MOST_CELLS // (self._D * self._L)))
        self._gold = weights.flat(self._gold_counts()) if targets.allowed is None else None

    @property
    def size(self) -> int:
        """How many weights there are."""
        return self.weights.size

    def __call__(self, weights: Float64Array) -> tuple[float, Float64Array]:
        """Return the value and the gradient ``[size]``."""
        sums = self._expected(weights)
        gradient = self.weights.flat(self._tables_of(sums))
        if self._gold is None:
            return sums.value, gradient
        return sums.value - float(self._gold @ weights), gradient - self._gold

    def curvature(self, weights: Float64Array) -> Float64Array:
        """Return about Σ p (1 − p) for each weight, what the diagonal of the Hessian is like."""
        sums = self._expected(weights, variance=True)
        return np.maximum(self.weights.flat(self._tables_of(sums)), 0.0)

    def _expected(self, weights: Float64Array, variance: bool = False) -> _Sums:
        tables = self.weights.tables(np.asarray(weights, np.float64))
        sums = _Sums(self, tables)
        emissions, row_scores = self._states.scores(tables.states), self._rows.scores(tables.segments)
        for first, last in self._blocks:
            self._add_block(sums, tables, emissions, row_scores, first, last, variance)
        return sums

    def _add_block(
        self,
        sums: _Sums,
        tables: Tables,
        emissions: Float64Array,
        row_scores: Float64Array,
        first: int,
        last: int,
        variance: bool,
    ) -> None:
        offsets, D, L = self.numbered.offsets, self._D, self._L
        begin, end = int(offsets[first]), int(offsets[last])
        rows, which = self.numbered.rows.block(begin * D, end * D)
        seen = None if self.numbered.seen is None else self.numbered.seen[begin:end]
        scores = score_block(self.tags, tables, emissions[begin:end], rows, row_scores[which], seen)
        weights = None if self.targets.weights is None else self.targets.weights[first:last]
        where = offsets[first : last + 1] - begin
        segments = sums.add(scores, tables, where, weights, 1.0)
        if self.targets.allowed is not None and not variance:
            legal = self.tags.legal_segments(self.targets.allowed[begin:end], D)
            segments = segments + sums.add(np.where(legal, scores, -np.inf), tables, where, weights, -1.0)
        tokens = self.tags.tag_sums(segments)
        if variance:
            tokens, segments = tokens * (1 - tokens), segments * (1 - segments)
        sums.tokens[begin:end] = tokens
        sums.rows[which] = segments.reshape(-1, L)[rows.places]
        sums.length += segments.sum(axis=0)
        if seen is not None:
            sums.lexicon += bucket_sums(seen, segments)

    def _tables_of(self, sums: _Sums) -> Tables:
        return Tables(
            self._states.counts(sums.tokens),
            self._rows.counts(sums.rows),
            sums.lexicon,
            sums.length,
            sums.transitions,
            sums.start,
            sums.end,
        )

    def _gold_counts(self) -> Tables:
        """What the gold segmentations use, weighed by sentence."""
        offsets, D, L = self.numbered.offsets, self._D, self._L
        sums = _Sums(self, self.weights.shape)
        gold = Gold.of(self.targets.labels, self.targets.begins, offsets)
        sentence = np.searchsorted(offsets, gold.last, side="right") - 1
        weight = np.ones(len(gold.last)) if self.targets.weights is None else self.targets.weights[sentence]
        opening = gold.last - gold.sizes == offsets[sentence]
        closing = gold.last + 1 == offsets[sentence + 1]
        inner = np.flatnonzero(~opening)
        np.add.at(sums.start, gold.labels[opening], weight[opening])
        np.add.at(sums.end, gold.labels[closing], weight[closing])
        np.add.at(sums.transitions, (gold.labels[inner - 1], gold.labels[inner]), weight[inner])
        for first, last in self._blocks:
            begin, end = int(offsets[first]), int(offsets[last])
            low, high = np.searchsorted(gold.last, [begin, end]).tolist()
            segments = np.zeros((end - begin, D, L))
            places = gold.last[low:high] - begin, gold.sizes[low:high], gold.labels[low:high]
            segments[places] = weight[low:high]
            rows, which = self.numbered.rows.block(begin * D, end * D)
            sums.tokens[begin:end] = self.tags.tag_sums(segments)
            sums.rows[which] = segments.reshape(-1, L)[rows.places]
            sums.length += segments.sum(axis=0)
            if self.numbered.seen is not None:
                sums.lexicon += bucket_sums(self.numbered.seen[begin:end], segments)
        return self._tables_of(sums)


class _Sums:
    """What is added up over the blocks."""

    def __init__(self, likelihood: SegmentLikelihood, tables: Tables) -> None:
        numbered, L = likelihood.numbered, len(tables.start)
        self.value = 0.0
        self.tokens = np.zeros((int(numbered.offsets[-1]), len(likelihood.tags.labels)))
        self.rows = np.zeros((len(numbered.rows.places), L))
        self.lexicon, self.length = np.zeros(tables.lexicon.shape), np.zeros(tables.length.shape)
        self.transitions, self.start, self.end = np.zeros((L, L)), np.zeros(L), np.zeros(L)

    def add(
        self, scores: Float64Array, tables: Tables, offsets: IntArray, weights: Float64Array | None, sign: float
    ) -> Float64Array:
        """Add sign · log Z to the value and sign · expected counts to the sums; return those of segments."""
        segments, transitions, start, end, log_z = call_core(
            compiled.require().segment_counts,
            scores,
            tables.transitions,
            tables.start,
            tables.end,
            offsets,
            weights,
        )
        weighed = log_z if weights is None else log_z * weights
        self.value += sign * float(weighed.sum())
        self.transitions += sign * transitions
        self.start += sign * start
        self.end += sign * end
        return np.asarray(sign * segments if sign != 1.0 else segments)
