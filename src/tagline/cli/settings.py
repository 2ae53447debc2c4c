"""Options of `tagline train` on their way to a model: what they may be, checked before anything is read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tagline.cli.kinds import option_of
from tagline.errors import InputError
from tagline.features.expansion import MOST_HASH_BITS
from tagline.models.hmm_settings import UNKNOWN_SYMBOLS
from tagline.models.smoothing import SMOOTHING
from tagline.models.targets import ON_ILLEGAL
from tagline.readers.roles import scheme
from tagline.training.algorithms import ALGORITHMS

# Settings that are numbers: the least and the most they may be.
RANGES: dict[str, tuple[float, float]] = {
    "c1": (0, math.inf),
    "c2": (0, math.inf),
    "min_frequency": (0, math.inf),
    "hash_bits": (1, MOST_HASH_BITS),
    "max_iterations": (1, math.inf),
    "max_seconds": (0, math.inf),
    "patience": (0, math.inf),
    "passes": (0, math.inf),
    "epsilon": (0, math.inf),
    "delta": (0, math.inf),
    "period": (0, math.inf),
    "random_state": (0, math.inf),
    "k": (0, math.inf),
    "hidden": (1, math.inf),
    "epochs": (1, math.inf),
    "batch_size": (1, math.inf),
    "learning_rate": (0, math.inf),
}
CHOICES = {
    "algorithm": tuple(ALGORITHMS),
    "on_illegal": ON_ILLEGAL,
    "smoothing": SMOOTHING,
    "unknown": UNKNOWN_SYMBOLS,
    "head": ("crf", "softmax"),
}


def check_settings(settings: Mapping[str, Any]) -> None:
    """Raise where a setting cannot be meant, before anything is read."""
    for name, value in settings.items():
        option = option_of(name)
        least, most = RANGES.get(name, (-math.inf, math.inf))
        if isinstance(value, int | float) and not least <= value <= most:
            span = f"{least:g} or more" if most == math.inf else f"{least:g} to {most:g}"
            raise InputError(f"{option}: expected a number, {span}, got {value}")
        choices = CHOICES.get(name)
        if choices is not None and not isinstance(value, int | float) and value not in choices:
            raise InputError(f"{option}: expected one of {', '.join(choices)}, got {value!r}")
    if settings.get("scheme") not in (None, "auto"):
        scheme(settings["scheme"])


def most_passes(algorithm: str, max_iterations: int | None, passes: int | None) -> int | None:
    """Return how many passes there can be at most; None for no limit.

    >>> most_passes("auto", 50, 20), most_passes("sgd", 50, 20), most_passes("auto", None, None)
    (50, 20, None)
    """
    stochastic = algorithm in ("sgd", "ap", "pa", "arow")
    return min((limit for limit in (max_iterations, passes if stochastic else None) if limit is not None), default=None)


def label_weights_of(text: str | None) -> str | dict[str, float] | None:
    """Read ``balanced``, or ``LABEL=NUMBER`` with commas between.

    >>> label_weights_of("B-PER=2,O=0.5")
    {'B-PER': 2.0, 'O': 0.5}
    """
    if text is None or text == "balanced":
        return text
    found = {}
    for part in text.split(","):
        label, _, number = part.rpartition("=")
        try:
            found[label] = float(number)
        except ValueError:
            label = ""
        if not label:
            raise InputError(f"--label-weights: expected balanced or LABEL=NUMBER,…, got {part!r}")
    return found
