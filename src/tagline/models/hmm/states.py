"""States at the door of an HMM: names or numbers, known, partly known, or not at all.

A state is named by a string, or is a number from 0. None (−1 in arrays of integers) stands for an unknown one, a set
for one of several, and None in the place of a whole sentence for an unlabelled one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from tagline.checks import is_listing, is_whole
from tagline.errors import InputError
from tagline.messages import message
from tagline.models.labelled import LabelledTokens, match_lengths, read_labels, used_labels
from tagline.readers.corpus import TAG, Corpus
from tagline.types import IntArray


@dataclass(frozen=True, eq=False)
class States:
    """What is known of the states of sentences.

    Attributes:
        labelled: names, one a token; the digits of a number where states are numbers.
        numbers: whether they are.
    """

    labelled: LabelledTokens
    numbers: bool

    @property
    def complete(self) -> bool:
        """Whether every state is known."""
        return not self.labelled.sets

    def names(self, n_states: int | None) -> list[str]:
        """Return the names of all states: sorted, or 0 … K − 1 where they are numbers."""
        used = used_labels(self.labelled)
        if self.numbers or not used:
            K = max(map(int, used), default=-1) + 1
            if n_states is None and not used:
                raise InputError("n_states: expected a number of states, for y names none, got None")
            if n_states is not None and n_states < K:
                raise InputError("y: expected states from 0 to {}, as n_states says, got {}", n_states - 1, K - 1)
            return [str(state) for state in range(n_states or K)]
        if n_states is not None and n_states != len(used):
            raise InputError(
                "n_states: expected {}, the labels in y ({}…), got {}; leave it out, or give states as numbers",
                len(used),
                ", ".join(sorted(used)[:5]),
                n_states,
            )
        return sorted(used)


def read_states(X: Any, y: Any, offsets: IntArray) -> States | None:
    """Take states from y, or from the tags of a corpus; None where there is nothing known.

    Arguments:
        X: the observations, for their tags and for messages.
        y: for each sentence a list of states; or all of them in one array ``[N]``.
        offsets: ``[B + 1]``, of the sentences of X.
    """
    if y is None:
        if not isinstance(X, Corpus) or TAG not in X.columns:
            return None
        return States(read_labels(X, None), False)
    rows, numbers = plain_states(_rows(y, offsets), offsets)
    labelled = read_labels(X, rows)
    match_lengths(offsets, labelled)
    return States(labelled, numbers)


def _rows(y: Any, offsets: IntArray) -> Any:
    """One list a sentence, from lists or from one flat array."""
    flat = isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype != object
    plain = str | int | np.integer
    if isinstance(y, list | tuple) and all(state is None or isinstance(state, plain) for state in y):
        flat = any(isinstance(state, plain) for state in y)  # None alone: a sentence each, of which nothing is known
    if not flat:
        return y
    N, B = int(offsets[-1]), len(offsets) - 1
    states = np.asarray(y, object) if isinstance(y, list | tuple) and None in y else np.asarray(y)
    if len(states) != N:
        looks = states.dtype.kind in "iu" and len(states) > 0 and states.sum() == N
        hint = message("; these look like lengths: pass lengths=") if looks else ""
        raise InputError(
            "y: expected {} states, one an observation of the {} sentences, got {}{}", N, B, len(states), hint
        )
    values = [None if isinstance(state, int) and state < 0 else state for state in states.tolist()]
    return [values[first:last] for first, last in pairwise(offsets.tolist())]


def plain_states(rows: Any, offsets: IntArray) -> tuple[Any, bool]:
    """Write numbers as digits, None for a sentence as that many of them; say whether there are numbers."""
    if isinstance(rows, Mapping) or not is_listing(rows):
        return rows, False  # `read_labels` says what is wrong
    listed: list[Any] = []
    kinds: set[bool] = set()
    lengths = np.diff(offsets).tolist()
    for b, row in enumerate(rows):
        if row is None and b < len(lengths):
            listed.append([None] * lengths[b])
        elif not is_listing(row):
            listed.append(row)
        elif isinstance(row, np.ndarray):
            listed.append([_plain(state, kinds) for state in row.tolist()])
        else:
            listed.append([_plain(state, kinds) for state in row])
    if len(kinds) > 1:
        raise InputError("y: expected names or numbers of states, got both; turn all of them into strings")
    return listed, True in kinds


def _plain(state: Any, kinds: set[bool]) -> Any:
    """A state as `read_labels` takes it: digits for a number, None for a negative one."""
    if isinstance(state, set | frozenset):
        return {_plain(member, kinds) for member in state}
    number = is_whole(state)
    if number and state < 0:
        return None
    if number or isinstance(state, str):
        kinds.add(number)
    return str(int(state)) if number else state


def known_states(known: Any, offsets: IntArray) -> Any:
    """Return what is known of each token, as `KnownLabels` takes it, for states of either kind."""
    return plain_states(_rows(known, offsets), offsets)[0]
