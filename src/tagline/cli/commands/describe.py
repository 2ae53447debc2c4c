"""`tagline describe`: what a corpus holds."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from tagline.cli.arguments import argument, option
from tagline.cli.options import AsJson, Encoding, Lenient
from tagline.cli.speech import put_json, say
from tagline.messages import message


def command(
    file: Annotated[str, argument(help="A corpus: columns, .jsonl, .conllu; .gz of each; - for standard input.")],
    form: Annotated[
        str | None,
        option("--format", help="columns, jsonl, conllu, words or text; by the file's name if left out."),
    ] = None,
    encoding: Encoding = "auto",
    as_json: AsJson = False,
    lenient: Lenient = False,
) -> None:
    """Count sentences, tokens, labels and entities of a corpus, and name its tag scheme."""
    from tagline.readers import format_of, read
    from tagline.readers.looks import TEXT, looks_like
    from tagline.readers.training_files import first_lines

    strict = {} if format_of(file, form) in ("text", "words") else {"strict": not lenient}
    corpus = read(file, form, encoding=encoding, **strict)
    for problem in corpus.problems:
        say(message("skipped: {}", problem), err=True)
    if form is None and format_of(file) == "columns" and looks_like(first_lines(corpus)) == TEXT:
        say(
            message("{}: read as columns, a token a line; say --format text where each line is a sentence", file),
            err=True,
        )
    facts = corpus.describe()
    if as_json:
        put_json(asdict(facts))
    else:
        say(facts.text())
