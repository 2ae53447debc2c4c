"""Weights as a table, to be read, filtered and edited elsewhere, and edits back in.

One row a weight: kind, attribute, previous label, label, weight. CSV (with a header line) or JSON lines, by the file's
name. The table is the whole model: a row that was deleted is a weight of 0, a changed weight counts, and a new row adds
a weight between attributes and labels that the model knows. Weights are written with the digits that float32 needs, so
that a table that nobody touched gives the same model again.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline.errors import InputError
from tagline.features.weights import Structure
from tagline.models.crf.parameters import Parameters, row_offsets
from tagline.readers.sources import PathLike, bad_utf8, name_of, open_target, read_bytes, shown
from tagline.types import IntArray

KINDS = ("state", "transition", "edge", "start", "end")

_ATTRIBUTE = {"state": "states", "edge": "edges"}  # kinds that have one, and the part it is in
_PREVIOUS = ("transition", "edge")  # kinds that have a label before


@dataclass(frozen=True)
class WeightRow:
    """One weight of a model.

    Attributes:
        kind: "state", "transition", "edge", "start" or "end".
        attribute: of state and edge weights, else None; as ``#7`` where names were hashed away.
        previous: the label before, of transitions and edges, else None.
        label: the label.
        weight: the float32 value.
    """

    kind: str
    attribute: str | None
    previous: str | None
    label: str
    weight: float


COLUMNS = tuple(one.name for one in fields(WeightRow))


def weight_rows(parameters: Parameters) -> list[WeightRow]:
    """List the weights of a model, those that are 0 left out."""
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


def write_rows(rows: Iterable[WeightRow], path: PathLike) -> None:
    """Write a table: JSON lines where the file's name ends so (``.jsonl``, ``.json``), else CSV; ``.gz`` is packed."""
    with open_target(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
        if _is_json(path):
            for row in rows:
                text.write(json.dumps(vars(row), ensure_ascii=False) + "\n")
        else:
            plain = csv.writer(text, lineterminator="\n")
            quoted = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
            plain.writerow(COLUMNS)
            for row in rows:  # csv leaves a carriage return bare, and takes it for the end of a line
                bare = "\r" not in f"{row.attribute}{row.previous}{row.label}"
                (plain if bare else quoted).writerow(vars(row).values())
        text.detach()


def read_rows(path: PathLike) -> Iterator[tuple[str, WeightRow]]:
    """Read a table: the place of each row, as ``file:line``, and the row."""
    name, data = name_of(path), read_bytes(path)
    try:
        text = data.tobytes().decode()
    except UnicodeDecodeError:
        raise bad_utf8(name, data) from None
    return _json_rows(text, name) if _is_json(path) else _csv_rows(text, name)


def _is_json(path: PathLike) -> bool:
    return os.fspath(path).removesuffix(".gz").endswith((".jsonl", ".json"))


def _json_rows(text: str, name: str) -> Iterator[tuple[str, WeightRow]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{name}:{number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where}: expected a JSON object, got {shown(line)} ({error})") from None
        yield where, as_row(row, where)


def _csv_rows(text: str, name: str) -> Iterator[tuple[str, WeightRow]]:
    table = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        head = next(table, None)
        if head is None or tuple(head) != COLUMNS:
            raise InputError(f"{name}:1: expected the columns {','.join(COLUMNS)}, got {shown(','.join(head or ()))}")
        for cells in table:
            where = f"{name}:{table.line_num}"
            if not cells:
                continue
            if len(cells) != len(COLUMNS):
                raise InputError(
                    f"{where}: expected {len(COLUMNS)} columns, got {len(cells)} ({shown(','.join(cells))})"
                )
            given: dict[str, Any] = dict(zip(COLUMNS, cells, strict=True))
            if given["kind"] not in _ATTRIBUTE:
                given["attribute"] = given["attribute"] or None
            if given["kind"] not in _PREVIOUS:
                given["previous"] = given["previous"] or None
            yield where, as_row(given, where)
    except csv.Error as error:
        raise InputError(f"{name}:{table.line_num}: expected CSV, got something else ({error})") from None


def as_row(given: Any, where: str) -> WeightRow:
    """Check one row: a `WeightRow`, or a mapping with its columns."""
    if isinstance(given, WeightRow):
        given = vars(given)
    if not isinstance(given, Mapping) or set(given) != set(COLUMNS):
        raise InputError(f"{where}: expected {', '.join(COLUMNS)}, got {given!r:.80}")
    kind, attribute, previous, label, weight = (given[column] for column in COLUMNS)
    if kind not in KINDS:
        raise InputError(f"{where}: expected one of {', '.join(KINDS)} as kind, got {kind!r:.60}")
    for column, value, wanted in (
        ("attribute", attribute, kind in _ATTRIBUTE),
        ("previous", previous, kind in _PREVIOUS),
        ("label", label, True),
    ):
        if wanted != isinstance(value, str) or not (wanted or value is None):
            expected = "a string" if wanted else "nothing"
            raise InputError(f"{where}: expected {expected} as {column} of a {kind} weight, got {value!r:.60}")
    return WeightRow(kind, attribute, previous, label, _weight(weight, where))


def _weight(given: Any, where: str) -> float:
    try:
        number = math.nan if isinstance(given, bool) else float(given)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not abs(number) <= float(np.finfo(np.float32).max):
        raise InputError(f"{where}: expected a finite number as weight, got {given!r:.60}")
    return number


def with_rows(parameters: Parameters, rows: Iterable[tuple[str, WeightRow]]) -> Parameters:
    """Return the model whose weights are those of a table; what is not there is 0.

    Arguments:
        parameters: whose labels, names and rules are kept.
        rows: each with its place, for messages.
    """
    p, L = parameters, len(parameters.labels)
    labels = {label: number for number, label in enumerate(p.labels)}
    table = list(rows)
    attributes = {kind: _attributes(p, kind, table) for kind in _ATTRIBUTE}
    found: dict[str, dict[int, tuple[float, str]]] = {kind: {} for kind in KINDS}
    for where, row in table:
        key = _number(labels, row.label, "label", where)
        if row.previous is not None:
            key += L * _number(labels, row.previous, "label", where)
        if row.attribute is not None:
            key += (L * L if row.kind == "edge" else L) * attributes[row.kind][row.attribute]
        if key in found[row.kind]:
            raise InputError(f"{where}: expected each weight once, got that of {found[row.kind][key][1]} again")
        found[row.kind][key] = row.weight, where
    parts = {kind: _sorted(found[kind]) for kind in KINDS}
    s = p.structure
    states, pairs, edges = (parts[kind][0] for kind in ("state", "transition", "edge"))
    starts, ends = s.start or bool(found["start"]), s.end or bool(found["end"])
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
            f"{where}: expected a {what} that the model has, one of {', '.join(labels)}, got {label!r:.60}"
        )
    return labels[label]


def _attributes(parameters: Parameters, kind: str, table: Iterable[tuple[str, WeightRow]]) -> dict[str, int]:
    """The numbers of the attributes in a table; an error at the first row with an unknown one."""
    places: dict[str, str] = {}
    for where, row in table:
        if row.kind == kind and row.attribute is not None:
            places.setdefault(row.attribute, where)
    numbers = dict(zip(places, parameters.numbers_of(_ATTRIBUTE[kind], list(places)), strict=True))
    for name, number in numbers.items():
        if number < 0:
            raise InputError(
                f"{places[name]}: expected an attribute that the model has, got {name!r:.60}; train with data that "
                "show it"
            )
    return numbers


def _sorted(entries: Mapping[int, tuple[float, str]]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    keys = np.fromiter(entries, np.int64, len(entries))
    weights = np.array([weight for weight, _ in entries.values()], np.float32)
    order = np.argsort(keys)
    return keys[order], weights[order]
