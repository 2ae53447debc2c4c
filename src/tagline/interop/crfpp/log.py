"""What crf_learn prints: a head, the settings, a line an iteration, the seconds of the processor."""

from __future__ import annotations

import math
from typing import TextIO

import numpy as np

from tagline import __version__
from tagline.interop.crfpp import VERSION
from tagline.training.likelihood import Likelihood
from tagline.training.online.mira import MiraPass
from tagline.training.running.callbacks import TrainingState
from tagline.training.sharing import Shared

STEADY = 3  # iterations below eta that end training
SHARE = 0.25  # of eta: our steps come nearer to the optimum, so as to end no higher than CRF++
EVERY = 100  # sentences, in the line that tells how reading goes


class Log:
    """Writes to a stream; each line is there at once."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def head(self) -> None:
        """Say who writes."""
        self._write(f"crf_learn of tagline {__version__}\nOptions, log and models are those of CRF++ {VERSION}\n\n")

    def read(self, sentences: int, seconds: float) -> None:
        """Say that the sentences are read."""
        counts = "".join(f"{count}.. " for count in range(EVERY, sentences + 1, EVERY))
        self._write(f"reading training data: {counts}\nDone!{seconds:.2f} s\n\n")

    def settings(
        self, sentences: int, weights: int, threads: int, freq: int, eta: float, cost: float, rest: int
    ) -> None:
        """Say what is trained, and how."""
        for name, value in (
            ("Number of sentences:", sentences),
            ("Number of features:", weights),
            ("Number of thread(s):", threads),
            ("Freq:", freq),
            ("eta:", f"{eta:.5f}"),
            ("C:", f"{cost:.5f}"),
            ("shrinking size:", rest),
        ):
            self._write(f"{name:21}{value}\n")

    def line(self, text: str) -> None:
        """Write a line."""
        self._write(f"{text}\n")

    def end(self, seconds: float) -> None:
        """Say that the model is written."""
        self._write(f"\nDone!{seconds:.2f} s\n\n")

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


class CRFLog:
    """The lines of a CRF, and when it is enough.

    Arguments:
        log: where lines go.
        likelihood: what is trained.
        together: attributes that share weights.
        eta: training ends after three relative changes below it.
        sparse: whether the penalty is L1.
    """

    def __init__(self, log: Log, likelihood: Likelihood, together: Shared, eta: float, sparse: bool) -> None:
        self._log, self._likelihood, self._together, self._eta = log, likelihood, together, eta
        self._sparse = sparse
        self._tokens = int(likelihood.features.offsets[-1])
        structure = likelihood.structure
        self._grown = structure.num_labels * (len(together.group_of) - len(together.sizes))
        self._before, self._steady = math.inf, 0

    def start(self, most: int) -> None:
        """Write the line of zero weights, where every labelling is as likely and the first one is chosen."""
        if most < 1:
            return
        wrong = self._likelihood.targets.labels != 0
        offsets = self._likelihood.features.offsets
        sentences = np.add.reduceat(wrong, offsets[:-1])  # none is empty
        objective = self._tokens * math.log(self._likelihood.structure.num_labels)
        active = 0 if self._sparse else self._likelihood.size + self._grown
        self._line(0, int(wrong.sum()), int(np.count_nonzero(sentences)), active, objective, 1.0)
        self._before = objective

    def passed(self, state: TrainingState) -> bool:
        """Write the line of an iteration; True where it is the last."""
        labels, sentences = self._likelihood.core.mistakes()
        change = abs(self._before - state.objective) / self._before
        self._line(state.pass_, labels, sentences, self._active(state), state.objective, change)
        self._before = state.objective
        self._steady = self._steady + 1 if change < SHARE * self._eta else 0
        return self._steady == STEADY

    def _active(self, state: TrainingState) -> int:
        """How many weights are not 0 with an L1 penalty; without one CRF++ counts all."""
        structure, sizes = self._likelihood.structure, self._together.sizes
        if not self._sparse:
            return structure.size + self._grown
        nonzero = state.weights() != 0
        states = nonzero[structure.parts["states"]].reshape(-1, structure.num_labels)
        return int(states.sum(axis=1) @ sizes + nonzero[structure.parts["states"].stop :].sum())

    def _line(self, number: int, labels: int, sentences: int, active: int, objective: float, change: float) -> None:
        B = self._likelihood.num_sentences
        self._log.line(
            f"iter={number} terr={labels / self._tokens:.5f} serr={sentences / B:.5f} act={active} "
            f"obj={objective:.5f} diff={change:.5f}"
        )


def mira_line(done: MiraPass, tokens: int, sentences: int) -> str:
    """Write the line of a pass of MIRA."""
    return (
        f"iter={done.number} terr={done.wrong_labels / tokens:.5f} serr={done.wrong_sentences / sentences:.5f} "
        f"act={done.active} uact={done.limited} obj={done.norm:.5f} kkt={done.violation:.5f}"
    )
