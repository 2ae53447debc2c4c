"""What `tagline inspect` does: a model in numbers, its heaviest features and transitions, its weights as a file."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tagline.errors import InputError
from tagline.models.crf import CRF
from tagline.models.inspection import FeatureWeight, Summary, TransitionWeight
from tagline.models.loading import load
from tagline.readers.sources import PathLike


@dataclass(frozen=True)
class ModelView:
    """What there is to see of a model.

    Attributes:
        summary: labels, counts, training facts.
        features: for each label the features that speak most for it.
        transitions, avoided: those with the largest weights, and with the smallest.
    """

    summary: Summary
    features: dict[str, list[FeatureWeight]]
    transitions: list[TransitionWeight]
    avoided: list[TransitionWeight]

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
                parts.append(f"\nspeaks for {label}\n")
                parts += [f"{one.weight:+10.4f}  {one.attribute}\n" for one in found]
        for title, pairs in (("transitions most liked", self.transitions), ("transitions least liked", self.avoided)):
            if pairs:
                parts.append(f"\n{title}\n")
                parts += [f"{one.weight:+10.4f}  {one.previous} → {one.label}\n" for one in pairs]
        return "".join(parts)


def load_crf(path: PathLike) -> CRF:
    """Load a model that has features to look at."""
    model = load(path)
    if not isinstance(model, CRF):
        raise InputError(f"{path}: expected a feature CRF, got a {type(model).__name__}")
    return model


def view(model: CRF, top: int = 5, label: str | None = None) -> ModelView:
    """Collect what there is to see.

    Arguments:
        top: features of each label, and transitions.
        label: this one only.
    """
    if top < 0:
        raise InputError(f"--top: expected 0 or more, got {top}")
    if label is not None and label not in model.labels_:
        raise InputError(f"--label: expected one of {', '.join(model.labels_)}, got {label!r}")
    labels = model.labels_ if label is None else [label]
    return ModelView(
        model.summary(),
        {one: [found for found in model.top_features(top, one) if found.weight > 0] for one in labels},
        [one for one in model.top_transitions(top) if one.weight > 0],
        [one for one in model.top_transitions(top, lowest=True) if one.weight < 0],
    )
