"""`tagline demo`: what the package does, in seconds."""

from __future__ import annotations

import tempfile
from contextlib import nullcontext
from typing import Annotated

from tagline.cli.arguments import option


def command(
    keep: Annotated[
        str | None, option(help="Keep the corpus and the model in this folder, to try the other commands on.")
    ] = None,
    serve: Annotated[bool, option("--serve", help="Open a page on the model in a browser afterwards.")] = False,
    port: Annotated[int, option(between=(0, 65535), help="The port to listen on.")] = 8000,
) -> None:
    """Train a tagger for English and Chinese on generated sentences, score it, tag two sentences, explain one tag."""
    from tagline.cli.demonstration import show

    if not serve:
        show(keep)
        return
    from tagline.cli.commands.serve import command as serve_models

    with tempfile.TemporaryDirectory() if keep is None else nullcontext(keep) as folder:
        show(folder)
        serve_models([f"demo={folder}/model.tagline"], port=port, show=True, log="warning")
