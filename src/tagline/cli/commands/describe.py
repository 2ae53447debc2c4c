"""`tagline describe`: what a corpus holds."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from tagline.cli.options import AsJson, Lenient


def command(
    file: Annotated[str, typer.Argument(help="A corpus: columns, .jsonl, .conllu; .gz of each; - for standard input.")],
    form: Annotated[
        str | None, typer.Option("--format", help="columns, jsonl, conllu or text; by the file's name if left out.")
    ] = None,
    as_json: AsJson = False,
    lenient: Lenient = False,
) -> None:
    """Count sentences, tokens, labels and entities of a corpus, and name its tag scheme."""
    from tagline.readers import format_of, read

    strict = {} if format_of(file, form) == "text" else {"strict": not lenient}
    corpus = read(file, form, **strict)
    for problem in corpus.problems:
        typer.echo(f"skipped: {problem}", err=True)
    facts = corpus.describe()
    typer.echo(json.dumps(asdict(facts), ensure_ascii=False, indent=2) if as_json else facts.text())
