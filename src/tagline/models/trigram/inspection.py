"""A trigram tagger in a few numbers, for `tagline inspect` and for messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tagline.messages import message
from tagline.models.files import TrainingFacts
from tagline.models.trigram.parameters import TrigramParameters
from tagline.models.views import ModelSummary, fact_line


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
        return message(
            "{} labels, {:,} words, {:,} endings, {:,} trigrams",
            len(self.labels),
            self.words,
            sum(self.endings),
            self.trigrams,
        )

    def lines(self) -> list[str]:
        """Write a line for each fact but those of training."""
        small, capital = self.endings
        endings = message("{:,} of words in small letters, {:,} of words with a capital", small, capital)
        weights = " ".join(f"{weight:.4f}" for weight in self.weights)
        trigrams = message("{:,}, without capitals; λ {}", self.trigrams, weights)
        if self.capitals:
            trigrams = message("{:,}, with capitals; λ {}", self.trigrams, weights)
        return [
            *super().lines(),
            fact_line("words", f"{self.words:,}"),
            fact_line("endings", endings),
            fact_line("trigrams", trigrams),
        ]
