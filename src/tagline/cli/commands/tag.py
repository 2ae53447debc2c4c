"""`tagline tag`: sentences in, answers of a model out."""

from __future__ import annotations

import gc
from functools import partial
from typing import Annotated

import typer

from tagline.cli.options import Encoding, ModelFile, Threads, Tokens, use_threads
from tagline.cli.speech import put, say


def command(
    model: ModelFile,
    files: Annotated[list[str] | None, typer.Argument(help="Files, .gz or not; - or none for standard input.")] = None,
    form: Annotated[
        str | None,
        typer.Option("--format", help="columns, jsonl or text (a sentence a line); by the file's name, else columns."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", help="columns, jsonl, brackets or html; left out: jsonl for .jsonl files, else columns."
        ),
    ] = None,
    marginals: Annotated[bool, typer.Option("--marginals", help="Add the probability of each tag.")] = False,
    k_best: Annotated[int, typer.Option("-k", "--k-best", help="So many labellings with their probabilities.")] = 0,
    spans: Annotated[
        bool,
        typer.Option("--spans", help="Entities with their exact probabilities; in columns, a table of them."),
    ] = False,
    min_probability: Annotated[float, typer.Option(help="With --spans: leave out those below.")] = 0.0,
    tokens: Tokens = "auto",
    encoding: Encoding = "utf-8",
    threads: Threads = None,
) -> None:
    """Tag sentences with a model; answers go to stdout.

    Columns come out as they came in, with the tag behind them. Columns that the model does not look at, such as the
    right tags, are kept, so that tagline eval can read the last two. Standard input is answered sentence by sentence.

    \b
    Examples:
      tagline tag -m model.tagline test.txt | tagline eval -
      echo "Anna Smith lives in Rome." | tagline tag -m model.tagline --format text -o brackets
      tagline tag -m model.tagline --format text --spans -o jsonl < news.txt
    """
    from tagline.cli.series import are_tables, tag_tables
    from tagline.cli.tagging import Questions, load_tagger, tag_stream

    use_threads(threads)
    if are_tables(files or [], form):
        for text in tag_tables(model, files or [], marginals=marginals, form=form, encoding=encoding):
            put(text)
        return
    questions = Questions(output, marginals, k_best, spans, min_probability)
    loaded = load_tagger(model)
    gc.freeze()  # what is loaded stays: the collector need not look at it again, which saves a tenth of the time
    notice = partial(say, err=True)
    answers = tag_stream(loaded, files or ["-"], questions, form=form, tokens=tokens, encoding=encoding, notice=notice)
    for text in answers:
        put(text)
