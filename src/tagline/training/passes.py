"""What a pass over the sentences reached: `Point` as an algorithm yields it, `Pass` as the history has it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from tagline.training.certificate import relative_gap
from tagline.types import Float64Array


@dataclass(frozen=True, eq=False)
class Point:
    """Where an algorithm stands after a pass.

    Attributes:
        weights: ``[n]``; valid until the algorithm is asked for its next point but one.
        objective: with the penalties.
        gradient_norm: of the whole objective (of its pseudo-gradient with c1); NaN where an algorithm has none.
        weight_norm: ‖w‖.
        active: how many weights are not 0.
        evaluations: of the objective, since the start.
        step: how far along its direction the pass went.
        noisy: whether the objective was added up while the weights changed; `delta` does not compare such numbers.
        gap: how far the objective is from its optimum at most (`certificate`); None where that is not known.
    """

    weights: Float64Array
    objective: float
    gradient_norm: float = math.nan
    weight_norm: float = math.nan
    active: int = 0
    evaluations: int = 0
    step: float | None = None
    noisy: bool = False
    gap: float | None = None


@dataclass(frozen=True)
class Pass:
    """One line of a training history; `seconds` count from the start, and `gap` is that of `Point`."""

    iteration: int
    objective: float
    gradient_norm: float
    active: int
    seconds: float
    evaluations: int
    dev_score: float | None = None
    step: float | None = None
    gap: float | None = None

    noun: ClassVar[str] = "pass"
    plural: ClassVar[str] = "passes"
    lasting: ClassVar[bool] = False  # passes are many and short
    speed: ClassVar[str] = ""

    @property
    def number(self) -> int:
        """Which pass it is, from 1."""
        return self.iteration

    @property
    def relative_gap(self) -> float | None:
        """By which share of the optimum the objective is above it at most; None where that is not known."""
        return relative_gap(self.gap, self.objective)

    def headline(self) -> str:
        """Say in a few words what it reached.

        >>> Pass(7, 1010.0, 6.3, 100, 4.2, 8, gap=10.0).headline()
        'objective 1010.00  within 1 %'
        """
        within = self.relative_gap
        proven = f"  within {100 * within:.2g} %" if within is not None and within < 1 else ""
        return f"objective {self.objective:.2f}{proven}"

    def line(self) -> str:
        """Write it as one line of text.

        >>> Pass(7, 12887.25, 0.034, 456468, 4.2, 8, dev_score=0.9356, step=1.0).line()
        '   7  objective 12887.2500  gradient 3.40e-02  active 456468  step 1.0e+00  evaluations 8  dev 0.9356  4.2 s'
        """
        parts = [f"{self.iteration:4d}", f"objective {self.objective:.4f}"]
        if not math.isnan(self.gradient_norm):
            parts.append(f"gradient {self.gradient_norm:.2e}")
        if self.gap is not None:
            parts.append(f"gap {self.gap:.2e}")
        parts.append(f"active {self.active}")
        if self.step is not None:
            parts.append(f"step {self.step:.1e}")
        parts.append(f"evaluations {self.evaluations}")
        if self.dev_score is not None:
            parts.append(f"dev {self.dev_score:.4f}")
        return "  ".join([*parts, f"{self.seconds:.1f} s"])
