"""The choice of an algorithm by its name: one table of what each algorithm can use, and how it is run.

A model hands over which weights there are, the labelled sentences and its settings; `train` checks the settings
and makes the likelihood, and `minimise` runs the algorithm with the settings that it knows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tagline.checks import check_choice, check_mapping, check_number, check_switch, check_whole
from tagline.errors import InputError
from tagline.features.attributes import Features
from tagline.features.weights import Structure
from tagline.readers.rules import Rules
from tagline.training.auto import auto, stochastic_passes
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
MOST_MEMORY = 10_000  # steps: each costs two vectors, and their products a row and a column
MOST_PASSES = 2**31 - 1

# Values of c1 and c2 that ask for no penalty: 0, and the default, which stands there if nothing was said.
NOT_ASKED = {"c1": (0.0,), "c2": (0.0, 1.0)}


@dataclass(frozen=True)
class Settings:
    """How to train.

    Attributes:
        algorithm: a name of `ALGORITHMS`.
        c1, c2: strengths of the penalties c1·|w|₁ + c2·|w|². A value other than 0 and the default is an error where
            the algorithm has no such penalty.
        memory: steps that L-BFGS remembers.
        passes: of stochastic and online algorithms; None for as many as the algorithm makes by default.
        seed: of the order of the sentences.
        precision: "float32", "float64", or "auto": float64 for up to `SMALL` tokens.
        options: further arguments of the algorithm, by name.
        local: whether each token is normalised by itself, given the label before it, as in an MEMM.
    """

    algorithm: str = "auto"
    c1: float = 0.0
    c2: float = 1.0
    memory: int = 10
    passes: int | None = None
    seed: int = 0
    precision: str = "auto"
    options: dict[str, Any] | None = None
    local: bool = False


@dataclass(frozen=True)
class Algorithm:
    """One way to find weights.

    Attributes:
        run: called as ``run(likelihood, start, run=…, …)``, with the settings that it uses.
        uses: the names of those settings; "noise" where it must know how exact the objective is.
        proves: whether its passes know the gradient, and with c2 > 0 how far the optimum is at most.
        settles: whether it can tell when it has converged.
    """

    run: Callable[..., Trained]
    uses: frozenset[str]
    proves: bool = False
    settles: bool = True


def _lbfgs_or_owlqn(likelihood: Likelihood, start: ArrayLike, *, c1: float, **arguments: Any) -> Trained:
    return owlqn(likelihood, start, c1=c1, **arguments) if c1 > 0 else lbfgs(likelihood, start, **arguments)


ALGORITHMS = {
    "auto": Algorithm(auto, frozenset({"c1", "c2", "memory", "passes", "seed", "noise"}), proves=True),
    "lbfgs": Algorithm(_lbfgs_or_owlqn, frozenset({"c1", "c2", "memory", "noise"}), proves=True),
    "owlqn": Algorithm(owlqn, frozenset({"c1", "c2", "memory", "noise"}), proves=True),
    "sgd": Algorithm(sgd, frozenset({"c1", "c2", "passes", "seed"}), settles=False),
    "gd": Algorithm(gd, frozenset({"c1", "c2"}), proves=True),
    "iis": Algorithm(iis, frozenset({"c2"}), proves=True),
    "ap": Algorithm(ap, frozenset({"passes", "seed"})),
    "pa": Algorithm(pa, frozenset({"passes", "seed"})),
    "arow": Algorithm(arow, frozenset({"passes", "seed"})),
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
    check_settings(settings)
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
        convergence: when it has arrived, for algorithms that can tell.
    """
    algorithm = ALGORITHMS[settings.algorithm]
    arguments = {**_arguments(algorithm, settings, likelihood.precision), **(settings.options or {})}
    if algorithm.settles:
        arguments["convergence"] = convergence
    return algorithm.run(likelihood, start, run=run, **arguments)


def _arguments(algorithm: Algorithm, settings: Settings, precision: str) -> dict[str, Any]:
    values = {name: getattr(settings, name) for name in sorted(algorithm.uses - {"noise"})}
    values |= {name: float(values[name]) for name in ("c1", "c2") if name in values}  # integers of NumPy have an end
    if values.get("passes", ...) is None:
        del values["passes"]
    if "noise" in algorithm.uses and precision == "float64":
        values |= {"dtype": np.float64, "noise": 1e-13}
    return values


def run_settings(settings: Settings, max_iterations: int | None) -> dict[str, Any]:
    """Return the settings that must be the same for a run to be resumed; when to stop may differ."""
    facts = {name: value for name, value in vars(settings).items() if name != "local"}  # the kind of model says it
    if settings.algorithm == "auto":  # the limit decides only where few passes are dealt out to its two algorithms
        facts["passes"] = stochastic_passes(settings.passes, max_iterations)
    return facts


def check_settings(settings: Settings) -> None:
    """Raise where `train` could not use these settings."""
    check_choice("algorithm", settings.algorithm, ALGORITHMS)
    algorithm = ALGORITHMS[settings.algorithm]
    for name, value in (("c1", settings.c1), ("c2", settings.c2)):
        check_number(name, value, least=0, wanted="a number of 0 or more")
        if name not in algorithm.uses and value not in NOT_ASKED[name]:
            able = ", ".join(other for other, entry in ALGORITHMS.items() if name in entry.uses)
            raise InputError(
                f"{name}: expected 0 for {settings.algorithm}, which has no such penalty, got {value:g}; "
                f"algorithms that have it: {able}"
            )
    check_whole("memory", settings.memory, 1, MOST_MEMORY, wanted=f"at least one step and at most {MOST_MEMORY}")
    check_whole("passes", settings.passes, 0, MOST_PASSES, optional=True)
    check_whole("random_state", settings.seed, 0)
    check_choice("precision", settings.precision, ("auto", "float32", "float64"))
    check_mapping("options", settings.options)
    functions = (lbfgs, owlqn) if settings.algorithm == "lbfgs" else (algorithm.run,)
    _check_options(settings.options or {}, functions, {*algorithm.uses - {"noise"}, "convergence", "run"})


def _check_options(options: Mapping[str, Any], functions: Sequence[Callable[..., Any]], taken: set[str]) -> None:
    """Raise unless functions take further arguments of these names and kinds.

    Arguments:
        options: the arguments.
        functions: each may take some of them.
        taken: arguments that other settings give.
    """
    known: dict[str, Parameter] = {}
    for function in functions:
        keywords = (entry for entry in signature(function).parameters.values() if entry.kind is entry.KEYWORD_ONLY)
        known |= {entry.name: entry for entry in keywords if entry.name not in taken}
    for key, value in options.items():
        if key in taken:
            raise InputError(
                f"options: expected arguments that have no setting of their own, got {key!r}; set it there"
            )
        if key not in known:
            names = ", ".join(sorted(known)) or "none, for the algorithm has no others"
            raise InputError(f"options: expected arguments among {names}, got {key!r}")
        _check_like(f"options[{key!r}]", value, known[key])


def _check_like(name: str, value: object, argument: Parameter) -> None:
    """Raise where the annotation of an argument is that of a plain type, and a value is not of it."""
    kind, _, rest = str(argument.annotation).partition(" | ")
    optional = rest == "None"
    if kind == "bool":
        check_switch(name, value)
    elif kind == "int":
        check_whole(name, value, 0, optional=optional)
    elif kind == "float":
        check_number(name, value, least=0.0, optional=optional)
