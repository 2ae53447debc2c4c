"""Which state of an HMM may follow which: full, left-to-right, cyclic, or a matrix of one's own.

What is not allowed has probability 0 in the beginning and keeps it, exactly: expected counts of impossible transitions
are 0, so that EM cannot bring them back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tagline.checks import as_array, shown_value
from tagline.errors import InputError
from tagline.messages import message
from tagline.readers.rules import Rules
from tagline.types import BoolArray

TOPOLOGIES = ("full", "left-to-right", "cyclic")


@dataclass(frozen=True, eq=False)
class Topology:
    """What may begin a sentence, and what may follow what.

    Attributes:
        start: ``[K]``.
        transitions: ``[K, K]`` as ``[previous, next]``.
        end: ``[K]``, what may end a sentence; only a tag scheme forbids anything here.
    """

    start: BoolArray
    transitions: BoolArray
    end: BoolArray

    def within(self, rules: Rules | None) -> Topology:
        """Return what is allowed here and by the rules of a tag scheme."""
        if rules is None:
            return self
        return Topology(
            self.start & rules.start,
            self.transitions & rules.transitions,
            self.end & rules.end,
        )


def as_topology(topology: Any, K: int) -> Topology:
    """Return the topology of K states by a name or a matrix.

    Arguments:
        topology: "full"; "left-to-right" (Rabiner 1989: from state 0 on, never back); "cyclic" (stay, or go to the next
            state, from the last to the first); or booleans ``[K, K]``.

    >>> as_topology("left-to-right", 3).transitions.astype(int).tolist()
    [[1, 1, 1], [0, 1, 1], [0, 0, 1]]
    """
    start, everywhere = np.ones(K, bool), np.ones(K, bool)
    if isinstance(topology, str):
        if topology not in TOPOLOGIES:
            wanted = message("one of {}, or booleans [K, K]", ", ".join(TOPOLOGIES))
            raise InputError("topology: expected {}, got {}", wanted, shown_value(topology))
        allowed = np.ones((K, K), bool)
        if topology == "left-to-right":
            allowed, start = np.triu(allowed), np.arange(K) == 0
        elif topology == "cyclic":
            allowed = np.eye(K, dtype=bool) | np.roll(np.eye(K, dtype=bool), 1, axis=1)
        return Topology(start, allowed, everywhere)
    allowed = as_array("topology", topology)
    if allowed.shape != (K, K) or allowed.dtype != np.bool_:
        raise InputError(
            "topology: expected booleans of shape [{0}, {0}], True where a state may follow another, got {1} {2}",
            K,
            allowed.dtype,
            list(allowed.shape),
        )
    stuck = np.flatnonzero(~allowed.any(axis=1))
    if len(stuck):
        raise InputError("topology[{}]: expected a state that may follow, if only itself, got none", stuck[0])
    return Topology(start, allowed.copy(), everywhere)
