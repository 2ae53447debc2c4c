"""The rival of each token in sentences of segments: the best segmentation that writes another tag there.

As `tagline.chain.rivals`, with the names of `naive` and maxima for its sums: the best segmentation with the segment
(t, d, j) scores γ_(t−d)(j) + segment(t, d, j) + β_t(j). Among equals the one wins that is smaller read from its end, by
label, then length; continuations are compared as paths in the tree of all of them, whose root is the sentence's end.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tagline.chain.rivals import reach
from tagline.chain.segments.types import Segmentation, SegmentChain, listed
from tagline.types import IntArray

Segment = tuple[int, int, int]
"""First token, token after the last, label."""


@dataclass(frozen=True)
class SegmentStretch:
    """Two segmentations of a sentence, the best one and a rival, where their scores may differ.

    Attributes:
        tokens: that the segments below cover; both agree outside, unless `whole` is False.
        best, rival: segments of both, in order.
        before: the label of the segment before `tokens`, the same in both; −1 where the sentence begins, None where
            the two differ there too.
        whole: False where the rival differs beyond `tokens` too and was followed no further.
        margin: the score of the best segmentation less that of the rival.
    """

    tokens: range
    best: Sequence[Segment]
    rival: Sequence[Segment]
    before: int | None
    whole: bool
    margin: float


def segment_rivals(
    chain: SegmentChain, best: Segmentation, roles: IntArray, tags: IntArray
) -> list[SegmentStretch | None]:
    """Find for each token of one sentence the best segmentation with another tag there; None where there is none.

    Arguments:
        best: the best segmentation.
        roles: ``[4, L]``, the tag of a segment of one token, of the first, an inner and the last token of a longer one.
        tags: ``[T]``, those of the best segmentation.
    """
    tables, segments = _RivalTables(chain), listed(best.labels, best.begins)
    through = _Through(tables, roles)
    walk = _SegmentWalk(tables, segments, reach(len(tags)))
    out: list[SegmentStretch | None] = []
    for t, tag in enumerate(tags.tolist()):
        found = through.best(t, tag)
        out.append(None if found is None else walk.stretch(t, found[0], tables.total - found[1]))
    return out


class _Tree:
    """Continuations as nodes: each goes on with its parent after a segment, its edge (label, length).

    A jump skips so many ancestors that any of them is found in O(log depth) steps (Myers, An applicative random-access
    stack, 1983).
    """

    def __init__(self) -> None:
        self.parent, self.jump, self.depth, self.edge = [0], [0], [0], [(-1, 0)]

    def add(self, parent: int, edge: tuple[int, int]) -> int:
        """Add a continuation."""
        over, depth = self.jump[parent], self.depth
        even = depth[parent] - depth[over] == depth[over] - depth[self.jump[over]]
        self.parent.append(parent)
        self.jump.append(self.jump[over] if even else parent)
        depth.append(depth[parent] + 1)
        self.edge.append(edge)
        return len(depth) - 1

    def smallest(self, ways: Sequence[tuple[int, tuple[int, int]]]) -> int:
        """Which of some (parent, edge), none of which continues another, is smallest read from the end."""
        if len(ways) == 1:
            return 0
        size = len(self.depth)
        nodes = [self.add(parent, edge) for parent, edge in ways]
        least = 0
        for other in range(1, len(nodes)):
            if self._before(nodes[other], nodes[least]):
                least = other
        for values in (self.parent, self.jump, self.depth, self.edge):
            del values[size:]
        return least

    def _before(self, x: int, y: int) -> bool:
        parent, jump, depth = self.parent, self.jump, self.depth
        level = min(depth[x], depth[y])
        x, y = self._up(x, level), self._up(y, level)
        while parent[x] != parent[y]:
            x, y = (jump[x], jump[y]) if jump[x] != jump[y] else (parent[x], parent[y])
        return self.edge[x] < self.edge[y]

    def _up(self, x: int, level: int) -> int:
        while self.depth[x] > level:
            x = self.jump[x] if self.depth[self.jump[x]] >= level else self.parent[x]
        return x


class _RivalTables:
    """Best beginnings and continuations of one sentence, with pointers.

    Attributes:
        gamma, beta: ``[T + 1, L]``.
        lengths, previous: ``[T + 1][L]``, of the segment that ends at t with label j, and the label before a segment
            that begins at s.
        onward, following: ``[T + 1][L]``, the length of the segment that begins at s with label j, and the label after
            one that ends at s.
        total: the best score.
    """

    def __init__(self, chain: SegmentChain) -> None:
        T, D, L = chain.scores.shape
        self.chain, self.scores = chain, chain.scores
        alpha, self.gamma, self.beta, eta = np.full((4, T + 1, L), -np.inf)
        lengths, previous, onward, following = np.zeros((4, T + 1, L), np.int64)
        every = np.arange(L)
        self.gamma[0] = chain.start
        for t in range(1, T + 1):
            most = min(D, t)
            ways = self.gamma[t - most : t][::-1] + self.scores[t - 1, :most]  # [d, L]
            shortest = ways.argmax(axis=0)
            lengths[t], alpha[t] = shortest + 1, ways[shortest, every]
            if t < T:
                steps = alpha[t][:, None] + chain.transitions
                previous[t] = steps.argmax(axis=0)
                self.gamma[t] = steps[previous[t], every]
        self.total = float((alpha[T] + chain.end).max())
        self.tree, self.nodes = _Tree(), [[0] * L for _ in range(T + 1)]  # of segments that begin at s
        self.beta[T] = chain.end
        self.following: list[list[int]] = [[0] * L for _ in range(T + 1)]
        for s in range(T - 1, -1, -1):
            sizes = np.arange(min(D, T - s))
            ways = self.scores[s + sizes, sizes] + self.beta[s + 1 + sizes]  # [d, L]
            eta[s] = ways.max(axis=0)
            for j in np.flatnonzero(eta[s] > -np.inf).tolist():
                equal = np.flatnonzero(ways[:, j] == eta[s, j]).tolist()
                edges = [(self.after(s + d + 1, j), (j, d + 1)) for d in equal]
                way = self.tree.smallest(edges)
                onward[s, j] = equal[way] + 1
                self.nodes[s][j] = self.tree.add(*edges[way])
            if s:
                steps = chain.transitions + eta[s]
                self.beta[s] = steps.max(axis=1)
                following[s] = (steps == self.beta[s][:, None]).argmax(axis=1)
                several = ((steps == self.beta[s][:, None]).sum(axis=1) > 1) & (self.beta[s] > -np.inf)
                for i in np.flatnonzero(several).tolist():
                    equal = np.flatnonzero(steps[i] == self.beta[s, i]).tolist()
                    nodes = [self.nodes[s][j] for j in equal]
                    edges = [(self.tree.parent[node], self.tree.edge[node]) for node in nodes]
                    following[s, i] = equal[self.tree.smallest(edges)]
                self.following[s] = following[s].tolist()
        self.lengths, self.previous, self.onward = lengths.tolist(), previous.tolist(), onward.tolist()

    @property
    def T(self) -> int:
        return len(self.scores)

    def after(self, t: int, label: int) -> int:
        """The continuation after a segment with a label that ends at t."""
        return 0 if t == self.T else self.nodes[t][self.following[t][label]]


class _Through:
    """The best segmentation through each role of each token.

    Attributes:
        values: ``[T, D, L]``, the best score with each segment, written as the scores are.
        longer: the best of the segments of at least so many tokens, likewise.
        roles: ``[4, T, L]``, the best score with a token in a role.
    """

    def __init__(self, tables: _RivalTables, tags: IntArray) -> None:
        T, D, L = tables.scores.shape
        self.tables, self.tags = tables, tags
        self.values = np.full((T, D, L), -np.inf)
        for d in range(min(D, T)):
            self.values[d:, d] = tables.gamma[: T - d] + tables.scores[d:, d] + tables.beta[d + 1 :]
        self.longer = np.maximum.accumulate(self.values[:, ::-1], axis=1)[:, ::-1]
        self.roles = np.full((4, T, L), -np.inf)
        self.roles[0] = self.values[:, 0]
        if D > 1:
            self.roles[3] = self.longer[:, 1]
        for d in range(1, min(D, T)):
            self.roles[1, : T - d] = np.maximum(self.roles[1, : T - d], self.values[d:, d])
            if d + 1 < D:
                self.roles[2, : T - d] = np.maximum(self.roles[2, : T - d], self.longer[d:, d + 1])

    def best(self, t: int, tag: int) -> tuple[Segment, float] | None:
        """The segment over token t of the best segmentation with another tag there, and its score."""
        scores = np.where((self.tags == tag) | (self.tags < 0), -np.inf, self.roles[:, t])
        most = float(scores.max())
        if most == -np.inf:
            return None
        segments = [
            segment
            for role, j in zip(*(places.tolist() for places in np.nonzero(scores == most)), strict=True)
            for segment in self._segments(t, role, j, most)
        ]
        tables = self.tables
        ways = [(tables.after(last, j), (j, last - first)) for first, last, j in segments]
        return segments[tables.tree.smallest(ways)], most

    def _segments(self, t: int, role: int, j: int, score: float) -> list[Segment]:
        """The segments over token t in a role with a score; of those with one end, the shortest."""
        T, D, _ = self.values.shape
        if role == 0:
            return [(t, t + 1, j)]
        if role == 3:
            return [self._shortest(t, 1, j, score)]
        sizes = np.arange(1, min(D, T - t))  # tokens of the segment behind t
        if role == 1:
            return [(t, t + d + 1, j) for d in sizes[self.values[t + sizes, sizes, j] == score].tolist()]
        sizes = sizes[sizes + 1 < D]
        ends = sizes[self.longer[t + sizes, sizes + 1, j] == score].tolist()
        return [self._shortest(t + k, k + 1, j, score) for k in ends]

    def _shortest(self, last: int, least: int, j: int, score: float) -> Segment:
        size = least + int((self.values[last, least:, j] == score).argmax())
        return last - size, last + 1, j


class _SegmentWalk:
    """From a segment outwards until the best segmentation is met."""

    def __init__(self, tables: _RivalTables, best: list[Segment], most: int) -> None:
        self.tables, self.segments, self.reach = tables, best, most
        self.label_at = {last: label for _, last, label in best}  # of the segment that ends there
        self.firsts = [first for first, _, _ in best]

    def stretch(self, t: int, segment: Segment, margin: float) -> SegmentStretch:
        tables, rival = self.tables, [segment]
        first, last, label = segment
        before: int | None = -1
        while first:
            before = tables.previous[first][rival[-1][2]]
            if self.label_at.get(first) == before:
                break
            if t - first > self.reach:
                before = None
                break
            rival.append((first - tables.lengths[first][before], first, before))
            first, before = rival[-1][0], -1
        rival.reverse()
        met = True
        while last < tables.T and self.label_at.get(last) != label:
            if last - t > self.reach:
                met = False
                break
            label = tables.following[last][label]
            rival.append((last, last + tables.onward[last][label], label))
            last = rival[-1][1]
        ours = self.segments[bisect_left(self.firsts, first) : bisect_left(self.firsts, last)]
        whole = met and before is not None
        return SegmentStretch(range(first, last), ours, rival, before, whole, margin)
