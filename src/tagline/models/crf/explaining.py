"""Which features and transitions of a feature CRF told a label from its rival: weights, looked up one by one.

Sums are float64 over the float32 weights of scoring.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from tagline.chain.rivals import Stretch
from tagline.features.attributes import Attributes, Features
from tagline.models.crf.parameters import Parameters
from tagline.models.explanations import Contribution, Explanation, explain_chain
from tagline.types import Chain, Float64Array


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

    def differences(stretch: Stretch) -> Iterator[Contribution]:
        yield from weights.differences(features, stretch)
        if normalisers is not None:
            yield from _normaliser_terms(parameters.labels, normalisers, stretch)

    return explain_chain(chain, parameters.labels, tokens, differences)


def _normaliser_terms(labels: Sequence[str], normalisers: Float64Array, stretch: Stretch) -> Iterator[Contribution]:
    """What the labels before a token cost two labellings: −log N_n of each."""
    for n in stretch.tokens:
        if n == 0:
            continue
        a, b = stretch.labels(n - 1)
        if a != b:
            amount = float(normalisers[n, b] - normalisers[n, a])
            yield Contribution("normaliser", "", n, (labels[a],), (labels[b],), amount)


class Weights:
    """The weights of a model, looked up one by one, as scoring has them: float32."""

    def __init__(self, parameters: Parameters) -> None:
        self.p = parameters
        self.flat = parameters.weights.astype(np.float32).astype(np.float64)
        self.parts = parameters.structure.parts
        self._rows: dict[tuple[str, int], dict[Any, float]] = {}  # of attributes that were asked for

    def states(self, attribute: int) -> dict[int, float]:
        """The weights of a state attribute, by label; 0 where there is none."""
        s = self.p.structure
        of = slice(s.state_offsets[attribute], s.state_offsets[attribute + 1])
        return self._row(
            "states", attribute, lambda: zip(s.state_labels[of].tolist(), self.flat[of].tolist(), strict=True)
        )

    def edges(self, attribute: int) -> dict[tuple[int, int], float]:
        """The weights of an edge attribute, by pair of labels; 0 where there is none."""
        s = self.p.structure
        of = slice(s.edge_offsets[attribute], s.edge_offsets[attribute + 1])
        weights = self.flat[self.parts["edges"]]
        return self._row(
            "edges", attribute, lambda: zip(map(tuple, s.edge_pairs[of].tolist()), weights[of].tolist(), strict=True)
        )

    def _row(self, kind: str, attribute: int, weights: Callable[[], Iterable[tuple[Any, float]]]) -> dict[Any, float]:
        row = self._rows.get((kind, attribute))
        if row is None:
            row = self._rows[kind, attribute] = dict(weights())
        return row

    @cached_property
    def moves(self) -> Float64Array:
        """The weights of transitions, ``[L, L]``."""
        out = np.zeros((len(self.p.labels),) * 2)
        out[tuple(self.p.structure.transitions.T)] = self.flat[self.parts["transitions"]]
        return out

    def differences(self, features: Features, stretch: Stretch) -> Iterator[Contribution]:
        """The terms of two labellings of one sentence that may differ."""
        names, last = self.p.labels, len(stretch.best) - 1
        for n in stretch.tokens:
            a, b = stretch.labels(n)
            if a != b:
                here = (names[a],), (names[b],)
                for attribute, value in _attributes(features.states, n).items():
                    row = self.states(attribute)
                    amount = value * (row.get(a, 0.0) - row.get(b, 0.0))
                    if amount:
                        yield Contribution("state", self.p.name_of("states", attribute), n, *here, amount)
                for kind, place in (("start", 0), ("end", last)):
                    if n == place and getattr(self.p.structure, kind):
                        ends = self.flat[self.parts[kind]]
                        yield Contribution(kind, "", n, *here, float(ends[a] - ends[b]))
            if n == 0:
                continue
            before = stretch.labels(n - 1)
            if a == b and before[0] == before[1]:
                continue
            pairs = (before[0], a), (before[1], b)
            between = (names[before[0]], names[a]), (names[before[1]], names[b])
            yield Contribution("transition", "", n, *between, float(self.moves[pairs[0]] - self.moves[pairs[1]]))
            for attribute, value in {} if features.edges is None else _attributes(features.edges, n).items():
                table = self.edges(attribute)
                amount = value * (table.get(pairs[0], 0.0) - table.get(pairs[1], 0.0))
                if amount:
                    yield Contribution("edge", self.p.name_of("edges", attribute), n, *between, amount)


def _attributes(of: Attributes, n: int) -> dict[int, float]:
    """The attributes of a token with their values, those that it has twice added up."""
    out: dict[int, float] = {}
    for k in range(int(of.offsets[n]), int(of.offsets[n + 1])):
        a = int(of.ids[k])
        out[a] = out.get(a, 0.0) + (1.0 if of.values is None else float(of.values[k]))
    return out
