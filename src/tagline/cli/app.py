"""The commands and their options."""

from __future__ import annotations

import io
import json
import logging
import sys
from dataclasses import asdict
from typing import Annotated

import typer

import tagline
from tagline import compiled
from tagline.cli import models, training

app = typer.Typer(
    help="Linear-chain sequence labelling: one exact inference engine for HMMs, feature CRFs and neural CRFs.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tagline {tagline.__version__}")
        raise typer.Exit


class _Told(logging.Handler):
    """Says warnings to whoever runs the command."""

    def emit(self, record: logging.LogRecord) -> None:
        typer.echo(f"warning: {record.getMessage()}", err=True)


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Options before the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # files and pipes get UTF-8, a terminal what it can show
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")
    logging.getLogger("tagline").addHandler(logging.NullHandler())  # the commands say themselves what they skip
    for part in ("tagline.training", "tagline.embeddings"):
        logging.getLogger(part).handlers = [_Told()]


for command in (training.train, models.tag, models.inspect, models.explain):
    app.command()(command)


@app.command()
def demo(
    keep: Annotated[
        str | None, typer.Option(help="Keep the corpus and the model in this folder, to try the other commands on.")
    ] = None,
) -> None:
    """Train a tagger for English and Chinese on generated sentences, score it, tag two sentences, explain one tag."""
    from tagline.cli.demo import show

    show(keep)


@app.command()
def info() -> None:
    """Say which engine answers, on which instruction set and how many threads."""
    from tagline.chain import engine

    variants = ", ".join(compiled.supported_cpus()) or "none"
    typer.echo(f"version  {tagline.__version__}")
    typer.echo(f"engine   {engine()}")
    typer.echo(
        f"cpu      {compiled.cpu() or 'no compiled core'} (this processor runs: {variants}; TAGLINE_CPU chooses)"
    )
    typer.echo(f"threads  {compiled.threads()} (TAGLINE_THREADS chooses)")


@app.command()
def describe(
    file: Annotated[str, typer.Argument(help="A corpus: columns, .jsonl, .conllu; .gz of each; - for standard input.")],
    form: Annotated[
        str | None, typer.Option("--format", help="columns, jsonl, conllu or text; by the file's name if left out.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    lenient: Annotated[bool, typer.Option("--lenient", help="Skip broken sentences and report them.")] = False,
) -> None:
    """Count sentences, tokens, labels and entities of a corpus, and name its tag scheme."""
    from tagline.readers import format_of, read

    strict = {} if format_of(file, form) == "text" else {"strict": not lenient}
    corpus = read(file, form, **strict)
    for problem in corpus.problems:
        typer.echo(f"skipped: {problem}", err=True)
    facts = corpus.describe()
    typer.echo(json.dumps(asdict(facts), ensure_ascii=False, indent=2) if as_json else facts.text())


@app.command(name="eval")
def evaluate(
    gold: Annotated[
        str, typer.Argument(help="Columns with gold and predicted tags last, as conlleval reads; or gold.")
    ],
    predicted: Annotated[str | None, typer.Argument(help="The same sentences, with predicted tags last.")] = None,
    scheme: Annotated[
        str | None, typer.Option(help="Of the tags: IOB1, IOB2, IOE1, IOE2, BIOES, BILOU, BMES …")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Count well-formed spans only, as seqeval's strict mode.")
    ] = False,
    tokens: Annotated[bool, typer.Option("--tokens", help="Score tokens only: parts of speech and the like.")] = False,
    by_type: Annotated[bool, typer.Option("--by-type/--overall", help="Print a line for each type.")] = True,
    details: Annotated[bool, typer.Option("--details", help="Add tokens, partial matches and mistakes.")] = False,
    compare: Annotated[
        str | None, typer.Option(help="Another output of the same sentences, to be tested against.")
    ] = None,
    resamples: Annotated[int, typer.Option(help="Bootstrap samples for an interval of F1; 0 for none.")] = 0,
    seed: Annotated[int, typer.Option(help="Of the random samples.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    html: Annotated[str | None, typer.Option(help="Write the report as a page to this file.")] = None,
    plot: Annotated[str | None, typer.Option(help="Draw confusion and per-type pictures into this folder.")] = None,
    encoding: Annotated[str, typer.Option(help="Of the files.")] = "utf-8",
) -> None:
    """Score predicted tags: spans exactly as conlleval, or strictly; tokens; significance; pictures."""
    from tagline.cli.evaluate import evaluate_files, save_html, save_plots, show

    report = evaluate_files(
        gold,
        predicted,
        scheme=scheme,
        strict=strict,
        tokens_only=tokens,
        compare=compare,
        resamples=resamples,
        seed=seed,
        encoding=encoding,
    )
    show(report, by_type=by_type, details=details, as_json=as_json)
    if html is not None:
        save_html(report, html)
        typer.echo(f"wrote {html}", err=True)
    for path in save_plots(report, plot) if plot is not None else []:
        typer.echo(f"wrote {path}", err=True)


@app.command(name="convert-tags")
def convert_tags(
    source: Annotated[str, typer.Argument(help="A column file, .gz or not; - for standard input.")],
    target: Annotated[str, typer.Argument(help="The file to write; - for standard output.")] = "-",
    to: Annotated[
        str, typer.Option(help="The scheme to write: IO, IOB1, IOB2, IOE1, IOE2, BIOES, BILOU, BMES …")
    ] = "BIOES",
    given: Annotated[str | None, typer.Option("--from", help="The scheme of the file; detected if left out.")] = None,
    column: Annotated[str, typer.Option(help="The column of the tags, by name.")] = "tag",
    improper: Annotated[
        str, typer.Option(help="What to do with improper sequences: raise, conlleval, discard.")
    ] = "raise",
) -> None:
    """Rewrite the tags of a column file in another scheme."""
    from tagline.readers.file_conversion import convert_file

    for note in convert_file(source, target, source=given, target=to, column=column, policy=improper).notes:
        typer.echo(note, err=True)
