"""A feature CRF of the second order: answers over pairs of labels, and pruning by a first-order model.

    score(y | x) = the score of a first-order CRF + Σ_(t ≥ 2) w[y_(t−2), y_(t−1), y_t]

Pruning (the coarse-to-fine idea of Müller, Schmid & Schütze 2013): a first-order model looks at the sentence first, and
a label whose probability at a token is below a threshold is forbidden there. The best labelling of the first-order
model is never pruned, so that there always is one. A labelling that was pruned has probability 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tagline import chain as first_order
from tagline.chain import second_order
from tagline.chain.rivals import Stretch
from tagline.chain.second_order import SecondOrderChain, Triples
from tagline.chain.second_order.dispatch import log_counts
from tagline.chain.second_order.rivals import PairLattice, SecondOrderScores
from tagline.features.attributes import Features
from tagline.messages import Message, message
from tagline.models.crf.explaining import Weights
from tagline.models.crf.parameters import Parameters
from tagline.models.entities import FoundSpans, Reading
from tagline.models.explanations import Contribution, Explanation, explain_labelling, label_rivals
from tagline.models.questions import Questions
from tagline.types import BoolArray, Chain, Float64Array, IntArray, sealed


def triples_of(parameters: Parameters) -> Triples:
    """Return the scores of triples, as scoring has weights: float32."""
    structure = parameters.structure
    assert structure.triples is not None
    weights = parameters.part("triples").astype(np.float32)
    return Triples.of(structure.num_labels, structure.triples, weights.astype(np.float64))


def probable_spans(
    scored: SecondOrderChain, reading: Reading, min_probability: float, best: IntArray | None = None, first: int = 0
) -> FoundSpans:
    """Find the spans of the best labelling that are probable enough; see `tagline.models.entities`."""
    spans = reading.spans(second_order.viterbi(scored).labels if best is None else best, scored.offsets)
    kinds = spans.numbered(reading.types).astype(np.int64)
    p = _span_probabilities(scored, reading, spans.sentence, spans.start, spans.end, kinds)
    likely = p >= min_probability
    sentence = spans.sentence[likely] + first
    return FoundSpans(sentence, spans.start[likely], spans.end[likely], kinds[likely], reading.types, p[likely])


def _span_probabilities(
    scored: SecondOrderChain, reading: Reading, sentence: IntArray, start: IntArray, end: IntArray, kind: IntArray
) -> Float64Array:
    """Compute the probability that a labelling has each span, exactly as it stands: Z of those that do, over Z."""
    log_z = second_order.log_partition(scored)
    out = np.zeros(len(sentence))
    for m, (b, first, last, type_) in enumerate(zip(sentence, start, end, kind, strict=True)):
        bound = _with_span(scored.chain, int(b), int(first), int(last), reading.members[type_], reading.continues)
        with_span = second_order.log_partition(SecondOrderChain(bound, scored.triples), allow_no_path=True)[0]
        out[m] = np.exp(min(with_span - log_z[b], 0.0))
    return out


def _with_span(chain: Chain, b: int, first: int, last: int, members: IntArray, continues: BoolArray) -> Chain:
    """Return sentence b with all labellings forbidden that do not have the span of tokens first … last − 1."""
    tokens = slice(int(chain.offsets[b]), int(chain.offsets[b + 1]))
    emissions = chain.emissions[tokens].astype(np.float64)
    T, L = emissions.shape
    matrices = chain.transitions[tokens] if chain.per_position else np.broadcast_to(chain.transitions, (T, L, L))
    transitions = np.array(matrices, np.float64)
    inside = np.zeros(L, np.bool_)
    inside[members[members >= 0]] = True
    emissions[first:last, ~inside] = -np.inf
    transitions[first + 1 : last, ~continues] = -np.inf
    for t in (first, last):  # a span begins here, or has ended before
        if 0 < t < T:
            transitions[t, continues] = -np.inf
    return Chain(sealed(emissions), sealed(transitions), chain.start.astype(np.float64), chain.end.astype(np.float64))


class SecondOrderQuestions(Questions):
    """Questions to `SecondOrderChain`."""

    viterbi = staticmethod(second_order.viterbi)
    marginals = staticmethod(second_order.marginals)
    k_best = staticmethod(second_order.k_best)
    sample_paths = staticmethod(second_order.sample)
    log_partition = staticmethod(second_order.log_partition)
    entropy = staticmethod(second_order.entropy)
    constrain = staticmethod(second_order.constrain)
    probable_spans = staticmethod(probable_spans)
    log_counts = staticmethod(log_counts)


@dataclass(frozen=True)
class Pruning:
    """How much pruning leaves and what it costs.

    Attributes:
        threshold: labels with a smaller first-order probability are pruned.
        tokens: N.
        labels: L.
        kept: labels left to a token, on average.
        lost: the first-order probability of pruned labels at a token, on average.
        gold_pruned: how many tokens lost their gold label; None without labels.

    >>> print(Pruning(1e-3, 1000, 44, 1.5, 0.0004))
    labels below 0.001 are pruned: 1.50 of 44 are left to a token, 0.04 % of the probability is lost
    """

    threshold: float
    tokens: int
    labels: int
    kept: float
    lost: float
    gold_pruned: int | None = None

    def __str__(self) -> str:
        return str(self.in_words())

    def in_words(self) -> Message:
        """Say it."""
        words = message(
            "labels below {:g} are pruned: {:.2f} of {} are left to a token, {:.2g} % of the probability is lost",
            self.threshold,
            self.kept,
            self.labels,
            100 * self.lost,
        )
        if self.gold_pruned is None:
            return words
        return message("{}, and {:,} of {:,} gold labels", words, self.gold_pruned, self.tokens)


@dataclass
class Pruner:
    """Which labels a first-order model leaves, and sums of what that costs.

    Attributes:
        threshold: labels with a smaller probability are pruned; 0 for none but impossible ones.
    """

    threshold: float
    tokens: int = 0
    kept: int = 0
    lost: float = 0.0
    gold_pruned: int = 0

    def allowed(self, chain: Chain) -> BoolArray:
        """Return the labels ``[N, L]`` that are left to each token of a chain of the first-order model."""
        nodes = first_order.marginals(chain).nodes
        left = np.asarray(nodes >= self.threshold)
        left[np.arange(len(left)), first_order.viterbi(chain).labels] = True
        self.tokens += len(left)
        self.kept += int(left.sum())
        self.lost += float(nodes[~left].sum(dtype=np.float64))
        return left

    def report(self, labels: int, gold: bool) -> Pruning:
        """Return the sums as means."""
        N = max(1, self.tokens)
        pruned = self.gold_pruned if gold else None
        return Pruning(self.threshold, self.tokens, labels, self.kept / N, self.lost / N, pruned)


def explain_second_order(
    parameters: Parameters, scored: SecondOrderChain, features: Features, tokens: Sequence[str]
) -> Explanation:
    """Explain the best labelling of one sentence by its features, transitions and triples."""
    if not tokens:
        return Explanation(())
    weights, names, triples = Weights(parameters), parameters.labels, scored.triples
    best = second_order.viterbi(scored).labels

    def differences(stretch: Stretch) -> Iterator[Contribution]:
        yield from weights.differences(features, stretch)
        for n in stretch.tokens:
            if n >= 2:
                a, b = zip(*(stretch.labels(m) for m in (n - 2, n - 1, n)), strict=True)
                amount = float(triples.of_labels(np.array(a))[0] - triples.of_labels(np.array(b))[0])
                labels = tuple(names[label] for label in a), tuple(names[label] for label in b)
                yield Contribution("transition", "", n, *labels, amount)

    others = label_rivals(PairLattice(SecondOrderScores(scored)), best, differences)
    return explain_labelling(best, second_order.marginals(scored).nodes, names, tokens, others)
