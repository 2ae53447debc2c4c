"""What a feature CRF has learned: labels, names of attributes, which weights there are and their values.

One value that training ends with, scoring starts from, and files, tables and explanations are written from.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline.features.vocabulary import Vocabulary
from tagline.features.weights import Structure
from tagline.ragged import row_offsets
from tagline.readers.rules import Rules, legal
from tagline.types import Float64Array, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Parameters:
    """The learned part of a model.

    Attributes:
        labels: L names, sorted.
        scheme: the tag scheme whose rules hold; None for no rules.
        structure: which weights there are.
        weights: ``[structure.size]``, flat; float64 after training, float32 from a file.
        states, edges: names of the attributes; None where they were hashed away or where there are none.
        pruner: ``[structure.first_order.size]``, the weights of the first-order model that decides which labels of a
            token a second-order one looks at; None where it looks at all.
        prune: labels that the first-order model finds less probable are pruned; 0 for none.
    """

    labels: tuple[str, ...]
    scheme: str | None
    structure: Structure
    weights: FloatArray
    states: Vocabulary | None
    edges: Vocabulary | None
    pruner: FloatArray | None = None
    prune: float = 0.0

    @property
    def order(self) -> int:
        """2 where there are weights of label triples."""
        return 1 if self.structure.triples is None else 2

    def first_order(self) -> Parameters:
        """Return the model without triples: that of the pruner, if there is one."""
        structure = self.structure.first_order
        weights = self.weights[: structure.size] if self.pruner is None else self.pruner
        return replace(self, structure=structure, weights=weights, pruner=None, prune=0.0)

    @cached_property
    def rules(self) -> Rules | None:
        """What the scheme forbids."""
        return None if self.scheme is None else legal(self.labels, self.scheme)

    def part(self, name: str) -> FloatArray:
        """The weights of one kind: states, transitions, edges, start, end or triples."""
        weights: FloatArray = self.weights[self.structure.parts[name]]
        return weights

    def name_of(self, part: str, number: int) -> str:
        """The name of a state or edge attribute; its number, as ``#7``, where names were hashed away."""
        names = self.states if part == "states" else self.edges
        return f"#{number}" if names is None else names[number]

    def numbers_of(self, part: str, names: Sequence[str]) -> list[int]:
        """The numbers of attributes by such names; −1 where there is none."""
        known = self.states if part == "states" else self.edges
        if known is not None:
            return [int(number) for number in known.find_all(names)]
        size = len(self.structure.state_offsets if part == "states" else self.structure.edge_offsets) - 1
        numbers = (int(name[1:]) if re.fullmatch("#[0-9]{1,10}", name) else size for name in names)
        return [number if number < size else -1 for number in numbers]

    def matrix(self) -> Float64Array:
        """The weights of transitions as ``[L, L]``, 0 where there is none."""
        out = np.zeros((len(self.labels), len(self.labels)))
        out[tuple(self.structure.transitions.T)] = self.part("transitions")
        return out

    def pruned(self) -> Parameters:
        """Leave out weights that are 0, and attributes without any; hashed ones keep their numbers."""
        kept = self.weights != 0
        parts = self.structure.parts
        kept[parts["start"].start : parts["end"].stop] = True
        first = self.structure.first_order.size
        if self.pruner is not None:
            kept[:first] |= self.pruner != 0
        structure = self.structure if kept.all() else self.structure.only(kept)
        state_offsets, states = _without_empty(structure.state_offsets, self.states)
        edge_offsets, edges = _without_empty(structure.edge_offsets, self.edges)
        structure = replace(structure, state_offsets=state_offsets, edge_offsets=edge_offsets)
        pruner = None if self.pruner is None else self.pruner[kept[:first]]
        weights = self.weights[kept]
        return replace(self, structure=structure, weights=weights, states=states, edges=edges, pruner=pruner)

    def grown(self, labels: Sequence[str], scheme: str | None, fresh: Structure, states: Any, edges: Any) -> Parameters:
        """Carry the weights over to more labels, attributes and pairs; new weights are 0.

        Arguments:
            labels: the old ones and more, sorted.
            fresh: the pairs that new sentences show, over the new labels and vocabularies; old names keep their ids.
        """
        L, old = len(labels), self.structure
        moved = np.array([labels.index(label) for label in self.labels], np.int64)  # [old L]
        parts, values = [], []

        def carry(keys: IntArray, fresh_keys: IntArray, weights: FloatArray) -> IntArray:
            """Join old keys with fresh ones; weights go where their keys are."""
            joined = np.union1d(keys, fresh_keys)
            out = np.zeros(len(joined))
            out[np.searchsorted(joined, keys)] = weights
            values.append(out)
            return joined

        keys = _keys(old.state_offsets, moved[old.state_labels], L)
        parts.append(carry(keys, _keys(fresh.state_offsets, fresh.state_labels, L), self.part("states")))
        pairs = moved[old.transitions]
        carried = carry(pairs[:, 0] * L + pairs[:, 1], _pair_keys(fresh.transitions, L), self.part("transitions"))
        edge_pairs = moved[old.edge_pairs]
        edge_keys = _keys(old.edge_offsets, edge_pairs[:, 0] * L + edge_pairs[:, 1], L * L)
        edge = carry(edge_keys, _keys(fresh.edge_offsets, _pair_keys(fresh.edge_pairs, L), L * L), self.part("edges"))
        for name in ("start", "end"):
            if getattr(fresh, name):
                ends = np.zeros(L)
                if getattr(old, name):
                    ends[moved] = self.part(name)
                values.append(ends)
        A, E = fresh.num_attributes, len(fresh.edge_offsets) - 1
        structure = Structure(
            L,
            row_offsets(parts[0] // L, A),
            (parts[0] % L).astype(np.int32),
            np.stack([carried // L, carried % L], axis=1).astype(np.int32),
            row_offsets(edge // (L * L), E),
            np.stack([edge % (L * L) // L, edge % L], axis=1).astype(np.int32),
            fresh.start,
            fresh.end,
        )
        return Parameters(tuple(labels), scheme, structure, np.concatenate(values), states, edges)


def _without_empty(offsets: IntArray, names: Vocabulary | None) -> tuple[IntArray, Vocabulary | None]:
    """Leave out the attributes that have no weights; those without names are all kept."""
    used = np.diff(offsets) > 0
    if names is None or used.all():
        return offsets, names
    return np.concatenate([[0], offsets[1:][used]]).astype(np.int64), names.take(np.flatnonzero(used))


def _keys(offsets: IntArray, columns: NDArray[Any], width: int) -> IntArray:
    rows = np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))
    return np.asarray(rows * width + columns, np.int64)


def _pair_keys(pairs: NDArray[np.int32], L: int) -> IntArray:
    return pairs[:, 0].astype(np.int64) * L + pairs[:, 1]
