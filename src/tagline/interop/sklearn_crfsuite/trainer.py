"""What `CRF(verbose=True)` prints: a line for each pass, and a table of the labels of the dev set at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tagline.interop import pycrfsuite

HEADERS = ("Label", "Precision", "Recall", "F1", "Support")


class LinePerIterationTrainer(pycrfsuite.Trainer):
    """A trainer that says in one line how a pass went."""

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """Print what a pass reached."""
        print(line_of(info))

    def on_optimization_end(self, log: str) -> None:
        """Print how well each label of the dev set is told, where there is one."""
        assert self.logparser is not None
        scores = (self.logparser.last_iteration or {}).get("scores")
        if scores:
            table = table_of([(label, s.precision, s.recall, s.f1 or 0, s.ref) for label, s in sorted(scores.items())])
            width = len(table.splitlines()[0])
            print("=" * width, table, "-" * width, sep="\n")
        super().on_optimization_end(log)


def line_of(info: dict[str, Any]) -> str:
    """Write the facts of one pass, those that there are.

    >>> line_of({"num": 3, "time": 0.25, "loss": 12.5, "feature_norm": 1.75})
    'Iter 3   time=0.25  loss=12.50    feature_norm=1.75'
    """
    parts = ["Iter {num:<3} ", "time={time:<5.2f} ", "loss={loss:<8.2f} "]
    if "active_features" in info:
        parts.append("active={active_features:<5} ")
    if "avg_precision" in info:
        parts += ["precision={avg_precision:0.3f}  ", "recall={avg_recall:0.3f}  ", "F1={avg_f1:0.3f}  "]
        parts.append("Acc(item/seq)={item_accuracy_float:0.3f} {instance_accuracy_float:0.3f}  ")
    if "feature_norm" in info:
        parts.append("feature_norm={feature_norm:<8.2f}")
    return "".join(parts).format(**info).strip()


def table_of(rows: Sequence[tuple[str, float, float, float, int]]) -> str:
    """Write a table with a line under its head; columns of numbers are as wide as their names and two more.

    >>> print(table_of([("B", 1.0, 0.5, 2 / 3, 4)]))
    Label      Precision    Recall     F1    Support
    -------  -----------  --------  -----  ---------
    B              1.000     0.500  0.667          4
    """
    cells = [(label, f"{p:.3f}", f"{r:.3f}", f"{f:.3f}", str(count)) for label, p, r, f, count in rows]
    widths = [max(len(name) + 2, *(len(row[k]) for row in cells)) for k, name in enumerate(HEADERS)]
    lines = [HEADERS, tuple("-" * width for width in widths), *cells]
    return "\n".join(_aligned(line, widths) for line in lines)


def _aligned(line: Sequence[str], widths: Sequence[int]) -> str:
    numbers = (cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))
    return "  ".join([line[0].ljust(widths[0]), *numbers])
