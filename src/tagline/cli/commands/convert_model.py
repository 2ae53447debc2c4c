"""`tagline convert-model`: models of other tools to ours, and ours to theirs."""

from __future__ import annotations

from typing import Annotated

from tagline.cli.arguments import argument, option
from tagline.cli.speech import say
from tagline.messages import message
from tagline.settings import READ, WRITTEN


def command(
    source: Annotated[
        str, argument(help="A model of Tagline, CRFsuite, CRF++, Wapiti or sklearn-crfsuite.", file=READ)
    ],
    target: Annotated[str, argument(help="The file to write.", file=WRITTEN)],
    to: Annotated[str, option(help="What to write: tagline, crfsuite, crfpp, crfpp-text or wapiti.")] = "tagline",
) -> None:
    """Rewrite a model as a file of another tool, or another tool's as one of ours.

    The source is known by its content, whatever its name. The new model gives the same labels and probabilities.
    """
    from tagline.interop.formats import read_model, write_model

    model = read_model(source)
    write_model(model, target, to)
    say(
        message("{}: {} labels, as a model of {}", target, len(model.labels_), to),
        err=True,
    )
