"""Where Baum–Welch stands, into a checkpoint and out of it: parameters of now and before, the best start, the dice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline.errors import InputError, StorageError
from tagline.models.hmm.baum_welch import REVIVALS, Place
from tagline.models.hmm.lessons import ObservedLesson
from tagline.models.hmm.parameters import HMMParameters, checked
from tagline.models.hmm.specification import Fitting
from tagline.training.expectation_maximisation import Climbed, Ledge
from tagline.training.running.checkpoints import DAMAGED, Checkpoint, State, checksum, restored_generator
from tagline.training.running.standing import history_of, history_state

_EMISSION = "emission."
_WHEN_TO_STOP = ("max_iterations", "tolerance", "max_seconds", "verbose", "callbacks", "warm_start")


@dataclass(frozen=True, eq=False)
class Search:
    """Learning from several starts: the number of the start, where learning from it stands, the best one before."""

    number: int = 0
    place: Place | None = None
    best: Climbed[HMMParameters] | None = None


def keeper(checkpoint: Checkpoint, search: Search, random: np.random.Generator) -> Callable[[Place], None] | None:
    """Return what writes a checkpoint of a search, if it is time, after each step; None where none is wanted."""
    if checkpoint.path is None:
        return None

    def keep(place: Place) -> None:
        if checkpoint.due():
            checkpoint.save(_search_state(replace(search, place=place), random))

    return keep


def restored(state: State, like: HMMParameters, starts: int, random: np.random.Generator) -> Search:
    """Return the search of a checkpoint, and put the dice back.

    Arguments:
        like: parameters of the shapes that there must be.
        starts: how many there are.
    """
    restored_generator(random, state, "random")
    best = _climbed(state.part("best"), like) if "best" in state.values else None
    inner = _climbed(state.part("inner"), like) if "inner" in state.values else None
    ledge = Ledge(
        _parameters(state.part("now"), like),
        _parameters(state.part("before"), like),
        state.value("objective", float),
        history_of(state),
        state.value("seconds", float),
    )
    number, revivals = state.value("number", int), state.value("revivals", int)
    if not (0 <= number < starts and 0 <= revivals <= REVIVALS and ledge.history):
        raise StorageError(f"{state.source}: expected a step of one of {starts} starts, got none; {DAMAGED}")
    return Search(number, Place(ledge, revivals, inner), best)


def _search_state(search: Search, random: np.random.Generator) -> State:
    assert search.place is not None
    place, ledge = search.place, search.place.ledge
    values = {
        "number": search.number,
        "revivals": place.revivals,
        "objective": ledge.objective,
        "seconds": ledge.seconds,
        "history": history_state(ledge.history),
        "random": random.bit_generator.state,
    }
    state = State(values).joined("now", _parameters_state(ledge.now)).joined("before", _parameters_state(ledge.before))
    for name, climbed in (("inner", place.best), ("best", search.best)):
        if climbed is not None:
            state = state.joined(name, _climbed_state(climbed))
    return state


def arrays_of(p: HMMParameters) -> dict[str, NDArray[Any]]:
    """Return copies of what was learned: ``start``, ``transitions`` and ``emission.*``."""
    return {name: array.copy() for name, array in _parameters_state(p).arrays.items()}


def _parameters_state(p: HMMParameters) -> State:
    arrays = {f"{_EMISSION}{name}": np.asarray(array) for name, array in p.emission.arrays().items()}
    return State({"emission": p.emission.config()}, {"start": p.start, "transitions": p.transitions, **arrays})


def _parameters(state: State, like: HMMParameters) -> HMMParameters:
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
        raise StorageError(f"{state.source}: expected parameters of an HMM, got: {error!s:.200}; {DAMAGED}") from None


def _climbed_state(climbed: Climbed[HMMParameters]) -> State:
    values = {
        "objective": climbed.objective,
        "reason": climbed.reason,
        "history": history_state(climbed.history),
    }
    return State(values).joined("parameters", _parameters_state(climbed.parameters))


def _climbed(state: State, like: HMMParameters) -> Climbed[HMMParameters]:
    parameters = _parameters(state.part("parameters"), like)
    return Climbed(parameters, state.value("objective", float), state.value("reason", str), history_of(state))


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
        "start": None if before is None else checksum(*_parameters_state(before).arrays.values()),
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
