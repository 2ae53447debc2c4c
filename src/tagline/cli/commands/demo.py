"""`tagline demo`: what the package does, in seconds."""

from __future__ import annotations

from typing import Annotated

import typer


def command(
    keep: Annotated[
        str | None, typer.Option(help="Keep the corpus and the model in this folder, to try the other commands on.")
    ] = None,
) -> None:
    """Train a tagger for English and Chinese on generated sentences, score it, tag two sentences, explain one tag."""
    from tagline.cli.demonstration import show

    show(keep)
