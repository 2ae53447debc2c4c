"""The weights of a feature CRF as a table, and edits of it back in.

The table is the whole model: a row that was deleted is a weight of 0, a changed weight counts, and a new row adds a
weight between attributes and labels that the model knows. Weights are written with the digits that float32 needs, so
that a table that nobody touched gives the same model again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tagline.errors import InputError
from tagline.features.weights import Structure
from tagline.models.crf.parameters import Parameters
from tagline.models.weight_tables import KINDS, WITH_ATTRIBUTE, WeightRow
from tagline.ragged import row_offsets
from tagline.types import IntArray


def weight_rows(parameters: Parameters) -> list[WeightRow]:
    """List the weights of a model, those that are 0 left out."""
    check_first_order(parameters)
    p = parameters.pruned()
    s, labels = p.structure, p.labels
    # The number with the fewest digits that float32 takes for each weight.
    values = [float(digits) for digits in p.weights.astype(np.float32).astype(np.str_)]
    rows: list[WeightRow] = []
    for name, label in zip(_owners(p, "states", s.state_offsets), s.state_labels.tolist(), strict=True):
        rows.append(WeightRow("state", name, None, labels[label], values[len(rows)]))
    for before, label in s.transitions.tolist():
        rows.append(WeightRow("transition", None, labels[before], labels[label], values[len(rows)]))
    for name, (before, label) in zip(_owners(p, "edges", s.edge_offsets), s.edge_pairs.tolist(), strict=True):
        rows.append(WeightRow("edge", name, labels[before], labels[label], values[len(rows)]))
    for kind in ("start", "end"):
        for label in labels if getattr(s, kind) else ():
            rows.append(WeightRow(kind, None, None, label, values[len(rows)]))
    return [row for row in rows if row.weight]


def _owners(parameters: Parameters, part: str, offsets: IntArray) -> Iterator[str]:
    """The attribute of each weight of a part."""
    for a, count in enumerate(np.diff(offsets).tolist()):
        if count:
            yield from (parameters.name_of(part, a),) * count


def check_first_order(parameters: Parameters) -> None:
    """Refuse a model whose weights are not all rows of a table."""
    if parameters.order == 2:
        raise InputError("weights: expected a model of order 1, got 2; label triples have no row in a table of weights")


def with_rows(parameters: Parameters, rows: Iterable[tuple[str, WeightRow]]) -> Parameters:
    """Return the model whose weights are those of a table; what is not there is 0.

    Arguments:
        parameters: whose labels, names and rules are kept.
        rows: each with its place, for messages.
    """
    check_first_order(parameters)
    p, L = parameters, len(parameters.labels)
    labels = {label: number for number, label in enumerate(p.labels)}
    table = list(rows)
    attributes = {kind: _attributes(p, kind, table) for kind in WITH_ATTRIBUTE}
    entries: dict[str, dict[int, tuple[float, str]]] = {kind: {} for kind in KINDS}
    for where, row in table:
        key = _number(labels, row.label, "label", where)
        if row.previous is not None:
            key += L * _number(labels, row.previous, "label", where)
        if row.attribute is not None:
            key += (L * L if row.kind == "edge" else L) * attributes[row.kind][row.attribute]
        if key in entries[row.kind]:
            raise InputError("{}: expected each weight once, got that of {} again", where, entries[row.kind][key][1])
        entries[row.kind][key] = row.weight, where
    parts = {kind: _sorted(entries[kind]) for kind in KINDS}
    s = p.structure
    states, pairs, edges = (parts[kind][0] for kind in ("state", "transition", "edge"))
    starts, ends = s.start or bool(entries["start"]), s.end or bool(entries["end"])
    structure = Structure(
        L,
        row_offsets(states // L, s.num_attributes),
        (states % L).astype(np.int32),
        np.stack([pairs // L, pairs % L], axis=1).astype(np.int32),
        row_offsets(edges // (L * L), len(s.edge_offsets) - 1),
        np.stack([edges % (L * L) // L, edges % L], axis=1).astype(np.int32),
        starts,
        ends,
    )
    weights = [parts[kind][1] for kind in ("state", "transition", "edge")]
    for kind, there in (("start", starts), ("end", ends)):
        dense = np.zeros(L if there else 0, np.float32)
        dense[parts[kind][0]] = parts[kind][1]
        weights.append(dense)
    return replace(p, structure=structure, weights=np.concatenate(weights))


def _number(labels: Mapping[str, int], label: str, what: str, where: str) -> int:
    if label not in labels:
        raise InputError(
            "{}: expected a {} that the model has, one of {}, got {!r:.60}", where, what, ", ".join(labels), label
        )
    return labels[label]


def _attributes(parameters: Parameters, kind: str, table: Iterable[tuple[str, WeightRow]]) -> dict[str, int]:
    """The numbers of the attributes in a table; an error at the first row with an unknown one."""
    places: dict[str, str] = {}
    for where, row in table:
        if row.kind == kind and row.attribute is not None:
            places.setdefault(row.attribute, where)
    numbers = dict(zip(places, parameters.numbers_of(WITH_ATTRIBUTE[kind], list(places)), strict=True))
    for name, number in numbers.items():
        if number < 0:
            raise InputError(
                "{}: expected an attribute that the model has, got {!r:.60}; train with data that show it",
                places[name],
                name,
            )
    return numbers


def _sorted(entries: Mapping[int, tuple[float, str]]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    keys = np.fromiter(entries, np.int64, len(entries))
    weights = np.array([weight for weight, _ in entries.values()], np.float32)
    order = np.argsort(keys)
    return keys[order], weights[order]
