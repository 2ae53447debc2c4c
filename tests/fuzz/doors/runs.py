"""Doors for checkpoints of training: every algorithm and every kind of model that needs no PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from tagline import CRF, HMM, MEMM, SemiCRF, TrainingState
from tests.fuzz.doors.base import Door, ensure
from tests.fuzz.doors.files import ITEMS, TAGS, WORDS
from tests.fuzz.packed import Packed, sealed

PASSES = 12  # of a run, of which a checkpoint has fewer
_SEVERAL = {"max_iterations": PASSES, "random_state": 0}
_EXACT = "epsilon=0,delta=0"  # as many passes as there may be
_SERIES = [[0, 1, 2, 0, 3], [1, 1, 2], [2, 3, 0, 1]]
_POINTS = [np.array([[0.1, 1.0], [2.0, -1.0], [0.3, 0.8]]), np.array([[2.1, -0.7], [0.2, 1.1]])]
_EM = {"max_iterations": PASSES, "tolerance": 1e-12, "random_state": 0}


def _crf(name: str = "auto", **settings: Any) -> Callable[..., Any]:
    more = {**_SEVERAL, "algorithm": f"{name}:{_EXACT}", **settings}
    return lambda callbacks, **files: CRF(callbacks=callbacks, **more).fit(ITEMS, TAGS, **files)


def _passes(name: str, **settings: Any) -> Callable[..., Any]:
    more = {"algorithm": f"{name}:passes={PASSES}", "random_state": 0, **settings}
    return lambda callbacks, **files: CRF(callbacks=callbacks, **more).fit(ITEMS, TAGS, **files)


def _patient(callbacks: Any, **files: Any) -> Any:
    model = CRF(callbacks=callbacks, algorithm=f"sgd:passes={PASSES}", patience=PASSES, random_state=0)
    return model.fit(ITEMS, TAGS, X_dev=ITEMS, y_dev=TAGS, **files)


def _semicrf(callbacks: Any, **files: Any) -> Any:
    return SemiCRF("U0:%x[0,0]\n", scheme="IOB2", callbacks=callbacks, algorithm=f"auto:{_EXACT}", **_SEVERAL).fit(
        WORDS, TAGS, **files
    )


def _memm(callbacks: Any, **files: Any) -> Any:
    return MEMM(callbacks=callbacks, algorithm=f"auto:{_EXACT}", **_SEVERAL).fit(ITEMS, TAGS, **files)


def _hmm(X: Any, **settings: Any) -> Callable[..., Any]:
    return lambda callbacks, **files: HMM(callbacks=callbacks, **{**_EM, **settings}).fit(X, **files)


RUNS: Mapping[str, tuple[Callable[..., Any], int]] = {
    "auto": (_crf(c2=0.1), 11),
    "auto, stochastic": (_crf(c2=0.1), 2),
    "lbfgs": (_crf("lbfgs", c2=0.1), 4),
    "owlqn": (_crf("owlqn", c1=0.1), 4),
    "gd": (_crf("gd", c2=0.1), 3),
    "iis": (_crf("iis", c2=0.1), 3),
    "sgd": (_passes("sgd", c2=0.1), 3),
    "sgd, c1": (_passes("sgd", c1=0.5), 3),
    "ap": (_passes("ap"), 3),
    "pa": (_passes("pa"), 3),
    "arow": (_passes("arow"), 3),
    "patience": (_patient, 3),
    "memm": (_memm, 4),
    "semicrf": (_semicrf, 4),
    "hmm": (_hmm(_SERIES, n_states=2), 3),
    "hmm, starts": (_hmm(_SERIES, n_states=2, n_init=2), PASSES + 2),
    "hmm, gaussian": (_hmm(_POINTS, n_states=2, emission="gaussian"), 3),
    "hmm, mixture": (_hmm(_POINTS, n_states=2, n_components=2, emission="mixture"), 2),
    "hmm, poisson": (_hmm([np.abs(np.rint(x)).astype(int) for x in _POINTS], n_states=2, emission="poisson"), 2),
}
"""Of each kind of run: what trains, and after how many passes it is stopped."""


def checkpoint_of(name: str, path: str) -> bytes:
    """Run until it is stopped, and return its checkpoint."""
    run, passes = RUNS[name]
    told: list[TrainingState] = []

    def stop(state: TrainingState) -> bool:
        told.append(state)
        return len(told) >= passes

    run([stop], checkpoint=path, save_every=0)
    return Path(path).read_bytes()


def go_on(name: str, path: str) -> Any:
    """Go on from a checkpoint, for as long as there is something to do; return the model."""
    return RUNS[name][0]([], checkpoint=path, save_every=3600, resume=True)


class Runs(Door):
    """Checkpoints: a run goes on from them, or says why it does not. The first byte says which run it is."""

    name = "runs"
    ways = 1

    def valid(self) -> list[bytes]:
        files = []
        for name in RUNS:
            self.remove("seed")
            files.append(checkpoint_of(name, f"{self.scratch}/seed"))
        self.remove("seed")
        self.packed = [Packed([data]) for data in files]
        return files

    def draw(self, random: Random) -> bytes:
        number = random.randrange(len(RUNS))
        return bytes([number]) + self.packed[number].damaged(random)

    def as_input(self, seed: bytes) -> bytes:
        return bytes([self.seeds.index(seed)]) + seed

    def mended(self, data: bytes) -> bytes:
        return data[:1] + sealed(data[1:])

    def use(self, data: bytes) -> None:
        name = list(RUNS)[data[0] % len(RUNS)] if data else "lbfgs"
        model = go_on(name, self.file(data[1:]))
        ensure(len(model.training_log_) >= 1, "a run without passes")
        repr(model.training_log_[-1].line())


DOORS = (Runs,)
