"""Counts and the three scores made of them.

precision = correct / found, recall = correct / gold, F1 = 2·correct / (found + gold); each 0 where its denominator is.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Score:
    """How many there are, how many were found, how many of those are right.

    >>> Score(correct=1, found=2, gold=4).f1
    0.3333333333333333
    """

    correct: int
    found: int
    gold: int

    @property
    def precision(self) -> float:
        """Share of what was found that is right."""
        return self.correct / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """Share of what is there that was found."""
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return 2 * self.correct / (self.found + self.gold) if self.found + self.gold else 0.0

    def as_dict(self) -> dict[str, int | float]:
        """Return counts and scores by name."""
        return {
            "correct": self.correct,
            "found": self.found,
            "gold": self.gold,
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
        }
