"""What does changing the import bring? tagline.interop.hmmlearn against hmmlearn, by the same calls.

    python benchmarks/hmmlearn_import.py             200 sentences of 100 observations
    python benchmarks/hmmlearn_import.py --quick     a tenth of them

Both sides have the same class, parameters and data. A step of EM is ``fit`` with n_iter=1 and init_params="". Of
hmmlearn's implementations, "log" and "scaling", the faster one is taken for each work; ours is the default. CPU seconds
of one thread, medians of turns. Before anything is timed, log-likelihoods must agree to 1e-9 relative, and so must
those after three steps; for mixtures, whose M steps differ, ours must not be lower than hmmlearn's.
"""

from __future__ import annotations

import argparse
import logging
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import timing
from feature_crf.tables import markdown, seconds, times
from hmmlearn import hmm as their_hmm
from numpy.typing import NDArray

import tagline
from tagline import compiled
from tagline.interop.hmmlearn import hmm as our_hmm

CASES = [
    ("CategoricalHMM", {}, 10),
    ("CategoricalHMM", {}, 50),
    ("GaussianHMM", {"covariance_type": "diag"}, 10),
    ("GaussianHMM", {"covariance_type": "diag"}, 50),
    ("GaussianHMM", {"covariance_type": "full"}, 10),
    ("GMMHMM", {"n_mix": 3, "covariance_type": "diag"}, 10),
    ("MultinomialHMM", {"n_trials": 8}, 10),
    ("PoissonHMM", {}, 10),
]
STEP = "a step of EM"
WORKS = (STEP, "predict", "score", "score_samples")
SYMBOLS, DIMENSIONS = 100, 5
STEPS, AGREEMENT = 3, 1e-9
ROUNDS = 5


def parameters(name: str, settings: dict[str, Any], K: int, seed: int) -> dict[str, NDArray[Any]]:
    """Draw those of one model."""
    rng = np.random.default_rng(seed)
    drawn = {"startprob_": rng.dirichlet(np.ones(K)), "transmat_": rng.dirichlet(np.full(K, 0.5), K)}
    if name in ("CategoricalHMM", "MultinomialHMM"):
        return drawn | {"emissionprob_": rng.dirichlet(np.full(SYMBOLS, 0.5), K)}
    if name == "PoissonHMM":
        return drawn | {"lambdas_": rng.uniform(1, 9, (K, DIMENSIONS))}
    states = (K, settings["n_mix"]) if name == "GMMHMM" else (K,)
    variances = rng.uniform(0.5, 2, (*states, DIMENSIONS))
    drawn |= {"means_": rng.normal(0, 3, (*states, DIMENSIONS)), "covars_": variances}
    if settings["covariance_type"] == "full":
        drawn["covars_"] = variances[..., None] * np.eye(DIMENSIONS)
    return drawn | ({"weights_": rng.dirichlet(np.ones(states[1]), K)} if name == "GMMHMM" else {})


def model(module: Any, name: str, settings: dict[str, Any], K: int, values: dict[str, Any], **more: Any) -> Any:
    """Make a model of either library."""
    made = getattr(module, name)(K, **settings, init_params="", tol=-np.inf, **more)
    for attribute, value in values.items():
        setattr(made, attribute, value.copy())
    return made


def disagreement(ours: Any, theirs: Any, X: Any, lengths: Any, mixture: bool) -> str | None:
    """Say what differs before and after some steps."""
    for when in ("at the start", f"after {STEPS} steps"):
        mine, other = ours.score(X, lengths), theirs.score(X, lengths)
        ahead = mixture and when != "at the start" and mine >= other
        if not ahead and abs(mine - other) > AGREEMENT * abs(other):
            return f"log-likelihood {when}: {mine!r} against {other!r}"
        ours.fit(X, lengths)
        theirs.fit(X, lengths)
    return None


def cpu_seconds(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Take turns; the median of each."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            begin = time.process_time()
            call()
            taken[name].append(time.process_time() - begin)
    return {name: statistics.median(samples) for name, samples in taken.items()}


def rows_of(name: str, settings: dict[str, Any], K: int, sentences: int) -> list[list[str]]:
    """Compare one class by all works."""
    X, _ = model(our_hmm, name, settings, K, parameters(name, settings, K, 1)).sample(100 * sentences, random_state=0)
    values, lengths = parameters(name, settings, K, 2), [100] * sentences

    def make(module: Any, steps: int = 1, implementation: str = "log") -> Any:
        return model(module, name, settings, K, values, n_iter=steps, implementation=implementation)

    if problem := disagreement(make(our_hmm, STEPS), make(their_hmm, STEPS), X, lengths, name == "GMMHMM"):
        sys.exit(f"{name}, {K} states: {problem}; nothing was timed")
    sides = {"ours": (our_hmm, "log"), "log": (their_hmm, "log"), "scaling": (their_hmm, "scaling")}

    def ask(side: str, work: str) -> object:
        asked = make(sides[side][0], 1, sides[side][1])
        return asked.fit(X, lengths) if work == STEP else getattr(asked, work)(X, lengths)

    rows = []
    for work in WORKS:
        taken = cpu_seconds({side: partial(ask, side, work) for side in sides})
        rival = min(("log", "scaling"), key=taken.__getitem__)
        label = f"{name}{', ' + settings['covariance_type'] if 'covariance_type' in settings else ''}"
        pair = [f"{seconds(taken[rival])} ({rival})", seconds(taken["ours"]), times(taken[rival] / taken["ours"])]
        rows.append([label, str(K), work, *pair])
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the data")
    sentences = 20 if parser.parse_args().quick else 200
    logging.getLogger("hmmlearn").setLevel(logging.ERROR)
    timing.set_threads(1)
    versions = timing.versions(("numpy", "hmmlearn", "scikit-learn"))
    print(
        f"{timing.machine()}; tagline {tagline.__version__} ({compiled.cpu()}), {versions}; one thread, CPU seconds.\n"
    )
    with timing.blas_threads(1):
        rows = [row for case in CASES for row in rows_of(*case, sentences)]
    print(markdown(["class", "states", "work", "hmmlearn", "Tagline", ""], rows))


if __name__ == "__main__":
    main()
