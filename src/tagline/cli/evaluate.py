"""What `tagline eval` does: read gold and predicted tags from column files, score them, print and draw.

One file holds both in its last two columns, gold first, as the CoNLL script reads it; or gold and predicted tags are
the last columns of two files with the same sentences.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tagline.evaluation.files import last_column, read_checked, read_pair
from tagline.evaluation.plots import plot_confusion, plot_reliability, plot_types
from tagline.evaluation.report import Report, evaluate


def evaluate_files(
    gold: str | Path,
    predicted: str | Path | None = None,
    *,
    scheme: str | None = None,
    strict: bool = False,
    tokens_only: bool = False,
    compare: str | Path | None = None,
    examples: int = 5,
    resamples: int = 0,
    seed: int = 0,
    encoding: str = "utf-8",
) -> Report:
    """Score the predicted tags of one or two column files.

    Arguments:
        gold: a file whose last column is gold; without ``predicted``, its last two are gold and predicted.
        predicted: a file with the same sentences whose last column is predicted.
        scheme: of the tags; detected where the rule needs one and it is left out.
        strict: only well-formed spans count.
        tokens_only: the tags have no spans, such as parts of speech.
        compare: another output, the last column of a file with the same sentences.
        examples, resamples, seed: as in `tagline.evaluation.evaluate`.
        encoding: of the files.
    """
    corpus, guesses = read_pair(gold, predicted, encoding)
    other = None if compare is None else last_column(read_checked(compare, corpus, encoding))
    rule = None if tokens_only else rule_for(scheme, strict)
    return evaluate(corpus, guesses, rule, other=other, examples=examples, resamples=resamples, seed=seed)


def rule_for(scheme: str | None, strict: bool) -> str:
    """Name the rule that turns tags into spans; a scheme that is left out is detected where one is needed."""
    return ("strict" if strict else "conlleval") + (f":{scheme}" if scheme else "")


def show(report: Report, *, by_type: bool = True, details: bool = False, as_json: bool = False) -> None:
    """Print a report to stdout; the rule goes to stderr, so that stdout is what the CoNLL script prints."""
    if as_json:
        sys.stdout.write(report.json())
        return
    if report.spans is None or details:
        sys.stdout.write(report.text())
        return
    sys.stdout.write(report.spans.text(by_type))
    for part in (report.interval, report.comparison):
        sys.stdout.write("" if part is None else part.text())
    sys.stderr.write(f"rule: {report.spans.rule}\n")


def save_plots(report: Report, folder: str | Path) -> list[Path]:
    """Draw the pictures that apply into a folder, which is made where it is missing; return their paths."""
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    paths = [home / "confusion.png"]
    plot_confusion(report.tokens, paths[0])
    if report.spans is not None and report.spans.by_type:
        paths.append(home / "types.png")
        plot_types(report.spans.by_type, paths[-1], f"Spans by type, rule {report.spans.rule}")
    for name, found in report.calibration.items():
        paths.append(home / f"reliability-{name}.png")
        plot_reliability(found, paths[-1], f"Reliability of {name}")
    return paths


def save_html(report: Report, path: str | Path, title: str = "Evaluation") -> None:
    """Write the report as one HTML page."""
    Path(path).write_text(report.html(title), encoding="utf-8")
