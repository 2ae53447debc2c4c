"""Labels that are known before a model is asked: every answer keeps to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tagline import chain as engine
from tagline.checks import is_listing, shown_value
from tagline.errors import InputError
from tagline.types import BoolArray, IntArray


def constrained(
    chains: Iterator[Any],
    known: Any,
    labels: Sequence[str],
    count: int | None = None,
    constrain: Callable[..., Any] = engine.constrain,
) -> Iterator[Any]:
    """Forbid in each chain what contradicts the labels that are known; see `KnownLabels` for the arguments."""
    rows = KnownLabels(known, labels, count, constrain)
    for chain in chains:
        yield rows.hold(chain)
    rows.finish()


class KnownLabels:
    """What is known of the labels of sentences, handed out as their chains come.

    Arguments:
        known: for each sentence a list with, for each token, its label, a set of labels, or None; or None.
        labels: the names of the chains' labels.
        count: how many sentences there are, where it is known beforehand.
        constrain: forbids in a block of sentences all labels but those ``allowed [N, L]``.
    """

    def __init__(
        self,
        known: Any,
        labels: Sequence[str],
        count: int | None = None,
        constrain: Callable[..., Any] = engine.constrain,
    ) -> None:
        if not is_listing(known):
            raise InputError("known: expected a list for each sentence, got {}", shown_value(known))
        self.rows, self.labels, self.done = list(known), labels, 0
        self._constrain = constrain
        self.numbers = {label: number for number, label in enumerate(labels)}
        if count is not None and count != len(self.rows):
            self._refuse(count)

    def _refuse(self, count: int) -> None:
        raise InputError("known: expected one list for each of {} sentences, got {}", count, len(self.rows))

    def hold(self, chain: Any) -> Any:
        """Return the next block of sentences with −∞ at all labels that contradict what is known."""
        first, last = self.done, self.done + chain.num_sentences
        if last > len(self.rows):
            self._refuse(last)
        self.done = last
        return self._constrain(chain, allowed=self.allowed(first, last, chain.offsets))

    def finish(self) -> None:
        """Refuse rows for which there was no sentence."""
        if self.done != len(self.rows):
            self._refuse(self.done)

    def allowed(self, first: int, last: int, offsets: IntArray) -> BoolArray:
        """Return booleans ``[N, L]`` from what is known of each token of sentences first … last − 1."""
        allowed = np.ones((int(offsets[-1]), len(self.labels)), bool)
        for b, row in enumerate(self.rows[first:last]):
            if row is None:
                continue
            T = int(offsets[b + 1] - offsets[b])
            if not is_listing(row) or len(row := list(row)) != T:
                raise InputError(
                    "known[{}]: expected a list of {} entries, one a token, got {}", first + b, T, shown_value(row)
                )
            for t, entry in enumerate(row):
                if entry is not None:
                    allowed[offsets[b] + t] = False
                    allowed[offsets[b] + t, self._labels(entry, f"known[{first + b}][{t}]")] = True
        return allowed

    def _labels(self, entry: Any, place: str) -> list[int]:
        """The numbers of a known label, or of a set of labels."""
        names = list(entry) if is_listing(entry) else [entry]
        if not names or not all(isinstance(name, str) and name in self.numbers for name in names):
            raise InputError(
                "{}: expected labels among {}, got {}; None where nothing is known",
                place,
                ", ".join(self.labels),
                shown_value(entry),
            )
        return [self.numbers[label] for label in names]
