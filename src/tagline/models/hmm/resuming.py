"""Where Baum–Welch stands, into a checkpoint and out of it: parameters of now and before, the best start, the dice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tagline.errors import InputError, StorageError
from tagline.models.hmm.parameters import HMMParameters, checked
from tagline.training.iteration import log_of, log_state
from tagline.training.run import Trained
from tagline.training.running.checkpoints import DAMAGED, State, checksum, restored_generator

if TYPE_CHECKING:
    from tagline.models.hmm.lessons import ObservedLesson
    from tagline.models.hmm.specification import Fitting

SEARCH = "search"  # the part of a checkpoint that several starts have
REVIVALS = 3  # chances of states that died out
_EMISSION = "emission."
_WHEN_TO_STOP = ("max_iterations", "tolerance", "max_seconds", "verbose", "callbacks", "warm_start")


@dataclass(frozen=True, eq=False)
class Search:
    """What of learning from several starts is behind.

    Attributes:
        number: of the start that is under way.
        revivals: how often states were revived in what came of it.
        inner: the best climb from this start, before the one that is under way; None for the first.
        best: the best of the starts before; None for the first.
    """

    number: int = 0
    revivals: int = 0
    inner: Trained | None = None
    best: Trained | None = None

    def state(self, random: np.random.Generator) -> State:
        """Return it and the dice as values and arrays."""
        state = State({"number": self.number, "revivals": self.revivals, "random": random.bit_generator.state})
        for name, trained in (("inner", self.inner), ("best", self.best)):
            if trained is not None:
                values = {"objective": trained.objective, "reason": trained.reason}
                part = State({**values, "history": log_state(trained.history)})
                state = state.joined(name, part.joined("parameters", parameters_state(trained.weights)))
        return state


def restored(state: State, like: HMMParameters, starts: int, random: np.random.Generator) -> Search:
    """Return the search of a checkpoint, and put the dice back.

    Arguments:
        like: parameters of the shapes that there must be.
        starts: how many there are.
    """
    restored_generator(random, state, "random")
    number, revivals = state.value("number", int), state.value("revivals", int)
    if not (0 <= number < starts and 0 <= revivals <= REVIVALS):
        raise StorageError("{}: expected a step of one of {} starts, got none; {}", state.source, starts, DAMAGED)
    ends: dict[str, Trained] = {}
    for name in ("inner", "best"):
        if name in state.values:
            part = state.part(name)
            history, parameters = tuple(log_of(part)), parameters_of(part.part("parameters"), like)
            reason = part.value("reason", str)
            if not history:
                raise StorageError("{}: expected at least one pass, got none; {}", state.source, DAMAGED)
            ends[name] = Trained(parameters, part.value("objective", float), reason, history, best=len(history))
    return Search(number, revivals, ends.get("inner"), ends.get("best"))


def arrays_of(p: HMMParameters) -> dict[str, NDArray[Any]]:
    """Return copies of what was learned: ``start``, ``transitions`` and ``emission.*``."""
    return {name: array.copy() for name, array in parameters_state(p).arrays.items()}


def parameters_state(p: HMMParameters) -> State:
    arrays = {f"{_EMISSION}{name}": np.asarray(array) for name, array in p.emission.arrays().items()}
    return State({"emission": p.emission.config()}, {"start": p.start, "transitions": p.transitions, **arrays})


def parameters_of(state: State, like: HMMParameters) -> HMMParameters:
    K, described = like.num_states, state.value("emission", dict)
    arrays = {
        name.removeprefix(_EMISSION): state.array(name, np.float64, *np.shape(like.emission.arrays().get(part, ())))
        for name in state.arrays
        if name.startswith(_EMISSION) and (part := name.removeprefix(_EMISSION))
    }
    start, transitions = state.array("start", np.float64, K), state.array("transitions", np.float64, K, K)
    try:
        emission = type(like.emission).from_arrays(arrays, described)
        return checked(replace(like, start=start, transitions=transitions, emission=emission))
    except (KeyError, TypeError, ValueError, InputError, StorageError) as error:
        raise StorageError(
            "{}: expected parameters of an HMM, got: {!s:.200}; {}", state.source, error, DAMAGED
        ) from None


def facts_of(hmm: Any, how: Fitting, lesson: ObservedLesson, before: HMMParameters | None) -> dict[str, Any]:
    """Return what must be the same for a run to be resumed; when to stop need not be."""
    symbols = [] if lesson.symbols is None else [repr(symbol) for symbol in lesson.symbols.values]
    named = np.frombuffer("\n".join(symbols).encode(errors="surrogatepass"), np.uint8)
    values = lesson.observed.values
    return {
        **settings_of(hmm),
        "emission": how.family.family,
        "labels": list(lesson.labels),
        "sentences": len(lesson.observed.offsets) - 1,
        "tokens": int(lesson.observed.offsets[-1]),
        "lengths": checksum(lesson.observed.offsets),
        "observations": checksum(values, named),
        "tags": checksum(lesson.states, lesson.allowed),
        "start": None if before is None else checksum(*parameters_state(before).arrays.values()),
    }


def settings_of(hmm: Any) -> dict[str, Any]:
    """Return the kind and the settings, but for those that say when to stop."""
    settings = {name: value for name, value in hmm.get_params(deep=False).items() if name not in _WHEN_TO_STOP}
    return {"model": hmm.kind, **{name: _plain(value) for name, value in settings.items()}}


def _plain(value: Any) -> Any:
    """A setting as JSON has it; arrays by their checksum, what is no data by its name."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple | np.ndarray | np.generic):
        array = np.asarray(value)
        return array.tolist() if array.size <= 64 and array.dtype.kind in "biufU" else repr(array.tolist())[:1000]
    return type(value).__name__
