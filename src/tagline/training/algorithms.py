"""How each algorithm of `choices` is run.

A model hands over which weights there are, the labelled sentences and its settings; `train` makes the likelihood, and
`algorithm_for` what the run follows, with its own settings and those of the objective that it knows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tagline.features.attributes import Features
from tagline.features.weights import Structure
from tagline.readers.rules import Rules
from tagline.training.auto import BothPasses, stochastic_passes
from tagline.training.choices import IIS, LBFGS, OWLQN, SGD, AlgorithmSettings, Auto, GradientDescent
from tagline.training.gradient_descent import GradientWalk
from tagline.training.iteration import Algorithm, Convergence
from tagline.training.iterative_scaling import ScalingPasses
from tagline.training.lbfgs import LBFGSWalk
from tagline.training.likelihood import Likelihood, Targets
from tagline.training.objective import as_weights
from tagline.training.online.learner import OnlinePasses
from tagline.training.owlqn import OWLQNWalk
from tagline.training.run import Run, Trained
from tagline.training.scaling_sums import SentenceSums
from tagline.training.stochastic_descent import StochasticPasses
from tagline.types import Float64Array

SMALL = 5_000  # tokens up to which training is done in float64
STOPPING = ("epsilon", "period", "delta")  # settings of algorithms that `Convergence` has


@dataclass(frozen=True)
class Settings:
    """How to train.

    Attributes:
        algorithm: with its settings.
        c1, c2: strengths of the penalties c1·|w|₁ + c2·|w|², where the algorithm has them.
        seed: of the order of the sentences.
        precision: "float32", "float64", or "auto": float64 for up to `SMALL` tokens.
        local: whether each token is normalised by itself, given the label before it, as in an MEMM.
    """

    algorithm: AlgorithmSettings = field(default_factory=Auto)
    c1: float = 0.0
    c2: float = 1.0
    seed: int = 0
    precision: str = "auto"
    local: bool = False


def train(
    structure: Structure,
    features: Features,
    targets: Targets,
    rules: Rules | None,
    start: Float64Array,
    settings: Settings,
    run: Run,
    convergence: Convergence | None = None,
    scratch: Path | None = None,
) -> Trained:
    """Find weights ``[structure.size]`` from `start` on; with a scratch folder, sentences are read from there."""
    precision = precision_of(settings, features.num_tokens)
    likelihood = Likelihood(structure, features, targets, rules, precision, scratch, settings.local)
    return run.finish(algorithm_for(likelihood, start, settings, run.max_iterations, convergence))


def precision_of(settings: Settings, tokens: int) -> str:
    """Return the precision of a likelihood of so many tokens."""
    small = settings.precision == "auto" and tokens <= SMALL
    return "float64" if small or settings.precision == "float64" else "float32"


def algorithm_for(
    likelihood: Any,
    start: ArrayLike,
    settings: Settings,
    limit: int | None = None,
    convergence: Convergence | None = None,
) -> Algorithm:
    """Return what a run follows: the algorithm of the settings on a likelihood, or on what stands for one.

    Arguments:
        start: ``[size]``, not changed.
        limit: of passes, which `auto` deals out to its two stages.
        convergence: when it has arrived, for algorithms that can tell; as the algorithm says where it is left out.
    """
    how, start = settings.algorithm, as_weights("start", start)
    c1, c2 = float(settings.c1), float(settings.c2)  # NumPy's integers have an end
    convergence = convergence or convergence_of(how)
    exact: dict[str, Any] = {"dtype": np.float64, "noise": 1e-13} if likelihood.precision == "float64" else {}
    match how:
        case Auto():
            passes = stochastic_passes(how.passes, limit)
            exact |= {"memory": how.memory, "convergence": convergence}
            return BothPasses(likelihood, start, c1=c1, c2=c2, passes=passes, seed=settings.seed, **exact)
        case LBFGS():
            kind = OWLQNWalk if c1 > 0 or isinstance(how, OWLQN) else LBFGSWalk
            exact |= {"memory": how.memory, "max_linesearch": how.max_linesearch}
            return kind(likelihood, start, (c1, c2), convergence=convergence, **exact)
        case SGD():
            rates: dict[str, Any] = {"rate": how.rate, "batch": how.batch, "averaged": how.averaged}
            return StochasticPasses(likelihood, start, c1=c1, c2=c2, passes=how.passes, seed=settings.seed, **rates)
        case IIS():
            return ScalingPasses(SentenceSums(likelihood), start, c2, convergence)
        case GradientDescent():
            return GradientWalk(likelihood, start, (c1, c2), convergence=convergence)
        case _:  # those that learn from mistakes; what else they know is a matter of their rules
            own = {name: value for name, value in how.settings.items() if name not in STOPPING}
            return OnlinePasses(likelihood, start, how.name, seed=settings.seed, convergence=convergence, **own)


def convergence_of(algorithm: AlgorithmSettings, tolerance: float | None = None) -> Convergence:
    """Return when an algorithm has converged: by its own rule, or where a tolerance is proven; never without either."""
    known, own = algorithm.settings, tolerance is None
    return Convergence(
        known.get("epsilon", 0.0) * own, known.get("period", 0), known.get("delta", 0.0) * own, tolerance
    )


def run_settings(settings: Settings, max_iterations: int | None) -> dict[str, Any]:
    """Return the settings that must be the same for a run to be resumed; when to stop may differ."""
    own = {name: value for name, value in settings.algorithm.settings.items() if name not in STOPPING}
    if settings.algorithm.name == "auto":  # the limit decides only where few passes are dealt out to its two algorithms
        own["passes"] = stochastic_passes(own["passes"], max_iterations)
    facts = {name: value for name, value in vars(settings).items() if name != "local"}  # the kind of model says it
    return {**facts, "algorithm": settings.algorithm.name, **own}
