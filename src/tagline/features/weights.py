"""Which weights a feature CRF has, and how weights and features become scores on a chain.

The weights are one flat float64 vector, in this order: state weights (attribute, label), transitions (previous, next),
edge weights (attribute, previous, next), start and end weights, and those of triples of labels in a second-order model.
A pair or triple without a weight scores 0; `Rules`, not weights, say what is forbidden.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tagline import compiled
from tagline.errors import InputError
from tagline.features.attributes import Attributes, Features
from tagline.ragged import entries_of, first_entries, offsets_of, row_offsets
from tagline.readers.rules import Rules
from tagline.types import BoolArray, Chain, FloatArray, IntArray, sealed

Labels = NDArray[np.int32]
Pairs = NDArray[np.int32]
TripleRows = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Structure:
    """Which weights there are.

    Attributes:
        num_labels: L.
        state_offsets: ``[A + 1]``; the weights of attribute a are ``state_offsets[a]`` to ``state_offsets[a + 1] - 1``.
        state_labels: ``[W_s]``, int32, ascending within an attribute.
        transitions: ``[W_t, 2]``, int32, pairs (previous, next), sorted.
        edge_offsets: ``[E + 1]``, as for states.
        edge_pairs: ``[W_e, 2]``, int32, sorted within an attribute.
        start, end: whether there are weights for the first and the last label, L each.
        triples: ``[W_3, 3]``, int32, triples of neighbouring labels, sorted; None for a first-order model.
    """

    num_labels: int
    state_offsets: IntArray
    state_labels: Labels
    transitions: Pairs
    edge_offsets: IntArray
    edge_pairs: Pairs
    start: bool = False
    end: bool = False
    triples: TripleRows | None = None

    @property
    def first_order(self) -> Structure:
        """The same without triples, which come last."""
        return self if self.triples is None else replace(self, triples=None)

    @property
    def num_attributes(self) -> int:
        """A."""
        return len(self.state_offsets) - 1

    @property
    def parts(self) -> dict[str, slice]:
        """Where each kind of weight lies in the flat vector."""
        L = self.num_labels
        sizes = {
            "states": len(self.state_labels),
            "transitions": len(self.transitions),
            "edges": len(self.edge_pairs),
            "start": L * self.start,
            "end": L * self.end,
            **({} if self.triples is None else {"triples": len(self.triples)}),
        }
        ends = np.cumsum(list(sizes.values())).tolist()
        return {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}

    @property
    def size(self) -> int:
        """How many weights there are."""
        return int(self.parts["end" if self.triples is None else "triples"].stop)

    def only(self, kept: BoolArray) -> Structure:
        """Leave out the weights that are not kept, ``[size]``; attributes keep their numbers, ends their weights."""
        states, transitions, edges = (kept[self.parts[name]] for name in ("states", "transitions", "edges"))
        return replace(
            self,
            state_offsets=offsets_of(states)[self.state_offsets],
            state_labels=self.state_labels[states],
            transitions=self.transitions[transitions],
            edge_offsets=offsets_of(edges)[self.edge_offsets],
            edge_pairs=self.edge_pairs[edges],
            triples=None if self.triples is None else self.triples[kept[self.parts["triples"]]],
        )


def structure_of(
    features: Features,
    labels: Labels,
    num_labels: int,
    num_attributes: int,
    *,
    num_edges: int = 0,
    all_states: bool = False,
    all_transitions: bool = False,
    edge_pairs: str | IntArray = "observed",
    transitions: bool = True,
    start: bool = False,
    end: bool = False,
) -> Structure:
    """Give a weight to each pair that the labelled sentences show, or to all pairs.

    Arguments:
        labels: ``[N]``, int32; a pair with an unknown label, −1, is not counted.
        edge_pairs: that edge attributes are crossed with: "observed", "all", or numbers previous · L + next, ascending.
        transitions: False for a model without label bigrams.
    """
    L, A = num_labels, num_attributes
    if all_states:
        offsets, state_labels = np.arange(A + 1, dtype=np.int64) * L, np.tile(np.arange(L, dtype=np.int32), A)
    else:
        offsets, state_labels = _observed(features.states, labels, L, A)
    seen = _label_pairs(labels, features.offsets, L)
    if not transitions:
        chosen = np.empty(0, np.int32)
    else:
        chosen = np.arange(L * L, dtype=np.int32) if all_transitions else np.unique(seen[seen >= 0]).astype(np.int32)
    edge_offsets, crossed = np.zeros(num_edges + 1, np.int64), np.empty(0, np.int32)
    if features.edges is not None and isinstance(edge_pairs, str) and edge_pairs == "observed":
        edge_offsets, crossed = _observed(features.edges, seen, L * L, num_edges)
    elif features.edges is not None:
        each = np.arange(L * L) if isinstance(edge_pairs, str) else edge_pairs
        edge_offsets = np.arange(num_edges + 1, dtype=np.int64) * len(each)
        crossed = np.tile(each.astype(np.int32), num_edges)
    return Structure(L, offsets, state_labels, _split(chosen, L), edge_offsets, _split(crossed, L), start, end)


def observed_triples(labels: Labels, offsets: IntArray, L: int) -> TripleRows:
    """Return the distinct triples of known neighbouring labels, ``[W_3, 3]``, sorted."""
    pairs = _label_pairs(labels, offsets, L).astype(np.int64)
    before = np.concatenate([[-1], pairs])[:-1]
    keys = np.unique((before * L + labels)[(before >= 0) & (pairs >= 0)])
    return np.stack([keys // L**2, keys // L % L, keys % L], axis=1).astype(np.int32)


def _label_pairs(labels: Labels, offsets: IntArray, L: int) -> Labels:
    """Return previous · L + label of each token, ``[N]``; −1 at a first token and where one of the two is unknown."""
    before = np.concatenate([[-1], labels])[:-1].astype(np.int32)
    unknown = first_entries(offsets) | (before < 0) | (labels < 0)
    return np.where(unknown, -1, before * np.int32(L) + labels).astype(np.int32)


def _split(pairs: Labels, L: int) -> Pairs:
    return np.stack([pairs // L, pairs % L], axis=1).astype(np.int32)


def _observed(attributes: Attributes, labels: Labels, L: int, A: int) -> tuple[IntArray, Labels]:
    """Return the distinct (attribute, label) pairs in compressed rows."""
    if compiled.core is not None:
        rows = compiled.core.observed_pairs(attributes.offsets, attributes.ids, labels, L, A)
        if rows is not None:
            return rows[0], rows[1]
    label = np.repeat(labels, np.diff(attributes.offsets))  # [M], of the token that has the attribute
    known = label >= 0
    keys = np.unique(attributes.ids[known].astype(np.int64) * L + label[known])
    return row_offsets(keys // L, A), (keys % L).astype(np.int32)


class Scorer:
    """Weights ready for scoring: features in, a float32 `Chain` out, or float64 where that is asked for.

    Arguments:
        structure: which weights there are.
        weights: ``[size]``, flat.
        rules: what is forbidden, as −∞.
        layout: the core's, of the same structure; None to make it.
        exact: score in float64, weights summed in the order of a token's attributes: slower, and ties are decided as
            tools decide them that do the same.

    Attributes:
        states: the weights of state attributes, as the compiled core holds them.
        is_exact: whether it scores in float64.
    """

    def __init__(
        self,
        structure: Structure,
        weights: FloatArray,
        rules: Rules | None = None,
        layout: Any = None,
        *,
        exact: bool = False,
    ) -> None:
        if weights.shape != (structure.size,):
            raise InputError("weights: expected shape [{}], got {}", structure.size, list(weights.shape))
        core = compiled.require()
        self.structure = structure
        self.rules = rules
        parts = structure.parts
        shape = structure.num_labels, structure.state_offsets, structure.state_labels
        states = np.ascontiguousarray(weights[parts["states"]])
        self.is_exact, self._layout = exact, layout
        if exact:
            self.states = core.ExactStateWeights(*shape, states.astype(np.float64))
        else:
            self._layout = core.Layout(*shape) if layout is None else layout
            self.states = core.StateWeights(self._layout, states)
        L, real = structure.num_labels, np.float64 if exact else np.float32
        self.transitions: NDArray[Any] = np.zeros((L, L), real)
        self.transitions[tuple(structure.transitions.T)] = weights[parts["transitions"]]
        self.start, self.end = np.zeros(L, real), np.zeros(L, real)
        if structure.start:
            self.start[:] = weights[parts["start"]]
        if structure.end:
            self.end[:] = weights[parts["end"]]
        self._edges: NDArray[Any] = np.asarray(weights[parts["edges"]], real)
        if rules is not None:
            for scores, allowed in (
                (self.transitions, rules.transitions),
                (self.start, rules.start),
                (self.end, rules.end),
            ):
                scores[~allowed] = -np.inf

    def with_weights(self, weights: FloatArray) -> Self:
        """Return a scorer for other weights of the same structure."""
        return type(self)(self.structure, weights, self.rules, self._layout, exact=self.is_exact)

    def emissions(self, features: Features) -> FloatArray:
        """Sum the state weights of each token: ``[N, L]``."""
        states = features.states
        emissions: FloatArray = self.states.emissions(states.offsets, states.ids, states.values)
        return emissions

    def chain(self, features: Features) -> Chain:
        """Score sentences; where edge attributes have weights, the transitions are ``[N, L, L]``."""
        return self.joined(self.emissions(features), features.offsets, self._transitions(features))

    def joined(self, emissions: NDArray[Any], offsets: IntArray, transitions: NDArray[Any] | None = None) -> Chain:
        """Return the chain of sentences with these emissions; the scorer's transitions where none are given."""
        matrices = self.transitions if transitions is None else sealed(transitions)
        return Chain(sealed(emissions), matrices, self.start, self.end, offsets)

    def _transitions(self, features: Features) -> NDArray[Any] | None:
        """The transitions into each token where edge attributes have weights; None elsewhere."""
        edges, structure, L = features.edges, self.structure, self.structure.num_labels
        if edges is None or not len(self._edges):
            return None
        out = np.broadcast_to(self.transitions, (edges.num_tokens, L, L)).copy()
        tokens = np.repeat(np.arange(edges.num_tokens), np.diff(edges.offsets))  # [M]
        widths = np.diff(structure.edge_offsets)[edges.ids]  # [M], weights of each occurrence
        places = entries_of(structure.edge_offsets, edges.ids.astype(np.int64))
        values = self._edges[places]
        if edges.values is not None:
            values = values * np.repeat(edges.values, widths)
        np.add.at(out, (np.repeat(tokens, widths), *structure.edge_pairs[places].T), values)
        return out
