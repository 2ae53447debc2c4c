"""A trigram tagger in a few numbers, for `tagline inspect` and for messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tagline.models.files import TrainingFacts
from tagline.models.trigram.parameters import TrigramParameters
from tagline.models.views import ModelSummary


@dataclass(frozen=True, repr=False)
class TrigramSummary(ModelSummary):
    """What was counted.

    Attributes:
        labels: the tags.
        capitals: whether the context tells words with a capital from others.
        words, endings, trigrams: how many are known; endings of words in small letters and with a capital.
        weights: λ1, λ2, λ3.
        training: sentences, version, as far as they are known.
    """

    labels: list[str]
    capitals: bool
    words: int
    endings: tuple[int, int]
    trigrams: int
    weights: list[float]
    training: dict[str, Any]

    @classmethod
    def of(cls, parameters: TrigramParameters, training: TrainingFacts) -> TrigramSummary:
        """Count what was counted."""
        p = parameters
        small, capital = p.endings
        return cls(
            list(p.labels),
            p.capitals,
            len(p.words),
            (len(small), len(capital)),
            len(p.counts.counts),
            p.weights.tolist(),
            training.as_dict(),
        )

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, lists and strings."""
        return {**super().as_dict(), "endings": list(self.endings)}

    def line(self) -> str:
        """Say in one line what there is."""
        known = f"{self.words:,} words, {sum(self.endings):,} endings, {self.trigrams:,} trigrams"
        return f"{len(self.labels)} labels, {known}"

    def lines(self) -> list[str]:
        """Write a line for each fact but those of training."""
        told = "with" if self.capitals else "without"
        return [
            *super().lines(),
            f"words       {self.words:,}",
            f"endings     {self.endings[0]:,} of words in small letters, {self.endings[1]:,} of words with a capital",
            f"trigrams    {self.trigrams:,}, {told} capitals; λ {' '.join(f'{weight:.4f}' for weight in self.weights)}",
        ]
