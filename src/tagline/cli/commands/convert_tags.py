"""`tagline convert-tags`: column files from one tag scheme to another."""

from __future__ import annotations

from typing import Annotated

from tagline.cli.arguments import argument, option
from tagline.cli.options import Encoding
from tagline.cli.speech import say
from tagline.settings import READ, WRITTEN


def command(
    source: Annotated[str, argument(help="A column file, .gz or not; - for standard input.", file=READ)],
    target: Annotated[str, argument(help="The file to write; - for standard output.", file=WRITTEN)] = "-",
    to: Annotated[str, option(help="The scheme to write: IO, IOB1, IOB2, IOE1, IOE2, BIOES, BILOU, BMES …")] = "BIOES",
    from_scheme: Annotated[str | None, option("--from", help="The scheme of the file; detected if left out.")] = None,
    column: Annotated[str, option(help="The column of the tags, by name.")] = "tag",
    improper: Annotated[str, option(help="What to do with improper sequences: raise, conlleval, discard.")] = "raise",
    encoding: Encoding = "auto",
) -> None:
    """Rewrite the tags of a column file in another scheme."""
    from tagline.readers.file_conversion import convert_file

    done = convert_file(
        source, target, source=from_scheme, target=to, column=column, policy=improper, encoding=encoding
    )
    for note in done.notes:
        say(note, err=True)
