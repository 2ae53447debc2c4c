"""What a semi-CRF has learned, and how it scores: tables of weights, and sentences in numbers, to segment chains.

The score of the segment that ends with token n, has d + 1 tokens and the label j is

    Σ over its tokens of the weights of (attribute, tag)  + weights of (segment attribute, j)
    + lexicon[bucket of its string, d, j] + length[d, j]

and from segment to segment there are transitions, start and end, as in every chain.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline import compiled
from tagline.chain.segments import SegmentChain
from tagline.features.attributes import Attributes
from tagline.features.vocabulary import Vocabulary
from tagline.models.semicrf.attributes import BUCKETS, Lexicon, SegmentNames, SegmentRows
from tagline.models.semicrf.tags import SegmentTags
from tagline.types import Float64Array, IntArray


@dataclass(frozen=True, eq=False)
class Tables:
    """Weights, or numbers that belong to weights.

    Attributes:
        states: ``[A, K]``, of token attributes with tags.
        segments: ``[M, L]``, of segment attributes with labels.
        lexicon: ``[BUCKETS, D, L]``.
        length: ``[D, L]``.
        transitions: ``[L, L]``.
        start, end: ``[L]``.
    """

    states: Float64Array
    segments: Float64Array
    lexicon: Float64Array
    length: Float64Array
    transitions: Float64Array
    start: Float64Array
    end: Float64Array

    @classmethod
    def zeros(cls, num_states: int, num_tags: int, num_segments: int, max_length: int, num_labels: int) -> Tables:
        """Make tables of zeros."""
        L = num_labels
        shapes: list[tuple[int, ...]] = [(num_states, num_tags), (num_segments, L), (BUCKETS, max_length, L)]
        shapes += [(max_length, L), (L, L), (L,), (L,)]
        return cls(*map(np.zeros, shapes))

    def named(self) -> dict[str, Float64Array]:
        """Return the tables by name, in their order."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}


@dataclass(frozen=True, eq=False)
class Weights:
    """Which entries of the tables are weights, one after the other in a flat array.

    Attributes:
        shape: tables of zeros.
        kept: for each table the places of its weights, counted as in C; None for all.
    """

    shape: Tables
    kept: dict[str, IntArray | None]

    @property
    def size(self) -> int:
        """How many weights there are."""
        return sum(self._count(name, table) for name, table in self.shape.named().items())

    def _count(self, name: str, table: Float64Array) -> int:
        places = self.kept[name]
        return table.size if places is None else len(places)

    def tables(self, flat: Float64Array) -> Tables:
        """Put weights ``[size]`` into their tables."""
        out, done = {}, 0
        for name, table in self.shape.named().items():
            count, places = self._count(name, table), self.kept[name]
            values = flat[done : done + count]
            if places is None:
                out[name] = values.reshape(table.shape).copy()
            else:
                out[name] = np.zeros(table.shape)
                out[name].ravel()[places] = values
            done += count
        return Tables(**out)

    def flat(self, tables: Tables) -> Float64Array:
        """Take the weights out of their tables."""
        parts = []
        for name, table in tables.named().items():
            places = self.kept[name]
            parts.append(table.ravel() if places is None else table.ravel()[places])
        return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class Parameters:
    """The learned part of a model.

    Attributes:
        tags: labels, types and scheme.
        max_length: D.
        kinds: of segment attributes.
        states: names of the attributes of tokens.
        names: attributes of segments.
        lexicon: strings of segments; None where nobody asks for them.
        tables: the weights.
    """

    tags: SegmentTags
    max_length: int
    kinds: tuple[str, ...]
    states: Vocabulary
    names: SegmentNames
    lexicon: Lexicon | None
    tables: Tables

    @property
    def labels(self) -> tuple[str, ...]:
        """The K tags."""
        return self.tags.labels

    @property
    def scheme(self) -> str:
        """The name of the tag scheme."""
        return self.tags.scheme.name

    def with_tables(self, tables: Tables) -> Parameters:
        """Return the same with other weights."""
        return replace(self, tables=tables)


@dataclass(frozen=True, eq=False)
class Numbered:
    """Sentences in numbers.

    Attributes:
        offsets: ``[B + 1]``.
        states: attributes of tokens.
        rows: attributes of segments.
        seen: ``[N, D, L]``, buckets of the lexicon; None where there is none.
    """

    offsets: IntArray
    states: Attributes
    rows: SegmentRows
    seen: NDArray[np.uint8] | None


def row_sums(offsets: IntArray, ids: NDArray[np.int32], values: Any, table: Float64Array) -> Float64Array:
    """Sum the rows of a table that ids name, in each of the rows that offsets make."""
    sums: Float64Array = compiled.require().row_sums(offsets, ids, values, np.ascontiguousarray(table))
    return sums


def score_block(
    tags: SegmentTags,
    tables: Tables,
    emissions: Float64Array,
    rows: SegmentRows,
    row_scores: Float64Array,
    seen: NDArray[np.uint8] | None,
) -> Float64Array:
    """Score all segments of a block of sentences, ``[N, D, L]``.

    Arguments:
        emissions: ``[N, K]``, of tags at tokens.
        rows, row_scores: segments with attributes, counted inside the block, and what these add, ``[R, L]``.
        seen: ``[N, D, L]``.
    """
    D, L = tables.length.shape
    scores = tags.segment_scores(emissions, D)
    scores += tables.length
    if seen is not None:
        scores += np.take_along_axis(tables.lexicon, seen.astype(np.intp), axis=0) if len(seen) else 0.0
    scores.reshape(-1, L)[rows.places] += row_scores
    return scores


def segment_chain(parameters: Parameters, block: Numbered) -> SegmentChain:
    """Score a block of sentences."""
    p, t = parameters, parameters.tables
    emissions = row_sums(block.states.offsets, block.states.ids, block.states.values, t.states)
    row_scores = row_sums(block.rows.offsets, block.rows.ids, None, t.segments)
    scores = score_block(p.tags, t, emissions, block.rows, row_scores, block.seen)
    return SegmentChain(scores, t.transitions, t.start, t.end, block.offsets)


def block_of(numbered: Numbered, first: int, last: int, max_length: int) -> Numbered:
    """Return sentences first … last − 1."""
    begin, end = int(numbered.offsets[first]), int(numbered.offsets[last])
    states = numbered.states
    low, high = states.offsets[begin], states.offsets[end]
    values = None if states.values is None else states.values[low:high]
    cut = Attributes(states.offsets[begin : end + 1] - low, states.ids[low:high], values)
    rows, _ = numbered.rows.block(begin * max_length, end * max_length)
    seen = None if numbered.seen is None else numbered.seen[begin:end]
    return Numbered(numbered.offsets[first : last + 1] - begin, cut, rows, seen)
