"""Whom to tell after each pass: one callback for all models, ``callback(state) -> bool | None``; True stops.

Every model calls it with a `TrainingState` after each pass over its sentences (an epoch of a network, a step of EM;
a model that counts makes one pass). Stopping is what Ctrl-C does: what was learned is kept, and `stop_reason_` is
"callback".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, TypeAlias

from tagline.errors import InputError
from tagline.training.certificate import relative_gap

if TYPE_CHECKING:
    from tagline.training.iteration import Step


@dataclass(frozen=True, eq=False)
class TrainingState:
    """Where training stands after a pass: what a callback is called with.

    Attributes:
        pass_: which pass it is, from 1; `epoch` is the same number.
        objective: what training makes smaller, or larger for an HMM: with the penalties, or a network's mean loss.
        gap: how far the objective is from its optimum at most (`tagline.training.certificate`); None where that is not
            known. `relative_gap` is its share of the optimum.
        dev_score: of the dev set, the higher the better; None where there is none.
        seconds: since training began, those before it was resumed included.
        progress: the entry of `training_log_`, whose other numbers are attributes of the state, too.

    `weights()` copies what the model has learned so far. Ask within the callback: later passes change it.

    >>> import tagline
    >>> def stop_early(state):
    ...     print(state.pass_, state.objective > 0, state.weights().shape)
    ...     return state.pass_ == 2
    >>> X, y = [[{"w": "Anna"}, {"w": "sings"}]], [["N", "V"]]
    >>> tagline.CRF(algorithm="lbfgs", callbacks=[stop_early]).fit(X, y).stop_reason_
    1 True (3,)
    2 True (3,)
    'callback'
    """

    pass_: int
    objective: float
    gap: float | None
    dev_score: float | None
    seconds: float
    progress: Step
    copy: Callable[[], Any] = field(repr=False)

    @classmethod
    def of(cls, progress: Step, copy: Callable[[], Any]) -> TrainingState:
        """Return the state after a pass; `copy` is asked for the weights if somebody wants them."""
        return cls(
            progress.number, progress.objective, progress.gap, progress.dev_score, progress.seconds, progress, copy
        )

    @property
    def epoch(self) -> int:
        """Which pass it is, from 1."""
        return self.pass_

    @property
    def relative_gap(self) -> float | None:
        """By which share of the optimum the objective is above it at most; None where that is not known."""
        return relative_gap(self.gap, self.objective)

    def weights(self) -> Any:
        """Return a copy of what was learned: the weights ``[n]`` of a CRF, arrays or tensors by name of the others."""
        return self.copy()

    def metrics(self) -> dict[str, float]:
        """Return the numbers that are known, by name, for tools that draw curves.

        >>> from tagline.training.iteration import Step
        >>> TrainingState.of(Step(3, 12.5, dev_score=0.5, seconds=1.5), dict).metrics()
        {'objective': 12.5, 'dev_score': 0.5, 'seconds': 1.5}
        """
        numbers = {name: getattr(self, name) for name in ("objective", "gap", "relative_gap", "dev_score", "seconds")}
        return {name: value for name, value in numbers.items() if value is not None and math.isfinite(value)}

    def __getattr__(self, name: str) -> Any:
        """Return a number of the pass or epoch that is not one of every model's, such as `loss` or `gradient_norm`."""
        if name.startswith("__") or name == "progress":
            raise AttributeError(name)
        return getattr(self.progress, name)


Callback: TypeAlias = Callable[..., bool | None]
"""Called with a `TrainingState` after each pass; True stops. One of two arguments gets the pass and its weights."""


def told(callbacks: Iterable[Callback], state: TrainingState) -> bool:
    """Call all callbacks; return whether one of them wants the run to stop."""
    try:
        asked = [
            callback(state.progress, state.weights()) if _takes_weights(callback) else callback(state)
            for callback in callbacks
        ]
    finally:
        object.__setattr__(state, "copy", _too_late)  # one who keeps the state does not keep the weights
    return any(asked)


def _too_late() -> Any:
    raise InputError("weights: expected to be asked within the callback, got a state of a pass that is over")


def _takes_weights(callback: Callable[..., Any]) -> bool:
    """Say whether a callback has two arguments that must be given: (pass, weights), as those of a CRF had in 0.1."""
    try:
        parameters = signature(callback).parameters.values()
    except (TypeError, ValueError):  # code without a signature
        return False
    required = [
        entry
        for entry in parameters
        if entry.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD) and entry.default is entry.empty
    ]
    return len(required) == 2
