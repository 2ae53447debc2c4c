"""How the learning rate changes: by a factor between 0 and 1, a pure function of how far the run is.

    warm-up, the first share w of the run     f = p / w               p: the share of the run that is done
    linear                                    f = 1 − q               q = (p − w) / (1 − w)
    cosine                                    f = (1 + cos π q) / 2
    constant                                  f = 1
    inverse                                   f = 1 / (1 + 0.05 · whole epochs done)

A step is taken at its middle, (step + ½) / steps of its epoch, so that no step has a rate of 0. Epochs may differ in
their number of steps, as they do with a token budget.
"""

from __future__ import annotations

import math

from tagline.training.neural.settings import Descent

INVERSE = 0.05  # Ma & Hovy (2016)


def factor(schedule: str, done: float, epochs: int, warmup: float = 0.0) -> float:
    """Return what the learning rate is multiplied by.

    Arguments:
        schedule: "linear", "cosine", "constant" or "inverse".
        done: epochs, with the part of the present one.
        epochs: of the whole run.
        warmup: the share of the run over which the rate climbs.

    >>> [round(factor("linear", done, 10, warmup=0.2), 3) for done in (0.5, 1, 2, 6, 9.5)]
    [0.25, 0.5, 1.0, 0.5, 0.062]
    """
    share = done / epochs
    if share < warmup:
        return share / warmup
    rest = (share - warmup) / (1 - warmup) if warmup < 1 else 0.0
    if schedule == "linear":
        return 1 - rest
    if schedule == "cosine":
        return (1 + math.cos(math.pi * rest)) / 2
    if schedule == "inverse":
        return 1 / (1 + INVERSE * math.floor(done))
    return 1.0


def rate_of(descent: Descent, epoch: int, step: int, steps: int) -> float:
    """Return the learning rate of a step.

    Arguments:
        epoch: from 1.
        step: of the epoch, from 0.
        steps: of the epoch.
    """
    done = epoch - 1 + (step + 0.5) / steps
    return descent.learning_rate * factor(descent.schedule, done, descent.epochs, descent.warmup)
