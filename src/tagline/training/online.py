"""What the online algorithms share: one sentence at a time, and weights that change where the best labelling is wrong.

A pass goes through the sentences in an order of its own; the core decodes and changes weights. No objective is
minimised: the numbers that a pass reports are the summed losses of the sentences, each before its change.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tagline import compiled
from tagline.training.likelihood import Likelihood
from tagline.training.monitor import Monitor, Point, Points, Trained, norm
from tagline.training.objective import as_weights

PASSES = 100


def learn(
    likelihood: Likelihood,
    start: ArrayLike,
    rule: str,
    *,
    passes: int | None = None,
    averaged: bool = True,
    seed: int = 0,
    monitor: Monitor | None = None,
    **settings: Any,
) -> Trained:
    """Run an online rule of the core: ``ap``, ``pa`` or ``arow``.

    Arguments:
        likelihood: the labelled sentences and which weights there are.
        start: ``[size]``, not changed.
        passes: over the sentences, at most; it ends earlier when a pass finds no mistake.
        averaged: return the average of the weights over all sentences seen rather than the last ones.
        seed: of the order of the sentences.
        monitor: when to stop and whom to tell.
        settings: of the rule.
    """
    assert compiled.core is not None
    kind = compiled.core.Online32 if likelihood.precision == "float32" else compiled.core.Online64
    core = kind(likelihood.core, rule, **settings)
    weights = as_weights("start", start)
    core.set(weights)
    watch = monitor or Monitor(epsilon=0, delta=0)
    return watch.follow(
        _points(core, weights, likelihood.num_sentences, PASSES if passes is None else passes, averaged, seed), weights
    )


def _points(core: Any, start: Any, B: int, passes: int, averaged: bool, seed: int) -> Points:
    yield Point(start, float("nan"))
    random = np.random.default_rng(seed)
    for _ in range(passes):
        loss, wrong = core.run(random.permutation(B).astype(np.int64))
        weights = core.get(bool(averaged))
        yield Point(weights, loss, weight_norm=norm(weights), active=int(np.count_nonzero(weights)))
        if wrong == 0:
            return "converged: every sentence is labelled right"
    return "passes"
