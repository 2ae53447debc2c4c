"""The commands that use models: tag, inspect, explain. What they do is imported when they run."""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import Annotated

import typer

from tagline.cli.training import Encoding, use_threads

ModelFile = Annotated[str, typer.Option("-m", "--model", help="A model that tagline train wrote.")]


def tag(
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
    tokens: Annotated[
        str,
        typer.Option(help="How text is cut: words, characters, whitespace; auto as the model's tokens were."),
    ] = "auto",
    encoding: Encoding = "utf-8",
    threads: Annotated[int | None, typer.Option(help="By default TAGLINE_THREADS or one a core.")] = None,
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
    from tagline.cli.tag import Questions, load_tagger, tag_stream

    use_threads(threads)
    questions = Questions(output, marginals, k_best, spans, min_probability)
    loaded = load_tagger(model)
    told = partial(typer.echo, err=True)
    for text in tag_stream(loaded, files or ["-"], questions, form=form, tokens=tokens, encoding=encoding, notice=told):
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()


def inspect(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model that tagline train wrote.")],
    top: Annotated[int, typer.Option(help="Features of each label, and transitions, to show.")] = 5,
    label: Annotated[str | None, typer.Option(help="Features of this label only.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
    weights: Annotated[
        str | None, typer.Option(help="Write all weights to this file: .csv, or .jsonl for JSON lines.")
    ] = None,
    plot: Annotated[str | None, typer.Option(help="Draw the transitions into this PNG file; needs matplotlib.")] = None,
) -> None:
    """Show what a model has learned: labels, counts, the heaviest features and transitions, how it was trained.

    Of an HMM: what each tag emits most often, and which tag follows which, with their probabilities.

    \b
    Examples:
      tagline inspect model.tagline --top 10 --label B-PER
      tagline inspect model.tagline --weights weights.csv --plot transitions.png
    """
    from tagline.cli.inspect import table_of, view
    from tagline.models.files import load

    loaded = load(model)
    tables = {option: table_of(loaded, option) for option, path in (("--weights", weights), ("--plot", plot)) if path}
    seen = view(loaded, top, label)
    typer.echo(json.dumps(seen.as_dict(), ensure_ascii=False, indent=2) if as_json else seen.text().rstrip("\n"))
    if weights:
        tables["--weights"].write_weights(weights)
        typer.echo(f"wrote {weights}", err=True)
    if plot:
        tables["--plot"].plot_transitions(plot)
        typer.echo(f"wrote {plot}", err=True)


def explain(
    sentence: Annotated[
        str,
        typer.Argument(
            help="A sentence, or - to read it from stdin; word/column1/… where the model looks at several columns."
        ),
    ],
    model: ModelFile,
    token: Annotated[str | None, typer.Option(help="This token only: the word, or its number from 0.")] = None,
    most: Annotated[int, typer.Option(help="Reasons for each token.")] = 5,
    tokens: Annotated[
        str,
        typer.Option(help="How text is cut: words, characters, whitespace; auto as the model's tokens were."),
    ] = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Say why each token got its tag and not the runner-up: what spoke for it (+) and against it (−).

    \b
    Example:
      tagline explain -m model.tagline "Anna Smith lives in Rome." --token Rome
    """
    from tagline.cli.explain import explain_text, legend, only
    from tagline.cli.tag import load_tagger
    from tagline.errors import InputError

    if most < 0:
        raise InputError(f"--most: expected 0 or more, got {most}")
    loaded = load_tagger(model)
    explanation = explain_text(loaded, sys.stdin.read() if sentence == "-" else sentence, tokens)
    if token is not None:
        explanation = only(explanation, token)
    if as_json:
        typer.echo(json.dumps(explanation.as_dict(), ensure_ascii=False, indent=2))
    else:
        typer.echo(explanation.text(most), nl=False)
        for line in legend(getattr(loaded, "features", None), explanation, most):
            typer.echo(line)
