"""Why a tag won over its rival by a trigram tagger: probabilities of words and of trigrams, over the candidates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tagline.chain.rivals import Stretch
from tagline.chain.second_order.rivals import PairLattice
from tagline.models.explanations import Contribution, Explanation, explain_labelling, label_rivals
from tagline.models.trigram.parameters import CandidateLists, TrigramParameters
from tagline.types import Float64Array, FloatArray, IntArray


class CandidateScores:
    """One sentence as `PairLattice` takes it: the labels are states.

    Arguments:
        lists: candidates.
        words: ``[T]``, the list of each token.
    """

    def __init__(self, parameters: TrigramParameters, lists: CandidateLists, words: NDArray[np.int32]) -> None:
        self.table, self.rows = parameters.log_table
        self.boundary = parameters.counts.num_states
        ranges = [slice(lists.offsets[word], lists.offsets[word + 1]) for word in words.tolist()]
        self.candidates: Sequence[IntArray] = [lists.states[entries].astype(np.int64) for entries in ranges]
        self.words = [lists.scores[entries].astype(np.float64) for entries in ranges]

    def opening(self) -> Float64Array:
        """log p(b | S, S) + log P(word | b)."""
        row = self.table[self.rows[self.boundary, self.boundary]]
        return np.asarray(row[self.candidates[0]].astype(np.float64) + self.words[0])

    def pairs(self, t: int, before: IntArray) -> Float64Array:
        """Log P(word | c)."""
        return np.broadcast_to(self.words[t], (len(before), len(self.words[t])))

    def triples(self, t: int, first: IntArray, before: IntArray) -> Float64Array:
        """Log p(c | a, b)."""
        rows = self.rows[first[:, None], before]
        return np.asarray(self.table[rows[:, :, None], self.candidates[t]], np.float64)

    def closing(self, before: IntArray) -> Float64Array:
        """Log p(S | a, b)."""
        return np.asarray(self.table[self.rows[before[:, None], self.candidates[-1]], self.boundary], np.float64)


def explain_trigrams(
    parameters: TrigramParameters, scores: CandidateScores, best: IntArray, nodes: FloatArray, tokens: Sequence[str]
) -> Explanation:
    """Explain the best labelling of one sentence: log P(word | state) of each token, log p of each trigram.

    Arguments:
        scores: of the sentence.
        best: ``[T]``, its best states.
        nodes: ``[T, K]``, the probability of each tag.
        tokens: its words.
    """
    if not tokens:
        return Explanation(())
    names, S, last = parameters.names, parameters.counts.num_states, len(tokens) - 1
    entries = [dict(zip(*row, strict=True)) for row in _rows(scores)]

    def log_p(states: Sequence[int], following: int) -> float:
        return float(scores.table[scores.rows[states[0], states[1]], following])

    def differences(stretch: Stretch) -> Iterator[Contribution]:
        for n in stretch.tokens:
            ways = list(zip(*(stretch.labels(m) if m >= 0 else (S, S) for m in (n - 2, n - 1, n)), strict=True))
            mine, other = ways
            here = (names[mine[2]],), (names[other[2]],)
            amount = entries[n][mine[2]] - entries[n][other[2]]
            yield Contribution("state", tokens[n], n, *here, amount)
            amount = log_p(mine[:2], mine[2]) - log_p(other[:2], other[2])
            trigrams = [tuple(names[state] for state in way if state != S) for way in ways]
            yield Contribution("transition" if n else "start", "", n, trigrams[0], trigrams[1], amount)
            if n == last:
                yield Contribution("end", "", n, *here, log_p(mine[1:], S) - log_p(other[1:], S))

    tags = np.arange(S) % len(parameters.labels)
    others = label_rivals(PairLattice(scores), best, differences, tags)
    return explain_labelling(tags[best], nodes, parameters.labels, tokens, others)


def _rows(scores: CandidateScores) -> Iterator[tuple[list[int], list[float]]]:
    for states, values in zip(scores.candidates, scores.words, strict=True):
        yield states.tolist(), values.tolist()
