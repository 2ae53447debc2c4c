"""From features and labels to weights: which weights there are, which algorithm finds them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tagline.errors import InputError
from tagline.features.attributes import Attributes, Features
from tagline.features.weights import Structure
from tagline.models.targets import LabelledTokens
from tagline.readers.roles import Rules
from tagline.training.arow import arow
from tagline.training.auto import auto
from tagline.training.averaged_perceptron import ap
from tagline.training.gradient_descent import gd
from tagline.training.lbfgs import lbfgs
from tagline.training.likelihood import Likelihood, Targets
from tagline.training.monitor import Monitor, Trained
from tagline.training.owlqn import owlqn
from tagline.training.passive_aggressive import pa
from tagline.training.stochastic_descent import sgd
from tagline.types import Float64Array, IntArray

SMALL = 5_000  # tokens up to which training is done in float64

ALGORITHMS = ("auto", "lbfgs", "owlqn", "sgd", "gd", "ap", "pa", "arow")


@dataclass(frozen=True)
class Settings:
    """What `fit` was told about training."""

    algorithm: str = "auto"
    c1: float = 0.0
    c2: float = 1.0
    memory: int = 10
    passes: int | None = None
    seed: int = 0
    precision: str = "auto"
    options: dict[str, Any] | None = None


def train(
    structure: Structure,
    features: Features,
    targets: Targets,
    rules: Rules | None,
    start: Float64Array,
    settings: Settings,
    monitor: Monitor,
    scratch: Path | None = None,
) -> Trained:
    """Find weights ``[structure.size]`` from `start` on; with a scratch folder, sentences are read from there."""
    if settings.algorithm not in ALGORITHMS:
        raise InputError(f"algorithm: expected one of {', '.join(ALGORITHMS)}, got {settings.algorithm!r}")
    for name, value in (("c1", settings.c1), ("c2", settings.c2)):
        if not (np.isfinite(value) and value >= 0):
            raise InputError(f"{name}: expected a number of 0 or more, got {value}")
    if isinstance(settings.seed, bool) or not isinstance(settings.seed, int | np.integer) or settings.seed < 0:
        raise InputError(f"random_state: expected a whole number of 0 or more, got {settings.seed!r}")
    if settings.precision not in ("auto", "float32", "float64"):
        raise InputError(f"precision: expected auto, float32 or float64, got {settings.precision!r}")
    small = settings.precision == "auto" and features.num_tokens <= SMALL
    precision = "float64" if small or settings.precision == "float64" else "float32"
    likelihood = Likelihood(structure, features, targets, rules, precision, scratch)
    return _run(likelihood, start, settings, monitor)


def _run(likelihood: Likelihood, start: Float64Array, s: Settings, monitor: Monitor) -> Trained:
    passes: dict[str, Any] = {} if s.passes is None else {"passes": s.passes}
    more = dict(s.options or {})
    batch: dict[str, Any] = {"c2": s.c2, "monitor": monitor}
    if likelihood.precision == "float64":
        batch |= {"dtype": np.float64, "noise": 1e-13}
    run: dict[str, Callable[[], Trained]] = {
        "auto": lambda: auto(likelihood, start, c1=s.c1, memory=s.memory, seed=s.seed, **batch, **passes, **more),
        "lbfgs": lambda: (
            owlqn(likelihood, start, c1=s.c1, memory=s.memory, **batch, **more)
            if s.c1 > 0
            else lbfgs(likelihood, start, memory=s.memory, **batch, **more)
        ),
        "owlqn": lambda: owlqn(likelihood, start, c1=s.c1, memory=s.memory, **batch, **more),
        "gd": lambda: gd(likelihood, start, c2=s.c2, monitor=monitor, **more),
        "sgd": lambda: sgd(likelihood, start, c1=s.c1, c2=s.c2, seed=s.seed, monitor=monitor, **passes, **more),
        "ap": lambda: ap(likelihood, start, seed=s.seed, monitor=monitor, **passes, **more),
        "pa": lambda: pa(likelihood, start, seed=s.seed, monitor=monitor, **passes, **more),
        "arow": lambda: arow(likelihood, start, seed=s.seed, monitor=monitor, **passes, **more),
    }
    return run[s.algorithm]()


def some_sentences(features: Features, first: int, last: int) -> Features:
    """Sentences first … last − 1; the arrays are views."""
    begin, end = int(features.bounds[first]), int(features.bounds[last])

    def cut(of: Attributes) -> Attributes:
        low, high = of.offsets[begin], of.offsets[end]
        values = None if of.values is None else of.values[low:high]
        return Attributes(of.offsets[begin : end + 1] - low, of.ids[low:high], values)

    bounds = features.bounds[first : last + 1] - begin
    return Features(bounds, cut(features.states), None if features.edges is None else cut(features.edges))


def take_sentences(features: Features, labelled: LabelledTokens, kept: IntArray) -> tuple[Features, LabelledTokens]:
    """The sentences that are kept, features and labels."""
    B = len(features.bounds) - 1
    if len(kept) == B:
        return features, labelled
    lengths = np.diff(features.bounds)[kept]
    bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    tokens = np.repeat(features.bounds[kept] - bounds[:-1], lengths) + np.arange(bounds[-1])

    def cut(of: Attributes) -> Attributes:
        counts = np.diff(of.offsets)[tokens]
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        entries = np.repeat(of.offsets[tokens] - offsets[:-1], counts) + np.arange(offsets[-1])
        return Attributes(offsets, of.ids[entries], None if of.values is None else of.values[entries])

    places = {int(n): t for t, n in enumerate(tokens)}
    sets = {places[n]: some for n, some in labelled.sets.items() if n in places}
    source = None if labelled.source is None else labelled.source.take(kept)
    return (
        Features(bounds, cut(features.states), None if features.edges is None else cut(features.edges)),
        LabelledTokens(labelled.labels, labelled.ids[tokens], sets, bounds, source),
    )
