"""Weights as a table, to be read, filtered and edited elsewhere.

One row a weight: kind, attribute, previous label, label, weight. CSV (with a header line) or JSON lines, by the file's
name.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from tagline.checks import shown
from tagline.errors import InputError
from tagline.messages import message
from tagline.readers.sources import PathLike, bad_utf8, name_of, open_target, read_bytes

KINDS = ("state", "transition", "edge", "start", "end")

WITH_ATTRIBUTE = {"state": "states", "edge": "edges"}  # kinds that have one, and the part it is in
WITH_PREVIOUS = ("transition", "edge")  # kinds that have a label before


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


COLUMNS = tuple(field.name for field in fields(WeightRow))


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
            raise InputError("{}: expected a JSON object, got {} ({})", where, shown(line), error) from None
        yield where, as_row(row, where)


def _csv_rows(text: str, name: str) -> Iterator[tuple[str, WeightRow]]:
    table = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        head = next(table, None)
        if head is None or tuple(head) != COLUMNS:
            raise InputError(
                "{}:1: expected the columns {}, got {}", name, ",".join(COLUMNS), shown(",".join(head or ()))
            )
        for cells in table:
            where = f"{name}:{table.line_num}"
            if not cells:
                continue
            if len(cells) != len(COLUMNS):
                raise InputError(
                    "{}: expected {} columns, got {} ({})", where, len(COLUMNS), len(cells), shown(",".join(cells))
                )
            row: dict[str, Any] = dict(zip(COLUMNS, cells, strict=True))
            if row["kind"] not in WITH_ATTRIBUTE:
                row["attribute"] = row["attribute"] or None
            if row["kind"] not in WITH_PREVIOUS:
                row["previous"] = row["previous"] or None
            yield where, as_row(row, where)
    except csv.Error as error:
        raise InputError("{}:{}: expected CSV, got something else ({})", name, table.line_num, error) from None


def as_row(row: Any, where: str) -> WeightRow:
    """Check one row: a `WeightRow`, or a mapping with its columns."""
    if isinstance(row, WeightRow):
        row = vars(row)
    if not isinstance(row, Mapping) or set(row) != set(COLUMNS):
        raise InputError("{}: expected {}, got {!r:.80}", where, ", ".join(COLUMNS), row)
    kind, attribute, previous, label, weight = (row[column] for column in COLUMNS)
    if kind not in KINDS:
        raise InputError("{}: expected one of {} as kind, got {!r:.60}", where, ", ".join(KINDS), kind)
    for column, value, wanted in (
        ("attribute", attribute, kind in WITH_ATTRIBUTE),
        ("previous", previous, kind in WITH_PREVIOUS),
        ("label", label, True),
    ):
        if wanted != isinstance(value, str) or not (wanted or value is None):
            expected = message("a string") if wanted else message("nothing")
            raise InputError("{}: expected {} as {} of a {} weight, got {!r:.60}", where, expected, column, kind, value)
    return WeightRow(kind, attribute, previous, label, _weight(weight, where))


def _weight(weight: Any, where: str) -> float:
    try:
        number = math.nan if isinstance(weight, bool) else float(weight)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not abs(number) <= float(np.finfo(np.float32).max):
        raise InputError("{}: expected a finite number as weight, got {!r:.60}", where, weight)
    return number
