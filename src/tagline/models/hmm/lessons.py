"""Observations and what is known of their states, made ready for learning: names, rules of a scheme, topology."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tagline.errors import InputError
from tagline.models.hmm.emissions import Emission, Symbols
from tagline.models.hmm.observations import Observed
from tagline.models.hmm.parameters import HMMParameters
from tagline.models.hmm.specification import Fitting
from tagline.models.hmm.states import States
from tagline.models.hmm.topologies import Topology, as_topology
from tagline.models.labelled import Lesson, broken_steps, prepare, scheme_of
from tagline.ragged import row_of
from tagline.types import BoolArray, Float64Array, IntArray


@dataclass(frozen=True, eq=False)
class ObservedLesson:
    """Observations and states to learn from.

    Attributes:
        observed, symbols: the sentences, and the symbols by number.
        states: ``[N]``, −1 where unknown; None where nothing is known.
        allowed: ``[N, K]``, what each state may be; None where all may be all, or all are known.
        labels, numbers, scheme: as of `HMMParameters`.
        topology: what may begin, follow and end.
        notes: what was repaired or dropped.
    """

    observed: Observed
    symbols: Symbols | None
    states: IntArray | None
    allowed: BoolArray | None
    labels: tuple[str, ...]
    numbers: bool
    scheme: str | None
    topology: Topology
    notes: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every state is known."""
        return self.states is not None and self.allowed is None

    def parameters(self, start: Float64Array, transitions: Float64Array, emission: Emission) -> HMMParameters:
        """An HMM with these names."""
        return HMMParameters(self.labels, self.numbers, self.scheme, start, transitions, emission, self.symbols)


def observed_lesson(
    how: Fitting, observed: Observed, symbols: Symbols | None, states: States | None, before: HMMParameters | None
) -> ObservedLesson:
    """Settle names, rules and topology.

    Arguments:
        before: the model that is trained on; its names and zeros are kept.
    """
    named = states is not None and not states.numbers and bool(states.labelled.labels)
    if not named and how.scheme not in (None, "auto"):
        raise InputError("scheme: expected None, for the states have no names, got {!r}", how.scheme)
    labels, numbers = _labels(how, states, before)
    lesson: Lesson | None = None
    scheme: str | None = None
    if states is not None:
        if named:
            scheme = before.scheme if before is not None else scheme_of(states.labelled, how.scheme)
        lesson = prepare(states.labelled, scheme=scheme, on_illegal=how.on_illegal, names=lambda labelled: labels)
        observed = observed.take(lesson.sentences)
        if not observed.offsets[-1]:
            raise InputError("y: expected sentences to learn from, got none; {}", ", ".join(lesson.notes))
    topology = as_topology(how.topology, len(labels)).within(None if lesson is None else lesson.rules)
    if before is not None:
        topology = _with_zeros(topology, before)
    notes = () if lesson is None else lesson.notes
    ready = ObservedLesson(observed, symbols, None, None, tuple(labels), numbers, scheme, topology, notes)
    return ready if lesson is None else _with_states(ready, lesson)


def _labels(how: Fitting, states: States | None, before: HMMParameters | None) -> tuple[list[str], bool]:
    """The names of the states, and whether they are numbers."""
    if before is not None:
        used = set() if states is None else set(states.labelled.labels)
        if strange := sorted(used - set(before.labels)):
            raise InputError("y: expected states of the model, {}, got {!r}", ", ".join(before.labels), strange[0])
        return list(before.labels), before.numbers
    count = how.n_states
    if count is None and isinstance(how.emission, Emission):
        count = how.emission.num_states
    if states is not None:
        return states.names(count), states.numbers or not states.labelled.labels
    if count is None:
        raise InputError("n_states: expected a number of states, for no y names them, got None")
    return [str(state) for state in range(count)], True


def _with_zeros(topology: Topology, before: HMMParameters) -> Topology:
    """Forbid what has probability 0 in a model."""
    return replace(
        topology,
        start=topology.start & (before.start > 0),
        transitions=topology.transitions & (before.transitions > 0),
    )


def _with_states(ready: ObservedLesson, lesson: Lesson) -> ObservedLesson:
    """Add the states by number, and what the unknown ones may be."""
    states, offsets, topology = lesson.labelled.ids.astype(np.int64), lesson.labelled.offsets, ready.topology
    broken = np.flatnonzero(broken_steps(states, offsets, topology.start, topology.transitions))
    if len(broken):
        n = int(broken[0])
        b = row_of(offsets, n)
        t = n - int(offsets[b])
        labels = ready.labels
        step = f"{labels[states[n - 1]]} → {labels[states[n]]}" if t else f"{labels[states[n]]} first"
        place = lesson.labelled.place(b)
        raise InputError("{}: expected steps that the topology allows, got {} at {}", place, step, t)
    allowed = lesson.allowed
    if allowed is not None and not topology.end.all():  # by the scheme
        lasts = offsets[1:][np.diff(offsets) > 0] - 1
        allowed[lasts] &= topology.end
    return replace(ready, states=states, allowed=allowed)
