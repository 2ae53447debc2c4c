"""Observations and what is known of their states, made ready for learning: names, rules of a scheme, topology."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tagline.errors import InputError
from tagline.models.emissions import Emission, Symbols
from tagline.models.hmm_observations import Observed
from tagline.models.hmm_parameters import HMMParameters
from tagline.models.hmm_settings import Fitting
from tagline.models.hmm_targets import States, forbidden_step, without_sequences
from tagline.models.targets import LabelledTokens, allowed_labels, numbered, scheme_of, settle
from tagline.models.topologies import Topology, as_topology
from tagline.readers.rules import legal
from tagline.types import BoolArray, Float64Array, IntArray


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be learned from.

    Attributes:
        observed, symbols: the sequences, and the symbols by number.
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


def task_of(
    how: Fitting, observed: Observed, symbols: Symbols | None, states: States | None, before: HMMParameters | None
) -> Task:
    """Settle names, rules and topology.

    Arguments:
        before: the model that is trained on; its names and zeros are kept.
    """
    named = states is not None and not states.numbers and bool(states.labelled.labels)
    if not named and how.scheme not in (None, "auto"):
        raise InputError(f"scheme: expected None, for the states have no names, got {how.scheme!r}")
    labels, numbers = _labels(how, states, before)
    scheme: str | None = None
    notes: tuple[str, ...] = ()
    if states is not None and named:
        scheme = before.scheme if before is not None else scheme_of(states.labelled, how.scheme)
        observed, states, notes = _settled(how, observed, states, labels, scheme)
    topology = as_topology(how.topology, len(labels)).within(None if scheme is None else legal(labels, scheme))
    if before is not None:
        topology = _kept(topology, before)
    task = Task(observed, symbols, None, None, tuple(labels), numbers, scheme, topology, notes)
    return task if states is None else _known(task, states.labelled)


def _labels(how: Fitting, states: States | None, before: HMMParameters | None) -> tuple[list[str], bool]:
    """The names of the states, and whether they are numbers."""
    if before is not None:
        used = set() if states is None else set(states.labelled.labels)
        if strange := sorted(used - set(before.labels)):
            raise InputError(f"y: expected states of the model, {', '.join(before.labels)}, got {strange[0]!r}")
        return list(before.labels), before.numbers
    count = how.n_states
    if count is None and isinstance(how.emission, Emission):
        count = how.emission.num_states
    if states is not None:
        return states.names(count), states.numbers or not states.labelled.labels
    if count is None:
        raise InputError("n_states: expected a number of states, for no y names them, got None")
    return [str(state) for state in range(count)], True


def _settled(
    how: Fitting, observed: Observed, states: States, labels: Sequence[str], scheme: str | None
) -> tuple[Observed, States, tuple[str, ...]]:
    """Deal with labellings that the scheme forbids."""
    rules = None if scheme is None else legal(labels, scheme)
    labelled, kept, notes = settle(states.labelled, rules, scheme, labels, how.on_illegal)
    if len(kept) < len(observed.offsets) - 1:
        observed, labelled = observed.take(kept), without_sequences(labelled, kept)
    if not observed.offsets[-1]:
        raise InputError(f"y: expected sequences to learn from, got none; {', '.join(notes)}")
    return observed, States(labelled, False), tuple(notes)


def _kept(topology: Topology, before: HMMParameters) -> Topology:
    """What is 0 in a model stays so."""
    return replace(
        topology,
        start=topology.start & (before.start > 0),
        transitions=topology.transitions & (before.transitions > 0),
    )


def _known(task: Task, labelled: LabelledTokens) -> Task:
    """The states by number, and what the unknown ones may be."""
    states = numbered(labelled, task.labels).astype(np.int64)
    broken = forbidden_step(states, labelled.bounds, task.topology.start, task.topology.transitions)
    if broken is not None:
        b, t = broken
        n = int(labelled.bounds[b]) + t
        step = f"{task.labels[states[n - 1]]} → {task.labels[states[n]]}" if t else f"{task.labels[states[n]]} first"
        raise InputError(f"{labelled.place(b)}: expected steps that the topology allows, got {step} at {t}")
    allowed = allowed_labels(labelled, task.labels)
    if allowed is not None and not task.topology.end.all():  # by the scheme
        lasts = labelled.bounds[1:][np.diff(labelled.bounds) > 0] - 1
        allowed[lasts] &= task.topology.end
    return replace(task, states=states, allowed=allowed)
