"""MIRA as CRF++ trains it: sentences in their order, each allowed a summed change of C; no averaging.

The step is that of ``core/training/mira.h``. A sentence that was right in `rest` passes on end is left out until a pass
finds no violation; two such passes in turn end training.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tagline import compiled
from tagline.training.likelihood import Likelihood
from tagline.types import Float64Array

MOST_RIGHT = 255  # passes on end that are counted
QUIET = 2  # passes without a violation that end it


@dataclass(frozen=True)
class MiraPass:
    """What a pass found.

    Attributes:
        number: of the pass, from 0.
        wrong_labels, wrong_sentences: before they were learned from.
        active: sentences that were looked at.
        limited: sentences whose change C cut off.
        norm: |w|² after the pass.
        violation: the largest missing margin of the others.
    """

    number: int
    wrong_labels: int
    wrong_sentences: int
    active: int
    limited: int
    norm: float
    violation: float


def mira(
    likelihood: Likelihood,
    *,
    c: float = 1.0,
    rest: int = 20,
    passes: int = 100_000,
    report: Callable[[MiraPass], object] = lambda _: None,
) -> Float64Array:
    """Learn weights ``[size]`` from zeros.

    Arguments:
        likelihood: the labelled sentences, all labels known, in float64.
        c: what the changes of one sentence may add up to.
        rest: after so many passes in which a sentence was right it rests.
        passes: at most.
        report: called after each.
    """
    learner = compiled.require().Mira(likelihood.core, c)
    right = np.zeros(likelihood.num_sentences, np.int64)
    quiet = 0
    weights: Float64Array = np.asarray(learner.weights())
    for number in range(passes):
        order = np.flatnonzero(right < rest)
        errors, labels, sentences, limited, violation = learner.run(order)
        right[order] = np.where(np.asarray(errors) == 0, np.minimum(right[order] + 1, MOST_RIGHT), 0)
        weights = np.asarray(learner.weights())
        report(MiraPass(number, labels, sentences, len(order), limited, float(weights @ weights), violation))
        quiet = quiet + 1 if violation <= 0 else 0
        if violation <= 0:
            right[:] = 0
        if quiet == QUIET:
            break
    return weights
