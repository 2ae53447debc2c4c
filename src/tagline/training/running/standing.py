"""Where a run stands between two passes, into a checkpoint and out of it: the history, the clock, the best weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from tagline.errors import StorageError
from tagline.training.passes import Pass, Point
from tagline.training.running.checkpoints import DAMAGED, State, entries_of


@dataclass(frozen=True, eq=False)
class Standing:
    """A run that a monitor follows.

    Attributes:
        stage: the algorithm that is under way, of several that follow one another.
        history, seconds: of the whole run.
        objectives: of this algorithm, the start's first.
        last: the point that was reached.
        best: the point with the best dev score, where there is patience.
        waited: passes since then.
    """

    stage: str
    history: tuple[Pass, ...]
    seconds: float
    objectives: tuple[float, ...]
    last: Point
    best: Point | None
    waited: int

    def state(self, best_score: float) -> State:
        """Return it as values and arrays."""
        values = {
            "stage": self.stage,
            "seconds": self.seconds,
            "waited": self.waited,
            "best_score": best_score,
            "history": history_state(self.history),
        }
        state = State(values, {"objectives": np.array(self.objectives, np.float64)})
        state = state.joined("last", _point_state(self.last))
        return state if self.best is None else state.joined("best", _point_state(self.best))

    @classmethod
    def of(cls, state: State, stage: str, size: int) -> tuple[Standing, float]:
        """Return what `state` made values and arrays of, for so many weights, and the best dev score."""
        if (named := state.value("stage", str)) != stage:
            raise StorageError(f"{state.source}: expected the algorithm {stage}, got {named!r:.60}; {DAMAGED}")
        standing = cls(
            stage,
            history_of(state),
            state.value("seconds", float),
            tuple(state.array("objectives", np.float64, None).tolist()),
            _point(state.part("last"), size),
            _point(state.part("best"), size) if "best" in state.values else None,
            state.value("waited", int),
        )
        if not standing.history or len(standing.objectives) < 2:
            raise StorageError(f"{state.source}: expected at least one pass, got none; {DAMAGED}")
        return standing, state.value("best_score", float)


def history_state(history: Sequence[Pass]) -> dict[str, list[Any]]:
    """Return passes by columns."""
    rows = [asdict(done) for done in history]
    return {entry.name: [row[entry.name] for row in rows] for entry in fields(Pass)}


def history_of(state: State) -> tuple[Pass, ...]:
    """Return the passes that `history_state` made columns of."""
    columns = dict(state.value("history", dict))
    names = [entry.name for entry in fields(Pass)]
    lengths = {len(column) for column in columns.values() if isinstance(column, list)}
    if len(lengths) != 1 or not all(isinstance(column, list) for column in columns.values()):
        raise StorageError(f"{state.source}: expected columns of one length in the history, got others; {DAMAGED}")
    columns.setdefault("gap", [None] * lengths.pop())  # which a checkpoint of an older version does not have
    if missing := [name for name in names if name not in columns]:
        raise StorageError(f"{state.source}: expected {missing[0]} in the history, got none; {DAMAGED}")
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
    return entries_of(Pass, rows, state.source)


def _point_state(point: Point) -> State:
    values = {entry.name: getattr(point, entry.name) for entry in fields(Point) if entry.name != "weights"}
    return State(values, {"weights": point.weights})


def _point(state: State, size: int) -> Point:
    weights = state.array("weights", np.float64, size, finite=True)
    numbers = {name: state.value(name, float) for name in ("objective", "gradient_norm", "weight_norm")}
    counts = {name: state.value(name, int) for name in ("active", "evaluations")}
    step, gap = (None if state.values.get(name) is None else state.value(name, float) for name in ("step", "gap"))
    return Point(weights, **numbers, **counts, step=step, noisy=state.value("noisy", bool), gap=gap)
