"""`tagline inspect`: a model in numbers, its heaviest features and transitions, its weights as a file."""

from __future__ import annotations

from typing import Annotated, Any

from tagline.cli.arguments import argument, option
from tagline.cli.options import AsJson
from tagline.cli.speech import put_json, say
from tagline.errors import InputError
from tagline.messages import message
from tagline.settings import READ, WRITTEN


def command(
    model: Annotated[str, argument(help="A model that tagline train wrote.", file=READ)],
    other: Annotated[
        str | None, argument(help="Another model, to show what differs between the two.", file=READ)
    ] = None,
    top: Annotated[int, option(help="Features of each label, transitions, or differences, to show.")] = 5,
    label: Annotated[str | None, option(help="Features of this label only.")] = None,
    as_json: AsJson = False,
    weights: Annotated[
        str | None, option(help="Write all weights to this file: .csv, or .jsonl for JSON lines.", file=WRITTEN)
    ] = None,
    plot: Annotated[
        str | None, option(help="Draw the transitions as .png, .svg or .pdf; needs matplotlib.", file=WRITTEN)
    ] = None,
) -> None:
    """Show what a model has learned: labels, counts, the heaviest features and transitions, how it was trained.

    Of two models: the settings, labels and facts that differ, and the weights that differ most.

    Of an HMM: what each tag emits most often, and which tag follows which, with their probabilities.

    \b
    Examples:
      tagline inspect model.tagline --top 10 --label B-PER
      tagline inspect model.tagline --weights weights.csv --plot transitions.png
      tagline inspect old.tagline new.tagline
    """
    from tagline.drawing.figures import kind_of
    from tagline.interop.formats import read_model

    if top < 0:
        raise InputError("--top: expected 0 or more, got {}", top)
    if plot is not None:
        kind_of(plot, argument="--plot")
    loaded: Any = read_model(model)
    if other is not None:
        for option, value in (("--label", label), ("--weights", weights), ("--plot", plot)):
            if value is not None:
                raise InputError("{}: expected one model, got two to compare; leave it out", option)
        _compare(loaded, other, (model, other), top, as_json)
        return
    for option, path in (("--weights", weights), ("--plot", plot)):
        if path and not hasattr(loaded, "write_weights"):
            raise InputError("{}: expected a model with weights, got a {}", option, type(loaded).__name__)
    names = [str(name) for name in loaded.labels_]
    if label is not None and label not in names:
        raise InputError("--label: expected one of {}, got {!r}", ", ".join(names), label)
    view = loaded.view(top, None if label is None else [label])
    if as_json:
        put_json(view.as_dict())
    else:
        say(view.text().rstrip("\n"))
    if weights:
        loaded.write_weights(weights)
        say(message("wrote {}", weights), err=True)
    if plot:
        loaded.plot_transitions(plot)
        say(message("wrote {}", plot), err=True)


def _compare(loaded: Any, path: str, names: tuple[str, str], top: int, as_json: bool) -> None:
    """Say what differs between a model and that of another file."""
    from tagline.interop.formats import read_model
    from tagline.models.comparison import compare

    differences = compare(loaded, read_model(path), names, top)
    if as_json:
        put_json(differences.as_dict())
    else:
        say(differences.text().rstrip("\n"))
