"""A report as one HTML page: tables and bars by CSS, no script, nothing loaded from elsewhere, everything escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from tagline.evaluation.calibration import Reliability
from tagline.evaluation.mistakes import KINDS, FoundSpan, Mistake, Mistakes
from tagline.evaluation.scores import Score
from tagline.evaluation.token_scores import TokenScores

if TYPE_CHECKING:
    from tagline.evaluation.report import Report

LARGEST_MATRIX = 40  # labels; a wider table cannot be read

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1b1f24; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; border-bottom: 1px solid #d8dee4; }
table { border-collapse: collapse; margin: .6rem 0; display: block; overflow-x: auto; }
th, td { padding: .2rem .7rem; text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
th { color: #57606a; font-weight: 600; } td:first-child, th:first-child { text-align: left; }
tbody tr:nth-child(odd) { background: #f6f8fa; }
.bar { display: inline-block; height: .7em; background: #4c78a8; } .track { width: 8rem; background: #e7ebef;
  display: inline-block; height: .7em; text-align: left; line-height: .7em; }
mark.gold { background: #d3ecd3; } mark.predicted { background: #ffe2c2; } mark.shared { background: #e6dcf5; }
li { margin: .25rem 0; } .quiet { color: #57606a; } .matrix td { text-align: right; }
"""


def page(report: Report, title: str) -> str:
    """Return the whole page."""
    body = [f"<h1>{escape(title)}</h1>"]
    if report.spans is not None:
        spans = report.spans
        body.append(_lead(spans.rule, spans.overall, spans.num_tokens, spans.accuracy))
        if report.words is None:
            body.append("<h2>Types</h2>" + _scores("type", spans.by_type))
        else:
            body.append(f"<p>{escape(report.words.text())}</p>")
    body += [f"<p>{escape(part.text())}</p>" for part in (report.interval, report.comparison) if part is not None]
    if report.partial is not None:
        rows = [[name, *_percentages(score)] for name, score in report.partial]
        body.append("<h2>Partial matches</h2>" + _table(["match", "precision", "recall", "F1"], rows))
    if report.mistakes is not None:
        body.append("<h2>Mistakes</h2>" + _mistakes(report.mistakes))
    body.append("<h2>Tokens</h2>" + _tokens(report.tokens))
    body += [
        f"<h2>Calibration of {escape(name)}</h2>{_reliability(curve)}" for name, curve in report.calibration.items()
    ]
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{STYLE}</style>\n</head>\n<body>\n" + "\n".join(body) + "\n</body>\n</html>\n"
    )


def _lead(rule: str, overall: Score, num_tokens: int, accuracy: float) -> str:
    precision, recall, f1 = _percentages(overall)
    return (
        f"<p><strong>F1 {f1}</strong>, precision {precision}, recall {recall}; accuracy of tokens {_percent(accuracy)}."
        f'<br><span class="quiet">{num_tokens} tokens, {overall.gold} gold spans, {overall.found} predicted, '
        f"{overall.correct} correct. Rule: {escape(rule)}.</span></p>"
    )


def _scores(name: str, scores: dict[str, Score]) -> str:
    head = [name, "precision", "recall", "F1", "", "correct", "found", "gold"]
    rows = [
        [escape(label), *_percentages(score), _bar(score.f1), str(score.correct), str(score.found), str(score.gold)]
        for label, score in scores.items()
    ]
    return _table(head, rows)


def _tokens(tokens: TokenScores) -> str:
    lead = f"<p>Accuracy {_percent(tokens.accuracy)} of {tokens.num_tokens} tokens.</p>"
    scores = lead + _scores("label", tokens.by_label)
    if len(tokens.labels) > LARGEST_MATRIX:
        rows = [[escape(gold), escape(wrong), str(count)] for gold, wrong, count in tokens.confusions(20)]
        return scores + "<h3>Most frequent confusions</h3>" + _table(["gold", "predicted", "tokens"], rows)
    head = ["gold \\ predicted", *map(escape, tokens.labels)]
    rows = [[escape(tokens.labels[i]), *_cells(row, i)] for i, row in enumerate(tokens.confusion.tolist())]
    return scores + "<h3>Confusion matrix</h3>" + _table(head, rows)


def _cells(row: list[int], diagonal: int) -> Iterable[str]:
    for j, count in enumerate(row):
        yield f"<strong>{count}</strong>" if j == diagonal else str(count) if count else '<span class="quiet">·</span>'


def _mistakes(mistakes: Mistakes) -> str:
    rows = [
        [kind, *(str(side[kind]) if kind in side else "–" for side in (mistakes.gold, mistakes.predicted))]
        for kind in ("correct", *KINDS)
    ]
    parts = [_table(["class", "gold spans", "predicted spans"], rows)]
    if any(example.tokens for examples in mistakes.examples.values() for example in examples):
        parts.append(
            '<p class="quiet">In the examples: <mark class="gold">gold</mark>, '
            '<mark class="predicted">predicted</mark>, <mark class="shared">both</mark>.</p>'
        )
    for kind, examples in mistakes.examples.items():
        if examples:
            items = "".join(f"<li>{_example(example)}</li>" for example in examples)
            parts.append(f"<h3>{kind}</h3><ul>{items}</ul>")
    return "".join(parts)


def _example(mistake: Mistake) -> str:
    if not mistake.tokens:
        return escape(mistake.text())
    words = [
        _word(word, _within(n, mistake.gold), _within(n, mistake.predicted)) for n, word in enumerate(mistake.tokens)
    ]
    names = ["nothing" if span is None else escape(span.label) or "span" for span in (mistake.gold, mistake.predicted)]
    where = f'<span class="quiet">sentence {mistake.sentence}, {names[0]} → {names[1]}:</span>'
    return f"{where} {' '.join(words)}"


def _word(word: str, gold: bool, predicted: bool) -> str:
    kind = "shared" if gold and predicted else "gold" if gold else "predicted" if predicted else ""
    return f'<mark class="{kind}">{escape(word)}</mark>' if kind else escape(word)


def _within(n: int, span: FoundSpan | None) -> bool:
    return span is not None and span.start <= n < span.end


def _reliability(curve: Reliability) -> str:
    columns = (curve.low, curve.high, curve.count, curve.confidence, curve.accuracy)
    rows = [
        [f"{low:.3f} to {high:.3f}", str(count), f"{mean:.4f}", f"{right:.4f}", _bar(right)]
        for low, high, count, mean, right in zip(*columns, strict=True)
    ]
    lead = f"<p>ECE {curve.ece:.4f}, MCE {curve.mce:.4f}, Brier {curve.brier:.4f}; bins of equal {curve.binning}.</p>"
    return lead + _table(["confidence", "answers", "mean confidence", "right", ""], rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of cells that are HTML already."""
    top = "".join(f"<th>{cell}</th>" for cell in head)
    body = "\n".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>\n{body}\n</tbody></table>"


def _percent(share: float) -> str:
    return f"{100 * share:.2f}%"


def _percentages(score: object) -> list[str]:
    return [_percent(getattr(score, name)) for name in ("precision", "recall", "f1")]


def _bar(share: float) -> str:
    return f'<span class="track"><span class="bar" style="width: {100 * share:.1f}%"></span></span>'
