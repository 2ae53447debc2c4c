"""What the run of a network has reached: an `Epoch` for each pass, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Epoch:
    """One line of a training history.

    Attributes:
        epoch: from 1.
        loss: mean of its sentences, each before the step that learned from it.
        dev_score: the higher the better; None where there is none.
        rate: the learning rate of its last step, before groups multiply it.
        gradient_norm: mean over its steps, before clipping.
        seconds: since the start of the run.
        tokens_per_second: of training, without scoring.
    """

    epoch: int
    loss: float
    dev_score: float | None
    rate: float
    gradient_norm: float
    seconds: float
    tokens_per_second: float

    noun: ClassVar[str] = "epoch"
    plural: ClassVar[str] = "epochs"
    lasting: ClassVar[bool] = True  # epochs are few and long: each is worth a line

    @property
    def number(self) -> int:
        """Which epoch it is, from 1."""
        return self.epoch

    @property
    def objective(self) -> float:
        """The loss."""
        return self.loss

    @property
    def speed(self) -> str:
        """How fast it learned, in words."""
        return f"{self.tokens_per_second:,.0f} tokens/s"

    def headline(self) -> str:
        """Say in a few words what it reached."""
        return f"loss {self.loss:.4f}"

    def line(self) -> str:
        """Write it as one line of text.

        >>> Epoch(7, 1.25, 0.9356, 1e-3, 2.5, 4.2, 51234.0).line()
        '   7  loss 1.2500  gradient 2.50e+00  rate 1.0e-03  dev 0.9356  51,234 tokens/s  4.2 s'
        """
        dev = "" if self.dev_score is None else f"  dev {self.dev_score:.4f}"
        return (
            f"{self.epoch:4d}  loss {self.loss:.4f}  gradient {self.gradient_norm:.2e}  rate {self.rate:.1e}{dev}  "
            f"{self.tokens_per_second:,.0f} tokens/s  {self.seconds:.1f} s"
        )


@dataclass(frozen=True)
class TrainedNetwork:
    """How a run ended; the network holds the weights.

    Attributes:
        history: the epochs that were finished.
        reason: "epochs", "patience", "time budget", "interrupted" or "callback".
        best_epoch: the epoch whose weights the network holds: that of the best dev score, the last one where there is
            no score, 0 where no epoch was finished.
    """

    history: tuple[Epoch, ...]
    reason: str
    best_epoch: int
