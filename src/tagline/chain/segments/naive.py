"""The definition: float64 NumPy, one sentence at a time, as a textbook writes it.

With s and t between tokens, from 0 to T, and d the tokens of a segment, at most D:

    γ_0(j) = start(j)      γ_s(j) = log Σ_i exp(α_s(i) + T(i, j))
    α_t(j) = log Σ_d exp(γ_(t−d)(j) + segment(t, d, j))      log Z = log Σ_j exp(α_T(j) + end(j))
    β_T(i) = end(i)        β_s(i) = log Σ_j exp(T(i, j) + η_s(j))
    η_s(j) = log Σ_d exp(segment(s + d, d, j) + β_(s+d)(j))
    P(segment t, d, j) = exp(γ_(t−d)(j) + segment(t, d, j) + β_t(j) − log Z)

in T·(D·L + L²) steps, for transitions know nothing of lengths. Sarawagi and Cohen, Semi-Markov Conditional Random
Fields for Information Extraction, NIPS 2004. An empty sentence has one segmentation, the empty one, with score 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np

from tagline.chain.checks import no_path
from tagline.chain.naive import logsumexp
from tagline.chain.segments.types import (
    RankedSegmentations,
    Segmentation,
    SegmentChain,
    SegmentCounts,
)
from tagline.types import BoolArray, Float64Array, IntArray


@dataclass(frozen=True, eq=False)
class _Sentence:
    """The scores of one sentence: ``scores[t − 1, d − 1, j]`` is the segment(t, d, j) of the formulas."""

    index: int
    tokens: slice
    scores: Float64Array
    transitions: Float64Array
    start: Float64Array
    end: Float64Array

    @property
    def T(self) -> int:
        return len(self.scores)

    def longest(self, t: int) -> int:
        """Tokens of the longest segment that ends at t."""
        return min(int(self.scores.shape[1]), t)


@dataclass(frozen=True, eq=False)
class _Tables:
    """β and η as ``[T + 1, L]``."""

    beta: Float64Array
    eta: Float64Array


def _sentences(chain: SegmentChain) -> Iterator[_Sentence]:
    for b, (first, last) in enumerate(zip(chain.offsets[:-1], chain.offsets[1:], strict=True)):
        tokens = slice(int(first), int(last))
        yield _Sentence(b, tokens, chain.scores[tokens], chain.transitions, chain.start, chain.end)


def _into(s: _Sentence, gamma: Float64Array, t: int) -> Float64Array:
    """γ_(t−d)(j) + segment(t, d, j) for d = 1, 2, …: ``[d, L]``."""
    most = s.longest(t)
    return gamma[t - most : t][::-1] + s.scores[t - 1, :most]


def _onward(s: _Sentence, beta: Float64Array, start: int) -> Float64Array:
    """segment(s + d, d, j) + β_(s+d)(j) for d = 1, 2, …: ``[d, L]``."""
    sizes = np.arange(min(s.scores.shape[1], s.T - start))
    return np.asarray(s.scores[start + sizes, sizes] + beta[start + 1 + sizes], np.float64)


def _forward(s: _Sentence) -> float:
    """log Z by α and γ ``[T + 1, L]``; the rows α_0 and γ_T are −∞, for nothing uses them."""
    alpha, gamma = np.full((2, s.T + 1, len(s.start)), -np.inf)
    gamma[0] = s.start
    for t in range(1, s.T + 1):
        alpha[t] = logsumexp(_into(s, gamma, t), axis=0)
        if t < s.T:
            gamma[t] = logsumexp(alpha[t][:, None] + s.transitions, axis=0)
    return float(logsumexp(alpha[s.T] + s.end, axis=0)) if s.T else 0.0


def _tables(s: _Sentence) -> _Tables:
    if _forward(s) == -np.inf:
        raise no_path(s.index)
    beta, eta = np.full((2, s.T + 1, len(s.start)), -np.inf)
    beta[s.T] = s.end
    for t in range(s.T - 1, -1, -1):
        eta[t] = logsumexp(_onward(s, beta, t), axis=0)
        beta[t] = logsumexp(s.transitions + eta[t], axis=1)
    return _Tables(beta, eta)


def log_partition(chain: SegmentChain, *, allow_no_path: bool = False) -> Float64Array:
    """Compute log Z."""
    out = np.zeros(chain.num_sentences)
    for s in _sentences(chain):
        out[s.index] = _forward(s)
        if out[s.index] == -np.inf and not allow_no_path:
            raise no_path(s.index)
    return out


def expected_counts(chain: SegmentChain) -> SegmentCounts:
    """Compute how often each score is used on average."""
    L = chain.num_labels
    segments = np.zeros(chain.scores.shape)
    transitions, start, end = np.zeros((L, L)), np.zeros(L), np.zeros(L)
    log_z = np.zeros(chain.num_sentences)
    for s in _sentences(chain):
        if not s.T:
            continue
        drawn = _Drawn(s, _tables(s))
        log_z[s.index] = drawn.log_z
        for t in range(s.T):
            sizes = np.arange(len(drawn.segments[t]))
            segments[s.tokens][t + sizes, sizes] = drawn.segments[t]
        transitions += drawn.pairs.sum(axis=0)
        start += drawn.begins[0]
        end += drawn.ends[s.T]
    return SegmentCounts(segments, transitions, start, end, log_z)


def entropy(chain: SegmentChain) -> Float64Array:
    """Compute the entropy of p(segmentation | sentence): the mean of −log p of all choices that draw one."""
    out = np.zeros(chain.num_sentences)
    for s in _sentences(chain):
        if s.T:
            out[s.index] = _Drawn(s, _tables(s)).entropy
    return out


class _Drawn:
    """How likely one sentence's segmentation has what, if it is drawn from the start on.

    After label i at s the label j is drawn by p = exp(T(i, j) + η_s(j) − β_s(i)), then the length of its segment by
    p = exp(segment(s + d, d, j) + β_(s+d)(j) − η_s(j)). These are shares of a sum, at most 1 however large scores are;
    exp(γ + segment + β − log Z) is the same number, but beyond 10^15 rounding makes anything of it.

    Attributes:
        begins, ends: ``[T + 1, L]``, that a segment with label j begins, and that one ends, between tokens at t.
        segments: for each t ``[d, L]``, the segments that begin there, by length.
        pairs: ``[T, L, L]``, that one with label i ends at t and one with label j begins; nothing at 0.
    """

    def __init__(self, s: _Sentence, tables: _Tables) -> None:
        L, beta, eta = len(s.start), tables.beta, tables.eta
        self.begins, self.ends = np.zeros((2, s.T + 1, L))
        self.pairs, self.segments = np.zeros((s.T, L, L)), []
        first = s.start + eta[0]
        self.log_z = float(logsumexp(first, axis=0))
        self.begins[0] = np.exp(first - self.log_z)
        self.entropy = _mean(self.begins[0], first - self.log_z)
        for t in range(s.T):
            if t:
                labels = s.transitions + eta[t] - _finite(beta[t][:, None])
                self.pairs[t] = self.ends[t][:, None] * np.exp(labels)
                self.begins[t] = self.pairs[t].sum(axis=0)
                self.entropy += _mean(self.pairs[t], labels)
            lengths = _onward(s, beta, t) - _finite(eta[t])
            self.segments.append(self.begins[t] * np.exp(lengths))
            self.ends[t + 1 : t + 1 + len(lengths)] += self.segments[t]
            self.entropy += _mean(self.segments[t], lengths)


def _finite(values: Float64Array) -> Float64Array:
    """0 in the place of −∞, where a probability of 0 decides."""
    return np.where(np.isneginf(values), 0.0, values)


def _mean(probabilities: Float64Array, logs: Float64Array) -> float:
    """−Σ p·log q, 0 where p is."""
    used = probabilities > 0
    return float(-(probabilities[used] * logs[used]).sum())


def viterbi(chain: SegmentChain) -> Segmentation:
    """Find the best segmentation; among equals the one that is smaller read from its end, by label, then length."""
    labels, begins = np.zeros(chain.num_tokens, np.int64), np.zeros(chain.num_tokens, np.bool_)
    scores = np.zeros(chain.num_sentences)
    for s in _sentences(chain):
        if s.T:
            labels[s.tokens], begins[s.tokens], scores[s.index] = _best(s)
    return Segmentation(labels, begins, scores)


def _best(s: _Sentence) -> tuple[IntArray, BoolArray, float]:
    alpha, gamma = np.full((2, s.T + 1, len(s.start)), -np.inf)
    lengths, previous = np.zeros((2, s.T + 1, len(s.start)), np.int64)
    gamma[0] = s.start
    for t in range(1, s.T + 1):
        terms = _into(s, gamma, t)
        lengths[t], alpha[t] = terms.argmax(axis=0) + 1, terms.max(axis=0)
        if t < s.T:
            steps = alpha[t][:, None] + s.transitions
            previous[t], gamma[t] = steps.argmax(axis=0), steps.max(axis=0)
    label = int((alpha[s.T] + s.end).argmax())
    score = float(alpha[s.T, label] + s.end[label])
    if score == -np.inf:
        raise no_path(s.index)
    labels, begins, t = np.zeros(s.T, np.int64), np.zeros(s.T, np.bool_), s.T
    while t:
        begin = t - int(lengths[t, label])
        labels[begin:t], begins[begin] = label, True
        label, t = int(previous[begin, label]), begin
    return labels, begins, score


def k_best(chain: SegmentChain, k: int) -> list[RankedSegmentations]:
    """Find the k best segmentations of each sentence, ranked as `viterbi` ranks."""
    return [_ranked(s, k) for s in _sentences(chain)]


class _Ways:
    """The best ways to one place, ranked as far as somebody asked.

    A way goes on one to a place before, which is one of several: by an arc with a score. Each arc waits in a heap with
    the best of its ways that is not ranked yet, ties in the order of the arcs. Huang and Chiang, Better k-best Parsing,
    IWPT 2005, algorithm 3.

    Arguments:
        arcs: place before and score of each; None for the start of the sentence, to which there is one way.
    """

    def __init__(self, arcs: list[tuple[_Ways | None, float]]) -> None:
        self.arcs = arcs
        self.ranked: list[tuple[float, int, int]] = []  # score, arc, rank of the way that it goes on
        self.waiting = [(-self._score(arc, 0), arc, 0) for arc in range(len(arcs)) if self._score(arc, 0) > -np.inf]
        heapify(self.waiting)
        self._taken: tuple[int, int] | None = None  # the arc, and its next rank, that is to wait again
        self.rank_next()

    def _score(self, arc: int, rank: int) -> float:
        before, score = self.arcs[arc]
        ways = [(0.0, 0, 0)] if before is None else before.ranked
        return ways[rank][0] + score if rank < len(ways) else -np.inf

    def rank_next(self) -> tuple[_Ways, int] | None:
        """Rank one more way, if there is one; or return a place that has to know its ways up to a rank before."""
        if self._taken is not None:
            arc, rank = self._taken
            before = self.arcs[arc][0]
            if before is not None and not before.knows(rank):
                return before, rank
            if (score := self._score(arc, rank)) > -np.inf:
                heappush(self.waiting, (-score, arc, rank))
            self._taken = None
        if self.waiting:
            cost, arc, rank = heappop(self.waiting)
            self.ranked.append((-cost, arc, rank))
            self._taken = arc, rank + 1
        return None

    def knows(self, rank: int) -> bool:
        """Say whether the way of this rank is known, or that there is none."""
        return len(self.ranked) > rank or (not self.waiting and self._taken is None)

    def rank(self, rank: int) -> bool:
        """Rank ways up to this rank; False where there are not so many."""
        places = [(self, rank)]
        while places:
            place, wanted = places[-1]
            if place.knows(wanted):
                places.pop()
            elif (before := place.rank_next()) is not None:
                places.append(before)
        return len(self.ranked) > rank


def _ranked(s: _Sentence, k: int) -> RankedSegmentations:
    L = len(s.start)
    if not s.T:
        return RankedSegmentations(np.zeros((1, 0), np.int64), np.zeros((1, 0), np.bool_), np.zeros(1), np.ones(1))
    log_z = _forward(s)
    if log_z == -np.inf:
        raise no_path(s.index)
    scores, transitions = s.scores.tolist(), s.transitions.T.tolist()
    into = [[_Ways([(None, score)]) for score in s.start.tolist()]]  # γ
    until: list[list[_Ways]] = [[]]  # α, the first never read
    for t in range(1, s.T + 1):
        sizes = range(1, s.longest(t) + 1)
        until.append([_Ways([(into[t - d][j], scores[t - 1][d - 1][j]) for d in sizes]) for j in range(L)])
        into.append([_Ways(list(zip(until[t], transitions[j], strict=True))) for j in range(L if t < s.T else 0)])
    whole = _Ways(list(zip(until[s.T], s.end.tolist(), strict=True)))
    count = 0
    while count < k and whole.rank(count):
        count += 1
    labels, begins = np.zeros((count, s.T), np.int64), np.zeros((count, s.T), np.bool_)
    for row, (_, label, rank) in enumerate(whole.ranked[:count]):
        t = s.T
        while t:
            _, arc, rank = until[t][label].ranked[rank]
            labels[row, t - arc - 1 : t], begins[row, t - arc - 1] = label, True
            t -= arc + 1
            _, label, rank = into[t][label].ranked[rank]
    ranked = np.array([way[0] for way in whole.ranked[:count]])
    return RankedSegmentations(labels, begins, ranked, np.exp(np.minimum(ranked - log_z, 0.0)))


def sample(chain: SegmentChain, uniforms: Float64Array) -> tuple[IntArray, BoolArray]:
    """Draw labels and begins ``[S, N]`` by uniform numbers ``[S, N]``, a segment by that of its first token."""
    labels, begins = np.zeros(uniforms.shape, np.int64), np.zeros(uniforms.shape, np.bool_)
    for s in _sentences(chain):
        if s.T:
            tables = _tables(s)
            for row, numbers in enumerate(uniforms[:, s.tokens]):
                labels[row, s.tokens], begins[row, s.tokens] = _drawn(s, tables, numbers)
    return labels, begins


def _drawn(s: _Sentence, tables: _Tables, uniforms: Float64Array) -> tuple[IntArray, BoolArray]:
    labels, begins = np.zeros(s.T, np.int64), np.zeros(s.T, np.bool_)
    into, t = s.start, 0
    while t < s.T:
        terms = (_onward(s, tables.beta, t) + into).T  # [L, d]
        shares = np.exp(terms - terms.max()).ravel().cumsum()
        choice = min(int(np.searchsorted(shares, uniforms[t] * shares[-1], side="right")), len(shares) - 1)
        while not np.isfinite(terms.flat[choice]):  # rounding at the very end
            choice -= 1
        label, size = divmod(choice, terms.shape[1])
        labels[t : t + size + 1], begins[t] = label, True
        into, t = s.transitions[label], t + size + 1
    return labels, begins
