"""`tagline convert-tags`: column files from one tag scheme to another."""

from __future__ import annotations

from typing import Annotated

import typer

from tagline.cli.options import Encoding
from tagline.cli.speech import say


def command(
    source: Annotated[str, typer.Argument(help="A column file, .gz or not; - for standard input.")],
    target: Annotated[str, typer.Argument(help="The file to write; - for standard output.")] = "-",
    to: Annotated[
        str, typer.Option(help="The scheme to write: IO, IOB1, IOB2, IOE1, IOE2, BIOES, BILOU, BMES …")
    ] = "BIOES",
    from_scheme: Annotated[
        str | None, typer.Option("--from", help="The scheme of the file; detected if left out.")
    ] = None,
    column: Annotated[str, typer.Option(help="The column of the tags, by name.")] = "tag",
    improper: Annotated[
        str, typer.Option(help="What to do with improper sequences: raise, conlleval, discard.")
    ] = "raise",
    encoding: Encoding = "auto",
) -> None:
    """Rewrite the tags of a column file in another scheme."""
    from tagline.readers.file_conversion import convert_file

    done = convert_file(
        source, target, source=from_scheme, target=to, column=column, policy=improper, encoding=encoding
    )
    for note in done.notes:
        say(note, err=True)
