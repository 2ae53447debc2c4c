"""A second-order model as a first-order chain: the labels of the chain are pairs of neighbouring states.

A labelling s_1 … s_T is the path of pairs (S, s_1), (s_1, s_2), …, where S is the boundary, with the scores

    start (S, b)             log p(b | S, S)
    (a, b) → (b, c)          log p(c | a, b); −∞ between pairs that do not share b
    emission of (a, b) at t  log P(w_t | b); −∞ where a or b is no candidate of its token
    end (a, b)               log p(S | a, b)

Only pairs of candidates of the sentence are labels of its chain: a few for each token. Every query of `tagline.chain`
can be asked about it; `TrigramTagger` itself answers faster, by recursions over the candidates in the core.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tagline.models.trigram.parameters import CandidateLists, TrigramParameters
from tagline.types import Chain, IntArray


@dataclass(frozen=True, eq=False)
class PairChain(Chain):
    """One sentence as a chain over P pairs of states.

    Attributes:
        pairs: ``[P, 2]``, (state before, state); the number of states stands for the boundary.
        labels: ``[P]``, the label of each pair's second state, as a number of `labels_`.
    """

    pairs: IntArray
    labels: IntArray

    def __init__(self, scores: tuple[NDArray[np.float64], ...], pairs: IntArray, num_labels: int) -> None:
        super().__init__(*scores)
        object.__setattr__(self, "pairs", pairs)
        object.__setattr__(self, "labels", pairs[:, 1] % num_labels)


def pair_chain(parameters: TrigramParameters, lists: CandidateLists, words: NDArray[np.int32]) -> PairChain:
    """Score one sentence.

    Arguments:
        lists: candidates.
        words: ``[T]``, the list of each token.
    """
    p, S = parameters, parameters.counts.num_states
    ranges = [slice(lists.offsets[word], lists.offsets[word + 1]) for word in words.tolist()]
    states = [lists.states[entries].astype(np.int64) for entries in ranges]
    keys = [np.add.outer(a * S, b).ravel() for a, b in zip([np.array([S]), *states], states, strict=False)]
    distinct = np.unique(np.concatenate(keys)) if keys else np.array([S * S])
    pairs = np.stack([distinct // S, distinct % S], axis=1)  # [P, 2]
    emissions = np.full((len(words), len(pairs)), -np.inf)
    for t, entries in enumerate(ranges):
        before = len(keys[t]) // max(1, len(states[t]))
        emissions[t, np.searchsorted(distinct, keys[t])] = np.tile(lists.scores[entries], before)
    table, rows = p.log_table
    following = table[rows[pairs[:, 0], pairs[:, 1]]].astype(np.float64)  # [P, S + 1], log p(c | a, b)
    shared = pairs[:, 1][:, None] == pairs[:, 0][None, :]
    transitions = np.where(shared, following[:, pairs[:, 1]], -np.inf)
    first = pairs[:, 0] == S
    start = np.where(first, table[rows[S, S]][pairs[:, 1]], -np.inf)
    return PairChain((emissions, transitions, start, following[:, S]), pairs, len(p.labels))
