"""Adaptive regularisation of weights (Crammer et al. 2009; Mejer & Crammer 2010): each weight has a variance.

w += α Σ ⊙ Δ with Δ = F(y, x) − F(ŷ, x), α = l / (Δ·Σ Δ + γ), l = w·F(ŷ) − w·F(y) + wrong labels; then 1/Σ += Δ² / γ:
a weight that has been seen often moves little.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from tagline.errors import InputError
from tagline.training.iteration import Convergence
from tagline.training.likelihood import Likelihood
from tagline.training.online.learner import learn
from tagline.training.run import Run, Trained


def arow(
    likelihood: Likelihood,
    start: ArrayLike,
    *,
    variance: float = 1.0,
    gamma: float = 1.0,
    passes: int | None = None,
    seed: int = 0,
    convergence: Convergence | None = None,
    run: Run | None = None,
) -> Trained:
    """Learn weights from mistakes.

    Arguments:
        variance: of every weight at first.
        gamma: the larger, the smaller the changes.

    The others are those of `tagline.training.online.learner.learn`; the weights are not averaged.
    """
    for name, value in (("variance", variance), ("gamma", gamma)):
        if not value > 0:
            raise InputError("{}: expected a positive number, got {}", name, value)
    settings = {"variance": float(variance), "gamma": float(gamma)}
    return learn(
        likelihood,
        start,
        "arow",
        passes=passes,
        averaged=False,
        seed=seed,
        convergence=convergence,
        run=run,
        **settings,
    )
