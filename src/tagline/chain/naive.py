"""The definition of the engine: float64 NumPy, one sentence at a time, as a textbook writes it.

Scores live in the log domain. For one sentence, with α and β over labels and `T(t)` the transitions into token t:

    α_0(j) = start(j) + e_0(j)          α_t(j) = log Σ_i exp(α_(t-1)(i) + T(t)(i, j)) + e_t(j)
    β_(T-1)(i) = end(i)                 β_t(i) = log Σ_j exp(T(t+1)(i, j) + e_(t+1)(j) + β_(t+1)(j))
    log Z = log Σ_j exp(α_(T-1)(j) + end(j))

Every other backend is tested against this one, and this one against the enumeration of all paths.
An empty sentence has one labelling, the empty one, with score 0. References: Rabiner (1989) for the recursions;
Lafferty, McCallum & Pereira (2001) for the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from tagline.chain.checks import as_labels, as_span_arrays, as_uniforms, forbidden_gold, no_path
from tagline.chain.linear import (
    backward_linear,
    chain_from_log_potentials,
    forward_linear,
    gradient_linear,
    probability_linear,
    viterbi_recomputed,
)
from tagline.checks import as_array, as_whole
from tagline.errors import InputError
from tagline.types import (
    Chain,
    Counts,
    Float64Array,
    Gradients,
    IntArray,
    Marginals,
    Paths,
    RankedPaths,
    SpanQuery,
    ViterbiTable,
)

__all__ = [
    "NAME",
    "backward",
    "backward_linear",
    "chain_from_log_potentials",
    "entropy",
    "expected_counts",
    "forward",
    "forward_linear",
    "gradient_linear",
    "gradients",
    "k_best",
    "log_partition",
    "logsumexp",
    "marginals",
    "max_marginal",
    "parameter_gradients",
    "probability_linear",
    "sample",
    "score",
    "span_probability",
    "viterbi",
    "viterbi_recomputed",
    "viterbi_table",
]


NAME = "naive"


def logsumexp(values: ArrayLike, axis: int = 0) -> Float64Array:
    """Compute log Σ exp(values) along an axis: −∞ for nothing but −∞, ∞ where there is an ∞, NaN only from NaN."""
    return np.asarray(np.logaddexp.reduce(np.asarray(values, dtype=np.float64), axis=axis))


@dataclass(frozen=True)
class _SentenceScores:
    """One sentence of a chain, in float64."""

    index: int
    emissions: Float64Array  # [T, L]
    transitions: Float64Array  # [T, L, L], the first entry undefined
    start: Float64Array  # [L]
    end: Float64Array  # [L]

    def __len__(self) -> int:
        return len(self.emissions)


def _sentences(chain: Chain) -> Iterator[_SentenceScores]:
    start, end = chain.start.astype(np.float64), chain.end.astype(np.float64)
    for index, emissions in enumerate(chain.split(chain.emissions)):
        if chain.per_position:
            transitions = chain.split(chain.transitions)[index].astype(np.float64)
        else:
            T, L = emissions.shape
            transitions = np.broadcast_to(chain.transitions.astype(np.float64), (T, L, L))
        yield _SentenceScores(index, emissions.astype(np.float64), transitions, start, end)


def score(chain: Chain, labels: ArrayLike) -> Float64Array:
    """Sum the scores along a labelling: ``[N]`` labels in, ``[B]`` scores out, −∞ where it is forbidden."""
    gold = as_labels(chain, labels)
    return np.array([_score(s, y) for s, y in zip(_sentences(chain), chain.split(gold), strict=True)])


def _score(sentence: _SentenceScores, labels: IntArray) -> float:
    total = 0.0
    for t, label in enumerate(labels):
        total += sentence.start[label] if t == 0 else sentence.transitions[t, labels[t - 1], label]
        total += sentence.emissions[t, label]
    return total + (sentence.end[labels[-1]] if len(labels) else 0.0)


def _alpha(sentence: _SentenceScores) -> Float64Array:
    alpha = np.empty_like(sentence.emissions)
    for t, emission in enumerate(sentence.emissions):
        if t == 0:
            alpha[t] = sentence.start + emission
        else:
            alpha[t] = logsumexp(alpha[t - 1][:, None] + sentence.transitions[t], axis=0) + emission
    return alpha


def _beta(sentence: _SentenceScores) -> Float64Array:
    beta = np.empty_like(sentence.emissions)
    T = len(sentence)
    for t in range(T - 1, -1, -1):
        if t == T - 1:
            beta[t] = sentence.end
        else:
            beta[t] = logsumexp(sentence.transitions[t + 1] + (sentence.emissions[t + 1] + beta[t + 1]), axis=1)
    return beta


def _log_z(sentence: _SentenceScores, alpha: Float64Array) -> float:
    return float(logsumexp(alpha[-1] + sentence.end)) if len(sentence) else 0.0


def forward(chain: Chain) -> Float64Array:
    """Compute log α ``[N, L]``: the log-sum of the scores of all beginnings that reach a token with a label."""
    return _stack(chain, [_alpha(s) for s in _sentences(chain)])


def backward(chain: Chain) -> Float64Array:
    """Compute log β ``[N, L]``: the log-sum of the scores of all continuations from a token with a label."""
    return _stack(chain, [_beta(s) for s in _sentences(chain)])


def log_partition(chain: Chain, *, allow_no_path: bool = False) -> Float64Array:
    """Compute log Z ``[B]``; a sentence without a legal path is an error, or −∞ with ``allow_no_path=True``."""
    log_z = np.array([_log_z(s, _alpha(s)) for s in _sentences(chain)])
    if not allow_no_path:
        _require_paths(log_z)
    return log_z


def _require_paths(log_z: Float64Array) -> None:
    dead = np.flatnonzero(np.isneginf(log_z))
    if len(dead):
        raise no_path(int(dead[0]))


def _posterior(sentence: _SentenceScores) -> tuple[Float64Array, Float64Array, float]:
    """Node marginals [T, L], edge marginals [T, L, L] (zeros at the first token) and log Z."""
    alpha, beta = _alpha(sentence), _beta(sentence)
    log_z = _log_z(sentence, alpha)
    if np.isneginf(log_z):
        raise no_path(sentence.index)
    edges = np.zeros((*alpha.shape, alpha.shape[1]))
    with np.errstate(over="ignore"):  # scores that are far from 0; `dispatch` asks about them once more
        for t in range(1, len(sentence)):
            into = sentence.transitions[t] + (sentence.emissions[t] + beta[t])
            edges[t] = np.exp(alpha[t - 1][:, None] + into - log_z)
        return np.exp(alpha + beta - log_z), edges, log_z


def marginals(chain: Chain, *, edges: bool = False) -> Marginals:
    """Compute P(y_n = j), and with ``edges=True`` P(y_(n-1) = i, y_n = j), for every token."""
    posteriors = [_posterior(s) for s in _sentences(chain)]
    pairs = _stack(chain, [p[1] for p in posteriors], chain.num_labels) if edges else None
    return Marginals(_stack(chain, [p[0] for p in posteriors]), pairs, np.array([p[2] for p in posteriors]))


def viterbi(chain: Chain) -> Paths:
    """Find the best labelling, with stored back-pointers; of equals, the one smaller when read from the end."""
    labels, scores = [], []
    for sentence in _sentences(chain):
        path, best = _viterbi(sentence)
        labels.append(path)
        scores.append(best)
    return Paths(np.concatenate([np.empty(0, np.int64), *labels]), np.array(scores))


def viterbi_table(chain: Chain) -> ViterbiTable:
    """Compute δ and the back-pointers of each sentence; of equals, the smaller label before it."""
    tables = [_viterbi_table(sentence) for sentence in _sentences(chain)]
    L = chain.num_labels
    scores = np.concatenate([np.empty((0, L)), *(table.scores for table in tables)])
    return ViterbiTable(scores, np.concatenate([np.empty((0, L), np.int64), *(table.back for table in tables)]))


def _viterbi_table(sentence: _SentenceScores) -> ViterbiTable:
    scores, back = np.empty(sentence.emissions.shape), np.full(sentence.emissions.shape, -1, np.int64)
    for t in range(len(sentence)):
        if t == 0:
            scores[0] = sentence.start + sentence.emissions[0]
            continue
        candidates = scores[t - 1][:, None] + sentence.transitions[t]  # [previous, next]
        back[t] = candidates.argmax(axis=0)
        scores[t] = candidates.max(axis=0) + sentence.emissions[t]
    return ViterbiTable(scores, back)


def _viterbi(sentence: _SentenceScores) -> tuple[IntArray, float]:
    T = len(sentence)
    if T == 0:
        return np.empty(0, np.int64), 0.0
    table = _viterbi_table(sentence)
    delta = table.scores[-1] + sentence.end
    if np.isneginf(delta.max()):
        raise no_path(sentence.index)
    path = np.empty(T, np.int64)
    path[-1] = delta.argmax()
    for t in range(T - 1, 0, -1):
        path[t - 1] = table.back[t, path[t]]
    return path, float(delta.max())


_Candidate = tuple[float, tuple[int, ...]]  # score and labels of a beginning


def k_best(chain: Chain, k: int) -> list[RankedPaths]:
    """Find the k best labellings of each sentence, all of them where there are fewer."""
    number = as_whole("k", k, 1)
    return [_k_best(s, number) for s in _sentences(chain)]


def _k_best(sentence: _SentenceScores, k: int) -> RankedPaths:
    """Keep the k best beginnings at each (token, label), sorted by score, then from the last label to the first."""
    T, L = sentence.emissions.shape
    if T == 0:
        return RankedPaths(np.empty((1, 0), np.int64), np.zeros(1), np.ones(1))
    beginnings: list[list[_Candidate]] = [[(sentence.start[j] + sentence.emissions[0, j], (j,))] for j in range(L)]
    for t in range(1, T):
        beginnings = [
            _best(
                [
                    (total + sentence.transitions[t, i, j] + sentence.emissions[t, j], (*path, j))
                    for i in range(L)
                    for total, path in beginnings[i]
                ],
                k,
            )
            for j in range(L)
        ]
    complete = _best([(total + sentence.end[j], path) for j in range(L) for total, path in beginnings[j]], k)
    if not complete:
        raise no_path(sentence.index)
    scores = np.array([total for total, _ in complete])
    probabilities = np.exp(np.minimum(scores - _log_z(sentence, _alpha(sentence)), 0.0))
    return RankedPaths(np.array([path for _, path in complete], np.int64), scores, probabilities)


def _best(candidates: list[_Candidate], k: int) -> list[_Candidate]:
    legal = [candidate for candidate in candidates if candidate[0] > -np.inf]
    return sorted(legal, key=lambda candidate: -candidate[0])[:k]  # a stable sort: equals keep the order of i


def sample(chain: Chain, uniforms: ArrayLike) -> IntArray:
    """Draw labellings ``[S, N]`` from p(y | x): one uniform number in [0, 1) for each sample and token ``[S, N]``.

    Forward filtering, backward sampling: the last label first, each by inverting its cumulative distribution.
    """
    numbers = as_uniforms(chain, uniforms)
    labels = np.empty(numbers.shape, np.int64)
    for sentence, first in zip(_sentences(chain), chain.offsets, strict=False):
        alpha = _alpha(sentence)
        if np.isneginf(_log_z(sentence, alpha)):
            raise no_path(sentence.index)
        for row, u in zip(labels, numbers, strict=True):
            for t in range(len(sentence) - 1, -1, -1):
                onward = sentence.end if t == len(sentence) - 1 else sentence.transitions[t + 1, :, row[first + t + 1]]
                row[first + t] = _invert(alpha[t] + onward, u[first + t])
    return labels


def _invert(log_weights: Float64Array, u: float) -> int:
    cumulative = np.cumsum(np.exp(log_weights - log_weights.max()))
    return int(np.searchsorted(cumulative, u * cumulative[-1], side="right"))  # u < 1: u·total is below the total


def entropy(chain: Chain) -> Float64Array:
    """Compute the entropy of p(y | x) in nats, ``[B]``: Σ over edges of −p log p, less that of the inner nodes."""
    return np.array([_entropy(s) for s in _sentences(chain)])


def _entropy(sentence: _SentenceScores) -> float:
    nodes, edges, _ = _posterior(sentence)
    if len(sentence) < 2:
        return float(_plogp(nodes).sum())
    return float(_plogp(edges[1:]).sum() - _plogp(nodes[1:-1]).sum())


def _plogp(p: Float64Array) -> Float64Array:
    return -p * np.log(np.where(p > 0, p, 1.0))  # 0 log 0 = 0


def max_marginal(chain: Chain) -> IntArray:
    """Choose the most probable label of each token by itself, ``[N]``: fewest expected errors, perhaps not legal."""
    return np.asarray(marginals(chain).nodes.argmax(axis=1), np.int64)


def span_probability(chain: Chain, spans: Sequence[SpanQuery]) -> Float64Array:
    """Compute P(the labels of a span lie in the given sets), one number for each query ``(sentence, first, sets)``."""
    queries = as_span_arrays(chain, spans)
    sentences = list(_sentences(chain))
    result = np.empty(len(spans))
    for m, (b, first, allowed) in enumerate(queries):
        sentence = sentences[b]
        masked = sentence.emissions.copy()
        masked[first : first + len(allowed)][~allowed] = -np.inf
        inside = _SentenceScores(b, masked, sentence.transitions, sentence.start, sentence.end)
        log_z = _log_z(sentence, _alpha(sentence))
        if np.isneginf(log_z):
            raise no_path(b)
        result[m] = np.exp(_log_z(inside, _alpha(inside)) - log_z)
    return result


def expected_counts(chain: Chain) -> Counts:
    """Compute how often each score is used on average under p(y | x)."""
    nodes, edges, log_z = [], [], []
    start, end = np.zeros(chain.num_labels), np.zeros(chain.num_labels)
    for sentence in _sentences(chain):
        p, pairs, z = _posterior(sentence)
        nodes.append(p)
        edges.append(pairs)
        log_z.append(z)
        if len(sentence):
            start += p[0]
            end += p[-1]
    transitions = _stack(chain, edges, chain.num_labels)
    if not chain.per_position:
        transitions = transitions.sum(axis=0)
    return Counts(_stack(chain, nodes), transitions, start, end, np.array(log_z))


def gradients(chain: Chain, labels: ArrayLike) -> Gradients:
    """Compute the gradient of Σ log p(labels): observed uses of each score less expected ones."""
    gold = as_labels(chain, labels)
    scores = score(chain, gold)
    if np.isneginf(scores).any():
        raise forbidden_gold(int(np.flatnonzero(np.isneginf(scores))[0]))
    expected = expected_counts(chain)
    emissions, transitions = -expected.emissions, -expected.transitions
    start, end = -expected.start, -expected.end
    for first, last in zip(chain.offsets[:-1], chain.offsets[1:], strict=True):
        for n in range(first, last):
            emissions[n, gold[n]] += 1
            if n > first:
                edge = (gold[n - 1], gold[n])
                transitions[(n, *edge) if chain.per_position else edge] += 1
        if first < last:
            start[gold[first]] += 1
            end[gold[last - 1]] += 1
    return Gradients(emissions, transitions, start, end, scores - expected.log_z)


def parameter_gradients(
    labels: ArrayLike, x: ArrayLike, W: ArrayLike, P: ArrayLike, S: ArrayLike
) -> tuple[Float64Array, Float64Array, Float64Array, Float64Array]:
    """Back-propagate log p(labels) of one sentence to its inputs and parameters.

    The scores are ``emissions[t, j] = W_j · x_t``, transitions ``P``, start ``S``.

    Arguments:
        labels: ``[T]``.
        x: ``[T]``, or ``[T, D]`` for vectors.
        W: ``[L]``, or ``[L, D]``.
        P: ``[L, L]`` as ``[previous, next]``.
        S: ``[L]``.

    Returns:
        The gradients with respect to x, W, P and S, in their shapes.
    """
    inputs, weights = as_array("x", x), as_array("W", W)
    vectors, rows = np.atleast_2d(inputs.T).T, np.atleast_2d(weights.T).T  # [T, D], [L, D]
    if vectors.ndim != 2 or rows.ndim != 2 or vectors.shape[1] != rows.shape[1]:
        raise InputError("W: expected as many columns as x {}, got {}", list(inputs.shape), list(weights.shape))
    result = gradients(Chain(vectors @ rows.T, P, S), labels)
    to_x, to_W = result.emissions @ rows, result.emissions.T @ vectors
    return (
        to_x.reshape(inputs.shape),
        to_W.reshape(weights.shape),
        np.asarray(result.transitions, np.float64),
        result.start,
    )


def _stack(chain: Chain, rows: list[Float64Array], *trailing: int) -> Float64Array:
    return np.concatenate([np.empty((0, chain.num_labels, *trailing)), *rows])
