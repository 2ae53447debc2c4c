"""What an algorithm is handed: sentences, weights that there are, parameters, and whom to tell."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tagline.features.weights import Structure
from tagline.interop.pycrfsuite.training_groups import LabelledPart
from tagline.interop.pycrfsuite.training_parameters import TrainingParameters
from tagline.types import Float64Array


@dataclass(frozen=True, eq=False)
class TrainingTask:
    """One run of training.

    Attributes:
        part: the sentences to learn from.
        structure: which weights there are.
        parameters: of the algorithm.
        tell: takes a message of the log.
        evaluate: writes how well weights do on the holdout group; does nothing where there is none.
    """

    part: LabelledPart
    structure: Structure
    parameters: TrainingParameters
    tell: Callable[[str], None]
    evaluate: Callable[[Float64Array], None]

    @property
    def num_sentences(self) -> int:
        """How many sentences there are to learn from."""
        return self.part.features.num_sentences

    def no_weights(self) -> Float64Array:
        """Return a 0 for each weight."""
        return np.zeros(self.structure.size)

    def tell_parameters(self, title: str, names: dict[str, str]) -> None:
        """Write the name of the algorithm and its parameters; `names` are those in the log, by those of `Trainer`."""
        self.tell(f"{title}\n")
        for name, shown in names.items():
            value = self.parameters[name]
            self.tell(f"{shown}: {value:f}\n" if isinstance(value, float) else f"{shown}: {value}\n")
        self.tell("\n")


class Stopwatch:
    """CPU seconds, as CRFsuite's log has them."""

    def __init__(self) -> None:
        self.begun = self.last = time.process_time()

    def lap(self) -> float:
        """Return the seconds since it was asked last."""
        now = time.process_time()
        seconds, self.last = now - self.last, now
        return seconds

    def total(self) -> float:
        """Return the seconds since the beginning."""
        return time.process_time() - self.begun
