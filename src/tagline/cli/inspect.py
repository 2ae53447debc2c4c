"""What `tagline inspect` does: a model in numbers, its heaviest features and transitions, its weights as a file."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from tagline.errors import InputError
from tagline.models.answers import ChainModel as SequenceModel
from tagline.models.crf.estimator import CRF
from tagline.models.views import FeatureWeight, TransitionWeight


class Summary(Protocol):
    """A model in a few numbers."""

    @property
    def training(self) -> dict[str, Any]:
        """How it was trained."""

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain data."""

    def line(self) -> str:
        """In one line."""

    def text(self) -> str:
        """A line for each fact."""


@dataclass(frozen=True)
class Outline:
    """What can be said of any model: its labels, and how it was trained."""

    labels: list[str]
    training: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, lists and strings."""
        return asdict(self)

    def line(self) -> str:
        """Say in one line what there is."""
        return f"{len(self.labels)} labels"

    def text(self) -> str:
        """Write a line for each fact."""
        lines = [f"labels      {len(self.labels)}: {' '.join(self.labels)}"]
        lines += [f"{name:10}  {value}" for name, value in self.training.items() if value not in (None, [])]
        return "\n".join(lines) + "\n"


def summary_of(model: Any) -> Summary:
    """Return what the model says of itself, or what can be said of any."""
    if hasattr(model, "summary"):
        own: Summary = model.summary()
        return own
    return Outline([str(label) for label in model.labels_], model.training_.as_dict())


@dataclass(frozen=True)
class ModelView:
    """What there is to see of a model.

    Attributes:
        summary: labels, counts, training facts.
        features: for each label the features that speak most for it, or the symbols that it emits most often.
        transitions, avoided: those with the largest weights, and with the smallest.
        logarithms: whether weights are logarithms of probabilities, which are shown themselves then.
    """

    summary: Summary
    features: dict[str, list[FeatureWeight]] = field(default_factory=dict)
    transitions: list[TransitionWeight] = field(default_factory=list)
    avoided: list[TransitionWeight] = field(default_factory=list)
    logarithms: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, lists and strings."""
        return {
            **self.summary.as_dict(),
            "top_features": {
                label: [{"attribute": one.attribute, "weight": one.weight} for one in found]
                for label, found in self.features.items()
            },
            "top_transitions": [asdict(one) for one in self.transitions],
            "lowest_transitions": [asdict(one) for one in self.avoided],
        }

    def text(self) -> str:
        """Write it for people."""
        parts = [self.summary.text()]
        for label, found in self.features.items():
            if found:
                parts.append(f"\n{'probable words of' if self.logarithms else 'speaks for'} {label}\n")
                parts += [f"{self._shown(one.weight)}  {one.attribute}\n" for one in found]
        most, least = ("probable", "improbable") if self.logarithms else ("most liked", "least liked")
        for title, pairs in ((f"transitions {most}", self.transitions), (f"transitions {least}", self.avoided)):
            if pairs:
                parts.append(f"\n{title}\n")
                parts += [f"{self._shown(one.weight)}  {one.previous} → {one.label}\n" for one in pairs]
        return "".join(parts)

    def _shown(self, weight: float) -> str:
        return f"{math.exp(weight):10.6f}" if self.logarithms else f"{weight:+10.4f}"


def view(model: SequenceModel, top: int = 5, label: str | None = None) -> ModelView:
    """Collect what there is to see.

    Arguments:
        top: features of each label, and transitions.
        label: this one only.
    """
    names = [str(one) for one in model.labels_]
    if top < 0:
        raise InputError(f"--top: expected 0 or more, got {top}")
    if label is not None and label not in names:
        raise InputError(f"--label: expected one of {', '.join(names)}, got {label!r}")
    labels = names if label is None else [label]
    if isinstance(model, CRF):
        return ModelView(
            model.summary(),
            {one: [found for found in model.top_features(top, one) if found.weight > 0] for one in labels},
            [one for one in model.top_transitions(top) if one.weight > 0],
            [one for one in model.top_transitions(top, lowest=True) if one.weight < 0],
        )
    if not hasattr(model, "top_transitions"):
        return ModelView(summary_of(model))
    moves, avoided = model.top_transitions(top), model.top_transitions(top, lowest=True)
    if not hasattr(model, "top_features"):  # a network: scores of its CRF, where it has one
        liked, disliked = [one for one in moves if one.weight > 0], [one for one in avoided if one.weight < 0]
        return ModelView(summary_of(model), transitions=liked, avoided=disliked)
    return ModelView(
        summary_of(model),
        {one: model.top_features(top, one) for one in labels},
        moves,
        avoided,
        logarithms=True,
    )


def table_of(model: Any, option: str) -> Any:
    """Return the model, or say that it has no weights to write or draw."""
    if not hasattr(model, "write_weights"):
        raise InputError(f"{option}: expected a model with weights, got a {type(model).__name__}")
    return model
