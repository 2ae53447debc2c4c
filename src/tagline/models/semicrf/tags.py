"""Segments and tags: what a segment of a type is written as, and what that does to scores, constraints and counts.

Users see tags (B-PER, I-PER, O …), the engine segments. A segment of type j writes one tag if it has one token, else a
first, inner and last tag; every segmentation is one labelling, and every legal labelling one segmentation. So a score
or a constraint of tags at tokens is one of segments, and the probability of a tag is a sum over segments.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tagline.chain.segments.types import ends_of
from tagline.errors import InputError
from tagline.ragged import first_entries
from tagline.readers.rules import BEGIN, END, INSIDE, OUTSIDE, SINGLE, Scheme, scheme, tag_codes
from tagline.types import BoolArray, Float64Array, IntArray

ROLES = {  # of the one, the first, an inner and the last token of a segment, in each family of schemes
    "IOB2": (BEGIN, BEGIN, INSIDE, INSIDE),
    "IOE2": (END, INSIDE, INSIDE, END),
    "BIOES": (SINGLE, BEGIN, INSIDE, END),
}
OUTSIDE_TYPE = "O"


@dataclass(frozen=True, eq=False)
class SegmentTags:
    """How segments are written as tags.

    Attributes:
        scheme: of the tags.
        labels: K tags, sorted.
        types: L names of segment labels: the types, then "O", whose segments have one token, where that is a tag.
        roles: ``[4, L]``, numbers of tags: of a segment of one token, of the first, an inner and the last token of a
            longer one; −1 where there is none.
        outside: whether the last label is "O".
    """

    scheme: Scheme
    labels: tuple[str, ...]
    types: tuple[str, ...]
    roles: IntArray
    outside: bool

    @classmethod
    def of(cls, tags: Iterable[str], name: str) -> SegmentTags:
        """Make those of a scheme and of the types that occur in some tags."""
        tag_scheme = scheme(name)
        if tag_scheme.family not in ROLES:
            able = "IOB2, IOE2, BIOES, BILOU, BMEWO, BMES, BMES-words"
            raise InputError(
                "scheme: expected one whose tags tell where each segment begins and ends by themselves ({}), "
                "got {}; convert the corpus: tagline convert-tags --to IOB2",
                able,
                tag_scheme.name,
            )
        used = sorted(set(tags))
        codes = tag_codes(used, tag_scheme)
        outside = bool((codes.roles == OUTSIDE).any())
        names = sorted({codes.names[number] for number in codes.types[codes.roles != OUTSIDE]})
        letters = [tag_scheme.letter(role) for role in ROLES[tag_scheme.family]]
        written = [[_tag(letter, kind, used) for kind in names] for letter in letters]
        labels = tuple(sorted({tag for row in written for tag in row} | ({OUTSIDE_TYPE} if outside else set())))
        roles = np.full((4, len(names) + outside), -1, np.int64)
        for role, row in enumerate(written):
            roles[role, : len(names)] = [labels.index(tag) for tag in row]
        if outside:
            roles[0, -1] = labels.index(OUTSIDE_TYPE)
        return cls(tag_scheme, labels, (*names, *([OUTSIDE_TYPE] if outside else [])), roles, outside)

    @property
    def num_types(self) -> int:
        """L, labels of segments."""
        return len(self.types)

    @property
    def spans(self) -> int:
        """How many of the labels are types of spans: all but "O"."""
        return self.num_types - self.outside

    def segmentation(self, tags: IntArray, offsets: IntArray) -> tuple[IntArray, BoolArray]:
        """Read a legal labelling ``[N]``: the label of each token's segment, and whether a segment begins there."""
        type_of = np.zeros(len(self.labels), np.int64)
        for row in self.roles:
            type_of[row[row >= 0]] = np.flatnonzero(row >= 0)
        first, last = np.zeros((2, len(self.labels)), np.bool_)
        first[self.roles[:2][self.roles[:2] >= 0]] = True
        last[self.roles[[0, 3]][self.roles[[0, 3]] >= 0]] = True
        if self.scheme.family == "IOE2":  # what follows a last token is a first one
            begins = np.append(True, last[tags[:-1]])[: len(tags)] | first_entries(offsets)
        else:
            begins = first[tags]
        return type_of[tags], begins

    def tags(self, labels: IntArray, begins: BoolArray, offsets: IntArray) -> IntArray:
        """Write a segmentation as tags ``[N]``."""
        ends = ends_of(begins, offsets)
        role = np.where(begins, np.where(ends, 0, 1), np.where(ends, 3, 2))
        return np.asarray(self.roles[role, labels])

    def written(self, segments: Iterable[tuple[int, int, int]]) -> list[int]:
        """Write neighbouring segments (first token, token after the last, label) as the tags of their tokens."""
        out: list[int] = []
        for first, last, label in segments:
            single, opening, inner, closing = self.roles[:, label].tolist()
            size = last - first
            out += [single] if size == 1 else [opening, *[inner] * (size - 2), closing]
        return out

    def segment_scores(self, emissions: Float64Array, max_length: int) -> Float64Array:
        """Add up the scores of tags ``[N, K]`` over the tokens of each segment: ``[N, D, L]``."""
        N, D, S = len(emissions), max_length, self.spans
        out = np.full((N, D, self.num_types), -np.inf)
        out[:, 0] = emissions[:, self.roles[0]]
        first, inner, last = (emissions[:, row[:S]] for row in self.roles[1:])
        between = np.zeros((N, S))
        for d in range(1, min(D, N)):
            if d > 1:
                between[d:] += inner[1 : N - d + 1]
            out[d:, d, :S] = first[: N - d] + between[d:] + last[d:]
        return out

    def tag_sums(self, segments: Float64Array) -> Float64Array:
        """Sum over the segments that give a token a tag, ``[N, D, L]`` to ``[N, K]``: the transpose of the above."""
        N, D, S = len(segments), segments.shape[1], self.spans
        out = np.zeros((N, len(self.labels)))
        out[:, self.roles[0]] += segments[:, 0]
        longer = np.cumsum(segments[:, ::-1, :S], axis=1)[:, ::-1]  # [n, d]: segments of at least d + 1 tokens
        if D > 1 and S:
            out[:, self.roles[3, :S]] += longer[:, 1]
        for d in range(1, min(D, N)):
            out[: N - d, self.roles[1, :S]] += segments[d:, d, :S]
            if d + 1 < D:
                out[: N - d, self.roles[2, :S]] += longer[d:, d + 1]
        return out

    def legal_segments(self, allowed: BoolArray, max_length: int) -> BoolArray:
        """Say which segments have only allowed tags, ``[N, K]`` to ``[N, D, L]``."""
        return ~np.isneginf(self.segment_scores(np.where(allowed, 0.0, -np.inf), max_length))


def _tag(letter: str, kind: str, used: list[str]) -> str:
    """A tag of a type, with the separator that the tags have which are used."""
    if not kind:
        return letter
    separator = next(tag[1] for tag in used if tag[2:] == kind)
    return f"{letter}{separator}{kind}"
