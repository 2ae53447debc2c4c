"""`tagline eval`: read gold and predicted labels from files, score them, print and draw.

One file holds both in its last two columns, gold first, as the CoNLL script reads it; or gold and predicted labels are
the last columns of two files with the same sentences.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tagline.cli.arguments import argument, option
from tagline.cli.options import AsJson, Encoding
from tagline.cli.speech import put, say
from tagline.messages import message
from tagline.settings import FILLED, READ, WRITTEN

if TYPE_CHECKING:
    from tagline.evaluation.report import Report


def command(
    gold: Annotated[
        str, argument(help="Columns with gold and predicted tags last, as conlleval reads; or gold.", file=READ)
    ],
    predicted: Annotated[str | None, argument(help="The same sentences, with predicted tags last.", file=READ)] = None,
    scheme: Annotated[str | None, option(help="Of the tags: IOB1, IOB2, IOE1, IOE2, BIOES, BILOU, BMES …")] = None,
    strict: Annotated[bool, option("--strict", help="Count well-formed spans only, as seqeval's strict mode.")] = False,
    conlleval: Annotated[
        bool, option("--conlleval", help="Read spans as the CoNLL script to the letter, whatever the scheme.")
    ] = False,
    tokens: Annotated[
        bool, option("--tokens", help="Score tokens only; so are tags that are of no scheme, such as NN.")
    ] = False,
    by_type: Annotated[bool, option("--by-type/--overall", help="Print a line for each type.")] = True,
    details: Annotated[bool, option("--details", help="Add tokens, partial matches and mistakes.")] = False,
    compare: Annotated[
        str | None, option(help="Another output of the same sentences, to be tested against.", file=READ)
    ] = None,
    resamples: Annotated[int, option(help="Bootstrap samples for an interval of F1; 0 for none.")] = 0,
    seed: Annotated[int, option(help="Of the random samples.")] = 0,
    as_json: AsJson = False,
    html: Annotated[str | None, option(help="Write the report as a page to this file.", file=WRITTEN)] = None,
    plot: Annotated[
        str | None, option(help="Draw confusion and per-type pictures into this folder.", file=FILLED)
    ] = None,
    form: Annotated[
        str, option("--format", help="columns, or words: two files of segmented text, a sentence a line.")
    ] = "columns",
    train: Annotated[
        str | None,
        option(help="Of segmentation: the training text, for the recall of words that it does not have.", file=READ),
    ] = None,
    encoding: Encoding = "auto",
) -> None:
    """Score predicted tags: spans as conlleval, or strictly; words; tokens; significance; pictures."""
    from tagline.evaluation.label_files import evaluate_files, read_training_words

    known = None if train is None else read_training_words(train, encoding)
    if known is not None:
        say(message("{}: {:,} distinct words", train, len(known)), err=True)

    report = evaluate_files(
        gold,
        predicted,
        scheme=scheme,
        strict=strict,
        script=conlleval,
        tokens_only=tokens,
        compare=compare,
        resamples=resamples,
        seed=seed,
        encoding=encoding,
        form=form,
        training_words=known,
    )
    if report.spans is None and not tokens:
        say(message("the tags are of no tag scheme and mark no spans: tokens are scored"), err=True)
    show(report, by_type=by_type, details=details, as_json=as_json)
    if html is not None:
        save_html(report, html)
        say(message("wrote {}", html), err=True)
    for path in save_plots(report, plot) if plot is not None else []:
        say(message("wrote {}", path), err=True)


def show(report: Report, *, by_type: bool = True, details: bool = False, as_json: bool = False) -> None:
    """Print a report to stdout; the rule goes to stderr, so that stdout is what the CoNLL script prints."""
    if as_json:
        put(report.json())
        return
    if report.spans is None or details:
        say(report.text(), nl=False)
        return
    say(report.spans.text(by_type) if report.words is None else report.words.text(), nl=False)
    for part in (report.interval, report.comparison):
        say("" if part is None else part.text(), nl=False)
    say(
        message("rule: {}", report.spans.rule if report.words is None else message("words, both ends right")),
        err=True,
    )


def save_plots(report: Report, folder: str | Path) -> list[Path]:
    """Draw the pictures that apply into a folder, which is made where it is missing; return their paths."""
    from tagline.evaluation.plots import plot_confusion, plot_reliability, plot_types

    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    paths = [home / "confusion.png"]
    plot_confusion(report.tokens, paths[0])
    if report.spans is not None and report.spans.by_type:
        paths.append(home / "types.png")
        plot_types(report.spans.by_type, paths[-1], f"Spans by type, rule {report.spans.rule}")
    for name, calibration in report.calibration.items():
        paths.append(home / f"reliability-{name}.png")
        plot_reliability(calibration, paths[-1], f"Reliability of {name}")
    return paths


def save_html(report: Report, path: str | Path, title: str = "Evaluation") -> None:
    """Write the report as one HTML page."""
    from tagline.readers.sources import open_target

    with open_target(path) as stream:
        stream.write(report.html(title).encode())
