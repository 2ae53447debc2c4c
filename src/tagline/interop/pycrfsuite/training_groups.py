"""What a `Trainer` was given: labelled sentences in groups, numbered as they come, and the part to learn from."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagline import compiled
from tagline.errors import InputError
from tagline.features.attributes import Attributes, Features
from tagline.messages import message
from tagline.models.crf.chains import take_sentences
from tagline.ragged import offsets_of
from tagline.types import BoolArray, Float64Array


@dataclass(frozen=True, eq=False)
class LabelledPart:
    """Some of the sentences.

    Attributes:
        features: their attributes, values in float32.
        values: the same in float64, as CRFsuite has them; None where all are 1.
        labels: ``[N]``, int32, one a token.
        weights: ``[B]``, how much each sentence counts; None where all count 1.
    """

    features: Features
    values: Float64Array | None
    labels: NDArray[np.int32]
    weights: Float64Array | None


class LabelledSentences:
    """All sentences so far; attributes and labels are numbered in the order of their first use."""

    def __init__(self) -> None:
        self._rows = compiled.require().SequenceRows()
        self._numbers: dict[str, int] = {}
        self._labels, self._lengths, self._groups, self._weights = array("i"), array("q"), array("q"), array("d")

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels by number."""
        return tuple(self._numbers)

    def attributes(self) -> list[str]:
        """Return the names of attributes by number."""
        names: list[str] = self._rows.names()
        return names

    def append(self, xseq: Any, yseq: Iterable[str | bytes], group: int, weight: float) -> None:
        """Take a sentence; one without tokens is left out."""
        labels = [_text(label) for label in yseq]
        group = operator.index(group)
        if hasattr(xseq, "__len__") and len(xseq) != len(labels):
            raise _unequal(len(xseq), len(labels))
        length = self._rows.append(xseq)
        if length != len(labels):
            self._rows.drop(length)
            raise _unequal(length, len(labels))
        if not length:
            return
        self._labels.extend([self._numbers.setdefault(label, len(self._numbers)) for label in labels])
        self._lengths.append(length)
        self._groups.append(group)
        self._weights.append(weight)

    def parts(self, holdout: int) -> tuple[LabelledPart, LabelledPart]:
        """Return the sentences to learn from, and those of the holdout group."""
        token_offsets, ids, values = self._rows.arrays()
        all_ones = bool((values == 1).all())
        features = Features(
            offsets_of(np.asarray(self._lengths, np.int64)),
            Attributes(token_offsets, ids, None if all_ones else values),
        )
        held = np.asarray(self._groups, np.int64) == holdout
        return self._part(features, ~held), self._part(features, held)

    def _part(self, features: Features, chosen: BoolArray) -> LabelledPart:
        labels, weights = np.asarray(self._labels, np.int32), np.asarray(self._weights, np.float64)[chosen]
        tokens = np.repeat(chosen, np.diff(features.offsets))
        counted = None if (weights == 1).all() else weights
        exact = take_sentences(features, np.flatnonzero(chosen))
        states = exact.states
        values = None if states.values is None else np.asarray(states.values, np.float64)
        small = None if values is None else values.astype(np.float32)
        rounded = Features(exact.offsets, Attributes(states.offsets, states.ids, small))
        return LabelledPart(rounded, values, labels[tokens], counted)


def _text(label: object) -> str:
    if isinstance(label, bytes):
        return label.decode()
    if not isinstance(label, str):
        raise TypeError(message("yseq: expected strings, got {} {!r:.60}", type(label).__name__, label))
    return label


def _unequal(items: int, labels: int) -> InputError:
    return InputError("The numbers of items and labels differ: |x| = {}, |y| = {}", items, labels)
