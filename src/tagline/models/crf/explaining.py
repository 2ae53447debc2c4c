"""Which features and transitions of a feature CRF told a label from its rival: weights, looked up one by one.

Sums are float64 over the float32 weights of scoring.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tagline.features.attributes import Attributes, Features
from tagline.models.crf.parameters import Parameters
from tagline.models.explanations import Contribution, Explanation, explain_chain
from tagline.types import Chain, Float64Array, IntArray


def explain(
    parameters: Parameters,
    chain: Chain,
    features: Features,
    tokens: Sequence[str],
    normalisers: Float64Array | None = None,
) -> Explanation:
    """Explain the best labelling of one sentence.

    Arguments:
        parameters: of the model.
        chain: the sentence scored, with rules and known labels.
        features: its attributes.
        tokens: its words.
        normalisers: log N_n(i) of a model that is normalised at each token, ``[T, L]``; None for a CRF.
    """
    weights = Weights(parameters)

    def differences(mine: IntArray, other: IntArray) -> Iterator[Contribution]:
        yield from weights.differences(features, mine, other)
        if normalisers is not None:
            yield from _normaliser_terms(parameters.labels, normalisers, mine, other)

    return explain_chain(chain, parameters.labels, tokens, differences)


def _normaliser_terms(
    labels: Sequence[str], normalisers: Float64Array, mine: IntArray, other: IntArray
) -> Iterator[Contribution]:
    """What the labels before a token cost two labellings: −log N_n of each."""
    for n in range(1, len(mine)):
        a, b = int(mine[n - 1]), int(other[n - 1])
        if a != b:
            amount = float(normalisers[n, b] - normalisers[n, a])
            yield Contribution("normaliser", "", n, (labels[a],), (labels[b],), amount)


class Weights:
    """The weights of a model, looked up one by one, as scoring has them: float32."""

    def __init__(self, parameters: Parameters) -> None:
        self.p = parameters
        self.flat = parameters.weights.astype(np.float32).astype(np.float64)
        self.parts = parameters.structure.parts

    def states(self, attribute: int) -> Float64Array:
        """The weights of a state attribute, ``[L]``."""
        s, out = self.p.structure, np.zeros(len(self.p.labels))
        of = slice(s.state_offsets[attribute], s.state_offsets[attribute + 1])
        out[s.state_labels[of]] = self.flat[of]
        return out

    def edges(self, attribute: int) -> Float64Array:
        """The weights of an edge attribute, ``[L, L]``."""
        s, L = self.p.structure, len(self.p.labels)
        first, last = s.edge_offsets[attribute], s.edge_offsets[attribute + 1]
        out = np.zeros((L, L))
        out[tuple(s.edge_pairs[first:last].T)] = self.flat[self.parts["edges"]][first:last]
        return out

    def moves(self) -> Float64Array:
        """The weights of transitions, ``[L, L]``."""
        out = np.zeros((len(self.p.labels),) * 2)
        out[tuple(self.p.structure.transitions.T)] = self.flat[self.parts["transitions"]]
        return out

    def differences(self, features: Features, mine: IntArray, other: IntArray) -> Iterator[Contribution]:
        """The terms of two labellings ``[T]`` of one sentence that may differ."""
        labels, T, moves = self.p.labels, len(mine), self.moves()
        for n in range(T):
            if mine[n] != other[n]:
                here = (labels[mine[n]],), (labels[other[n]],)
                for a, value in _attributes(features.states, n).items():
                    row = self.states(a)
                    amount = value * (row[mine[n]] - row[other[n]])
                    yield Contribution("state", self.p.name_of("states", a), n, *here, float(amount))
                for kind, place in (("start", 0), ("end", T - 1)):
                    if n == place and getattr(self.p.structure, kind):
                        ends = self.flat[self.parts[kind]]
                        yield Contribution(kind, "", n, *here, float(ends[mine[n]] - ends[other[n]]))
            if n == 0 or (mine[n - 1] == other[n - 1] and mine[n] == other[n]):
                continue
            pairs = (mine[n - 1], mine[n]), (other[n - 1], other[n])
            between = (labels[mine[n - 1]], labels[mine[n]]), (labels[other[n - 1]], labels[other[n]])
            yield Contribution("transition", "", n, *between, float(moves[pairs[0]] - moves[pairs[1]]))
            for a, value in {} if features.edges is None else _attributes(features.edges, n).items():
                table = self.edges(a)
                amount = value * (table[pairs[0]] - table[pairs[1]])
                yield Contribution("edge", self.p.name_of("edges", a), n, *between, float(amount))


def _attributes(of: Attributes, n: int) -> dict[int, float]:
    """The attributes of a token with their values, those that it has twice added up."""
    out: dict[int, float] = {}
    for k in range(int(of.offsets[n]), int(of.offsets[n + 1])):
        a = int(of.ids[k])
        out[a] = out.get(a, 0.0) + (1.0 if of.values is None else float(of.values[k]))
    return out
