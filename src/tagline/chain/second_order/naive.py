"""The definition: each sentence is a first-order chain over pairs of labels, and `tagline.chain.naive` answers."""

from __future__ import annotations

import numpy as np

from tagline.chain import naive as first_order
from tagline.chain.checks import no_path
from tagline.chain.second_order.types import PairChain, SecondOrderChain, SecondOrderCounts
from tagline.types import Float64Array, IntArray, Marginals, Paths, RankedPaths


def _sentences(scored: SecondOrderChain) -> list[PairChain | None]:
    """The sentences over pairs; None for an empty one."""
    return [PairChain(scored, b) if length else None for b, length in enumerate(scored.lengths)]


def log_partition(scored: SecondOrderChain, *, allow_no_path: bool = False) -> Float64Array:
    """Compute log Z."""
    out = np.zeros(scored.num_sentences)
    for b, pairs in enumerate(_sentences(scored)):
        if pairs is not None:
            out[b] = first_order.log_partition(pairs, allow_no_path=True)[0]
            if np.isneginf(out[b]) and not allow_no_path:
                raise no_path(b)
    return out


def viterbi(scored: SecondOrderChain) -> Paths:
    """Find the best labelling."""
    best = k_best(scored, 1)
    return Paths(
        np.concatenate([np.zeros(0, np.int64), *(ranked.labels[0] for ranked in best)]),
        np.array([ranked.scores[0] for ranked in best], np.float64),
    )


def k_best(scored: SecondOrderChain, k: int) -> list[RankedPaths]:
    """Find the k best labellings of each sentence."""
    log_partition(scored)
    out = []
    for pairs in _sentences(scored):
        if pairs is None:
            out.append(RankedPaths(np.zeros((1, 0), np.int64), np.zeros(1), np.ones(1)))
            continue
        ranked = first_order.k_best(pairs, k)[0]
        out.append(RankedPaths(pairs.labels[ranked.labels], ranked.scores, ranked.probabilities))
    return out


def sample(scored: SecondOrderChain, uniforms: Float64Array) -> IntArray:
    """Draw labellings by given uniform numbers."""
    log_partition(scored)
    out = np.zeros(uniforms.shape, np.int64)
    for b, pairs in enumerate(_sentences(scored)):
        if pairs is not None:
            tokens = slice(int(scored.offsets[b]), int(scored.offsets[b + 1]))
            out[:, tokens] = pairs.labels[first_order.sample(pairs, uniforms[:, tokens])]
    return out


def entropy(scored: SecondOrderChain) -> Float64Array:
    """Compute the entropy of p(y | x)."""
    log_partition(scored)
    sentences = _sentences(scored)
    return np.array([0.0 if pairs is None else float(first_order.entropy(pairs)[0]) for pairs in sentences])


def marginals(scored: SecondOrderChain) -> Marginals:
    """Compute node probabilities."""
    counts = expected_counts(scored)
    return Marginals(counts.emissions, None, counts.log_z)


def expected_counts(scored: SecondOrderChain) -> SecondOrderCounts:
    """Compute how often each score is used on average."""
    L, offsets = scored.num_labels, scored.offsets
    log_z = log_partition(scored)
    nodes, transitions, triples = np.zeros((scored.num_tokens, L)), np.zeros((L, L)), np.zeros((L, L, L))
    start, end = np.zeros(L), np.zeros(L)
    for b, pairs in enumerate(_sentences(scored)):
        if pairs is None:
            continue
        shares = first_order.expected_counts(pairs)
        before, label = pairs.pairs.T
        for n, row in enumerate(shares.emissions):
            np.add.at(nodes[offsets[b] + n], label, row)
        inner = before < L
        np.add.at(transitions, (before[inner], label[inner]), shares.emissions.sum(axis=0)[inner])
        i, j = np.nonzero((label[:, None] == before) & inner[:, None] & inner)
        np.add.at(triples, (before[i], label[i], label[j]), shares.transitions[i, j])
        np.add.at(start, label, shares.start)
        np.add.at(end, label, shares.end)
    rows = scored.triples.rows
    table = np.zeros(scored.triples.table.shape)
    table[rows[rows >= 0]] = triples[rows >= 0]
    return SecondOrderCounts(nodes, transitions, start, end, log_z, table)
