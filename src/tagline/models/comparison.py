"""Two models side by side: settings, labels, facts of their training, the weights that differ most.

Weights are compared by name where both models name them (`weights_table`), else array by array of their files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tagline.drawing.result_tables import Readable
from tagline.messages import message
from tagline.models.files import plain_settings
from tagline.models.provenance import log_line

MOST_ROWS = 2_000_000  # of two tables of weights; more are compared array by array


@dataclass(frozen=True)
class Change:
    """A value in the first model and in the second; None where one has none."""

    name: str
    first: Any
    second: Any


@dataclass(frozen=True, repr=False)
class Comparison(Readable):
    """What differs between two models.

    Attributes:
        names: of the models.
        facts: kinds, sizes, how they were trained.
        settings: of the estimators.
        labels: that only the first has, and only the second.
        weights: that differ most, the largest difference first; by name, or the mean size of an array's numbers.
        differing, compared: how many weights, or arrays, differ, and of how many.
        unit: what was compared: weights or arrays.
    """

    names: tuple[str, str]
    facts: tuple[Change, ...]
    settings: tuple[Change, ...]
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    weights: tuple[Change, ...]
    differing: int
    compared: int
    unit: str

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not (self.facts or self.settings or self.differing or any(self.labels))

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, lists and strings."""
        return asdict(self)

    def line(self) -> str:
        """Say in one line what there is."""
        return message(
            "{} and {}: {}", self.names[0], self.names[1], message("no difference") if self.same else self._count()
        )

    def _count(self) -> str:
        return message("{:,} of {:,} {} differ", self.differing, self.compared, message(self.unit))

    def text(self) -> str:
        """Write it for people: a line for each difference."""
        lines: list[str] = [
            message("first   {}", self.names[0]),
            message("second  {}", self.names[1]),
        ]
        if self.same:
            return "\n".join([*lines, "", message("no difference")]) + "\n"
        for title, changes in ((message("facts"), self.facts), (message("settings"), self.settings)):
            if changes:
                width = max(len(change.name) for change in changes)
                lines += ["", title]
                lines += [f"  {c.name:{width}}  {_shown(c.first)} → {_shown(c.second)}" for c in changes]
        if any(self.labels):
            lines += ["", message("labels")]
            lines += [
                message("  only in the {}: {}", place, " ".join(names)) for place, names in self._sides() if names
            ]
        lines += [
            "",
            message("{}, most", self._count()) if self.weights else self._count(),
        ]
        for change in self.weights:
            first, second = (0.0 if value is None else value for value in (change.first, change.second))
            lines.append(
                f"  {second - first:+10.4f}  {_weight(change.first)} → {_weight(change.second)}  {change.name}"
            )
        return "\n".join(lines) + "\n"

    def _sides(self) -> list[tuple[str, tuple[str, ...]]]:
        return [(message("first"), self.labels[0]), (message("second"), self.labels[1])]


def compare(first: Any, second: Any, names: tuple[str, str] = ("first", "second"), top: int = 10) -> Comparison:
    """Compare two models that were fitted or loaded.

    Arguments:
        names: of the models, to show.
        top: weights to show.
    """
    labels = [[str(label) for label in model.labels_] for model in (first, second)]
    weights, differing, compared, unit = _weights(first, second, top)
    return Comparison(
        names,
        _changes(_facts(first), _facts(second)),
        _changes(plain_settings(first._settings()), plain_settings(second._settings())),
        (tuple(x for x in labels[0] if x not in labels[1]), tuple(x for x in labels[1] if x not in labels[0])),
        weights,
        differing,
        compared,
        unit,
    )


def _facts(model: Any) -> dict[str, Any]:
    """The kind, the sizes and the training of a model, a fact each."""
    summary = model.summary().as_dict()
    training = summary.pop("training", {})
    sizes = {name: value for name, value in summary.items() if not isinstance(value, list | dict)}
    facts = {"kind": model.kind, "labels": len(model.labels_), **sizes, **summary.get("knowledge", {})}
    for name, value in training.items():
        if name == "log":
            facts["log"] = log_line(value)
        elif isinstance(value, dict):
            facts |= {f"{name} {key}": part for key, part in value.items() if not isinstance(part, dict)}
            facts |= {f"{name} {kind} f1": scores.get("f1") for kind, scores in value.get("types", {}).items()}
        else:
            facts[name] = value
    return facts


def _changes(first: Mapping[str, Any], second: Mapping[str, Any]) -> tuple[Change, ...]:
    names = [*first, *(name for name in second if name not in first)]
    pairs = ((name, first.get(name), second.get(name)) for name in names)
    return tuple(Change(*pair) for pair in pairs if pair[1] != pair[2])


def _weights(first: Any, second: Any, top: int) -> tuple[tuple[Change, ...], int, int, str]:
    tabled = all(hasattr(model, "weights_table") and getattr(model, "order", 1) == 1 for model in (first, second))
    if tabled and first.kind == second.kind:
        tables = [_named(model) for model in (first, second)]
        complete = all(any(name.startswith("state ") for name in table) for table in tables)  # an HMM of numbers is not
        if complete and sum(map(len, tables)) <= MOST_ROWS:
            return (*_differences(tables[0], tables[1], top), "weights")
    arrays = [dict(model._packed()[1]) for model in (first, second)]
    sizes = [{name: _size(array) for name, array in table.items()} for table in arrays]
    equal = {name for name in arrays[0].keys() & arrays[1].keys() if np.array_equal(arrays[0][name], arrays[1][name])}
    used = {name for table in sizes for name, size in table.items() if size is not None} - equal
    kept = [{name: size for name, size in table.items() if name in used and size is not None} for table in sizes]
    changes, _, _ = _differences(kept[0], kept[1], top)
    every = arrays[0].keys() | arrays[1].keys()
    return changes, len(every) - len(equal), len(every), "arrays"


def _size(array: Any) -> float | None:
    """The root of the mean square of an array of weights; None for numbers that are no weights."""
    return (
        float(np.sqrt(np.mean(np.square(array, dtype=np.float64)))) if array.dtype.kind == "f" and array.size else None
    )


def _named(model: Any) -> dict[str, float]:
    rows = model.weights_table()
    out = {}
    for row in rows:
        parts = [row.attribute, None if row.previous is None else f"{row.previous} →", row.label]
        out[" ".join([row.kind, *(str(part) for part in parts if part is not None)])] = float(row.weight)
    return out


def _differences(
    first: Mapping[str, float], second: Mapping[str, float], top: int
) -> tuple[tuple[Change, ...], int, int]:
    """The largest differences, how many there are, and of how many; a weight that is not there is 0."""
    names = [*first, *(name for name in second if name not in first)]
    changed = [name for name in names if first.get(name) != second.get(name)]
    changed.sort(key=lambda name: -abs(first.get(name, 0.0) - second.get(name, 0.0)))
    return tuple(Change(name, first.get(name), second.get(name)) for name in changed[:top]), len(changed), len(names)


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 60 else text[:57] + "…"


def _weight(value: float | None) -> str:
    return f"{'–':>9}" if value is None else f"{value:9.4f}"
