"""A run of the benchmark: its plan, its files in a temporary folder, its children, its rows."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import timing

from feature_crf import children, corpora
from feature_crf.children import ChildError, Result
from feature_crf.tables import Row


@dataclass(frozen=True)
class Plan:
    """How much is done.

    Attributes:
        quick: a tenth of the data; bars are not judged.
        rounds: fresh processes of each measure, ours and the rival's in turn.
        iterations: of L-BFGS for the medians of passes.
        evaluations: of the objective in each process, and so many runs of the taggers.
        two: the number of threads of "two threads".
    """

    quick: bool = False
    rounds: int = 3
    iterations: int = 20
    evaluations: int = 9
    two: int = 2


QUICK = Plan(quick=True, rounds=1, iterations=4, evaluations=3)


@dataclass
class Bench:
    """What the measures share.

    Attributes:
        folder: for models and label files; gone after the run.
        records: every result, for ``--json``.
        shared: results that a group leaves to the groups after it, by name.
    """

    plan: Plan
    folder: Path
    records: list[dict[str, Any]] = field(default_factory=list)
    shared: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def template(self) -> str:
        """The path of the template."""
        return str(corpora.find(corpora.TEMPLATE))

    @cached_property
    def train(self) -> str:
        """The path of the sentences to train on."""
        return self._cut(corpora.find(corpora.TRAIN))

    @cached_property
    def test(self) -> str:
        """The path of the sentences to tag."""
        return self._cut(corpora.find(corpora.TEST))

    def _cut(self, path: Path) -> str:
        return str(corpora.cut(path, self.folder / path.name) if self.plan.quick else path)

    def path(self, name: str) -> str:
        """Return the path of a file in the temporary folder."""
        return str(self.folder / name)

    def child(self, measure: str, threads: int = 1, **arguments: Any) -> Result:
        """Run a measure in a process of its own."""
        say(f"{measure} {arguments.get('case', '')} {threads} thread{'s' * (threads != 1)}")
        result = children.run(measure, threads, **arguments)
        self.records.append({"measure": measure, "threads": threads, **result})
        return result

    def judge(self, met: bool) -> bool | None:
        """Say whether a bar is met; a quick run says nothing."""
        return None if self.plan.quick else met

    def ratio(self, ours: float, theirs: float, bar: float) -> dict[str, Any]:
        """Return a row's cells that compare two amounts of seconds."""
        factor = theirs / ours
        return {"ratio": f"{factor:.1f}×", "bar": f"≥ {bar:g}×", "met": self.judge(factor >= bar)}


@contextmanager
def bench(plan: Plan) -> Iterator[Bench]:
    """Open a run: a folder that is removed at the end."""
    with TemporaryDirectory(prefix="tagline-bench-") as folder:
        yield Bench(plan, Path(folder))


def rows_of(name: str, group: Callable[[Bench], list[Row]], run: Bench) -> tuple[list[Row], bool]:
    """Return a group's rows; where a measure fails or the sides disagree, one row that says so, and False."""
    from feature_crf.agreement import DisagreementError  # imports the rival

    try:
        return group(run), True
    except (ChildError, DisagreementError) as error:
        say(f"{name}: {error}")
        return [Row(name, f"no times: {error}")], False


def say(message: str) -> None:
    """Report progress on stderr."""
    print(message, file=sys.stderr, flush=True)


class Neighbours(timing.Neighbours):
    """How much of the machine others take, the children of this process not counted."""

    @staticmethod
    def _clocks() -> tuple[float, float, float]:
        wall, busy, own = timing.Neighbours._clocks()
        times = os.times()
        return wall, busy, own + times.children_user + times.children_system
