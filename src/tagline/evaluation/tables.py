"""A report at a glance: one line, a table of its scores, the same for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagline.drawing.tables import table
from tagline.errors import visible
from tagline.evaluation.scores import Score

if TYPE_CHECKING:
    from tagline.evaluation.report import Report

HEAD = ("precision", "recall", "F1", "gold")
MOST_LABELS = 60  # a table has no more rows than that


def headline(report: Report) -> str:
    """Say in one line how good it is.

    >>> from tagline.evaluation import evaluate
    >>> headline(evaluate([["B-PER", "O"]], [["B-PER", "O"]]))
    'F1 100.00, precision 100.00, recall 100.00, 1 gold spans; accuracy 100.00 of 2 tokens'
    """
    tokens = f"accuracy {100 * report.tokens.accuracy:.2f} of {report.tokens.num_tokens:,} tokens"
    if report.spans is None:
        return tokens
    precision, recall, f1, gold = _figures(report.spans.overall)
    return f"F1 {f1}, precision {precision}, recall {recall}, {gold} gold spans; {tokens}"


def score_table(report: Report) -> str:
    """Write the scores of each type, of each label where there are no spans, aligned."""
    rows = score_rows(report)
    width = max(8, *(len(name) for name, _ in rows))
    lines = [headline(report), f"{'':{width}}   precision  recall      F1    gold"]
    for name, (precision, recall, f1, gold) in rows:
        lines.append(f"{name:{width}}   {precision:>9}  {recall:>6}  {f1:>6}  {gold:>6}")
    return "\n".join(lines)


def score_html(report: Report) -> str:
    """Return the same as a table for a notebook."""
    name = "label" if report.spans is None else "type"
    rows = [[row, *figures] for row, figures in score_rows(report)]
    rule = "" if report.spans is None else f", rule {report.spans.rule}"
    return f"<div>{table([name, *HEAD], rows, title=headline(report) + rule)}</div>"


def score_rows(report: Report) -> list[tuple[str, tuple[str, ...]]]:
    """Return the name and the figures of each type and of all spans; of each label where there are no spans."""
    if report.spans is None:
        scores = list(report.tokens.by_label.items())
    else:
        scores = [*report.spans.by_type.items(), ("all", report.spans.overall)]
    rows = [(visible(name) or "(no type)", _figures(score)) for name, score in scores[-MOST_LABELS:]]
    left_out = len(scores) - len(rows)
    return [(f"({left_out} more)", ("", "", "", "")), *rows] if left_out else rows


def _figures(score: Score) -> tuple[str, ...]:
    return *(f"{100 * share:.2f}" for share in (score.precision, score.recall, score.f1)), f"{score.gold:,}"
