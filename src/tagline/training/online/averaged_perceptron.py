"""The averaged perceptron (Collins 2002): w += F(y, x) − F(ŷ, x) wherever the best labelling ŷ is wrong."""

from __future__ import annotations

from numpy.typing import ArrayLike

from tagline.training.iteration import Convergence
from tagline.training.likelihood import Likelihood
from tagline.training.online.learner import learn
from tagline.training.run import Run, Trained


def ap(
    likelihood: Likelihood,
    start: ArrayLike,
    *,
    passes: int | None = None,
    averaged: bool = True,
    seed: int = 0,
    convergence: Convergence | None = None,
    run: Run | None = None,
) -> Trained:
    """Learn weights from mistakes; arguments as of `tagline.training.online.learner.learn`."""
    return learn(likelihood, start, "ap", passes=passes, averaged=averaged, seed=seed, convergence=convergence, run=run)
