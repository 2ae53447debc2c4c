"""How each algorithm of `choices` is run: one table.

A model hands over which weights there are, the labelled sentences and its settings; `train` makes the likelihood and
`minimise` runs the algorithm with its own settings and those of the objective that it knows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tagline.features.attributes import Features
from tagline.features.weights import Structure
from tagline.readers.rules import Rules
from tagline.training.auto import auto, stochastic_passes
from tagline.training.choices import AlgorithmSettings, Auto
from tagline.training.gradient_descent import gd
from tagline.training.iteration import Convergence
from tagline.training.iterative_scaling import iis
from tagline.training.lbfgs import lbfgs
from tagline.training.likelihood import Likelihood, Targets
from tagline.training.online.arow import arow
from tagline.training.online.averaged_perceptron import ap
from tagline.training.online.passive_aggressive import pa
from tagline.training.owlqn import owlqn
from tagline.training.run import Run, Trained
from tagline.training.stochastic_descent import sgd
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


def _lbfgs_or_owlqn(likelihood: Likelihood, start: ArrayLike, *, c1: float, **arguments: Any) -> Trained:
    return owlqn(likelihood, start, c1=c1, **arguments) if c1 > 0 else lbfgs(likelihood, start, **arguments)


_EXACT = ("auto", "lbfgs", "owlqn")  # those that must know how exact the objective is
_SEEDED = ("auto", "sgd", "ap", "pa", "arow")
_RUNS: Mapping[str, Callable[..., Trained]] = {
    "auto": auto,
    "lbfgs": _lbfgs_or_owlqn,
    "owlqn": owlqn,
    "sgd": sgd,
    "gd": gd,
    "iis": iis,
    "ap": ap,
    "pa": pa,
    "arow": arow,
}


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
    return minimise(likelihood, start, settings, run, convergence)


def precision_of(settings: Settings, tokens: int) -> str:
    """Return the precision of a likelihood of so many tokens."""
    small = settings.precision == "auto" and tokens <= SMALL
    return "float64" if small or settings.precision == "float64" else "float32"


def minimise(
    likelihood: Any, start: Float64Array, settings: Settings, run: Run, convergence: Convergence | None = None
) -> Trained:
    """Run the algorithm of the settings on a likelihood, or on what stands for one.

    Arguments:
        convergence: when it has arrived, for algorithms that can tell; as the algorithm says where it is left out.
    """
    algorithm = settings.algorithm
    arguments = {name: value for name, value in algorithm.settings.items() if name not in STOPPING}
    if arguments.get("passes", ...) is None:
        del arguments["passes"]  # each has its own number
    arguments |= {name: float(getattr(settings, name)) for name in algorithm.penalties}  # NumPy's integers have an end
    if algorithm.settles:
        arguments["convergence"] = convergence or convergence_of(algorithm)
    if algorithm.name in _SEEDED:
        arguments["seed"] = settings.seed
    if algorithm.name in _EXACT and likelihood.precision == "float64":
        arguments |= {"dtype": np.float64, "noise": 1e-13}
    return _RUNS[algorithm.name](likelihood, start, run=run, **arguments)


def convergence_of(algorithm: AlgorithmSettings, tolerance: float | None = None, settles: bool = True) -> Convergence:
    """Return when an algorithm has converged: by its own rule, or where a tolerance is proven; never without either."""
    known = algorithm.settings
    own = settles and tolerance is None
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
