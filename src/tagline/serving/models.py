"""What a service tells about its models: a line each, or everything that a page shows of one."""

from __future__ import annotations

from typing import Any

from tagline.errors import TaglineError
from tagline.messages import message
from tagline.serving.problems import ProblemError
from tagline.serving.shelf import ServedModel
from tagline.types import Chain

MOST_FEATURES = 500
SEARCHED = 1_000_000  # features that are looked through for a name


def model_line(served: ServedModel, default: bool) -> dict[str, Any]:
    """Describe a model in a few facts."""
    model = served.model
    facts = {"name": served.name, "kind": model.kind, "labels": len(served.labels), "scheme": model.scheme_name}
    return {**facts, "default": default}


def model_facts(served: ServedModel) -> dict[str, Any]:
    """Describe a model: its labels, what it reads, its transitions, how it was trained."""
    model, summary = served.model, served.model.summary()
    return {
        "name": served.name,
        "kind": model.kind,
        "labels": served.labels,
        "types": [] if served.reading is None else list(served.reading.types),
        "scheme": model.scheme_name,
        "by_character": model.input_.by_character,
        "tokenizer": getattr(served.cut("auto"), "name", None) if served.reads_words else None,
        "columns": model.input_.columns,
        "reads_words": served.reads_words,
        "explains": model.explains,
        "finds_spans": served.reading is not None,
        "summary": summary.as_dict(),
        "line": summary.line(),
        "transitions": transitions_of(served),
        "training": summary.training,
        "loaded": served.loaded,
        "fingerprint": served.fingerprint,
    }


def transitions_of(served: ServedModel) -> list[list[float]] | None:
    """Return the scores of transitions ``[L, L]``; None where they depend on the words, or on two labels before."""
    word = "x" if served.model.input_.columns == 1 else tuple("x" * served.model.input_.columns)
    try:
        chain = next(iter(served.model.chains([[word]])), None)
    except TaglineError:
        return None
    if type(chain) is not Chain or chain.per_position:  # one over pairs of labels says something else
        return None
    table: list[list[float]] = chain.transitions.tolist()
    return table


def model_features(served: ServedModel, label: str | None, search: str, top: int) -> list[dict[str, Any]]:
    """Return the heaviest features, of one label or of all, whose names have `search` in them."""
    if not 1 <= top <= MOST_FEATURES:
        raise ProblemError(
            422,
            message("top: expected 1 to {}, got {}", MOST_FEATURES, top),
            field="top",
        )
    if label is not None:
        served.check_labels(label, "label")
    view = served.model.view(SEARCHED if search else top, None if label is None else [label])
    wanted = search.casefold()
    rows: list[dict[str, Any]] = [
        {"attribute": feature.attribute, "label": feature.label, "weight": feature.weight}
        for features in view.features.values()
        for feature in features
        if wanted in feature.attribute.casefold()
    ]
    rows.sort(key=lambda row: -float(row["weight"]))
    return rows[: top if label is not None or search else MOST_FEATURES]
